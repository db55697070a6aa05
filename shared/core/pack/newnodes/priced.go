package newnodes

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/pricing"
)

// repricedBelow is the part of what was left the last time, below which rates are adjusted to what is left now.
const repricedBelow = 0.6

// price has the run's batches worth what the rates say, now and as they are placed. Reserved capacity costs
// next to nothing, and one batch has nothing to be compared with.
func (r *Packing) price() {
	if r.Pool.Reserving || len(r.Batches) < 2 {
		return
	}
	requests := make([]pricing.Request, len(r.Batches))
	for i := range r.Batches {
		batch := &r.Batches[i]
		requests[i] = pricing.Request{PodGroup: batch.PodGroup, Options: batch.options, Count: batch.count}
		batch.options = slices.Clone(batch.options)
		for j, o := range batch.options {
			changed := *o
			batch.options[j] = &changed
		}
	}
	if r.pricing = r.planner.known(r.Pool); r.pricing != nil {
		r.appraise()
		r.pricing, r.rated = nil, true // it is of more than what is left here
		return
	}
	r.pricing = pricing.New(r.planner.Dims, r.Pool, r.open, requests)
	r.rated = true
	r.appraise()
}

// known returns rates that a plan in haste takes over as they are, of everything that is to be placed sooner or later;
// nil where there are none, or rules between pods make them others.
func (p *Planner) known(pool *offerings.Pool) *pricing.Rates {
	if p.Tries != 1 || !p.rules.Empty() {
		return nil
	}
	return p.Rates[pool.Source.Name]
}

// appraise sets what the batches are worth by the rates.
func (r *Packing) appraise() {
	for i := range r.Batches {
		batch := &r.Batches[i]
		if value := r.pricing.Value(batch.PodGroup, batch.options); value > 0 {
			for _, o := range batch.options {
				if o.Value = value; batch.PodGroup.Exclusive() {
					o.Value = max(value, o.Alone)
				}
			}
		}
	}
	r.sumUp()
}

// follow changes what the batches with units left are worth as the cost of their cohorts changed.
func (r *Packing) follow() {
	for _, l := range r.order {
		batch := &r.Batches[l]
		trend := r.pricing.Trend(l)
		if r.counts[l] == 0 || trend == 1 {
			continue
		}
		for _, o := range batch.options {
			if o.Value = max(1, int64(float64(o.Value)*trend)); batch.PodGroup.Exclusive() {
				o.Value = max(o.Value, o.Alone)
			}
		}
	}
	r.sumUp()
}

// sumUp notes what all that is left is worth.
func (r *Packing) sumUp() {
	r.valueLeft = 0
	for i := range r.Batches {
		r.valueLeft += float64(float64(r.counts[i]) * float64(r.Batches[i].options[0].Value))
	}
	r.valueThen = r.valueLeft
}

// placed notes that units of the batch were placed.
func (r *Packing) placed(l, units int) {
	if r.counts[l] -= units; r.counts[l] == 0 {
		r.spent++
	}
	r.valueLeft -= float64(float64(units) * float64(r.Batches[l].options[0].Value))
}

// keepPriced adjusts what batches are worth once much of them is placed.
func (r *Packing) keepPriced() {
	if r.pricing != nil && r.valueLeft > 0 && r.valueLeft < float64(repricedBelow*r.valueThen) && r.spent < len(r.order) {
		r.pricing.Reprice(r.counts)
		r.follow()
	}
}
