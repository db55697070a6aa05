package pack

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// outcome is the cluster as the plan leaves it: every topology group counted anew, from what was there and what is
// placed.
type outcome struct {
	solver     *solver
	podGroupOf []*group.PodGroup  // by pod
	count      []map[string]int32 // by topology group and domain
	hosts      []map[int]int32    // by host topology group and place: existing nodes, then nodes
	free       []map[string]int32 // by topology group and domain (hosts by number): pods that are there whatever the others do
	nodes      []map[string]int32 // by topology group: domains that count
	maybe      []map[string]int32 // by topology group and domain: pods that may be there or elsewhere
	lows       []int32            // by topology group: the count of the emptiest domain; −1 = not known
	vacant     []bool             // by host topology group: a planned node without any of the pods may count
	total      []int32
	splits     map[kindOfNode][]part
	started    map[start]bool           // of pods that wait for others
	daemons    []*group.PodGroup        // of those that any topology group counts: what they add
	runs       map[string]vector.Bitset // by pool and daemon: the types it runs on
	spots      []spot
	memo       map[seen]existing.Verdict
}

// spot is where some pods were placed.
type spot struct {
	existing *existing.Node
	node     *newnodes.Node
	run      *newnodes.Packing
	pool     *offerings.Pool
	taints   []model.Taint
}

// seen names the nodes of a kind for a filter.
type seen struct {
	pool         *offerings.Pool
	column, flag int
	filter       int
}

// holds looks at the plan as kube-scheduler will, once every planned node is there, and reports whether all pods' rules
// between pods hold.
func (b *solver) holds() bool {
	if b.rules.Empty() {
		return true
	}
	o := b.outcome()
	for i := range o.spots {
		if slices.ContainsFunc(o.pods(i), func(pod int) bool { return o.brokenBy(i, pod) != nil }) {
			return false
		}
	}
	return true
}

// mend takes pods whose rules do not hold off their nodes: a rule that cannot be kept is never broken.
func (b *solver) mend() {
	for again := !b.rules.Empty(); again; { // what was taken off may have been what others need
		again = false
		o := b.outcome()
		for i := range o.spots {
			again = o.mendSpot(i) || again
		}
	}
}

func (b *solver) outcome() *outcome {
	o := b.vacated()
	for i := range o.spots {
		for _, pod := range o.pods(i) {
			o.note(i, pod, 1)
		}
	}
	o.startWaiting()
	return o
}

// vacated returns the cluster with the planned nodes and their daemons, and none of the planned pods.
func (b *solver) vacated() *outcome {
	o := &outcome{solver: b, podGroupOf: b.podGroupOf, memo: make(map[seen]existing.Verdict), splits: make(map[kindOfNode][]part),
		vacant: make([]bool, len(b.rules.TopologyGroups)), lows: slices.Repeat([]int32{-1}, len(b.rules.TopologyGroups))}
	for i := range b.rules.TopologyGroups {
		t := &b.rules.TopologyGroups[i]
		o.count, o.hosts = append(o.count, maps.Clone(t.Before)), append(o.hosts, maps.Clone(t.BeforeByNode))
		free := maps.Clone(t.Before)
		for n, count := range t.BeforeByNode { // each existing node on its own: the order does not matter
			free[strconv.Itoa(n)] = count
		}
		o.free = append(o.free, free)
		o.maybe = append(o.maybe, maps.Clone(t.BeforeMaybe))
		o.nodes, o.total = append(o.nodes, maps.Clone(t.Nodes)), append(o.total, t.BeforeTotal)
	}
	b.existing.All()
	for _, s := range b.existing.List {
		o.spots = append(o.spots, spot{existing: s, taints: s.Taints})
	}
	for _, r := range b.planner.Runs {
		for i := range r.Nodes {
			if len(r.Nodes[i].Pods) > 0 { // else its pods were taken off again, and nobody asks for it
				o.spots = append(o.spots, spot{node: &r.Nodes[i], run: r, pool: r.Pool, taints: r.Pool.Source.Template.Taints})
			}
		}
	}
	o.daemons, o.runs = b.daemons, make(map[string]vector.Bitset)
	o.announce()
	for i := range o.spots {
		if o.spots[i].node != nil {
			o.settle(i)
			o.noteDaemons(i)
		}
	}
	return o
}

func (o *outcome) pods(i int) []int {
	if s := o.spots[i].existing; s != nil {
		return s.Pods
	}
	return o.spots[i].node.Pods
}

// announce makes the domains of planned nodes count. Nodes of one kind are in the same.
func (o *outcome) announce() {
	type alike struct {
		pool         *offerings.Pool
		column, flag int
	}
	count, first := make(map[alike]int32), []int(nil)
	of := func(i int) alike { s := &o.spots[i]; return alike{s.pool, s.node.Column, s.node.Flag} }
	for i := range o.spots {
		if o.spots[i].node == nil {
			continue
		}
		if count[of(i)]++; count[of(i)] == 1 {
			first = append(first, i)
		}
	}
	for t := range o.solver.rules.TopologyGroups {
		if topologyGroup := &o.solver.rules.TopologyGroups[t]; topologyGroup.Filter >= 0 {
			for _, i := range first {
				if value, counts := o.domain(t, i); counts {
					o.nodes[t][value] += count[of(i)]
				}
			}
		}
	}
}

// domain returns the value of the topology group's label at the spot, and whether the spot counts.
func (o *outcome) domain(t, i int) (string, bool) {
	topologyGroup, s := &o.solver.rules.TopologyGroups[t], &o.spots[i]
	if s.existing != nil {
		return o.solver.existing.Counter().Domain(topologyGroup, s.existing)
	}
	if topologyGroup.Filter >= 0 {
		key := seen{s.pool, s.node.Column, s.node.Flag, topologyGroup.Filter}
		if o.memo[key] == 0 {
			o.memo[key] = existing.Refused
			if o.solver.rules.Filters[topologyGroup.Filter].Passes(o.labelsOf(s), s.taints) {
				o.memo[key] = existing.Welcome
			}
		}
		if o.memo[key] == existing.Refused {
			return "", false
		}
	}
	if topologyGroup.Host {
		return offerings.NewHostname, true
	}
	value := o.solver.planner.LabelOf(s.pool, s.node, topologyGroup.Key)
	return value, value != ""
}

// labelsOf returns the labels of a planned node, should it be bought as its cheapest offering.
func (o *outcome) labelsOf(s *spot) func(key string) (value string, has bool) {
	return func(key string) (string, bool) {
		if key == model.LabelHostname {
			return offerings.NewHostname, true
		}
		value := o.solver.planner.LabelOf(s.pool, s.node, key)
		return value, value != ""
	}
}

// note counts a pod at a spot; times is −1 to take it off.
func (o *outcome) note(i, pod int, times int32) {
	o.noteAdds(i, o.podGroupOf[pod], times)
}

func (o *outcome) noteAdds(i int, c *group.PodGroup, times int32) {
	for _, a := range c.Contributions {
		value, counts := o.domain(a.TopologyGroup, i)
		o.lows[a.TopologyGroup] = -1
		if !counts {
			o.noteMaybe(i, a, times)
			continue
		}
		if !c.Waits() || o.started[start{i, c}] {
			o.free[a.TopologyGroup][placeName(value, a.ByHost, i)] += times * a.Weight
		}
		o.total[a.TopologyGroup] += times * a.Weight
		if a.ByHost {
			o.hosts[a.TopologyGroup][i] += times * a.Weight
		} else {
			o.count[a.TopologyGroup][value] += times * a.Weight
		}
	}
}

// start names the pods of a pod group at one spot.
type start struct {
	spot     int
	podGroup *group.PodGroup
}

// startWaiting lets pods that wait for others start where those are, until no more do: two that wait for each other
// never start, however well each would be placed once the other runs.
func (o *outcome) startWaiting() {
	pods := make(map[start]int32)
	var waiting []start
	for i := range o.spots {
		for _, pod := range o.pods(i) {
			if c := o.podGroupOf[pod]; c.Waits() {
				if pods[start{i, c}]++; pods[start{i, c}] == 1 {
					waiting = append(waiting, start{i, c})
				}
			}
		}
	}
	o.started = make(map[start]bool, len(waiting))
	for before := -1; len(waiting) != before; {
		before = len(waiting)
		waiting = slices.DeleteFunc(waiting, func(s start) bool {
			if o.lonely(s.spot, s.podGroup) != nil {
				return false
			}
			o.started[s] = true
			for _, a := range s.podGroup.Contributions {
				if value, counts := o.domain(a.TopologyGroup, s.spot); counts {
					o.free[a.TopologyGroup][placeName(value, a.ByHost, s.spot)] += pods[s] * a.Weight
				}
			}
			return true
		})
	}
}

// lonely returns a rule of the pod group by which a pod at the spot finds nobody it looks for; nil where there is none,
// or the pod may be the first: where only pods that wait are, one of them has to start. kube-scheduler lets it only
// while no pod that it looks for is in any domain of any of its rules, which is sure where all there will be are in its
// own domains.
func (o *outcome) lonely(i int, c *group.PodGroup) *group.Constraint {
	var out *group.Constraint
	first, among := true, int32(-1)
	for n := range c.Constraints {
		u := &c.Constraints[n]
		if u.Kind != group.Affinity || u.Claim {
			continue
		}
		value, counts := o.domain(u.TopologyGroup, i)
		if !counts {
			return u
		}
		count := o.count[u.TopologyGroup][value]
		if u.ByHost {
			count = o.hosts[u.TopologyGroup][i]
		}
		if out == nil && o.free[u.TopologyGroup][placeName(value, u.ByHost, i)] <= 0 {
			out = u
		}
		first = first && u.Self > 0 && o.total[u.TopologyGroup] <= count && (among < 0 || among == count)
		among = count
	}
	if first {
		return nil
	}
	return out
}

// noteDaemons counts the daemons of a planned node.
func (o *outcome) noteDaemons(i int) {
	s := &o.spots[i]
	for _, c := range o.daemons {
		if o.runsOn(s.pool, c).Has(s.node.Column) {
			o.noteAdds(i, c, 1)
		}
	}
}

// runsOn returns the offerings of the pool on which the daemon runs.
func (o *outcome) runsOn(pool *offerings.Pool, c *group.PodGroup) vector.Bitset {
	key := pool.Source.Name + "\x00" + strconv.Itoa(c.Order)
	runs, known := o.runs[key]
	if !known {
		runs = vector.NewBitset(len(pool.Market.Columns))
		for _, d := range pool.Tolerated {
			if d.Set == c.Order {
				runs = pool.RunsBy(d)
			}
		}
		o.runs[key] = runs
	}
	return runs
}

// noteMaybe counts a pod on a claim on its way wherever that may come up.
func (o *outcome) noteMaybe(i int, a group.Contribution, times int32) {
	if s := o.spots[i].existing; s != nil && !a.ByHost {
		possible := s.Possible(o.solver.rules.TopologyGroups[a.TopologyGroup].Key)
		for _, value := range possible {
			o.maybe[a.TopologyGroup][value] += times * a.Weight
		}
		if len(possible) > 0 {
			o.total[a.TopologyGroup] += times * a.Weight
		}
	}
}

func placeName(value string, byHost bool, spot int) string {
	if byHost {
		return strconv.Itoa(spot)
	}
	return value
}

// mendSpot takes pods of the spot off that break a rule, and reports whether there was any: rather than one that is
// where it was promised, those that came after it.
func (o *outcome) mendSpot(i int) bool {
	broken := false
	for _, pod := range o.pods(i) {
		u := o.brokenBy(i, pod)
		if u == nil {
			continue
		}
		broken = true
		if o.promisedTo(o.spots[i].existing, pod) {
			for u != nil {
				at, other := o.intruder(i, u)
				if at < 0 {
					break
				}
				o.takeOff(at, other, u)
				u = o.brokenBy(i, pod)
			}
		}
		if u != nil && slices.Contains(o.pods(i), pod) {
			o.takeOff(i, pod, u)
		}
	}
	return broken
}

// promisedTo reports whether the pod was planned onto the existing node before.
func (o *outcome) promisedTo(s *existing.Node, pod int) bool {
	return s != nil && slices.ContainsFunc(s.Promised, func(ref model.PodRef) bool { return ref.UID == o.solver.in.Snapshot.Pods[pod].UID })
}

// intruder returns the last pod that the rule counts against a pod of spot i and that was not promised its place, and
// its spot; −1 where there is none.
func (o *outcome) intruder(i int, u *group.Constraint) (spot, pod int) {
	here, _ := o.domain(u.TopologyGroup, i)
	for at := len(o.spots) - 1; at >= 0; at-- {
		value, counts := o.domain(u.TopologyGroup, at)
		same := counts && value == here && (!u.ByHost || at == i)
		if !counts || same == (u.Kind == group.Affinity) { // who is elsewhere already keeps one from being the first
			continue
		}
		pods := o.pods(at)
		for n := len(pods) - 1; n >= 0; n-- {
			if group.WeightIn(o.podGroupOf[pods[n]].Contributions, u.TopologyGroup) > 0 && !o.promisedTo(o.spots[at].existing, pods[n]) {
				return at, pods[n]
			}
		}
	}
	return -1, -1
}

// takeOff returns the pod to its pod group, with the rule that was broken.
func (o *outcome) takeOff(i, pod int, u *group.Constraint) {
	o.note(i, pod, -1)
	c := o.podGroupOf[pod]
	c.Pods = append(c.Pods, pod)
	c.Blocked = o.solver.rules.Reason(u, nil, nil)
	kept := slices.DeleteFunc(slices.Clone(o.pods(i)), func(other int) bool { return other == pod })
	s := &o.spots[i]
	if s.existing != nil {
		s.existing.Pods = kept
		o.solver.existing.Free(i, c)
		return
	}
	s.node.Pods, s.node.Load = kept, s.node.Load.Minus(c.Request)
	s.run.Cheapen(s.node)
	if len(kept) == 0 {
		o.solver.planner.Release(s.pool, s.node)
	}
}

// brokenBy returns the rule that does not hold for the pod where it is; nil where all do.
func (o *outcome) brokenBy(i, pod int) *group.Constraint {
	c := o.podGroupOf[pod]
	for n := range c.Constraints {
		u := &c.Constraints[n]
		value, counts := o.domain(u.TopologyGroup, i)
		count := int32(0)
		if counts {
			count = o.count[u.TopologyGroup][value]
			if u.ByHost {
				count = o.hosts[u.TopologyGroup][i]
			}
			count += o.maybe[u.TopologyGroup][value]
		}
		switch u.Kind {
		case group.Affinity:
			if u.Claim {
				if !counts || o.total[u.TopologyGroup] > count {
					return u
				}
				continue
			}
			if o.lonely(i, c) == u {
				return u
			}
		case group.AntiAffinity:
			if count-u.Self > 0 || !counts && o.clashes(i, u) {
				return u
			}
		case group.Spread:
			if !counts || count-o.lowestFor(i, c, u) > u.MaxSkew {
				return u
			}
		}
	}
	return nil
}

// clashes reports whether a claim on its way may come up where pods are that the pod group keeps away from.
func (o *outcome) clashes(i int, u *group.Constraint) bool {
	s := o.spots[i].existing
	return s != nil && !u.ByHost && slices.ContainsFunc(s.Possible(o.solver.rules.TopologyGroups[u.TopologyGroup].Key), func(value string) bool {
		return o.count[u.TopologyGroup][value]+o.maybe[u.TopologyGroup][value]-u.Self > 0
	})
}

// lowestFor returns the count of the emptiest domain the spread counts for a pod of the pod group at the spot: of one
// that is moved voluntarily, also of domains that only its pools can make, and none by host; nor on a node that is on
// its way.
func (o *outcome) lowestFor(i int, c *group.PodGroup, u *group.Constraint) int32 {
	if u.ByHost {
		if s := o.spots[i].existing; c.Settled || s != nil && s.Number < 0 {
			return 0
		}
		return o.lowest(u)
	}
	if !c.Settled {
		return o.lowest(u)
	}
	low, domains := int32(math.MaxInt32), len(o.nodes[u.TopologyGroup])
	for _, value := range o.solver.planner.Offered(c, slices.Index(c.Keys, o.solver.rules.TopologyGroups[u.TopologyGroup].Key)) {
		if o.nodes[u.TopologyGroup][value] == 0 {
			domains, low = domains+1, min(low, o.count[u.TopologyGroup][value])
		}
	}
	if domains < int(u.MinDomains) {
		return 0
	}
	if len(o.nodes[u.TopologyGroup]) > 0 {
		if o.lows[u.TopologyGroup] < 0 {
			o.lows[u.TopologyGroup] = o.emptiest(u.TopologyGroup)
		}
		low = min(low, o.lows[u.TopologyGroup])
	}
	if domains == 0 {
		return 0
	}
	return low
}

// lowest returns the count of the emptiest domain the spread counts.
func (o *outcome) lowest(u *group.Constraint) int32 {
	t := &o.solver.rules.TopologyGroups[u.TopologyGroup]
	domains := len(o.nodes[u.TopologyGroup])
	if u.ByHost {
		domains = len(t.Eligible) + int(o.nodes[u.TopologyGroup][offerings.NewHostname])
	}
	if domains == 0 || domains < int(u.MinDomains) {
		return 0
	}
	if o.lows[u.TopologyGroup] < 0 {
		o.lows[u.TopologyGroup] = o.emptiest(u.TopologyGroup)
	}
	return o.lows[u.TopologyGroup]
}

// emptiest returns the least any domain of the topology group has.
func (o *outcome) emptiest(t int) int32 {
	topologyGroup := &o.solver.rules.TopologyGroups[t]
	low := int32(math.MaxInt32)
	if !topologyGroup.Host {
		for value := range o.nodes[t] { // a minimum does not depend on the order
			low = min(low, o.count[t][value])
		}
		return low
	}
	if o.vacant[t] {
		return 0
	}
	for _, n := range topologyGroup.Eligible {
		low = min(low, o.hosts[t][n])
	}
	for i := len(o.solver.existing.List); i < len(o.spots); i++ {
		if _, counts := o.domain(t, i); counts {
			low = min(low, o.hosts[t][i])
		}
	}
	return low
}
