package disruption

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// evaluator finds what there is reason to disrupt nodes for, and everything that forbids it.
type evaluator struct {
	*cluster
	history   *history
	surplus   map[string]int
	replan    *replan
	pdbs      []topology.Peers             // by PodDisruptionBudget; whom it is about
	pdbsOf    map[int][]int                // PodDisruptionBudgets that are about a shape, as indexes
	busyUntil map[string][]int64           // by pool, until when consolidateAfter keeps its nodes; nil = not known yet
	unbound   map[model.PodRef]bool        // pods that have no node yet; nil = not known yet
	shifts    []*model.UnavailableOffering // of zonal shifts that are in force
	replicas  map[string]int               // pods of each workload; nil = not counted yet
}

// newEvaluator reads the selectors of PodDisruptionBudgets. One that cannot be read is about every pod of its
// namespace.
func newEvaluator(c *cluster, h *history, surplus map[string]int, replan *replan) *evaluator {
	e := &evaluator{cluster: c, history: h, surplus: surplus, replan: replan, pdbsOf: make(map[int][]int)}
	for i := range c.in.UnavailableOfferings {
		if o := &c.in.UnavailableOfferings[i]; o.ZoneID != "" && o.UntilUnix > e.now {
			e.shifts = append(e.shifts, o)
		}
	}
	for i := range c.in.Snapshot.Budgets {
		b := &c.in.Snapshot.Budgets[i]
		peers, err := topology.PeersOfSelector(b.Namespace, b.Selector)
		if err != nil {
			peers, _ = topology.PeersOfSelector(b.Namespace, &model.Selector{})
		}
		e.pdbs = append(e.pdbs, peers)
	}
	return e
}

// budgetsOf returns the PodDisruptionBudgets that are about a pod, as indexes, by name.
func (e *evaluator) budgetsOf(pod *model.Pod) []int {
	known, read := e.pdbsOf[pod.Shape]
	if read {
		return known
	}
	shape := e.in.Snapshot.ShapeOf(pod)
	for i := range e.pdbs {
		if e.pdbs[i].Match(shape.Namespace, shape.Labels) {
			known = append(known, i)
		}
	}
	slices.SortStableFunc(known, func(a, b int) int {
		return strings.Compare(e.in.Snapshot.Budgets[a].Name, e.in.Snapshot.Budgets[b].Name)
	})
	e.pdbsOf[pod.Shape] = known
	return known
}

// evaluate finds what there is reason to disrupt the node for, and everything that forbids it.
func (e *evaluator) evaluate(node *poolNode) {
	after := node.Pool != nil && node.Pool.Disruption.ConsolidateAfterSeconds != nil
	node.Quiet = after && e.churnUntil(node) <= e.now
	e.findReasons(node)
	if node.eligible&(consolidating|eventual) != 0 {
		node.eligible |= replacing
	}
	e.blockByState(node)
	e.blockByPeople(node)
	e.blockByShift(node)
	e.blockByPool(node)
	e.blockByPods(node)
	e.blockByWindows(node)
	e.blockBySingles(node)
	e.blockByTime(node)
	e.blockByHistory(node)
	e.expectPlanned(node)
	node.blockByExpected()
	node.allow()
}

// findReasons finds what there is reason for, whatever forbids it. Beyond its size a static pool loses whichever of its
// nodes costs least to lose, so that there is reason for every one of them.
func (e *evaluator) findReasons(node *poolNode) {
	if node.Claim == nil {
		return
	}
	if node.Claim.Drift != "" {
		node.eligible |= drifting
	}
	switch {
	case node.Pool == nil:
		return
	case node.Pool.Replicas == nil && node.Empty:
		node.eligible |= emptying
	case node.Pool.Replicas == nil:
		node.eligible |= consolidating
	case e.surplus[node.Pool.Name] > 0:
		node.eligible |= shrinking
	}
	since := cmp.Or(node.Claim.CreatedUnix, node.Claim.LaunchedUnix)
	if node.Pool.Annotations[model.AnnotationGentleExpiry] != "true" || node.Claim.ExpireSeconds == nil || since <= 0 {
		return
	}
	if until := later(since, *node.Claim.ExpireSeconds); until > e.now {
		e.replan.at(until)
	} else {
		node.eligible |= expiring
	}
}

// blockByState blocks nodes that are not the ledger's, not ready to be evaluated, or going already.
func (e *evaluator) blockByState(node *poolNode) {
	claim := node.Claim
	switch {
	case claim == nil:
		node.forbid(everything, NoClaim, "the ledger has no claim for node %s, so it is not managed", node.name())
	case claim.Pool != node.Node.Pool():
		node.forbid(everything, NoClaim, "node %s says that it is of NodePool %s and its claim %s that it is of %q",
			node.name(), node.Node.Pool(), claim.Name, claim.Pool)
	case claim.Ending():
		node.forbid(everything, Ending, "claim %s is %s", claim.Name, claim.State)
	case node.Node.DeletedUnix != 0:
		node.forbid(everything, Ending, "node %s is being deleted", node.name())
	case e.deleted[claim.Name]:
		node.forbid(everything, Ending, "NodeClaim %s is being deleted", claim.Name)
	case node.command != nil:
		node.forbid(everything, InCommand, "command %s (%s) disrupts it", node.command.ID, node.command.Reason)
	case claim.State != model.Initialized || !node.Node.Initialized():
		node.forbid(everything, NotInitialized, "claim %s is not initialized", claim.Name)
	}
}

// blockByShift blocks nodes of zones that the cluster is shifted away from: once the shift is over their capacity is
// needed again, and until then there is none.
func (e *evaluator) blockByShift(node *poolNode) {
	for _, shift := range e.shifts {
		if shift.Shifts(node.Node) {
			node.forbid(everything, ZoneShifted, "a zonal shift of the cluster is in force in its zone %s",
				shift.ZoneID)
			e.replan.at(shift.UntilUnix)
		}
	}
}

// blockByPeople blocks nodes that people have in so many words asked to leave alone.
func (e *evaluator) blockByPeople(node *poolNode) {
	for i := range e.in.Stops {
		s := &e.in.Stops[i]
		where := "the " + string(s.Scope)
		if s.Scope == model.StopPool {
			if s.Pool != node.Node.Pool() {
				continue
			}
			where = "NodePool " + s.Pool
		}
		if s.By != "" {
			where += " by " + s.By
		}
		if s.Why != "" {
			where += ": " + s.Why
		}
		node.forbid(everything, Stopped, "disruption is stopped in %s", where)
	}
	if node.Node.Annotations[model.AnnotationNotDisrupt] == "true" {
		const message = "node %s has the annotation %s: true"
		node.forbid(budgeted, NodeDoNotDisrupt, message, node.name(), model.AnnotationNotDisrupt)
	}
}

// blockByPool blocks nodes as their NodePool and its class say.
func (e *evaluator) blockByPool(node *poolNode) {
	pool := node.Pool
	switch {
	case pool == nil:
		node.forbid(everything, PoolMissing, "there is no NodePool %s", node.Node.Pool())
		return
	case pool.DeletedUnix != 0:
		node.forbid(everything, PoolMissing, "NodePool %s is being deleted", pool.Name)
	}
	class := pool.Template.ClassName
	if why := e.in.ClassProblems[class]; why != "" {
		node.forbid(budgeted, ClassNotReady, "EC2NodeClass %s: %s", class, why)
	} else if len(e.in.Catalogs[class]) == 0 {
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
		node.forbid(consolidating, OnlyWhenEmpty,
			"NodePool %s consolidates empty nodes only (spec.disruption.consolidationPolicy)", pool.Name)
	}
	claim := node.Claim
	if claim == nil || node.Empty {
		return
	}
	if claim.InstanceType == "" || claim.Zone == "" || claim.CapacityType == "" || node.Price <= 0 {
		node.forbid(consolidating, UnknownInstance, "the price of claim %s is unknown: it is %q of type %q in zone %q",
			claim.Name, claim.CapacityType, claim.InstanceType, claim.Zone)
	}
}

// blockByPods blocks nodes that pods of must not be disturbed now. Where the claim has a terminationGracePeriod that is
// no reason to keep what drifted.
func (e *evaluator) blockByPods(node *poolNode) {
	forbids := graceful
	if node.Claim == nil || node.Claim.GraceSeconds == nil {
		forbids |= eventual
	}
	if shielded, untils := e.shielded(node); len(shielded) > 0 {
		var keys []string
		for _, pod := range shielded {
			keys = append(keys, pod.Key())
		}
		until := ""
		if !slices.Contains(untils, 0) {
			until = " until " + clock(slices.Max(untils))
			e.replan.at(slices.Max(untils))
		}
		const message = "%s must not be disrupted%s (%s)"
		node.forbid(forbids, PodDoNotDisrupt, message, some("pod", keys), until, model.AnnotationNotDisrupt)
	}
	for _, b := range e.blockedByBudgets(node) {
		if len(b.budgets) > 1 {
			node.forbid(forbids, TooManyBudgets,
				"PodDisruptionBudgets %s all select %s, and the Eviction API refuses a pod that several select",
				strings.Join(b.budgets, ", "), some("pod", b.pods))
		} else {
			node.forbid(forbids, DisruptionBudget, "PodDisruptionBudget %s allows no disruption now, and selects %s",
				b.budgets[0], some("pod", b.pods))
		}
	}
}

// budgetedPods are pods that PodDisruptionBudgets are about.
type budgetedPods struct {
	budgets []string // namespace/name
	pods    []string // by key
}

// blockedByBudgets returns the node's pods that the Eviction API would not let go now, by the PodDisruptionBudgets that
// select them.
func (e *evaluator) blockedByBudgets(node *poolNode) (out []budgetedPods) {
	for _, i := range e.podsOf[node.name()] {
		pod := &e.in.Snapshot.Pods[i]
		shape := e.in.Snapshot.ShapeOf(pod)
		if pod.DeletedUnix != 0 || shape.OwnerKind == "Node" || pack.Tolerates(shape.Tolerations, disruptedTaint) {
			continue
		}
		about := e.budgetsOf(pod)
		if len(about) == 0 {
			continue
		}
		b := &e.in.Snapshot.Budgets[about[0]]
		if len(about) == 1 && (b.DisruptionsAllowed > 0 || b.AlwaysEvictUnready && !pod.Ready) {
			continue
		}
		var names []string
		for _, i := range about {
			names = append(names, e.in.Snapshot.Budgets[i].Namespace+"/"+e.in.Snapshot.Budgets[i].Name)
		}
		n := slices.IndexFunc(out, func(b budgetedPods) bool { return slices.Equal(b.budgets, names) })
		if n < 0 {
			n = len(out)
			out = append(out, budgetedPods{budgets: names})
		}
		out[n].pods = append(out[n].pods, pod.Key())
	}
	return out
}

// blockByTime blocks nodes that pods came to or left a moment ago, or that are new.
func (e *evaluator) blockByTime(node *poolNode) {
	if node.Pool == nil || node.Claim == nil || node.Pool.Replicas != nil ||
		node.Pool.Disruption.ConsolidateAfterSeconds == nil {
		return
	}
	after := *node.Pool.Disruption.ConsolidateAfterSeconds
	switch young, busy := later(node.initializedUnix(), after), e.churnUntil(node); {
	case after <= 0:
	case young > e.now && busy <= young:
		e.replan.at(young)
		node.forbid(graceful, Young, "it was initialized less than %s ago (consolidateAfter)", seconds(after))
	case busy > e.now:
		e.replan.at(busy)
		node.forbid(graceful, NotQuiet, "a pod came or went less than %s ago (consolidateAfter)", seconds(after))
	default:
		if until := e.poolQuiet(node, busy); until > e.now {
			e.replan.at(until)
			node.forbid(consolidating, PoolNotQuiet,
				"pods came or went on other nodes of NodePool %s less than %s later: the nodes are evaluated together",
				node.Pool.Name, seconds(min(after, togetherSeconds)))
		}
	}
}

func seconds(n int64) time.Duration { return time.Duration(min(n, 1<<33)) * time.Second }

// togetherSeconds is within which time pod events of a NodePool are taken for one: a workload that is scaled in takes
// pods off one node after another, and what replaces the first is less than what replaces all of them.
const togetherSeconds = 30

// poolQuiet returns until when a node waits for others of its NodePool whose consolidateAfter ends a little later than
// its own, at a time: togetherSeconds at most, and no longer than consolidateAfter; 0 = for none.
func (e *evaluator) poolQuiet(node *poolNode, own int64) (until int64) {
	if e.busyUntil == nil {
		e.busyUntil = map[string][]int64{}
		for _, other := range e.poolNodes {
			if at := e.churnUntil(other); at > e.now && other.Claim != nil && other.Pool.Replicas == nil {
				e.busyUntil[other.Pool.Name] = append(e.busyUntil[other.Pool.Name], at)
			}
		}
		for _, times := range e.busyUntil {
			slices.Sort(times)
		}
	}
	times := e.busyUntil[node.Pool.Name]
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

// blockByHistory blocks nodes that disruption went wrong of lately, or would revert what was decided lately.
func (e *evaluator) blockByHistory(node *poolNode) {
	if node.Claim == nil || node.command != nil {
		return
	}
	for i := range e.in.Commands { // its pods are on others' nodes still, so that it seems unneeded
		if c := &e.in.Commands[i]; c.State.Going() && launched(c, node.Claim.Name) {
			node.forbid(everything, InCommand, "command %s (%s) launched it as a replacement", c.ID, c.Reason)
		}
	}
	if until := e.history.broken(node.Claim.Class); until > e.now {
		e.replan.at(until)
		node.forbid(everything, Breaker,
			"replacements of EC2NodeClass %s failed repeatedly; none of its nodes is disrupted before %s",
			node.Claim.Class, clock(until))
	}
	if until, last := e.history.backoff(node.Claim.Name, false); until > e.now {
		e.replan.at(until)
		node.forbid(budgeted|replacing, TriedLately,
			"command %s, which was to disrupt it, was undone (%s); it is tried again at %s",
			last.ID, last.FailureCode, clock(until))
	} else if until, last := e.history.backoff(node.Claim.Name, true); until > e.now {
		e.replan.at(until)
		node.skipReplacement = len(last.FailedOfferings) > 0
		node.forbid(replacing, TriedLately,
			"command %s, which was to replace it, was undone (%s); a replacement is tried again at %s",
			last.ID, last.FailureCode, clock(until))
	}
	for i := range e.in.Commands {
		c := &e.in.Commands[i]
		if until := e.history.recent(c); until > 0 && e.history.cameOf(node, c) {
			e.replan.at(until)
			node.forbid(consolidating, RevertsRecent, "it was launched because of command %s; "+
				"the inputs of that decision have not changed since, so it is left alone until %s", c.ID, clock(until))
			return
		}
	}
}

// promisedSeconds is for how long after its initialization pods that wait are expected on the node they were planned
// onto.
const promisedSeconds = 60

// expectPlanned has the node expect the pods that were planned onto it and still wait, for a minute after it could take
// them.
func (e *evaluator) expectPlanned(node *poolNode) {
	if node.Claim == nil || len(node.Claim.Pods) == 0 {
		return
	}
	until := node.initializedUnix() + promisedSeconds
	if until <= e.now {
		return
	}
	if e.unbound == nil {
		e.unbound = make(map[model.PodRef]bool)
		for i := range e.in.Snapshot.Pods {
			pod := &e.in.Snapshot.Pods[i]
			if pod.NodeName == "" && pod.Buffer == "" && !pod.Terminal() && pod.DeletedUnix == 0 {
				e.unbound[pod.Ref()] = true
			}
		}
	}
	for _, ref := range node.Claim.Pods {
		if e.unbound[ref] {
			node.expects = append(node.expects, ref.Key())
			e.replan.at(until)
		}
	}
}
