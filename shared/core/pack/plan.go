package pack

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/resource"
	"github.com/joiner-sh/joiner/shared/model"
)

// Plan says which pods fit what exists or is on its way, which claims to make for the others, and why nothing can hold
// the rest. Every pending pod is in exactly one of the three lists.
//
// Pods that cannot be told apart are planned together. Existing capacity is used first. A pod that needs a new node gets
// one of the first pool, by weight and then name, that can make one; on that pool the plan with the lowest price wins.
func Plan(in Input) model.Plan {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	// 1. What is asked for: classes of like pods, and those that can never be placed.
	pending, moving := pendingPods(&in)
	classes, refused := classesOf(in.Snapshot, pending, repelledShapes(in.Snapshot, pending, moving))
	dims := dimensionsOf(in.Snapshot, classes)
	for _, c := range classes {
		c.request = dims.vector(c.resources)
	}
	// 2. What there is: markets, daemons, sites, pools.
	markets := marketsOf(&in, dims)
	daemons := daemonsOf(in.Snapshot, dims)
	sites := sitesOf(&in, dims, markets, daemons, moving)
	pools := newPools(&in, dims, markets, daemons)
	// 3. Existing capacity first, then new nodes.
	nominate(in.Snapshot, classes, sites)
	p := planner{in: &in, dims: dims, pools: pools, reserved: reservations(markets)}
	p.place(classes)
	// 4. Write it down.
	claims, price := p.claims()
	return model.Plan{
		Claims:        claims,
		Nominations:   nominations(in.Snapshot, sites),
		Unschedulable: p.unschedulable(pending, refused),
		Price:         price,
	}
}

// dimensionsOf returns the resources that any class or daemon asks for.
func dimensionsOf(snapshot *model.Snapshot, classes []*class) dimensions {
	all := model.Resources{model.CPU: 0, model.Memory: 0, model.Pods: 0}
	for _, c := range classes {
		all = resource.Max(all, c.resources)
	}
	for i := range snapshot.DaemonSets {
		if shape := snapshot.DaemonSets[i].Shape; shape >= 0 && shape < len(snapshot.Shapes) {
			all = resource.Max(all, snapshot.Shapes[shape].Requests)
		}
	}
	return resource.Names(all)
}

// marketsOf prepares what each class can buy, by class name.
func marketsOf(in *Input, dims dimensions) map[string]*market {
	markets := make(map[string]*market, len(in.Catalogs))
	for name, types := range in.Catalogs { // each class on its own: the order does not matter
		markets[name] = newMarket(types, dims)
	}
	return markets
}

// reservations returns how many instances each reservation has left: the smallest number any offer gives.
func reservations(markets map[string]*market) map[string]int64 {
	left := make(map[string]int64)
	for _, m := range markets { // a minimum does not depend on the order
		for _, c := range m.columns {
			if c.offer.CapacityType != model.Reserved {
				continue
			}
			if n, seen := left[c.offer.ReservationID]; !seen || c.offer.ReservationCapacity < n {
				left[c.offer.ReservationID] = c.offer.ReservationCapacity
			}
		}
	}
	return left
}

// planner places classes on new nodes.
type planner struct {
	in       *Input
	dims     dimensions
	pools    []*pool
	reserved map[string]int64 // instances left of each reservation
	runs     []*run           // the chosen ones, in the order they were packed
	unplaced []*class         // with the pods nothing could hold
}

// waiting is a class on its way through the pools that can make a node for it.
type waiting struct {
	class *class
	pools []willing // still to be asked
}

// willing is a pool that can make a node for a class, and in which ways.
type willing struct {
	pool    int
	options []option
}

// place packs the classes pool by pool. What a pool's limits leave over goes on to the next pool that can hold it.
func (p *planner) place(classes []*class) {
	var list []waiting
	for _, c := range classes {
		if len(c.pods) > 0 {
			list = append(list, waiting{c, p.willing(c)})
		}
	}
	for asking := true; asking; {
		asking = false
		for i, pool := range p.pools {
			var here []lot
			for w := range list {
				c, next := list[w].class, list[w].pools
				if len(c.pods) > 0 && len(next) > 0 && next[0].pool == i {
					here = append(here, lot{class: c, options: next[0].options, count: len(c.pods)})
					list[w].pools = next[1:]
					asking = true
				}
			}
			if len(here) > 0 {
				p.pack(pool, here)
			}
		}
	}
	for _, w := range list {
		if len(w.class.pods) > 0 {
			p.unplaced = append(p.unplaced, w.class)
		}
	}
}

// willing returns the pools that can make a node for the class: first those without a taint it would rather avoid.
func (p *planner) willing(c *class) []willing {
	var first, second []willing
	for i, pool := range p.pools {
		if pool.skip != nil {
			continue
		}
		hard, soft := untolerated(c.tolerations, pool.source.Template.Taints)
		if hard != nil {
			continue
		}
		options := pool.options(c, pool.open)
		switch {
		case len(options) == 0:
		case soft:
			second = append(second, willing{i, options})
		default:
			first = append(first, willing{i, options})
		}
	}
	return append(first, second...)
}

// pack packs lots onto new nodes of the pool, by every strategy, and keeps the result that places most pods, then the
// cheapest, then the first.
func (p *planner) pack(pool *pool, lots []lot) {
	var best *run
	for _, order := range strategies(lots) {
		r := newRun(pool, lots, order, pool.left, p.reserved)
		r.pack()
		if best == nil || cmp.Or(cmp.Compare(r.unplaced(), best.unplaced()), cmp.Compare(r.price(), best.price())) < 0 {
			best = r
		}
	}
	best.assign()
	pool.left, p.reserved = best.left, best.reserved
	p.runs = append(p.runs, best)
}

// strategies returns the orders in which nodes are opened: as given (large first); those with the fewest offers first,
// so that flexible pods fill up what picky ones need anyway; the dearest first.
func strategies(lots []lot) [][]int {
	given := make([]int, len(lots))
	for i := range given {
		given[i] = i
	}
	choices, worth := make([]int, len(lots)), make([]int64, len(lots))
	for i := range lots {
		for _, o := range lots[i].options {
			choices[i] += o.mask.count()
			worth[i] = max(worth[i], o.worth)
		}
	}
	picky, dear := slices.Clone(given), slices.Clone(given)
	slices.SortStableFunc(picky, func(a, b int) int { return cmp.Compare(choices[a], choices[b]) })
	slices.SortStableFunc(dear, func(a, b int) int { return cmp.Compare(worth[b], worth[a]) })
	return [][]int{given, picky, dear}
}

// assign gives each node its pods and takes them off their classes.
func (r *run) assign() {
	for i := range r.nodes {
		n := &r.nodes[i]
		for _, it := range n.items {
			c := r.lots[it.lot].class
			n.pods = append(n.pods, c.pods[:it.count]...)
			c.pods = c.pods[it.count:]
		}
	}
}
