package world

import (
	"context"
	"fmt"
	"reflect"
	"sort"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Cluster is the API server with what is in it, and kube-scheduler.
type Cluster struct {
	now func() time.Time

	mu      sync.Mutex
	uids    int
	pods    map[string]*model.Pod // by namespace/name
	shapes  []model.PodShape
	nodes   map[string]*model.Node
	pools   map[string]*model.Pool
	classes map[string]*model.Class
	claims  map[string]*NodeClaim

	events     map[model.Event]int           // how often each was reported
	conditions map[[3]string]model.Condition // by kind, name and type
	poolStatus map[string]model.PoolStatus   // by pool
}

// NodeClaim is a NodeClaim object.
type NodeClaim struct {
	UID   string
	Claim model.Claim // as it was last shown
}

func newCluster(now func() time.Time) *Cluster {
	return &Cluster{
		now: now, pods: map[string]*model.Pod{}, nodes: map[string]*model.Node{}, pools: map[string]*model.Pool{}, classes: map[string]*model.Class{},
		claims: map[string]*NodeClaim{}, events: map[model.Event]int{}, conditions: map[[3]string]model.Condition{}, poolStatus: map[string]model.PoolStatus{},
	}
}

func (c *Cluster) uid(kind string) string {
	c.uids++
	return fmt.Sprintf("%s-uid-%04d", kind, c.uids)
}

// AddPool applies a NodePool; one of that name is replaced and keeps its UID.
func (c *Cluster) AddPool(pool model.Pool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.pools[pool.Name]; ok {
		pool.UID, pool.Generation = before.UID, before.Generation+1
	} else {
		pool.UID, pool.Generation = c.uid("pool"), 1
	}
	c.pools[pool.Name] = &pool
}

// AddClass applies an EC2NodeClass; one of that name is replaced and keeps its UID and status.
func (c *Cluster) AddClass(class model.Class) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before, ok := c.classes[class.Name]; ok {
		class.UID, class.Generation, class.Status = before.UID, before.Generation+1, before.Status
	} else {
		class.UID, class.Generation = c.uid("class"), 1
	}
	c.classes[class.Name] = &class
}

// AddPods creates n pods of one shape, <prefix>-0 and so on, which kube-scheduler has yet to look at.
func (c *Cluster) AddPods(prefix string, n int, shape model.PodShape) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if shape.Namespace == "" {
		shape.Namespace = "default"
	}
	c.shapes = append(c.shapes, shape)
	for i := range n {
		pod := &model.Pod{
			Namespace: shape.Namespace, Name: fmt.Sprintf("%s-%d", prefix, i), UID: c.uid("pod"), Shape: len(c.shapes) - 1, CreatedUnix: c.now().Unix(),
		}
		c.pods[pod.Key()] = pod
	}
}

// DeletePod takes a pod away at once.
func (c *Cluster) DeletePod(namespace, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pods, namespace+"/"+name)
}

// PutNode creates or replaces a node; a new one gets a UID.
func (c *Cluster) PutNode(node model.Node) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if node.UID == "" {
		node.UID = c.uid("node")
	}
	if node.CreatedUnix == 0 {
		node.CreatedUnix = c.now().Unix()
	}
	c.nodes[node.Name] = &node
}

// DeleteNode takes a node away at once.
func (c *Cluster) DeleteNode(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.nodes, name)
}

// DeleteClaim takes a NodeClaim object away at once.
func (c *Cluster) DeleteClaim(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims, name)
}

// List returns the cluster as a snapshot.
func (c *Cluster) List(context.Context) (*model.Snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := model.Snapshot{Cluster: Name, AtUnix: c.now().Unix(), Shapes: c.shapes}
	for _, pod := range c.pods {
		s.Pods = append(s.Pods, *pod)
	}
	for _, node := range c.nodes {
		s.Nodes = append(s.Nodes, *node)
	}
	for _, pool := range c.pools {
		s.Pools = append(s.Pools, *pool)
	}
	for _, class := range c.classes {
		s.Classes = append(s.Classes, *class)
	}
	for name, claim := range c.claims {
		s.Claims = append(s.Claims, model.Object{Name: name, UID: claim.UID})
	}
	sort.Slice(s.Pods, func(i, j int) bool { return s.Pods[i].Key() < s.Pods[j].Key() })
	sort.Slice(s.Nodes, func(i, j int) bool { return s.Nodes[i].Name < s.Nodes[j].Name })
	sort.Slice(s.Pools, func(i, j int) bool { return s.Pools[i].Name < s.Pools[j].Name })
	sort.Slice(s.Classes, func(i, j int) bool { return s.Classes[i].Name < s.Classes[j].Name })
	sort.Slice(s.Claims, func(i, j int) bool { return s.Claims[i].Name < s.Claims[j].Name })
	s = clone(s)
	return &s, nil
}

// PutClaim creates or updates a claim's NodeClaim object.
func (c *Cluster) PutClaim(_ context.Context, claim model.Claim) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	object := c.claims[claim.Name]
	switch {
	case object == nil && claim.ObjectUID != "", object != nil && claim.ObjectUID != "" && object.UID != claim.ObjectUID:
		return "", fault.New(fault.NotFound, "", "NodeClaim %s of UID %s is gone", claim.Name, claim.ObjectUID)
	case object == nil:
		object = &NodeClaim{UID: c.uid("claim")}
		c.claims[claim.Name] = object
	case object.Claim.ProviderID != claim.ProviderID:
		return "", fault.New(fault.Conflict, "", "NodeClaim %s shows %s", claim.Name, object.Claim.ProviderID)
	}
	object.Claim = clone(claim)
	return object.UID, nil
}

// PatchNode writes what registration and initialisation ask for.
func (c *Cluster) PatchNode(_ context.Context, patch model.NodePatch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	node, ok := c.nodes[patch.Name]
	if !ok || node.UID != patch.UID {
		return fault.New(fault.NotFound, "", "node %s of UID %s is gone", patch.Name, patch.UID)
	}
	next := clone(*node)
	next.Labels = union(next.Labels, patch.Labels)
	next.Annotations = union(next.Annotations, patch.Annotations)
	next.Taints = nil
	for _, taint := range node.Taints {
		if !has(patch.RemoveTaints, taint) {
			next.Taints = append(next.Taints, taint)
		}
	}
	for _, taint := range patch.AddTaints {
		if !has(next.Taints, taint) {
			next.Taints = append(next.Taints, taint)
		}
	}
	c.nodes[patch.Name] = &next
	return nil
}

func union(a, b map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range a {
		out[key] = value
	}
	for key, value := range b {
		out[key] = value
	}
	return out
}

// has reports whether a taint of the same key and effect is among taints.
func has(taints []model.Taint, taint model.Taint) bool {
	for _, t := range taints {
		if t.Key == taint.Key && t.Effect == taint.Effect {
			return true
		}
	}
	return false
}

// Report keeps what people are told.
func (c *Cluster) Report(_ context.Context, report model.Report) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, event := range report.Events {
		c.events[event]++
	}
	for _, condition := range report.Pools {
		c.conditions[[3]string{"NodePool", condition.Object, condition.Type}] = condition
	}
	for _, status := range report.PoolStatus {
		c.poolStatus[status.Pool] = clone(status)
	}
	for _, class := range report.Classes {
		if stored := c.classes[class.Class]; stored != nil && stored.UID == class.UID && !reflect.DeepEqual(stored.Status, class.Status) {
			next := *stored
			next.Status = clone(class.Status)
			c.classes[class.Class] = &next
		}
	}
	return nil
}
