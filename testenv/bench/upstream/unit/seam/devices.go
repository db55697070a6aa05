package seam

import (
	"context"
	"fmt"
	"unique"

	"github.com/onsi/ginkgo/v2"
	"github.com/samber/lo"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	scheduler "sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/scheduling/dynamicresources"
)

// Build makes Karpenter's allocator of devices for one round; nil where dynamic resources are off.
type Build func(context.Context, map[string][]*cloudprovider.InstanceType) (*dynamicresources.Allocator, error)

// allocate has Karpenter's own allocator find devices for every pod where the plan puts it, on each instance type
// that the plan accepts, and fails the spec where it finds none. Specs make the allocations of what it finds, as
// kube-scheduler would.
func (g *gathered) allocate(ctx context.Context, build Build, results *scheduler.Results) {
	all := map[string][]*cloudprovider.InstanceType{}
	for pool, types := range g.types {
		all[pool] = types
	}
	allocator, err := build(ctx, all)
	must(err)
	if allocator == nil {
		return
	}
	for _, n := range results.ExistingNodes {
		for _, pod := range n.Pods {
			g.take(ctx, allocator, pod, g.existing(n))
		}
	}
	for i, n := range results.NewNodeClaims {
		for _, pod := range n.Pods {
			g.take(ctx, allocator, pod, planned(i, n))
		}
	}
	made := map[types.NamespacedName]*dynamicresources.ResourceClaimAllocationMetadata{}
	for claim, found := range allocator.ResourceClaimAllocationMetadata() {
		made[claim.Value()] = found
	}
	results.DRAClaimAllocationMetadata = made
}

// take allocates the devices of one pod.
func (g *gathered) take(ctx context.Context, by *dynamicresources.Allocator, pod *corev1.Pod, on *target) {
	claims := g.claimed(pod)
	if len(claims) == 0 {
		return
	}
	found, err := by.Allocate(ctx, on, claims)
	if err != nil {
		ginkgo.Fail(fmt.Sprintf("joiner's plan puts pod %s/%s onto %s, and Karpenter's allocator finds no devices "+
			"there: %v", pod.Namespace, pod.Name, on.id.Value(), err))
	}
	if missing, _ := lo.Difference(on.types, found.InstanceTypes); len(missing) > 0 {
		ginkgo.Fail(fmt.Sprintf("joiner's plan accepts instance type %s for pod %s/%s, and Karpenter's allocator "+
			"finds no devices on it", missing[0].Value(), pod.Namespace, pod.Name))
	}
	if found.Allocation != nil {
		found.Allocation.Commit(ctx)
	}
}

// claimed are the pod's claims that there are.
func (g *gathered) claimed(pod *corev1.Pod) []*resourcev1.ResourceClaim {
	var out []*resourcev1.ResourceClaim
	for i := range pod.Spec.ResourceClaims {
		name := pod.Spec.ResourceClaims[i].ResourceClaimName
		for _, s := range pod.Status.ResourceClaimStatuses {
			if name == nil && s.Name == pod.Spec.ResourceClaims[i].Name {
				name = s.ResourceClaimName
			}
		}
		if name == nil {
			continue
		}
		if claim := g.devices[types.NamespacedName{Namespace: pod.Namespace, Name: *name}]; claim != nil {
			out = append(out, claim)
		}
	}
	return out
}

// target is where a pod goes, as the allocator sees it.
type target struct {
	id           dynamicresources.NodeClaimID
	node         string
	pool         dynamicresources.NodePoolID
	requirements scheduling.Requirements
	types        []dynamicresources.InstanceTypeID
	slices       map[dynamicresources.InstanceTypeID][]dynamicresources.ResourceSlice
}

func (p *target) ID() dynamicresources.NodeClaimID                 { return p.id }
func (p *target) NodeName() string                                 { return p.node }
func (p *target) NodePoolID() dynamicresources.NodePoolID          { return p.pool }
func (p *target) Requirements() scheduling.Requirements            { return p.requirements }
func (p *target) InstanceTypes() []dynamicresources.InstanceTypeID { return p.types }
func (p *target) ResourceSlices() map[dynamicresources.InstanceTypeID][]dynamicresources.ResourceSlice {
	return p.slices
}

// add adds an instance type with the devices that it will have.
func (p *target) add(t *cloudprovider.InstanceType) {
	p.types = append(p.types, unique.Make(t.Name))
	id := unique.Make(t.Name)
	for _, template := range t.DynamicResources.ResourceSliceTemplates {
		p.slices[id] = append(p.slices[id], dynamicresources.NewTemplateSlice(template))
	}
}

func planned(i int, n *scheduler.NodeClaim) *target {
	out := &target{
		id:   unique.Make(fmt.Sprintf("planned NodeClaim %d", i)),
		pool: unique.Make(n.NodePoolName), requirements: n.Requirements,
		slices: map[dynamicresources.InstanceTypeID][]dynamicresources.ResourceSlice{},
	}
	for _, t := range n.InstanceTypeOptions {
		out.add(t)
	}
	return out
}

// existing is a node that there is: the devices of one that is not initialized are those of its type.
func (g *gathered) existing(n *scheduler.ExistingNode) *target {
	kind, pool := n.Labels()[corev1.LabelInstanceTypeStable], n.Labels()[v1.NodePoolLabelKey]
	out := &target{
		id:   unique.Make(n.ProviderID()),
		pool: unique.Make(pool), requirements: scheduling.NewLabelRequirements(n.Labels()),
		slices: map[dynamicresources.InstanceTypeID][]dynamicresources.ResourceSlice{},
	}
	if n.Node != nil {
		out.node = n.Node.Name
	}
	for _, t := range g.types[pool] {
		if t.Name == kind && !n.Initialized() {
			out.add(t)
			return out
		}
	}
	out.types = append(out.types, unique.Make(kind))
	return out
}
