package pack

import (
	"cmp"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/pricing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Plan says which pods fit what exists or is on its way, which claims to make for the others, and why nothing can hold
// the rest. Every pending pod is in exactly one of the three lists.
//
// Pods that cannot be distinguished are planned together. Existing capacity is used first. A pod that needs a new node gets
// one of the first pool, by weight and then name, that can make one; on that pool the plan with the lowest price wins.
//
// Preferences for nodes are kept where some pool can meet them. Preferences between pods are kept where the whole plan
// costs at most preferencePremium more for it. Where pods only go to nodes that exist kube-scheduler weighs them, but for pods that are moved by
// choice: those go where they are kept if there is such a place.
func Plan(in input.Input) model.Plan {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	return question{in: &in}.answer()
}

// answer is Plan.
func (q question) answer() model.Plan {
	best, has := q.plan(group.NoPreferences)
	if q.in.IgnorePreferences || len(best.Claims)+len(best.Unschedulable)+len(q.in.Settled) == 0 {
		return best
	}
	for _, preferences := range has {
		other, _ := q.plan(preferences)
		if len(other.Unschedulable) <= len(best.Unschedulable) && other.Price/100 <= best.Price/10000*(100+preferencePremium) {
			return other
		}
	}
	return best
}

// preferencePremium is how much more, in percent, a plan may cost that keeps preferences between pods.
const preferencePremium = 5

// plan makes a plan that keeps the preferences, and says which more of them there are, most first.
func (q question) plan(preferences group.Preferences) (model.Plan, []group.Preferences) {
	b := solve(q, preferences)
	return b.write(), b.morePreferences()
}

func solve(q question, preferences group.Preferences) *solver {
	b := placeAll(q, preferences)
	b.retry()
	if b.reuse() {
		b.retry() // there is more left of limits now
	}
	return b
}

// placeAll places what it can so that every rule holds in the end.
func placeAll(q question, preferences group.Preferences) *solver {
	// What exists may be enough. kube-scheduler counts the domains of nodes that are there, so that is what counts now.
	first := newSolver(q, preferences)
	if first.existing.Total > 0 && first.spreads() {
		first.nominate()
		first.makeSpace()
		if first.left() == 0 && !first.verify(false) {
			return first
		}
		// What was placed wholly is placed now and need not care for nodes to come; what was not counts their domains too.
		if wide := first.unplaced(); len(wide) > 0 {
			second := arranged(newSolver(q, preferences), preferences, func(c *group.PodGroup) bool { return wide[c.Order] }, false)
			if !second.verify(false) {
				return second
			}
		}
		first = newSolver(q, preferences)
	}
	if first = arranged(first, preferences, nil, false); !first.verify(false) {
		return first
	}
	last := arranged(newSolver(q, preferences), preferences, nil, true)
	last.verify(true)
	return last
}

// arranged returns the fresh solver arranged, or another in its place where what exists turned out not to be enough and some
// pod groups have nothing else: they go first then.
func arranged(b *solver, preferences group.Preferences, wide func(*group.PodGroup) bool, strict bool) *solver {
	if b.arrange(wide, strict, len(b.pending) > tryMost) {
		return b
	}
	again := newSolver(b.question, preferences)
	again.arrange(wide, strict, true)
	return again
}

// tryMost is for how many pods it is tried whether what exists is enough before anybody looks at the pools.
const tryMost = 500

// morePreferences returns the ways in which preferences between pods can be kept that are worth trying, most first.
func (b *solver) morePreferences() []group.Preferences {
	domains, hosts := false, false
	for _, index := range b.classifier.Met {
		shape := &b.in.Snapshot.Shapes[index]
		for _, s := range shape.Spread {
			if s.Anyway {
				hosts, domains = hosts || s.TopologyKey == model.LabelHostname, domains || s.TopologyKey != model.LabelHostname
			}
		}
		for _, list := range [][]model.WeightedPodTerm{shape.PreferredPodAffinity, shape.PreferredPodAntiAffinity} {
			for _, t := range list {
				hosts, domains = hosts || t.Term.TopologyKey == model.LabelHostname, domains || t.Term.TopologyKey != model.LabelHostname
			}
		}
	}
	switch {
	case hosts && domains:
		return []group.Preferences{group.AllPreferences, group.DomainPreferences}
	case hosts:
		return []group.Preferences{group.AllPreferences}
	case domains:
		return []group.Preferences{group.DomainPreferences}
	}
	return nil
}

// nominate places pods on what exists or is on its way, and asks for nothing new.
func (b *solver) nominate() {
	b.keepPromises()
	a := assigner{planner: b.planner, existing: b.existing, rules: b.rules}
	for _, c := range b.bundled(group.InOrder(b.podGroups), &a) {
		a.place(c)
	}
}

// arrange gives every pod a place on what exists or on new nodes. wide says which pod groups count domains without nodes;
// nil = all. strict has every pod keep the balance others ask for. boundFirst has pod groups go first that only what exists can
// hold; without it the pools are not looked at before they are needed, and false says that this order was the wrong one.
func (b *solver) arrange(wide func(*group.PodGroup) bool, strict, boundFirst bool) bool {
	b.keepPromises()
	a := assigner{planner: b.planner, existing: b.existing, rules: b.rules, mayOpen: true, strict: strict}
	if wide != nil {
		a.wide = make(map[*group.PodGroup]bool)
		for _, c := range b.podGroups {
			a.wide[c] = wide(c)
		}
	}
	b.planner.owners = make(map[int][]*group.PodGroup)
	for _, c := range b.podGroups {
		b.planner.narrow(c)
		for _, u := range c.Constraints {
			if u.Kind == group.Spread && !u.ByHost {
				b.planner.owners[u.TopologyGroup] = append(b.planner.owners[u.TopologyGroup], c)
			}
		}
	}
	order := group.InOrder(b.podGroups)
	var podBatches []*podBatch
	if wide != nil { // what needs nothing new goes first
		slices.SortStableFunc(order, func(x, y *group.PodGroup) int {
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), vector.CompareBools(a.wide[x], a.wide[y]))
		})
	}
	order = b.bundled(order, &a)
	if boundFirst {
		order = b.boundFirst(order)
	}
	b.planner.expect(order)
	for progress := true; progress; {
		progress = false
		for _, c := range order {
			if before := c.Units(); before > 0 {
				podBatches = append(podBatches, a.place(c)...)
				progress = progress || c.Units() < before && len(c.Constraints) > 0
				if !boundFirst && len(podBatches)+c.Units() > 0 { // what exists is not enough for all
					if boundFirst = true; !slices.Equal(order, b.boundFirst(order)) {
						return false
					}
				}
			}
		}
	}
	if wide == nil && !strict {
		b.makeSpaceFor(podBatches)
	}
	b.pack(podBatches)
	for range maxRounds { // what found no node looks elsewhere
		var again []*podBatch
		for _, c := range order {
			if c.Units() > 0 && (c.Widen() || len(c.Shut) > 0) {
				again = append(again, a.place(c)...)
			}
		}
		if len(again) == 0 {
			break
		}
		b.pack(again)
	}
	for _, c := range order {
		c.Shut = nil
	}
	return true
}

// boundFirst returns the order with pod groups moved that no new node could hold before others of their priority and rank: what exists is all
// they have.
func (b *solver) boundFirst(order []*group.PodGroup) []*group.PodGroup {
	if b.existing.Total == 0 {
		return order
	}
	bound := make(map[*group.PodGroup]bool)
	for _, c := range order {
		bound[c] = !slices.ContainsFunc(b.planner.candidatePools(c), func(s candidatePool) bool {
			return len(b.planner.pools()[s.pool].Options(s.variants, c.Request, 0)) > 0
		})
	}
	order = slices.Clone(order)
	slices.SortStableFunc(order, func(x, y *group.PodGroup) int {
		return cmp.Or(cmp.Compare(y.Priority, x.Priority), cmp.Compare(x.Rank(), y.Rank()), vector.CompareBools(bound[y], bound[x]))
	})
	return order
}

// maxRounds is how often pods for which the limits of pools leave nothing in one domain look for another.
const maxRounds = 32

// pack packs the pod batches. What found no node goes back to its pod group, to which the domain is shut then: limits of pools
// leave nothing for it there.
func (b *solver) pack(podBatches []*podBatch) {
	b.planner.pack(podBatches)
	for _, podBatch := range podBatches {
		if len(podBatch.pods) == 0 {
			continue
		}
		podBatch.podGroup.Pods = append(podBatch.podGroup.Pods, podBatch.pods...)
		if len(podBatch.values) > 0 {
			podBatch.podGroup.Shut = append(podBatch.podGroup.Shut, podBatch.values)
		}
		b.forget(podBatch)
	}
}

// forget takes pods that found no node out of the topology groups.
func (b *solver) forget(podBatch *podBatch) {
	b.forgetUnits(podBatch, int32(len(podBatch.pods)/podBatch.podGroup.Stride))
}

func (b *solver) forgetUnits(podBatch *podBatch, units int32) {
	if units == 0 {
		return
	}
	for _, a := range podBatch.podGroup.Contributions {
		t := &b.rules.TopologyGroups[a.TopologyGroup]
		if t.Host {
			t.Total -= units * a.Weight
		} else if value := podBatch.values[slices.Index(podBatch.podGroup.Keys, t.Key)]; value != "" && b.planner.countsNew(t, podBatch.pools) {
			t.Count[value] -= units * a.Weight
			t.Total -= units * a.Weight
		}
	}
}

// write makes the plan of what came of it.
func (b *solver) write() model.Plan {
	claims, price := b.planner.claims()
	return model.Plan{
		Claims:        claims,
		Nominations:   nominations(b.in.Snapshot, b.existing.List),
		Unschedulable: b.unschedulable(),
		Price:         price,
		Later:         len(b.in.Later),
	}
}

// labelKeys returns the keys of labels that any pod group, or any rule between pods, asks about, sorted.
func labelKeys(podGroups []*group.PodGroup, rules *group.PodRules) []string {
	seen := make(map[string]bool)
	for _, c := range podGroups {
		for _, list := range [][]requirement.Requirements{c.Own, c.There} {
			for _, term := range list {
				for key := range term { // sorted below
					seen[key] = true
				}
			}
		}
		for _, key := range c.Keys {
			seen[key] = true
		}
	}
	for i := range rules.Filters {
		for _, key := range rules.Filters[i].Keys {
			seen[key] = true
		}
		for _, term := range rules.Filters[i].Terms {
			for key := range term { // sorted below
				seen[key] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// planner places pod batches on new nodes.
type planner struct {
	in        *input.Input
	tries     int // as of a question
	dims      vector.Dimensions
	rules     *group.PodRules
	markets   *offerings.Markets
	daemons   []offerings.Daemon
	pristine  []*offerings.Pool         // pools that are copied where they are looked at; nil = they are made
	rates     map[string]*pricing.Rates // by pool, of everything that is to be placed sooner or later; nil = not known
	ready     []*offerings.Pool         // pools, once any is looked at; nil before
	reserved  map[string]int64          // instances left of each reservation, from then on
	poolsOf   map[string][]candidatePool
	divisions map[string][]domainCell
	surveyor  *planner                  // looks at the pools where this one does not; nil until asked for
	offerings map[string][]string       // by venue, request and label: the domains new nodes for a pod group can be in now
	pricings  []*pricing.Rates          // by pool, of what waits wherever it may be; nil until asked for
	expected  []waiting                 // what it is of
	owners    map[int][]*group.PodGroup // by topology group: pod groups that are spread by it, hosts aside
	runs      []*packing                // the chosen ones, in the order they were packed
}

func newPlanner(in *input.Input, dims vector.Dimensions, rules *group.PodRules, markets *offerings.Markets, daemons []offerings.Daemon) *planner {
	return &planner{in: in, dims: dims, rules: rules, markets: markets, daemons: daemons,
		poolsOf: make(map[string][]candidatePool), divisions: make(map[string][]domainCell)}
}

// waiting is units of a pod group before any is placed.
type waiting struct {
	podGroup *group.PodGroup
	units    int
}

// expect notes what there is to place, which rates are found for when they are asked for.
func (p *planner) expect(podGroups []*group.PodGroup) {
	p.pricings, p.expected = nil, make([]waiting, len(podGroups))
	for i, c := range podGroups {
		p.expected[i] = waiting{c, c.Units()}
	}
}

// pools returns the pools, in the order they are asked. Where what exists is enough, none is ever looked at.
func (p *planner) pools() []*offerings.Pool {
	switch {
	case p.ready != nil:
	case p.tries < 0:
		p.ready = []*offerings.Pool{}
	case p.pristine != nil:
		p.ready, p.reserved = offerings.Copies(p.pristine, p.in.Usage), p.markets.Reservations(p.in.Taken)
	default:
		p.ready, p.reserved = offerings.NewPools(p.in, p.dims, p.markets, p.daemons), p.markets.Reservations(p.in.Taken)
	}
	return p.ready
}

// pack packs the pod batches pool by pool. What a pool's limits leave over goes on to the next pool that can hold it.
func (p *planner) pack(podBatches []*podBatch) {
	for asking := len(podBatches) > 0; asking; {
		asking = false
		for i, pool := range p.pools() {
			var here []remainingBatch
			for _, podBatch := range podBatches {
				options, mine := p.requests(podBatch, i)
				if !mine {
					continue
				}
				asking = true
				if len(options) > 0 {
					here = append(here, newRemainingBatch(podBatch, options))
				}
			}
			if len(here) > 0 {
				p.packOn(pool, here)
			}
		}
	}
}

// requests reports whether the pod batch asks the pool next, and with which options. It goes on to its next pool after that.
func (p *planner) requests(podBatch *podBatch, pool int) ([]*offerings.Option, bool) {
	for len(podBatch.pods) > 0 && podBatch.next < len(podBatch.pools) {
		s := &podBatch.pools[podBatch.next]
		options := p.pools()[s.pool].Options(s.variants, podBatch.podGroup.Request, podBatch.podGroup.Most())
		if len(options) > 0 && s.pool != pool {
			return nil, false
		}
		podBatch.next++
		if len(options) > 0 {
			return options, true
		}
	}
	return nil, false
}

// packOn packs batches onto new nodes of the pool, by every strategy, and keeps the result that places most pods, then the
// cheapest, then the first.
func (p *planner) packOn(pool *offerings.Pool, batches []remainingBatch) {
	var best *packing
	ways, again := strategies(batches, len(pool.Limited) > 0), reprices(len(batches))
	if tries := p.tries; tries > 0 {
		ways = ways[:min(len(ways), max(1, tries/2))]
		again = min(again, tries-len(ways))
	}
	for _, s := range ways {
		r := newPacking(p, pool, batches, s.order)
		if s.priced {
			r.input.priced = true
			r.price()
		}
		r.pack()
		if best == nil || cmp.Or(r.compareUnplaced(best), cmp.Compare(r.total(), best.total())) < 0 {
			best = r
		}
	}
	last := best
	for range again {
		charged := last.repriced()
		last = newPacking(p, pool, charged, strategies(charged, len(pool.Limited) > 0)[0].order)
		last.pack()
		if cmp.Or(last.compareUnplaced(best), cmp.Compare(last.total(), best.total())) < 0 {
			best = last
		}
	}
	best = best.withWhole()
	best.assign()
	pool.Left, p.reserved = best.left, best.reserved
	p.runs = append(p.runs, best)
}

// someBatches is up to how many batches are packed in every order, manyBatches up to how many in more than one.
const (
	someBatches = 400
	manyBatches = 2000
)

// strategy is the order in which nodes are opened for batches, and whether batches are worth what the rates of all of them say or
// what they would cost alone.
type strategy struct {
	order  []int
	priced bool
}

// strategies returns the ways in which nodes are opened: for batches first that will not share a node with their like, since
// each of their units opens one whatever else there is, then for the most expensive; for those first that have the fewest offerings,
// so that flexible pods fill up what picky ones need anyway; and for the most expensive by what they would cost alone. Where
// limits may not let every pod in, what matters more goes first in all of them.
func strategies(batches []remainingBatch, limited bool) []strategy {
	given := make([]int, len(batches))
	for i := range given {
		given[i] = i
	}
	choices, value := make([]int, len(batches)), make([]int64, len(batches))
	for i := range batches {
		for _, o := range batches[i].options {
			choices[i] += len(o.Offerings)
			value[i] = max(value[i], o.Value)
		}
	}
	sorted := func(compare func(a, b int) int) []int {
		out := slices.Clone(given)
		slices.SortStableFunc(out, func(a, b int) int {
			if limited {
				return cmp.Or(cmp.Compare(batches[b].podGroup.Priority, batches[a].podGroup.Priority), compare(a, b))
			}
			return compare(a, b)
		})
		return out
	}
	compareValue := func(a, b int) int { return cmp.Compare(value[b], value[a]) }
	exclusive := sorted(func(a, b int) int {
		return cmp.Or(vector.CompareBools(batches[b].podGroup.Exclusive(), batches[a].podGroup.Exclusive()), compareValue(a, b))
	})
	if len(batches) > manyBatches {
		return []strategy{{exclusive, true}}
	}
	picky := sorted(func(a, b int) int { return cmp.Or(cmp.Compare(choices[a], choices[b]), compareValue(a, b)) })
	return []strategy{{exclusive, true}, {picky, true}, {sorted(compareValue), false}}
}
