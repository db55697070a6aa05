package pack

import (
	"math/bits"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// minSpotTypes is how many types a spot claim should be able to fall back on, where its pods allow as many.
	minSpotTypes = 10
	// priceCeiling bounds prices where they are weighed against each other, in micro-USD per hour: far above any machine,
	// and low enough that sums of products cannot overflow.
	priceCeiling = 10_000_000_000
)

// option is one way a class may be placed on a pool: one combination of custom labels, and the offers it accepts then.
// Alternatives of a pod's affinity that agree on custom labels are one option.
type option struct {
	flag      int
	mask      bitset // columns acceptable, available or not
	worth     int64  // what a pod of the class costs at best, in nano-USD per hour; ≥ 1
	spotTypes int    // types available as spot that hold one pod, at most minSpotTypes
	offers    []int  // columns to open a node with: for each type that holds one pod, its cheapest; by price
}

// options returns the ways the class can be placed on a new node of the pool now; empty where there is none. Taints are
// not looked at.
func (p *pool) options(c *class, open bitset) []option {
	var feasible []option
	for _, o := range p.alternatives(c) {
		p.weigh(&o, c.request, open)
		if len(o.offers) > 0 {
			feasible = append(feasible, o)
		}
	}
	return feasible
}

// alternatives merges the class's terms into options, whether or not anything holds them. A claim cannot say "one of
// these alternatives", so that under minValues, which depend on all a claim accepts, each alternative stays on its own.
func (p *pool) alternatives(c *class) []option {
	var list []option
terms:
	for _, term := range c.terms {
		flag, ok := p.flags.number(p.custom, customPart(term))
		if !ok {
			continue
		}
		mask := p.market.columnsMeeting(term).and(p.allowed)
		if mask.empty() {
			continue
		}
		for i := range list {
			if list[i].flag == flag && !p.base.MinValues() {
				list[i].mask = list[i].mask.or(mask)
				continue terms
			}
		}
		list = append(list, option{flag: flag, mask: mask})
	}
	return list
}

// weigh finds what the option can be opened with and what a pod is worth, on exotic types only where no other holds it.
func (p *pool) weigh(o *option, request vector, open bitset) {
	usable := o.mask.and(open)
	if !p.base.MinValues() {
		if p.weighAmong(o, request, usable.and(p.market.plain)); len(o.offers) > 0 {
			return
		}
	}
	p.weighAmong(o, request, usable)
}

func (p *pool) weighAmong(o *option, request vector, usable bitset) {
	o.offers, o.worth, o.spotTypes = nil, 0, 0
	seen := make([]bool, len(p.market.types))
	spot := make([]bool, len(p.market.types))
	for c := usable.next(0); c >= 0; c = usable.next(c + 1) {
		col := &p.market.columns[c]
		if !request.fits(p.room[col.instance]) {
			continue
		}
		if col.offer.CapacityType == model.Spot && !spot[col.instance] && o.spotTypes < minSpotTypes {
			spot[col.instance] = true
			o.spotTypes++
		}
		if seen[col.instance] {
			continue
		}
		seen[col.instance] = true
		o.offers = append(o.offers, c)
		if worth := share(col.price, request, p.room[col.instance]); o.worth == 0 || worth < o.worth {
			o.worth = worth
		}
	}
}

// share returns the part of a price that a request is answerable for: that of the resource it takes most of, in
// nano-USD per hour, at least 1. The request fits the room.
func share(price int64, request, room vector) int64 {
	nano := uint64(min(price, priceCeiling)) * 1000
	most := uint64(1)
	for i, amount := range request {
		if amount > 0 {
			high, low := bits.Mul64(nano, uint64(amount))
			quotient, _ := bits.Div64(high, low, uint64(room[i])) // amount ≤ room, so that it cannot overflow
			most = max(most, quotient)
		}
	}
	return int64(most)
}
