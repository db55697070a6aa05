package pack

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/topology"
)

// nodeSet is the open existing nodes a pod group cannot tell apart.
type nodeSet struct {
	sign    int
	values  []string   // by podGroup.keys; empty where the label is not there
	open    [][]string // of a claim on its way: what a label that is not there yet may be
	vague   bool       // the pod group is counted by a label that may still be anything
	soft    bool       // a PreferNoSchedule taint speaks against it
	coming  bool       // on its way: what is there goes first
	cursor  int        // slots before it hold no more of the pod group
	wrapped bool       // the existing nodes before where the search began are looked at too
	settled bool       // nothing more fits
}

// assigner gives every pod group its place: an existing node that exists, or the domains of new nodes. After it no rule between pods of
// different nodes is left open, so that packing need not know of them.
type assigner struct {
	planner  *newnodes.Planner
	existing *existing.Nodes
	rules    *group.PodRules
	mayOpen  bool                     // new nodes may be asked for
	wide     map[*group.PodGroup]bool // pod groups that count domains no node is in yet; nil = all
	strict   bool                     // every pod keeps the balance others ask for, wherever that costs more
}

// place puts as many units of the pod group as possible and returns the pod batches that need new nodes.
func (a *assigner) place(c *group.PodGroup) []*newnodes.PodBatch {
	if c.Units() == 0 {
		return nil
	}
	if c.Plain() {
		a.placePlain(c)
		if !a.mayOpen || c.Units() == 0 {
			return nil
		}
		return []*newnodes.PodBatch{{PodGroup: c, Pods: c.TakeUnits(c.Units()), Pools: a.planner.CandidatePools(c)}}
	}
	l := a.newPlacement(c)
	l.start = l.roomiest()
	for c.Units() > 0 && l.placeUnit() {
		l.start = nil
	}
	var out []*newnodes.PodBatch
	for i := range l.cells {
		if cell := &l.cells[i]; len(cell.Pods) > 0 {
			out = append(out, &newnodes.PodBatch{PodGroup: c, Pods: cell.Pods, Values: cell.Values, Pools: cell.Pools})
		}
	}
	return out
}

// placePlain puts units of a pod group no rule is about on the first existing nodes that hold them, those with a taint it would
// rather avoid last.
func (a *assigner) placePlain(c *group.PodGroup) {
	p := a.existing
	if p.Total == 0 {
		return
	}
	nodeSets := a.builtNodeSets(c)
	for i := range nodeSets {
		nodeSets[i].cursor = p.Like(nodeSets[i].sign, c.Request)
		nodeSets[i].wrapped = nodeSets[i].cursor == 0
	}
	for _, soft := range []bool{false, true} {
		for c.Units() > 0 {
			best, bestGroup := -1, -1
			for i := range nodeSets {
				g := &nodeSets[i]
				if g.settled || g.soft != soft {
					continue
				}
				slot := p.FirstWith(g.sign, c.Request, g.cursor)
				if slot < 0 && !g.wrapped { // round once, from where existing nodes are free as the pod group asks
					g.wrapped, g.cursor = true, 0
					slot = p.FirstWith(g.sign, c.Request, 0)
				}
				if slot < 0 {
					g.settled, g.cursor = true, len(p.BySign[g.sign])
					continue
				}
				g.cursor = slot
				if n := p.BySign[g.sign][slot]; best < 0 || n < best {
					best, bestGroup = n, i
				}
			}
			if best < 0 && p.More() {
				nodeSets = a.grown(c, nodeSets)
				continue
			}
			if best < 0 {
				break
			}
			s := p.List[best]
			n := c.Request.Copies(s.Free, c.Units())
			p.Take(best, c.Request, n)
			s.Pods = append(s.Pods, c.TakeUnits(n)...)
			nodeSets[bestGroup].cursor++
		}
	}
}

// grown returns the pod group's groups once more existing nodes are made. Where one was searched before, the search goes on.
func (a *assigner) grown(c *group.PodGroup, before []nodeSet) []nodeSet {
	cursors := make(map[int]int, len(before))
	for i := range before {
		cursors[before[i].sign] = before[i].cursor
	}
	nodeSets := a.builtNodeSets(c)
	for i := range nodeSets {
		nodeSets[i].cursor, nodeSets[i].wrapped = cursors[nodeSets[i].sign], true
	}
	return nodeSets
}

// nodeSets returns the existing nodes that may hold the pod group as far as labels and taints go.
func (a *assigner) nodeSets(c *group.PodGroup) []nodeSet {
	a.existing.All()
	return a.builtNodeSets(c)
}

// builtNodeSets is groups of the existing nodes that are made.
func (a *assigner) builtNodeSets(c *group.PodGroup) []nodeSet {
	p := a.existing
	var out []nodeSet
	for sign, list := range p.BySign {
		if len(list) == 0 {
			continue
		}
		s := p.List[list[0]]
		verdict := existing.Evaluate(c, s)
		if verdict == existing.Refused {
			continue
		}
		g := nodeSet{sign: sign, soft: verdict == existing.Reluctant, coming: !s.Initialized, values: s.Values(c.Keys)}
		if s.Market != nil {
			g.open = s.Possibles(c.Keys)
			g.vague = slices.ContainsFunc(c.Contributions, func(contribution group.Contribution) bool {
				return len(s.Possible(a.rules.TopologyGroups[contribution.TopologyGroup].Key)) > 0
			})
		}
		out = append(out, g)
	}
	return out
}

// placement is one pod group on its way to its places.
type placement struct {
	*assigner
	podGroup     *group.PodGroup
	nodeSets     []nodeSet
	cells        []newnodes.Cell
	universe     [][]string // by use: the domains a spread constraint counts; nil for other uses
	exact        []bool     // by use: of a spread by host that counts the existing nodes there are
	softs        [][]string
	spreads      bool       // over domains
	hostAffinity bool       // needs a pod on the same node, which no new node has
	start        [][]string // of a pod group whose first pod decides where the others go: the domains in which most fit what exists; nil = any
}

func (a *assigner) newPlacement(c *group.PodGroup) *placement { return a.placementOn(c, a.nodeSets(c)) }

// placementOn is newPlacement where the existing nodes to search are known; none where it is only asked about single existing nodes.
func (a *assigner) placementOn(c *group.PodGroup, nodeSets []nodeSet) *placement {
	l := &placement{assigner: a, podGroup: c, nodeSets: nodeSets}
	for _, u := range c.Constraints {
		l.hostAffinity = l.hostAffinity || u.Kind == group.Affinity && u.ByHost
		l.spreads = l.spreads || u.Kind == group.Spread && !u.ByHost
	}
	if a.mayOpen && !l.hostAffinity {
		l.cells = a.planner.Cells(c)
		if len(c.Shut) > 0 {
			l.cells = slices.DeleteFunc(l.cells, func(x newnodes.Cell) bool {
				return slices.ContainsFunc(c.Shut, func(values []string) bool { return slices.Equal(values, x.Values) })
			})
		}
	}
	wide := c.Settled || a.mayOpen && (a.wide == nil || a.wide[c])
	l.universe, l.softs = l.universes(c.Constraints, wide), l.universes(c.Soft, wide)
	l.exact = make([]bool, len(c.Constraints))
	for u := range c.Constraints {
		l.exact[u] = c.Constraints[u].ByHost && c.Constraints[u].Kind == group.Spread && !wide
	}
	return l
}

// universes returns, for each spread, the domains it counts: those of nodes that exist and, where wide, of new ones.
func (l *placement) universes(constraints []group.Constraint, wide bool) [][]string {
	out := make([][]string, len(constraints))
	for i, u := range constraints {
		t := &l.rules.TopologyGroups[u.TopologyGroup]
		if u.Kind != group.Spread || t.Host {
			continue
		}
		seen := make(map[string]bool, len(t.Nodes))
		for value := range t.Nodes {
			seen[value] = true
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		if wide {
			for c := range l.cells {
				if value := l.cells[c].Values[k]; value != "" {
					seen[value] = true
				}
			}
		}
		if l.podGroup.Settled && u.Weight == 0 {
			for _, value := range l.planner.Offered(l.podGroup, k) {
				seen[value] = true
			}
		}
		out[i] = slices.Sorted(maps.Keys(seen))
	}
	return out
}

// hostLow returns the count of the emptiest node a spread by host looks at: none, where new ones may come, and for existing node n where
// that is on its way: until it is there another one may be.
func (l *placement) hostLow(i, n int) int32 {
	if n >= 0 && l.existing.List[n].Number < 0 {
		return 0
	}
	u := &l.podGroup.Constraints[i]
	t := &l.rules.TopologyGroups[u.TopologyGroup]
	if !l.exact[i] || len(t.Eligible) == 0 || len(t.Eligible) < int(u.MinDomains) {
		return 0
	}
	return t.Least
}

// hostLows sums up the emptiest nodes of all spreads by host that the pod group keeps, or that pods it is counted by keep. They
// only grow.
func (l *placement) hostLows() int32 {
	sum := int32(0)
	for i := range l.exact {
		if l.exact[i] {
			sum += l.hostLow(i, -1)
		}
	}
	for _, a := range l.podGroup.Contributions {
		if t := &l.rules.TopologyGroups[a.TopologyGroup]; len(t.Beyond) > 0 {
			sum += t.Least
		}
	}
	return sum
}

// roomiest returns the domains in which what exists has room for most units of a pod group whose pods must all be in one
// domain, which the first of them decides; nil where that is decided, or makes no difference.
func (l *placement) roomiest() [][]string {
	c := l.podGroup
	if c.Units() < 2 || l.hostAffinity || len(l.nodeSets) < 2 || !slices.ContainsFunc(c.Constraints, func(u group.Constraint) bool { return u.Kind == group.Affinity && l.mayStart(&u) }) {
		return nil
	}
	room := make(map[string]int)
	most := 0
	for g := range l.nodeSets {
		nodeSet := &l.nodeSets[g]
		if nodeSet.vague || l.refuses(nodeSet.values, nodeSet.open) != nil {
			continue
		}
		key := fmt.Sprintf("%q", nodeSet.values)
		for slot := l.existing.FirstWith(nodeSet.sign, c.Request, 0); slot >= 0 && room[key] < c.Units(); slot = l.existing.FirstWith(nodeSet.sign, c.Request, slot+1) {
			if n := l.existing.BySign[nodeSet.sign][slot]; l.hostRefuses(n) == "" {
				room[key] += c.Request.Copies(l.existing.List[n].Free, c.Units())
			}
		}
		most = max(most, min(room[key], c.Units()))
	}
	var out [][]string
	for g := range l.nodeSets {
		if values := l.nodeSets[g].values; most > 0 && room[fmt.Sprintf("%q", values)] >= most {
			out = append(out, values)
		}
	}
	return out
}

// placeUnit puts one unit on an existing node, or else in a cell; false where no place is left that keeps every rule. What is on its
// way comes after what is there, as it did when it was asked for: so a plan that is made again while it is on its way says
// the same.
func (l *placement) placeUnit() bool {
	for _, tier := range []nodeSet{{}, {soft: true}, {coming: true}, {soft: true, coming: true}} {
		best, node := -1, -1
		var penalty int64
		for g := range l.nodeSets {
			if l.start != nil && !slices.ContainsFunc(l.start, func(values []string) bool { return slices.Equal(values, l.nodeSets[g].values) }) {
				continue
			}
			if l.nodeSets[g].soft != tier.soft || l.nodeSets[g].coming != tier.coming || l.nodeSets[g].settled || l.nodeSets[g].vague || l.refuses(l.nodeSets[g].values, l.nodeSets[g].open) != nil {
				continue
			}
			n := l.nodeIn(&l.nodeSets[g])
			if n < 0 {
				continue
			}
			p := l.penalty(l.nodeSets[g].values) + 1000*l.unbalance(l.nodeSets[g].values, true)
			if node < 0 || p < penalty || p == penalty && n < node {
				best, node, penalty = g, n, p
			}
		}
		if best >= 0 {
			l.settleOn(node)
			return true
		}
	}
	if c := l.bestCell(); c >= 0 {
		l.settleIn(c)
		return true
	}
	l.explain()
	return false
}

// refuses returns the rule that keeps the pod group out of the domain, hosts aside; nil where none does. open says what labels
// of a claim on its way may still become.
func (l *placement) refuses(values []string, open [][]string) *group.Constraint {
	for i := range l.podGroup.Constraints {
		u := &l.podGroup.Constraints[i]
		t := &l.rules.TopologyGroups[u.TopologyGroup]
		if t.Host {
			continue
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		there := values[k] != ""
		switch u.Kind {
		case group.Affinity:
			if !there || t.Count[values[k]] == 0 && !l.mayStart(u) {
				return u
			}
		case group.AntiAffinity:
			if there && t.Count[values[k]]+t.Maybe[values[k]] > 0 {
				return u
			}
			if !there && open != nil && slices.ContainsFunc(open[k], func(value string) bool { return t.Count[value]+t.Maybe[value] > 0 }) {
				return u
			}
		case group.Spread:
			if !there || t.Count[values[k]]+t.Maybe[values[k]]+u.Self-l.lowest(t, l.universe[i], u.MinDomains) > u.MaxSkew {
				return u
			}
		}
	}
	return nil
}

// lowest returns the count of the emptiest domain: none, where there are fewer domains than are asked for.
func (l *placement) lowest(t *group.TopologyGroup, universe []string, minDomains int32) int32 {
	if len(universe) == 0 || len(universe) < int(minDomains) {
		return 0
	}
	low := int32(math.MaxInt32)
	for _, value := range universe {
		low = min(low, t.Count[value])
	}
	return low
}

// mayStart reports whether the pod group may be the first of the pods the rule looks for.
func (l *placement) mayStart(u *group.Constraint) bool {
	if u.Claim {
		return l.rules.TopologyGroups[u.TopologyGroup].Total == 0
	}
	return l.bootstraps()
}

// bootstraps reports whether the pod group may be the first of the pods its affinity looks for.
func (l *placement) bootstraps() bool {
	for _, u := range l.podGroup.Constraints {
		if u.Kind == group.Affinity && !u.Claim && (u.Self == 0 || l.rules.TopologyGroups[u.TopologyGroup].Total > 0) {
			return false
		}
	}
	return true
}

// nodeIn returns the first existing node of the group that holds a unit, −1 where none does.
func (l *placement) nodeIn(g *nodeSet) int {
	p := l.existing
	for {
		slot := p.FirstWith(g.sign, l.podGroup.Request, g.cursor)
		if slot < 0 {
			g.settled = true
			return -1
		}
		g.cursor = slot
		if n := p.BySign[g.sign][slot]; l.hostRefuses(n) == "" {
			return n
		}
		g.cursor++
	}
}

// hostRefuses returns the code of the rule that keeps a unit off existing node n, domains aside; empty where none does.
func (l *placement) hostRefuses(n int) string {
	s := l.existing.List[n]
	for i := range l.podGroup.Constraints {
		u := &l.podGroup.Constraints[i]
		t := &l.rules.TopologyGroups[u.TopologyGroup]
		if !t.Host {
			continue
		}
		count := t.ByNode[n]
		switch {
		case u.Kind == group.Affinity && count == 0 && !l.bootstraps():
			return input.PodAffinity
		case u.Kind == group.AntiAffinity && count > 0:
			return input.PodAntiAffinity
		case u.Kind == group.Spread && count+u.Self-l.hostLow(i, n) > u.MaxSkew:
			return input.TopologySpread
		}
	}
	for _, contribution := range l.podGroup.Contributions {
		t := &l.rules.TopologyGroups[contribution.TopologyGroup]
		if most, bound := t.Limit[n]; bound && t.ByNode[n]+contribution.Weight > most {
			return input.TopologySpread
		}
		if most, bound := t.Beyond[n]; bound && t.ByNode[n]+contribution.Weight-t.Least > most {
			return input.TopologySpread
		}
	}
	if _, clash := topology.PortConflict(l.podGroup.Ports, s.Ports); clash {
		return input.HostPortTaken
	}
	if l.podGroup.Attaches && !l.existing.Attachable(s, l.podGroup.Pods[:l.podGroup.Stride]) {
		return input.VolumeLimit
	}
	return ""
}

// settleOn puts the next unit on existing node n.
func (l *placement) settleOn(n int) {
	c, p := l.podGroup, l.existing
	s := p.List[n]
	p.Take(n, c.Request, 1)
	before := l.hostLows()
	for _, contribution := range c.Contributions {
		p.Counter().Count(contribution.TopologyGroup, n, contribution.Weight)
	}
	if before != l.hostLows() { // what was too full may not be any more
		for g := range l.nodeSets {
			l.nodeSets[g].cursor, l.nodeSets[g].settled = 0, false
		}
	}
	for i, u := range c.Constraints {
		t := &l.rules.TopologyGroups[u.TopologyGroup]
		if !t.Host || u.Kind != group.Spread {
			continue
		}
		if l.exact[i] && p.List[n].Number >= 0 {
			if most, bound := t.Beyond[n]; !bound || u.MaxSkew < most {
				t.Beyond[n] = u.MaxSkew
			}
		} else if most, bound := t.Limit[n]; !bound || u.MaxSkew < most {
			t.Limit[n] = u.MaxSkew
		}
	}
	s.Ports = append(s.Ports, c.Ports...)
	pods := c.TakeUnits(1)
	if c.Attaches {
		for _, i := range pods {
			pod := &p.In.Snapshot.Pods[i]
			s.AttachAll(p.Classifier.Volumes.Attachments(pod, p.In.Snapshot.ShapeOf(pod)))
		}
	}
	s.Pods = append(s.Pods, pods...)
}

// settleIn puts the next unit into the cell.
func (l *placement) settleIn(i int) {
	c, cell := l.podGroup, &l.cells[i]
	for _, contribution := range c.Contributions {
		t := &l.rules.TopologyGroups[contribution.TopologyGroup]
		if t.Host {
			t.Total += contribution.Weight
		} else if value := cell.Values[slices.Index(c.Keys, t.Key)]; value != "" && l.planner.CountsNew(t, cell.Pools) {
			t.Count[value] += contribution.Weight
			t.Total += contribution.Weight
		}
	}
	cell.Pods = append(cell.Pods, c.TakeUnits(1)...)
}

// bestCell returns the cell for the next unit: of those that keep every rule, and where possible the balance other pods
// ask for, the one its preferences favor, then the cheapest; −1 where there is none.
func (l *placement) bestCell() int {
	best := -1
	var bestKey [3]int64
	type candidate struct {
		cell      int
		unbalance int64
	}
	var list []candidate
	for i := range l.cells {
		if l.refuses(l.cells[i].Values, nil) != nil {
			continue
		}
		list = append(list, candidate{i, l.unbalance(l.cells[i].Values, false)})
	}
	for _, x := range list {
		cell := &l.cells[x.cell]
		key := [3]int64{x.unbalance, l.penalty(cell.Values), cell.Cost}
		if best < 0 || slices.Compare(key[:], bestKey[:]) < 0 {
			best, bestKey = x.cell, key
		}
	}
	return best
}

// strayed is how much it counts that a pod goes where the pods that wait for its like are not.
const strayed = 1_000_000

// unbalance returns by how much a unit in the domain would break the balance pods that spread ask of those they count.
// Where nodes of the domain exist, the domains of all that exist count too, and pods that could make up for it are not
// relied on.
func (l *placement) unbalance(values []string, exists bool) int64 {
	sum := int64(0)
	for _, contribution := range l.podGroup.Contributions {
		t := &l.rules.TopologyGroups[contribution.TopologyGroup]
		if t.Host {
			continue
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		if values[k] == "" {
			continue
		}
		if t.Followed && t.Total > 0 && t.Count[values[k]] == 0 && !l.podGroup.Follows(contribution.TopologyGroup) {
			sum += strayed
		}
		if !t.Wanted || !exists && l.mayOpen && !l.spreads && l.adapts(contribution.TopologyGroup) {
			continue
		}
		low := int32(math.MaxInt32)
		if exists {
			for value := range t.Nodes { // a minimum does not depend on the order
				low = min(low, t.Count[value])
			}
		}
		for c := range l.cells {
			low = min(low, t.Count[l.cells[c].Values[k]])
		}
		sum += int64(max(0, t.Count[values[k]]+contribution.Weight-low-t.Tightest))
	}
	return sum
}

// adapts reports whether every pod that is spread by the topology group may go wherever any of them may, so that they can make up
// for others that go where it is cheapest.
func (l *placement) adapts(topologyGroup int) bool {
	t := &l.rules.TopologyGroups[topologyGroup]
	if l.strict {
		return false
	}
	if t.Adapts == 0 {
		t.Adapts = 1
		all := make(map[string]bool)
		var domains []map[string]bool
		for _, c := range l.planner.Owners[topologyGroup] {
			k, own := slices.Index(c.Keys, t.Key), make(map[string]bool)
			for _, cell := range l.planner.Cells(c) {
				own[cell.Values[k]], all[cell.Values[k]] = true, true
			}
			domains = append(domains, own)
		}
		for value := range t.Nodes { // whether any is missing does not depend on the order
			all[value] = true
		}
		if len(all) < 2 || slices.ContainsFunc(domains, func(own map[string]bool) bool { return len(own) < len(all) }) {
			t.Adapts = -1
		}
	}
	return t.Adapts > 0
}

// penalty returns how much the pod group's preferences between pods speak against the domain.
func (l *placement) penalty(values []string) int64 {
	sum := int64(0)
	for i := range l.podGroup.Soft {
		u := &l.podGroup.Soft[i]
		t := &l.rules.TopologyGroups[u.TopologyGroup]
		if t.Host {
			continue
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		count := int64(t.Count[values[k]]) // none where the label is not there
		switch u.Kind {
		case group.Affinity:
			if count == 0 && t.Total > 0 {
				sum += int64(u.Weight)
			}
		case group.AntiAffinity:
			sum += int64(u.Weight) * count
		case group.Spread:
			sum += int64(u.Weight) * max(0, count+int64(u.Self)-int64(l.lowest(t, l.softs[i], 0))-int64(u.MaxSkew))
		}
	}
	return sum
}

// explain notes which rule kept the pod group off the place that would suit it best.
func (l *placement) explain() {
	c := l.podGroup
	if len(c.Shut) > 0 {
		return // but for limits of pools there was a place
	}
	for i := range l.cells {
		if u := l.refuses(l.cells[i].Values, nil); u != nil {
			c.Blocked = l.rules.Reason(u, c.Keys, l.cells[i].Values)
			return
		}
	}
	for i := range l.nodeSets {
		if u := l.refuses(l.nodeSets[i].values, l.nodeSets[i].open); u != nil {
			c.Blocked = l.rules.Reason(u, c.Keys, l.nodeSets[i].values)
			return
		}
	}
	for i := range c.Constraints {
		if t := &l.rules.TopologyGroups[c.Constraints[i].TopologyGroup]; len(l.cells) == 0 || t.Host && c.Constraints[i].Kind == group.Affinity {
			c.Blocked = l.rules.Reason(&c.Constraints[i], nil, nil)
			return
		}
	}
}
