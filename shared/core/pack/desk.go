package pack

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// Desk makes many plans of one cluster one after another: what-ifs, which differ in the nodes there are, in where pods are bound,
// in what is used of limits and in which pods are to be placed. Claims come and go, too; of one name they are the same but for their
// pods. What the others of an Input say has to stay as it was. A Desk is for one goroutine.
type Desk struct {
	dims    dimensions
	lore    *lore
	markets *markets
	daemons []daemon
	pools   []*pool
	rates   *Rates             // the last that were asked for
	asked   []asked            // by shape, as far as looked up
	drafts  map[draftKey]*site // of claims on their way; nothing of them is written to
	caches  map[cacheKey]*siteCache
	claims  *claimIndex // of the plan that is being made
	plans   int         // begun so far
	boards  int         // of this plan, so far
	spaces  []siteSpace // by board of a plan
}

// siteSpace is memory for sites, which are over when their plan is made.
type siteSpace struct {
	sites []site
	free  vector
}

// NewDesk prepares for plans that differ from the input as said above.
func NewDesk(in Input) *Desk {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	d := &Desk{dims: everyDimension(in.Snapshot), lore: newLore(in.Snapshot.Shapes, in.IgnorePreferences), asked: make([]asked, len(in.Snapshot.Shapes)), drafts: make(map[draftKey]*site), caches: make(map[cacheKey]*siteCache), claims: new(claimIndex)}
	d.lore.dims = d.dims
	d.markets, d.daemons = newMarkets(&in, d.dims), daemonsOf(in.Snapshot, d.dims)
	d.pools = newPools(&in, d.dims, d.markets, d.daemons)
	return d
}

// everyDimension returns the resources that any pod asks for, whether it is to be placed or not.
func everyDimension(snapshot *model.Snapshot) dimensions {
	all := &class{resources: make(model.Resources)}
	for i := range snapshot.Shapes {
		for name, amount := range snapshot.Shapes[i].Requests { // into a set
			if amount != 0 {
				all.resources[name] = 1
			}
		}
	}
	return dimensionsOf(snapshot, []*class{all})
}

// Plan is the package's Plan, but for what it need not find out again. It opens nodes in so many ways at most, of which the
// cheapest is kept; 0 = in as many as Plan does, −1 = none: what exists has to do.
func (d *Desk) Plan(in Input, tries int) model.Plan {
	in.desk, in.tries = d, tries
	d.plans, d.boards = d.plans+1, 0
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	d.claims.fill(&in)
	return Plan(in)
}

// poolsFor returns the pools as the input has them.
func (d *Desk) poolsFor(in *Input) []*pool {
	out := make([]*pool, len(d.pools))
	for i, known := range d.pools {
		p := *known
		if p.skip == nil {
			p.natures, p.flags, p.left = nil, newFlags(p.custom), p.leftOf(in.Usage[p.source.Name])
		}
		out[i] = &p
	}
	return out
}

// Rates say what pods and room on nodes are worth: what they would cost at best at what is sold now, were nodes sold by the part.
// No set of nodes that can hold some pods costs less than they are worth together, but for what of it is held already.
type Rates struct {
	dims   dimensions
	shapes []model.PodShape
	asked  []vector      // by shape, what its pods ask for; nil = not looked up yet
	worth  map[int]int64 // by pod, nano-USD per hour
	byPool map[string]*pricing
	order  []*pricing // of byPool, as pools are asked
}

// NewRates prices the pods in.Pending names; plans of the desk in one way only go by that from then on. Reserved capacity, whose price says nothing, is left out.
func (d *Desk) NewRates(in Input) *Rates {
	pending, moving := pendingPods(&in)
	book := newRulebook(&in, noWishes)
	census := &census{snapshot: in.Snapshot, lore: d.lore, book: book, volumes: volume.New(in.Snapshot), onceHeld: holders(in.Snapshot, moving)}
	classes, _ := census.classesOf(sortedPods(in.Snapshot, pending), nil)
	p := &planner{in: &in, dims: d.dims, book: book, markets: d.markets, daemons: d.daemons, standsOf: make(map[string][]stand), divisions: make(map[string][]cell)}
	p.ready, p.reserved = d.poolsFor(&in), map[string]int64{}
	asks := make([][]ask, len(p.ready))
	for _, c := range classes {
		for _, s := range p.stands(c) {
			if options := p.ready[s.pool].options(s.grounds, c.request, c.most()); len(options) > 0 {
				asks[s.pool] = append(asks[s.pool], ask{c, options, c.units()})
				break
			}
		}
	}
	out := &Rates{dims: d.dims, shapes: in.Snapshot.Shapes, asked: make([]vector, len(in.Snapshot.Shapes)), worth: make(map[int]int64, len(pending)), byPool: make(map[string]*pricing)}
	d.rates = out
	for n, list := range asks {
		if len(list) == 0 {
			continue
		}
		pool := p.ready[n]
		priced := newPricing(p, pool, pool.withoutReserved(pool.open), list)
		out.byPool[pool.source.Name], out.order = priced, append(out.order, priced)
		for i := range list {
			worth := priced.worth(list[i].class, list[i].options)
			if worth == 0 {
				worth = slices.MinFunc(list[i].options, func(a, b *option) int { return cmp.Compare(a.alone, b.alone) }).alone
			}
			for _, pod := range list[i].class.pods {
				out.worth[pod] = worth
			}
		}
	}
	return out
}

// Pod returns what the pod is worth; false where no new node could hold it.
func (r *Rates) Pod(i int) (model.MicroUSD, bool) {
	worth, known := r.worth[i]
	return model.MicroUSD((worth + 999) / 1000), known
}

// Room returns what the room that pods of these shapes leave of so much is worth at least to pods that take any offer; 0 where
// nothing is sold.
func (r *Rates) Room(amounts model.Resources, shapes []int) model.MicroUSD {
	free := r.dims.vector(amounts)
	for _, s := range shapes {
		for d, amount := range r.request(s) {
			free[d] -= amount
		}
	}
	room := make([]float64, len(free))
	for d, amount := range free {
		room[d] = float64(max(0, amount))
	}
	least := 0.0
	for i, p := range r.order {
		offers := p.used
		if len(offers) == 0 {
			offers = p.every
		}
		for n, o := range offers {
			if worth := p.cost(room, nil, p.best[o]); i+n == 0 || worth < least {
				least = worth
			}
		}
	}
	return model.MicroUSD(least)
}

// request returns what pods of a shape ask for; nil where there is no such shape.
func (r *Rates) request(shape int) vector {
	if shape < 0 || shape >= len(r.shapes) {
		return nil
	}
	if r.asked[shape] == nil {
		r.asked[shape] = r.dims.vector(r.shapes[shape].Requests)
	}
	return r.asked[shape]
}
