package newnodes

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/pricing"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
)

// divided returns the combinations of domains in which a new node can hold a unit of the pod group's venue, in order of
// their values and without their costs.
func (p *Planner) divided(c *group.PodGroup) []Cell {
	key := c.Venue
	for _, k := range c.Keys {
		key += "\x00" + k
	}
	known, ok := p.divisions[key]
	if !ok {
		known = p.divide(c)
		p.divisions[key] = known
	}
	return known
}

// Cells returns the combinations of domains in which a new node can hold a unit of the pod group, in order of their
// values.
func (p *Planner) Cells(c *group.PodGroup) []Cell {
	known := p.divided(c)
	cap := c.Most()
	n := max(1, int64(c.Units()))
	for _, u := range c.Constraints {
		if u.Kind == group.Spread && !u.ByHost && int64(u.MaxSkew) < n {
			n = max(1, (n+int64(len(known))-1)/int64(max(1, len(known))))
			break
		}
	}
	var out []Cell
	for i := range known {
		division := &known[i]
		cost := int64(math.MaxInt64)
		for _, s := range division.Pools {
			options := p.Pools()[s.Pool].Options(s.Variants, c.Request, cap)
			cost = p.costAmong(s.Pool, c, options, len(known) > 1 && cap == 0, n)
			if cost < math.MaxInt64 {
				break // pools are asked in order
			}
		}
		if cost < math.MaxInt64 {
			out = append(out, Cell{Values: division.Values, Pools: division.Pools, Cost: cost})
		}
	}
	return out
}

// Offered returns the values of the pod group's k-th label that a new node for it can have now, sorted, whatever limits
// leave. Pools are looked at for it even where no node is to be opened.
func (p *Planner) Offered(c *group.PodGroup, k int) []string {
	if p.Tries < 0 && p.surveyor == nil {
		p.surveyor = NewPlanner(p.In, p.Dims, p.rules, p.Markets, p.Daemons)
		p.surveyor.Pristine, p.surveyor.Rates = p.Pristine, p.Rates
	}
	if p.surveyor != nil {
		return p.surveyor.Offered(c, k)
	}
	if c.Wider != "" { // what it would merely rather have makes no domain less
		needs := *c
		needs.Terms, needs.Venue, needs.Wider = c.Needs, c.Wider, ""
		c = &needs
	}
	key := c.Venue + "\x00" + c.Keys[k] + "\x00" + fmt.Sprint(c.Request)
	known, asked := p.offerings[key]
	if asked {
		return known
	}
	for _, division := range p.divided(c) {
		if value := division.Values[k]; value != "" && !slices.Contains(known, value) && slices.ContainsFunc(division.Pools, func(s CandidatePool) bool {
			return len(p.Pools()[s.Pool].Options(s.Variants, c.Request, 0)) > 0
		}) {
			known = append(known, value)
		}
	}
	slices.Sort(known)
	if p.offerings == nil {
		p.offerings = make(map[string][]string)
	}
	p.offerings[key] = known
	return known
}

// costAmong returns what a unit of the pod group, one of n, costs at best by the options, in nano-USD per hour, by the
// rates of all that waits where they are to be asked; the largest number where there is no option.
func (p *Planner) costAmong(pool int, c *group.PodGroup, options []*offerings.Option, rated bool, n int64) int64 {
	if rated && len(options) > 0 {
		if rates := p.ratesOn(pool); rates != nil {
			if value := rates.Value(c, options); value > 0 {
				return value
			}
		}
	}
	cost := int64(math.MaxInt64)
	for _, o := range options {
		cost = min(cost, p.Pools()[pool].CostOf(o, c.Request, n, c.Most()))
	}
	return cost
}

// ratesOn returns the rates on the pool of everything that waits and would ask the pool first, wherever it may be; nil
// where that is little.
func (p *Planner) ratesOn(pool int) *pricing.Rates {
	if p.pricings == nil {
		requests, units := make([][]pricing.Request, len(p.Pools())), make([]int, len(p.Pools()))
		for _, w := range p.expected {
			if first, options := p.anywhere(w.podGroup); len(options) > 0 {
				requests[first] = append(requests[first], pricing.Request{PodGroup: w.podGroup, Options: options, Count: w.units})
				units[first] += w.units
			}
		}
		p.pricings = make([]*pricing.Rates, len(p.Pools()))
		for i, pool := range p.Pools() {
			if units[i] > offerings.FewUnits {
				p.pricings[i] = pricing.New(p.Dims, pool, pool.Open, requests[i])
			}
		}
	}
	return p.pricings[pool]
}

// anywhere returns the first pool that can hold a unit of the pod group, and its options there in every domain.
func (p *Planner) anywhere(c *group.PodGroup) (pool int, options []*offerings.Option) {
	for _, division := range p.divided(c) {
		for _, s := range division.Pools {
			list := p.Pools()[s.Pool].Options(s.Variants, c.Request, c.Most())
			if len(list) > 0 && (len(options) == 0 || s.Pool == pool) {
				pool, options = s.Pool, append(options, list...)
				break
			}
		}
	}
	return pool, options
}

// divide lists the domains the pod group's pools can make nodes in.
func (p *Planner) divide(c *group.PodGroup) []Cell {
	pools := p.CandidatePools(c)
	if len(c.Keys) == 0 {
		return []Cell{{Pools: pools}}
	}
	index := make(map[string]int)
	var out []Cell
	for _, s := range pools {
		pool := p.Pools()[s.Pool]
		for _, g := range s.Variants {
			for _, values := range pool.Combinations(g, c.Keys) {
				name := ""
				pins := make(requirement.Requirements)
				for k, value := range values {
					name += strconv.Quote(value)
					if value != "" {
						pins = pins.With(c.Keys[k], requirement.Values(value))
					}
				}
				pinned := pool.Pin([]offerings.Variant{g}, pins)
				if len(pinned) == 0 {
					continue
				}
				i, known := index[name]
				if !known {
					if len(out) >= offerings.MaxCells {
						continue
					}
					i = len(out)
					index[name] = i
					out = append(out, Cell{Values: values})
				}
				if n := len(out[i].Pools); n > 0 && out[i].Pools[n-1].Pool == s.Pool {
					out[i].Pools[n-1].Variants = append(out[i].Pools[n-1].Variants, pinned...)
				} else {
					out[i].Pools = append(out[i].Pools, CandidatePool{s.Pool, pinned})
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Cell) int { return slices.Compare(a.Values, b.Values) })
	return out
}

// CandidatePools returns the pools that can make a node for the pod group, in the order they are asked: first those
// without a taint it would rather avoid.
func (p *Planner) CandidatePools(c *group.PodGroup) []CandidatePool {
	if known, ok := p.poolsOf[c.Venue]; ok {
		return known
	}
	var first, second []CandidatePool
	for i, pool := range p.Pools() {
		if pool.Skip != nil {
			continue
		}
		hard, soft := c.Untolerated(pool.Source.Template.Taints)
		if hard != nil {
			continue
		}
		variants := p.besideDaemons(pool, c, pool.Without(pool.Variants(c.Terms, c.Ports), c.Conflicts))
		switch {
		case len(variants) == 0:
		case soft:
			second = append(second, CandidatePool{i, variants})
		default:
			first = append(first, CandidatePool{i, variants})
		}
	}
	out := append(first, second...)
	p.poolsOf[c.Venue] = out
	return out
}

// besideDaemons leaves out the types whose devices do not suffice for the pod group beside what DaemonSets take.
func (p *Planner) besideDaemons(pool *offerings.Pool, c *group.PodGroup,
	variants []offerings.Variant) []offerings.Variant {
	if len(c.Devices) == 0 || pool.Claimants == nil {
		return variants
	}
	short := make([]bool, len(pool.Claimants))
	for t, sets := range pool.Claimants {
		short[t] = len(sets) > 0 && DevicesOf(p.Devices, pool, t).TakeAll(c.Devices) == nil
	}
	return pool.WithoutTypes(variants, short)
}

// Prepare narrows the pod groups that are to be placed, and notes which of them are spread by which topology group.
func (p *Planner) Prepare(podGroups []*group.PodGroup) {
	p.Owners = make(map[int][]*group.PodGroup)
	for _, c := range podGroups {
		p.narrow(c)
		for _, u := range c.Constraints {
			if u.Kind == group.Spread && !u.ByHost {
				p.Owners[u.TopologyGroup] = append(p.Owners[u.TopologyGroup], c)
			}
		}
	}
}

// narrow adds to what new nodes for the pod group must be as many of its preferences as some pool can meet, heaviest
// first.
func (p *Planner) narrow(c *group.PodGroup) {
	for i, term := range c.Preferred {
		terms := terms.Cross(c.Terms, []requirement.Requirements{term})
		if len(terms) == 0 {
			continue
		}
		trial := *c
		trial.Terms, trial.Venue = terms, c.Venue+"\x00preferred"+strconv.Itoa(i)
		for _, s := range p.CandidatePools(&trial) {
			if len(p.Pools()[s.Pool].Options(s.Variants, c.Request, 0)) > 0 {
				if c.Wider == "" {
					c.Wider = c.Venue
				}
				c.Terms, c.Venue = terms, trial.Venue
				break
			}
		}
	}
}

// CountsNew reports whether the topology group looks at the new nodes of a cell's stands, the first of which is asked
// first.
func (p *Planner) CountsNew(t *group.TopologyGroup, pools []CandidatePool) bool {
	return t.Filter < 0 || len(pools) == 0 || p.rules.Filters[t.Filter].PassesPool(p.Pools()[pools[0].Pool])
}
