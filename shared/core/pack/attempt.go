package pack

import (
	"cmp"
	"math/bits"
	"slices"
)

// Bounds on how much is tried, as counts.
const (
	sampleSize = 192 // lots looked at for one offer while comparing
	ownOffers  = 8   // offers compared that suit the seed best
	mixOffers  = 8   // offers compared that suit all there is best
	fitOffers  = 6   // offers compared that suit the units of the seed there are best
	lowOffers  = 3   // cheapest offers compared
)

// attempt is one offer to open a node with, and what of value it would carry.
type attempt struct {
	option int
	column int
	worth  int64
}

// attempts compares the offers the seed can be opened with, best value for money first.
func (r *run) attempts(seed int) []attempt {
	var out []attempt
	for o, option := range r.lots[seed].options {
		for _, c := range r.shortlist(option, seed) {
			if !r.open.has(c) || !within(r.pool.taken[r.pool.market.columns[c].instance], r.left) {
				continue
			}
			out = append(out, attempt{option: o, column: c, worth: r.fill(seed, o, c, r.sample)})
		}
	}
	slices.SortStableFunc(out, func(a, b attempt) int {
		return cmp.Or(compareRatios(r.pool.market.columns[a.column].price, a.worth, r.pool.market.columns[b.column].price, b.worth),
			cmp.Compare(a.column, b.column), cmp.Compare(a.option, b.option))
	})
	return out
}

// shortlist returns the option's offers worth comparing: those that would carry the lot best if there were endless pods
// of it, those that would carry all that is left best, and the cheapest.
func (r *run) shortlist(o *option, seed int) []int {
	if len(o.offers) <= ownOffers+mixOffers+lowOffers {
		if len(r.left) == 0 {
			return o.offers
		}
	}
	if len(r.left) > 0 { // limits may leave the best of them too little
		return r.allowed(o)
	}
	out := slices.Clone(o.offers[:min(len(o.offers), lowOffers)])
	own := o.ranked
	if own == nil {
		request := r.lots[seed].class.request
		own = r.best(o.offers, ownOffers, func(c int) int64 { return int64(request.copies(r.pool.room[r.pool.market.columns[c].instance], 1<<30)) })
		o.ranked = own
	}
	mix, known := r.mixes[o.area.id]
	if !known {
		mix = r.rankByMix(o.area)
		r.mixes[o.area.id] = mix
	}
	out = append(out, own...)
	added := 0
	request := r.lots[seed].class.request
	out = r.fewest(out, o, request, r.lots[seed].count)
	for _, c := range mix {
		if added < mixOffers && request.fits(r.pool.room[r.pool.market.columns[c].instance]) {
			out = append(out, c)
			added++
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// fewest adds the offers that carry the units there are, and no more, for the lowest price.
func (r *run) fewest(out []int, o *option, request vector, count int) []int {
	type ratio struct {
		column         int
		price, carried int64
	}
	var top [fitOffers]ratio
	n := 0
	for _, c := range o.offers {
		x := ratio{c, r.pool.market.columns[c].price, int64(request.copies(r.pool.room[r.pool.market.columns[c].instance], count))}
		if n == len(top) && compareRatios(x.price, x.carried, top[n-1].price, top[n-1].carried) >= 0 {
			continue
		}
		if n < len(top) {
			n++
		}
		i := n - 1
		for ; i > 0 && compareRatios(x.price, x.carried, top[i-1].price, top[i-1].carried) < 0; i-- {
			top[i] = top[i-1]
		}
		top[i] = x
	}
	for _, x := range top[:n] {
		out = append(out, x.column)
	}
	return out
}

// allowed returns the option's offers the limits leave room for, at most as many as are compared, large and small.
func (r *run) allowed(o *option) []int {
	var out []int
	for _, c := range o.offers {
		if r.open.has(c) && within(r.pool.taken[r.pool.market.columns[c].instance], r.left) {
			out = append(out, c)
		}
	}
	const most = 3 * (ownOffers + mixOffers + lowOffers)
	if len(out) <= most {
		return out
	}
	step := len(out)/most + 1
	var some []int
	for i, c := range out {
		if i < lowOffers || i%step == 0 {
			some = append(some, c)
		}
	}
	return some
}

// best returns the n columns with the lowest price for what they carry.
func (r *run) best(columns []int, n int, carried func(column int) int64) []int {
	type ratio struct {
		column         int
		price, carried int64
	}
	list := make([]ratio, len(columns))
	for i, c := range columns {
		list[i] = ratio{c, r.pool.market.columns[c].price, carried(c)}
	}
	slices.SortStableFunc(list, func(a, b ratio) int {
		return cmp.Or(compareRatios(a.price, a.carried, b.price, b.carried), cmp.Compare(a.column, b.column))
	})
	out := make([]int, 0, n)
	for _, x := range list[:min(n, len(list))] {
		out = append(out, x.column)
	}
	return out
}

// rankByMix ranks an area's offers by what they charge for their part of all that is left to place there.
func (r *run) rankByMix(a *area) []int {
	total := make([]float64, r.dims)
	for _, l := range r.sample {
		lot := &r.lots[l]
		if slices.ContainsFunc(lot.options, func(o *option) bool { return o.area == a || meet(o.area.mask, a.mask) }) {
			for d, amount := range lot.class.request {
				total[d] += float64(amount) * float64(lot.count)
			}
		}
	}
	columns := make([]int, 0, len(a.types))
	for _, e := range a.types[:a.plainOrAll()] {
		columns = append(columns, e.column)
	}
	const scale = 1 << 40
	ranked := r.best(columns, len(columns), func(c int) int64 {
		room := r.pool.room[r.pool.market.columns[c].instance]
		most := 0.0
		for d, amount := range total {
			if amount > 0 {
				if room[d] <= 0 {
					return 0
				}
				most = max(most, amount/float64(room[d]))
			}
		}
		if most == 0 {
			return 0
		}
		return int64(scale / most)
	})
	return ranked
}

func (a *area) plainOrAll() int {
	if a.plain > 0 {
		return a.plain
	}
	return len(a.types)
}

func meet(a, b bitset) bool {
	for i := range a {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}

// fill works out what goes onto a node bought by the column: as many units of the seed as fit, then of each lot of the
// list that accepts the offer. It leaves the filling in r.items and r.free and returns what it is worth.
func (r *run) fill(seed, seedOption, column int, list []int) int64 {
	copy(r.free, r.pool.room[r.pool.market.columns[column].instance])
	r.items = r.items[:0]
	r.beside.reset()
	flag := r.lots[seed].options[seedOption].flag
	worth := r.add(seed, seedOption)
	free, dims := r.free, r.dims
lots:
	for _, l := range list {
		request := r.requests[l*dims : l*dims+dims]
		for d, amount := range request {
			if amount > free[d] && amount > 0 {
				continue lots
			}
		}
		lot := &r.lots[l]
		if lot.count == 0 || l == seed {
			continue
		}
		for o, option := range lot.options {
			if !option.area.mask.has(column) {
				continue
			}
			if joined, ok := r.pool.flags.join(flag, option.flag); ok {
				if added := r.add(l, o); added > 0 {
					worth, flag = worth+added, joined
					if !r.smallest.fits(free) {
						return worth
					}
					break
				}
			}
		}
	}
	return worth
}

// add puts as many units of the lot as fit into r.free and returns their worth.
func (r *run) add(l, o int) int64 {
	lot := &r.lots[l]
	n := lot.class.request.copies(r.free, lot.count)
	if lot.class.hosts && n > 0 {
		n = r.beside.room(lot.class, n)
	}
	if lot.class.softMost > 0 {
		n = min(n, int(lot.class.softMost))
	}
	if n == 0 {
		return 0
	}
	r.free.take(lot.class.request, n)
	if lot.class.hosts {
		r.beside.put(lot.class, n)
	}
	r.items = append(r.items, item{lot: l, option: o, count: n})
	return int64(n) * lot.options[o].worth
}

// compareRatios compares price/worth of two offers without rounding; worth ≥ 0, and what is worth nothing comes last.
func compareRatios(priceA, worthA, priceB, worthB int64) int {
	highA, lowA := bits.Mul64(uint64(priceA), uint64(worthB))
	highB, lowB := bits.Mul64(uint64(priceB), uint64(worthA))
	return cmp.Or(cmp.Compare(highA, highB), cmp.Compare(lowA, lowB), cmp.Compare(worthB, worthA))
}
