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

// maxFilterValues is how many values one filter takes. Source: EC2 API reference, DescribeInstances.
const maxFilterValues = 200

// owned are the filters for instances that carry all the tags of a launch for the cluster.
func owned(cluster string) []types.Filter {
	return append(ofCluster(cluster), types.Filter{Name: aws.String("tag-key"), Values: []string{TagIntent}})
}

// ofCluster are the filters for what is tagged for the cluster and one of its pools, whichever launch it came from.
func ofCluster(cluster string) []types.Filter {
	return []types.Filter{
		{Name: aws.String("tag:kubernetes.io/cluster/" + cluster), Values: []string{"owned"}},
		{Name: aws.String("tag-key"), Values: []string{model.LabelNodePool}},
	}
}

func byID(ids []string) types.Filter {
	return types.Filter{Name: aws.String("instance-id"), Values: ids}
}

// Owned returns every instance that carries the cluster's tag, a NodePool tag and an intent tag, in whatever state, by
// id, each once. EC2 shows a terminated instance for about an hour.
func (f *Fleet) Owned(ctx context.Context, cluster string) ([]model.Instance, error) {
	found, err := f.describe(ctx, owned(cluster)...)
	return found, translate(err, "list the instances of cluster %s", cluster)
}

// DescribeInstances returns those of the instances that EC2 shows, in whatever state, by id, each once. They are asked
// for by a filter, which leaves out what is not there instead of failing for all.
func (f *Fleet) DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error) {
	var out []model.Instance
	for some := range slices.Chunk(distinct(ids), maxFilterValues) {
		found, err := f.describe(ctx, byID(some))
		if err != nil {
			return nil, translate(err, "describe %d instances", len(ids))
		}
		out = append(out, found...)
	}
	return out, nil
}

// Terminate ends those of the instances that carry the cluster's tags now and have not ended, and returns their ids.
// Where EC2 does not know one of them after all, the others are ended one by one.
func (f *Fleet) Terminate(ctx context.Context, cluster string, ids []string) ([]string, error) {
	var ended []string
	for some := range slices.Chunk(distinct(ids), maxFilterValues) {
		alive := types.Filter{Name: aws.String("instance-state-name"),
			Values: []string{"pending", "running", "stopping", "stopped"}}
		found, err := f.describe(ctx, append(owned(cluster), byID(some), alive)...)
		if err != nil {
			return ended, translate(err, "describe %d instances to terminate", len(some))
		}
		ours := make([]string, len(found))
		for i := range found {
			ours[i] = found[i].ID
		}
		if len(ours) == 0 {
			continue
		}
		err = f.terminate(ctx, ours)
		if !fault.Is(err, fault.Invalid) || len(ours) == 1 {
			if err != nil {
				return ended, err
			}
			ended = append(ended, ours...)
			continue
		}
		for _, id := range ours {
			if one := f.terminate(ctx, []string{id}); one != nil && sdkerr.Code(one) != "InvalidInstanceID.NotFound" {
				return ended, one
			}
			ended = append(ended, id)
		}
	}
	return ended, nil
}

func (f *Fleet) terminate(ctx context.Context, ids []string) error {
	_, err := f.client.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: ids})
	return translate(err, "terminate %d instances", len(ids))
}

// distinct returns the ids sorted, each once, without empty ones.
func distinct(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id string) bool { return id == "" })
}
