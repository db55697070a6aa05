package newnodes

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// NewPlanner returns a planner that has packed nothing. No pool is looked at before it is asked for.
func NewPlanner(in *input.Input, dims vector.Dimensions, rules *group.PodRules, markets *offerings.Markets, daemons []offerings.Daemon) *Planner {
	return &Planner{In: in, Dims: dims, rules: rules, Markets: markets, Daemons: daemons,
		poolsOf: make(map[string][]CandidatePool), divisions: make(map[string][]Cell)}
}

// Expect notes what there is to place, which rates are found for when they are asked for.
func (p *Planner) Expect(podGroups []*group.PodGroup) {
	p.pricings, p.expected = nil, make([]waiting, len(podGroups))
	for i, c := range podGroups {
		p.expected[i] = waiting{c, c.Units()}
	}
}

// Pools returns the pools, in the order they are asked. Where what exists is enough, none is ever looked at.
func (p *Planner) Pools() []*offerings.Pool {
	switch {
	case p.Ready != nil:
	case p.Tries < 0:
		p.Ready = []*offerings.Pool{}
	case p.Pristine != nil:
		p.Ready, p.Reserved = offerings.Copies(p.Pristine, p.In.Usage), p.Markets.Reservations(p.In.Taken)
	default:
		p.Ready, p.Reserved = offerings.NewPools(p.In, p.Dims, p.Markets, p.Daemons), p.Markets.Reservations(p.In.Taken)
	}
	return p.Ready
}

// Pack packs the pod batches pool by pool. What a pool's limits leave over goes on to the next pool that can hold it.
func (p *Planner) Pack(podBatches []*PodBatch) {
	for asking := len(podBatches) > 0; asking; {
		asking = false
		for i, pool := range p.Pools() {
			var here []remainingBatch
			for _, podBatch := range podBatches {
				options, mine := p.requests(podBatch, i)
				if !mine {
					continue
				}
				asking = true
				if len(options) > 0 {
					here = append(here, newRemainingBatch(podBatch, options))
				}
			}
			if len(here) > 0 {
				p.packOn(pool, here)
			}
		}
	}
}

// requests reports whether the pod batch asks the pool next, and with which options. It goes on to its next pool after
// that.
func (p *Planner) requests(podBatch *PodBatch, pool int) ([]*offerings.Option, bool) {
	for len(podBatch.Pods) > 0 && podBatch.next < len(podBatch.Pools) {
		s := &podBatch.Pools[podBatch.next]
		options := p.Pools()[s.Pool].Options(s.Variants, podBatch.PodGroup.Request, podBatch.PodGroup.Most())
		if len(options) > 0 && s.Pool != pool {
			return nil, false
		}
		podBatch.next++
		if len(options) > 0 {
			return options, true
		}
	}
	return nil, false
}

// packOn packs batches onto new nodes of the pool, by every strategy, and keeps the result that places most pods, then
// the cheapest, then the first.
func (p *Planner) packOn(pool *offerings.Pool, batches []remainingBatch) {
	var best *Packing
	ways, again := strategies(batches, len(pool.Limited) > 0), reprices(len(batches))
	if tries := p.Tries; tries > 0 {
		ways = ways[:min(len(ways), max(1, tries/2))]
		again = min(again, tries-len(ways))
	}
	for _, s := range ways {
		r := newPacking(p, pool, batches, s.order)
		if s.priced {
			r.input.priced = true
			r.price()
		}
		r.pack()
		if best == nil || cmp.Or(r.compareUnplaced(best), cmp.Compare(r.Total(), best.Total())) < 0 {
			best = r
		}
	}
	last := best
	for range again {
		charged := last.repriced()
		last = newPacking(p, pool, charged, strategies(charged, len(pool.Limited) > 0)[0].order)
		last.pack()
		if cmp.Or(last.compareUnplaced(best), cmp.Compare(last.Total(), best.Total())) < 0 {
			best = last
		}
	}
	best = best.withWhole()
	best.assign()
	pool.Left, p.Reserved = best.left, best.reserved
	p.Runs = append(p.Runs, best)
}

// Release disrupts what a node takes of limits and reservations.
func (p *Planner) Release(pool *offerings.Pool, n *Node) {
	for i, amount := range n.LimitUse {
		pool.Left[i] += amount
	}
	if n.Reservation != "" {
		p.Reserved[n.Reservation]++
	}
}

// Saved returns what takes back all that is packed after it.
func (p *Planner) Saved() (restore func()) {
	pools := p.Pools()
	runs, reserved, left := len(p.Runs), p.Reserved, make([][]int64, len(pools))
	for i, pool := range pools {
		left[i] = pool.Left
	}
	return func() {
		p.Runs, p.Reserved = p.Runs[:runs], reserved
		for i, pool := range pools {
			pool.Left = left[i]
		}
	}
}

// PackAlike opens up to n nodes of the pool with room for load beside their daemons, for no pod in particular; fewer
// where limits leave no room for more. It is for a planner that has packed nothing.
func (p *Planner) PackAlike(pool *offerings.Pool, n int, load model.Resources) {
	r := newPacking(p, pool, nil, nil)
	for range n {
		made := Node{OfferingSet: pool.SetOf(pool.Allowed), Load: p.Dims.Vector(load)}
		made.Mask = made.OfferingSet.Mask
		if !r.settle(&made) {
			break
		}
		for i, amount := range made.LimitUse {
			r.left[i] -= amount
		}
		if made.Reservation != "" {
			r.reserved[made.Reservation]--
			r.closeExhausted()
		}
		r.Nodes = append(r.Nodes, made)
	}
	pool.Left = slices.Clone(r.left)
	p.Runs = []*Packing{r}
}

// LabelOf returns a label of the node, should it be bought as its cheapest offering; empty where it has none or
// several.
func (p *Planner) LabelOf(pool *offerings.Pool, n *Node, key string) string {
	if !offerings.Decided(key) {
		set := pool.Flags.Sets[n.Flag].Get(key)
		if !pool.Flags.Sets[n.Flag].Has(key) || set.AllowsAbsent() {
			return ""
		}
		value, _ := set.Pick()
		return value
	}
	return pool.Market.Label(n.Column, key)
}
