//go:build ignore

package provisioning

import (
	"context"

	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	scheduler "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	seam "sigs.k8s.io/karpenter/pkg/joiner"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	"sigs.k8s.io/karpenter/pkg/scheduling/dynamicresources"
)

// Schedule asks Joiner.
func (p *Provisioner) Schedule(ctx context.Context) (scheduler.Results, error) {
	world := seam.World{
		Client: p.kubeClient, Cluster: p.cluster, Provider: p.cloudProvider, Clock: p.clock, Recorder: p.recorder,
	}
	return seam.Schedule(ctx, world, p.joinersAllocator)
}

// joinersAllocator makes the allocator of devices as NewScheduler does.
func (p *Provisioner) joinersAllocator(ctx context.Context, instanceTypes map[string][]*cloudprovider.InstanceType,
) (*dynamicresources.Allocator, error) {
	if options.FromContext(ctx).IgnoreDRARequests {
		return nil, nil
	}
	nodes := p.cluster.DeepCopyNodes()
	deleting, err := nodes.Deleting().CurrentlyReschedulablePods(ctx, p.kubeClient, p.clock, p.recorder)
	if err != nil {
		return nil, err
	}
	uids := sets.New(lo.Map(deleting, func(p *corev1.Pod, _ int) types.UID { return p.UID })...)
	slices, err := p.gatherResourceSlices(ctx, nodes.Active())
	if err != nil {
		return nil, err
	}
	allocated, err := p.gatherAllocatedDevices(ctx, uids)
	if err != nil {
		return nil, err
	}
	bindings := dynamicresources.BuildAttributeBindings(instanceTypes)
	return dynamicresources.NewAllocator(slices, allocated, bindings, p.kubeClient, uids), nil
}
