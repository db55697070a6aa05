package pricing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// New finds rates for what is asked of the pool.
func New(dims vector.Dimensions, pool *offerings.Pool, open vector.Bitset, requests []Request) *Rates {
	out := &Rates{pool: pool, open: open, resources: len(dims), slots: make(map[unitLimit]int)}
	out.cpu, out.memory = slices.Index(dims, model.CPU), slices.Index(dims, model.Memory)
	out.gather(requests)
	out.list()
	out.adjust(firstRounds, 1)
	return out
}

// Reprice adjusts the rates to the units that are left, by pod request.
func (p *Rates) Reprice(left []int) {
	for i := range p.cohorts {
		p.cohorts[i].count = 0
	}
	for i, n := range left {
		p.cohorts[p.cohortOf[i]].count += float64(n)
	}
	p.adjust(laterRounds, 0.3)
}

// Value returns what a unit of the pod group costs at best by the rates, in nano-USD per hour; 0 where no offering
// listed holds it.
func (p *Rates) Value(c *group.PodGroup, options []*offerings.Option) int64 {
	p.request = p.request[:0]
	for _, amount := range c.Request {
		p.request = append(p.request, float64(amount))
	}
	slots := p.slotsOf(c)
	least, found := p.least(slots, options, p.used)
	if !found {
		if least, found = p.least(slots, options, p.every); !found {
			return 0
		}
	}
	return max(1, int64(least*1000))
}

// least returns the least p.request costs on any of the offerings; false where none admits and holds it.
func (p *Rates) least(slots []int, options []*offerings.Option, among []int32) (least float64, found bool) {
	for _, o := range among {
		column := p.columns[o]
		if !slices.ContainsFunc(options, func(x *offerings.Option) bool { return x.OfferingSet.Mask.Has(column) }) || !p.fits(int(o), p.request) {
			continue
		}
		if cost := p.cost(p.request, slots, p.best[o]); !found || cost < least {
			least, found = cost, true
		}
	}
	return least, found
}

// LeastFor returns the least that any offering charges for so much room, in micro-USD per hour; false where none is
// sold.
func (p *Rates) LeastFor(room []float64) (least float64, sold bool) {
	offerings := p.used
	if len(offerings) == 0 {
		offerings = p.every
	}
	for n, o := range offerings {
		if value := p.cost(room, nil, p.best[o]); n == 0 || value < least {
			least = value
		}
	}
	return least, len(offerings) > 0
}

// Trend returns by which factor the cost of what the n-th pod request asks for has changed since the rates before.
func (p *Rates) Trend(n int) float64 { return p.cohorts[p.cohortOf[n]].trend }
