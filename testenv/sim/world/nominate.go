package world

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Nominate notes which node a pod that is on none is nominated to, on condition of its UID. That the node is there is not asked for, as
// the API server does not ask for it.
func (c *Cluster) Nominate(_ context.Context, ref model.PodRef, node string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("patch pod status"); err != nil {
		return err
	}
	pod := c.pods.get(ref.Key())
	switch {
	case pod == nil || pod.UID != ref.UID:
		return fault.New(fault.NotFound, "", "pod %s of UID %s is gone", ref.Key(), ref.UID)
	case pod.NodeName != "":
		return fault.New(fault.Conflict, "", "pod %s is bound to node %s", ref.Key(), pod.NodeName)
	case pod.NominatedNode != node:
		next := *pod
		next.NominatedNode = node
		c.putPod("status", next)
	}
	return nil
}

func (p clusterPort) Nominate(ctx context.Context, pod model.PodRef, node string) error {
	return do(ctx, p.Ports, "cluster.nominate", func() error { return p.world.Cluster.Nominate(ctx, pod, node) })
}
