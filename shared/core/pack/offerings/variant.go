package offerings

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// MaxCells bounds into how many combinations of domains a pod group's place is divided.
const MaxCells = 1024

// FewUnits is how many units count as few: what whole nodes cost matters to them, and rates know nothing of whole
// nodes.
const FewUnits = 64

// CostOf returns what one of n units costs at best on nodes of their own, in nano-USD per hour.
func (p *Pool) CostOf(o *Option, request vector.Vector, n, cap int64) int64 {
	if n > FewUnits {
		return o.Value
	}
	if known, ok := o.costs[n]; ok {
		return known
	}
	if o.costs == nil {
		o.costs = make(map[int64]int64)
	}
	best := int64(math.MaxInt64)
	for _, c := range o.Offerings {
		if p.Market.Columns[c].Price*1000/n >= best {
			break // even if one node held all of them; nor will any that is more expensive do
		}
		copies := int64(request.Copies(p.Free[p.Market.Columns[c].Instance], int(n)))
		if cap > 0 {
			copies = min(copies, cap)
		}
		best = min(best, p.Market.Columns[c].Price*1000*((n+copies-1)/copies)/n)
	}
	o.costs[n] = best
	return best
}

// Combinations returns every combination of values of the labels that nodes of the variant can have now.
func (p *Pool) Combinations(g Variant, keys []string) [][]string {
	out := [][]string{nil}
	for _, key := range keys {
		var values []string
		if Decided(key) {
			values = p.openValues(g.OfferingSet, key)
		} else if set := p.Flags.Sets[g.flag].Get(key); p.Flags.Sets[g.flag].Has(key) {
			var listed bool
			if values, listed = set.Listed(); !listed { // any value will do: the one the node gets
				value, _ := set.Pick()
				values = []string{value}
			}
		}
		if len(values) == 0 {
			values = []string{""} // nodes without the label
		}
		var next [][]string
		for _, head := range out {
			for _, value := range values {
				if len(next) < MaxCells {
					next = append(next, append(slices.Clone(head), value))
				}
			}
		}
		out = next
	}
	return out
}

// PlainOrAll returns how many of the leading types are compared: those that are not exotic, where there is any.
func (a *Set) PlainOrAll() int {
	if a.Plain > 0 {
		return a.Plain
	}
	return len(a.Types)
}

// SetOf interns a set of offerings.
func (p *Pool) SetOf(mask vector.Bitset) *Set {
	key := make([]byte, 0, 8*len(mask))
	for _, word := range mask {
		key = binary.LittleEndian.AppendUint64(key, word)
	}
	if a, known := p.offeringSets[string(key)]; known {
		return a
	}
	a := &Set{ID: len(p.offeringSets), Mask: mask, options: make(map[string]*Option)}
	a.Types, a.Spot, a.Plain = p.TypesAmong(mask.And(p.Open))
	p.offeringSets[string(key)] = a
	return a
}

// openValues returns the values of a label decided by the offering that the set's nodes can have now, sorted.
func (p *Pool) openValues(a *Set, key string) []string {
	known, ok := a.values[key]
	if !ok {
		known = p.Market.ValuesIn(a.Mask.And(p.Open), key)
		if a.values == nil {
			a.values = make(map[string][]string)
		}
		a.values[key] = known
	}
	return known
}

// TypesAmong lists the types among usable offerings: exotic ones last, for they are bought only where no other will do.
// Under minValues, which count all of them, they are not distinguished.
func (p *Pool) TypesAmong(usable vector.Bitset) (types []entry, spot []int, plain int) {
	seen, seenSpot := make([]bool, len(p.Market.Types)), make([]bool, len(p.Market.Types))
	var exotic []entry
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		col := &p.Market.Columns[c]
		if col.Offering.CapacityType == model.Spot && !seenSpot[col.Instance] {
			seenSpot[col.Instance] = true
			spot = append(spot, col.Instance)
		}
		if seen[col.Instance] {
			continue
		}
		seen[col.Instance] = true
		if p.Minimums || p.Market.Plain.Has(c) {
			types = append(types, entry{col.Instance, c})
		} else {
			exotic = append(exotic, entry{col.Instance, c})
		}
	}
	return append(types, exotic...), spot, len(types)
}

// Variants returns the ways the pod group can be placed on the pool, taints and resources aside. A claim cannot say
// "one of these alternatives", so that under minValues, which depend on all a claim accepts, each alternative stays on
// its own.
func (p *Pool) Variants(terms []requirement.Requirements, ports []model.HostPort) []Variant {
	type way struct {
		flag int
		mask vector.Bitset
	}
	var list []way
	portable := p.portable(ports)
terms:
	for _, term := range terms {
		flag, ok := p.Flags.number(p.Custom, CustomPart(term))
		if !ok {
			continue
		}
		mask := p.Market.ColumnsMeeting(term).And(p.Allowed)
		if portable != nil {
			mask = mask.And(portable)
		}
		if mask.Empty() {
			continue
		}
		for i := range list {
			if list[i].flag == flag && !p.Minimums {
				list[i].mask = list[i].mask.Or(mask)
				continue terms
			}
		}
		list = append(list, way{flag, mask})
	}
	out := make([]Variant, len(list))
	for i := range list {
		out[i] = Variant{list[i].flag, p.SetOf(list[i].mask)}
	}
	return out
}

// portable returns the offerings on whose nodes no daemon takes one of the ports; nil where that is all of them.
func (p *Pool) portable(ports []model.HostPort) vector.Bitset {
	if len(ports) == 0 {
		return nil
	}
	var out vector.Bitset
	for _, d := range p.portDaemons {
		if _, clash := topology.PortConflict(ports, d.Ports); !clash {
			continue
		}
		runs := p.attracts(d)
		if out == nil {
			out = slices.Clone(p.Allowed)
		}
		for c := out.Next(0); c >= 0; c = out.Next(c + 1) {
			if runs[p.Market.Columns[c].Instance] {
				out.Clear(c)
			}
		}
	}
	return out
}

// Pin narrows grounds to one domain.
func (p *Pool) Pin(list []Variant, pins requirement.Requirements) []Variant {
	var out []Variant
	mask := p.Market.ColumnsMeeting(pins)
	custom := CustomPart(pins)
	for _, g := range list {
		flag := g.flag
		if len(custom) > 0 {
			pinned, ok := p.Flags.number(p.Custom, custom)
			if !ok {
				continue
			}
			if flag, ok = p.Flags.Join(flag, pinned); !ok {
				continue
			}
		}
		if both := g.OfferingSet.Mask.And(mask); !both.Empty() {
			out = append(out, Variant{flag, p.SetOf(both)})
		}
	}
	return out
}

// Options returns what the variants have for pods that ask for request, of which a node takes at most cap (0 = as many
// as fit). Grounds nothing available holds are left out.
func (p *Pool) Options(list []Variant, request vector.Vector, cap int64) []*Option {
	var out []*Option
	for _, g := range list {
		if o := p.option(g, request, cap); len(o.Offerings) > 0 {
			out = append(out, o)
		}
	}
	return out
}

func (p *Pool) option(g Variant, request vector.Vector, cap int64) *Option {
	p.key = p.key[:0]
	p.key = binary.AppendVarint(p.key, int64(g.flag))
	p.key = binary.AppendVarint(p.key, cap)
	for _, amount := range request {
		p.key = binary.AppendVarint(p.key, amount)
	}
	if o, known := g.OfferingSet.options[string(p.key)]; known {
		return o
	}
	o := &Option{Flag: g.flag, OfferingSet: g.OfferingSet}
	p.Weigh(o, request, cap, g.OfferingSet.Types, g.OfferingSet.Spot, g.OfferingSet.Plain)
	g.OfferingSet.options[string(p.key)] = o
	return o
}

// Weigh finds what the option can be opened with and what a pod is worth, on exotic types only where no other holds it.
func (p *Pool) Weigh(o *Option, request vector.Vector, cap int64, types []entry, spot []int, plain int) {
	p.weighAmong(o, request, cap, types[:plain])
	if len(o.Offerings) == 0 {
		p.weighAmong(o, request, cap, types[plain:])
	}
	o.SpotTypes = 0
	for _, t := range spot {
		if o.SpotTypes < MinSpotTypes && request.Fits(p.Free[t]) && (p.Minimums || len(o.Offerings) == 0 || p.exotic[t] == p.exotic[p.Market.Columns[o.Offerings[0]].Instance]) {
			o.SpotTypes++
		}
	}
}

func (p *Pool) weighAmong(o *Option, request vector.Vector, cap int64, types []entry) {
	o.Offerings, o.Endless, o.Alone = nil, nil, 0
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
		room, inverse := p.rooms[e.Instance*dims:][:dims], p.inverse[e.Instance*dims:][:dims]
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
		if value := share * float64(p.Market.Columns[e.Column].Price); first || value < least {
			least, first = value, false
		}
	}
	p.chosen = append(p.chosen, bits)
	// What a request is answerable for of a price is its part of the resource it takes most of.
	o.Alone = max(1, int64(least*1000))
	o.Value = o.Alone
	o.Offerings = p.lists.of(p.chosen, types)
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
			known = append(known, e.Column)
		}
	}
	l[key] = known
	return known
}

// Without leaves out the offerings on whose nodes any of the daemons runs.
func (p *Pool) Without(list []Variant, conflicts []int) []Variant {
	if len(conflicts) == 0 {
		return list
	}
	taken := make([]bool, len(p.Market.Types))
	for _, d := range p.Tolerated {
		if slices.Contains(conflicts, d.Set) {
			for t, runs := range p.attracts(d) {
				taken[t] = taken[t] || runs
			}
		}
	}
	return p.WithoutTypes(list, taken)
}

// WithoutTypes leaves out the offerings of the types.
func (p *Pool) WithoutTypes(list []Variant, types []bool) []Variant {
	var out []Variant
	for _, g := range list {
		mask := slices.Clone(g.OfferingSet.Mask)
		for c := mask.Next(0); c >= 0; c = mask.Next(c + 1) {
			if types[p.Market.Columns[c].Instance] {
				mask.Clear(c)
			}
		}
		if !mask.Empty() {
			out = append(out, Variant{g.flag, p.SetOf(mask)})
		}
	}
	return out
}
