package newnodes

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
)

// Bounds on how much is tried, as counts.
const (
	timeForEach = 6000 // units, packed in one order only, up to which there is time to spend on each
)

var (
	withFew  = searchDepth{first: 1000, every: 4}
	withMany = searchDepth{first: 128, every: 24}
	inHaste  = searchDepth{first: 0, every: 8}
)

var (
	thorough = searchBudget{sample: 400, own: 32, mix: 32, fit: 16, low: 4}
	quick    = searchBudget{sample: 160, own: 6, mix: 12, fit: 4, low: 1, winners: 8}
	priced   = searchBudget{sample: 110, own: 3, mix: 3, fit: 3, low: 1, winners: 6} // quick, where rates tell what belongs together
)

// attempts compares the offerings the seed can be opened with, best value for money first.
func (r *Packing) attempts(seed int) []attempt {
	e := r.usual()
	if r.opened < r.searchDepth.first && len(r.Batches) <= someBatches || r.opened < r.searchDepth.first/3 || r.opened%r.searchDepth.every == 0 {
		e = &thorough
	}
	r.opened++
	sample := r.samples(e.sample)
	r.times = stepOf(len(r.order), e.sample)
	defer func() { r.times = 1 }()
	var out []attempt
	for o, option := range r.Batches[seed].options {
		for _, c := range r.shortlist(option, seed, e) {
			if !r.open.Has(c) || !offerings.Within(r.Pool.Taken[c], r.left) {
				continue
			}
			whole := attempt{option: o, column: c}
			if e == &thorough || len(r.order) <= len(sample) {
				whole.value = r.fill(seed, o, c, sample)
			}
			if even := r.fillEvenly(seed, o, c, sample); even > whole.value {
				whole.value, whole.even = even, true
			}
			out = append(out, whole)
		}
	}
	slices.SortFunc(out, func(a, b attempt) int { // no two are alike: each option has an offering once
		return cmp.Or(compareRatios(r.Pool.Market.Columns[a.column].Price, a.value, r.Pool.Market.Columns[b.column].Price, b.value),
			cmp.Compare(a.column, b.column), cmp.Compare(a.option, b.option))
	})
	return out
}

// usual returns the effort for most nodes.
func (r *Packing) usual() *searchBudget {
	if r.rated {
		return &priced
	}
	return &quick
}

// samples returns at most about n of the batches, evenly taken from the order.
func (r *Packing) samples(n int) []int {
	if list, known := r.sampled[n]; known {
		return list
	}
	step := stepOf(len(r.order), n)
	var out []int
	for i := 0; i < len(r.order); i += step {
		out = append(out, r.order[i])
	}
	r.sampled[n] = out
	return out
}

// stepOf returns for how many of the batches each of about n samples stands.
func stepOf(batches, n int) int { return max(1, batches/n) }

// shortlist returns the option's offerings worth comparing.
func (r *Packing) shortlist(o *offerings.Option, seed int, e *searchBudget) []int {
	if len(r.left) > 0 { // limits may leave the best of them too little
		return r.allowed(o)
	}
	if len(o.Offerings) <= e.own+e.mix {
		return o.Offerings
	}
	request := r.Batches[seed].PodGroup.Request
	holds := func(c int) bool { return request.Fits(r.Pool.Free[r.Pool.Market.Columns[c].Instance]) }
	mix, known := r.mixes[o.OfferingSet.ID]
	if !known {
		mix = r.rankByMix(o.OfferingSet)
		r.mixes[o.OfferingSet.ID] = mix
	}
	out := append(r.short[:0], o.Offerings[:min(len(o.Offerings), e.low)]...)
	if o.Endless == nil {
		o.Endless = r.fewest(nil, o, request, 1<<30, thorough.own)
	}
	out = append(out, o.Endless[:min(len(o.Endless), e.own)]...)
	out = r.fewest(out, o, request, r.counts[seed], e.fit)
	added := 0
	for rank := 0; added < e.mix; rank++ {
		c, is := mix.at(rank)
		if !is {
			break
		}
		if holds(c) {
			out = append(out, c)
			added++
		}
	}
	if e.winners > 0 {
		for _, c := range r.winners[o.OfferingSet.ID] {
			if holds(c) {
				out = append(out, c)
			}
		}
	}
	slices.Sort(out)
	r.short = slices.Compact(out)
	return r.short
}

// won notes the offering a node was opened with.
func (r *Packing) won(a *offerings.Set, column int) {
	list := r.winners[a.ID]
	if i := slices.Index(list, column); i >= 0 {
		list = slices.Delete(list, i, i+1)
	} else if len(list) >= r.usual().winners {
		list = list[:len(list)-1]
	}
	r.winners[a.ID] = slices.Insert(list, 0, column)
}

// fewest adds the offerings that carry the units there are, and no more, for the lowest price.
func (r *Packing) fewest(out []int, o *offerings.Option, request vector.Vector, count, most int) []int {
	var space [32]ratio
	top := space[:min(most, len(space))]
	n := 0
	for _, c := range o.Offerings {
		price := r.Pool.Market.Columns[c].Price
		if n == len(top) && compareRatios(price, int64(count), top[n-1].price, top[n-1].carried) >= 0 {
			break // even if it carried all of them; nor will any that is more expensive do
		}
		x := ratio{c, price, int64(request.Copies(r.Pool.Free[r.Pool.Market.Columns[c].Instance], count))}
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

// allowed returns the option's offerings the limits leave room for, at most as many as are compared, large and small.
func (r *Packing) allowed(o *offerings.Option) []int {
	var out []int
	for _, c := range o.Offerings {
		if r.open.Has(c) && offerings.Within(r.Pool.Taken[c], r.left) {
			out = append(out, c)
		}
	}
	const most = 64
	if len(out) <= most {
		return out
	}
	step := len(out)/most + 1
	var some []int
	for i, c := range out {
		if i < thorough.low || i%step == 0 {
			some = append(some, c)
		}
	}
	return some
}

// before reports whether a is better than b, which is of another column.
func (a *ratio) before(b *ratio) bool {
	c := compareRatios(a.price, a.carried, b.price, b.carried)
	return c < 0 || c == 0 && a.column < b.column
}

func newRanking(list []ratio) *ranking {
	k := &ranking{rest: list}
	for i := len(list)/2 - 1; i >= 0; i-- {
		k.sink(i)
	}
	return k
}

// at returns the column of that rank; false where there are fewer.
func (k *ranking) at(rank int) (int, bool) {
	for len(k.ranked) <= rank && len(k.rest) > 0 {
		last := len(k.rest) - 1
		k.ranked = append(k.ranked, k.rest[0].column)
		k.rest[0], k.rest = k.rest[last], k.rest[:last]
		k.sink(0)
	}
	if rank >= len(k.ranked) {
		return 0, false
	}
	return k.ranked[rank], true
}

// sink puts the i-th of the heap where it belongs among those below it.
func (k *ranking) sink(i int) {
	for {
		best := 2*i + 1
		if best >= len(k.rest) {
			return
		}
		if right := best + 1; right < len(k.rest) && k.rest[right].before(&k.rest[best]) {
			best = right
		}
		if !k.rest[best].before(&k.rest[i]) {
			return
		}
		k.rest[i], k.rest[best] = k.rest[best], k.rest[i]
		i = best
	}
}

// rankByMix ranks an offering set's offerings by what they charge for their part of all that is left to place there.
func (r *Packing) rankByMix(a *offerings.Set) *ranking {
	total := make([]float64, r.dims)
	for _, l := range r.samples(thorough.sample) {
		batch := &r.Batches[l]
		if slices.ContainsFunc(batch.options, func(o *offerings.Option) bool { return o.OfferingSet == a || o.OfferingSet.Mask.Meets(a.Mask) }) {
			for d, amount := range batch.PodGroup.Request {
				total[d] += float64(amount) * float64(r.counts[l])
			}
		}
	}
	const scale = 1 << 40
	carried := func(c int) int64 {
		room := r.Pool.Free[r.Pool.Market.Columns[c].Instance]
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
	}
	list := make([]ratio, 0, a.PlainOrAll())
	for _, e := range a.Types[:a.PlainOrAll()] {
		list = append(list, ratio{e.Column, r.Pool.Market.Columns[e.Column].Price, carried(e.Column)})
	}
	return newRanking(list)
}

// compareRatios compares price/worth of two offerings without rounding; worth ≥ 0, and what is worth nothing comes
// last.
func compareRatios(priceA, valueA, priceB, valueB int64) int {
	highA, lowA := bits.Mul64(uint64(priceA), uint64(valueB))
	highB, lowB := bits.Mul64(uint64(priceB), uint64(valueA))
	switch {
	case highA != highB:
		return cmp.Compare(highA, highB)
	case lowA != lowB:
		return cmp.Compare(lowA, lowB)
	}
	return cmp.Compare(valueB, valueA)
}
