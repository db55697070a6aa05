package pack

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

// lot is the pods of one class that are still to be placed on a pool.
type lot struct {
	class   *class
	options []option
	count   int // ≥ 0
}

// item is some pods of one lot on a node.
type item struct {
	lot    int
	option int
	count  int // ≥ 1
}

// node is a claim in the making.
type node struct {
	items       []item
	flag        int     // custom labels
	mask        bitset  // columns acceptable to every pod, available or not
	load        vector  // of the pods, without daemons
	column      int     // the cheapest offer that holds it
	price       int64   // of column, micro-USD per hour
	hold        []int64 // what it takes of the pool's limits
	reservation string  // set where the node is bought of reserved capacity, and of nothing else
	pods        []int   // indexes into the snapshot's pods; set when the run is chosen
}

// run packs lots onto new nodes of one pool, by one strategy.
type run struct {
	pool     *pool
	lots     []lot
	order    []int // lots, in the order nodes are opened for them and filled from
	open     bitset
	left     []int64          // of the pool's limits
	reserved map[string]int64 // instances left of each reservation
	nodes    []node
	smallest vector // of each resource, the least any lot with pods left asks for
	free     vector // scratch
	items    []item // scratch
}

func newRun(p *pool, lots []lot, order []int, left []int64, reserved map[string]int64) *run {
	r := &run{pool: p, lots: slices.Clone(lots), order: slices.Clone(order), left: slices.Clone(left), reserved: maps.Clone(reserved)}
	r.open = slices.Clone(p.open)
	r.closeExhausted()
	r.free = make(vector, len(p.room[0]))
	return r
}

// pack opens nodes until every lot is placed or nothing more can be opened.
func (r *run) pack() {
	for _, seed := range r.order {
		for r.lots[seed].count > 0 && r.openNode(seed) {
		}
	}
}

// unplaced returns how many pods are left over.
func (r *run) unplaced() int {
	n := 0
	for i := range r.lots {
		n += r.lots[i].count
	}
	return n
}

// price returns the sum of the nodes' prices.
func (r *run) price() int64 {
	sum := int64(0)
	for i := range r.nodes {
		sum += r.nodes[i].price
	}
	return sum
}

// openNode opens the node that carries the seed lot at the best price for all that goes onto it, as often over as the
// same filling can be repeated. False where no node can carry even one of its pods.
func (r *run) openNode(seed int) bool {
	order := r.live(seed)
	attempts := r.attempts(order)
	for _, how := range []care{flexible, filled, alone} {
		for _, a := range attempts {
			if n, ok := r.build(order, a, how); ok {
				r.commit(n)
				return true
			}
		}
	}
	return false
}

// care is how much is asked of a node before it is opened.
type care uint8

const (
	flexible care = iota // a spot node keeps as many types to fall back on as its pods allow
	filled               // whatever fits is on it
	alone                // one pod only: with others it cannot be bought
)

// build makes a node of the attempt's filling; false where that is no node after all.
func (r *run) build(order []int, a attempt, how care) (node, bool) {
	if how == alone {
		r.items = append(r.items[:0], item{lot: order[0], option: a.option, count: 1})
	} else {
		r.fill(order, a.option, a.column, len(order))
	}
	n := node{items: slices.Clone(r.items), load: make(vector, len(r.free))}
	need := minSpotTypes
	for i, it := range n.items {
		option := &r.lots[it.lot].options[it.option]
		n.load.give(r.lots[it.lot].class.request, it.count)
		need = min(need, option.spotTypes)
		if i == 0 {
			n.flag, n.mask = option.flag, option.mask
			continue
		}
		n.flag, _ = r.pool.flags.join(n.flag, option.flag)
		n.mask = n.mask.and(option.mask)
	}
	r.preferPlain(&n)
	if !r.settle(&n) {
		return node{}, false
	}
	if how == flexible && r.pool.market.columns[n.column].offer.CapacityType == model.Spot && r.pool.spotTypes(&n, r.open, need) < need {
		return node{}, false
	}
	return n, true
}

// preferPlain takes exotic types off the node where any other that is open holds it, as its launch would.
func (r *run) preferPlain(n *node) {
	if plain := n.mask.and(r.pool.market.plain); !r.pool.base.MinValues() {
		if _, ok := r.pool.cheapest(plain, r.open, n.load, r.left); ok {
			n.mask = plain
		}
	}
}

// settle finds the cheapest offer for what is on the node and what it takes of the limits; false where no offer holds
// it, minValues cannot be met or the limits leave too little. One reservation rarely meets minValues; then the node does
// without.
func (r *run) settle(n *node) bool {
	mask := n.mask
	if r.settleAmong(n, r.open) {
		return true
	}
	if n.reservation == "" {
		return false
	}
	n.mask, n.reservation = mask, ""
	return r.settleAmong(n, r.pool.withoutReserved(r.open))
}

func (r *run) settleAmong(n *node, open bitset) bool {
	column, ok := r.pool.cheapest(n.mask, open, n.load, r.left)
	if !ok {
		return false
	}
	n.column, n.price = column, r.pool.market.columns[column].price
	n.hold = r.pool.taken[r.pool.market.columns[column].instance]
	offer := r.pool.market.columns[column].offer
	if offer.CapacityType == model.Reserved {
		n.reservation = offer.ReservationID
		n.mask = r.pool.onlyReservation(n.mask, offer.ReservationID)
	}
	if !r.pool.base.MinValues() {
		return true
	}
	// A claim lists types and not offers, so that only what its box holds counts.
	affordable := slices.DeleteFunc(r.pool.holders(r.pool.box(n, r).mask, r.openFor(n), n.load),
		func(t int) bool { return !within(r.pool.taken[t], r.left) })
	types, met := r.pool.withMinValues(affordable)
	for _, t := range types {
		n.hold = largest(n.hold, r.pool.taken[t])
	}
	return met && within(n.hold, r.left)
}

// commit adds the node as often as its filling can be repeated.
func (r *run) commit(n node) {
	times := 1 << 30
	for _, it := range n.items {
		times = min(times, r.lots[it.lot].count/it.count)
	}
	for i, amount := range n.hold {
		if amount > 0 {
			times = int(min(int64(times), r.left[i]/amount))
		}
	}
	if n.reservation != "" {
		times = int(min(int64(times), r.reserved[n.reservation]))
	}
	for _, it := range n.items {
		r.lots[it.lot].count -= it.count * times
	}
	for i, amount := range n.hold {
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

// closeExhausted closes the offers of reservations nothing is left of.
func (r *run) closeExhausted() {
	for c, col := range r.pool.market.columns {
		if col.offer.CapacityType == model.Reserved && r.reserved[col.offer.ReservationID] <= 0 {
			r.open.clear(c)
		}
	}
	for i := range r.lots {
		r.lots[i].options = slices.Clone(r.lots[i].options)
		for o := range r.lots[i].options {
			option := &r.lots[i].options[o]
			if !r.allOpen(option.offers) {
				r.pool.weigh(option, r.lots[i].class.request, r.open)
			}
		}
	}
}

// openFor returns the columns the node may be bought by: those still open, or its own reservation's even if it took the
// last of it.
func (r *run) openFor(n *node) bitset {
	if n.reservation != "" {
		return r.pool.open
	}
	return r.open
}

func (r *run) allOpen(columns []int) bool {
	for _, c := range columns {
		if !r.open.has(c) {
			return false
		}
	}
	return true
}
