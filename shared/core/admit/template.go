package admit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// template is what is asked of the nodes of a pool or of the node of a claim, with the names of its fields.
type template struct {
	*model.Template
	requested    []model.Requirement // requirements, then labels
	requirements string              // field of the list
	labels       string              // field of the map
	class        string              // field of the class's name
}

func templateOf(pool *model.Pool) template {
	return template{&pool.Template, offering.Requirements(&pool.Template), "spec.template.spec.requirements", "spec.template.metadata.labels", "spec.template.spec.nodeClassRef.name"}
}

func templateOfStandalone(standalone *model.StandaloneClaim) template {
	return template{&standalone.Template, offering.Requirements(&standalone.Template), "spec.requirements", "metadata.labels", "spec.nodeClassRef.name"}
}

// field names where the i-th thing that is asked stands.
func (t *template) field(i int) string {
	if i < len(t.Requirements) {
		return fmt.Sprintf("%s[%d]", t.requirements, i)
	}
	return fmt.Sprintf("%s[%s]", t.labels, t.requested[i].Key)
}

// Bounds on what is looked at closely. The definitions let no more be asked, of which some 40 keys can be an
// instance's; who has more values in a list is generating it, and asks whoever answers for more work than an answer is
// worth.
const (
	maxRequested = 200
	maxValues    = 2000 // of all that is asked together
	maxStrange   = 20   // values of one requirement for which others are looked up that may be meant
	valueLength  = 63
)

// large reports whether more is asked than is looked at closely.
func (t *template) large() bool {
	values := 0
	for _, r := range t.requested {
		values += len(r.Values)
	}
	return len(t.requested) > maxRequested || values > maxValues
}

// contradictions returns, once for each key, what no label value meets together with what was asked before it.
func (t *template) contradictions() []model.Finding {
	if t.large() {
		return nil
	}
	var out []model.Finding
	sets, reported := make(map[string]requirement.Set), make(map[string]bool)
	earlier := make(map[string][]int) // what was asked of the key, by it
	for i, r := range t.requested {
		key := requirement.Normalize(r.Key)
		own, err := requirement.Of(r)
		if err != nil || reported[key] { // what cannot be read at all is said elsewhere
			continue
		}
		set, known := sets[key]
		if !known {
			set = requirement.Any()
		}
		sets[key] = set.Intersect(own)
		if satisfiable(sets[key]) {
			earlier[key] = append(earlier[key], i)
			continue
		}
		reported[key] = true
		out = append(out, t.contradiction(i, own, earlier[key]))
	}
	return out
}

func (t *template) contradiction(i int, own requirement.Set, earlier []int) model.Finding {
	f := model.Finding{Field: t.field(i), Value: own.Text(t.requested[i].Key), Message: "no label value meets this",
		Remedy: "Let it allow at least one value, or remove it."}
	if len(earlier) == 0 {
		return f
	}
	var others []string
	for _, j := range earlier {
		set, err := requirement.Of(t.requested[j])
		if err == nil && (len(earlier) == 1 || !satisfiable(set.Intersect(own))) {
			others = append(others, t.field(j)+", "+set.Text(t.requested[j].Key))
		}
	}
	if len(others) == 0 { // only all of them together leave nothing
		for _, j := range earlier {
			others = append(others, t.field(j))
		}
	}
	f.Message = "no label value meets this and " + strings.Join(others, " and ")
	f.Remedy = "Remove one of them, or let them have a value in common."
	return f
}

// satisfiable reports whether some label value, or none, meets the set.
func satisfiable(set requirement.Set) bool {
	_, found := set.Pick()
	return found || set.AllowsAbsent()
}

// names reports whether anything asked names one of the keys.
func (t *template) names(keys ...string) bool {
	return slices.ContainsFunc(t.requested, func(r model.Requirement) bool { return slices.Contains(keys, requirement.Normalize(r.Key)) })
}

// unread are labels whose values are the class's or the launch's rather than the region's.
var unread = []string{
	model.LabelReservationID, model.LabelReservationType, model.LabelInterruptible, model.LabelPlacementGroup, model.LabelPartition,
	model.LabelTenancy, model.LabelWindowsBuild, model.LabelNodeClass, model.LabelNodePool, model.LabelHostname,
}

// unknownValues warns of values that nothing in the region has, with what was likely meant, and of keys that are nearly
// a instance's.
func (t *template) unknownValues(region []model.InstanceType, name string) []model.Finding {
	var out []model.Finding
	for i, r := range t.requested {
		key := requirement.Normalize(r.Key)
		if i < len(t.Requirements) && !offering.IsInstanceLabel(key) {
			out = append(out, t.strangeKey(i, key)...)
		}
		if !offering.IsInstanceLabel(key) || slices.Contains(unread, key) || r.Operator != model.In && r.Operator != model.NotIn {
			continue
		}
		known := vocabulary(region, key)
		if len(known) == 0 && key == model.LabelRegion {
			continue
		}
		out = append(out, t.strangers(i, r, known, name)...)
	}
	return out
}

// unknownCapacityTypes is unknownValues of what no region changes.
func (t *template) unknownCapacityTypes() []model.Finding {
	var out []model.Finding
	for i, r := range t.requested {
		listed := r.Operator == model.In || r.Operator == model.NotIn
		if listed && requirement.Normalize(r.Key) == model.LabelCapacityType {
			out = append(out, t.strangers(i, r, []string{model.OnDemand, model.Spot, model.Reserved}, "any region")...)
		}
	}
	return out
}

// vocabulary returns the values of a label that something in the region has.
func vocabulary(region []model.InstanceType, key string) []string {
	known := offering.Values(region, key)
	switch key {
	case model.LabelCapacityType:
		known = append(known, model.OnDemand, model.Spot, model.Reserved)
	case model.LabelOS:
		known = append(known, "linux", "windows")
	}
	return known
}

// strangers warns of the values of one requirement that are not known. Of values that are excluded only misspelt ones
// are worth a word: lists of what not to buy are shared between regions.
func (t *template) strangers(i int, r model.Requirement, known []string, region string) []model.Finding {
	var strange, meant []string
	for _, value := range r.Values {
		if slices.Contains(known, value) {
			continue
		}
		hint := ""
		if len(strange) < maxStrange && len(value) <= valueLength {
			hint = requirement.Nearest(value, known)
		}
		if r.Operator == model.NotIn && hint == "" {
			continue
		}
		strange = append(strange, value)
		if hint != "" && !slices.Contains(meant, hint) {
			meant = append(meant, hint)
		}
	}
	if len(strange) == 0 {
		return nil
	}
	f := model.Finding{Field: t.field(i), Value: offering.AbbreviateValues(strange), Message: fmt.Sprintf("no %s of this name is known in %s", requirement.Normalize(r.Key), region),
		Remedy: "Remove it, or correct it."}
	if i < len(t.Requirements) {
		f.Field += ".values"
	}
	if len(meant) > 0 {
		f.Remedy = "Correct it: " + offering.AbbreviateValues(meant) + " may be meant."
	}
	return []model.Finding{f}
}

// strangeKey warns of a key in Kubernetes' or AWS's domains that instances do not have and that resembles one they
// have.
func (t *template) strangeKey(i int, key string) []model.Finding {
	domain, _, found := strings.Cut(key, "/")
	official := strings.HasSuffix(domain, "kubernetes.io") || strings.HasSuffix(domain, "k8s.io") || strings.HasSuffix(domain, "k8s.aws") || strings.HasSuffix(domain, "amazonaws.com")
	if !found || !official || strings.HasPrefix(domain, "node-restriction.") || strings.HasPrefix(domain, "node-role.") || slices.Contains(unread, key) {
		return nil
	}
	hint := requirement.Hint(key, nil)
	if hint == "" {
		return nil
	}
	return []model.Finding{{Field: t.field(i) + ".key", Value: key, Message: "instances have no such label: nodes get it as a custom label, and no instance type is chosen by it",
		Remedy: "Write " + hint + " if that is meant."}}
}

func similar(value, known string) bool { return requirement.Nearest(value, []string{known}) != "" }
