package world

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Kinds of objects the API server keeps, as the log names them.
const (
	KindPod       = "Pod"
	KindNode      = "Node"
	KindNodeClaim = "NodeClaim"
	KindPool      = "NodePool"
	KindClass     = "EC2NodeClass"
	KindBudget    = "PodDisruptionBudget"
	KindDaemons   = "DaemonSet"
	KindNamespace = "Namespace"
	KindBuffer    = "CapacityBuffer"
	KindOverlay   = "NodeOverlay"
)

// Cluster is the API server with what is in it. Kubelets, kube-scheduler and the controllers act on it (Kubelets,
// Scheduler, Workloads); its watches and lists may lag behind (Watch, ListAt).
//
// Values it stores are never written to again, so it hands them out without copying: whoever reads them must not either.
type Cluster struct {
	name string
	now  func() time.Time
	log  *Log

	mu               sync.Mutex
	uids             int
	version          int64              // resourceVersion of the last change
	history          []change           // the newest changes, oldest first
	trimmed          int64              // version of the newest change that is not in history any more
	refuse           func(string) error // asked before every request; nil = answer all
	shapes           []model.PodShape
	pods             table[model.Pod]
	nodes            table[model.Node]
	pools            table[model.Pool]
	classes          table[model.Class]
	classPatches     map[string]model.ClassPatch // what is on classes beside what people wrote, by UID
	claims           table[NodeClaim]
	budgets          table[model.PDB]
	daemons          table[model.DaemonSet]
	spaces           table[model.Namespace]
	buffers          table[model.Buffer]
	overlays         table[model.Overlay]
	attached         table[VolumeAttachment]
	deviceClasses    table[model.DeviceClass]
	claimTemplates   table[model.ResourceClaimTemplate]
	deviceClaims     table[model.ResourceClaim]
	slices           table[model.ResourceSlice]
	taken            map[string]string // devices that are allocated, as node/device: the claim's UID; nil = no driver
	owners           map[string]string // UID of the NodeClaim object that owns a node, by the node's UID
	kept             map[string]bool   // nodes that a finalizer of others keeps, by UID
	defined          definitions
	poolsDefinedUnix int64           // when the definition of NodePools alone was made anew; 0 = with the others
	storage          map[int]bool    // shapes whose pods have a volume each
	holds            bool            // NodeClaims are made with our finalizer
	choices          bool            // see Options.Choices
	listed           *model.Snapshot // as of version listedAt
	listedAt         int64

	events     map[model.Event]int           // how often each was reported
	conditions map[[3]string]model.Condition // by kind, name and type
	poolStatus map[string]model.PoolStatus   // by pool
}

// NodeClaim is a NodeClaim object.
type NodeClaim struct {
	UID         string
	Claim       model.Claim // as it was last shown
	CreatedUnix int64
	DeletedUnix int64 // asked for; it is gone once no finalizer holds it
	Finalizer   bool  // ours is on it

	DeadlineUnix int64 // what the annotation karpenter.sh/nodeclaim-termination-timestamp says; 0 = there is none
	PodEventUnix int64 // what status.lastPodEventTime says; 0 = nothing
}

// historyKept is how far back watches and stale lists can reach, in changes.
const historyKept = 50_000

// NewCluster returns an empty API server.
func NewCluster(name string, now func() time.Time, log *Log) *Cluster {
	return &Cluster{
		name: name, now: now, log: log,
		events: map[model.Event]int{}, conditions: map[[3]string]model.Condition{}, poolStatus: map[string]model.PoolStatus{},
		owners: map[string]string{}, kept: map[string]bool{}, storage: map[int]bool{},
	}
}

func (c *Cluster) uid(kind string) string {
	c.uids++
	if c.name != Name { // others' objects have the same names, but no UID is given twice
		kind = c.name + "-" + kind
	}
	return fmt.Sprintf("%s-uid-%04d", kind, c.uids)
}

// Refuse has every request asked about before it is answered: an error is its answer. nil answers all.
// Requests are list, list configuration, list pods, get, put claim, patch node, report, delete node, delete claim, delete pod, evict, free, show end.
func (c *Cluster) Refuse(ask func(request string) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = ask
}

func (c *Cluster) asked(request string) error {
	c.log.Touch(c.name, "object")
	if c.refuse == nil {
		return nil
	}
	return c.refuse(request)
}

// AddPool applies a NodePool; one of that name is replaced and keeps its UID.
func (c *Cluster) AddPool(pool model.Pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	verb := "create"
	if before := c.pools.get(pool.Name); before != nil {
		pool.UID, pool.Generation, verb = before.UID, before.Generation+1, "update"
	} else {
		pool.UID, pool.Generation = c.uid("pool"), 1
	}
	put(c, &c.pools, KindPool, pool.Name, pool.UID, verb, &pool)
}

// DeletePool takes a NodePool away at once. The garbage collector (see Workloads) deletes the NodeClaims it owns.
func (c *Cluster) DeletePool(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pool := c.pools.get(name); pool != nil {
		drop(c, &c.pools, KindPool, name, pool.UID)
	}
}

// AddClass applies an EC2NodeClass; one of that name is replaced and keeps its UID and status.
func (c *Cluster) AddClass(class model.Class) {
	c.mu.Lock()
	defer c.mu.Unlock()
	verb := "create"
	if before := c.classes.get(class.Name); before != nil {
		class.UID, class.Generation, class.Status, verb = before.UID, before.Generation+1, before.Status, "update"
	} else {
		class.UID, class.Generation = c.uid("class"), 1
	}
	put(c, &c.classes, KindClass, class.Name, class.UID, verb, &class)
}

// AddDaemonSet applies a DaemonSet of pods of the shape. Its pods are made by Workloads.
func (c *Cluster) AddDaemonSet(name string, shape model.PodShape) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shape.OwnerKind, shape.OwnerName = KindDaemons, name
	d := model.DaemonSet{Namespace: namespaceOf(&shape), Name: name, UID: c.uid("daemonset"), Shape: c.intern(shape)}
	put(c, &c.daemons, KindDaemons, d.Namespace+"/"+d.Name, d.UID, "create", &d)
}

// AddBudget applies a PodDisruptionBudget.
func (c *Cluster) AddBudget(budget model.PDB) {
	c.mu.Lock()
	defer c.mu.Unlock()
	put(c, &c.budgets, KindBudget, budget.Namespace+"/"+budget.Name, budget.Name, "create", &budget)
}

// DeleteBudget takes a PodDisruptionBudget away, by namespace and name.
func (c *Cluster) DeleteBudget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.budgets.get(key) != nil {
		drop(c, &c.budgets, KindBudget, key, key)
	}
}

func namespaceOf(shape *model.PodShape) string {
	if shape.Namespace == "" {
		shape.Namespace = "default"
	}
	return shape.Namespace
}

// intern returns the number of a shape, giving it one where it has none.
func (c *Cluster) intern(shape model.PodShape) int {
	namespaceOf(&shape)
	for i := range c.shapes {
		if reflect.DeepEqual(c.shapes[i], shape) {
			return i
		}
	}
	c.shapes = append(c.shapes[:len(c.shapes):len(c.shapes)], shape) // snapshots handed out keep theirs
	return len(c.shapes) - 1
}

// AddPods creates n pods of one shape, <prefix>-0 and so on, which kube-scheduler has yet to look at.
func (c *Cluster) AddPods(prefix string, n int, shape model.PodShape) {
	for i := range n {
		c.CreatePod(fmt.Sprintf("%s-%d", prefix, i), shape)
	}
}

// CreatePod creates a pod that kube-scheduler has yet to look at, in place of one of that name, and returns its UID.
func (c *Cluster) CreatePod(name string, shape model.PodShape) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	pod := model.Pod{Namespace: namespaceOf(&shape), Name: name, UID: c.uid("pod"), Shape: c.intern(shape), CreatedUnix: c.now().Unix()}
	c.putPod("create", pod)
	return pod.UID
}

// CreatePodOn creates a pod that is bound to a node already, as a static one or one of another scheduler is.
func (c *Cluster) CreatePodOn(name, node string, shape model.PodShape) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putPod("create", model.Pod{
		Namespace: namespaceOf(&shape), Name: name, UID: c.uid("pod"), Shape: c.intern(shape), NodeName: node, Phase: model.Running, CreatedUnix: c.now().Unix(), StartedUnix: c.now().Unix(),
	})
}

func (c *Cluster) putPod(verb string, pod model.Pod) {
	put(c, &c.pods, KindPod, pod.Key(), pod.UID, verb, &pod)
}

// DeletePod takes a pod away at once.
func (c *Cluster) DeletePod(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dropPod(namespace + "/" + name)
}

func (c *Cluster) dropPod(key string) {
	if pod := c.pods.get(key); pod != nil {
		drop(c, &c.pods, KindPod, key, pod.UID)
	}
}

// PutNode creates or replaces a node; a new one gets a UID.
func (c *Cluster) PutNode(node model.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.putNode(node)
}

func (c *Cluster) putNode(node model.Node) {
	if node.UID == "" {
		node.UID = c.uid("node")
	}
	if node.CreatedUnix == 0 {
		node.CreatedUnix = c.now().Unix()
	}
	verb := "update"
	if c.nodes.get(node.Name) == nil {
		verb = "create"
	}
	put(c, &c.nodes, KindNode, node.Name, node.UID, verb, &node)
}

// changeNode writes a node that is there in place of itself.
func (c *Cluster) changeNode(name, verb string, do func(node *model.Node)) {
	if before := c.nodes.get(name); before != nil {
		node := *before
		do(&node)
		put(c, &c.nodes, KindNode, name, node.UID, verb, &node)
	}
}

// DeleteNode takes a node away at once, whatever finalizer holds it.
func (c *Cluster) DeleteNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node := c.nodes.get(name); node != nil {
		drop(c, &c.nodes, KindNode, name, node.UID)
	}
}

// DeleteClaim takes a NodeClaim object away at once, whatever finalizer holds it.
func (c *Cluster) DeleteClaim(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if claim := c.claims.get(name); claim != nil {
		drop(c, &c.claims, KindNodeClaim, name, claim.UID)
	}
}

// evaluated is the API server's answer to a precondition on an object's UID; nil where it holds.
func evaluated(kind, name, uid string, gone bool, stored func() string) error {
	if gone {
		return fault.New(fault.NotFound, "", "%s %s is gone", kind, name)
	}
	if have := stored(); uid != "" && have != uid {
		return fault.New(fault.Conflict, "", "%s %s has UID %s, not %s", kind, name, have, uid)
	}
	return nil
}

// List returns the cluster as a snapshot. Its values are shared with whoever else listed: nobody writes to them.
func (c *Cluster) List(context.Context) (*model.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list"); err != nil {
		return nil, err
	}
	if c.listed == nil || c.listedAt != c.version {
		c.listed, c.listedAt = &model.Snapshot{
			Cluster: c.name, Shapes: c.shapes, Pods: c.pods.all(), Nodes: c.nodes.all(), Pools: c.pools.all(), Classes: c.classes.all(),
			Budgets: c.budgets.all(), DaemonSets: c.daemons.all(), Namespaces: c.spaces.all(), Claims: c.objects(c.claims.all()),
			Buffers: c.buffers.all(), Overlays: c.overlays.all(),
			DeviceClasses: c.deviceClasses.all(), ResourceClaimTemplates: c.claimTemplates.all(),
			ResourceClaims: c.deviceClaims.all(), ResourceSlices: c.slices.all(),
		}, c.version
	}
	s := *c.listed
	s.AtUnix = c.now().Unix()
	return &s, nil
}

func (c *Cluster) objects(claims []NodeClaim) []model.Object {
	var out []model.Object
	for i := range claims {
		out = append(out, c.objectOf(&claims[i]))
	}
	return out
}

func (c *Cluster) objectOf(object *NodeClaim) model.Object {
	bare := c.holds && !object.Finalizer && object.DeletedUnix == 0
	quiet := c.conditions[[3]string{KindNodeClaim, object.Claim.Name, model.ConditionConsolidatable}]
	return model.Object{Name: object.Claim.Name, UID: object.UID, DeletedUnix: object.DeletedUnix, Bare: bare, Manual: object.Claim.Pool == "" && object.Claim.ProviderID == "", Quiet: quiet.UID == object.UID && quiet.Status == "True", PodEventUnix: object.PodEventUnix}
}

// MakeClaim has people make a NodeClaim object, which nobody recorded.
func (c *Cluster) MakeClaim(claim model.Claim) {
	c.mu.Lock()
	defer c.mu.Unlock()
	put(c, &c.claims, KindNodeClaim, claim.Name, c.uid("claim"), "create", &NodeClaim{UID: fmt.Sprintf("claim-uid-%04d", c.uids), Claim: claim, CreatedUnix: c.now().Unix()})
}

// StandaloneClaim returns what a NodeClaim object that people made asks for.
func (c *Cluster) StandaloneClaim(_ context.Context, object model.Object) (model.StandaloneClaim, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("wish"); err != nil {
		return model.StandaloneClaim{}, err
	}
	stored := c.claims.get(object.Name)
	if stored == nil || stored.UID != object.UID || !c.objectOf(stored).Manual || stored.DeletedUnix != 0 {
		return model.StandaloneClaim{}, fault.New(fault.NotFound, "", "NodeClaim %s of UID %s asks for nothing", object.Name, object.UID)
	}
	claim := stored.Claim
	return model.StandaloneClaim{
		Name: claim.Name, UID: stored.UID, CreatedUnix: stored.CreatedUnix, Requests: claim.Requests,
		Template: model.Template{
			Labels: claim.Labels, Annotations: claim.Annotations, Requirements: claim.Requirements, Taints: claim.Taints, StartupTaints: claim.StartupTaints,
			ClassName: claim.Class, GraceSeconds: claim.GraceSeconds, ExpireAfterSeconds: claim.ExpireSeconds,
		},
	}, nil
}

// PutClaim creates or updates a claim's NodeClaim object.
func (c *Cluster) PutClaim(_ context.Context, claim model.Claim) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("put claim"); err != nil {
		return "", err
	}
	object := c.claims.get(claim.Name)
	switch {
	case object == nil && claim.ObjectUID != "", object != nil && claim.ObjectUID != "" && object.UID != claim.ObjectUID:
		return "", fault.New(fault.NotFound, "", "NodeClaim %s of UID %s is gone", claim.Name, claim.ObjectUID)
	case object == nil && c.creates() != nil:
		return "", c.creates()
	case object != nil && claim.Vanished && claim.ObjectUID == "" && object.DeletedUnix != 0:
		return "", fault.New(fault.Conflict, "", "NodeClaim %s, which goes with its definition, is still there", claim.Name)
	case object == nil:
		made := NodeClaim{UID: c.uid("claim"), Claim: claim, CreatedUnix: c.now().Unix(), Finalizer: c.holds}
		put(c, &c.claims, KindNodeClaim, claim.Name, made.UID, "create", &made)
		return made.UID, nil
	case object.Claim.ProviderID != "" && claim.ProviderID != "" && object.Claim.ProviderID != claim.ProviderID:
		return "", fault.New(fault.Conflict, "", "NodeClaim %s shows %s", claim.Name, object.Claim.ProviderID)
	}
	next := *object
	next.Claim = claim
	next.Finalizer = next.Finalizer || c.holds && next.DeletedUnix == 0
	if !reflect.DeepEqual(next, *object) {
		put(c, &c.claims, KindNodeClaim, claim.Name, next.UID, "status", &next)
	}
	return next.UID, nil
}

// PatchNode writes what registration, initialisation and draining ask for. A taint to be removed without an effect is removed
// with every effect.
func (c *Cluster) PatchNode(_ context.Context, patch model.NodePatch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("patch node"); err != nil {
		return err
	}
	node := c.nodes.get(patch.Name)
	if node == nil || node.UID != patch.UID {
		return fault.New(fault.NotFound, "", "node %s of UID %s is gone", patch.Name, patch.UID)
	}
	next := *node
	next.Labels = union(next.Labels, patch.Labels)
	for _, key := range patch.RemoveLabels {
		delete(next.Labels, key)
	}
	next.Annotations = union(next.Annotations, patch.Annotations)
	next.Taints = nil
	for _, taint := range node.Taints {
		if !has(patch.RemoveTaints, taint) && !has(patch.RemoveTaints, model.Taint{Key: taint.Key}) {
			next.Taints = append(next.Taints, taint)
		}
	}
	for _, taint := range patch.AddTaints {
		if !has(next.Taints, taint) {
			next.Taints = append(next.Taints, taint)
		}
	}
	next.Finalizer = next.Finalizer || patch.Finalizer && next.DeletedUnix == 0
	if patch.Disown != "" && c.owners[next.UID] == patch.Disown {
		delete(c.owners, next.UID)
	}
	if patch.Owner != nil {
		c.owners[next.UID] = patch.Owner.UID
	}
	if !reflect.DeepEqual(next, *node) {
		put(c, &c.nodes, KindNode, next.Name, next.UID, "update", &next)
	}
	return nil
}

func union(a, b map[string]string) map[string]string {
	out := make(map[string]string, len(a)+len(b))
	maps.Copy(out, a)
	maps.Copy(out, b)
	return out
}

// has reports whether a taint of the same key and effect is among taints.
func has(taints []model.Taint, taint model.Taint) bool {
	return slices.ContainsFunc(taints, func(t model.Taint) bool { return t.Key == taint.Key && t.Effect == taint.Effect })
}

// show has those who follow NodeClaims see a condition that snapshots have.
func (c *Cluster) show(condition model.Condition) {
	if object := c.claims.get(condition.Object); object != nil && condition.Type == model.ConditionConsolidatable {
		next := *object
		put(c, &c.claims, KindNodeClaim, condition.Object, next.UID, "status", &next)
	}
}

// Report keeps what people are told.
func (c *Cluster) Report(_ context.Context, report model.Report) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("report"); err != nil {
		return err
	}
	for _, event := range report.Events {
		c.events[event]++
	}
	stands := func(name, uid string) bool {
		pool := c.pools.get(name)
		return pool != nil && pool.UID == uid
	}
	for _, condition := range report.Pools {
		if !stands(condition.Object, condition.UID) {
			continue
		}
		c.conditions[[3]string{KindPool, condition.Object, condition.Type}] = condition
	}
	for _, condition := range report.Claims {
		object, key := c.claims.get(condition.Object), [3]string{KindNodeClaim, condition.Object, condition.Type}
		choice := condition.Type == model.ConditionDisruptionReason || condition.Type == model.ConditionConsolidatable
		switch {
		case object == nil || object.UID != condition.UID:
			continue
		case choice && condition.Status == "":
			delete(c.conditions, key)
			c.show(condition)
		case choice || object.Claim.ProviderID == "":
			c.conditions[key] = condition
			c.show(condition)
		}
	}
	showPodEvents(c, report.PodEvents)
	for i := range report.Buffers {
		c.showBuffer(&report.Buffers[i])
	}
	showOverlays(c, report.Overlays)
	for _, status := range report.PoolStatus {
		if stands(status.Pool, status.UID) {
			c.poolStatus[status.Pool] = status
		}
	}
	for _, class := range report.Classes {
		stored := c.classes.get(class.Class)
		if class.Waiting != "" {
			continue // a condition of one that is being deleted, which nobody here reads
		}
		class.Status.ResolvedUnix = 0 // an EC2NodeClass has no field for it
		if stored == nil || stored.UID != class.UID || reflect.DeepEqual(stored.Status, class.Status) {
			continue
		}
		if seen := class.Status.ObservedGeneration; seen != 0 && seen != stored.Generation {
			continue // resolved from what it was before
		}
		next := *stored
		next.Status = class.Status
		put(c, &c.classes, KindClass, next.Name, next.UID, "status", &next)
	}
	return nil
}

// showPodEvents writes when pods of NodeClaims were last bound or ended, where that is later than what they say.
func showPodEvents(c *Cluster, events []model.PodEvent) {
	for _, event := range events {
		if object := c.claims.get(event.Claim); object != nil && object.UID == event.UID &&
			event.AtUnix > object.PodEventUnix {
			next := *object
			next.PodEventUnix = event.AtUnix
			put(c, &c.claims, KindNodeClaim, event.Claim, next.UID, "status", &next)
		}
	}
}

// showOverlays writes what the status of overlays is to say, unless an overlay has changed since.
func showOverlays(c *Cluster, reports []model.OverlayReport) {
	for _, r := range reports {
		stored := c.overlays.get(r.Name)
		if stored == nil || stored.UID != r.UID || stored.Status == r.Status ||
			r.Status.Generation != stored.Generation {
			continue
		}
		next := *stored
		next.Status = r.Status
		put(c, &c.overlays, KindOverlay, r.Name, next.UID, "status", &next)
	}
}
