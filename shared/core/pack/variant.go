package pack

import (
	"encoding/binary"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// minSpotTypes is how many types a spot claim should be able to fall back on, where its pods allow as many.
	minSpotTypes = 10
	// priceCeiling bounds prices where they are weighed against each other, in micro-USD per hour: far above any instance,
	// and low enough that sums of products cannot overflow.
	priceCeiling = 10_000_000_000
)

// variant is one way pods may be placed on a pool, whatever they ask for of resources: a combination of custom labels and
// the offerings that suit them then.
type variant struct {
	flag        int
	offeringSet *offeringSet
}

// offeringSet is a set of offerings of a pool, with what a search among them needs. Equal sets are one object.
type offeringSet struct {
	id    int
	mask  vector.Bitset // offerings, available or not
	types []entry       // types that can be bought in it now, each by its cheapest offering, cheapest first
	spot  []int         // types that can be bought as spot now, by price
	plain int           // of types, how many leading ones are not exotic; exotic ones follow, by price
	whole *optionSet    // what a claim can say of it, where every combination is acceptable
	boxed bool          // whole has been looked for

	options map[string]*option  // by request and the most a node takes
	values  map[string][]string // by label: what its offerings that can be bought now have
}

// entry is a type's cheapest offering.
type entry struct {
	instance, column int
}

// option is what an offering set has for pods of one size.
type option struct {
	flag        int
	offeringSet *offeringSet
	alone       int64           // what a pod costs at best on nodes of its kind only, in nano-USD per hour; ≥ 1
	value       int64           // what a pod counts as in comparisons of nodes; alone, where nothing else is known
	spotTypes   int             // types available as spot that hold one pod, at most minSpotTypes
	costs       map[int64]int64 // of one of so many units on nodes of their own; filled when asked for
	offerings   []int           // columns to open a node with: for each type that holds one pod, its cheapest; by price
	endless     []int           // of those, the best were there endless units; filled when asked for
}

// offeringSet interns a set of offerings.
func (p *pool) offeringSet(mask vector.Bitset) *offeringSet {
	key := make([]byte, 0, 8*len(mask))
	for _, word := range mask {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	if a, known := p.offeringSets[string(key)]; known {
		return a
	}
	a := &offeringSet{id: len(p.offeringSets), mask: mask, options: make(map[string]*option)}
	a.types, a.spot, a.plain = p.typesAmong(mask.And(p.open))
	p.offeringSets[string(key)] = a
	return a
}

// openValues returns the values of a label decided by the offering that the set's nodes can have now, sorted.
func (p *pool) openValues(a *offeringSet, key string) []string {
	known, ok := a.values[key]
	if !ok {
		known = p.market.valuesIn(a.mask.And(p.open), key)
		if a.values == nil {
			a.values = make(map[string][]string)
		}
		a.values[key] = known
	}
	return known
}

// typesAmong lists the types among usable offerings: exotic ones last, for they are bought only where no other will do. Under
// minValues, which count all of them, they are not distinguished.
func (p *pool) typesAmong(usable vector.Bitset) (types []entry, spot []int, plain int) {
	seen, seenSpot := make([]bool, len(p.market.types)), make([]bool, len(p.market.types))
	var exotic []entry
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		col := &p.market.columns[c]
		if col.offering.CapacityType == model.Spot && !seenSpot[col.instance] {
			seenSpot[col.instance] = true
			spot = append(spot, col.instance)
		}
		if seen[col.instance] {
			continue
		}
		seen[col.instance] = true
		if p.minimums || p.market.plain.Has(c) {
			types = append(types, entry{col.instance, c})
		} else {
			exotic = append(exotic, entry{col.instance, c})
		}
	}
	return append(types, exotic...), spot, len(types)
}

// variants returns the ways the pod group can be placed on the pool, taints and resources aside. A claim cannot say "one of
// these alternatives", so that under minValues, which depend on all a claim accepts, each alternative stays on its own.
func (p *pool) variants(terms []requirement.Requirements, ports []model.HostPort) []variant {
	type way struct {
		flag int
		mask vector.Bitset
	}
	var list []way
	portable := p.portable(ports)
terms:
	for _, term := range terms {
		flag, ok := p.flags.number(p.custom, customPart(term))
		if !ok {
			continue
		}
		mask := p.market.columnsMeeting(term).And(p.allowed)
		if portable != nil {
			mask = mask.And(portable)
		}
		if mask.Empty() {
			continue
		}
		for i := range list {
			if list[i].flag == flag && !p.minimums {
				list[i].mask = list[i].mask.Or(mask)
				continue terms
			}
		}
		list = append(list, way{flag, mask})
	}
	out := make([]variant, len(list))
	for i := range list {
		out[i] = variant{list[i].flag, p.offeringSet(list[i].mask)}
	}
	return out
}

// portable returns the offerings on whose nodes no daemon takes one of the ports; nil where that is all of them.
func (p *pool) portable(ports []model.HostPort) vector.Bitset {
	if len(ports) == 0 {
		return nil
	}
	var out vector.Bitset
	for _, d := range p.portDaemons {
		if _, clash := topology.PortConflict(ports, d.ports); !clash {
			continue
		}
		runs := p.attracts(d)
		if out == nil {
			out = slices.Clone(p.allowed)
		}
		for c := out.Next(0); c >= 0; c = out.Next(c + 1) {
			if runs[p.market.columns[c].instance] {
				out.Clear(c)
			}
		}
	}
	return out
}

// pin narrows grounds to one domain.
func (p *pool) pin(list []variant, pins requirement.Requirements) []variant {
	var out []variant
	mask := p.market.columnsMeeting(pins)
	custom := customPart(pins)
	for _, g := range list {
		flag := g.flag
		if len(custom) > 0 {
			pinned, ok := p.flags.number(p.custom, custom)
			if !ok {
				continue
			}
			if flag, ok = p.flags.join(flag, pinned); !ok {
				continue
			}
		}
		if both := g.offeringSet.mask.And(mask); !both.Empty() {
			out = append(out, variant{flag, p.offeringSet(both)})
		}
	}
	return out
}

// options returns what the variants have for pods that ask for request, of which a node takes at most cap (0 = as many as
// fit). Grounds nothing available holds are left out.
func (p *pool) options(list []variant, request vector.Vector, cap int64) []*option {
	var out []*option
	for _, g := range list {
		if o := p.option(g, request, cap); len(o.offerings) > 0 {
			out = append(out, o)
		}
	}
	return out
}

func (p *pool) option(g variant, request vector.Vector, cap int64) *option {
	p.key = p.key[:0]
	p.key = binary.AppendVarint(p.key, int64(g.flag))
	p.key = binary.AppendVarint(p.key, cap)
	for _, amount := range request {
		p.key = binary.AppendVarint(p.key, amount)
	}
	if o, known := g.offeringSet.options[string(p.key)]; known {
		return o
	}
	o := &option{flag: g.flag, offeringSet: g.offeringSet}
	p.weigh(o, request, cap, g.offeringSet.types, g.offeringSet.spot, g.offeringSet.plain)
	g.offeringSet.options[string(p.key)] = o
	return o
}

// weigh finds what the option can be opened with and what a pod is worth, on exotic types only where no other holds it.
func (p *pool) weigh(o *option, request vector.Vector, cap int64, types []entry, spot []int, plain int) {
	p.weighAmong(o, request, cap, types[:plain])
	if len(o.offerings) == 0 {
		p.weighAmong(o, request, cap, types[plain:])
	}
	o.spotTypes = 0
	for _, t := range spot {
		if o.spotTypes < minSpotTypes && request.Fits(p.free[t]) && (p.minimums || len(o.offerings) == 0 || p.exotic[t] == p.exotic[p.market.columns[o.offerings[0]].instance]) {
			o.spotTypes++
		}
	}
}

func (p *pool) weighAmong(o *option, request vector.Vector, cap int64, types []entry) {
	o.offerings, o.endless, o.alone = nil, nil, 0
	least := 0.0
	dims := len(request)
	wanted, amounts := p.wanted[:0], p.amounts[:0]
	for d, amount := range request {
		if amount > 0 {
			wanted, amounts = append(wanted, d), append(amounts, float64(amount))
		}
	}
	p.wanted, p.amounts = wanted, amounts
	ofNode := 0.0 // the part of a node that is a pod's however little it asks for
	if cap > 0 {
		ofNode = 1 / float64(cap)
	}
	p.chosen = p.chosen[:0]
	bits, first := byte(0), true
types:
	for n, e := range types {
		if n&7 == 0 && n > 0 {
			p.chosen, bits = append(p.chosen, bits), 0
		}
		room, inverse := p.rooms[e.instance*dims:][:dims], p.inverse[e.instance*dims:][:dims]
		share := ofNode
		for n, d := range wanted {
			if request[d] > room[d] {
				continue types
			}
			if part := amounts[n] * inverse[d]; part > share {
				share = part
			}
		}
		bits |= 1 << (n & 7)
		if value := share * float64(p.market.columns[e.column].price); first || value < least {
			least, first = value, false
		}
	}
	p.chosen = append(p.chosen, bits)
	// What a request is answerable for of a price is its part of the resource it takes most of.
	o.alone = max(1, int64(least*1000))
	o.value = o.alone
	o.offerings = p.lists.of(p.chosen, types)
}

// offeringLists are lists of offerings met with so far: requests of many sizes fit the same types.
type offeringLists map[offeringList][]int

// offeringList says which of some types are meant.
type offeringList struct {
	types  *entry // the first of all of them, which tells them from others
	number int    // of them
	chosen string // a bit for each that is meant
}

// of returns the offerings of the types a bit of chosen is set for; nil where there is none. Nobody writes to them.
func (l offeringLists) of(chosen []byte, types []entry) []int {
	if len(types) == 0 {
		return nil
	}
	key := offeringList{&types[0], len(types), string(chosen)}
	known, met := l[key]
	if met {
		return known
	}
	for n, e := range types {
		if chosen[n>>3]>>(n&7)&1 != 0 {
			known = append(known, e.column)
		}
	}
	l[key] = known
	return known
}
