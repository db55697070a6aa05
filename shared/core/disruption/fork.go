package disruption

import (
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// begin makes the fork as it is before this plan decides anything: nodes of open commands are gone and what replaces them is on
// its way, and pods that wait are where they will be. Where a command is revalidated pods that wait get their places before
// it is carried out, as they did when it was planned: what it launches is for its own.
func (v *planner) begin() {
	snapshot := *v.in.Snapshot
	v.snapshot = &snapshot
	v.gone, v.unready, v.churning = make(map[string]bool), make(map[string]bool), make(map[string]bool)
	v.spreads = pack.HasSpreads(v.snapshot.Shapes)
	leaving, staying, moved := v.removeLeaving()
	v.comingOf(leaving)
	v.calm()
	v.place(leaving, staying, moved)
	v.applyRevalidated()
}

// removeLeaving takes the nodes of open commands away, and marks those of claims that are to end. It returns by when nothing is left on
// the latter, by name, which nodes show that they leave and do not, and the pods of the former.
func (v *planner) removeLeaving() (leaving pack.Leaving, staying map[string]bool, moved []int) {
	leaving, staying = pack.Leaving{}, make(map[string]bool)
	nodes := make([]model.Node, 0, len(v.snapshot.Nodes))
	for i := range v.snapshot.Nodes {
		node := v.snapshot.Nodes[i]
		m := v.byName[node.Name]
		switch {
		case m == nil || m.Claim == nil:
		case m.Claim.Ending():
			leaving[node.Name] = m.Claim.DrainDeadlineUnix(v.now)
			if !disrupted(&node) {
				node.Taints = append(slices.Clone(node.Taints), disruptedTaint)
			}
		case v.disrupts(m):
			staying[node.Name] = true
			if !disrupted(&node) {
				node.Taints = append(slices.Clone(node.Taints), disruptedTaint)
			}
		case m.command != nil && m.command.State != model.CommandUndoing:
			v.gone[node.Name] = true
			v.draining = append(v.draining, v.in.Snapshot.Nodes[i])
			moved = append(moved, m.Pods...)
			continue
		case node.DeletedUnix == 0 && disrupted(&node): // the taint is left over, or about to be taken off
			staying[node.Name] = true
		}
		nodes = append(nodes, node)
	}
	v.snapshot.Nodes = nodes
	return leaving, staying, moved
}

// disrupted reports whether a node carries the taint of nodes that are disrupted.
func disrupted(node *model.Node) bool {
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}

// comingOf lists the claims that are capacity, or may be, and the replacements of open commands that are not launched yet.
func (v *planner) comingOf(leaving pack.Leaving) {
	v.coming = make([]model.Claim, 0, len(v.claims))
	for _, name := range slices.Sorted(maps.Keys(v.claims)) {
		claim := v.claims[name]
		if v.replaces(name) {
			continue
		}
		if v.commands[name] == nil || v.commands[name].State == model.CommandUndoing || claim.Ending() {
			v.coming = append(v.coming, *claim)
		}
	}
	for i := range v.in.Commands {
		if c := &v.in.Commands[i]; c.State.Going() && !v.isRevalidated(c) && !v.comesAfter(c) {
			v.launch(c)
		}
	}
	slices.SortStableFunc(v.coming, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
}

// launch adds what a command is to launch, and has not launched yet, to what is on its way.
func (v *planner) launch(command *model.Command) {
	for i := range command.Replacements {
		if planned := &command.Replacements[i]; v.claims[planned.Name] == nil && planned.Name != "" {
			v.coming = append(v.coming, claimOf(planned))
		}
	}
}

// applyRevalidated takes the nodes of the command that is revalidated away, and has its replacements on their way.
func (v *planner) applyRevalidated() {
	if v.revalidated == nil {
		return
	}
	var nodes []*poolNode
	for _, node := range v.poolNodes {
		if v.disrupts(node) && !node.Claim.Ending() {
			nodes = append(nodes, node)
			v.gone[node.name()] = true
			v.draining = append(v.draining, *node.Node)
		}
	}
	v.snapshot.Nodes, v.coming = withoutNodes(v.snapshot.Nodes, nodes), withoutClaims(v.coming, nodes)
	v.launch(v.revalidated)
	for i := range v.in.Claims {
		if claim := &v.in.Claims[i]; v.claims[claim.Name] == claim && v.replaces(claim.Name) {
			v.coming = append(v.coming, *claim)
		}
	}
	slices.SortStableFunc(v.coming, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
}

// claimOf returns a replacement as the claim it will be.
func claimOf(p *model.PlannedClaim) model.Claim {
	return model.Claim{
		Name: p.Name, Pool: p.Pool, Class: p.Class, State: model.Intended, Requirements: p.Requirements, Requests: p.Requests,
		InstanceTypes: p.InstanceTypes, Labels: p.Labels, Annotations: p.Annotations, Taints: p.Taints, StartupTaints: p.StartupTaints,
		Pods: p.Pods, Reserved: p.Reserve,
	}
}

// calm finds where no pod is moved to that runs well where it is: nodes that are not ready or have not joined wholly, nodes that
// pods came to or went from a moment ago, and instances that are yet to come.
func (v *planner) calm() {
	there := make(map[string]bool, len(v.poolNodes))
	for i := range v.snapshot.Nodes {
		node := &v.snapshot.Nodes[i]
		m := v.byName[node.Name]
		if m != nil && m.Claim != nil {
			there[m.Claim.Name] = true
		}
		switch {
		case m != nil && m.Claim != nil && v.replaces(m.Claim.Name):
		case !node.Ready, m != nil && (m.Claim == nil || m.Claim.State != model.Initialized || !node.Initialized()):
			v.unready[node.Name], v.churning[node.Name] = true, true
		case m != nil && v.unquiet(m) > v.now:
			v.churning[node.Name] = true
		}
	}
	for i := range v.coming {
		if name := v.coming[i].Name; !there[name] && !v.replaces(name) {
			v.unready[name], v.churning[name] = true, true
		}
	}
}

// unquiet returns until when the pool's consolidateAfter keeps the node as it is for pods that came or went; 0 = it does not.
func (v *planner) unquiet(node *poolNode) int64 {
	if node.Pool == nil || node.Pool.Disruption.ConsolidateAfterSeconds == nil || *node.Pool.Disruption.ConsolidateAfterSeconds <= 0 {
		return 0
	}
	return later(v.lastEvent(node), *node.Pool.Disruption.ConsolidateAfterSeconds)
}

// later adds seconds to a time, no further than some 34,000 years from now.
func later(unix, seconds int64) int64 {
	const latest = int64(1) << 40
	return max(0, min(unix, latest)) + max(0, min(seconds, latest))
}

// place gives pods that wait their place: on what exists they are there from now on, so that nobody else is planned onto it.
// Those that need an instance nobody has asked for yet are left to whoever asks for it. A node with the taint of those that are given
// back and without a command takes what fits nowhere else, since the taint will be off before an instance is there; so does one of
// a command that comes after the one that is evaluated, and last one of that: it is needed then.
func (v *planner) place(leaving pack.Leaving, staying map[string]bool, moved []int) {
	pending := slices.DeleteFunc(pack.PendingAt(v.snapshot, leaving, v.now), func(i int) bool { return staying[v.snapshot.Pods[i].NodeName] })
	most := fairshare.DefaultPlanBound()
	pending = fairshare.Select(v.snapshot, pending, &most, nil, "").Pods // beyond what one plan takes, pods need instances nobody has asked for yet
	v.reserve()
	if len(pending)+len(moved) == 0 {
		return
	}
	all := slices.Concat(pending, moved)
	in := v.input(nil, all, moved)
	in.Churning = nil
	plan := pack.Plan(in)
	v.bind(plan.Nominations, all)
	evaluated := func(name string) bool { node := v.byName[name]; return node != nil && v.disrupts(node) }
	lack := v.lacking(&plan, pending)
	if plan = v.untainted(lack, func(name string) bool { return staying[name] && !evaluated(name) }); len(plan.Nominations) > 0 {
		v.bind(plan.Nominations, lack)
		lack = v.lacking(&plan, lack)
	}
	v.claim(v.untainted(lack, func(name string) bool { return staying[name] && evaluated(name) }).Nominations, lack)
	v.await(pending)
	v.placeHeadroom(pending)
}

// await notes which pods are not yet where they have their place.
func (v *planner) await(pending []int) {
	v.expected = make(map[int]string)
	for _, i := range pending {
		if now := v.in.Snapshot.Pods[i].NodeName; now != v.snapshot.Pods[i].NodeName {
			v.expected[i] = now
		}
	}
	for _, i := range v.waiting { // for an instance that is on its way
		if now := v.in.Snapshot.Pods[i].NodeName; now != "" {
			v.expected[i] = now
		}
	}
}

// claim notes pods that have their place on nodes of the command that is revalidated only. Headroom of CapacityBuffers moves
// with what runs there; of a command that moves nothing it asks as pods do.
func (v *planner) claim(nominations []model.Nomination, pods []int) {
	index := v.indexOf(pods)
	var headroom []model.Nomination
	for _, n := range nominations {
		if node := v.byName[n.Node]; node == nil || !v.disrupts(node) {
			continue
		}
		for _, ref := range n.Pods {
			if i, known := index[ref]; known && v.snapshot.Pods[i].Buffer != "" && v.revalidated.Reason != model.ReasonEmpty {
				headroom = append(headroom, model.Nomination{Node: n.Node, Pods: []model.PodRef{ref}})
			} else {
				v.claimed = append(v.claimed, ref.Key())
			}
		}
	}
	v.bind(headroom, pods)
	slices.Sort(v.claimed)
}

// placeHeadroom makes headroom of CapacityBuffers part of the nodes it has its place on: it moves as pods do, which costs nothing, and
// such a node is not empty. Unlike a pod that waits it holds no node by itself, as it would for ever.
func (v *planner) placeHeadroom(pending []int) {
	for _, i := range pending {
		pod := &v.snapshot.Pods[i]
		if pod.Buffer == "" || pod.NodeName == "" {
			continue
		}
		if node := v.byName[pod.NodeName]; node != nil {
			node.headroom, node.Pods, node.Empty = append(node.headroom, i), append(node.Pods, i), false
			v.sortPods(node.Pods)
		}
	}
}

// on returns what is on a node: its pods that have not ended, and headroom of CapacityBuffers.
func (v *planner) on(node *poolNode) []int {
	pods := v.podsOf[node.name()]
	return append(pods[:len(pods):len(pods)], node.headroom...)
}

// real returns how many of the pods are pods, and not headroom of CapacityBuffers.
func (v *planner) real(pods []int) int {
	n := 0
	for _, i := range pods {
		if v.in.Snapshot.Pods[i].Buffer == "" {
			n++
		}
	}
	return n
}

// lacking returns those of the pods that a plan has no place for on what exists or is on its way.
func (v *planner) lacking(plan *model.Plan, pods []int) []int {
	placed := make(map[model.PodRef]bool)
	for _, n := range plan.Nominations {
		for _, ref := range n.Pods {
			placed[ref] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(pods), func(i int) bool { return placed[v.snapshot.Pods[i].Ref()] })
}

// untainted plans pods on the fork where some of the nodes do not show that they are disrupted.
func (v *planner) untainted(pods []int, which func(name string) bool) model.Plan {
	if len(pods) == 0 || !slices.ContainsFunc(v.snapshot.Nodes, func(n model.Node) bool { return which(n.Name) }) {
		return model.Plan{}
	}
	in := v.input(nil, pods, nil)
	in.Snapshot.Nodes = slices.Clone(in.Snapshot.Nodes)
	for i := range in.Snapshot.Nodes {
		if node := &in.Snapshot.Nodes[i]; which(node.Name) {
			node.Taints = pack.WithoutDisruptionTaint(node.Taints)
		}
	}
	return pack.Plan(in)
}

// reserve notes whom pods wait for in so many words.
func (v *planner) reserve() {
	for i := range v.snapshot.Pods {
		if pod := &v.snapshot.Pods[i]; pod.NominatedNode != "" && pod.NodeName == "" && !pod.Terminal() && pod.DeletedUnix == 0 {
			if node := v.byName[pod.NominatedNode]; node != nil {
				node.expects = append(node.expects, pod.Key())
			}
		}
	}
}

// bind puts pods where they are nominated to: those on nodes that exist are there, those on claims go on waiting for them.
func (v *planner) bind(nominations []model.Nomination, pods []int) {
	if len(nominations) == 0 {
		return
	}
	index := v.indexOf(pods)
	there := make(map[string]bool, len(v.snapshot.Nodes))
	for i := range v.snapshot.Nodes {
		there[v.snapshot.Nodes[i].Name] = true
	}
	if !v.owned {
		v.snapshot.Pods, v.owned = slices.Clone(v.snapshot.Pods), true
	}
	for _, n := range nominations {
		for _, ref := range n.Pods {
			i, known := index[ref]
			switch {
			case !known:
			case there[n.Node]:
				v.snapshot.Pods[i].NodeName = n.Node
				if node := v.byName[n.Node]; node != nil && v.snapshot.Pods[i].Buffer == "" {
					node.expects = append(node.expects, ref.Key())
				}
			default:
				v.waiting = append(v.waiting, i)
			}
		}
	}
	slices.Sort(v.waiting)
	v.waiting = slices.Compact(v.waiting)
}

// indexOf finds pods by what names them.
func (v *planner) indexOf(pods []int) map[model.PodRef]int {
	index := make(map[model.PodRef]int, len(pods))
	for _, i := range pods {
		index[v.snapshot.Pods[i].Ref()] = i
	}
	return index
}

// input returns what core/pack is asked: the fork without some nodes more, and the pods to place, some of them moved voluntarily. One
// without nodes is good until the next such is asked for.
func (v *planner) input(without []*poolNode, pods, settled []int) pack.Input {
	snapshot := *v.snapshot
	claims := v.coming
	if len(without) > 0 {
		v.left.nodes = appendNodes(v.left.nodes[:0], snapshot.Nodes, without)
		v.left.claims = appendClaims(v.left.claims[:0], claims, without)
		snapshot.Nodes, claims = v.left.nodes, v.left.claims
	}
	return pack.Input{
		Snapshot: &snapshot, Catalogs: v.in.Catalogs, ClassProblems: v.in.ClassProblems, SuspendedPools: v.in.SuspendedPools, Claims: claims, Usage: v.usage(), Taken: v.taken(), UnavailableOfferings: v.in.UnavailableOfferings,
		Pending: append([]int{}, pods...), Settled: settled, Churning: v.churning, Going: v.going(without), NowUnix: v.now, IgnorePreferences: v.set.IgnorePreferences,
		BestEffortMinValues: v.set.BestEffortMinValues, Salt: saltOf(v.in.Salt, without),
	}
}

// going returns the nodes disrupted voluntarily that are still there while their pods move, as far as they make a difference: those
// decided before, and those of some nodes more.
func (v *planner) going(more []*poolNode) []model.Node {
	if !v.spreads {
		return nil
	}
	out := slices.Clip(v.draining)
	for _, node := range more {
		if node.Node != nil {
			out = append(out, *node.Node)
		}
	}
	return out
}

// usage returns what is held against the pools' limits: the nodes disrupted hold their share until they are gone, and what is
// not launched yet will hold its own.
func (v *planner) usage() map[string]model.Resources {
	var out map[string]model.Resources
	for i := range v.coming {
		claim := &v.coming[i]
		if v.claims[claim.Name] != nil || len(claim.Reserved) == 0 {
			continue
		}
		if out == nil {
			out = maps.Clone(v.in.Usage)
			if out == nil {
				out = make(map[string]model.Resources)
			}
		}
		sum := maps.Clone(out[claim.Pool])
		if sum == nil {
			sum = make(model.Resources)
		}
		for name, amount := range claim.Reserved { // each on its own: the order does not matter
			sum[name] += amount
		}
		out[claim.Pool] = sum
	}
	if out == nil {
		return v.in.Usage
	}
	return out
}

// taken returns how many instances of each capacity reservation are spoken for by what is not launched yet.
func (v *planner) taken() map[string]int64 {
	var out map[string]int64
	for i := range v.coming {
		if claim := &v.coming[i]; v.claims[claim.Name] == nil {
			out = spokenFor(out, claim.Requirements)
		}
	}
	return out
}

// spokenFor counts an instance of the capacity reservation that requirements name, if they name one.
func spokenFor(taken map[string]int64, requirements []model.Requirement) map[string]int64 {
	i := slices.IndexFunc(requirements, func(r model.Requirement) bool {
		return r.Key == model.LabelReservationID && r.Operator == model.In && len(r.Values) == 1
	})
	if i < 0 {
		return taken
	}
	if taken == nil {
		taken = make(map[string]int64)
	}
	taken[requirements[i].Values[0]]++
	return taken
}

// saltOf tells the names of replacements of these nodes from those the nodes themselves may have had.
func saltOf(salt string, without []*poolNode) string {
	names := []string{salt}
	for _, node := range without {
		names = append(names, node.name())
	}
	slices.Sort(names[1:])
	return strings.Join(names, "/")
}

// withoutNodes returns the nodes that are none of the nodes'.
func withoutNodes(nodes []model.Node, without []*poolNode) []model.Node {
	return appendNodes(make([]model.Node, 0, len(nodes)), nodes, without)
}

func appendNodes(out, nodes []model.Node, without []*poolNode) []model.Node {
	names := nodesOf(without)
	for i := range nodes {
		if !names.has(nodes[i].Name) {
			out = append(out, nodes[i])
		}
	}
	return out
}

// names are names of a few nodes or claims, or of many.
type names struct {
	one  string
	more map[string]bool // nil = there is one at most
}

func (n *names) has(name string) bool {
	if n.more != nil {
		return n.more[name]
	}
	return name == n.one && name != ""
}

func (n *names) add(name string) {
	switch {
	case n.more != nil:
		n.more[name] = true
	case n.one == "":
		n.one = name
	default:
		n.more = map[string]bool{n.one: true, name: true}
	}
}

// nodesOf returns the names of the nodes' nodes.
func nodesOf(nodes []*poolNode) names {
	var out names
	for _, node := range nodes {
		out.add(node.name())
	}
	return out
}

// claimsOf returns the names of the nodes' claims.
func claimsOf(nodes []*poolNode) names {
	var out names
	for _, node := range nodes {
		if node.Claim != nil {
			out.add(node.Claim.Name)
		}
	}
	return out
}

// withoutClaims returns the claims that are none of the nodes', with room for some more.
func withoutClaims(claims []model.Claim, without []*poolNode) []model.Claim {
	return appendClaims(make([]model.Claim, 0, len(claims)+moreClaims), claims, without)
}

// moreClaims is for how many replacements there is room, so that most commands' need no other list.
const moreClaims = 16

func appendClaims(out, claims []model.Claim, without []*poolNode) []model.Claim {
	names := claimsOf(without)
	for i := range claims {
		if !names.has(claims[i].Name) {
			out = append(out, claims[i])
		}
	}
	return out
}

// outcome is what becomes of the pods of nodes that are disrupted.
type outcome struct {
	claims   []model.PlannedClaim  // to be launched for them
	moves    []model.Nomination    // those that go to nodes that exist
	homeless []model.Unschedulable // those without a place, and those that would lose theirs
	price    model.MicroUSD        // of claims, per hour
}

// without says what becomes of the pods of some nodes if those were disrupted too. None of them goes to a node of churning.
func (v *planner) without(nodes []*poolNode, churning map[string]bool) outcome {
	pods := podsOf(nodes)
	if len(pods) == 0 {
		return outcome{}
	}
	in := v.input(nodes, append(slices.Clone(v.waiting), pods...), pods)
	in.Churning, in.Expected = churning, v.expected
	return v.read(v.plans().Plan(in, 0), pods)
}

// plans returns the simulator that all what-ifs of this plan are planned at.
func (v *planner) plans() *pack.Simulator {
	if v.simulator == nil {
		v.simulator = pack.NewSimulator(v.input(nil, nil, nil))
	}
	return v.simulator
}

// podsOf returns the pods of nodes that will be made anew elsewhere.
func podsOf(nodes []*poolNode) []int {
	var pods []int
	for _, node := range nodes {
		pods = append(pods, node.Pods...)
	}
	return pods
}

// read picks out what a plan says of some of its pods. The others have to keep their places.
func (v *planner) read(plan model.Plan, pods []int) outcome {
	moved := v.indexOf(pods)
	var out outcome
	for i := range plan.Claims {
		claim := plan.Claims[i]
		for _, ref := range claim.Pods {
			if _, is := moved[ref]; !is {
				out.homeless = append(out.homeless, model.Unschedulable{Pod: ref, Reasons: []model.Reason{{
					Code: PodsExpected, Message: "its place on an in-flight node would be taken",
				}}})
			}
		}
		out.claims = append(out.claims, claim)
		out.price += claim.Price
	}
	for _, n := range plan.Nominations {
		kept := slices.DeleteFunc(slices.Clone(n.Pods), func(ref model.PodRef) bool { _, is := moved[ref]; return !is })
		if len(kept) > 0 {
			out.moves = append(out.moves, model.Nomination{Node: n.Node, Pods: kept})
		}
	}
	out.homeless = append(out.homeless, plan.Unschedulable...)
	return out
}

// apply makes the fork show a command of the plan as carried out.
func (v *planner) apply(command *model.PlannedCommand, nodes []*poolNode) {
	v.takeAway(nodes)
	v.follow(command, nodes)
}

// takeAway takes nodes and their claims out of the fork, whose own the lists of them are.
func (v *planner) takeAway(members []*poolNode) {
	if len(members) == 0 {
		return
	}
	nodes, claims := nodesOf(members), claimsOf(members)
	v.draining = v.going(members)
	v.snapshot.Nodes = slices.DeleteFunc(v.snapshot.Nodes, func(n model.Node) bool { return nodes.has(n.Name) })
	v.coming = slices.DeleteFunc(v.coming, func(c model.Claim) bool { return claims.has(c.Name) })
}

// follow makes the fork show what follows from a command, but for its nodes: those are taken away, before or after.
func (v *planner) follow(command *model.PlannedCommand, nodes []*poolNode) {
	pods := podsOf(nodes)
	for _, node := range nodes {
		v.gone[node.name()], node.planned = true, true
	}
	v.bind(command.Moves, pods)
	var index map[model.PodRef]int
	if len(command.Replacements) > 0 {
		index = v.indexOf(pods)
	}
	waited := len(v.waiting)
	for i := range command.Replacements {
		replacement := &command.Replacements[i]
		v.coming = append(v.coming, claimOf(replacement))
		v.unready[replacement.Name], v.churning[replacement.Name] = true, true
		for _, ref := range replacement.Pods {
			if p, known := index[ref]; known {
				v.waiting = append(v.waiting, p)
			}
		}
	}
	v.waiting = merge(v.waiting, waited)
	for _, move := range command.Moves {
		if node := v.byName[move.Node]; node != nil {
			v.expect(node)
		}
	}
}

// merge sorts a list that is sorted up to an index, and not after it.
func merge(list []int, sorted int) []int {
	last := slices.Clone(list[sorted:])
	slices.Sort(last)
	for to, i := len(list)-1, sorted-1; len(last) > 0; to-- { // from the end on: nothing is written over that is yet to be moved
		if n := len(last) - 1; i < 0 || list[i] <= last[n] {
			list[to], last = last[n], last[:n]
		} else {
			list[to], i = list[i], i-1
		}
	}
	return list
}
