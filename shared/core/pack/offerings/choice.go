package offerings

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// choice is what a launch chooses beside the offering. Values are "" where it does not matter.
type choice struct {
	tenancy, partition string
}

// ChosenKeys are the labels of a choice, by key.
var ChosenKeys = []string{model.LabelTenancy, model.LabelPartition}

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
	for _, key := range ChosenKeys {
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

// choices returns what a launch of the type may choose, as far as it is distinguished; at least one, which may be zero.
func choices(t *model.InstanceType, reported map[string]bool) []choice {
	values := func(key string) []string {
		if all := t.Labels[key]; reported[key] && len(all) > 1 {
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

// distinguished returns the labels of choices that any pool, pod or claim names. For the others a column for each value
// would be work for nothing.
func distinguished(in *input.Input) map[string]bool {
	reported := make(map[string]bool, len(ChosenKeys))
	report := func(key string) {
		if slices.Contains(ChosenKeys, key) {
			reported[key] = true
		}
	}
	for i := range in.Snapshot.Pools {
		template := &in.Snapshot.Pools[i].Template
		for _, key := range ChosenKeys {
			if _, has := template.Labels[key]; has {
				report(key)
			}
		}
		labelsOf(template.Requirements, report)
	}
	for i := range in.Claims {
		labelsOf(in.Claims[i].Requirements, report)
	}
	for i := range in.Snapshot.Shapes { // there may be as many as pods
		if len(reported) == len(ChosenKeys) {
			break
		}
		labelsOfShape(&in.Snapshot.Shapes[i], report)
	}
	return reported
}

func labelsOf(list []model.Requirement, report func(key string)) {
	for i := range list {
		report(list[i].Key)
	}
}

// labelsOfShape tells every label a shape names.
func labelsOfShape(s *model.PodShape, report func(key string)) {
	for key := range s.NodeSelector { // into a set
		report(key)
	}
	for i := range s.RequiredNodeAffinity {
		labelsOf(s.RequiredNodeAffinity[i].Requirements, report)
	}
	for i := range s.PreferredNodeAffinity {
		labelsOf(s.PreferredNodeAffinity[i].Term.Requirements, report)
	}
	for i := range s.Spread {
		report(s.Spread[i].TopologyKey)
	}
	for _, terms := range [][]model.PodTerm{s.PodAffinity, s.PodAntiAffinity} {
		for i := range terms {
			report(terms[i].TopologyKey)
		}
	}
	for _, terms := range [][]model.WeightedPodTerm{s.PreferredPodAffinity, s.PreferredPodAntiAffinity} {
		for i := range terms {
			report(terms[i].Term.TopologyKey)
		}
	}
}
