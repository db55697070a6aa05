package newnodes

// Nodes are opened one at a time, each for the best price for what goes onto it, whatever is left for the others. In
// the end that may be expensive: the last pods need a node of their own, and one node for them and those before would
// have cost less. So whenever little is left it is noted what one node for all of it costs, and a run that spent more
// from there on is made once more with that node.

// Bounds on where that is looked for, as counts: in a large plan the last nodes make no difference that is worth a
// second run.
const (
	wholeUnits  = 64 // left
	wholeOpened = 64 // nodes opened so far, or tried to
)

// forAll returns a node for all units that are left, and whether one of the attempts makes one; of these the one with
// the most promise is built. It keeps as many types to fall back on as any other.
func (r *Packing) forAll(seed int, attempts []attempt) (n Node, is bool) {
	if r.opened > wholeOpened {
		return Node{}, false
	}
	left := 0
	for _, l := range r.order {
		if left += r.counts[l]; left > wholeUnits {
			return Node{}, false
		}
	}
	var most *attempt
	for i := range attempts {
		if most == nil || attempts[i].value > most.value {
			most = &attempts[i]
		}
	}
	if most == nil {
		return Node{}, false
	}
	if n, is = r.build(seed, *most, flexible); !is {
		return Node{}, false
	}
	for _, it := range n.Items {
		left -= it.count
	}
	return n, left <= 0
}

// spentMore returns the node for all that was left which would have saved most against what was opened instead; false
// where none would have.
func (r *Packing) spentMore() (best whole, is bool) {
	after, last, saved := int64(0), len(r.Nodes), int64(0)
	for i := len(r.wholes) - 1; i >= 0; i-- { // those with fewest nodes after them first
		w := r.wholes[i]
		for ; last > w.nodes; last-- {
			after += r.Nodes[last-1].Price
		}
		if after-w.price > saved {
			best, is, saved = w, true, after-w.price
		}
	}
	return best, is
}

// withWhole returns the run made once more with one node for all that is left at some point, where that is cheaper;
// else the run.
func (r *Packing) withWhole() *Packing {
	w, is := r.spentMore()
	if !is || r.opened > wholeOpened {
		return r
	}
	again := newPacking(r.planner, r.Pool, r.input.batches, r.input.order)
	if r.input.priced {
		again.price()
	}
	again.takeAll = w.opened
	again.pack()
	if again.compareUnplaced(r) > 0 || again.Total() >= r.Total() {
		return r
	}
	return again
}
