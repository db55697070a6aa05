package reclaim

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Candidate is a node that may be given back by choice.
type Candidate struct {
	Node  *model.Node
	Claim *model.Claim
	Pool  *model.Pool
	Pods  []int          // that will be made anew elsewhere, headroom of CapacityBuffers included, as indexes into the snapshot's pods, by key
	Price model.MicroUSD // per hour, of its offer; 0 = not known
	// For are the reasons it may be given back for now, budgets aside, in the order they are tried; empty = none.
	For []string
	// CostMilli is what disturbing its pods costs, in thousandths of an ordinary pod: one for the node, and for each pod what its
	// priority and deletion cost make of one, none below 0.
	CostMilli int64
	Empty     bool   // no pod of it costs anything to disturb, and no CapacityBuffer has headroom there
	Quiet     bool   // consolidateAfter has passed since its last pod event
	Drift     string // why a machine launched now would differ; empty = it would not
	DriftUnix int64
	Expired   bool // older than expireAfter, of a pool whose expiry obeys budgets
}

// Candidates returns the nodes of pools that may be given back for some reason now, by name, and every other one with all that
// speaks against it. Budgets of the pools are not looked at: how many may go at a time is the plan's.
func Candidates(in *Input) ([]Candidate, []model.KeptNode) {
	v := newView(in, nil)
	candidates, kept := []Candidate{}, []model.KeptNode{}
	for _, m := range v.members {
		if m.allowed != 0 {
			candidates = append(candidates, m.Candidate)
			continue
		}
		kept = append(kept, model.KeptNode{Node: m.name(), Reasons: v.explain(m)})
	}
	return candidates, kept
}

// promisedSeconds is for how long after its initialisation pods that wait are expected on the node they were planned onto.
const promisedSeconds = 60

// judge finds what there is reason to give the member back for, and everything that forbids it.
func (v *view) judge(m *member) {
	m.Quiet = v.quiet(m)
	v.findReasons(m)
	if m.could&(consolidating|eventual) != 0 {
		m.could |= replacing
	}
	v.holdByState(m)
	v.holdByPeople(m)
	v.holdByPool(m)
	v.holdByPods(m)
	v.holdByTime(m)
	v.holdByHistory(m)
	v.expect(m)
	v.allow(m)
}

// allow works out what is left, once all that forbids is known.
func (v *view) allow(m *member) {
	m.allowed, m.For = m.could, nil
	for _, h := range m.holds {
		m.allowed &^= h.forbids
	}
	if m.allowed&(consolidating|eventual) == 0 {
		m.allowed &^= replacing
	}
	for _, each := range methods {
		if m.allowed&each.method != 0 {
			m.For = append(m.For, each.reason)
		}
	}
}

// forbid notes why the member stays.
func (m *member) forbid(by method, code, format string, values ...any) {
	m.holds = append(m.holds, hold{model.KeptReason{Code: code, Message: fmt.Sprintf(format, values...)}, by})
}

// heldBackBy returns how many things forbid the method.
func (m *member) heldBackBy(by method) (n int) {
	for _, h := range m.holds {
		if h.forbids&by != 0 {
			n++
		}
	}
	return n
}

// findReasons finds what there is reason for, whatever forbids it. Beyond its size a static pool loses whichever of its nodes
// costs least to lose, so that there is reason for every one of them.
func (v *view) findReasons(m *member) {
	if m.Claim == nil {
		return
	}
	if m.Claim.Drift != "" {
		m.Drift, m.DriftUnix, m.could = m.Claim.Drift, m.Claim.DriftUnix, m.could|drifting
	}
	if m.Pool == nil {
		return
	}
	if m.Pool.Replicas != nil {
		if v.excess(m.Pool) > 0 {
			m.could |= shrinking
		}
	} else if m.Empty {
		m.could |= emptying
	} else {
		m.could |= consolidating
	}
	if m.Pool.Annotations[model.AnnotationGentleExpiry] != "true" || m.Claim.ExpireSeconds == nil {
		return
	}
	since := cmp.Or(m.Claim.CreatedUnix, m.Claim.LaunchedUnix)
	if since <= 0 {
		return
	}
	if until := later(since, *m.Claim.ExpireSeconds); until > v.now {
		v.lookAgain(until)
	} else {
		m.Expired, m.could = true, m.could|expiring
	}
}

// holdByState holds nodes that are not the ledger's, not ready to be judged, or going already.
func (v *view) holdByState(m *member) {
	claim := m.Claim
	switch {
	case claim == nil:
		m.forbid(everything, NoClaim, "the ledger has no claim for node %s, so that it is nobody's to give back", m.name())
	case claim.Pool != m.Node.Pool():
		m.forbid(everything, NoClaim, "node %s says that it is of NodePool %s and its claim %s that it is of %q", m.name(), m.Node.Pool(), claim.Name, claim.Pool)
	case claim.Ending():
		m.forbid(everything, Ending, "claim %s is %s", claim.Name, claim.State)
	case m.Node.DeletedUnix != 0:
		m.forbid(everything, Ending, "node %s is being deleted", m.name())
	case v.deleted(claim):
		m.forbid(everything, Ending, "NodeClaim %s is being deleted", claim.Name)
	case m.command != nil:
		m.forbid(everything, InCommand, "command %s (%s) gives it back", m.command.ID, m.command.Reason)
	case claim.State != model.Initialized || !m.Node.Initialized():
		m.forbid(everything, NotInitialized, "claim %s is not initialized", claim.Name)
	}
}

// deleted reports whether the claim's NodeClaim object is being deleted.
func (v *view) deleted(claim *model.Claim) bool {
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

// holdByPeople holds nodes that people have in so many words asked to leave alone.
func (v *view) holdByPeople(m *member) {
	for i := range v.stops {
		s := &v.stops[i]
		if s.Scope == model.StopPool && s.Pool != m.Node.Pool() {
			continue
		}
		where := "in the " + string(s.Scope)
		if s.Scope == model.StopPool {
			where = "in NodePool " + s.Pool
		}
		m.forbid(everything, Stopped, "disruption is stopped %s%s", where, whySo(s))
	}
	if m.Node.Annotations[model.AnnotationNotDisrupt] == "true" {
		m.forbid(budgeted, NodeDoNotDisrupt, "node %s has the annotation %s: true", m.name(), model.AnnotationNotDisrupt)
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

// holdByPool holds nodes as their NodePool and its class say.
func (v *view) holdByPool(m *member) {
	pool := m.Pool
	switch {
	case pool == nil:
		m.forbid(everything, PoolMissing, "there is no NodePool %s", m.Node.Pool())
		return
	case pool.DeletedUnix != 0:
		m.forbid(everything, PoolMissing, "NodePool %s is being deleted", pool.Name)
	}
	class := pool.Template.ClassName
	if why := v.in.ClassProblems[class]; why != "" {
		m.forbid(budgeted, ClassNotReady, "EC2NodeClass %s: %s", class, why)
	} else if len(v.in.Catalogs[class]) == 0 {
		m.forbid(budgeted, ClassNotReady, "EC2NodeClass %s: there are no instance types to launch", class)
	}
	if pool.Replicas != nil {
		m.forbid(graceful, Static, "NodePool %s has a fixed size (spec.replicas)", pool.Name)
		return
	}
	if pool.Disruption.ConsolidateAfterSeconds == nil {
		m.forbid(graceful, NeverConsolidate, "spec.disruption.consolidateAfter of NodePool %s is Never", pool.Name)
	}
	if pool.Disruption.Policy == "WhenEmpty" && !m.Empty {
		m.forbid(consolidating, WhenEmpty, "NodePool %s gives back empty nodes only (spec.disruption.consolidationPolicy)", pool.Name)
	}
	if m.Claim == nil || m.Empty {
		return
	}
	if m.Claim.InstanceType == "" || m.Claim.Zone == "" || m.Claim.CapacityType == "" || m.Price <= 0 {
		m.forbid(consolidating, UnknownMachine, "what claim %s costs is not known: it is %q of type %q in zone %q", m.Claim.Name, m.Claim.CapacityType, m.Claim.InstanceType, m.Claim.Zone)
	}
}

// holdByPods holds nodes that pods of must not be disturbed now. Where the claim has a terminationGracePeriod that is no reason
// to keep what drifted.
func (v *view) holdByPods(m *member) {
	forbids := graceful
	if m.Claim == nil || m.Claim.GraceSeconds == nil {
		forbids |= eventual
	}
	var blocked guarded
	for _, i := range v.podsOf[m.name()] {
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
			v.lookAgain(blocked.until)
		}
		m.forbid(forbids, PodDoNotDisrupt, "%s must not be disrupted%s (%s)", some("pod", blocked.shielded), until, model.AnnotationNotDisrupt)
	}
	for _, b := range blocked.byBudgets {
		if len(b.budgets) > 1 {
			m.forbid(forbids, TooManyBudgets, "PodDisruptionBudgets %s are all about %s, and the API evicts no pod of several", strings.Join(b.budgets, ", "), some("pod", b.pods))
		} else {
			m.forbid(forbids, DisruptionBudget, "PodDisruptionBudget %s allows no disruption now, and is about %s", b.budgets[0], some("pod", b.pods))
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
func (v *view) quiet(m *member) bool {
	if m.Pool == nil || m.Pool.Disruption.ConsolidateAfterSeconds == nil {
		return false
	}
	return v.unquiet(m) <= v.now
}

// lastEvent returns when a pod that is no daemon last came to the node or left it, or it was initialised.
func (v *view) lastEvent(m *member) int64 {
	last := max(m.Node.PodEventUnix, initializedUnix(m))
	for _, i := range v.podsOf[m.name()] {
		pod := &v.in.Snapshot.Pods[i]
		if kind := v.in.Snapshot.ShapeOf(pod).OwnerKind; kind != "DaemonSet" && kind != "Node" {
			last = max(last, cmp.Or(pod.StartedUnix, pod.CreatedUnix))
		}
	}
	return min(last, v.now)
}

// initializedUnix returns since when the node serves pods, as far as anybody knows.
func initializedUnix(m *member) int64 {
	if m.Claim == nil {
		return m.Node.CreatedUnix
	}
	return cmp.Or(m.Claim.InitializedUnix, m.Claim.RegisteredUnix, m.Node.CreatedUnix, m.Claim.CreatedUnix)
}

// holdByTime holds nodes that pods came to or left a moment ago, or that are new.
func (v *view) holdByTime(m *member) {
	if m.Pool == nil || m.Claim == nil || m.Pool.Replicas != nil || m.Pool.Disruption.ConsolidateAfterSeconds == nil {
		return
	}
	after := *m.Pool.Disruption.ConsolidateAfterSeconds
	switch young, busy := later(initializedUnix(m), after), v.unquiet(m); {
	case after <= 0:
	case young > v.now && busy <= young:
		v.lookAgain(young)
		m.forbid(graceful, Young, "it was initialized less than %s ago (consolidateAfter)", time.Duration(min(after, 1<<33))*time.Second)
	case busy > v.now:
		v.lookAgain(busy)
		m.forbid(graceful, NotQuiet, "a pod came or went less than %s ago (consolidateAfter)", time.Duration(min(after, 1<<33))*time.Second)
	}
}

// expect holds a node that pods have their place on soon: those that were planned onto it and still wait, for a minute after it
// could take them, and those that core/pack would put there.
func (v *view) expect(m *member) {
	if m.Claim != nil && len(m.Claim.Pods) > 0 {
		if until := initializedUnix(m) + promisedSeconds; until > v.now {
			for _, ref := range m.Claim.Pods {
				if v.waits(ref) {
					m.expects = append(m.expects, ref.Key())
					v.lookAgain(until)
				}
			}
		}
	}
	if len(m.expects) == 0 {
		return
	}
	slices.Sort(m.expects)
	m.expects = slices.Compact(m.expects)
	i := slices.IndexFunc(m.holds, func(h hold) bool { return h.Code == PodsExpected })
	if i < 0 {
		i = len(m.holds)
		m.holds = append(m.holds, hold{forbids: budgeted})
	}
	m.holds[i].KeptReason = model.KeptReason{Code: PodsExpected, Message: "it is to take " + some("pod", m.expects)}
	v.allow(m)
}

// waits reports whether the pod is there and has no node yet.
func (v *view) waits(ref model.PodRef) bool {
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

// explain returns why the member stays: all that forbids what there is reason for and what the plan found, or else all that is
// known.
func (v *view) explain(m *member) []model.KeptReason {
	if out := append(reasonsOf(m.holds, m.could), m.why...); len(out) > 0 {
		return out
	}
	if out := reasonsOf(m.holds, everything); len(out) > 0 {
		return out
	}
	return []model.KeptReason{{Code: NothingToGain, Message: "there is no reason to give it back"}}
}
