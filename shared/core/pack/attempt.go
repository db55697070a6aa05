package pack

import (
	"cmp"
	"math/bits"
	"slices"
)

// Bounds on how much is tried, as counts.
const (
	fillChecks    = 60_000 // class checks while comparing what to open one node with
	minCandidates = 24     // offers compared at least
	scanChecks    = 512    // classes looked at for one offer while comparing
)

// attempt is one offer to open a node with, and what of value it would carry.
type attempt struct {
	option int
	column int
	worth  int64
}

// live returns the seed and after it, in order, every other lot that has pods left. It notes the least they ask for.
func (r *run) live(seed int) []int {
	out := []int{seed}
	r.smallest = slices.Clone(r.lots[seed].class.request)
	for _, l := range r.order {
		if l == seed || r.lots[l].count == 0 {
			continue
		}
		out = append(out, l)
		for d, amount := range r.lots[l].class.request {
			r.smallest[d] = min(r.smallest[d], amount)
		}
	}
	return out
}

// attempts compares the offers the first lot can be opened with, best value for money first.
func (r *run) attempts(order []int) []attempt {
	seed := &r.lots[order[0]]
	most := max(minCandidates, fillChecks/min(len(order), scanChecks))
	var out []attempt
	for o := range seed.options {
		for _, c := range r.shortlist(&seed.options[o], seed, most) {
			if !within(r.pool.taken[r.pool.market.columns[c].instance], r.left) {
				continue
			}
			worth := r.fill(order, o, c, scanChecks)
			out = append(out, attempt{option: o, column: c, worth: worth})
		}
	}
	slices.SortStableFunc(out, func(a, b attempt) int {
		return cmp.Or(compareRatios(r.pool.market.columns[a.column].price, a.worth, r.pool.market.columns[b.column].price, b.worth),
			cmp.Compare(a.column, b.column), cmp.Compare(a.option, b.option))
	})
	return out
}

// shortlist returns at most n of the option's open offers: those that would carry the lot best if there were endless
// pods of it, and those that carry the pods there are best.
func (r *run) shortlist(o *option, seed *lot, n int) []int {
	var offers []int
	for _, c := range o.offers {
		if r.open.has(c) {
			offers = append(offers, c)
		}
	}
	if len(offers) <= n {
		return offers
	}
	endless := slices.Clone(offers)
	r.sortByPrice(endless, func(c int) int64 { return r.carried(c, seed.class.request, 1<<30) })
	exact := slices.Clone(offers)
	r.sortByPrice(exact, func(c int) int64 { return r.carried(c, seed.class.request, seed.count) })
	out := append(endless[:n/2], exact[:n-n/2]...)
	slices.Sort(out)
	return slices.Compact(out)
}

func (r *run) carried(column int, request vector, limit int) int64 {
	return int64(request.copies(r.pool.room[r.pool.market.columns[column].instance], limit))
}

// sortByPrice sorts columns by price for what they carry.
func (r *run) sortByPrice(columns []int, carried func(column int) int64) {
	slices.SortStableFunc(columns, func(a, b int) int {
		return cmp.Or(compareRatios(r.pool.market.columns[a].price, carried(a), r.pool.market.columns[b].price, carried(b)), cmp.Compare(a, b))
	})
}

// fill works out what goes onto a node bought by the column: as many pods of the first lot as fit, then of each other
// lot that accepts the offer. It leaves the filling in r.items and r.free and returns what it is worth.
func (r *run) fill(order []int, seedOption, column, checks int) int64 {
	copy(r.free, r.pool.room[r.pool.market.columns[column].instance])
	r.items = r.items[:0]
	seed := &r.lots[order[0]]
	flag := seed.options[seedOption].flag
	worth := r.add(order[0], seedOption)
	for _, l := range order[1:min(len(order), checks)] {
		if !r.smallest.fits(r.free) {
			break
		}
		for o := range r.lots[l].options {
			option := &r.lots[l].options[o]
			if !option.mask.has(column) {
				continue
			}
			if joined, ok := r.pool.flags.join(flag, option.flag); ok {
				if added := r.add(l, o); added > 0 {
					worth, flag = worth+added, joined
					break
				}
			}
		}
	}
	return worth
}

// add puts as many pods of the lot as fit into r.free and returns their worth.
func (r *run) add(l, o int) int64 {
	lot := &r.lots[l]
	n := lot.class.request.copies(r.free, lot.count)
	if n == 0 {
		return 0
	}
	r.free.take(lot.class.request, n)
	r.items = append(r.items, item{lot: l, option: o, count: n})
	return int64(n) * lot.options[o].worth
}

// compareRatios compares price/worth of two offers without rounding; worth ≥ 0, and what is worth nothing comes last.
func compareRatios(priceA, worthA, priceB, worthB int64) int {
	highA, lowA := bits.Mul64(uint64(priceA), uint64(worthB))
	highB, lowB := bits.Mul64(uint64(priceB), uint64(worthA))
	return cmp.Or(cmp.Compare(highA, highB), cmp.Compare(lowA, lowB), cmp.Compare(worthB, worthA))
}
