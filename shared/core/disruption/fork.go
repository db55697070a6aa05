package disruption

import (
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// fork is a cluster as it will be once every open command, and those of the plan so far, are carried out.
type fork struct {
	*cluster
	snapshot *model.Snapshot // nodes that are to end show it; pods that wait are on the nodes they have their place on
	draining []model.Node    // where any pod is spread, nodes disrupted: domains until their pods have moved
	spreads  bool            // some pod has a spread constraint that must hold
	coming   []model.Claim   // live claims but those of nodes that are gone, and replacements that are not launched
	waiting  []int           // pods whose place is a claim that is on its way, ascending
	// expected are pods that waited, or are on nodes that are to end, and are elsewhere here: where they are now, if
	// anywhere.
	expected map[int]string
	// unready are nodes and claims that are not sure to be there: they take no pods that are moved voluntarily, by
	// name. Churning are these and nodes that pods came to or went from a moment ago: they take none that are moved to
	// save.
	unready, churning map[string]bool
	claimed           []string // pods that wait and have their place on nodes of the revalidated command only, by key
	owned             bool     // snapshot.Pods is the fork's own and may be written to

	supply *supply  // all there is
	left   struct { // scratch: what is left without some nodes, see input
		nodes  []model.Node
		claims []model.Claim
	}
}

// question returns what core/pack is asked, but for the cluster's state and the pods to place.
func (c *cluster) question() pack.Input {
	return pack.Input{
		Catalogs: c.in.Catalogs, ClassProblems: c.in.ClassProblems, SuspendedPools: c.in.SuspendedPools,
		UnavailableOfferings: c.in.UnavailableOfferings, NowUnix: c.now,
		IgnorePreferences: c.set.IgnorePreferences, BestEffortMinValues: c.set.BestEffortMinValues,
	}
}

// input returns what core/pack is asked: the fork without some nodes more, and the pods to place, some of them moved
// voluntarily. One without nodes is good until the next such is asked for.
func (f *fork) input(without []*poolNode, pods, settled []int) pack.Input {
	snapshot, in := *f.snapshot, f.question()
	in.Snapshot, in.Claims, in.Churning, in.Salt = &snapshot, f.coming, f.churning, saltOf(f.in.Salt, without)
	in.Usage, in.Taken, in.Going = f.usage(), f.taken(), f.going(f.draining, without)
	in.Pending, in.Settled = append([]int{}, pods...), settled
	if len(without) > 0 {
		f.left.nodes = appendNodes(f.left.nodes[:0], snapshot.Nodes, without)
		f.left.claims = appendClaims(f.left.claims[:0], f.coming, without)
		snapshot.Nodes, in.Claims = f.left.nodes, f.left.claims
	}
	return in
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

// going returns the nodes disrupted voluntarily that are still there while their pods move, as far as they make a
// difference: those decided before, and those of some nodes more.
func (f *fork) going(before []model.Node, more []*poolNode) []model.Node {
	if !f.spreads {
		return nil
	}
	out := slices.Clip(before)
	for _, node := range more {
		out = append(out, *node.Node)
	}
	return out
}

// usage returns what is held against the pools' limits: the nodes disrupted hold their share until they are gone, and
// what is not launched yet will hold its own.
func (f *fork) usage() map[string]model.Resources {
	out, owned := f.in.Usage, false
	for i := range f.coming {
		claim := &f.coming[i]
		if f.claims[claim.Name] != nil || len(claim.Reserved) == 0 {
			continue
		}
		if !owned {
			out, owned = maps.Clone(out), true
		}
		out = withReserve(out, claim.Pool, claim.Reserved)
	}
	return out
}

// withReserve adds what a claim holds of its pool's limits to usage.
func withReserve(usage map[string]model.Resources, pool string, reserve model.Resources) map[string]model.Resources {
	if usage == nil {
		usage = make(map[string]model.Resources)
	}
	sum := maps.Clone(usage[pool])
	if sum == nil {
		sum = make(model.Resources)
	}
	for name, amount := range reserve { // each on its own: the order does not matter
		sum[name] += amount
	}
	usage[pool] = sum
	return usage
}

// taken returns how many instances of each capacity reservation are spoken for by what is not launched yet.
func (f *fork) taken() map[string]int64 {
	var out map[string]int64
	for i := range f.coming {
		if claim := &f.coming[i]; f.claims[claim.Name] == nil {
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

// on returns what is on a node: its pods that have not ended, and headroom of CapacityBuffers.
func (f *fork) on(node *poolNode) []int {
	return append(slices.Clip(f.podsOf[node.name()]), node.headroom...)
}

// indexOf finds pods by what names them.
func (f *fork) indexOf(pods []int) map[model.PodRef]int {
	index := make(map[model.PodRef]int, len(pods))
	for _, i := range pods {
		index[f.snapshot.Pods[i].Ref()] = i
	}
	return index
}

// without says what becomes of the pods of some nodes if those were disrupted too. None of them goes to a node of
// churning.
func (f *fork) without(nodes []*poolNode, churning map[string]bool) outcome {
	pods := podsOf(nodes)
	if len(pods) == 0 {
		return outcome{}
	}
	in := f.input(nodes, append(slices.Clone(f.waiting), pods...), pods)
	in.Churning, in.Expected = churning, f.expected
	return f.read(f.supply.plans().Plan(in, 0), pods)
}

// read picks out what a plan says of some of its pods. The others have to keep their places.
func (f *fork) read(plan model.Plan, pods []int) outcome {
	moved := f.indexOf(pods)
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

// bind puts pods where they are nominated to: those on nodes that exist are there, those on claims go on waiting for
// them.
func (f *fork) bind(nominations []model.Nomination, pods []int) {
	if len(nominations) == 0 {
		return
	}
	index := f.indexOf(pods)
	there := make(map[string]bool, len(f.snapshot.Nodes))
	for i := range f.snapshot.Nodes {
		there[f.snapshot.Nodes[i].Name] = true
	}
	if !f.owned {
		f.snapshot.Pods, f.owned = slices.Clone(f.snapshot.Pods), true
	}
	for _, n := range nominations {
		for _, ref := range n.Pods {
			i, known := index[ref]
			switch {
			case !known:
			case there[n.Node]:
				f.snapshot.Pods[i].NodeName = n.Node
				if node := f.byName[n.Node]; node != nil && f.snapshot.Pods[i].Buffer == "" {
					node.expects = append(node.expects, ref.Key())
				}
			default:
				f.waiting = append(f.waiting, i)
			}
		}
	}
	slices.Sort(f.waiting)
	f.waiting = slices.Compact(f.waiting)
}

// takeAway takes nodes and their claims out of the fork, whose own the lists of them are.
func (f *fork) takeAway(members []*poolNode) {
	if len(members) == 0 {
		return
	}
	nodes, claims := nodesOf(members), claimsOf(members)
	f.draining = f.going(f.draining, members)
	f.snapshot.Nodes = slices.DeleteFunc(f.snapshot.Nodes, func(n model.Node) bool { return nodes(n.Name) })
	f.coming = slices.DeleteFunc(f.coming, func(c model.Claim) bool { return claims(c.Name) })
}

// follow makes the fork show what follows from a command, but for its nodes: those are taken away, before or after.
func (f *fork) follow(command *model.PlannedCommand, nodes []*poolNode) {
	pods := podsOf(nodes)
	for _, node := range nodes {
		node.planned = true
	}
	f.bind(command.Moves, pods)
	var index map[model.PodRef]int
	if len(command.Replacements) > 0 {
		index = f.indexOf(pods)
	}
	waited := len(f.waiting)
	for i := range command.Replacements {
		replacement := &command.Replacements[i]
		f.coming = append(f.coming, claimOf(replacement))
		f.unready[replacement.Name], f.churning[replacement.Name] = true, true
		for _, ref := range replacement.Pods {
			if p, known := index[ref]; known {
				f.waiting = append(f.waiting, p)
			}
		}
	}
	f.waiting = merge(f.waiting, waited)
}

// claimOf returns a replacement as the claim it will be.
func claimOf(p *model.PlannedClaim) model.Claim {
	return model.Claim{
		Name: p.Name, Pool: p.Pool, Class: p.Class, State: model.Intended, Requirements: p.Requirements,
		Requests: p.Requests, InstanceTypes: p.InstanceTypes, Labels: p.Labels, Annotations: p.Annotations,
		Taints: p.Taints, StartupTaints: p.StartupTaints, Pods: p.Pods, Reserved: p.Reserve,
	}
}

// merge sorts a list that is sorted up to an index, and not after it.
func merge(list []int, sorted int) []int {
	last := slices.Clone(list[sorted:])
	slices.Sort(last)
	for to, i := len(list)-1, sorted-1; len(last) > 0; to-- { // from the end on: nothing yet to be moved is lost
		if n := len(last) - 1; i < 0 || list[i] <= last[n] {
			list[to], last = last[n], last[:n]
		} else {
			list[to], i = list[i], i-1
		}
	}
	return list
}

// supply is what can be bought, with what plans with it.
type supply struct {
	fork      *fork
	types     instanceTypes
	simulator *pack.Simulator // nil = not asked for
}

// less returns what is left where the unavailable offerings cannot be had.
func (s *supply) less(unavailable []model.UnavailableOffering) *supply {
	if len(unavailable) == 0 {
		return s
	}
	catalogs := make(map[string][]model.InstanceType, len(s.types.catalogs))
	for class, list := range s.types.catalogs { // each on its own: the order does not matter
		catalogs[class] = offering.Mask(list, nil, unavailable, s.fork.now)
	}
	return &supply{fork: s.fork, types: instanceTypes{catalogs: catalogs}}
}

// plans returns the simulator that all what-ifs with the supply are planned at.
func (s *supply) plans() *pack.Simulator {
	if s.simulator == nil {
		in := s.fork.input(nil, nil, nil)
		in.Catalogs = s.types.catalogs
		s.simulator = pack.NewSimulator(in)
	}
	return s.simulator
}
