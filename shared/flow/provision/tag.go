package provision

import (
	"context"
	"fmt"
	"maps"
	"strconv"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// tagAtOnce is how many instances one run tags at most: calls of EC2's API are all clusters' to share, and a tag can wait.
const tagAtOnce = 10

// tagged reports whether nothing is to be tagged on a claim's instance.
func tagged(claim *model.Claim) bool {
	return claim.InstanceID == "" || claim.Annotations[model.AnnotationTagged] == "true"
}

// tagInstance gives an instance that has joined the names of its node and its claim, where it has none, and notes it in the
// claim's annotations. What goes wrong is tried again by a later run, and holds up nothing.
func (r *pass) tagInstance(ctx context.Context, claim *model.Claim) {
	tags := map[string]string{"Name": claim.NodeName, "karpenter.sh/nodeclaim": claim.Name, "eks:eks-cluster-name": r.reg.Cluster}
	err := r.effect(ctx, EffectTag, func() error {
		_, err := r.clients.Tagger.Tag(ctx, claim.InstanceID, tags)
		return err
	})
	if err != nil {
		if !passing(err) {
			r.problem("tag instance %s of claim %s: %v", claim.InstanceID, claim.Name, err)
		}
		return
	}
	annotations := map[string]string{}
	maps.Copy(annotations, claim.Annotations)
	annotations[model.AnnotationTagged], annotations[model.AnnotationClusterTagged] = "true", "true"
	claim.Annotations = annotations
}

// inPartition reports whether it is known which partition of its placement group a claim's instance is in, finding it out
// where EC2 chose it. Until then its node stays unregistered: what is spread over partitions must not run there.
func (r *pass) inPartition(ctx context.Context, claim *model.Claim) (bool, error) {
	if partition, asked := claim.Labels[model.LabelPartition]; !asked || partition != "" {
		return true, nil
	}
	found, err := r.clients.Fleet.FindInstances(ctx, claim.Intent)
	if err != nil {
		return false, fmt.Errorf("find out the partition of instance %s: %w", claim.InstanceID, err)
	}
	for _, instance := range found {
		if instance.ID != claim.InstanceID || instance.Partition == 0 {
			continue
		}
		claim.Labels = maps.Clone(claim.Labels)
		claim.Labels[model.LabelPartition] = strconv.FormatInt(instance.Partition, 10)
		return true, nil
	}
	return false, fault.New(fault.Internal, "PartitionUnknown", "EC2 does not return yet which partition instance %s is in", claim.InstanceID)
}
