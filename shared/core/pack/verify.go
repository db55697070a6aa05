package pack

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// outcome is the cluster as the plan leaves it: every topology group counted anew, from what was there and what is placed.
type outcome struct {
	solver     *solver
	podGroupOf []*podGroup        // by pod
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
	daemons    []*podGroup              // of those that any topology group counts: what they add
	runs       map[string]vector.Bitset // by pool and daemon: the types it runs on
	spots      []spot
	memo       map[seen]verdict
}

// spot is where some pods were placed.
type spot struct {
	existing *existingNode
	node     *node
	run      *packing
	taints   []model.Taint
}

// seen names the nodes of a kind for a filter.
type seen struct {
	pool         *offerings.Pool
	column, flag int
	filter       int
}

// baseline remembers the topology groups as they were before anything was placed.
func (b *podRules) baseline() {
	for i := range b.topologyGroups {
		t := &b.topologyGroups[i]
		t.before, t.beforeMaybe, t.beforeByNode, t.beforeTotal = maps.Clone(t.count), maps.Clone(t.maybe), maps.Clone(t.byNode), t.total
	}
}

// verify looks at the plan as kube-scheduler will, once every planned node is there, and reports whether some pod's rules
// between pods do not hold. With mend it takes such pods off their nodes: a rule that cannot be kept is never broken.
func (b *solver) verify(mend bool) bool {
	if b.rules.empty() {
		return false
	}
	broken := false
	for again := true; again; { // what was taken off may have been what others need
		again = false
		o := b.outcome()
		for i := range o.spots {
			if o.mendSpot(i, mend) {
				broken, again = true, mend
			}
		}
	}
	return broken
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
	o := &outcome{solver: b, podGroupOf: b.podGroupOf, memo: make(map[seen]verdict), splits: make(map[kindOfNode][]part),
		vacant: make([]bool, len(b.rules.topologyGroups)), lows: slices.Repeat([]int32{-1}, len(b.rules.topologyGroups))}
	for i := range b.rules.topologyGroups {
		t := &b.rules.topologyGroups[i]
		o.count, o.hosts = append(o.count, maps.Clone(t.before)), append(o.hosts, maps.Clone(t.beforeByNode))
		free := maps.Clone(t.before)
		for n, count := range t.beforeByNode { // each existing node on its own: the order does not matter
			free[strconv.Itoa(n)] = count
		}
		o.free = append(o.free, free)
		o.maybe = append(o.maybe, maps.Clone(t.beforeMaybe))
		o.nodes, o.total = append(o.nodes, maps.Clone(t.nodes)), append(o.total, t.beforeTotal)
	}
	b.existing.all()
	for _, s := range b.existing.nodes {
		o.spots = append(o.spots, spot{existing: s, taints: s.taints})
	}
	for _, r := range b.planner.runs {
		for i := range r.nodes {
			if len(r.nodes[i].pods) > 0 { // else its pods were taken off again, and nobody asks for it
				o.spots = append(o.spots, spot{node: &r.nodes[i], run: r, taints: r.pool.Source.Template.Taints})
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
		return s.pods
	}
	return o.spots[i].node.pods
}

// announce makes the domains of planned nodes count. Nodes of one kind are in the same.
func (o *outcome) announce() {
	type alike struct {
		pool         *offerings.Pool
		column, flag int
	}
	count, first := make(map[alike]int32), []int(nil)
	of := func(i int) alike { s := &o.spots[i]; return alike{s.run.pool, s.node.column, s.node.flag} }
	for i := range o.spots {
		if o.spots[i].node == nil {
			continue
		}
		if count[of(i)]++; count[of(i)] == 1 {
			first = append(first, i)
		}
	}
	for t := range o.solver.rules.topologyGroups {
		if topologyGroup := &o.solver.rules.topologyGroups[t]; topologyGroup.filter >= 0 {
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
	topologyGroup, s := &o.solver.rules.topologyGroups[t], &o.spots[i]
	if s.existing != nil {
		return o.solver.existing.counter().domain(topologyGroup, s.existing)
	}
	if topologyGroup.filter >= 0 {
		key := seen{s.run.pool, s.node.column, s.node.flag, topologyGroup.filter}
		if o.memo[key] == 0 {
			o.memo[key] = refused
			if o.solver.rules.filters[topologyGroup.filter].passes(o.labelsOf(s), s.taints) {
				o.memo[key] = welcome
			}
		}
		if o.memo[key] == refused {
			return "", false
		}
	}
	if topologyGroup.host {
		return offerings.NewHostname, true
	}
	value := o.solver.planner.labelOf(s.run.pool, s.node, topologyGroup.key)
	return value, value != ""
}

// labelsOf returns the labels of a planned node, should it be bought as its cheapest offering.
func (o *outcome) labelsOf(s *spot) func(key string) (value string, has bool) {
	return func(key string) (string, bool) {
		if key == model.LabelHostname {
			return offerings.NewHostname, true
		}
		value := o.solver.planner.labelOf(s.run.pool, s.node, key)
		return value, value != ""
	}
}

// labelOf returns a label of the node, should it be bought as its cheapest offering; empty where it has none or several.
func (p *planner) labelOf(pool *offerings.Pool, n *node, key string) string {
	if !offerings.Decided(key) {
		set := pool.Flags.Sets[n.flag].Get(key)
		if !pool.Flags.Sets[n.flag].Has(key) || set.AllowsAbsent() {
			return ""
		}
		value, _ := set.Pick()
		return value
	}
	return pool.Market.Label(n.column, key)
}

// note counts a pod at a spot; times is −1 to take it off.
func (o *outcome) note(i, pod int, times int32) {
	o.noteAdds(i, o.podGroupOf[pod], times)
}

func (o *outcome) noteAdds(i int, c *podGroup, times int32) {
	for _, a := range c.contributions {
		value, counts := o.domain(a.topologyGroup, i)
		o.lows[a.topologyGroup] = -1
		if !counts {
			o.noteMaybe(i, a, times)
			continue
		}
		if !c.waits() || o.started[start{i, c}] {
			o.free[a.topologyGroup][placeName(value, a.byHost, i)] += times * a.weight
		}
		o.total[a.topologyGroup] += times * a.weight
		if a.byHost {
			o.hosts[a.topologyGroup][i] += times * a.weight
		} else {
			o.count[a.topologyGroup][value] += times * a.weight
		}
	}
}

// start names the pods of a pod group at one spot.
type start struct {
	spot     int
	podGroup *podGroup
}

// waits reports whether pods of the pod group can only start beside others.
func (c *podGroup) waits() bool {
	return slices.ContainsFunc(c.constraints, func(u constraint) bool { return u.kind == affinity && !u.claim })
}

// startWaiting lets pods that wait for others start where those are, until no more do: two that wait for each other never
// start, however well each would be placed once the other runs.
func (o *outcome) startWaiting() {
	pods := make(map[start]int32)
	var waiting []start
	for i := range o.spots {
		for _, pod := range o.pods(i) {
			if c := o.podGroupOf[pod]; c.waits() {
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
			for _, a := range s.podGroup.contributions {
				if value, counts := o.domain(a.topologyGroup, s.spot); counts {
					o.free[a.topologyGroup][placeName(value, a.byHost, s.spot)] += pods[s] * a.weight
				}
			}
			return true
		})
	}
}

// lonely returns a rule of the pod group by which a pod at the spot finds nobody it looks for; nil where there is none, or the
// pod may be the first: where only pods that wait are, one of them has to start. kube-scheduler lets it only while no pod
// that it looks for is in any domain of any of its rules, which is sure where all there will be are in its own domains.
func (o *outcome) lonely(i int, c *podGroup) *constraint {
	var out *constraint
	first, among := true, int32(-1)
	for n := range c.constraints {
		u := &c.constraints[n]
		if u.kind != affinity || u.claim {
			continue
		}
		value, counts := o.domain(u.topologyGroup, i)
		if !counts {
			return u
		}
		count := o.count[u.topologyGroup][value]
		if u.byHost {
			count = o.hosts[u.topologyGroup][i]
		}
		if out == nil && o.free[u.topologyGroup][placeName(value, u.byHost, i)] <= 0 {
			out = u
		}
		first = first && u.self > 0 && o.total[u.topologyGroup] <= count && (among < 0 || among == count)
		among = count
	}
	if first {
		return nil
	}
	return out
}

// countedDaemons returns what pods of daemons add to topology groups, those that add nothing left out.
func (b *solver) countedDaemons() []*podGroup {
	var out []*podGroup
	for _, d := range b.existing.daemons {
		shape := &b.in.Snapshot.Shapes[b.in.Snapshot.DaemonSets[d.Set].Shape]
		if contributions := b.rules.memberships(shape, b.rules.readGuards(shape)); len(contributions) > 0 {
			out = append(out, &podGroup{order: d.Set, contributions: contributions})
		}
	}
	return out
}

// noteDaemons counts the daemons of a planned node.
func (o *outcome) noteDaemons(i int) {
	s := &o.spots[i]
	for _, c := range o.daemons {
		if o.runsOn(s.run.pool, c).Has(s.node.column) {
			o.noteAdds(i, c, 1)
		}
	}
}

// runsOn returns the offerings of the pool on which the daemon runs.
func (o *outcome) runsOn(pool *offerings.Pool, c *podGroup) vector.Bitset {
	key := pool.Source.Name + "\x00" + strconv.Itoa(c.order)
	runs, known := o.runs[key]
	if !known {
		runs = vector.NewBitset(len(pool.Market.Columns))
		for _, d := range pool.Tolerated {
			if d.Set == c.order {
				runs = pool.RunsBy(d)
			}
		}
		o.runs[key] = runs
	}
	return runs
}

// noteMaybe counts a pod on a claim on its way wherever that may come up.
func (o *outcome) noteMaybe(i int, a contribution, times int32) {
	if s := o.spots[i].existing; s != nil && !a.byHost {
		possible := s.possible(o.solver.rules.topologyGroups[a.topologyGroup].key)
		for _, value := range possible {
			o.maybe[a.topologyGroup][value] += times * a.weight
		}
		if len(possible) > 0 {
			o.total[a.topologyGroup] += times * a.weight
		}
	}
}

// follows reports whether pods of the pod group wait for those the topology group counts.
func (c *podGroup) follows(topologyGroup int) bool {
	return slices.ContainsFunc(c.constraints, func(u constraint) bool { return u.kind == affinity && u.topologyGroup == topologyGroup })
}

func placeName(value string, byHost bool, spot int) string {
	if byHost {
		return strconv.Itoa(spot)
	}
	return value
}

// mendSpot reports whether a pod of the spot breaks a rule, and with mend takes such pods off: rather than one that is where
// it was promised, those that came after it.
func (o *outcome) mendSpot(i int, mend bool) bool {
	broken := false
	for _, pod := range o.pods(i) {
		u := o.brokenBy(i, pod)
		if u == nil {
			continue
		}
		if !mend {
			return true
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
func (o *outcome) promisedTo(s *existingNode, pod int) bool {
	return s != nil && slices.ContainsFunc(s.promised, func(ref model.PodRef) bool { return ref.UID == o.solver.in.Snapshot.Pods[pod].UID })
}

// intruder returns the last pod that the rule counts against a pod of spot i and that was not promised its place, and its
// spot; −1 where there is none.
func (o *outcome) intruder(i int, u *constraint) (spot, pod int) {
	here, _ := o.domain(u.topologyGroup, i)
	for at := len(o.spots) - 1; at >= 0; at-- {
		value, counts := o.domain(u.topologyGroup, at)
		same := counts && value == here && (!u.byHost || at == i)
		if !counts || same == (u.kind == affinity) { // who is elsewhere already keeps one from being the first
			continue
		}
		pods := o.pods(at)
		for n := len(pods) - 1; n >= 0; n-- {
			if weightIn(o.podGroupOf[pods[n]].contributions, u.topologyGroup) > 0 && !o.promisedTo(o.spots[at].existing, pods[n]) {
				return at, pods[n]
			}
		}
	}
	return -1, -1
}

// takeOff returns the pod to its pod group, with the rule that was broken.
func (o *outcome) takeOff(i, pod int, u *constraint) {
	o.note(i, pod, -1)
	c := o.podGroupOf[pod]
	c.pods = append(c.pods, pod)
	c.blocked = o.solver.rules.reason(u, nil, nil)
	kept := slices.DeleteFunc(slices.Clone(o.pods(i)), func(other int) bool { return other == pod })
	s := &o.spots[i]
	if s.existing != nil {
		s.existing.pods = kept
		o.solver.existing.free(i, c)
		return
	}
	s.node.pods, s.node.load = kept, s.node.load.Minus(c.request)
	s.run.cheapen(s.node)
	if len(kept) == 0 {
		o.solver.planner.release(s.run.pool, s.node)
	}
}

// free releases the capacity and the host ports that a pod of the pod group took of existing node n, and no longer counts it.
func (p *existingNodes) free(n int, c *podGroup) {
	p.take(n, c.request, -1)
	for _, a := range c.contributions {
		p.counter().count(a.topologyGroup, n, -a.weight)
	}
	s := p.nodes[n]
	for _, port := range c.ports {
		if at := slices.Index(s.ports, port); at >= 0 {
			s.ports = slices.Delete(s.ports, at, at+1)
		}
	}
}

// cheapen buys the node by the cheapest offering of its zone and capacity type that still holds it, once pods were taken off.
func (r *packing) cheapen(n *node) {
	if n.reservation != "" || len(n.pods) == 0 {
		return
	}
	was := &r.pool.Market.Columns[n.column]
	usable := n.mask.And(r.open)
	for c := usable.Next(0); c >= 0; c = usable.Next(c + 1) {
		col := &r.pool.Market.Columns[c]
		if col.Offering.Zone == was.Offering.Zone && col.Offering.CapacityType == was.Offering.CapacityType && n.load.Fits(r.pool.Free[col.Instance]) &&
			offerings.Within(r.pool.Taken[c], n.limitUse) {
			n.column, n.price = c, col.Price
			return
		}
	}
}

// brokenBy returns the rule that does not hold for the pod where it is; nil where all do.
func (o *outcome) brokenBy(i, pod int) *constraint {
	c := o.podGroupOf[pod]
	for n := range c.constraints {
		u := &c.constraints[n]
		value, counts := o.domain(u.topologyGroup, i)
		count := int32(0)
		if counts {
			count = o.count[u.topologyGroup][value]
			if u.byHost {
				count = o.hosts[u.topologyGroup][i]
			}
			count += o.maybe[u.topologyGroup][value]
		}
		switch u.kind {
		case affinity:
			if u.claim {
				if !counts || o.total[u.topologyGroup] > count {
					return u
				}
				continue
			}
			if o.lonely(i, c) == u {
				return u
			}
		case antiAffinity:
			if count-u.self > 0 || !counts && o.clashes(i, u) {
				return u
			}
		case spread:
			if !counts || count-o.lowestFor(i, c, u) > u.maxSkew {
				return u
			}
		}
	}
	return nil
}

// clashes reports whether a claim on its way may come up where pods are that the pod group keeps away from.
func (o *outcome) clashes(i int, u *constraint) bool {
	s := o.spots[i].existing
	return s != nil && !u.byHost && slices.ContainsFunc(s.possible(o.solver.rules.topologyGroups[u.topologyGroup].key), func(value string) bool {
		return o.count[u.topologyGroup][value]+o.maybe[u.topologyGroup][value]-u.self > 0
	})
}

// lowestFor returns the count of the emptiest domain the spread counts for a pod of the pod group at the spot: of one that is moved
// voluntarily, also of domains that only its pools can make, and none by host; nor on a node that is on its way.
func (o *outcome) lowestFor(i int, c *podGroup, u *constraint) int32 {
	if u.byHost {
		if s := o.spots[i].existing; c.settled || s != nil && s.number < 0 {
			return 0
		}
		return o.lowest(u)
	}
	if !c.settled {
		return o.lowest(u)
	}
	low, domains := int32(math.MaxInt32), len(o.nodes[u.topologyGroup])
	for _, value := range o.solver.planner.offered(c, slices.Index(c.keys, o.solver.rules.topologyGroups[u.topologyGroup].key)) {
		if o.nodes[u.topologyGroup][value] == 0 {
			domains, low = domains+1, min(low, o.count[u.topologyGroup][value])
		}
	}
	if domains < int(u.minDomains) {
		return 0
	}
	if len(o.nodes[u.topologyGroup]) > 0 {
		if o.lows[u.topologyGroup] < 0 {
			o.lows[u.topologyGroup] = o.emptiest(u.topologyGroup)
		}
		low = min(low, o.lows[u.topologyGroup])
	}
	if domains == 0 {
		return 0
	}
	return low
}

// lowest returns the count of the emptiest domain the spread counts.
func (o *outcome) lowest(u *constraint) int32 {
	t := &o.solver.rules.topologyGroups[u.topologyGroup]
	domains := len(o.nodes[u.topologyGroup])
	if u.byHost {
		domains = len(t.eligible) + int(o.nodes[u.topologyGroup][offerings.NewHostname])
	}
	if domains == 0 || domains < int(u.minDomains) {
		return 0
	}
	if o.lows[u.topologyGroup] < 0 {
		o.lows[u.topologyGroup] = o.emptiest(u.topologyGroup)
	}
	return o.lows[u.topologyGroup]
}

// emptiest returns the least any domain of the topology group has.
func (o *outcome) emptiest(t int) int32 {
	topologyGroup := &o.solver.rules.topologyGroups[t]
	low := int32(math.MaxInt32)
	if !topologyGroup.host {
		for value := range o.nodes[t] { // a minimum does not depend on the order
			low = min(low, o.count[t][value])
		}
		return low
	}
	if o.vacant[t] {
		return 0
	}
	for _, n := range topologyGroup.eligible {
		low = min(low, o.hosts[t][n])
	}
	for i := len(o.solver.existing.nodes); i < len(o.spots); i++ {
		if _, counts := o.domain(t, i); counts {
			low = min(low, o.hosts[t][i])
		}
	}
	return low
}
