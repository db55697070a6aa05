package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// discoveryTag is the tag by which the example's EC2NodeClass, and most people's, finds subnets and security groups.
const discoveryTag = "karpenter.sh/discovery"

// fewAddresses are too few for some nodes: each takes one, and its pods more.
const fewAddresses = 32

// tagged is what has the tag by which nodes' network is found.
type tagged struct {
	subnets, groups []string // ids
	free            int32    // addresses of the subnets
	zones           map[string]bool
}

func (s *Checker) tagged(ctx context.Context) (out tagged, err error) {
	out.zones = map[string]bool{}
	client := ec2.NewFromConfig(s.Config)
	filter := []types.Filter{{Name: aws.String("tag:" + discoveryTag), Values: []string{s.plan.Cluster}}}
	subnets := ec2.NewDescribeSubnetsPaginator(client, &ec2.DescribeSubnetsInput{Filters: filter})
	for subnets.HasMorePages() {
		page, err := subnets.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for i := range page.Subnets {
			out.subnets = append(out.subnets, aws.ToString(page.Subnets[i].SubnetId))
			out.free += aws.ToInt32(page.Subnets[i].AvailableIpAddressCount)
			out.zones[aws.ToString(page.Subnets[i].AvailabilityZone)] = true
		}
	}
	groups := ec2.NewDescribeSecurityGroupsPaginator(client, &ec2.DescribeSecurityGroupsInput{Filters: filter})
	for groups.HasMorePages() {
		page, err := groups.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for i := range page.SecurityGroups {
			out.groups = append(out.groups, aws.ToString(page.SecurityGroups[i].GroupId))
		}
	}
	return out, nil
}

// network looks for the subnets and security groups that nodes are to be launched into.
func (s *Checker) network(ctx context.Context) ([]check.Finding, error) {
	cluster, err := s.described(ctx)
	if err != nil {
		return nil, s.elsewhere(err)
	}
	there, err := s.tagged(ctx)
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	tag := func(what string, ids []string) {
		if len(ids) == 0 {
			ids = []string{"ID"}
		}
		found = append(found, check.Finding{
			Level: check.Warn,
			Seen: fmt.Sprintf("no %s has the tag %s=%s, by which the EC2NodeClass of the example selects it", what,
				discoveryTag, s.plan.Cluster),
			Do: fmt.Sprintf(
				"aws ec2 create-tags --resources %s --tags Key=%s,Value=%s; or name others in your EC2NodeClass",
				strings.Join(ids, " "), discoveryTag, s.plan.Cluster),
		})
	}
	vpc := cluster.ResourcesVpcConfig
	if len(there.subnets) == 0 && vpc != nil {
		tag("subnet", vpc.SubnetIds)
	}
	if len(there.groups) == 0 && vpc != nil {
		tag("security group", groupsOf(vpc))
	}
	if len(there.subnets) > 0 && there.free < fewAddresses {
		found = append(found, check.Finding{Level: check.Warn,
			Seen: fmt.Sprintf("the subnets with the tag %s=%s have %d free addresses in all", discoveryTag,
				s.plan.Cluster, there.free),
			Do: "tag larger subnets, or add some to the VPC: each node needs an address, and its pods more"})
	}
	if len(found) == 0 {
		found = check.One(check.OK,
			fmt.Sprintf("%d subnets in %d zones with %d free addresses, and %d security groups have the tag %s=%s",
				len(there.subnets), len(there.zones), there.free, len(there.groups), discoveryTag, s.plan.Cluster), "")
	}
	return found, nil
}
