package admit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/kubelet"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/model"
)

// reasonInvalidKubelet is why a class's kubelet configuration is none: no kubelet would start with it.
const reasonInvalidKubelet = "InvalidKubeletConfiguration"

// classProblems returns what makes a class one that no instance could ever be launched from.
func classProblems(class *model.Class) []model.Finding {
	var out []model.Finding
	for _, p := range class.Invalid {
		if p.Reason == reasonInvalidKubelet {
			out = append(out, model.ParseFinding(p.Message))
		}
	}
	if kubelet.HasExpressions(&class.Kubelet) {
		_, problems := kubelet.Compile(class.Kubelet)
		for _, p := range problems {
			out = append(out, model.ParseFinding(p.Message))
		}
	}
	return append(out, offering.TagProblems(class.Tags)...)
}

// classWarnings returns what is odd about a class that is allowed.
func classWarnings(class, old *model.Class, known *Facts) []model.Finding {
	out := findings(class.Unsupported)
	for _, p := range slices.Concat(class.Invalid, offering.ClassProblems(known.InstanceTypes, known.everywhere(*class), known.Settings)) {
		out = append(out, model.ParseFinding(p.Message))
	}
	for i, term := range class.Images {
		if strings.HasSuffix(term.Alias, "@latest") {
			out = append(out, model.Finding{Field: fmt.Sprintf("spec.amiSelectorTerms[%d].alias", i), Value: term.Alias, Message: "whenever AWS publishes an image, every node drifts and is replaced",
				Remedy: "Name a version that was tried, and another when that was."})
		}
	}
	if class.Family == "Custom" && class.UserData == "" {
		out = append(out, model.Finding{Field: "spec.userData", Message: "amiFamily Custom generates no user data: nodes join only if the image does so by itself", Remedy: "Write it, or use another amiFamily."})
	}
	if class.Family != "Custom" && class.Annotations[model.AnnotationUserDataVariables] == "true" {
		out = append(out, model.Finding{
			Field: "metadata.annotations[" + model.AnnotationUserDataVariables + "]", Value: "true",
			Message: "user data of amiFamily " + class.Family + " has no variables: Joiner writes what they would say",
			Remedy:  "Remove it, or use amiFamily Custom.",
		})
	}
	out = append(out, customKubelet(class)...)
	out = append(out, volumeWarnings(class.BlockDevices)...)
	if class.Metadata.HTTPTokens == "optional" {
		out = append(out, model.Finding{Field: "spec.metadataOptions.httpTokens", Value: "optional", Message: "any pod that can be made to fetch a URL may get the node's credentials", Remedy: "Set required."})
	}
	if !known.Objects {
		return out
	}
	pools, nodes := known.usersOf(class.Name)
	if old != nil && old.Hash != class.Hash && nodes > 0 {
		out = append(out, model.Finding{Message: fmt.Sprintf("%s of NodePool %s drift by this change and are replaced, as many at once as the budgets of the pools allow", count(nodes, "node"), offering.AbbreviateValues(pools)),
			Remedy: "See joiner plan disrupt --with for what is replaced."})
	}
	return out
}

// usersOf returns the pools that name a class, sorted, and how many nodes they have.
func (k *Facts) usersOf(class string) (pools []string, nodes int) {
	for i := range k.Pools {
		if p := &k.Pools[i]; p.Template.ClassName == class {
			pools = append(pools, p.Name)
			nodes += k.Nodes[p.Name]
		}
	}
	slices.Sort(pools)
	return pools, nodes
}

func classDeletion(class *model.Class, known *Facts) []model.Finding {
	pools, nodes := known.usersOf(class.Name)
	if !known.Objects || len(pools) == 0 {
		return nil
	}
	return []model.Finding{{Message: fmt.Sprintf("NodePool %s uses the EC2NodeClass: nothing is launched for it any more, and the object stays until %s and their NodeClaims are deleted", offering.AbbreviateValues(pools), count(nodes, "node")),
		Remedy: "Let those pools name another class first."}}
}

// standaloneProblems returns what keeps a NodeClaim that somebody makes by hand from ever being launched.
func standaloneProblems(standalone *model.StandaloneClaim) []model.Finding {
	t := templateOfStandalone(standalone)
	return append(findings(standalone.Invalid), t.contradictions()...)
}

// standaloneWarnings returns what is odd about a NodeClaim made by hand that is allowed.
func standaloneWarnings(standalone *model.StandaloneClaim, known *Facts) []model.Finding {
	t := templateOfStandalone(standalone)
	class, out := known.classOf(t.class, standalone.Template.ClassName)
	if len(known.InstanceTypes) == 0 || t.large() {
		return out
	}
	types := known.buyable(class)
	matches := t.matches(types)
	roomy := holding(matches, standalone.Requests)
	if len(matches) > 0 && len(roomy) == 0 {
		out = append(out, model.Finding{Field: "spec.resources.requests", Message: fmt.Sprintf("none of the %s that match has that much: no node can be launched", count(len(matches), "instance type")),
			Remedy: "Lower the requests, or allow larger instance types."})
	} else {
		out = append(out, t.found(types, roomy, known.regionName()))
	}
	return append(out, t.unknownValues(known.region(), known.regionName())...)
}
