package newnodes

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// someBatches is up to how many batches are packed in every order, manyBatches up to how many in more than one.
const (
	someBatches = 400
	manyBatches = 2000
)

// strategy is the order in which nodes are opened for batches, and whether batches are worth what the rates of all of
// them say or what they would cost alone.
type strategy struct {
	order  []int
	priced bool
}

// strategies returns the ways in which nodes are opened: for batches first that will not share a node with their like,
// since each of their units opens one whatever else there is, then for the most expensive; for those first that have
// the fewest offerings, so that flexible pods fill up what picky ones need anyway; and for the most expensive by what
// they would cost alone. Where limits may not let every pod in, what matters more goes first in all of them.
func strategies(batches []remainingBatch, limited bool) []strategy {
	given := make([]int, len(batches))
	for i := range given {
		given[i] = i
	}
	choices, value := make([]int, len(batches)), make([]int64, len(batches))
	for i := range batches {
		for _, o := range batches[i].options {
			choices[i] += len(o.Offerings)
			value[i] = max(value[i], o.Value)
		}
	}
	sorted := func(compare func(a, b int) int) []int {
		out := slices.Clone(given)
		slices.SortStableFunc(out, func(a, b int) int {
			if limited {
				return cmp.Or(cmp.Compare(batches[b].PodGroup.Priority, batches[a].PodGroup.Priority), compare(a, b))
			}
			return compare(a, b)
		})
		return out
	}
	compareValue := func(a, b int) int { return cmp.Compare(value[b], value[a]) }
	exclusive := sorted(func(a, b int) int {
		return cmp.Or(vector.CompareBools(batches[b].PodGroup.Exclusive(), batches[a].PodGroup.Exclusive()), compareValue(a, b))
	})
	if len(batches) > manyBatches {
		return []strategy{{exclusive, true}}
	}
	picky := sorted(func(a, b int) int { return cmp.Or(cmp.Compare(choices[a], choices[b]), compareValue(a, b)) })
	return []strategy{{exclusive, true}, {picky, true}, {sorted(compareValue), false}}
}
