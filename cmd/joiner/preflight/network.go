package preflight

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
)

// discoveryTag is the tag by which the example's EC2NodeClass, and most people's, finds subnets and security groups.
const discoveryTag = "karpenter.sh/discovery"

// fewAddresses are too few for some nodes: each takes one, and its pods more.
const fewAddresses = 32

// network looks for the subnets and security groups that nodes are to be launched into.
func (s *Checker) network(ctx context.Context) ([]doctor.Finding, error) {
	cluster, err := s.described(ctx)
	if err != nil {
		return nil, s.elsewhere(err)
	}
	client, filter := ec2.NewFromConfig(s.config), []types.Filter{{Name: aws.String("tag:" + discoveryTag), Values: []string{s.plan.Cluster}}}
	var subnets, groups []string
	free, zones := int32(0), map[string]bool{}
	subnetPages := ec2.NewDescribeSubnetsPaginator(client, &ec2.DescribeSubnetsInput{Filters: filter})
	for subnetPages.HasMorePages() {
		page, err := subnetPages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.Subnets {
			subnets = append(subnets, aws.ToString(page.Subnets[i].SubnetId))
			free += aws.ToInt32(page.Subnets[i].AvailableIpAddressCount)
			zones[aws.ToString(page.Subnets[i].AvailabilityZone)] = true
		}
	}
	groupPages := ec2.NewDescribeSecurityGroupsPaginator(client, &ec2.DescribeSecurityGroupsInput{Filters: filter})
	for groupPages.HasMorePages() {
		page, err := groupPages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.SecurityGroups {
			groups = append(groups, aws.ToString(page.SecurityGroups[i].GroupId))
		}
	}
	var found []doctor.Finding
	tag := func(what string, ids []string) {
		if len(ids) == 0 {
			ids = []string{"ID"}
		}
		found = append(found, doctor.Finding{
			Level: doctor.Warn, Seen: fmt.Sprintf("no %s has the tag %s=%s, by which the EC2NodeClass of the example selects it", what, discoveryTag, s.plan.Cluster),
			Do: fmt.Sprintf("aws ec2 create-tags --resources %s --tags Key=%s,Value=%s; or name others in your EC2NodeClass", strings.Join(ids, " "), discoveryTag, s.plan.Cluster),
		})
	}
	vpc := cluster.ResourcesVpcConfig
	if len(subnets) == 0 && vpc != nil {
		tag("subnet", vpc.SubnetIds)
	}
	if len(groups) == 0 && vpc != nil {
		tag("security group", groupsOf(vpc))
	}
	if len(subnets) > 0 && free < fewAddresses {
		found = append(found, doctor.Finding{Level: doctor.Warn, Seen: fmt.Sprintf("the subnets with the tag %s=%s have %d free addresses in all", discoveryTag, s.plan.Cluster, free),
			Do: "tag larger subnets, or add some to the VPC: each node needs an address, and its pods more"})
	}
	if len(found) == 0 {
		found = one(doctor.OK, fmt.Sprintf("%d subnets in %d zones with %d free addresses, and %d security groups have the tag %s=%s", len(subnets), len(zones), free, len(groups), discoveryTag, s.plan.Cluster), "")
	}
	return found, nil
}
