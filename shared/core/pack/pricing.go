package pack

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// Pricing: what a unit costs depends on what shares its node. Were units divisible and nodes sold by the part, the cheapest
// purchase would be a linear program, and its dual says what each unit is answerable for of the price: every offering o has
// rates λ ≥ 0 of its resources with λ·room(o) = price(o), a unit costs the least of λ(o)·request over the offerings it
// accepts, and the rates sought are those at which all units together cost most. A node is then worth its price only where
// it carries what the cheapest purchase would have it carry, so that a greedy search knows which units belong together and
// which offerings go with each other before anything is packed.
//
// Rates are found by adjustment: units go where they cost least, and in part to what is nearly as cheap; each offering then
// charges more for the resources that ran short and less for the others, by smaller and smaller steps. However good they
// are, rates only guide.

// Bounds on the effort, and how it is spent.
const (
	firstRounds   = 30  // of adjustment
	outlook       = 6   // rounds after which offerings far more expensive than others are given up
	hopeless      = 1.4 // how far that is, as a factor
	fewOfferings  = 8   // of which none is
	laterRounds   = 6   // once some of the units are placed
	mostCohorts   = 300 // of units that are alike, where telling fewer sizes apart can do it
	offeringsEach = 48  // compared for an offering set
	nearly        = 0.1 // how much more expensive, as a part, an offering may be to get some of the units; at first
	step          = 0.5 // how far rates move; at first
	atLast        = 0.1 // of both
	leastShare    = 1e-4
	mostShort     = 3.0 // how many times the mean a resource counts as short, at most
)

// pricing is the search for rates on one pool.
type pricing struct {
	pool        *offerings.Pool
	open        vector.Bitset
	resources   int
	cpu, memory int
	slots       map[unitLimit]int
	caps        []float64 // by slot
	cohorts     []cohort
	cohortOf    []int       // by pod request
	columns     []int       // of the offerings compared
	rooms       [][]float64 // by offering and dimension, which are resources and then slots
	shares      [][]float64 // by offering and dimension: parts of its price, 1 together
	rates       [][]float64 // by offering and dimension: shares·price/room, in micro-USD per hour
	best        [][]float64 // rates at which units cost most so far
	load        [][]float64 // scratch, by offering and dimension
	every, used []int32     // offerings: all, and those units went to of late
	costs       []float64   // scratch
	request     []float64   // scratch
}

// podRequest is units of a pod group that are to be placed.
type podRequest struct {
	podGroup *group.PodGroup
	options  []*offerings.Option
	count    int
}

// unitLimit is a bound on how many units of some pod groups a node takes, which is a resource like others.
type unitLimit struct {
	topologyGroup int // that bounds them; below 0, the pod group that bounds itself
	most          int64
}

// cohort is units that may be on the same offerings and ask for about the same.
type cohort struct {
	offeringSets []*offerings.Set
	request      []float64 // their mean, by resource
	slots        []int     // they take one of each
	count        float64   // units
	offerings    []int32   // that admit and hold the mean
	cost         float64   // of one, by the rates found
	trend        float64   // of it, as a factor, since the rates before
}

// newPricing finds rates for what is asked of the pool.
func newPricing(dims vector.Dimensions, pool *offerings.Pool, open vector.Bitset, requests []podRequest) *pricing {
	out := &pricing{pool: pool, open: open, resources: len(dims), slots: make(map[unitLimit]int)}
	out.cpu, out.memory = slices.Index(dims, model.CPU), slices.Index(dims, model.Memory)
	out.gather(requests)
	out.list()
	out.adjust(firstRounds, 1)
	return out
}

// reprice adjusts the rates to the units that are left, by pod request.
func (p *pricing) reprice(left []int) {
	for i := range p.cohorts {
		p.cohorts[i].count = 0
	}
	for i, n := range left {
		p.cohorts[p.cohortOf[i]].count += float64(n)
	}
	p.adjust(laterRounds, 0.3)
}

// gather puts what is asked for into cohorts, telling sizes apart as finely as there is room for.
func (p *pricing) gather(requests []podRequest) {
	slots := make([][]int, len(requests))
	for i := range requests {
		slots[i] = p.slotsOf(requests[i].podGroup)
	}
	for fine := uint(2); ; fine-- {
		p.cohorts, p.cohortOf = p.cohorts[:0], p.cohortOf[:0]
		index := make(map[string]int)
		var key []byte
		for i := range requests {
			if len(p.cohorts) > mostCohorts && fine > 0 {
				break
			}
			a := &requests[i]
			key = key[:0]
			for _, o := range a.options {
				key = binary.AppendVarint(key, int64(o.OfferingSet.ID))
			}
			key = binary.AppendVarint(key, -1)
			for _, s := range slots[i] {
				key = binary.AppendVarint(key, int64(s))
			}
			key = binary.AppendVarint(key, -1)
			for _, amount := range a.podGroup.Request {
				key = binary.AppendVarint(key, magnitude(amount, fine))
			}
			n, known := index[string(key)]
			if !known {
				n = len(p.cohorts)
				index[string(key)] = n
				c := cohort{request: make([]float64, p.resources), slots: slots[i]}
				for _, o := range a.options {
					c.offeringSets = append(c.offeringSets, o.OfferingSet)
				}
				p.cohorts = append(p.cohorts, c)
			}
			p.cohortOf = append(p.cohortOf, n)
			c := &p.cohorts[n]
			c.count += float64(a.count)
			for d, amount := range a.podGroup.Request {
				c.request[d] += float64(float64(amount) * float64(a.count))
			}
		}
		if len(p.cohorts) <= mostCohorts || fine == 0 {
			break
		}
	}
	for i := range p.cohorts {
		c := &p.cohorts[i]
		for d := range c.request {
			c.request[d] /= max(1, c.count)
		}
	}
}

// magnitude returns about log2 of the amount, in steps of 1/2^fine, fine ≤ 2; 0 of nothing.
func magnitude(amount int64, fine uint) int64 {
	amount = min(amount, 1<<60)
	if amount <= 0 {
		return 0
	}
	whole := uint(bits.Len64(uint64(amount)) - 1)
	part := (uint64(amount) ^ 1<<whole) << fine >> whole
	return 1 + int64(whole)<<fine + int64(part)
}

// slotsOf returns the slots a unit of the pod group takes one of. Pods that keep every other of their kind off their node take
// none: which nodes they open decides the plan, and they are better worth the whole node than the part the dual says.
func (p *pricing) slotsOf(c *group.PodGroup) []int {
	var out []int
	enter := func(s unitLimit) {
		n, known := p.slots[s]
		if !known {
			n = len(p.caps)
			p.slots[s] = n
			p.caps = append(p.caps, float64(s.most))
		}
		out = append(out, n)
	}
	for _, u := range c.Constraints {
		if u.ByHost && u.Self > 0 && u.Kind == group.Spread {
			enter(unitLimit{u.TopologyGroup, max(1, int64(u.MaxSkew/u.Self))})
		}
	}
	if c.SoftMost > 0 {
		enter(unitLimit{-1 - c.Order, c.SoftMost})
	}
	return out
}

// list lists the offerings worth comparing: of each offering set those that no cheaper one is as large as, at most offeringsEach.
func (p *pricing) list() {
	listed := vector.NewBitset(len(p.pool.Market.Columns))
	seen := make(map[int]bool)
	for i := range p.cohorts {
		for _, a := range p.cohorts[i].offeringSets {
			if seen[a.ID] {
				continue
			}
			seen[a.ID] = true
			front := p.front(a)
			for n, c := range front {
				if len(front) <= offeringsEach || n == 0 || n*offeringsEach/len(front) > (n-1)*offeringsEach/len(front) {
					listed.Set(c)
				}
			}
		}
	}
	for c := listed.Next(0); c >= 0; c = listed.Next(c + 1) {
		p.enter(c)
	}
	for i := range p.cohorts {
		c := &p.cohorts[i]
		for o, column := range p.columns {
			if slices.ContainsFunc(c.offeringSets, func(a *offerings.Set) bool { return a.Mask.Has(column) }) && p.fits(o, c.request) {
				c.offerings = append(c.offerings, int32(o))
			}
		}
	}
}

// front returns the set's offerings that no cheaper one of it is as large as, by price.
func (p *pricing) front(a *offerings.Set) []int {
	var columns, types []int
	for _, e := range a.Types[:a.PlainOrAll()] {
		room := p.pool.Free[e.Instance]
		if !p.open.Has(e.Column) || slices.Min(room) < 0 || slices.ContainsFunc(types, func(t int) bool { return p.pool.Free[t].Covers(room) }) {
			continue
		}
		columns, types = append(columns, e.Column), append(types, e.Instance)
	}
	return columns
}

// enter lists an offering.
func (p *pricing) enter(column int) {
	room := make([]float64, p.resources, p.resources+len(p.caps))
	for d, amount := range p.pool.Free[p.pool.Market.Columns[column].Instance] {
		room[d] = float64(amount)
	}
	room = append(room, p.caps...)
	share := make([]float64, len(room))
	for d := range share {
		share[d] = 0.02
	}
	share[p.cpu], share[p.memory] = 0.5, 0.5
	o := len(p.columns)
	p.columns, p.every = append(p.columns, column), append(p.every, int32(o))
	p.rooms, p.shares = append(p.rooms, room), append(p.shares, share)
	p.rates, p.best, p.load = append(p.rates, make([]float64, len(room))), append(p.best, make([]float64, len(room))), append(p.load, make([]float64, len(room)))
	p.charge(o)
}

// fits reports whether the offering has room for the request.
func (p *pricing) fits(o int, request []float64) bool {
	for d, amount := range request {
		if amount > p.rooms[o][d] {
			return false
		}
	}
	return true
}

// charge makes the offering's shares sum to 1 and its rates follow.
func (p *pricing) charge(o int) {
	shares, room := p.shares[o], p.rooms[o]
	sum := 0.0
	for d := range shares {
		if room[d] <= 0 {
			shares[d] = 0
		}
		sum += shares[d]
	}
	price := float64(p.pool.Market.Columns[p.columns[o]].Price)
	for d := range shares {
		if shares[d] /= sum; shares[d] > 0 {
			p.rates[o][d] = float64(shares[d]*price) / room[d]
		}
	}
}

// cost returns what a request and its slots cost by an offering's rates.
func (p *pricing) cost(request []float64, slots []int, rates []float64) float64 {
	sum := 0.0
	for d, amount := range request {
		sum += float64(amount * rates[d])
	}
	for _, s := range slots {
		sum += rates[p.resources+s]
	}
	return sum
}

// adjust moves the rates, round by round, and keeps those at which units cost most.
func (p *pricing) adjust(rounds int, from float64) {
	most := -1.0
	p.used = p.used[:0]
	used := vector.NewBitset(len(p.columns))
	for round := range rounds {
		scale := from - float64((from-atLast)*float64(round))/float64(rounds)
		for o := range p.load {
			clear(p.load[o])
		}
		if round == outlook {
			p.narrow()
		}
		total := 0.0
		for i := range p.cohorts {
			if c := &p.cohorts[i]; c.count > 0 && len(c.offerings) > 0 {
				total += float64(c.count * p.spread(c, float64(nearly*scale)))
			}
		}
		if total > most {
			most = total
			for o := range p.best {
				copy(p.best[o], p.rates[o])
			}
		}
		for o := range p.load {
			if p.move(o, float64(step*scale)) && round*2 >= rounds {
				used.Set(o)
			}
		}
	}
	for o := used.Next(0); o >= 0; o = used.Next(o + 1) {
		p.used = append(p.used, int32(o))
	}
	for i := range p.cohorts {
		c := &p.cohorts[i]
		cost := 0.0
		for n, o := range c.offerings {
			if by := p.cost(c.request, c.slots, p.best[o]); n == 0 || by < cost {
				cost = by
			}
		}
		c.trend = 1
		if c.cost > 0 && cost > 0 {
			c.trend = cost / c.cost
		}
		c.cost = cost
	}
}

// narrow has every cohort compare those offerings only that may yet be the cheapest for it.
func (p *pricing) narrow() {
	for i := range p.cohorts {
		c := &p.cohorts[i]
		if len(c.offerings) <= fewOfferings {
			continue
		}
		costs := p.costsOf(c)
		limit := float64(slices.Min(costs) * hopeless)
		kept := 0
		for n, o := range c.offerings {
			if costs[n] < limit {
				c.offerings[kept] = o
				kept++
			}
		}
		c.offerings = c.offerings[:kept]
	}
}

// costsOf returns what one of the cohort costs on each of its offerings, until it is called again.
func (p *pricing) costsOf(c *cohort) []float64 {
	p.costs = p.costs[:0]
	for _, o := range c.offerings {
		p.costs = append(p.costs, p.cost(c.request, c.slots, p.rates[o]))
	}
	return p.costs
}

// spread divides the cohort among the offerings that are nearly the cheapest, the cheaper the more, and returns the least one
// of it costs.
func (p *pricing) spread(c *cohort, nearly float64) float64 {
	costs := p.costsOf(c)
	least := slices.Min(costs)
	limit := float64(least * (1 + nearly))
	sum := 0.0
	for _, cost := range costs {
		if cost < limit {
			sum += float64((limit - cost) * (limit - cost))
		}
	}
	for n, cost := range costs {
		if cost >= limit {
			continue
		}
		units := float64((limit-cost)*(limit-cost)) / sum * c.count
		load := p.load[c.offerings[n]]
		for d, amount := range c.request {
			load[d] += float64(amount * units)
		}
		for _, s := range c.slots {
			load[p.resources+s] += units
		}
	}
	return least
}

// move shifts the offering's shares towards the resources that are short by what went to it; false where nothing did.
func (p *pricing) move(o int, step float64) bool {
	load, room, shares := p.load[o], p.rooms[o], p.shares[o]
	mean := 0.0
	for d := range load {
		if room[d] > 0 {
			load[d] /= room[d]
			mean += float64(load[d] * shares[d])
		}
	}
	if mean <= 0 {
		return false
	}
	for d := range shares {
		shares[d] = max(leastShare, float64(shares[d]*(1+float64(step*(min(mostShort, load[d]/mean)-1)))))
	}
	p.charge(o)
	return true
}

// value returns what a unit of the pod group costs at best by the rates, in nano-USD per hour; 0 where no offering listed holds it.
func (p *pricing) value(c *group.PodGroup, options []*offerings.Option) int64 {
	p.request = p.request[:0]
	for _, amount := range c.Request {
		p.request = append(p.request, float64(amount))
	}
	slots := p.slotsOf(c)
	least, found := p.least(slots, options, p.used)
	if !found {
		if least, found = p.least(slots, options, p.every); !found {
			return 0
		}
	}
	return max(1, int64(least*1000))
}

// least returns the least p.request costs on any of the offerings; false where none admits and holds it.
func (p *pricing) least(slots []int, options []*offerings.Option, among []int32) (least float64, found bool) {
	for _, o := range among {
		column := p.columns[o]
		if !slices.ContainsFunc(options, func(x *offerings.Option) bool { return x.OfferingSet.Mask.Has(column) }) || !p.fits(int(o), p.request) {
			continue
		}
		if cost := p.cost(p.request, slots, p.best[o]); !found || cost < least {
			least, found = cost, true
		}
	}
	return least, found
}

// leastFor returns the least that any offering charges for so much room, in micro-USD per hour; false where none is sold.
func (p *pricing) leastFor(room []float64) (least float64, sold bool) {
	offerings := p.used
	if len(offerings) == 0 {
		offerings = p.every
	}
	for n, o := range offerings {
		if value := p.cost(room, nil, p.best[o]); n == 0 || value < least {
			least = value
		}
	}
	return least, len(offerings) > 0
}

// trend returns by which factor the cost of what the n-th pod request asks for has changed since the rates before.
func (p *pricing) trend(n int) float64 { return p.cohorts[p.cohortOf[n]].trend }
