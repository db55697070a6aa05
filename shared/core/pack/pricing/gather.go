package pricing

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// gather puts what is asked for into cohorts, telling sizes apart as finely as there is room for.
func (p *Rates) gather(requests []Request) {
	slots := make([][]int, len(requests))
	for i := range requests {
		slots[i] = p.slotsOf(requests[i].PodGroup)
	}
	for fine := uint(2); ; fine-- {
		p.cohorts, p.cohortOf = p.cohorts[:0], p.cohortOf[:0]
		index := make(map[string]int)
		var key []byte
		for i := range requests {
			if len(p.cohorts) > mostCohorts && fine > 0 {
				break
			}
			a := &requests[i]
			key = key[:0]
			for _, o := range a.Options {
				key = binary.AppendVarint(key, int64(o.OfferingSet.ID))
			}
			key = binary.AppendVarint(key, -1)
			for _, s := range slots[i] {
				key = binary.AppendVarint(key, int64(s))
			}
			key = binary.AppendVarint(key, -1)
			for _, amount := range a.PodGroup.Request {
				key = binary.AppendVarint(key, magnitude(amount, fine))
			}
			n, known := index[string(key)]
			if !known {
				n = len(p.cohorts)
				index[string(key)] = n
				c := cohort{request: make([]float64, p.resources), slots: slots[i]}
				for _, o := range a.Options {
					c.offeringSets = append(c.offeringSets, o.OfferingSet)
				}
				p.cohorts = append(p.cohorts, c)
			}
			p.cohortOf = append(p.cohortOf, n)
			c := &p.cohorts[n]
			c.count += float64(a.Count)
			for d, amount := range a.PodGroup.Request {
				c.request[d] += float64(float64(amount) * float64(a.Count))
			}
		}
		if len(p.cohorts) <= mostCohorts || fine == 0 {
			break
		}
	}
	for i := range p.cohorts {
		c := &p.cohorts[i]
		for d := range c.request {
			c.request[d] /= max(1, c.count)
		}
	}
}

// magnitude returns about log2 of the amount, in steps of 1/2^fine, fine ≤ 2; 0 of nothing.
func magnitude(amount int64, fine uint) int64 {
	amount = min(amount, 1<<60)
	if amount <= 0 {
		return 0
	}
	whole := uint(bits.Len64(uint64(amount)) - 1)
	part := (uint64(amount) ^ 1<<whole) << fine >> whole
	return 1 + int64(whole)<<fine + int64(part)
}

// slotsOf returns the slots a unit of the pod group takes one of. Pods that keep every other of their kind off their
// node take none: which nodes they open decides the plan, and they are better worth the whole node than the part the
// dual says.
func (p *Rates) slotsOf(c *group.PodGroup) []int {
	var out []int
	enter := func(s unitLimit) {
		n, known := p.slots[s]
		if !known {
			n = len(p.caps)
			p.slots[s] = n
			p.caps = append(p.caps, float64(s.most))
		}
		out = append(out, n)
	}
	for _, u := range c.Constraints {
		if u.ByHost && u.Self > 0 && u.Kind == group.Spread {
			enter(unitLimit{u.TopologyGroup, max(1, int64(u.MaxSkew/u.Self))})
		}
	}
	if c.SoftMost > 0 {
		enter(unitLimit{-1 - c.Order, c.SoftMost})
	}
	return out
}

// list lists the offerings worth comparing: of each offering set those that no cheaper one is as large as, at most
// offeringsEach.
func (p *Rates) list() {
	listed := vector.NewBitset(len(p.pool.Market.Columns))
	seen := make(map[int]bool)
	for i := range p.cohorts {
		for _, a := range p.cohorts[i].offeringSets {
			if seen[a.ID] {
				continue
			}
			seen[a.ID] = true
			front := p.front(a)
			for n, c := range front {
				if len(front) <= offeringsEach || n == 0 || n*offeringsEach/len(front) > (n-1)*offeringsEach/len(front) {
					listed.Set(c)
				}
			}
		}
	}
	for c := listed.Next(0); c >= 0; c = listed.Next(c + 1) {
		p.enter(c)
	}
	for i := range p.cohorts {
		c := &p.cohorts[i]
		for o, column := range p.columns {
			if slices.ContainsFunc(c.offeringSets, func(a *offerings.Set) bool { return a.Mask.Has(column) }) && p.fits(o, c.request) {
				c.offerings = append(c.offerings, int32(o))
			}
		}
	}
}

// front returns the set's offerings that no cheaper one of it is as large as, by price.
func (p *Rates) front(a *offerings.Set) []int {
	var columns, types []int
	for _, e := range a.Types[:a.PlainOrAll()] {
		room := p.pool.Free[e.Instance]
		if !p.open.Has(e.Column) || slices.Min(room) < 0 || slices.ContainsFunc(types, func(t int) bool { return p.pool.Free[t].Covers(room) }) {
			continue
		}
		columns, types = append(columns, e.Column), append(types, e.Instance)
	}
	return columns
}

// enter lists an offering.
func (p *Rates) enter(column int) {
	room := make([]float64, p.resources, p.resources+len(p.caps))
	for d, amount := range p.pool.Free[p.pool.Market.Columns[column].Instance] {
		room[d] = float64(amount)
	}
	room = append(room, p.caps...)
	share := make([]float64, len(room))
	for d := range share {
		share[d] = 0.02
	}
	share[p.cpu], share[p.memory] = 0.5, 0.5
	o := len(p.columns)
	p.columns, p.every = append(p.columns, column), append(p.every, int32(o))
	p.rooms, p.shares = append(p.rooms, room), append(p.shares, share)
	p.rates, p.best, p.load = append(p.rates, make([]float64, len(room))), append(p.best, make([]float64, len(room))), append(p.load, make([]float64, len(room)))
	p.charge(o)
}
