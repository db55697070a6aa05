package disruption

import (
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// simulation is the cluster in which consolidation asks what would be, as what it decided leaves it. Where there are no rules between
// pods it is only the nodes that moved pods may go to, with what is on them: what else there is makes no difference.
type simulation struct {
	v         *planner
	simulator *pack.Simulator
	plain     bool            // no rules between pods
	shut      map[string]bool // nodes and claims that take no moved pods

	nodes   []model.Node // in the order of the snapshot
	pods    []model.Pod
	at      []int32       // by pod of the view's snapshot: its index in pods, −1 = it is not there
	fit     fitter        // of nodes that take moved pods
	coming  []model.Claim // on their way; none where plain
	going   []model.Node  // disrupted by what was decided, and there until their pods have moved; none where no pod is spread
	waiting []int         // pods whose place is one of those, as indexes into the view's snapshot; none where plain
	usage   map[string]model.Resources
	taken   map[string]int64 // of capacity reservations
}

// newSimulation makes the simulation for the candidates; those that are expensive take no pods.
func newSimulation(v *planner, simulator *pack.Simulator, candidates []*candidate) simulation {
	s := simulation{v: v, simulator: simulator, shut: maps.Clone(v.churning), plain: !slices.ContainsFunc(v.snapshot.Shapes, ruled), usage: maps.Clone(v.usage()), taken: v.taken()}
	for _, a := range candidates {
		if a.overpriced {
			s.shut[a.name()] = true
		}
	}
	s.fill()
	s.measure(slices.Clone(candidates))
	return s
}

// ruled reports whether the shape has rules about other pods.
func ruled(s model.PodShape) bool {
	return len(s.PodAffinity)+len(s.PodAntiAffinity)+len(s.PreferredPodAffinity)+len(s.PreferredPodAntiAffinity)+len(s.Spread) > 0
}

// bound reports whether any of the shapes has a rule about other pods that must hold.
func bound(shapes []model.PodShape) bool {
	return pack.HasSpreads(shapes) || slices.ContainsFunc(shapes, func(s model.PodShape) bool { return len(s.PodAffinity)+len(s.PodAntiAffinity) > 0 })
}

// fill copies what makes a difference to moved pods.
func (s *simulation) fill() {
	snapshot := s.v.snapshot
	there := make(map[string]bool, len(snapshot.Nodes))
	s.nodes, s.pods = make([]model.Node, 0, len(snapshot.Nodes)), make([]model.Pod, 0, len(snapshot.Pods)) // room for all: what-ifs add to them
	for i := range snapshot.Nodes {
		if node := &snapshot.Nodes[i]; !s.plain || !s.shut[node.Name] && node.DeletedUnix == 0 && !disrupted(node) {
			there[node.Name] = true
			s.nodes = append(s.nodes, *node)
		}
	}
	s.at = make([]int32, len(snapshot.Pods))
	for i := range snapshot.Pods {
		s.at[i] = -1
		if !s.plain || there[snapshot.Pods[i].NodeName] {
			s.at[i] = int32(len(s.pods))
			s.pods = append(s.pods, snapshot.Pods[i])
		}
	}
	if !s.plain {
		s.coming, s.waiting, s.going = slices.Clone(s.v.coming), slices.Clone(s.v.waiting), s.v.going(nil)
	}
}

// measure works out what is free on nodes that take moved pods. Those that are best kept are filled first.
func (s *simulation) measure(candidates []*candidate) {
	s.fit = newFitter(s.v.snapshot)
	last := make(map[string]bool, len(candidates))
	for _, a := range candidates {
		last[a.name()] = true
	}
	var others []*model.Node
	for i := range s.nodes {
		if name := s.nodes[i].Name; !s.shut[name] && !last[name] {
			others = append(others, &s.nodes[i])
		}
	}
	slices.SortStableFunc(others, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range others {
		s.fit.add(node)
	}
	byMerit(candidates, func(a *candidate) model.MicroUSD { return a.Price })
	for _, a := range slices.Backward(candidates) {
		if !s.shut[a.name()] {
			s.fit.add(a.Node)
		}
	}
	for i := range s.pods {
		s.fit.put(&s.pods[i], s.pods[i].NodeName)
	}
}

// without says what becomes of the pods of some nodes if those were disrupted too, new nodes being opened in so many ways:
// see pack.Simulator.
func (s *simulation) without(group []*candidate, ways int) outcome {
	nodes, pods := poolNodesOf(group), []int(nil)
	for _, a := range group {
		pods = append(pods, a.Pods...)
	}
	snapshot := *s.v.snapshot
	snapshot.Nodes, snapshot.Pods = s.nodes, s.pods
	if s.includes(group) {
		snapshot.Nodes = withoutNodes(s.nodes, nodes)
	}
	moved := make([]int, len(pods), len(pods)+len(s.waiting))
	for n, i := range pods {
		if moved[n] = int(s.at[i]); s.at[i] < 0 {
			moved[n] = len(snapshot.Pods)
			snapshot.Pods = append(snapshot.Pods, s.v.snapshot.Pods[i])
		}
	}
	pending := moved
	for _, i := range s.waiting {
		pending = append(pending, int(s.at[i]))
	}
	plan := s.simulator.Plan(pack.Input{
		Snapshot: &snapshot, Catalogs: s.v.in.Catalogs, ClassProblems: s.v.in.ClassProblems, SuspendedPools: s.v.in.SuspendedPools, Claims: withoutClaims(s.coming, nodes), Usage: s.usage, Taken: s.taken, UnavailableOfferings: s.v.in.UnavailableOfferings,
		Pending: pending, Settled: moved, Churning: s.shut, Expected: s.expected(), Going: s.goingWith(nodes), NowUnix: s.v.now, IgnorePreferences: s.v.set.IgnorePreferences,
		BestEffortMinValues: s.v.set.BestEffortMinValues, Salt: saltOf(s.v.in.Salt, nodes),
	}, ways)
	return s.v.read(plan, pods)
}

// includes reports whether the simulation has nodes or claims of the group: where it is plain, only such as take moved pods.
func (s *simulation) includes(group []*candidate) bool {
	return !s.plain || slices.ContainsFunc(group, func(a *candidate) bool { return !s.shut[a.name()] })
}

// expected returns the pods that are not yet where they have their place, as indexes into the simulation's; it matters to rules alone,
// and with those every pod of the snapshot is in the simulation, in its order.
func (s *simulation) expected() map[int]string {
	if s.plain {
		return nil
	}
	return s.v.expected
}

// goingWith returns the nodes that are there until their pods have moved, with those of some nodes more.
func (s *simulation) goingWith(nodes []*poolNode) []model.Node {
	if s.plain || !s.v.spreads {
		return nil
	}
	out := slices.Clip(s.going)
	for _, node := range nodes {
		out = append(out, *node.Node)
	}
	return out
}

func poolNodesOf(group []*candidate) []*poolNode {
	out := make([]*poolNode, len(group))
	for n, a := range group {
		out[n] = a.poolNode
	}
	return out
}

// open lets the candidate take moved pods.
func (s *simulation) open(a *candidate) {
	if s.v.churning[a.name()] || !s.shut[a.name()] {
		return
	}
	delete(s.shut, a.name())
	s.fit.add(a.Node)
	if s.plain {
		i := slices.IndexFunc(s.v.snapshot.Nodes, func(n model.Node) bool { return n.Name == a.name() })
		s.nodes = append(s.nodes, s.v.snapshot.Nodes[i])
	}
	for _, i := range s.v.on(a.poolNode) {
		if s.at[i] < 0 {
			s.at[i] = int32(len(s.pods))
			s.pods = append(s.pods, s.v.snapshot.Pods[i])
		}
		s.fit.put(&s.pods[s.at[i]], a.name())
	}
}

// apply makes the simulation show a command as carried out.
func (s *simulation) apply(command *model.PlannedCommand, group []*candidate) {
	nodes := poolNodesOf(group)
	s.going = s.goingWith(nodes)
	if s.includes(group) {
		s.nodes, s.coming = withoutNodes(s.nodes, nodes), withoutClaims(s.coming, nodes)
	}
	index := make(map[model.PodRef]int)
	for _, a := range group {
		s.fit.remove(a.name())
		for _, i := range a.Pods {
			index[s.v.snapshot.Pods[i].Ref()] = i
		}
	}
	for _, move := range command.Moves {
		for _, ref := range move.Pods {
			i := index[ref]
			if s.at[i] < 0 {
				s.at[i] = int32(len(s.pods))
				s.pods = append(s.pods, s.v.snapshot.Pods[i])
			}
			pod := &s.pods[s.at[i]]
			pod.NodeName = move.Node
			s.fit.put(pod, move.Node)
		}
	}
	for i := range command.Replacements {
		claim := &command.Replacements[i]
		s.use(claim)
		if s.plain {
			continue
		}
		s.shut[claim.Name] = true
		s.coming = append(s.coming, claimOf(claim))
		for _, ref := range claim.Pods {
			s.waiting = append(s.waiting, index[ref])
		}
	}
}

// use counts what a replacement holds against its pool's limits, and takes of a capacity reservation.
func (s *simulation) use(claim *model.PlannedClaim) {
	s.taken = spokenFor(s.taken, claim.Requirements)
	if s.usage == nil {
		s.usage = make(map[string]model.Resources)
	}
	sum := maps.Clone(s.usage[claim.Pool])
	if sum == nil {
		sum = make(model.Resources)
	}
	for name, amount := range claim.Reserve { // each on its own: the order does not matter
		sum[name] += amount
	}
	s.usage[claim.Pool] = sum
}
