package ec2fleet

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/adapter/sdkerr"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// managed are the filters for instances that carry the cluster's tag and a NodePool tag: ours, and those Karpenter
// made.
func managed(cluster string) []types.Filter { return owned(cluster)[:2] }

// Managed returns every instance that carries the cluster's tag and a NodePool tag, whether or not an intent's, in
// whatever state, by id, each once. It may miss young ones.
func (f *Fleet) Managed(ctx context.Context, cluster string) ([]model.Instance, error) {
	found, err := f.describe(ctx, managed(cluster)...)
	return found, translate(err, "list the managed instances of cluster %s", cluster)
}

// AdoptInstances gives those of the instances the tag of an intent that carry the cluster's tag and a NodePool tag when
// it is called, have no intent yet and are not ending. It returns the ids of those that carry the intent afterwards,
// also where they had it before: they carry all the tags that make an instance ours. Where EC2 does not know one of
// them after all, the others are tagged one by one. It may be repeated.
func (f *Fleet) AdoptInstances(ctx context.Context, cluster, intent string, ids []string) ([]string, error) {
	if intent == "" {
		return nil, fault.New(fault.Invalid, "",
			"instances of cluster %s: they cannot be adopted for an intent without a name", cluster)
	}
	var taken []string
	for some := range slices.Chunk(distinct(ids), maxFilterValues) {
		alive := types.Filter{Name: aws.String("instance-state-name"),
			Values: []string{"pending", "running", "stopping", "stopped"}}
		found, err := f.describe(ctx, append(slices.Clip(managed(cluster)), byID(some), alive)...)
		if err != nil {
			return taken, translate(err, "describe %d instances to tag", len(some))
		}
		var bare []string
		for i := range found {
			switch found[i].Tags[TagIntent] {
			case "":
				bare = append(bare, found[i].ID)
			case intent:
				taken = append(taken, found[i].ID)
			}
		}
		if len(bare) == 0 {
			continue
		}
		err = f.tagIntent(ctx, intent, bare)
		if err == nil {
			taken = append(taken, bare...)
			continue
		}
		if !fault.Is(err, fault.Invalid) || len(bare) == 1 {
			return taken, err
		}
		for _, id := range bare {
			switch one := f.tagIntent(ctx, intent, []string{id}); {
			case one == nil:
				taken = append(taken, id)
			case sdkerr.Code(one) != "InvalidInstanceID.NotFound":
				return taken, one
			}
		}
	}
	return taken, nil
}

func (f *Fleet) tagIntent(ctx context.Context, intent string, ids []string) error {
	_, err := f.client.CreateTags(ctx,
		&ec2.CreateTagsInput{Resources: ids, Tags: sdkTags(map[string]string{TagIntent: intent})})
	return translate(err, "tag %d instances with %s=%s", len(ids), TagIntent, intent)
}
