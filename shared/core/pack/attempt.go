package pack

import (
	"cmp"
	"math/bits"
	"slices"
)

// Bounds on how much is tried, as counts.
const (
	timeForEach = 6000 // units, packed in one order only, up to which there is time to spend on each
)

// searchDepth is how many nodes are opened with everything compared: the first of them, a third of that where batches are many, and
// after them every so many.
type searchDepth struct{ first, every int }

var (
	withFew  = searchDepth{first: 1000, every: 4}
	withMany = searchDepth{first: 128, every: 24}
	inHaste  = searchDepth{first: 0, every: 8}
)

// searchBudget is how many offerings are compared for a node, and by how many batches.
type searchBudget struct {
	sample  int // batches looked at
	own     int // offerings that suit the seed best, were there endless units of it
	mix     int // offerings that suit all there is best
	fit     int // offerings that suit the units of the seed there are best
	low     int // cheapest offerings
	winners int // offerings that nodes of the offering set were opened with lately
}

var (
	thorough = searchBudget{sample: 400, own: 32, mix: 32, fit: 16, low: 4}
	quick    = searchBudget{sample: 160, own: 6, mix: 12, fit: 4, low: 1, winners: 8}
	priced   = searchBudget{sample: 110, own: 3, mix: 3, fit: 3, low: 1, winners: 6} // quick, where rates tell what belongs together
)

// attempt is one offering to open a node with, and what of value it would carry.
type attempt struct {
	option int
	column int
	value  int64
	even   bool // filled evenly
}

// attempts compares the offerings the seed can be opened with, best value for money first.
func (r *packing) attempts(seed int) []attempt {
	e := r.usual()
	if r.opened < r.searchDepth.first && len(r.batches) <= someBatches || r.opened < r.searchDepth.first/3 || r.opened%r.searchDepth.every == 0 {
		e = &thorough
	}
	r.opened++
	sample := r.samples(e.sample)
	r.times = r.stepOf(e.sample)
	defer func() { r.times = 1 }()
	var out []attempt
	for o, option := range r.batches[seed].options {
		for _, c := range r.shortlist(option, seed, e) {
			if !r.open.has(c) || !within(r.pool.taken[c], r.left) {
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
		return cmp.Or(compareRatios(r.pool.market.columns[a.column].price, a.value, r.pool.market.columns[b.column].price, b.value),
			cmp.Compare(a.column, b.column), cmp.Compare(a.option, b.option))
	})
	return out
}

// usual returns the effort for most nodes.
func (r *packing) usual() *searchBudget {
	if r.rated {
		return &priced
	}
	return &quick
}

// samples returns at most about n of the batches, evenly taken from the order.
func (r *packing) samples(n int) []int {
	if list, known := r.sampled[n]; known {
		return list
	}
	step := r.stepOf(n)
	var out []int
	for i := 0; i < len(r.order); i += step {
		out = append(out, r.order[i])
	}
	r.sampled[n] = out
	return out
}

// stepOf returns for how many batches each of about n samples stands.
func (r *packing) stepOf(n int) int { return max(1, len(r.order)/n) }

// shortlist returns the option's offerings worth comparing.
func (r *packing) shortlist(o *option, seed int, e *searchBudget) []int {
	if len(r.left) > 0 { // limits may leave the best of them too little
		return r.allowed(o)
	}
	if len(o.offerings) <= e.own+e.mix {
		return o.offerings
	}
	request := r.batches[seed].podGroup.request
	holds := func(c int) bool { return request.fits(r.pool.free[r.pool.market.columns[c].instance]) }
	mix, known := r.mixes[o.offeringSet.id]
	if !known {
		mix = r.rankByMix(o.offeringSet)
		r.mixes[o.offeringSet.id] = mix
	}
	out := append(r.short[:0], o.offerings[:min(len(o.offerings), e.low)]...)
	if o.endless == nil {
		o.endless = r.fewest(nil, o, request, 1<<30, thorough.own)
	}
	out = append(out, o.endless[:min(len(o.endless), e.own)]...)
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
		for _, c := range r.winners[o.offeringSet.id] {
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
func (r *packing) won(a *offeringSet, column int) {
	list := r.winners[a.id]
	if i := slices.Index(list, column); i >= 0 {
		list = slices.Delete(list, i, i+1)
	} else if len(list) >= r.usual().winners {
		list = list[:len(list)-1]
	}
	r.winners[a.id] = slices.Insert(list, 0, column)
}

// fewest adds the offerings that carry the units there are, and no more, for the lowest price.
func (r *packing) fewest(out []int, o *option, request vector, count, most int) []int {
	var space [32]ratio
	top := space[:min(most, len(space))]
	n := 0
	for _, c := range o.offerings {
		price := r.pool.market.columns[c].price
		if n == len(top) && compareRatios(price, int64(count), top[n-1].price, top[n-1].carried) >= 0 {
			break // even if it carried all of them; nor will any that is more expensive do
		}
		x := ratio{c, price, int64(request.copies(r.pool.free[r.pool.market.columns[c].instance], count))}
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
func (r *packing) allowed(o *option) []int {
	var out []int
	for _, c := range o.offerings {
		if r.open.has(c) && within(r.pool.taken[c], r.left) {
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

// ranking is columns by the lowest price for what they carry, which are put in order as far as they are asked for.
type ranking struct {
	ranked []int
	rest   []ratio // a heap, the best first
}

// ratio is what a column carries for its price.
type ratio struct {
	column         int
	price, carried int64
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
func (r *packing) rankByMix(a *offeringSet) *ranking {
	total := make([]float64, r.dims)
	for _, l := range r.samples(thorough.sample) {
		batch := &r.batches[l]
		if slices.ContainsFunc(batch.options, func(o *option) bool { return o.offeringSet == a || o.offeringSet.mask.meets(a.mask) }) {
			for d, amount := range batch.podGroup.request {
				total[d] += float64(amount) * float64(r.counts[l])
			}
		}
	}
	const scale = 1 << 40
	carried := func(c int) int64 {
		room := r.pool.free[r.pool.market.columns[c].instance]
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
	list := make([]ratio, 0, a.plainOrAll())
	for _, e := range a.types[:a.plainOrAll()] {
		list = append(list, ratio{e.column, r.pool.market.columns[e.column].price, carried(e.column)})
	}
	return newRanking(list)
}

func (a *offeringSet) plainOrAll() int {
	if a.plain > 0 {
		return a.plain
	}
	return len(a.types)
}

// fill works out what goes onto a node bought by the column: as many units of the seed as fit, then of each batch of the
// list that accepts the offering. It leaves the filling in r.items and r.free and returns what it is worth.
func (r *packing) fill(seed, seedOption, column int, list []int) int64 {
	r.begin(seed, column)
	flag := r.batches[seed].options[seedOption].flag
	value := r.add(seed, seedOption, r.stock(seed))
	free, dims := r.free, r.dims
batches:
	for _, l := range list {
		request := r.requests[l*dims : l*dims+dims]
		for d, amount := range request {
			if amount > free[d] && amount > 0 {
				continue batches
			}
		}
		batch := &r.batches[l]
		if r.counts[l] == 0 || l == seed {
			continue
		}
		for o, option := range batch.options {
			if !option.offeringSet.mask.has(column) {
				continue
			}
			if joined, ok := r.pool.flags.join(flag, option.flag); ok {
				if added := r.add(l, o, r.stock(l)); added > 0 {
					value, flag = value+added, joined
					if !r.smallest.fits(free) {
						return value
					}
					break
				}
			}
		}
	}
	return value
}

// fillEvenly is fill, but for taking turns between batches that ask for more CPU and batches that ask for more memory than the
// node has of them, so that both are used up together.
func (r *packing) fillEvenly(seed, seedOption, column int, list []int) int64 {
	room := r.pool.free[r.pool.market.columns[column].instance]
	cpu, memory := r.cpu, r.memory
	if room[cpu] <= 0 || room[memory] <= 0 {
		return 0
	}
	r.begin(seed, column)
	flag := r.batches[seed].options[seedOption].flag
	perCPU, perMemory := 1/float64(room[cpu]), 1/float64(room[memory])
	value := r.add(seed, seedOption, 1)
	free, requests, dims := r.free, r.requests, r.dims
	balance := float64(room[cpu]) / float64(room[memory])
	side := func(l int) int {
		if r.leaning[l] < balance {
			return 1
		}
		return 0
	}
	var next [2]int // into list, of batches that lean to CPU and to memory
	first := [2]int{-1, -1}
	first[side(seed)] = seed // the rest of the seed goes first
	for {
		gap := float64(float64(free[cpu])*perCPU) - float64(float64(free[memory])*perMemory)
		turn := 0
		if gap < 0 {
			turn, gap = 1, -gap
		}
		l := -1
		for range 2 {
			if first[turn] >= 0 {
				l = first[turn]
				break
			}
			i := next[turn]
			for ; i < len(list); i++ {
				x := list[i]
				if request := requests[x*dims : x*dims+dims]; request[cpu] <= free[cpu] && request[memory] <= free[memory] && side(x) == turn && x != seed && int(r.inside[x]) < r.counts[x]*r.times {
					break
				}
			}
			if next[turn] = i; i < len(list) {
				l = list[i]
				break
			}
			turn, gap = 1-turn, 0
		}
		if l < 0 {
			return value
		}
		want := 1
		if r.stock(l) > 1 {
			if by := float64(float64(requests[l*dims+cpu])*perCPU) - float64(float64(requests[l*dims+memory])*perMemory); by != 0 {
				want = max(1, int(gap/max(by, -by)))
			}
		}
		added := int64(0)
		for o, option := range r.batches[l].options {
			if !option.offeringSet.mask.has(column) || l == seed && o != seedOption {
				continue
			}
			if joined, ok := r.pool.flags.join(flag, option.flag); ok {
				if added = r.add(l, o, want); added > 0 {
					value, flag = value+added, joined
					break
				}
			}
		}
		switch {
		case added > 0 && !r.smallest.fits(free):
			return value
		case added > 0:
		case l == seed:
			first[turn] = -1
		default:
			next[turn]++
		}
	}
}

// stock returns how many units of the batch there are, those it stands for included.
func (r *packing) stock(l int) int {
	if l == r.seed {
		return r.counts[l]
	}
	return r.counts[l] * r.times
}

// begin empties the filling and takes the room of a node bought by the column.
func (r *packing) begin(seed, column int) {
	for _, it := range r.items {
		r.inside[it.batch] = 0
	}
	copy(r.free, r.pool.free[r.pool.market.columns[column].instance])
	r.items, r.seed = r.items[:0], seed
	r.nodeRules.reset()
}

// add puts at most want more units of the batch into r.free and returns their worth.
func (r *packing) add(l, o, want int) int64 {
	batch := &r.batches[l]
	n := batch.podGroup.request.copies(r.free, min(want, r.stock(l)-int(r.inside[l])))
	if batch.podGroup.hosts && n > 0 {
		n = r.nodeRules.fits(batch.podGroup, n)
	}
	if batch.podGroup.softMost > 0 {
		n = min(n, int(batch.podGroup.softMost)-int(r.inside[l]))
	}
	if n <= 0 {
		return 0
	}
	r.free.take(batch.podGroup.request, n)
	if batch.podGroup.hosts {
		r.nodeRules.put(batch.podGroup, n)
	}
	if r.inside[l] > 0 && r.items[r.entry[l]].option == o {
		r.items[r.entry[l]].count += n
	} else {
		r.entry[l] = int32(len(r.items))
		r.items = append(r.items, item{batch: l, option: o, count: n})
	}
	r.inside[l] += int32(n)
	return int64(n) * batch.options[o].value
}

// compareRatios compares price/worth of two offerings without rounding; worth ≥ 0, and what is worth nothing comes last.
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
