package pack

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/placing"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// Plan says which pods fit what exists or is on its way, which claims to make for the others, and why nothing can hold
// the rest. Every pending pod is in exactly one of the three lists.
//
// Pods that cannot be distinguished are planned together. Existing capacity is used first. A pod that needs a new node
// gets one of the first pool, by weight and then name, that can make one; on that pool the plan with the lowest price
// wins.
//
// Preferences for nodes are kept where some pool can meet them. Preferences between pods are kept where the whole plan
// costs at most preferencePremium more for it. Where pods only go to nodes that exist kube-scheduler weighs them, but
// for pods that are moved voluntarily: those go where they are kept if there is such a place.
func Plan(in Input) model.Plan {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	in.Snapshot = group.WithClaims(in.Snapshot)
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
		if len(other.Unschedulable) <= len(best.Unschedulable) && withinPercent(other.Price, best.Price, preferencePremium) {
			return other
		}
	}
	return best
}

// withinPercent reports whether a price is at most so many percent more than another. It rounds both, so that nothing
// overflows.
func withinPercent(price, other, percent model.MicroUSD) bool {
	return price/100 <= other/10000*(100+percent)
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
	if first.existing.Total > 0 && first.rules.Spreads() {
		first.nominate()
		first.makeSpace()
		if first.left() == 0 && first.holds() {
			return first
		}
		// What was placed wholly is placed now and need not care for nodes to come; what was not counts their domains
		// too.
		if wide := first.unplaced(); len(wide) > 0 {
			second := arranged(newSolver(q, preferences), preferences, arrangement{wide: func(c *group.PodGroup) bool { return wide[c.Order] }})
			if second.holds() {
				return second
			}
		}
		first = newSolver(q, preferences)
	}
	if first = arranged(first, preferences, arrangement{}); first.holds() {
		return first
	}
	last := arranged(newSolver(q, preferences), preferences, arrangement{strict: true})
	last.mend()
	return last
}

// arranged returns the fresh solver arranged, or another in its place where what exists turned out not to be enough and
// some pod groups have nothing else: they go first then.
func arranged(b *solver, preferences group.Preferences, how arrangement) *solver {
	how.boundFirst = len(b.pending) > tryMost
	if b.arrange(how) {
		return b
	}
	again := newSolver(b.question, preferences)
	how.boundFirst = true
	again.arrange(how)
	return again
}

// arrangement is how pods are given their places.
type arrangement struct {
	wide       func(*group.PodGroup) bool // which pod groups count domains without nodes; nil = all
	strict     bool                       // every pod keeps the balance others ask for
	boundFirst bool                       // pod groups go first that only what exists can hold
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
	a := placing.Assigner{Planner: b.planner, Existing: b.existing, Rules: b.rules}
	for _, c := range b.bundled(group.InOrder(b.podGroups), &a) {
		a.Place(c)
	}
}

// arrange gives every pod a place on what exists or on new nodes. Where pod groups that only what exists can hold do
// not go first, the pools are not looked at before they are needed, and ordered is false where it turns out that some
// should have gone first.
func (b *solver) arrange(how arrangement) (ordered bool) {
	b.keepPromises()
	a := placing.Assigner{Planner: b.planner, Existing: b.existing, Rules: b.rules, MayOpen: true, Strict: how.strict}
	if how.wide != nil {
		a.Wide = make(map[*group.PodGroup]bool)
		for _, c := range b.podGroups {
			a.Wide[c] = how.wide(c)
		}
	}
	b.planner.Prepare(b.podGroups)
	order := group.InOrder(b.podGroups)
	if how.wide != nil { // what needs nothing new goes first
		slices.SortStableFunc(order, func(x, y *group.PodGroup) int {
			return cmp.Or(cmp.Compare(y.Priority, x.Priority), vector.CompareBools(a.Wide[x], a.Wide[y]))
		})
	}
	order = b.bundled(order, &a)
	if how.boundFirst {
		order = b.boundFirst(order)
	}
	b.planner.Expect(order)
	podBatches, ordered := b.placeInOrder(&a, order, how.boundFirst)
	if !ordered {
		return false
	}
	if how.wide == nil && !how.strict {
		b.makeSpaceFor(podBatches)
	}
	b.pack(podBatches)
	for range maxRounds { // what found no node looks elsewhere
		var again []*newnodes.PodBatch
		for _, c := range order {
			if c.Units() > 0 && (c.Widen() || len(c.Shut) > 0) {
				again = append(again, a.Place(c)...)
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

// placeInOrder places one pod group after the other, as long as any finds a place, and returns what needs new nodes.
// Unless those go first that only what exists can hold, ordered is false once what exists is not enough and they are
// not first in the order.
func (b *solver) placeInOrder(a *placing.Assigner, order []*group.PodGroup, boundFirst bool) (podBatches []*newnodes.PodBatch, ordered bool) {
	for progress := true; progress; {
		progress = false
		for _, c := range order {
			before := c.Units()
			if before == 0 {
				continue
			}
			podBatches = append(podBatches, a.Place(c)...)
			progress = progress || c.Units() < before && len(c.Constraints) > 0
			if !boundFirst && len(podBatches)+c.Units() > 0 { // what exists is not enough for all
				if boundFirst = true; !slices.Equal(order, b.boundFirst(order)) {
					return nil, false
				}
			}
		}
	}
	return podBatches, true
}

// boundFirst returns the order with pod groups moved that no new node could hold before others of their priority and
// rank: what exists is all they have.
func (b *solver) boundFirst(order []*group.PodGroup) []*group.PodGroup {
	if b.existing.Total == 0 {
		return order
	}
	bound := make(map[*group.PodGroup]bool)
	for _, c := range order {
		bound[c] = !slices.ContainsFunc(b.planner.CandidatePools(c), func(s newnodes.CandidatePool) bool {
			return len(b.planner.Pools()[s.Pool].Options(s.Variants, c.Request, 0)) > 0
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

// pack packs the pod batches. What found no node goes back to its pod group, to which the domain is shut then: limits
// of pools leave nothing for it there.
func (b *solver) pack(podBatches []*newnodes.PodBatch) {
	b.planner.Pack(podBatches)
	for _, podBatch := range podBatches {
		if len(podBatch.Pods) == 0 {
			continue
		}
		podBatch.PodGroup.Pods = append(podBatch.PodGroup.Pods, podBatch.Pods...)
		if len(podBatch.Values) > 0 {
			podBatch.PodGroup.Shut = append(podBatch.PodGroup.Shut, podBatch.Values)
		}
		b.forgetUnits(podBatch, int32(len(podBatch.Pods)/podBatch.PodGroup.Stride))
	}
}

// write makes the plan of what came of it.
func (b *solver) write() model.Plan {
	claims, price := b.planner.Claims()
	return model.Plan{
		Claims:        claims,
		Nominations:   nominations(b.in.Snapshot, b.existing.List),
		Unschedulable: b.unschedulable(),
		Price:         price,
		Later:         len(b.in.Later),
	}
}
