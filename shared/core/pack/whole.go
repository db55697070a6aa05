package pack

// Nodes are opened one at a time, each for the best price for what goes onto it, whatever is left for the others. In the end that may be expensive: the
// last pods need a node of their own, and one node for them and those before would have cost less. So whenever little is left it is noted what one
// node for all of it costs, and a run that spent more from there on is made once more with that node.

// Bounds on where that is looked for, as counts: in a large plan the last nodes make no difference that is worth a second run.
const (
	wholeUnits  = 64 // left
	wholeOpened = 64 // nodes opened so far, or tried to
)

// whole is one node for all that was left when another was opened.
type whole struct {
	opened int // nodes that had been opened, or tried to
	nodes  int // nodes there were
	price  int64
}

// forAll returns a node for all units that are left, and whether one of the attempts makes one; of these the one with the most promise is built. It keeps as
// many types to fall back on as any other.
func (r *packing) forAll(seed int, attempts []attempt) (n node, is bool) {
	if r.opened > wholeOpened {
		return node{}, false
	}
	left := 0
	for _, l := range r.order {
		if left += r.counts[l]; left > wholeUnits {
			return node{}, false
		}
	}
	var most *attempt
	for i := range attempts {
		if most == nil || attempts[i].value > most.value {
			most = &attempts[i]
		}
	}
	if most == nil {
		return node{}, false
	}
	if n, is = r.build(seed, *most, flexible); !is {
		return node{}, false
	}
	for _, it := range n.items {
		left -= it.count
	}
	return n, left <= 0
}

// spentMore returns the node for all that was left which would have saved most against what was opened instead; false where none would have.
func (r *packing) spentMore() (best whole, is bool) {
	after, last, saved := int64(0), len(r.nodes), int64(0)
	for i := len(r.wholes) - 1; i >= 0; i-- { // those with fewest nodes after them first
		w := r.wholes[i]
		for ; last > w.nodes; last-- {
			after += r.nodes[last-1].price
		}
		if after-w.price > saved {
			best, is, saved = w, true, after-w.price
		}
	}
	return best, is
}

// withWhole returns the run made once more with one node for all that is left at some point, where that is cheaper; else the run.
func (r *packing) withWhole() *packing {
	w, is := r.spentMore()
	if !is || r.opened > wholeOpened {
		return r
	}
	again := newPacking(r.planner, r.pool, r.input.batches, r.input.order)
	if r.input.priced {
		again.price()
	}
	again.takeAll = w.opened
	again.pack()
	if again.compareUnplaced(r) > 0 || again.total() >= r.total() {
		return r
	}
	return again
}
