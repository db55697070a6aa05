package group

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// InOrder sorts pod groups for placing: what matters more first, then those other pods' places depend on, then those
// that depend on others, those that keep a balance last of them, then those no rule is about; each larger ones first.
func InOrder(podGroups []*PodGroup) []*PodGroup {
	type place struct {
		podGroup    *PodGroup
		given, rank int
		cpu, memory int64
	}
	list := make([]place, len(podGroups))
	for i, c := range podGroups {
		list[i] = place{c, i, c.Rank(), c.Resources[model.CPU], c.Resources[model.Memory]}
	}
	slices.SortFunc(list, func(a, b place) int {
		switch {
		case a.podGroup.Priority != b.podGroup.Priority:
			return cmp.Compare(b.podGroup.Priority, a.podGroup.Priority)
		case a.rank != b.rank:
			return cmp.Compare(a.rank, b.rank)
		case a.cpu != b.cpu:
			return cmp.Compare(b.cpu, a.cpu)
		case a.memory != b.memory:
			return cmp.Compare(b.memory, a.memory)
		case a.podGroup.Order != b.podGroup.Order:
			return cmp.Compare(a.podGroup.Order, b.podGroup.Order)
		}
		return cmp.Compare(a.given, b.given)
	})
	out := make([]*PodGroup, len(list))
	for i := range list {
		out[i] = list[i].podGroup
	}
	return out
}

// Rank says how early the pod group is placed; see InOrder.
func (c *PodGroup) Rank() int {
	if c.Plain() {
		return 3
	}
	rank := 0
	for _, u := range c.Constraints {
		switch {
		case u.ByHost:
		case u.Kind == Spread:
			return 2
		default:
			rank = 1
		}
	}
	return rank
}
