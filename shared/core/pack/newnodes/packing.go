package newnodes

import (
	"cmp"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

func newRemainingBatch(podBatch *PodBatch, options []*offerings.Option) remainingBatch {
	return remainingBatch{podBatch: podBatch, PodGroup: podBatch.PodGroup, options: options, count: len(podBatch.Pods) / podBatch.PodGroup.Stride}
}

func newPacking(p *Planner, pool *offerings.Pool, batches []remainingBatch, order []int) *Packing {
	r := &Packing{planner: p, order: slices.Clone(order), mixes: make(map[int]*ranking), sampled: make(map[int][]int), winners: make(map[int][]int),
		purchases: purchases{Pool: pool, left: slices.Clone(pool.Left), reserved: maps.Clone(p.Reserved), joined: make(map[[2]int]*offerings.Set), bestEffort: p.In.BestEffortMinValues},
		filling:   filling{pool: pool, Batches: slices.Clone(batches), dims: len(p.Dims), index: p.Devices}}
	r.input.batches, r.input.order, r.takeAll = batches, order, -1
	r.cpu, r.memory = slices.Index(p.Dims, model.CPU), slices.Index(p.Dims, model.Memory)
	r.open = slices.Clone(pool.Open)
	if pool.Reserving {
		r.closeExhausted()
	}
	r.requests = make([]int64, 0, r.dims*len(batches))
	units := 0
	for i := range batches {
		units += batches[i].count
		request := batches[i].PodGroup.Request
		r.requests = append(r.requests, request...)
		r.counts = append(r.counts, batches[i].count)
		r.leaning = append(r.leaning, float64(request[r.cpu])/float64(max(1, request[r.memory])))
	}
	if r.searchDepth = withMany; units <= timeForEach && len(batches) > manyBatches {
		r.searchDepth = withFew
	}
	if p.Tries == 1 {
		r.searchDepth = inHaste
	}
	r.free = make(vector.Vector, r.dims)
	r.times = 1
	r.inside, r.entry = make([]int32, len(batches)), make([]int32, len(batches))
	r.nodeRules = newNodeRules(p.rules)
	return r
}

// pack opens nodes until every batch is placed or nothing more can be opened.
func (r *Packing) pack() {
	seeds := slices.Clone(r.order)
	r.compact()
	for _, seed := range seeds {
		for r.counts[seed] > 0 && r.openNode(seed) {
		}
	}
}

// compact drops spent batches from the order and looks again at what is left.
func (r *Packing) compact() {
	r.order = slices.DeleteFunc(r.order, func(l int) bool { return r.counts[l] == 0 })
	r.spent = 0
	r.smallest = nil
	for _, l := range r.order {
		request := r.Batches[l].PodGroup.Request
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
func (r *Packing) compareUnplaced(other *Packing) int {
	a, b := make(map[int32]int), make(map[int32]int)
	for i := range r.Batches {
		a[r.Batches[i].PodGroup.Priority] += r.counts[i] * r.Batches[i].PodGroup.Stride
		b[other.Batches[i].PodGroup.Priority] += other.counts[i] * other.Batches[i].PodGroup.Stride
	}
	priorities := slices.Sorted(maps.Keys(a))
	for _, priority := range slices.Backward(priorities) {
		if c := cmp.Compare(a[priority], b[priority]); c != 0 {
			return c
		}
	}
	return 0
}

// Total returns the sum of the nodes' prices.
func (r *Packing) Total() int64 {
	sum := int64(0)
	for i := range r.Nodes {
		sum += r.Nodes[i].Price
	}
	return sum
}

// openNode opens the node that carries the seed batch at the best price for all that goes onto it, as often over as the
// same filling can be repeated. False where no node can carry even one of its units.
func (r *Packing) openNode(seed int) bool {
	if r.spent*2 > len(r.order) {
		r.compact()
	}
	attempts := r.attempts(seed)
	if n, is := r.forAll(seed, attempts); is {
		if r.opened == r.takeAll {
			r.commit(n)
			return true
		}
		r.wholes = append(r.wholes, whole{r.opened, len(r.Nodes), n.Price})
	}
	for _, how := range []strictness{flexible, filled, alone} {
		if n, a := r.bestOf(seed, attempts, how); a != nil {
			r.won(r.Batches[seed].options[a.option].OfferingSet, a.column)
			r.commit(n)
			r.keepPriced()
			return true
		}
	}
	return false
}

// bestOf builds the attempts, best promise first, until what was built is worth more for its price than any other still
// promises. A promise is made by a sample of the batches and may not be kept. Nil where no attempt makes a node.
func (r *Packing) bestOf(seed int, attempts []attempt, how strictness) (Node, *attempt) {
	var best Node
	var won *attempt
	var value int64
	built := 0
	for i := range attempts {
		a := &attempts[i]
		if won != nil && (built >= maxBuilt || compareRatios(best.Price, value, r.Pool.Market.Columns[a.column].Price, a.value) <= 0) {
			break
		}
		n, ok := r.build(seed, *a, how)
		if !ok {
			continue
		}
		built++
		sum := int64(0)
		for _, it := range n.Items {
			sum += int64(it.count) * r.Batches[it.Batch].options[it.option].Value
		}
		if won == nil || compareRatios(n.Price, sum, best.Price, value) < 0 {
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
func (r *Packing) build(seed int, a attempt, how strictness) (Node, bool) {
	if how == alone {
		r.begin(seed, a.column)
		r.items = append(r.items, item{Batch: seed, option: a.option, count: 1})
	} else if a.even {
		r.fillEvenly(seed, a.option, a.column, r.order)
	} else {
		r.fill(seed, a.option, a.column, r.order)
	}
	if len(r.items) == 0 {
		return Node{}, false
	}
	n := Node{Items: slices.Clone(r.items), Load: make(vector.Vector, r.dims)}
	need := offerings.MinSpotTypes
	for i, it := range n.Items {
		option := r.Batches[it.Batch].options[it.option]
		n.Load.Release(r.Batches[it.Batch].PodGroup.Request, it.count)
		need = min(need, option.SpotTypes)
		if i == 0 {
			n.Flag, n.OfferingSet = option.Flag, option.OfferingSet
			continue
		}
		n.Flag, _ = r.Pool.Flags.Join(n.Flag, option.Flag)
		n.OfferingSet = r.join(n.OfferingSet, option.OfferingSet)
	}
	n.OfferingSet = r.withDevices(n.OfferingSet, n.Items)
	n.Mask = n.OfferingSet.Mask
	if !r.settle(&n) {
		return Node{}, false
	}
	if how == flexible && r.Pool.Market.Columns[n.Column].Offering.CapacityType == model.Spot && spotTypes(r.Pool, &n, r.open, need) < need {
		return Node{}, false
	}
	return n, true
}

// commit adds the node as often as its filling can be repeated.
func (r *Packing) commit(n Node) {
	times := 1 << 30
	for _, it := range n.Items {
		times = min(times, r.counts[it.Batch]/it.count)
	}
	for i, amount := range n.LimitUse {
		if amount > 0 {
			times = int(min(int64(times), r.left[i]/amount))
		}
	}
	if n.Reservation != "" {
		times = int(min(int64(times), r.reserved[n.Reservation]))
	}
	for _, it := range n.Items {
		r.placed(it.Batch, it.count*times)
	}
	for i, amount := range n.LimitUse {
		r.left[i] -= amount * int64(times)
	}
	for range times {
		r.Nodes = append(r.Nodes, n)
	}
	if n.Reservation != "" {
		r.reserved[n.Reservation] -= int64(times)
		r.closeExhausted()
	}
}

// closeExhausted closes the offerings of reservations nothing is left of.
func (r *Packing) closeExhausted() {
	closed := false
	for c, col := range r.Pool.Market.Columns {
		if col.Offering.CapacityType == model.Reserved && r.open.Has(c) && r.reserved[col.Offering.ReservationID] <= 0 {
			r.open.Clear(c)
			closed = true
		}
	}
	if !closed {
		return
	}
	for i := range r.Batches {
		batch := &r.Batches[i]
		batch.options = slices.Clone(batch.options)
		for j, known := range batch.options {
			o := *known
			types, spot, plain := r.Pool.TypesAmong(o.OfferingSet.Mask.And(r.open))
			r.Pool.Weigh(&o, batch.PodGroup.Request, batch.PodGroup.Most(), types, spot, plain)
			batch.options[j] = &o
		}
	}
}

// assign gives each node its pods and takes them off their pod batches.
func (r *Packing) assign() {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		n.Pods = make([]int, 0, r.podsOf(n))
		for _, it := range n.Items {
			podBatch := r.Batches[it.Batch].podBatch
			take := it.count * podBatch.PodGroup.Stride
			n.Pods = append(n.Pods, podBatch.Pods[:take]...)
			podBatch.Pods = podBatch.Pods[take:]
		}
	}
}

// spotTypes counts the types that hold the node's load and can be bought as spot, up to enough.
func spotTypes(p *offerings.Pool, n *Node, open vector.Bitset, enough int) int {
	count := 0
	if !p.Reserving {
		for _, t := range n.OfferingSet.Spot {
			if count < enough && n.Load.Fits(p.Free[t]) {
				count++
			}
		}
		return count
	}
	seen := make([]bool, len(p.Market.Types))
	usable := n.Mask.And(open)
	for c := usable.Next(0); c >= 0 && count < enough; c = usable.Next(c + 1) {
		col := &p.Market.Columns[c]
		if col.Offering.CapacityType == model.Spot && !seen[col.Instance] && n.Load.Fits(p.Free[col.Instance]) {
			seen[col.Instance] = true
			count++
		}
	}
	return count
}
