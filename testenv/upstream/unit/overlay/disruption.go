//go:build ignore

package disruption

import (
	"context"

	"github.com/google/uuid"

	corev1 "k8s.io/api/core/v1"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	seam "sigs.k8s.io/karpenter/pkg/joiner"
)

// disrupt asks Joiner which nodes are given back for a method's reason, and has Karpenter carry that out.
func (c *Controller) disrupt(ctx context.Context, m Method) (bool, error) {
	_, static := m.(*StaticDrift)
	_, several := m.(*MultiNodeConsolidation)
	world := seam.World{Client: c.kubeClient, Cluster: c.cluster, Provider: c.cloudProvider, Clock: c.clock, Recorder: c.recorder}
	commands := seam.Disrupt(ctx, world, seam.Wanted{Reason: string(m.Reason()), Static: static, Several: several})
	_, types, err := BuildNodePoolMap(ctx, c.kubeClient, c.cloudProvider)
	if err != nil {
		return false, err
	}
	done := false
	for _, d := range commands {
		cmd := Command{Method: m, CreationTimestamp: c.clock.Now(), ID: uuid.New(), Results: d.Results, Replacements: replacementsFromNodeClaims(d.Replacements...)}
		for i, n := range d.Nodes {
			candidate := &Candidate{StateNode: n, NodePool: d.Pools[i], zone: n.Labels()[corev1.LabelTopologyZone], capacityType: n.Labels()[v1.CapacityTypeLabelKey]}
			candidate.instanceType = types[d.Pools[i].Name][n.Labels()[corev1.LabelInstanceTypeStable]]
			cmd.Candidates = append(cmd.Candidates, candidate)
		}
		if err := c.queue.StartCommand(ctx, &cmd); err != nil {
			return false, err
		}
		done = true
	}
	return done, nil
}
