package newnodes

import "github.com/joiner-sh/joiner/shared/core/pack/offerings"

// Repricing: a batch is worth what it costs, and what it costs shows only when everything is packed. The first run
// takes what a unit would cost at best; every later one moves that towards what units of the batch were charged in the
// run before, each node's price being shared out by worth. Lots that are hard to place come to be worth more, and are
// then packed with more care.

// reprices returns how often so many batches are repriced: often where a run is short.
func reprices(batches int) int {
	switch {
	case batches <= someBatches:
		return 8
	case batches <= manyBatches:
		return 1
	}
	return 0
}

// repriced returns the run's batches as they were given to it, worth what they were charged.
func (r *Packing) repriced() []remainingBatch {
	charged, units := make([]float64, len(r.Batches)), make([]float64, len(r.Batches))
	for i := range r.Nodes {
		n := &r.Nodes[i]
		total := 0.0
		for _, it := range n.Items {
			total += float64(it.count) * float64(r.Batches[it.Batch].options[it.option].Value)
		}
		for _, it := range n.Items {
			part := float64(it.count) * float64(r.Batches[it.Batch].options[it.option].Value)
			charged[it.Batch] += float64(n.Price) * 1000 * part / total
			units[it.Batch] += float64(it.count)
		}
	}
	out := make([]remainingBatch, len(r.Batches))
	for i := range r.Batches {
		out[i] = r.Batches[i]
		if units[i] == 0 {
			continue
		}
		paid := charged[i] / units[i]
		out[i].options = make([]*offerings.Option, len(r.Batches[i].options))
		for j, o := range r.Batches[i].options {
			changed := *o
			changed.Value = max(1, int64((float64(o.Value)+paid)/2))
			out[i].options[j] = &changed
		}
	}
	return out
}
