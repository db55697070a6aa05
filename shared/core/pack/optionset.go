package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
)

// optionSetOf is optionSet, looked for once where it is the same for every node of the offering set.
func optionSetOf(p *offerings.Pool, n *node, r *packing) offerings.OptionSet {
	if n.reservation != "" || p.Reserving || n.offeringSet == nil || !slices.Equal(n.mask, n.offeringSet.Mask) {
		return narrowedOptionSet(p, n, r)
	}
	if !n.offeringSet.Boxed {
		n.offeringSet.Boxed = true
		whole := p.Market.NewOptionSet()
		for c := range p.Market.Columns {
			if n.offeringSet.Mask.Has(c) && p.Open.Has(c) {
				whole.Add(&p.Market.Columns[c])
			}
		}
		whole.Combine()
		if mask, ok := p.Market.Inside(whole, n.offeringSet.Mask, ""); ok {
			whole.Mask = mask
			n.offeringSet.Whole = &whole
		}
	}
	if n.offeringSet.Whole != nil {
		return *n.offeringSet.Whole
	}
	return narrowedOptionSet(p, n, r)
}

// narrowedOptionSet returns the largest option set found inside what the node's pods accept: everything, where that is one already, else one
// grown from the node's offering by zones, capacity types and types, in the order of their cheapest offerings. Reserved
// capacity is left to nodes that are bought of it.
func narrowedOptionSet(p *offerings.Pool, n *node, r *packing) offerings.OptionSet {
	columns := p.Market.Columns
	accepted := n.mask
	if n.reservation == "" {
		accepted = p.WithoutReserved(n.mask)
	}
	usable := accepted.And(r.openFor(n))
	whole := p.Market.NewOptionSet()
	var order []int
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		if n.load.Fits(p.Free[columns[c].Instance]) {
			whole.Add(&columns[c])
			order = append(order, c)
		}
	}
	whole.Combine()
	if mask, ok := p.Market.Inside(whole, accepted, n.reservation); ok {
		whole.Mask = mask
		return whole
	}
	b := p.Market.NewOptionSet()
	b.Add(&columns[n.column])
	p.Market.Grow(&b, order, accepted, n.reservation)
	b.Mask, _ = p.Market.Inside(b, accepted, n.reservation)
	return b
}
