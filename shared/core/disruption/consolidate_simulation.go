package disruption

import (
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// simulation is the cluster in which consolidation asks what would be, as what it decided leaves it. Where there are no
// rules between pods it is only the nodes that moved pods may go to, with what is on them: what else there is makes no
// difference.
type simulation struct {
	fork    *fork
	supply  *supply
	plain   bool            // no rules between pods
	binding bool            // some rules between pods must hold
	shut    map[string]bool // nodes and claims that take no moved pods

	nodes   []model.Node // in the order of the snapshot
	pods    []model.Pod
	at      []int32       // by pod of the fork's snapshot: its index in pods, −1 = it is not there
	fit     fitter        // of nodes that take moved pods
	coming  []model.Claim // on their way; none where plain
	going   []model.Node  // disrupted by what was decided, and there until their pods have moved; see fork.going
	waiting []int         // pods whose place is one of those, as indexes into the fork's snapshot; none where plain
	usage   map[string]model.Resources
	taken   map[string]int64 // of capacity reservations
}

// newSimulation makes the simulation for the candidates; those that are overpriced take no pods.
func newSimulation(supply *supply, candidates []*candidate) simulation {
	f := supply.fork
	s := simulation{
		fork: f, supply: supply, shut: maps.Clone(f.churning), usage: maps.Clone(f.usage()), taken: f.taken(),
		plain: true, binding: f.spreads,
	}
	for i := range f.snapshot.Shapes {
		shape := &f.snapshot.Shapes[i]
		required := len(shape.PodAffinity) + len(shape.PodAntiAffinity)
		preferred := len(shape.PreferredPodAffinity) + len(shape.PreferredPodAntiAffinity)
		s.binding = s.binding || required > 0
		s.plain = s.plain && required+preferred+len(shape.Spread) == 0
	}
	for _, a := range candidates {
		if a.overpriced {
			s.shut[a.name()] = true
		}
	}
	s.fill()
	s.measure(slices.Clone(candidates))
	return s
}

// fill copies what makes a difference to moved pods.
func (s *simulation) fill() {
	snapshot := s.fork.snapshot
	there := make(map[string]bool, len(snapshot.Nodes))
	s.nodes = make([]model.Node, 0, len(snapshot.Nodes)) // room for all: what-ifs add to them
	s.pods = make([]model.Pod, 0, len(snapshot.Pods))
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
			s.include(i)
		}
	}
	if !s.plain {
		s.coming, s.waiting = slices.Clone(s.fork.coming), slices.Clone(s.fork.waiting)
		s.going = s.fork.going(s.fork.draining, nil)
	}
}

// include returns a pod of the fork's snapshot as it is in the simulation.
func (s *simulation) include(i int) *model.Pod {
	if s.at[i] < 0 {
		s.at[i] = int32(len(s.pods))
		s.pods = append(s.pods, s.fork.snapshot.Pods[i])
	}
	return &s.pods[s.at[i]]
}

// measure works out what is free on nodes that take moved pods. Those that are best kept are filled first.
func (s *simulation) measure(candidates []*candidate) {
	s.fit = newFitter(s.fork.snapshot)
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
	byMerit(candidates, (*candidate).price)
	for _, a := range slices.Backward(candidates) {
		if !s.shut[a.name()] {
			s.fit.add(a.Node)
		}
	}
	for i := range s.pods {
		s.fit.put(&s.pods[i], s.pods[i].NodeName)
	}
}

// without says what becomes of the pods of some nodes if those were disrupted too, new nodes being opened in so many
// ways: see pack.Simulator.
func (s *simulation) without(group []*candidate, ways int) outcome {
	nodes := poolNodesOf(group)
	pods := podsOf(nodes)
	snapshot, in := *s.fork.snapshot, s.fork.question()
	snapshot.Nodes, snapshot.Pods = s.nodes, s.pods
	if s.includes(group) {
		snapshot.Nodes = withoutNodes(s.nodes, nodes)
	}
	moved := make([]int, len(pods), len(pods)+len(s.waiting))
	for n, i := range pods {
		if moved[n] = int(s.at[i]); s.at[i] < 0 {
			moved[n] = len(snapshot.Pods)
			snapshot.Pods = append(snapshot.Pods, s.fork.snapshot.Pods[i])
		}
	}
	in.Pending, in.Settled = moved, moved
	for _, i := range s.waiting {
		in.Pending = append(in.Pending, int(s.at[i]))
	}
	in.Snapshot, in.Catalogs, in.Claims = &snapshot, s.supply.types.catalogs, withoutClaims(s.coming, nodes)
	in.Usage, in.Taken, in.Churning = s.usage, s.taken, s.shut
	in.Going, in.Salt = s.fork.going(s.going, nodes), saltOf(s.fork.in.Salt, nodes)
	if !s.plain { // with rules every pod of the snapshot is in the simulation, in its order
		in.Expected = s.fork.expected
	}
	return s.fork.read(s.supply.plans().Plan(in, ways), pods)
}

// includes reports whether the simulation has nodes or claims of the group: where it is plain, only such as take moved
// pods.
func (s *simulation) includes(group []*candidate) bool {
	return !s.plain || slices.ContainsFunc(group, func(a *candidate) bool { return !s.shut[a.name()] })
}

// open lets the candidate take moved pods.
func (s *simulation) open(a *candidate) {
	if s.fork.churning[a.name()] || !s.shut[a.name()] {
		return
	}
	delete(s.shut, a.name())
	s.fit.add(a.Node)
	if s.plain {
		nodes := s.fork.snapshot.Nodes
		s.nodes = append(s.nodes, nodes[slices.IndexFunc(nodes, func(n model.Node) bool { return n.Name == a.name() })])
	}
	for _, i := range s.fork.on(a.poolNode) {
		s.fit.put(s.include(i), a.name())
	}
}

// apply makes the simulation show a command as carried out.
func (s *simulation) apply(command *model.PlannedCommand, group []*candidate) {
	nodes := poolNodesOf(group)
	s.going = s.fork.going(s.going, nodes)
	if s.includes(group) {
		s.nodes, s.coming = withoutNodes(s.nodes, nodes), withoutClaims(s.coming, nodes)
	}
	for _, a := range group {
		s.fit.remove(a.name())
	}
	index := s.fork.indexOf(podsOf(nodes))
	for _, move := range command.Moves {
		for _, ref := range move.Pods {
			pod := s.include(index[ref])
			pod.NodeName = move.Node
			s.fit.put(pod, move.Node)
		}
	}
	for i := range command.Replacements {
		claim := &command.Replacements[i]
		s.taken = spokenFor(s.taken, claim.Requirements)
		s.usage = withReserve(s.usage, claim.Pool, claim.Reserve)
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
