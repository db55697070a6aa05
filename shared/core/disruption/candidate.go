package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Candidate is a node that may be disrupted voluntarily.
type Candidate struct {
	Node  *model.Node
	Claim *model.Claim
	Pool  *model.Pool
	Pods  []int          // that will be made anew elsewhere, headroom of CapacityBuffers included, as indexes into the snapshot's pods, by key
	Price model.MicroUSD // per hour, of its offering; 0 = not known
	// For are the reasons it may be disrupted for now, budgets aside, in the order they are tried; empty = none.
	For []string
	// CostMilli is what disturbing its pods costs, in thousandths of an ordinary pod: one for the node, and for each pod what its
	// priority and deletion cost make of one, none below 0.
	CostMilli int64
	Empty     bool   // no pod of it costs anything to disturb, and no CapacityBuffer has headroom there
	Quiet     bool   // consolidateAfter has passed since its last pod event
	Drift     string // why an instance launched now would differ; empty = it would not
	DriftUnix int64
	Expired   bool // older than expireAfter, of a pool whose expiry obeys budgets
}

// Candidates returns the nodes of pools that may be disrupted for some reason now, by name, and every other one with all that
// speaks against it. Budgets of the pools are not looked at: how many may go at a time is the plan's.
func Candidates(in *Input) ([]Candidate, []model.KeptNode) {
	v := newPlanner(in, nil)
	candidates, kept := []Candidate{}, []model.KeptNode{}
	for _, node := range v.poolNodes {
		if node.permitted != 0 {
			candidates = append(candidates, node.Candidate)
			continue
		}
		kept = append(kept, model.KeptNode{Node: node.name(), Reasons: v.explain(node)})
	}
	return candidates, kept
}

// promisedSeconds is for how long after its initialisation pods that wait are expected on the node they were planned onto.
const promisedSeconds = 60

// evaluate finds what there is reason to disrupt the node for, and everything that forbids it.
func (v *planner) evaluate(node *poolNode) {
	node.Quiet = v.quiet(node)
	v.findReasons(node)
	if node.eligible&(consolidating|eventual) != 0 {
		node.eligible |= replacing
	}
	v.blockByState(node)
	v.blockByPeople(node)
	v.blockByPool(node)
	v.blockByPods(node)
	v.blockByTime(node)
	v.blockByHistory(node)
	v.expect(node)
	v.allow(node)
}

// allow works out what is left, once all that forbids is known.
func (v *planner) allow(node *poolNode) {
	node.permitted, node.For = node.eligible, nil
	for _, h := range node.blockers {
		node.permitted &^= h.forbids
	}
	if node.permitted&(consolidating|eventual) == 0 {
		node.permitted &^= replacing
	}
	for _, each := range methods {
		if node.permitted&each.method != 0 {
			node.For = append(node.For, each.reason)
		}
	}
}

// forbid notes why the node stays.
func (node *poolNode) forbid(by method, code, format string, values ...any) {
	node.blockers = append(node.blockers, blocker{model.KeptReason{Code: code, Message: fmt.Sprintf(format, values...)}, by})
}

// blockersOf returns how many things forbid the method.
func (node *poolNode) blockersOf(by method) (n int) {
	for _, h := range node.blockers {
		if h.forbids&by != 0 {
			n++
		}
	}
	return n
}

// findReasons finds what there is reason for, whatever forbids it. Beyond its size a static pool loses whichever of its nodes
// costs least to lose, so that there is reason for every one of them.
func (v *planner) findReasons(node *poolNode) {
	if node.Claim == nil {
		return
	}
	if node.Claim.Drift != "" {
		node.Drift, node.DriftUnix, node.eligible = node.Claim.Drift, node.Claim.DriftUnix, node.eligible|drifting
	}
	if node.Pool == nil {
		return
	}
	if node.Pool.Replicas != nil {
		if v.excess(node.Pool) > 0 {
			node.eligible |= shrinking
		}
	} else if node.Empty {
		node.eligible |= emptying
	} else {
		node.eligible |= consolidating
	}
	if node.Pool.Annotations[model.AnnotationGentleExpiry] != "true" || node.Claim.ExpireSeconds == nil {
		return
	}
	since := cmp.Or(node.Claim.CreatedUnix, node.Claim.LaunchedUnix)
	if since <= 0 {
		return
	}
	if until := later(since, *node.Claim.ExpireSeconds); until > v.now {
		v.replanAt(until)
	} else {
		node.Expired, node.eligible = true, node.eligible|expiring
	}
}

// blockByState holds nodes that are not the ledger's, not ready to be evaluated, or going already.
func (v *planner) blockByState(node *poolNode) {
	claim := node.Claim
	switch {
	case claim == nil:
		node.forbid(everything, NoClaim, "the ledger has no claim for node %s, so it is not managed", node.name())
	case claim.Pool != node.Node.Pool():
		node.forbid(everything, NoClaim, "node %s says that it is of NodePool %s and its claim %s that it is of %q", node.name(), node.Node.Pool(), claim.Name, claim.Pool)
	case claim.Ending():
		node.forbid(everything, Ending, "claim %s is %s", claim.Name, claim.State)
	case node.Node.DeletedUnix != 0:
		node.forbid(everything, Ending, "node %s is being deleted", node.name())
	case v.deleted(claim):
		node.forbid(everything, Ending, "NodeClaim %s is being deleted", claim.Name)
	case node.command != nil:
		node.forbid(everything, InCommand, "command %s (%s) disrupts it", node.command.ID, node.command.Reason)
	case claim.State != model.Initialized || !node.Node.Initialized():
		node.forbid(everything, NotInitialized, "claim %s is not initialized", claim.Name)
	}
}

// deleted reports whether the claim's NodeClaim object is being deleted.
func (v *planner) deleted(claim *model.Claim) bool {
	if v.deletes == nil {
		v.deletes = make(map[string]bool)
		for i := range v.in.Snapshot.Claims {
			if o := &v.in.Snapshot.Claims[i]; o.DeletedUnix != 0 {
				v.deletes[o.Name] = true
			}
		}
	}
	return v.deletes[claim.Name]
}

// blockByPeople holds nodes that people have in so many words asked to leave alone.
func (v *planner) blockByPeople(node *poolNode) {
	for i := range v.stops {
		s := &v.stops[i]
		if s.Scope == model.StopPool && s.Pool != node.Node.Pool() {
			continue
		}
		where := "in the " + string(s.Scope)
		if s.Scope == model.StopPool {
			where = "in NodePool " + s.Pool
		}
		node.forbid(everything, Stopped, "disruption is stopped %s%s", where, whySo(s))
	}
	if node.Node.Annotations[model.AnnotationNotDisrupt] == "true" {
		node.forbid(budgeted, NodeDoNotDisrupt, "node %s has the annotation %s: true", node.name(), model.AnnotationNotDisrupt)
	}
}

func whySo(s *model.Stop) string {
	out := ""
	if s.By != "" {
		out += " by " + s.By
	}
	if s.Why != "" {
		out += ": " + s.Why
	}
	return out
}

// blockByPool holds nodes as their NodePool and its class say.
func (v *planner) blockByPool(node *poolNode) {
	pool := node.Pool
	switch {
	case pool == nil:
		node.forbid(everything, PoolMissing, "there is no NodePool %s", node.Node.Pool())
		return
	case pool.DeletedUnix != 0:
		node.forbid(everything, PoolMissing, "NodePool %s is being deleted", pool.Name)
	}
	class := pool.Template.ClassName
	if why := v.in.ClassProblems[class]; why != "" {
		node.forbid(budgeted, ClassNotReady, "EC2NodeClass %s: %s", class, why)
	} else if len(v.in.Catalogs[class]) == 0 {
		node.forbid(budgeted, ClassNotReady, "EC2NodeClass %s: there are no instance types to launch", class)
	}
	if pool.Replicas != nil {
		node.forbid(graceful, Static, "NodePool %s has a fixed size (spec.replicas)", pool.Name)
		return
	}
	if pool.Disruption.ConsolidateAfterSeconds == nil {
		node.forbid(graceful, NeverConsolidate, "spec.disruption.consolidateAfter of NodePool %s is Never", pool.Name)
	}
	if pool.Disruption.Policy == "WhenEmpty" && !node.Empty {
		node.forbid(consolidating, OnlyWhenEmpty, "NodePool %s consolidates empty nodes only (spec.disruption.consolidationPolicy)", pool.Name)
	}
	if node.Claim == nil || node.Empty {
		return
	}
	if node.Claim.InstanceType == "" || node.Claim.Zone == "" || node.Claim.CapacityType == "" || node.Price <= 0 {
		node.forbid(consolidating, UnknownInstance, "the price of claim %s is unknown: it is %q of type %q in zone %q", node.Claim.Name, node.Claim.CapacityType, node.Claim.InstanceType, node.Claim.Zone)
	}
}

// blockByPods holds nodes that pods of must not be disturbed now. Where the claim has a terminationGracePeriod that is no reason
// to keep what drifted.
func (v *planner) blockByPods(node *poolNode) {
	forbids := graceful
	if node.Claim == nil || node.Claim.GraceSeconds == nil {
		forbids |= eventual
	}
	var blocked guarded
	for _, i := range v.podsOf[node.name()] {
		pod := &v.in.Snapshot.Pods[i]
		if pod.DeletedUnix != 0 {
			continue
		}
		shape := v.in.Snapshot.ShapeOf(pod)
		if shield := pack.Shielded(shape.DoNotDisrupt, pod.StartedUnix); shield.Active(v.now) {
			blocked.shielded = append(blocked.shielded, pod.Key())
			blocked.forGood = blocked.forGood || shield.UntilUnix == 0
			blocked.until = max(blocked.until, shield.UntilUnix)
		}
		if !pack.Tolerates(shape.Tolerations, disruptedTaint) && shape.OwnerKind != "Node" {
			blocked.add(pod, v.budgetsOf(pod), v.in.Snapshot.Budgets)
		}
	}
	if len(blocked.shielded) > 0 {
		until := ""
		if !blocked.forGood {
			until = " until " + clock(blocked.until)
			v.replanAt(blocked.until)
		}
		node.forbid(forbids, PodDoNotDisrupt, "%s must not be disrupted%s (%s)", some("pod", blocked.shielded), until, model.AnnotationNotDisrupt)
	}
	for _, b := range blocked.byBudgets {
		if len(b.budgets) > 1 {
			node.forbid(forbids, TooManyBudgets, "PodDisruptionBudgets %s all select %s, and the Eviction API refuses a pod that several select", strings.Join(b.budgets, ", "), some("pod", b.pods))
		} else {
			node.forbid(forbids, DisruptionBudget, "PodDisruptionBudget %s allows no disruption now, and selects %s", b.budgets[0], some("pod", b.pods))
		}
	}
}

var disruptedTaint = model.Taint{Key: model.TaintDisrupted, Effect: model.NoSchedule}

// guarded are the pods of a node that must not be disturbed now, with why.
type guarded struct {
	shielded  []string // by do-not-disrupt, by key
	forGood   bool     // one of them for good, or until it has started
	until     int64    // the last end of the others' time; 0 = there is none
	byBudgets []budgetedPods
}

// budgetedPods are pods that PodDisruptionBudgets are about.
type budgetedPods struct {
	budgets []string // namespace/name
	pods    []string // by key
}

// add notes a pod that the eviction API would not let go now. The budgets are those that are about it.
func (g *guarded) add(pod *model.Pod, about []int, budgets []model.PDB) {
	if len(about) == 0 {
		return
	}
	if b := &budgets[about[0]]; len(about) == 1 && (b.DisruptionsAllowed > 0 || b.AlwaysEvictUnready && !pod.Ready) {
		return
	}
	var names []string
	for _, i := range about {
		names = append(names, budgets[i].Namespace+"/"+budgets[i].Name)
	}
	i := slices.IndexFunc(g.byBudgets, func(b budgetedPods) bool { return slices.Equal(b.budgets, names) })
	if i < 0 {
		i = len(g.byBudgets)
		g.byBudgets = append(g.byBudgets, budgetedPods{budgets: names})
	}
	g.byBudgets[i].pods = append(g.byBudgets[i].pods, pod.Key())
}

// quiet reports whether consolidateAfter has passed since the node's last pod event.
func (v *planner) quiet(node *poolNode) bool {
	if node.Pool == nil || node.Pool.Disruption.ConsolidateAfterSeconds == nil {
		return false
	}
	return v.unquiet(node) <= v.now
}

// lastEvent returns when a pod that is no daemon last came to the node or left it, or it was initialized.
func (v *planner) lastEvent(node *poolNode) int64 {
	last := max(node.Node.PodEventUnix, initializedUnix(node))
	for _, i := range v.podsOf[node.name()] {
		pod := &v.in.Snapshot.Pods[i]
		if kind := v.in.Snapshot.ShapeOf(pod).OwnerKind; kind != "DaemonSet" && kind != "Node" {
			last = max(last, cmp.Or(pod.StartedUnix, pod.CreatedUnix))
		}
	}
	return min(last, v.now)
}

// initializedUnix returns since when the node serves pods, as far as anybody knows.
func initializedUnix(node *poolNode) int64 {
	if node.Claim == nil {
		return node.Node.CreatedUnix
	}
	return cmp.Or(node.Claim.InitializedUnix, node.Claim.RegisteredUnix, node.Node.CreatedUnix, node.Claim.CreatedUnix)
}

// blockByTime holds nodes that pods came to or left a moment ago, or that are new.
func (v *planner) blockByTime(node *poolNode) {
	if node.Pool == nil || node.Claim == nil || node.Pool.Replicas != nil || node.Pool.Disruption.ConsolidateAfterSeconds == nil {
		return
	}
	after := *node.Pool.Disruption.ConsolidateAfterSeconds
	switch young, busy := later(initializedUnix(node), after), v.unquiet(node); {
	case after <= 0:
	case young > v.now && busy <= young:
		v.replanAt(young)
		node.forbid(graceful, Young, "it was initialized less than %s ago (consolidateAfter)", time.Duration(min(after, 1<<33))*time.Second)
	case busy > v.now:
		v.replanAt(busy)
		node.forbid(graceful, NotQuiet, "a pod came or went less than %s ago (consolidateAfter)", time.Duration(min(after, 1<<33))*time.Second)
	default:
		if until := v.poolQuiet(node, busy); until > v.now {
			v.replanAt(until)
			node.forbid(consolidating, PoolNotQuiet, "pods came or went on other nodes of NodePool %s less than %s later: the nodes are evaluated together",
				node.Pool.Name, time.Duration(min(after, togetherSeconds))*time.Second)
		}
	}
}

// togetherSeconds is within which time pod events of a NodePool are taken for one: a workload that is scaled in takes pods off one
// node after another, and what replaces the first is less than what replaces all of them.
const togetherSeconds = 30

// poolQuiet returns until when a node waits for others of its NodePool whose consolidateAfter ends a little later than its own, at a
// time: togetherSeconds at most, and no longer than consolidateAfter; 0 = for none.
func (v *planner) poolQuiet(node *poolNode, own int64) (until int64) {
	if v.busyUntil == nil {
		v.busyUntil = map[string][]int64{}
		for _, other := range v.poolNodes {
			if at := v.unquiet(other); at > v.now && other.Claim != nil && other.Pool.Replicas == nil {
				v.busyUntil[other.Pool.Name] = append(v.busyUntil[other.Pool.Name], at)
			}
		}
		for _, times := range v.busyUntil {
			slices.Sort(times)
		}
	}
	times := v.busyUntil[node.Pool.Name]
	last := later(own, min(*node.Pool.Disruption.ConsolidateAfterSeconds, togetherSeconds))
	i, found := slices.BinarySearch(times, last)
	switch {
	case found:
		return last
	case i == 0:
		return 0
	}
	return times[i-1]
}

// expect holds a node that pods have their place on soon: those that were planned onto it and still wait, for a minute after it
// could take them, and those that core/pack would put there.
func (v *planner) expect(node *poolNode) {
	if node.Claim != nil && len(node.Claim.Pods) > 0 {
		if until := initializedUnix(node) + promisedSeconds; until > v.now {
			for _, ref := range node.Claim.Pods {
				if v.waits(ref) {
					node.expects = append(node.expects, ref.Key())
					v.replanAt(until)
				}
			}
		}
	}
	if len(node.expects) == 0 {
		return
	}
	slices.Sort(node.expects)
	node.expects = slices.Compact(node.expects)
	i := slices.IndexFunc(node.blockers, func(h blocker) bool { return h.Code == PodsExpected })
	if i < 0 {
		i = len(node.blockers)
		node.blockers = append(node.blockers, blocker{forbids: budgeted})
	}
	node.blockers[i].KeptReason = model.KeptReason{Code: PodsExpected, Message: "it is planned to take " + some("pod", node.expects)}
	v.allow(node)
}

// waits reports whether the pod is there and has no node yet.
func (v *planner) waits(ref model.PodRef) bool {
	pods := v.in.Snapshot.Pods
	if v.unbound == nil {
		v.unbound = make(map[model.PodRef]bool)
		for i := range pods {
			if pods[i].NodeName == "" && pods[i].Buffer == "" && !pods[i].Terminal() && pods[i].DeletedUnix == 0 {
				v.unbound[pods[i].Ref()] = true
			}
		}
	}
	return v.unbound[ref]
}

// some names things, five at most.
func some(what string, names []string) string {
	const most = 5
	if len(names) != 1 {
		what += "s"
	}
	out := what + " " + strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		out += fmt.Sprintf(" and %d more", more)
	}
	return out
}

// clock writes a moment for people, in UTC.
func clock(unix int64) string { return time.Unix(unix, 0).UTC().Format(time.RFC3339) }

// explain returns why the node stays: all that forbids what there is reason for and what the plan found, or else all that is
// known.
func (v *planner) explain(node *poolNode) []model.KeptReason {
	if out := append(reasonsOf(node.blockers, node.eligible), node.why...); len(out) > 0 {
		return out
	}
	if out := reasonsOf(node.blockers, everything); len(out) > 0 {
		return out
	}
	return []model.KeptReason{{Code: NoSavings, Message: "there is no reason to disrupt it"}}
}
