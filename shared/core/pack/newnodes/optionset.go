package newnodes

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
)

// optionSetOf is narrowedOptionSet, looked for once where it is the same for every node of the offering set.
func optionSetOf(p *offerings.Pool, n *Node, r *purchases) offerings.OptionSet {
	if n.Reservation != "" || p.Reserving || n.OfferingSet == nil || !slices.Equal(n.Mask, n.OfferingSet.Mask) {
		return narrowedOptionSet(p, n, r)
	}
	if !n.OfferingSet.Boxed {
		n.OfferingSet.Boxed = true
		whole := p.Market.NewOptionSet()
		for c := range p.Market.Columns {
			if n.OfferingSet.Mask.Has(c) && p.Open.Has(c) {
				whole.Add(&p.Market.Columns[c])
			}
		}
		whole.Combine()
		if mask, ok := p.Market.Inside(whole, n.OfferingSet.Mask, ""); ok {
			whole.Mask = mask
			n.OfferingSet.Whole = &whole
		}
	}
	if n.OfferingSet.Whole != nil {
		return *n.OfferingSet.Whole
	}
	return narrowedOptionSet(p, n, r)
}

// narrowedOptionSet returns the largest option set found inside what the node's pods accept: everything, where that is
// one already, else one grown from the node's offering by zones, capacity types and types, in the order of their
// cheapest offerings. Reserved capacity is left to nodes that are bought of it.
func narrowedOptionSet(p *offerings.Pool, n *Node, r *purchases) offerings.OptionSet {
	columns := p.Market.Columns
	accepted := n.Mask
	if n.Reservation == "" {
		accepted = p.WithoutReserved(n.Mask)
	}
	usable := accepted.And(r.openFor(n))
	whole := p.Market.NewOptionSet()
	var order []int
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		if n.Load.Fits(p.Free[columns[c].Instance]) {
			whole.Add(&columns[c])
			order = append(order, c)
		}
	}
	whole.Combine()
	if mask, ok := p.Market.Inside(whole, accepted, n.Reservation); ok {
		whole.Mask = mask
		return whole
	}
	b := p.Market.NewOptionSet()
	b.Add(&columns[n.Column])
	p.Market.Grow(&b, order, accepted, n.Reservation)
	b.Mask, _ = p.Market.Inside(b, accepted, n.Reservation)
	return b
}
