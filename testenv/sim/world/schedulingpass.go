package world

import (
	"context"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// Waiting returns the keys of pods that are not bound and have not ended, sorted.
func (c *Cluster) Waiting() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.NodeName == "" && !pod.Terminal() {
			out = append(out, key)
		}
	}
	return out
}

// Nodes returns the nodes by name.
func (c *Cluster) Nodes() []model.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes.all()
}

// Claims returns the NodeClaim objects by the name of their claim.
func (c *Cluster) Claims() []NodeClaim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.claims.all()
}

// Events returns the events reported on an object, each once, by reason and message.
func (c *Cluster) Events(kind, name string) []model.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []model.Event
	for event := range c.events {
		if event.Kind == kind && event.Name == name {
			out = append(out, event)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Reason+out[i].Message < out[j].Reason+out[j].Message })
	return out
}

// EventCount returns how often events of that reason were reported on an object.
func (c *Cluster) EventCount(kind, name, reason string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for event, times := range c.events {
		if event.Kind == kind && event.Name == name && event.Reason == reason {
			n += times
		}
	}
	return n
}

// ClaimCondition returns what was reported last of a NodeClaim.
func (c *Cluster) ClaimCondition(claim, kind string) model.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conditions[[3]string{KindNodeClaim, claim, kind}]
}

// PoolCondition returns a NodePool's condition; the zero value where it was never reported.
func (c *Cluster) PoolCondition(pool, kind string) model.Condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conditions[[3]string{"NodePool", pool, kind}]
}

// PoolStatus returns what a NodePool shows of its nodes.
func (c *Cluster) PoolStatus(pool string) model.PoolStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.poolStatus[pool]
}

// Class returns an EC2NodeClass; the zero value where there is none.
func (c *Cluster) Class(name string) model.Class {
	c.mu.Lock()
	defer c.mu.Unlock()
	if class := c.classes.get(name); class != nil {
		return *class
	}
	return model.Class{}
}

// Pods returns the pods by namespace and name.
func (c *Cluster) Pods() []model.Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods.all()
}

// ShapeOf returns a pod's shape.
func (c *Cluster) ShapeOf(pod *model.Pod) *model.PodShape {
	c.mu.Lock()
	defer c.mu.Unlock()
	return &c.shapes[pod.Shape]
}

// Present returns the pods that are on a node, or on none where node is "", and have not ended, by UID, each with
// whether it is being deleted.
func (c *Cluster) Present(_ context.Context, node string) (map[string]bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list pods"); err != nil {
		return nil, err
	}
	present := make(map[string]bool)
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.NodeName == node && !pod.Terminal() {
			present[pod.UID] = pod.DeletedUnix != 0
		}
	}
	return present, nil
}
