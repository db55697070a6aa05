package pack

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// choice is what a launch chooses beside the offer. Values are "" where it does not matter.
type choice struct {
	tenancy, partition string
}

// chosenKeys are the labels of a choice, by key.
var chosenKeys = []string{model.LabelTenancy, model.LabelPartition}

// value returns the choice's value of a label; "" where it makes none.
func (c choice) value(key string) string {
	switch key {
	case model.LabelTenancy:
		return c.tenancy
	case model.LabelPartition:
		return c.partition
	}
	return ""
}

// meets reports whether term allows what was chosen.
func (c choice) meets(term requirement.Requirements) bool {
	for _, key := range chosenKeys {
		if value := c.value(key); value != "" && term.Has(key) && !term[key].Has(value) {
			return false
		}
	}
	return true
}

// compareChoices puts what is chosen where nobody asks first: shared hardware, the first partition.
func compareChoices(a, b choice) int {
	return cmp.Or(strings.Compare(b.tenancy, a.tenancy), strings.Compare(a.partition, b.partition))
}

// choices returns what a launch of the type may choose, as far as it is told apart; at least one, which may be zero.
func choices(t *model.InstanceType, told map[string]bool) []choice {
	values := func(key string) []string {
		if all := t.Labels[key]; told[key] && len(all) > 1 {
			return all
		}
		return []string{""}
	}
	var out []choice
	for _, tenancy := range values(model.LabelTenancy) {
		for _, partition := range values(model.LabelPartition) {
			out = append(out, choice{tenancy, partition})
		}
	}
	return out
}

// toldApart returns the labels of choices that any pool, pod or claim speaks of. For the others a column for each value would
// be work for nothing.
func toldApart(in *Input) map[string]bool {
	told := make(map[string]bool, len(chosenKeys))
	for _, key := range chosenKeys {
		told[key] = speaksOf(in, key)
	}
	return told
}

func speaksOf(in *Input, key string) bool {
	named := func(r model.Requirement) bool { return r.Key == key }
	for i := range in.Snapshot.Pools {
		template := &in.Snapshot.Pools[i].Template
		if _, has := template.Labels[key]; has || slices.ContainsFunc(template.Requirements, named) {
			return true
		}
	}
	for i := range in.Claims {
		if slices.ContainsFunc(in.Claims[i].Requirements, named) {
			return true
		}
	}
	return slices.ContainsFunc(in.Snapshot.Shapes, func(s model.PodShape) bool { return shapeSpeaksOf(&s, key) })
}

func shapeSpeaksOf(s *model.PodShape, key string) bool {
	_, selected := s.NodeSelector[key]
	inTerm := func(t model.NodeTerm) bool {
		return slices.ContainsFunc(t.Requirements, func(r model.Requirement) bool { return r.Key == key })
	}
	near := func(t model.PodTerm) bool { return t.TopologyKey == key }
	nearWeighted := func(t model.WeightedPodTerm) bool { return near(t.Term) }
	return selected || slices.ContainsFunc(s.RequiredNodeAffinity, inTerm) ||
		slices.ContainsFunc(s.PreferredNodeAffinity, func(t model.WeightedTerm) bool { return inTerm(t.Term) }) ||
		slices.ContainsFunc(s.Spread, func(t model.Spread) bool { return t.TopologyKey == key }) ||
		slices.ContainsFunc(s.PodAffinity, near) || slices.ContainsFunc(s.PodAntiAffinity, near) ||
		slices.ContainsFunc(s.PreferredPodAffinity, nearWeighted) || slices.ContainsFunc(s.PreferredPodAntiAffinity, nearWeighted)
}

// chosenFor returns what a claim must say of choices so that its machine is one of mask: for each label the values there, and
// nothing where every value is.
func (m *market) chosenFor(mask bitset) requirement.Requirements {
	out := requirement.Requirements{}
	if !m.choosing {
		return out
	}
	for _, key := range chosenKeys {
		inside, all := make(map[string]bool), make(map[string]bool)
		for c := range m.columns {
			value := m.columns[c].chosen.value(key)
			if value == "" {
				continue
			}
			all[value] = true
			if mask.has(c) {
				inside[value] = true
			}
		}
		if len(inside) == len(all) {
			continue
		}
		var list []string
		for value := range inside { // Values sorts them
			list = append(list, value)
		}
		out = out.With(key, requirement.Values(list...))
	}
	return out
}
