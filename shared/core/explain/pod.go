package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// Codes of causes that are not the planner's own.
const (
	NotThere        = "NotThere"       // no such pod, node, claim or instance is known
	Ended           = "Ended"          // the pod has run to its end
	BeingDeleted    = "BeingDeleted"   // it is on its way out
	Bound           = "Bound"          // it has its node
	Moving          = "Moving"         // it has a node that is being emptied, and will be made anew elsewhere
	SystemWorkload  = "SystemWorkload" // it keeps no node, and none is launched for it
	OfItsNode       = "OfItsNode"      // it belongs to one node: a DaemonSet's, or a static pod
	Gated           = "Gated"          // it has scheduling gates left
	Preempting      = "Preempting"     // kube-scheduler makes room for it on a node
	OtherScheduler  = "OtherScheduler" // it is another scheduler's, which has not looked at it
	NotScheduledYet = "NotLookedAt"    // kube-scheduler has not found it unschedulable
	Paused          = "Paused"         // people want nothing to be launched in the cluster
	SwitchedOff     = "SwitchedOff"    // people want nothing to be launched in the region
	LedgerLost      = "LedgerLost"     // what there is has to be taken into the ledger first
	Quarantined     = "Quarantined"    // planning panicked over it, or over its NodePool
	Launching       = "Launching"      // an instance for it was asked for
	Joining         = "Joining"        // its instance runs and no node of it has joined
	NodeNotReady    = "NodeNotReady"   // its node has joined and is not ready for pods
	StartupTaint    = "StartupTaint"   // its node waits for somebody to take a startup taint off
	DeviceMissing   = "DeviceMissing"  // its node does not offer a resource yet that it was launched for
	FitsThere       = "FitsThere"      // there is room for it on a node
	LaunchFailed    = "LaunchFailed"   // an instance was asked for and did not come
	Throttled       = "Throttled"      // EC2 asked for less
	WatcherSilent   = "WatcherSilent"  // nobody reports new pods, so that they are found once a minute
	Batching        = "Batching"       // more like it are waited for, for seconds
	Planned         = "Planned"        // an instance is planned for it
	Overdue         = "Overdue"        // one has been, for too long
	PlannedNext     = "PlannedNext"    // more pods wait than one plan takes
)

// What is waited for, in seconds.
const (
	silentSeconds   = 45  // age of the watcher's heartbeat from which provisioning lists the cluster itself
	joinSeconds     = 900 // age from which an instance that has not joined is given up by default
	slowSeconds     = 180 // age from which an instance that has not joined is worth a look
	batchSeconds    = 10  // a batch is closed after 5 s, and its decision takes less than as long
	overdueSeconds  = 180 // two resyncs, and what they take
	lostSeconds     = 180 // how long nothing is launched after the ledger was lost
	recentSeconds   = 600 // how long a failed launch explains a wait
	quarantineCount = 3   // accusations from which something is left out from the start
)

// maxEvents is how many events an answer has.
const maxEvents = 8

// PodAnswer says why a pod waits, or where it is.
type PodAnswer struct {
	Pod     string         `json:"pod"` // namespace/name
	UID     string         `json:"uid,omitempty"`
	AtUnix  int64          `json:"at"`
	Waits   bool           `json:"waits"` // it has no node and is to have one
	Cause   Cause          `json:"cause"`
	Then    *Fit           `json:"then,omitempty"`  // what it would get once the nearest NodePool's obstacles are gone, or gets
	Pools   []PoolWhy      `json:"pools,omitempty"` // the nearest first; empty where NodePools have nothing to do with it
	Similar []string       `json:"near,omitempty"`  // of a pod that is not there: those that may be meant
	Events  []HistoryEvent `json:"events,omitempty"`
}

// PoolWhy is what keeps a pod off the new nodes of NodePools that say the same.
type PoolWhy struct {
	Pools     []string       `json:"nodePools,omitempty"` // empty = whatever the pool
	Obstacles []model.Reason `json:"obstacles"`           // never empty; the first is what the planner says, without the pool's name
	Then      *Fit           `json:"then,omitempty"`      // what it would get without them, as far as that could be found out
}

// Line is the answer in a sentence, or two.
func (a *PodAnswer) Line() string { return line("pod "+a.Pod, &a.Cause) }

func line(subject string, c *Cause) string {
	text := sentence(subject + " " + c.Message)
	if c.Remedy != "" {
		text += " Remedy: " + sentence(c.Remedy)
	}
	return text
}

// sentence ends text as one.
func sentence(text string) string {
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// Pod says why the pod of a namespace and name waits, or where it is.
func Pod(cluster *Cluster, namespace, name string) *PodAnswer {
	answer := &PodAnswer{Pod: namespace + "/" + name, AtUnix: cluster.now()}
	pods := cluster.Ask.Snapshot.Pods
	i := slices.IndexFunc(pods, func(p model.Pod) bool { return p.Namespace == namespace && p.Name == name && p.Buffer == "" })
	if i < 0 {
		answer.Cause, answer.Similar = notThere(cluster, namespace, name)
		answer.Events = lately(cluster, func(p model.PodRef) bool { return p.Namespace == namespace && p.Name == name })
		return answer
	}
	c := &podCase{cluster: cluster, at: i, pod: &pods[i], answer: answer}
	answer.UID = c.pod.UID
	answer.Waits = c.pod.NodeName == "" && !c.pod.Terminal() && c.pod.DeletedUnix == 0
	for _, cause := range podCauses {
		if found := cause(c); found != nil {
			answer.Cause = *found
			break
		}
	}
	answer.Events = lately(cluster, func(p model.PodRef) bool {
		return p.UID == c.pod.UID && p.UID != "" || p.UID == "" && p.Namespace == namespace && p.Name == name
	})
	return answer
}

// podCauses are looked at in this order; the first that holds is the answer. The last one always does.
var podCauses = []func(*podCase) *Cause{
	(*podCase).over, (*podCase).bound, (*podCase).ofItsNode, (*podCase).gated, (*podCase).preempting, (*podCase).unseen, (*podCase).halted,
	(*podCase).coming, (*podCase).planned,
}

// podCase is one pod that is being explained.
type podCase struct {
	cluster *Cluster
	at      int // index of the pod
	pod     *model.Pod
	answer  *PodAnswer
}

func (c *podCase) shape() *model.PodShape {
	shapes := c.cluster.Ask.Snapshot.Shapes
	if c.pod.Shape < 0 || c.pod.Shape >= len(shapes) {
		return &model.PodShape{}
	}
	return &shapes[c.pod.Shape]
}

// over is of pods that need no node any more.
func (c *podCase) over() *Cause {
	switch pod := c.pod; {
	case pod.Terminal():
		what := "succeeded"
		if pod.Phase == model.Failed {
			what = "failed"
		}
		return &Cause{Code: Ended, Message: "has " + what + " and needs no node any more", Node: pod.NodeName}
	case pod.DeletedUnix != 0 && pod.NodeName == "":
		return &Cause{Code: BeingDeleted, Message: "is being deleted and gets no node any more"}
	case pod.DeletedUnix != 0:
		return &Cause{Code: BeingDeleted, Message: fmt.Sprintf("is being deleted; it ends on node %s by %s", pod.NodeName, stamp(pod.DeletedUnix)), Node: pod.NodeName}
	}
	return nil
}

// bound is of pods that have a node.
func (c *podCase) bound() *Cause {
	pod := c.pod
	if pod.NodeName == "" {
		return nil
	}
	node := c.cluster.node(pod.NodeName)
	since := cmp.Or(pod.StartedUnix, pod.CreatedUnix)
	from := ""
	if since != 0 {
		from = " since " + stamp(since)
	}
	out := &Cause{Code: Bound, Since: since, Node: pod.NodeName, Message: "is not pending: it is bound to node " + pod.NodeName + from}
	if node == nil {
		out.Message = fmt.Sprintf("is bound to node %s, which does not exist", pod.NodeName)
		out.Remedy = "its controller creates it again once the pod is deleted: kubectl -n " + pod.Namespace + " delete pod " + pod.Name
		return out
	}
	if claim := c.cluster.claimOn(node); claim != nil {
		out.Claim = claim.Name
		if claim.Ending() && pack.Displaced(c.cluster.Ask.Snapshot, c.at) {
			return c.moving(node, claim)
		}
	}
	if what := instanceText(node); what != "" {
		out.Message = fmt.Sprintf("is not pending: it is bound to node %s (%s)%s", pod.NodeName, what, from)
	}
	if !pod.Ready {
		out.Message += ", and not ready yet; the kubelet waits for its containers"
		out.Remedy = "kubectl -n " + pod.Namespace + " describe pod " + pod.Name
	}
	return out
}

// moving is of a pod whose node is being emptied.
func (c *podCase) moving(node *model.Node, claim *model.Claim) *Cause {
	out := &Cause{Code: Moving, Node: node.Name, Claim: claim.Name, Command: claim.Command, Message: fmt.Sprintf("is on node %s, which is being drained (%s)", node.Name, cmp.Or(claim.FailureCode, "it is to be terminated"))}
	if next := c.promised(); next != nil {
		out.Message += "; it is planned onto " + next.Name + ", " + stateText(next, c.cluster.now())
	}
	if claim.Drain != nil && len(claim.Drain.Waits) > 0 {
		out.Message += "; the drain waits: " + claim.Drain.Waits[0]
		out.Remedy = "remove what the drain waits for"
		if claim.Drain.DeadlineUnix != 0 {
			out.Remedy += fmt.Sprintf("; at %s it continues without", stamp(claim.Drain.DeadlineUnix))
		}
	}
	return out
}

// ofItsNode is of pods that no other node could help.
func (c *podCase) ofItsNode() *Cause {
	shape := c.shape()
	switch {
	case shape.OwnerKind == "DaemonSet":
		where := "its node"
		if name := onlyNode(shape); name != "" {
			where = "node " + name
		}
		return &Cause{Code: OfItsNode, Message: fmt.Sprintf("is for %s alone, as a pod of DaemonSet %s: no other node is launched for it", where, shape.OwnerName),
			Remedy: "free capacity there, or give it the priority class system-node-critical; nodes launched from now on have capacity for it"}
	case shape.System:
		return &Cause{Code: SystemWorkload, Message: "is a system workload (annotation " + model.AnnotationSystem +
			"): no node is launched for it", Remedy: "wait for capacity on a node, or remove the annotation"}
	case shape.OwnerKind == "Node":
		return &Cause{Code: OfItsNode, Message: "is a static pod of its node, which no other node is launched for"}
	}
	return nil
}

// onlyNode returns the node that a DaemonSet's pod asks for by name; "" where it does not.
func onlyNode(shape *model.PodShape) string {
	for _, term := range shape.RequiredNodeAffinity {
		for _, field := range term.Fields {
			if len(field.Values) == 1 {
				return field.Values[0]
			}
		}
	}
	return ""
}

func (c *podCase) gated() *Cause {
	if !c.shape().Gated {
		return nil
	}
	return &Cause{Code: Gated, Since: c.pod.CreatedUnix, Message: "has scheduling gates left (spec.schedulingGates), so no scheduler considers it",
		Remedy: "the controller that set the gates has to remove them"}
}

func (c *podCase) preempting() *Cause {
	if c.pod.NominatedNode == "" || !pack.Preempting(c.cluster.Ask.Snapshot, c.at) {
		return nil
	}
	return &Cause{Code: Preempting, Node: c.pod.NominatedNode,
		Message: fmt.Sprintf("waits for pods of lower priority to leave node %s, where kube-scheduler makes room for it", c.pod.NominatedNode),
		Remedy:  "wait for their grace periods, or lower its priority to get a node of its own"}
}

// unseen is of pods that no scheduler has given up on.
func (c *podCase) unseen() *Cause {
	if c.pod.Unschedulable {
		return nil
	}
	age := ago(c.pod.CreatedUnix, c.cluster.now())
	if name := c.shape().SchedulerName; name != "" && name != "default-scheduler" {
		return &Cause{Code: OtherScheduler, Since: c.pod.CreatedUnix,
			Message: fmt.Sprintf("is for the scheduler %s (spec.schedulerName), which has not tried it for %s", name, age),
			Remedy:  fmt.Sprintf("start the scheduler %s, or correct spec.schedulerName", name)}
	}
	return &Cause{Code: NotScheduledYet, Since: c.pod.CreatedUnix, Message: fmt.Sprintf("is not marked unschedulable: kube-scheduler has not tried it since it was created %s ago, or is about to bind it", age),
		Remedy: "wait; after a minute check that kube-scheduler runs, and whether the pod is in its back-off"}
}

// halted is of clusters in which people want nothing to be launched.
func (c *podCase) halted() *Cause {
	installation := c.cluster.Installation
	if installation == nil || installation.Past {
		return nil
	}
	reg := &installation.Registration
	switch {
	case reg.WasPaused != nil:
		return &Cause{Code: Paused, Message: fmt.Sprintf("gets no node, because cluster %s is being detached", reg.Cluster), Remedy: "joiner attach " + reg.Cluster + " attaches it again"}
	case reg.Paused:
		return &Cause{Code: Paused, Message: fmt.Sprintf("gets no node, because cluster %s is paused", reg.Cluster), Remedy: "joiner attach " + reg.Cluster + " --paused=false"}
	case installation.Switch == "everything":
		return &Cause{Code: SwitchedOff, Message: "gets no node, because the stop switch of the region says everything", Remedy: "set the SSM parameter of the stop switch to go"}
	}
	return nil
}

// promised returns the claim that is recorded as made for the pod and has yet to take it; nil where there is none.
func (c *podCase) promised() *model.Claim {
	claims := c.cluster.claims()
	for i := range claims {
		claim := &claims[i]
		if !claim.Live() || claim.Ending() || c.pod.UID == "" {
			continue
		}
		if slices.ContainsFunc(claim.Pods, func(p model.PodRef) bool { return p.UID == c.pod.UID }) {
			return claim
		}
	}
	return nil
}

// coming is of pods that an instance was launched for.
func (c *podCase) coming() *Cause {
	if claim := c.promised(); claim != nil && claim.State != model.Initialized {
		return coming(c.cluster, claim, "is for it")
	}
	return nil
}

// planned asks the planner.
func (c *podCase) planned() *Cause {
	plan := c.cluster.Plan
	if plan == nil {
		made := pack.Plan(c.cluster.Ask)
		plan = &made
	}
	is := func(p model.PodRef) bool {
		return p.UID == c.pod.UID && p.Namespace == c.pod.Namespace && p.Name == c.pod.Name
	}
	for i := range plan.Unschedulable {
		if is(plan.Unschedulable[i].Pod) {
			return c.unschedulable(plan.Unschedulable[i].Reasons)
		}
	}
	for i := range plan.Nominations {
		if n := &plan.Nominations[i]; slices.ContainsFunc(n.Pods, is) {
			return c.nominated(n.Node)
		}
	}
	for i := range plan.Claims {
		if claim := &plan.Claims[i]; slices.ContainsFunc(claim.Pods, is) {
			c.answer.Then = &Fit{Pool: claim.Pool, Offering: claim.Offering, Price: claim.Price}
			return c.launchable(claim)
		}
	}
	for _, i := range c.cluster.Ask.Later {
		if pod := &c.cluster.Ask.Snapshot.Pods[i]; is(pod.Ref()) {
			return &Cause{Code: PlannedNext, Since: c.pod.CreatedUnix, Message: fmt.Sprintf("is planned next: %d pods are pending, and one plan takes %d of them, by priority and then in turns by namespace",
				len(c.cluster.Ask.Pending)+len(c.cluster.Ask.Later), len(c.cluster.Ask.Pending)),
				Remedy: "it is planned within the next runs; a higher PriorityClass is planned before others"}
		}
	}
	return &Cause{Code: NotScheduledYet, Message: "requests no capacity"}
}

// unschedulable says which NodePool comes nearest to holding the pod, and what is in the way there.
func (c *podCase) unschedulable(reasons []model.Reason) *Cause {
	c.answer.Pools = c.poolsOf(reasons)
	nearest := &c.answer.Pools[0]
	first := nearest.Obstacles[0]
	out := &Cause{Code: first.Code, Since: c.pod.CreatedUnix, Message: "is pending: ", Remedy: first.Remedy}
	switch len(nearest.Pools) {
	case 0:
	case 1:
		out.Message += "NodePool " + nearest.Pools[0] + ": "
	default:
		out.Message += "NodePools " + few(nearest.Pools) + ": "
	}
	out.Message += first.Message
	if more := len(nearest.Obstacles) - 1; more > 0 {
		var codes []string
		for _, o := range nearest.Obstacles[1:] {
			codes = append(codes, o.Code)
		}
		out.Message += fmt.Sprintf(" (and %s)", strings.Join(codes, ", "))
	}
	c.answer.Then = nearest.Then
	if nearest.Then != nil && len(nearest.Obstacles) == 1 && out.Remedy != "" && !NeedsElse(first) {
		out.Remedy += "; then " + nearest.Then.String()
	}
	return out
}

// NeedsElse reports whether the pod would need something else once the obstacle were gone, so that what it would get is no answer.
func NeedsElse(r model.Reason) bool {
	return r.Code == pack.ResourcesTooLarge || r.Code == pack.VolumeConflict || r.Code == pack.VolumeLimit ||
		r.Code == pack.DevicesUnavailable
}

// poolsOf looks for all obstacles of each pool, folds pools that say the same, and puts first the one with the fewest.
func (c *podCase) poolsOf(reasons []model.Reason) []PoolWhy {
	var out []PoolWhy
	for n, first := range reasons {
		why := PoolWhy{Obstacles: []model.Reason{first}}
		pool := c.cluster.pool(first.Pool)
		if pool != nil {
			why.Pools = []string{pool.Name}
			if all, then := obstacles(&c.cluster.Ask, c.at, *pool); n < maxEvaluated && len(all) > 0 {
				why.Obstacles, why.Then = all, then
				if first.Code != all[0].Code { // the plan knows of other pods, too
					why.Obstacles = append([]model.Reason{first}, all...)
				}
			} else if then != nil {
				why.Then = then
			}
		}
		for i := range why.Obstacles {
			why.Obstacles[i].Pool = ""
		}
		out = append(out, why)
	}
	slices.SortStableFunc(out, func(a, b PoolWhy) int {
		return cmp.Or(cmp.Compare(distance(&a), distance(&b)), cmp.Compare(severity(&a), severity(&b)))
	})
	return foldPools(out)
}

// unknown is how many more obstacles are counted for a pool of which it was not found out what it takes.
const unknown = 3

func distance(w *PoolWhy) int {
	if w.Then == nil {
		return len(w.Obstacles) + unknown
	}
	return len(w.Obstacles)
}

// severity orders pools with as many obstacles by how easily the first of them goes away: what passes by itself or takes an edit of the
// NodePool first, then what takes a look into the class, then what takes another pod.
func severity(w *PoolWhy) int {
	order := []string{
		pack.NoOffering, pack.LimitReached, pack.MinValues, pack.PoolSuspended, pack.ClassNotReady, pack.PoolInvalid, pack.NoInstanceTypes, pack.TopologySpread, pack.PodAntiAffinity,
		pack.PodAffinity, pack.HostPortTaken, pack.VolumeConflict, pack.VolumeLimit, pack.RequirementConflict, pack.DevicesUnavailable, pack.ResourcesTooLarge,
		pack.TaintNotTolerated, pack.PoolStatic, pack.PoolDeleting,
	}
	if i := slices.Index(order, w.Obstacles[0].Code); i >= 0 {
		return i
	}
	return len(order)
}

// foldPools joins pools with the same obstacles, in the order of the first of them.
func foldPools(list []PoolWhy) []PoolWhy {
	var out []PoolWhy
	for _, why := range list {
		i := slices.IndexFunc(out, func(o PoolWhy) bool { return slices.Equal(o.Obstacles, why.Obstacles) })
		if i < 0 {
			out = append(out, why)
			continue
		}
		out[i].Pools = append(out[i].Pools, why.Pools...)
	}
	return out
}

// nominated is of pods that fit what is there or on its way.
func (c *podCase) nominated(name string) *Cause {
	c.answer.Then = &Fit{Node: name}
	if claim := c.cluster.claim(name); claim != nil && c.cluster.nodeOf(claim) == nil {
		return coming(c.cluster, claim, "has capacity for it")
	}
	node := c.cluster.node(name)
	if node != nil {
		if claim := c.cluster.claimOn(node); claim != nil && !node.Initialized() {
			return coming(c.cluster, claim, "has capacity for it")
		}
	}
	return &Cause{Code: FitsThere, Node: name, Message: fmt.Sprintf("fits the existing node %s: kube-scheduler binds it with its next try, within seconds", name),
		Remedy: "if it stays pending, kubectl -n " + c.pod.Namespace + " describe pod " + c.pod.Name + " says which of kube-scheduler's own conditions it fails"}
}

// few names some of a list.
func few(names []string) string {
	const most = 4
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// instanceText says what a node is: its type, capacity type, zone and pool.
func instanceText(node *model.Node) string {
	var parts []string
	for _, key := range []string{model.LabelInstanceType, model.LabelCapacityType, model.LabelZone} {
		if value := node.Labels[key]; value != "" {
			parts = append(parts, value)
		}
	}
	if pool := node.Pool(); pool != "" {
		parts = append(parts, "NodePool "+pool)
	}
	return strings.Join(parts, ", ")
}
