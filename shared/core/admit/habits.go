package admit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// shortLife is an age below which replacing nodes for it is mostly replacing nodes.
const shortLife = time.Hour

// habits warns of what is often left as it is by default and then surprises.
func habits(pool *model.Pool, t *template, matches []offering.Match, known *Facts) []model.Finding {
	out := instanceWarnings(t, matches)
	if len(pool.Limits) == 0 && pool.Replicas == nil {
		out = append(out, model.Finding{Field: "spec.limits", Message: "there are none: the pool grows as far as pods request and the account's quotas allow",
			Remedy: "Limit cpu, memory, nodes or " + model.Dollars + "."})
	}
	out = append(out, lifeHabits(pool, known)...)
	return append(out, disruptionHabits(&pool.Disruption)...)
}

// chosen are the labels by which somebody says which kind of instance is meant, accelerators included.
var chosen = []string{
	model.LabelInstanceType, requirement.InstanceCategory, requirement.InstanceFamily, requirement.InstanceSize,
	requirement.InstanceGPUName, requirement.InstanceGPUManufacturer, requirement.InstanceGPUCount, requirement.InstanceGPUMemory,
	requirement.InstanceAcceleratorName, requirement.InstanceAcceleratorManufacturer, requirement.InstanceAcceleratorCount, requirement.InstanceHypervisor,
}

// instanceWarnings warns of instances that are allowed because nobody said otherwise.
func instanceWarnings(t *template, matches []offering.Match) []model.Finding {
	var out []model.Finding
	var exotic []string
	arches, spot, other := make(map[string]bool), false, false
	for _, m := range matches {
		if offering.Exotic(m.Type) {
			exotic = append(exotic, m.Type.Name)
		}
		for _, arch := range m.Type.Labels[model.LabelArch] {
			arches[arch] = true
		}
		for _, o := range m.Offerings {
			spot, other = spot || o.CapacityType == model.Spot, other || o.CapacityType != model.Spot
		}
	}
	if spot && other && !t.names(model.LabelCapacityType) {
		out = append(out, model.Finding{Field: t.requirements, Message: model.LabelCapacityType + " is not restricted: spot instances are launched first, which AWS interrupts with two minutes' notice",
			Remedy: "Require on-demand, or name both to say that it is meant."})
	}
	if len(arches) > 1 && !t.names(model.LabelArch) {
		out = append(out, model.Finding{Field: t.requirements, Message: model.LabelArch + " is not restricted: pods get amd64 or arm64, whichever is cheaper, whatever their images are built for",
			Remedy: "Require one, or name both to say that it is meant."})
	}
	if len(exotic) > 0 && len(exotic) < len(matches) && !t.names(chosen...) {
		out = append(out, model.Finding{Field: t.requirements, Message: fmt.Sprintf("%d of what matches are bare metal or have accelerators (%s), which are launched where nothing else is left",
			len(exotic), offering.AbbreviateValues(exotic[:min(2, len(exotic))])), Remedy: "Require " + requirement.InstanceCategory + " In [c, m, r] or the like."})
	}
	return out
}

// lifeHabits warns of nodes that live too long, or not long enough, and of drains without an end.
func lifeHabits(pool *model.Pool, known *Facts) []model.Finding {
	var out []model.Finding
	const expire, grace = "spec.template.spec.expireAfter", "spec.template.spec.terminationGracePeriod"
	switch age := pool.Template.ExpireAfterSeconds; {
	case age == nil:
		out = append(out, model.Finding{Field: expire, Value: "Never", Message: "nodes are never replaced for their age: only drift brings them new images and kernels", Remedy: "Set 720h or less, unless that is meant."})
	case time.Duration(*age)*time.Second < shortLife:
		out = append(out, model.Finding{Field: expire, Value: (time.Duration(*age) * time.Second).String(), Message: "every node is replaced at this age, whatever budgets say", Remedy: "Set days rather than minutes, such as 168h."})
	}
	switch seconds := pool.Template.GraceSeconds; {
	case seconds != nil && *seconds == 0:
		out = append(out, model.Finding{Field: grace, Value: "0s", Message: "pods of a node that is terminated get no time to stop, and neither budgets nor do-not-disrupt are respected", Remedy: "Set as long as the slowest pod needs to stop."})
	case seconds == nil && known.Objects:
		out = append(out, blockedDrains(grace, known.Budgets)...)
	}
	return out
}

// blockedDrains warns of budgets of the cluster that never let a pod go: without a deadline a node with such a pod
// drains for ever.
func blockedDrains(field string, budgets []model.PDB) []model.Finding {
	var names []string
	for _, b := range budgets {
		if blocks(&b) {
			names = append(names, b.Namespace+"/"+b.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []model.Finding{{Field: field, Message: "it is not set, and PodDisruptionBudget " + offering.AbbreviateValues(names[:min(3, len(names))]) + " allows no eviction: a node with such a pod never finishes draining",
		Remedy: "Set it, such as 24h, or let those budgets spare a pod."}}
}

// blocks reports whether the budget never lets a pod be evicted.
func blocks(b *model.PDB) bool {
	return b.MaxUnavailable == "0" || b.MaxUnavailable == "0%" || b.MinAvailable == "100%"
}

// disruptionHabits warns of pools that disrupt at once, or never.
func disruptionHabits(d *model.Disruption) []model.Finding {
	var out []model.Finding
	const budgets = "spec.disruption.budgets"
	eager := d.ConsolidateAfterSeconds != nil && *d.ConsolidateAfterSeconds == 0 && d.Policy == "WhenEmptyOrUnderutilized"
	if eager && usual(d.Budgets) {
		out = append(out, model.Finding{Field: "spec.disruption.consolidateAfter", Value: "0s", Message: "pods are moved as soon as that saves anything, again and again where they come and go",
			Remedy: "Set 5m or so, or consolidationPolicy: Balanced."})
	}
	if len(d.Budgets) == 0 {
		out = append(out, model.Finding{Field: budgets, Message: "there are none: all nodes may be disrupted at once", Remedy: `Set nodes: "10%" or the like.`})
	}
	for i, b := range d.Budgets {
		if b.Schedule == "" && len(b.Reasons) == 0 && strings.TrimSuffix(b.Nodes, "%") == "0" {
			out = append(out, model.Finding{Field: fmt.Sprintf("%s[%d].nodes", budgets, i), Value: b.Nodes, Message: "there is no voluntary disruption at all, and nodes that have drifted are not replaced",
				Remedy: "Give it a schedule and a duration, or reasons: [Underutilized]."})
			break
		}
	}
	return out
}

// usual reports whether budgets are those nobody wrote, or none.
func usual(budgets []model.Budget) bool {
	return len(budgets) == 0 || len(budgets) == 1 && budgets[0].Nodes == "10%" && budgets[0].Schedule == "" && len(budgets[0].Reasons) == 0
}
