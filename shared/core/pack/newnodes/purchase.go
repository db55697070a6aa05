package newnodes

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// join returns the offerings of both sets.
func (r *purchases) join(a, b *offerings.Set) *offerings.Set {
	if a == b {
		return a
	}
	pair := [2]int{min(a.ID, b.ID), max(a.ID, b.ID)}
	if known := r.joined[pair]; known != nil {
		return known
	}
	both := r.Pool.SetOf(a.Mask.And(b.Mask))
	r.joined[pair] = both
	return both
}

// settle finds the cheapest offering for what is on the node and what it takes of the limits; false where no offering
// holds it, minValues cannot be met or the limits leave too little. One reservation rarely meets minValues; then the
// node does without. Exotic types are for nodes nothing else holds, as at launch.
func (r *purchases) settle(n *Node) bool {
	if !r.Pool.Reserving && !r.Pool.Minimums {
		for i, e := range n.OfferingSet.Types {
			if n.Load.Fits(r.Pool.Free[e.Instance]) && offerings.Within(r.Pool.Taken[e.Column], r.left) {
				n.Column, n.Price, n.LimitUse = e.Column, r.Pool.Market.Columns[e.Column].Price, r.Pool.Taken[e.Column]
				if i < n.OfferingSet.Plain && n.OfferingSet.Plain < len(n.OfferingSet.Types) {
					n.OfferingSet = r.Pool.SetOf(n.Mask.And(r.Pool.Market.Plain))
					n.Mask = n.OfferingSet.Mask
				}
				return true
			}
		}
		return false
	}
	if plain := n.Mask.And(r.Pool.Market.Plain); !r.Pool.Minimums {
		if _, ok := r.Pool.Cheapest(plain, r.open, n.Load, r.left); ok {
			n.Mask = plain
		}
	}
	mask := n.Mask
	if r.settleAmong(n, r.open) {
		return true
	}
	if n.Reservation == "" {
		return false
	}
	n.Mask, n.Reservation = mask, ""
	return r.settleAmong(n, r.Pool.WithoutReserved(r.open))
}

func (r *purchases) settleAmong(n *Node, open vector.Bitset) bool {
	column, ok := r.Pool.Cheapest(n.Mask, open, n.Load, r.left)
	if !ok {
		return false
	}
	n.Column, n.Price = column, r.Pool.Market.Columns[column].Price
	n.LimitUse = r.Pool.Taken[column]
	offering := r.Pool.Market.Columns[column].Offering
	if offering.CapacityType == model.Reserved {
		n.Reservation = offering.ReservationID
		n.Mask = r.Pool.OnlyReservation(n.Mask, offering.ReservationID)
	}
	if !r.Pool.Minimums {
		return true
	}
	// A claim lists types and not offerings, so that only what its option set holds counts.
	usable := narrowedOptionSet(r.Pool, n, r).Mask.And(r.openFor(n))
	affordable := slices.DeleteFunc(r.Pool.Holders(usable, r.Pool.Open, n.Load),
		func(t int) bool { return !offerings.Within(r.Pool.Least(t, usable), r.left) })
	types, met := r.Pool.WithMinValues(affordable)
	n.relaxed = !met && r.bestEffort
	for _, t := range types {
		n.LimitUse = largest(n.LimitUse, r.Pool.Least(t, usable))
	}
	return (met || n.relaxed) && offerings.Within(n.LimitUse, r.left)
}

// openFor returns the columns the node may be bought by: those still open, or its own reservation's even if it took the
// last of it.
func (r *purchases) openFor(n *Node) vector.Bitset {
	if n.Reservation != "" {
		return r.Pool.Open
	}
	return r.open
}

// Cheapen buys the node by the cheapest offering of its zone and capacity type that still holds it, once pods were
// taken off.
func (r *purchases) Cheapen(n *Node) {
	if n.Reservation != "" || len(n.Pods) == 0 {
		return
	}
	was := &r.Pool.Market.Columns[n.Column]
	usable := n.Mask.And(r.open)
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		col := &r.Pool.Market.Columns[c]
		if col.Offering.Zone == was.Offering.Zone && col.Offering.CapacityType == was.Offering.CapacityType && n.Load.Fits(r.Pool.Free[col.Instance]) &&
			offerings.Within(r.Pool.Taken[c], n.LimitUse) {
			n.Column, n.Price = c, col.Price
			return
		}
	}
}

// largest returns the larger amount of each.
func largest(a, b []int64) []int64 {
	out := make([]int64, len(a))
	for i := range a {
		out[i] = max(a[i], b[i])
	}
	return out
}
