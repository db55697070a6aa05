package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
)

// startNotices feeds the event bus, whose rules send to the queue of notices, with what EC2 has to say. Events are told side by
// side, since EventBridge promises no order.
func (s *Stack) startNotices() {
	s.EC2.OnEvent(func(source, detailType string, detail any, resources []string) {
		text, err := json.Marshal(detail)
		if err != nil {
			s.say("an event of %s: %v", source, err)
			return
		}
		entry := events.Entry{Source: source, DetailType: detailType, Detail: text, Resources: resources, Time: time.Now()}
		go func() {
			if s.lose(entry) {
				return
			}
			if _, err := s.Bus.PutEvents(s.running, entry); err != nil {
				s.say("an event of %s: %v", source, err)
			}
		}()
	})
}

// announceShift feeds the stack's event bus with what ARC has to say of a cluster.
func announceShift(s *Stack, detailType, arn string) {
	entry := events.Entry{Source: "aws.arc-zonal-shift", DetailType: detailType, Detail: json.RawMessage("{}"),
		Resources: []string{arn}, Time: time.Now()}
	if s.lose(entry) {
		return
	}
	if _, err := s.Bus.PutEvents(s.running, entry); err != nil {
		s.say("an event of ARC: %v", err)
	}
}

// lose reports whether EventBridge loses an event.
func (s *Stack) lose(entry events.Entry) bool {
	return s.Options.LoseEvent != nil && s.Options.LoseEvent(entry)
}

// Health has AWS Health tell of a change that is scheduled for instances, e.g. AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED.
func (s *Stack) Health(ctx context.Context, code string, instances ...string) error {
	event := events.HealthEvent{
		Code: code, Entities: instances, Account: s.Cloud.Account(), Region: s.Cloud.Region(), Start: time.Now().Add(72 * time.Hour),
	}
	_, err := s.Bus.PutEvents(ctx, event.Entry(time.Now()))
	return err
}

// RunForeign runs n spot instances with the tags of a cluster's pool, on themselves and their spot requests, that no launch of
// ours made, and returns their ids. They never join, and need no such cluster.
func (s *Stack) RunForeign(ctx context.Context, cluster string, n int) ([]string, error) {
	image, err := s.image(ctx)
	if err != nil {
		return nil, err
	}
	tags := []types.Tag{
		{Key: awssdk.String("kubernetes.io/cluster/" + cluster), Value: awssdk.String("owned")},
		{Key: awssdk.String("karpenter.sh/nodepool"), Value: awssdk.String("default")},
	}
	out, err := ec2sdk.NewFromConfig(s.Cloud.Config()).RunInstances(ctx, &ec2sdk.RunInstancesInput{
		ImageId: &image, InstanceType: types.InstanceTypeM5Large, SubnetId: awssdk.String(s.EC2.Subnets()[0].ID),
		MinCount: awssdk.Int32(int32(n)), MaxCount: awssdk.Int32(int32(n)),
		InstanceMarketOptions: &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot},
		TagSpecifications: []types.TagSpecification{
			{ResourceType: types.ResourceTypeInstance, Tags: tags}, {ResourceType: types.ResourceTypeSpotInstancesRequest, Tags: tags},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("run machines of cluster %s: %w", cluster, err)
	}
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, awssdk.ToString(i.InstanceId))
	}
	return ids, nil
}

// image returns an image instances can be run from.
func (s *Stack) image(ctx context.Context) (string, error) {
	filter := func(name, value string) types.Filter {
		return types.Filter{Name: awssdk.String(name), Values: []string{value}}
	}
	out, err := ec2sdk.NewFromConfig(s.Cloud.Config()).DescribeImages(ctx, &ec2sdk.DescribeImagesInput{
		Owners: []string{"amazon"}, Filters: []types.Filter{filter("architecture", "x86_64"), filter("name", "amazon-eks-node-al2023-*")},
	})
	if err != nil {
		return "", fmt.Errorf("find an image: %w", err)
	}
	if len(out.Images) == 0 {
		return "", errors.New("find an image: there is none of AL2023 for x86_64")
	}
	return awssdk.ToString(out.Images[0].ImageId), nil
}
