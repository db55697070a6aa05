package pack

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/pricing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/volume"
	"github.com/joiner-sh/joiner/shared/model"
)

// Simulator makes many plans of one cluster one after another: what-ifs, which differ in the nodes there are, in where
// pods are bound, in what is used of limits and in which pods are to be placed. Claims come and go, too; of one name
// they are the same but for their pods. What the others of an Input say has to stay as it was. A simulator is for one
// goroutine.
type Simulator struct {
	knowledge
	shapes []model.PodShape // with claims for extended resources that DeviceClasses stand for; nil = no pod has any
}

// NewSimulator prepares for plans that differ from the input as said above.
func NewSimulator(in Input) *Simulator {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	asked := in.Snapshot
	in.Snapshot = group.WithClaims(asked)
	d := &Simulator{knowledge: knowledge{dims: everyDimension(in.Snapshot), facts: group.NewShapeFacts(in.Snapshot.Shapes, in.IgnorePreferences), nodes: existing.NewMemory(len(in.Snapshot.Shapes))}}
	if in.Snapshot != asked {
		d.shapes = in.Snapshot.Shapes
	}
	d.facts.Dims = d.dims
	d.markets, d.daemons = offerings.NewMarkets(&in, d.dims), offerings.DaemonsOf(in.Snapshot, d.dims)
	d.pools = offerings.NewPools(&in, d.dims, d.markets, d.daemons)
	return d
}

// withClaims returns the snapshot of a plan with the shapes that the simulator was prepared for.
func (d *Simulator) withClaims(snapshot *model.Snapshot) *model.Snapshot {
	if d.shapes == nil {
		return snapshot
	}
	out := *snapshot
	out.Shapes = d.shapes
	return &out
}

// everyDimension returns the resources that any pod asks for, whether it is to be placed or not.
func everyDimension(snapshot *model.Snapshot) vector.Dimensions {
	all := &group.PodGroup{Resources: make(model.Resources)}
	for i := range snapshot.Shapes {
		for name, amount := range snapshot.Shapes[i].Requests { // into a set
			if amount != 0 {
				all.Resources[name] = 1
			}
		}
	}
	return group.DimensionsOf(snapshot, []*group.PodGroup{all})
}

// Plan is like the package's Plan and reuses cached state. It opens nodes in so many ways at most, of which the
// cheapest is kept; 0 = in as many as Plan does, −1 = none: what exists has to do.
func (d *Simulator) Plan(in Input, tries int) model.Plan {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	in.Snapshot = d.withClaims(in.Snapshot)
	d.nodes.Begin(&in)
	return question{&in, &d.knowledge, tries}.answer()
}

// Rates say what pods and room on nodes are worth: what they would cost at best at what is sold now, were nodes sold by
// the part. No set of nodes that can hold some pods costs less than they are worth together, but for what of it is held
// already.
type Rates struct {
	dims     vector.Dimensions
	shapes   []model.PodShape
	requests []vector.Vector // by shape, what its pods ask for; nil = not looked up yet
	values   map[int]int64   // by pod, nano-USD per hour
	byPool   map[string]*pricing.Rates
	order    []*pricing.Rates // of byPool, as pools are asked
}

// NewRates prices the pods in.Pending names; plans of the simulator in one way only go by that from then on. Reserved
// capacity, whose price says nothing, is left out.
func (d *Simulator) NewRates(in Input) *Rates {
	in.Snapshot = d.withClaims(in.Snapshot)
	pending, moving := pendingPods(&in)
	rules := group.NewPodRules(in.Snapshot, group.NoPreferences)
	classifier := &group.Classifier{Snapshot: in.Snapshot, Facts: d.facts, Rules: rules, Volumes: volume.New(in.Snapshot),
		OnceUsed: group.Holders(in.Snapshot, moving), Devices: group.DevicesOf(&in, moving, false)}
	podGroups, _ := classifier.PodGroupsOf(input.SortedPods(in.Snapshot, pending), nil)
	group.Suit(podGroups, classifier.Devices)
	p := newnodes.NewPlanner(&in, d.dims, rules, d.markets, d.daemons)
	p.Ready, p.Reserved = offerings.Copies(d.pools, in.Usage), map[string]int64{}
	requests := make([][]pricing.Request, len(p.Ready))
	for _, c := range podGroups {
		for _, s := range p.CandidatePools(c) {
			if options := p.Ready[s.Pool].Options(s.Variants, c.Request, c.Most()); len(options) > 0 {
				requests[s.Pool] = append(requests[s.Pool], pricing.Request{PodGroup: c, Options: options, Count: c.Units()})
				break
			}
		}
	}
	out := &Rates{dims: d.dims, shapes: in.Snapshot.Shapes, requests: make([]vector.Vector, len(in.Snapshot.Shapes)), values: make(map[int]int64, len(pending)), byPool: make(map[string]*pricing.Rates)}
	d.rates = out.byPool
	for n, list := range requests {
		if len(list) == 0 {
			continue
		}
		pool := p.Ready[n]
		priced := pricing.New(p.Dims, pool, pool.WithoutReserved(pool.Open), list)
		out.byPool[pool.Source.Name], out.order = priced, append(out.order, priced)
		for i := range list {
			value := priced.Value(list[i].PodGroup, list[i].Options)
			if value == 0 {
				value = slices.MinFunc(list[i].Options, func(a, b *offerings.Option) int { return cmp.Compare(a.Alone, b.Alone) }).Alone
			}
			for _, pod := range list[i].PodGroup.Pods {
				out.values[pod] = value
			}
		}
	}
	return out
}

// Pod returns what the pod is worth; false where no new node could hold it.
func (r *Rates) Pod(i int) (model.MicroUSD, bool) {
	value, known := r.values[i]
	return model.MicroUSD((value + 999) / 1000), known
}

// FreeValue returns a lower bound on the value of the capacity that is left of the amounts once pods of these shapes
// are placed, for pods that take any offering; 0 where nothing is sold.
func (r *Rates) FreeValue(amounts model.Resources, shapes []int) model.MicroUSD {
	free := r.dims.Vector(amounts)
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
		if value, sold := p.LeastFor(room); i == 0 || sold && value < least {
			least = value
		}
	}
	return model.MicroUSD(least)
}

// request returns what pods of a shape ask for; nil where there is no such shape.
func (r *Rates) request(shape int) vector.Vector {
	if shape < 0 || shape >= len(r.shapes) {
		return nil
	}
	if r.requests[shape] == nil {
		r.requests[shape] = r.dims.Vector(r.shapes[shape].Requests)
	}
	return r.requests[shape]
}
