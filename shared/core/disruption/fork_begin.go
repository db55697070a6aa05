package disruption

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/fairshare"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// newFork makes the fork as it is before this plan decides anything: nodes of open commands are gone and what replaces
// them is on its way, and pods that wait are where they will be. Where a command is revalidated pods that wait get
// their places before it is carried out, as they did when it was planned: what it launches is for its own.
func newFork(c *cluster) *fork {
	snapshot := *c.in.Snapshot
	f := &fork{
		cluster: c, snapshot: &snapshot, unready: make(map[string]bool), churning: make(map[string]bool),
		spreads: pack.HasSpreads(snapshot.Shapes),
	}
	f.supply = &supply{fork: f, types: instanceTypes{catalogs: c.in.Catalogs}}
	leaving, staying, moved := f.removeLeaving()
	f.addComing()
	f.findUnready()
	f.place(leaving, staying, moved)
	if c.revalidated.command != nil {
		f.applyRevalidated()
	}
	return f
}

// removeLeaving takes the nodes of open commands away, and marks those of claims that are to end. It returns by when
// nothing is left on the latter, by name, which nodes show that they leave and do not, and the pods of the former.
func (f *fork) removeLeaving() (leaving pack.Leaving, staying map[string]bool, moved []int) {
	leaving, staying = pack.Leaving{}, make(map[string]bool)
	nodes := make([]model.Node, 0, len(f.snapshot.Nodes))
	for i := range f.snapshot.Nodes {
		node := f.snapshot.Nodes[i]
		m := f.byName[node.Name]
		switch {
		case m == nil || m.Claim == nil:
		case m.Claim.Ending():
			leaving[node.Name] = m.Claim.DrainDeadlineUnix(f.now)
			taint(&node)
		case f.revalidated.disrupts(m):
			staying[node.Name] = true
			taint(&node)
		case m.command != nil && m.command.State != model.CommandUndoing:
			f.draining = append(f.draining, f.in.Snapshot.Nodes[i])
			moved = append(moved, m.Pods...)
			continue
		case node.DeletedUnix == 0 && disrupted(&node): // the taint is left over, or about to be taken off
			staying[node.Name] = true
		}
		nodes = append(nodes, node)
	}
	f.snapshot.Nodes = nodes
	return leaving, staying, moved
}

var disruptedTaint = model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule}

// taint has a node show that it is disrupted.
func taint(node *model.Node) {
	if !disrupted(node) {
		node.Taints = append(slices.Clone(node.Taints), disruptedTaint)
	}
}

// disrupted reports whether a node carries the taint of nodes that are disrupted.
func disrupted(node *model.Node) bool {
	return slices.ContainsFunc(node.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}

// addComing lists the claims that are capacity, or may be, and the replacements of open commands that are not launched
// yet.
func (f *fork) addComing() {
	f.coming = make([]model.Claim, 0, len(f.claims))
	for name, claim := range f.claims { // sorted below
		if command := f.commands[name]; !f.revalidated.replaces(name) &&
			(command == nil || command.State == model.CommandUndoing || claim.Ending()) {
			f.coming = append(f.coming, *claim)
		}
	}
	for i := range f.in.Commands {
		if c := &f.in.Commands[i]; c.State.Going() && !f.revalidated.precedes(c) {
			f.launch(c)
		}
	}
	f.sortComing()
}

// launch adds what a command is to launch, and has not launched yet, to what is on its way.
func (f *fork) launch(command *model.Command) {
	for i := range command.Replacements {
		if planned := &command.Replacements[i]; f.claims[planned.Name] == nil && planned.Name != "" {
			f.coming = append(f.coming, claimOf(planned))
		}
	}
}

func (f *fork) sortComing() {
	slices.SortStableFunc(f.coming, func(a, b model.Claim) int { return strings.Compare(a.Name, b.Name) })
}

// applyRevalidated takes the nodes of the command that is revalidated away, and has its replacements on their way.
func (f *fork) applyRevalidated() {
	var nodes []*poolNode
	for _, node := range f.poolNodes {
		if f.revalidated.disrupts(node) && !node.Claim.Ending() {
			nodes = append(nodes, node)
			f.draining = append(f.draining, *node.Node)
		}
	}
	f.snapshot.Nodes, f.coming = withoutNodes(f.snapshot.Nodes, nodes), withoutClaims(f.coming, nodes)
	f.launch(f.revalidated.command)
	for i := range f.in.Claims {
		if claim := &f.in.Claims[i]; f.claims[claim.Name] == claim && f.revalidated.replaces(claim.Name) {
			f.coming = append(f.coming, *claim)
		}
	}
	f.sortComing()
}

// findUnready finds where no pod is moved to that runs well where it is: nodes that are not ready or have not joined
// wholly, nodes that pods came to or went from a moment ago, and instances that are yet to come.
func (f *fork) findUnready() {
	there := make(map[string]bool, len(f.poolNodes))
	for i := range f.snapshot.Nodes {
		node := &f.snapshot.Nodes[i]
		m := f.byName[node.Name]
		if m != nil && m.Claim != nil {
			there[m.Claim.Name] = true
		}
		switch {
		case m != nil && m.Claim != nil && f.revalidated.replaces(m.Claim.Name):
		case !node.Ready, m != nil && (m.Claim == nil || m.Claim.State != model.Initialized || !node.Initialized()):
			f.unready[node.Name], f.churning[node.Name] = true, true
		case m != nil && f.churnUntil(m) > f.now:
			f.churning[node.Name] = true
		}
	}
	for i := range f.coming {
		if name := f.coming[i].Name; !there[name] && !f.revalidated.replaces(name) {
			f.unready[name], f.churning[name] = true, true
		}
	}
}

// place gives pods that wait their place: on what exists they are there from now on, so that nobody else is planned
// onto it. Those that need an instance nobody has asked for yet are left to whoever asks for it. A node with the taint
// of those that are disrupted and without a command takes what fits nowhere else, since the taint will be off before
// an instance is there; so does one of a command that comes after the one that is evaluated, and last one of that: it
// is needed then.
func (f *fork) place(leaving pack.Leaving, staying map[string]bool, moved []int) {
	pending := slices.DeleteFunc(pack.PendingAt(f.snapshot, leaving, f.now), func(i int) bool {
		return staying[f.snapshot.Pods[i].NodeName]
	})
	most := fairshare.DefaultPlanBound() // beyond what one plan takes, pods need instances nobody has asked for yet
	pending = fairshare.Select(f.snapshot, pending, &most, nil, "").Pods
	f.expectNominated()
	if len(pending)+len(moved) == 0 {
		return
	}
	all := slices.Concat(pending, moved)
	in := f.input(nil, all, moved)
	in.Churning = nil
	plan := pack.Plan(in)
	f.bind(plan.Nominations, all)
	evaluated := func(name string) bool { node := f.byName[name]; return node != nil && f.revalidated.disrupts(node) }
	lack := f.lacking(&plan, pending)
	plan = f.untainted(lack, func(name string) bool { return staying[name] && !evaluated(name) })
	if len(plan.Nominations) > 0 {
		f.bind(plan.Nominations, lack)
		lack = f.lacking(&plan, lack)
	}
	plan = f.untainted(lack, func(name string) bool { return staying[name] && evaluated(name) })
	f.claim(plan.Nominations, lack)
	f.findExpected(pending)
	f.placeHeadroom(pending)
}

// expectNominated notes the pods that wait for nodes in so many words.
func (f *fork) expectNominated() {
	for i := range f.snapshot.Pods {
		pod := &f.snapshot.Pods[i]
		node := f.byName[pod.NominatedNode]
		if node != nil && pod.NodeName == "" && !pod.Terminal() && pod.DeletedUnix == 0 {
			node.expects = append(node.expects, pod.Key())
		}
	}
}

// lacking returns those of the pods that a plan has no place for on what exists or is on its way.
func (f *fork) lacking(plan *model.Plan, pods []int) []int {
	placed := make(map[model.PodRef]bool)
	for _, n := range plan.Nominations {
		for _, ref := range n.Pods {
			placed[ref] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(pods), func(i int) bool { return placed[f.snapshot.Pods[i].Ref()] })
}

// untainted plans pods on the fork where some of the nodes do not show that they are disrupted.
func (f *fork) untainted(pods []int, which func(name string) bool) model.Plan {
	if len(pods) == 0 || !slices.ContainsFunc(f.snapshot.Nodes, func(n model.Node) bool { return which(n.Name) }) {
		return model.Plan{}
	}
	in := f.input(nil, pods, nil)
	in.Snapshot.Nodes = slices.Clone(in.Snapshot.Nodes)
	for i := range in.Snapshot.Nodes {
		if node := &in.Snapshot.Nodes[i]; which(node.Name) {
			node.Taints = pack.WithoutDisruptionTaint(node.Taints)
		}
	}
	return pack.Plan(in)
}

// claim notes pods that have their place on nodes of the command that is revalidated only. Headroom of CapacityBuffers
// moves with what runs there; of a command that moves nothing it asks as pods do.
func (f *fork) claim(nominations []model.Nomination, pods []int) {
	index := f.indexOf(pods)
	var headroom []model.Nomination
	for _, n := range nominations {
		if node := f.byName[n.Node]; node == nil || !f.revalidated.disrupts(node) {
			continue
		}
		for _, ref := range n.Pods {
			if i, known := index[ref]; known && f.snapshot.Pods[i].Buffer != "" &&
				f.revalidated.command.Reason != model.ReasonEmpty {
				headroom = append(headroom, model.Nomination{Node: n.Node, Pods: []model.PodRef{ref}})
			} else {
				f.claimed = append(f.claimed, ref.Key())
			}
		}
	}
	f.bind(headroom, pods)
	slices.Sort(f.claimed)
}

// findExpected notes which pods are not yet where they have their place.
func (f *fork) findExpected(pending []int) {
	f.expected = make(map[int]string)
	for _, i := range pending {
		if now := f.in.Snapshot.Pods[i].NodeName; now != f.snapshot.Pods[i].NodeName {
			f.expected[i] = now
		}
	}
	for _, i := range f.waiting { // for an instance that is on its way
		if now := f.in.Snapshot.Pods[i].NodeName; now != "" {
			f.expected[i] = now
		}
	}
}

// placeHeadroom makes headroom of CapacityBuffers part of the nodes it has its place on: it moves as pods do, which
// costs nothing, and such a node is not empty. Unlike a pod that waits it holds no node by itself, as it would for
// ever.
func (f *fork) placeHeadroom(pending []int) {
	for _, i := range pending {
		pod := &f.snapshot.Pods[i]
		if pod.Buffer == "" || pod.NodeName == "" {
			continue
		}
		if node := f.byName[pod.NodeName]; node != nil {
			node.headroom, node.Pods, node.Empty = append(node.headroom, i), append(node.Pods, i), false
			sortPods(f.in.Snapshot, node.Pods)
		}
	}
}
