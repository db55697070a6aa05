package pack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/pricing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// remainingBatch is the units of one pod batch that are still to be placed on a pool.
type remainingBatch struct {
	podBatch *podBatch
	podGroup *group.PodGroup
	options  []*offerings.Option
	count    int // units at first, ≥ 0
}

func newRemainingBatch(podBatch *podBatch, options []*offerings.Option) remainingBatch {
	return remainingBatch{podBatch: podBatch, podGroup: podBatch.podGroup, options: options, count: len(podBatch.pods) / podBatch.podGroup.Stride}
}

// item is some units of one batch on a node.
type item struct {
	batch  int
	option int
	count  int // ≥ 1
}

// node is a claim in the making.
type node struct {
	items       []item
	flag        int // custom labels
	offeringSet *offerings.Set
	mask        vector.Bitset // columns acceptable to every pod, available or not
	load        vector.Vector // of the pods, without daemons
	column      int           // the cheapest offering that holds it
	price       int64         // of column, micro-USD per hour
	limitUse    []int64       // what it takes of the pool's limits
	reservation string        // set where the node is bought of reserved capacity, and of nothing else
	relaxed     bool          // the pool's minValues cannot all be met
	pods        []int         // indexes into the snapshot's pods; set when the run is chosen
}

// packing packs batches onto new nodes of one pool, by one strategy.
type packing struct {
	filling
	planner  *planner
	order    []int // batches, in the order nodes are opened for them and filled from; spent ones are dropped now and then
	spent    int   // batches of order without units
	open     vector.Bitset
	left     []int64          // of the pool's limits
	reserved map[string]int64 // instances left of each reservation
	nodes    []node

	pricing   *pricing.Rates // nil where batches keep the worth they came with
	rated     bool           // batches are worth what rates say
	valueLeft float64        // of all units still to be placed
	valueThen float64        // valueLeft when rates were last adjusted

	input struct { // what the run was made of
		batches []remainingBatch
		order   []int
		priced  bool
	}
	wholes  []whole // in the order of opening
	takeAll int     // of opened: when a node for all that is left is opened; −1 = never

	opened      int // nodes opened, or tried to
	searchDepth searchDepth
	sampled     map[int][]int    // by size: some batches of order, which offerings are compared by
	mixes       map[int]*ranking // by offering set: offerings by what they charge for all that is left
	winners     map[int][]int    // by offering set: offerings that nodes were opened with lately
	short       []int            // scratch
	joined      map[[2]int]*offerings.Set
}

func newPacking(p *planner, pool *offerings.Pool, batches []remainingBatch, order []int) *packing {
	r := &packing{filling: filling{pool: pool, batches: slices.Clone(batches), dims: len(p.dims)}, planner: p, order: slices.Clone(order), left: slices.Clone(pool.Left), reserved: maps.Clone(p.reserved),
		mixes: make(map[int]*ranking), sampled: make(map[int][]int), winners: make(map[int][]int), joined: make(map[[2]int]*offerings.Set)}
	r.input.batches, r.input.order, r.takeAll = batches, order, -1
	r.cpu, r.memory = slices.Index(p.dims, model.CPU), slices.Index(p.dims, model.Memory)
	r.open = slices.Clone(pool.Open)
	if pool.Reserving {
		r.closeExhausted()
	}
	r.requests = make([]int64, 0, r.dims*len(batches))
	units := 0
	for i := range batches {
		units += batches[i].count
		request := batches[i].podGroup.Request
		r.requests = append(r.requests, request...)
		r.counts = append(r.counts, batches[i].count)
		r.leaning = append(r.leaning, float64(request[r.cpu])/float64(max(1, request[r.memory])))
	}
	if r.searchDepth = withMany; units <= timeForEach && len(batches) > manyBatches {
		r.searchDepth = withFew
	}
	if p.tries == 1 {
		r.searchDepth = inHaste
	}
	r.free = make(vector.Vector, r.dims)
	r.times = 1
	r.inside, r.entry = make([]int32, len(batches)), make([]int32, len(batches))
	r.nodeRules = newNodeRules(p.rules)
	return r
}

// pack opens nodes until every batch is placed or nothing more can be opened.
func (r *packing) pack() {
	seeds := slices.Clone(r.order)
	r.compact()
	for _, seed := range seeds {
		for r.counts[seed] > 0 && r.openNode(seed) {
		}
	}
}

// compact drops spent batches from the order and looks again at what is left.
func (r *packing) compact() {
	r.order = slices.DeleteFunc(r.order, func(l int) bool { return r.counts[l] == 0 })
	r.spent = 0
	r.smallest = nil
	for _, l := range r.order {
		request := r.batches[l].podGroup.Request
		if r.smallest == nil {
			r.smallest = slices.Clone(request)
		}
		for d, amount := range request {
			r.smallest[d] = min(r.smallest[d], amount)
		}
	}
	clear(r.sampled)
	clear(r.mixes)
}

// compareUnplaced compares what two runs leave over: what matters more first.
func (r *packing) compareUnplaced(other *packing) int {
	a, b := make(map[int32]int), make(map[int32]int)
	for i := range r.batches {
		a[r.batches[i].podGroup.Priority] += r.counts[i] * r.batches[i].podGroup.Stride
		b[other.batches[i].podGroup.Priority] += other.counts[i] * other.batches[i].podGroup.Stride
	}
	priorities := slices.Sorted(maps.Keys(a))
	for _, priority := range slices.Backward(priorities) {
		if c := cmp.Compare(a[priority], b[priority]); c != 0 {
			return c
		}
	}
	return 0
}

// total returns the sum of the nodes' prices.
func (r *packing) total() int64 {
	sum := int64(0)
	for i := range r.nodes {
		sum += r.nodes[i].price
	}
	return sum
}

// openNode opens the node that carries the seed batch at the best price for all that goes onto it, as often over as the
// same filling can be repeated. False where no node can carry even one of its units.
func (r *packing) openNode(seed int) bool {
	if r.spent*2 > len(r.order) {
		r.compact()
	}
	attempts := r.attempts(seed)
	if n, is := r.forAll(seed, attempts); is {
		if r.opened == r.takeAll {
			r.commit(n)
			return true
		}
		r.wholes = append(r.wholes, whole{r.opened, len(r.nodes), n.price})
	}
	for _, how := range []strictness{flexible, filled, alone} {
		if n, a := r.bestOf(seed, attempts, how); a != nil {
			r.won(r.batches[seed].options[a.option].OfferingSet, a.column)
			r.commit(n)
			r.keepPriced()
			return true
		}
	}
	return false
}

// bestOf builds the attempts, best promise first, until what was built is worth more for its price than any other still
// promises. A promise is made by a sample of the batches and may not be kept. Nil where no attempt makes a node.
func (r *packing) bestOf(seed int, attempts []attempt, how strictness) (node, *attempt) {
	var best node
	var won *attempt
	var value int64
	built := 0
	for i := range attempts {
		a := &attempts[i]
		if won != nil && (built >= maxBuilt || compareRatios(best.price, value, r.pool.Market.Columns[a.column].Price, a.value) <= 0) {
			break
		}
		n, ok := r.build(seed, *a, how)
		if !ok {
			continue
		}
		built++
		sum := int64(0)
		for _, it := range n.items {
			sum += int64(it.count) * r.batches[it.batch].options[it.option].Value
		}
		if won == nil || compareRatios(n.price, sum, best.price, value) < 0 {
			best, won, value = n, a, sum
		}
	}
	return best, won
}

// maxBuilt is how many nodes are built at most to open one.
const maxBuilt = 6

// strictness is how much is asked of a node before it is opened.
type strictness uint8

const (
	flexible strictness = iota // a spot node keeps as many types to fall back on as its pods allow
	filled                     // whatever fits is on it
	alone                      // one unit only: with others it cannot be bought
)

// build makes a node of the attempt's filling; false where that is no node after all.
func (r *packing) build(seed int, a attempt, how strictness) (node, bool) {
	if how == alone {
		r.begin(seed, a.column)
		r.items = append(r.items, item{batch: seed, option: a.option, count: 1})
	} else if a.even {
		r.fillEvenly(seed, a.option, a.column, r.order)
	} else {
		r.fill(seed, a.option, a.column, r.order)
	}
	n := node{items: slices.Clone(r.items), load: make(vector.Vector, r.dims)}
	need := offerings.MinSpotTypes
	for i, it := range n.items {
		option := r.batches[it.batch].options[it.option]
		n.load.Release(r.batches[it.batch].podGroup.Request, it.count)
		need = min(need, option.SpotTypes)
		if i == 0 {
			n.flag, n.offeringSet = option.Flag, option.OfferingSet
			continue
		}
		n.flag, _ = r.pool.Flags.Join(n.flag, option.Flag)
		n.offeringSet = r.join(n.offeringSet, option.OfferingSet)
	}
	n.mask = n.offeringSet.Mask
	if !r.settle(&n) {
		return node{}, false
	}
	if how == flexible && r.pool.Market.Columns[n.column].Offering.CapacityType == model.Spot && spotTypes(r.pool, &n, r.open, need) < need {
		return node{}, false
	}
	return n, true
}

// join returns the offerings of both sets.
func (r *packing) join(a, b *offerings.Set) *offerings.Set {
	if a == b {
		return a
	}
	pair := [2]int{min(a.ID, b.ID), max(a.ID, b.ID)}
	if known := r.joined[pair]; known != nil {
		return known
	}
	both := r.pool.SetOf(a.Mask.And(b.Mask))
	r.joined[pair] = both
	return both
}

// settle finds the cheapest offering for what is on the node and what it takes of the limits; false where no offering holds
// it, minValues cannot be met or the limits leave too little. One reservation rarely meets minValues; then the node does
// without. Exotic types are for nodes nothing else holds, as at launch.
func (r *packing) settle(n *node) bool {
	if !r.pool.Reserving && !r.pool.Minimums {
		for i, e := range n.offeringSet.Types {
			if n.load.Fits(r.pool.Free[e.Instance]) && offerings.Within(r.pool.Taken[e.Column], r.left) {
				n.column, n.price, n.limitUse = e.Column, r.pool.Market.Columns[e.Column].Price, r.pool.Taken[e.Column]
				if i < n.offeringSet.Plain && n.offeringSet.Plain < len(n.offeringSet.Types) {
					n.offeringSet = r.pool.SetOf(n.mask.And(r.pool.Market.Plain))
					n.mask = n.offeringSet.Mask
				}
				return true
			}
		}
		return false
	}
	if plain := n.mask.And(r.pool.Market.Plain); !r.pool.Minimums {
		if _, ok := r.pool.Cheapest(plain, r.open, n.load, r.left); ok {
			n.mask = plain
		}
	}
	mask := n.mask
	if r.settleAmong(n, r.open) {
		return true
	}
	if n.reservation == "" {
		return false
	}
	n.mask, n.reservation = mask, ""
	return r.settleAmong(n, r.pool.WithoutReserved(r.open))
}

func (r *packing) settleAmong(n *node, open vector.Bitset) bool {
	column, ok := r.pool.Cheapest(n.mask, open, n.load, r.left)
	if !ok {
		return false
	}
	n.column, n.price = column, r.pool.Market.Columns[column].Price
	n.limitUse = r.pool.Taken[column]
	offering := r.pool.Market.Columns[column].Offering
	if offering.CapacityType == model.Reserved {
		n.reservation = offering.ReservationID
		n.mask = r.pool.OnlyReservation(n.mask, offering.ReservationID)
	}
	if !r.pool.Minimums {
		return true
	}
	// A claim lists types and not offerings, so that only what its option set holds counts.
	usable := narrowedOptionSet(r.pool, n, r).Mask.And(r.openFor(n))
	affordable := slices.DeleteFunc(r.pool.Holders(usable, r.pool.Open, n.load),
		func(t int) bool { return !offerings.Within(r.pool.Least(t, usable), r.left) })
	types, met := r.pool.WithMinValues(affordable)
	n.relaxed = !met && r.planner.in.BestEffortMinValues
	for _, t := range types {
		n.limitUse = offerings.Largest(n.limitUse, r.pool.Least(t, usable))
	}
	return (met || n.relaxed) && offerings.Within(n.limitUse, r.left)
}

// commit adds the node as often as its filling can be repeated.
func (r *packing) commit(n node) {
	times := 1 << 30
	for _, it := range n.items {
		times = min(times, r.counts[it.batch]/it.count)
	}
	for i, amount := range n.limitUse {
		if amount > 0 {
			times = int(min(int64(times), r.left[i]/amount))
		}
	}
	if n.reservation != "" {
		times = int(min(int64(times), r.reserved[n.reservation]))
	}
	for _, it := range n.items {
		r.placed(it.batch, it.count*times)
	}
	for i, amount := range n.limitUse {
		r.left[i] -= amount * int64(times)
	}
	for range times {
		r.nodes = append(r.nodes, n)
	}
	if n.reservation != "" {
		r.reserved[n.reservation] -= int64(times)
		r.closeExhausted()
	}
}

// closeExhausted closes the offerings of reservations nothing is left of.
func (r *packing) closeExhausted() {
	closed := false
	for c, col := range r.pool.Market.Columns {
		if col.Offering.CapacityType == model.Reserved && r.open.Has(c) && r.reserved[col.Offering.ReservationID] <= 0 {
			r.open.Clear(c)
			closed = true
		}
	}
	if !closed {
		return
	}
	for i := range r.batches {
		batch := &r.batches[i]
		batch.options = slices.Clone(batch.options)
		for j, known := range batch.options {
			o := *known
			types, spot, plain := r.pool.TypesAmong(o.OfferingSet.Mask.And(r.open))
			r.pool.Weigh(&o, batch.podGroup.Request, batch.podGroup.Most(), types, spot, plain)
			batch.options[j] = &o
		}
	}
}

// openFor returns the columns the node may be bought by: those still open, or its own reservation's even if it took the
// last of it.
func (r *packing) openFor(n *node) vector.Bitset {
	if n.reservation != "" {
		return r.pool.Open
	}
	return r.open
}

// podsOf returns how many pods a node is opened for.
func (r *packing) podsOf(n *node) int {
	total := 0
	for _, it := range n.items {
		total += it.count * r.batches[it.batch].podGroup.Stride
	}
	return total
}

// assign gives each node its pods and takes them off their pod batches.
func (r *packing) assign() {
	for i := range r.nodes {
		n := &r.nodes[i]
		n.pods = make([]int, 0, r.podsOf(n))
		for _, it := range n.items {
			podBatch := r.batches[it.batch].podBatch
			take := it.count * podBatch.podGroup.Stride
			n.pods = append(n.pods, podBatch.pods[:take]...)
			podBatch.pods = podBatch.pods[take:]
		}
	}
}

// spotTypes counts the types that hold the node's load and can be bought as spot, up to enough.
func spotTypes(p *offerings.Pool, n *node, open vector.Bitset, enough int) int {
	count := 0
	if !p.Reserving {
		for _, t := range n.offeringSet.Spot {
			if count < enough && n.load.Fits(p.Free[t]) {
				count++
			}
		}
		return count
	}
	seen := make([]bool, len(p.Market.Types))
	usable := n.mask.And(open)
	for c := usable.Next(0); c >= 0 && count < enough; c = usable.Next(c + 1) {
		col := &p.Market.Columns[c]
		if col.Offering.CapacityType == model.Spot && !seen[col.Instance] && n.load.Fits(p.Free[col.Instance]) {
			seen[col.Instance] = true
			count++
		}
	}
	return count
}
