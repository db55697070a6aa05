package ec2_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestSecurityGroupsAreMadeAndDeletedOnceNothingHasThem(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	vpc := b.SecurityGroups()[0].VPCID
	make := func(name, description, vpc string) (*sdk.CreateSecurityGroupOutput, error) {
		return b.sdk.CreateSecurityGroup(ctx, &sdk.CreateSecurityGroupInput{GroupName: &name, Description: &description, VpcId: &vpc,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}}}})
	}
	made, err := make("extra", "one more", vpc)
	if err != nil || !strings.HasSuffix(*made.SecurityGroupArn, ":security-group/"+*made.GroupId) || len(made.Tags) != 1 {
		t.Fatalf("%+v %v", made, err)
	}
	out, err := b.sdk.DescribeSecurityGroups(ctx, &sdk.DescribeSecurityGroupsInput{Filters: []types.Filter{by("tag:team", "a")}})
	if err != nil || len(out.SecurityGroups) != 1 || *out.SecurityGroups[0].GroupName != "extra" || *out.SecurityGroups[0].VpcId != vpc {
		t.Errorf("%+v %v", out, err)
	}
	for _, c := range []struct{ what, name, description, vpc, code string }{
		{"a name taken", "EXTRA", "d", vpc, "InvalidGroup.Duplicate"},
		{"a name like an id", "sg-1", "d", vpc, "InvalidParameterValue"},
		{"a name with other characters", "a%b", "d", vpc, "InvalidParameterValue"},
		{"a description with other characters", "b", "<d>", vpc, "InvalidParameterValue"},
		{"another VPC", "b", "d", "vpc-0123456789abcdef0", "InvalidVpcID.NotFound"},
		{"no VPC", "b", "d", "", "VPCIdNotSpecified"},
	} {
		_, err := make(c.name, c.description, c.vpc)
		wantCode(t, c.what, err, c.code)
	}
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) { d.SecurityGroupIds = []string{*made.GroupId} })
	id := b.launchOne(t)
	b.clock.Advance(time.Minute)
	drop := func(id string) error {
		_, err := b.sdk.DeleteSecurityGroup(ctx, &sdk.DeleteSecurityGroupInput{GroupId: &id})
		return err
	}
	wantCode(t, "a group that an instance has", drop(*made.GroupId), "DependencyViolation")
	if _, err := b.sdk.TerminateInstances(ctx, &sdk.TerminateInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a group of an instance that is ending", drop(*made.GroupId), "DependencyViolation")
	b.clock.Advance(time.Minute)
	if err := drop(*made.GroupId); err != nil {
		t.Error(err)
	}
	wantCode(t, "a group deleted before", drop(*made.GroupId), "InvalidGroup.NotFound")
	wantCode(t, "no id", drop("extra"), "InvalidGroupId.Malformed")
}

func TestASubnetSaysHowItsInstancesAreNamed(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	subnet := b.subnetIn("a")
	first := b.launchOne(t)
	modify := func(in sdk.ModifySubnetAttributeInput) error {
		if in.SubnetId == nil {
			in.SubnetId = &subnet
		}
		_, err := b.sdk.ModifySubnetAttribute(t.Context(), &in)
		return err
	}
	yes := &types.AttributeBooleanValue{Value: aws.Bool(true)}
	for _, in := range []sdk.ModifySubnetAttributeInput{{EnableResourceNameDnsARecordOnLaunch: yes}, {PrivateDnsHostnameTypeOnLaunch: "resource-name"}, {MapPublicIpOnLaunch: yes}} {
		if err := modify(in); err != nil {
			t.Fatal(err)
		}
	}
	out, err := b.sdk.DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{SubnetIds: []string{subnet}})
	if err != nil || out.Subnets[0].PrivateDnsNameOptionsOnLaunch.HostnameType != "resource-name" || !*out.Subnets[0].PrivateDnsNameOptionsOnLaunch.EnableResourceNameDnsARecord || !*out.Subnets[0].MapPublicIpOnLaunch {
		t.Errorf("subnet %+v %v", out, err)
	}
	second := b.launchOne(t)
	b.clock.Advance(time.Minute)
	for _, i := range b.describe(t) {
		want, kind := "ip-10-0-", types.HostnameTypeIpName
		if *i.InstanceId == second {
			want, kind = second+".us-west-2.compute.internal", types.HostnameTypeResourceName
		}
		if !strings.HasPrefix(*i.PrivateDnsName, want) || !strings.HasPrefix(*i.NetworkInterfaces[0].PrivateDnsName, want) || i.PrivateDnsNameOptions.HostnameType != kind {
			t.Errorf("%s, the first being %s, is called %s (%+v), want %s", *i.InstanceId, first, *i.PrivateDnsName, i.PrivateDnsNameOptions, want)
		}
		if (i.PublicIpAddress != nil) != (*i.InstanceId == second) {
			t.Errorf("%s has the public address %v", *i.InstanceId, i.PublicIpAddress)
		}
		if facts, _ := b.Lookup(*i.InstanceId); facts.PrivateDNSName != *i.PrivateDnsName {
			t.Errorf("the machine is called %s, and described as %s", facts.PrivateDNSName, *i.PrivateDnsName)
		}
	}
	wantCode(t, "two at once", modify(sdk.ModifySubnetAttributeInput{MapPublicIpOnLaunch: yes, PrivateDnsHostnameTypeOnLaunch: "ip-name"}), "InvalidParameterCombination")
	wantCode(t, "nothing", modify(sdk.ModifySubnetAttributeInput{}), "MissingParameter")
	wantCode(t, "no such name", modify(sdk.ModifySubnetAttributeInput{PrivateDnsHostnameTypeOnLaunch: "pet-name"}), "InvalidParameterValue")
	wantCode(t, "IPv6 records without IPv6", modify(sdk.ModifySubnetAttributeInput{EnableResourceNameDnsAAAARecordOnLaunch: yes}), "InvalidParameterValue")
	wantCode(t, "what is not modelled", modify(sdk.ModifySubnetAttributeInput{EnableDns64: yes}), "UnknownParameter")
	wantCode(t, "no such subnet", modify(sdk.ModifySubnetAttributeInput{SubnetId: aws.String("subnet-0123456789abcdef0"), MapPublicIpOnLaunch: yes}), "InvalidSubnetID.NotFound")
}
