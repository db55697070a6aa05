package world

import (
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// Waiting returns the keys of pods that are not bound, sorted.
func (c *Cluster) Waiting() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for key, pod := range c.pods {
		if pod.NodeName == "" {
			out = append(out, key)
		}
	}
	sort.Strings(out)
	return out
}

// Nodes returns the nodes by name.
func (c *Cluster) Nodes() []model.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []model.Node
	for _, node := range c.nodes {
		out = append(out, clone(*node))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Claims returns the NodeClaim objects by the name of their claim.
func (c *Cluster) Claims() []NodeClaim {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []NodeClaim
	for _, claim := range c.claims {
		out = append(out, clone(*claim))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Claim.Name < out[j].Claim.Name })
	return out
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
	return clone(c.poolStatus[pool])
}

// Class returns an EC2NodeClass; the zero value where there is none.
func (c *Cluster) Class(name string) model.Class {
	c.mu.Lock()
	defer c.mu.Unlock()
	if class := c.classes[name]; class != nil {
		return clone(*class)
	}
	return model.Class{}
}
