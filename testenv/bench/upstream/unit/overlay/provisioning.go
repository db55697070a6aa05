//go:build ignore

package provisioning

import (
	"context"

	scheduler "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	seam "sigs.k8s.io/karpenter/pkg/joiner"
)

// Schedule asks Joiner.
func (p *Provisioner) Schedule(ctx context.Context) (scheduler.Results, error) {
	return seam.Schedule(ctx, seam.World{Client: p.kubeClient, Cluster: p.cluster, Provider: p.cloudProvider, Clock: p.clock, Recorder: p.recorder})
}
