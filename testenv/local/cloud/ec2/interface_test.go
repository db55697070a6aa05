package ec2_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

type interfaceSpec = types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest

// interfaces makes a template declare network interfaces.
func interfaces(specs ...interfaceSpec) func(*types.RequestLaunchTemplateData) {
	return func(d *types.RequestLaunchTemplateData) {
		d.SecurityGroupIds = nil
		d.NetworkInterfaces = specs
	}
}

func primary(change func(*interfaceSpec)) interfaceSpec {
	s := interfaceSpec{DeviceIndex: aws.Int32(0)}
	if change != nil {
		change(&s)
	}
	return s
}

func TestInstancesReadBackEverythingTheyWereLaunchedWith(t *testing.T) {
	b := newBench(t)
	if _, err := b.AddSubnet(ec2.Subnet{ID: "subnet-dual", Zone: "us-west-2a", CIDR: "10.0.224.0/24", IPv6CIDR: "2001:db8:0:7::/64"}); err != nil {
		t.Fatal(err)
	}
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		interfaces(primary(func(s *interfaceSpec) {
			s.Ipv4PrefixCount, s.Ipv6PrefixCount, s.Ipv6AddressCount, s.PrimaryIpv6 = aws.Int32(2), aws.Int32(1), aws.Int32(1), aws.Bool(true)
			s.AssociatePublicIpAddress = aws.Bool(true)
			s.Groups = []string{b.SecurityGroups()[1].ID}
			s.ConnectionTrackingSpecification = &types.ConnectionTrackingSpecificationRequest{TcpEstablishedTimeout: aws.Int32(600), UdpTimeout: aws.Int32(45)}
		}))(d)
		d.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{NestedVirtualization: types.NestedVirtualizationSpecificationEnabled}
		d.EnclaveOptions = &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)}
		d.Placement = &types.LaunchTemplatePlacementRequest{Tenancy: types.TenancyDedicated}
		d.Monitoring = &types.LaunchTemplatesMonitoringRequest{Enabled: aws.Bool(true)}
		d.MetadataOptions = &types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: "required", HttpPutResponseHopLimit: aws.Int32(3)}
	})
	over := b.over("m8i.2xlarge", "a")
	over.SubnetId = aws.String("subnet-dual")
	out := b.fleet(t, fleetOf(1, od, over))
	if len(launchedIDs(out)) != 1 {
		t.Fatalf("errors %+v", out.Errors)
	}
	b.clock.Advance(time.Minute)
	i := b.describe(t)[0]
	n := i.NetworkInterfaces[0]
	if len(n.Ipv4Prefixes) != 2 || !strings.HasSuffix(*n.Ipv4Prefixes[0].Ipv4Prefix, "/28") || len(n.Ipv6Prefixes) != 1 || !strings.HasSuffix(*n.Ipv6Prefixes[0].Ipv6Prefix, "/80") {
		t.Errorf("prefixes %+v %+v", n.Ipv4Prefixes, n.Ipv6Prefixes)
	}
	if len(n.Ipv6Addresses) != 1 || !*n.Ipv6Addresses[0].IsPrimaryIpv6 || !strings.HasPrefix(aws.ToString(i.Ipv6Address), "2001:db8:0:7:") {
		t.Errorf("IPv6 %+v, %s", n.Ipv6Addresses, aws.ToString(i.Ipv6Address))
	}
	if aws.ToString(i.PublicIpAddress) == "" || *n.Association.PublicIp != *i.PublicIpAddress {
		t.Errorf("public address %s, association %+v", aws.ToString(i.PublicIpAddress), n.Association)
	}
	if c := n.ConnectionTrackingConfiguration; *c.TcpEstablishedTimeout != 600 || *c.UdpTimeout != 45 || c.UdpStreamTimeout != nil {
		t.Errorf("connection tracking %+v", c)
	}
	if i.CpuOptions.NestedVirtualization != "enabled" || !*i.EnclaveOptions.Enabled || i.Placement.Tenancy != "dedicated" || i.Monitoring.State != "enabled" ||
		*i.MetadataOptions.HttpPutResponseHopLimit != 3 || i.CapacityReservationSpecification.CapacityReservationPreference != "open" {
		t.Errorf("instance %+v", i)
	}
}

func TestInterfacesOfEveryCardAreReadBack(t *testing.T) {
	b := newBench(t)
	specs := []interfaceSpec{{DeviceIndex: aws.Int32(0), NetworkCardIndex: aws.Int32(0), InterfaceType: aws.String("efa")}}
	for card := int32(1); card < 4; card++ {
		specs = append(specs, interfaceSpec{DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(card), InterfaceType: aws.String("efa-only")})
	}
	b.template(t, "nodes", interfaces(specs...))
	out := b.fleet(t, fleetOf(1, od, b.over("p4d.24xlarge", "b")))
	if len(launchedIDs(out)) != 1 {
		t.Fatalf("errors %+v", out.Errors)
	}
	b.clock.Advance(time.Minute)
	found := b.describe(t)[0].NetworkInterfaces
	for card, n := range found {
		if int(*n.Attachment.NetworkCardIndex) != card || (n.PrivateIpAddress != nil) != (card == 0) || (*n.InterfaceType == "efa") != (card == 0) {
			t.Errorf("interface %d: %+v %+v", card, n, n.Attachment)
		}
	}
	if len(found) != 4 {
		t.Errorf("%d interfaces, want 4", len(found))
	}
	if has := b.Instances()[0].GPUs; has["vpc.amazonaws.com/efa"] != 4 || has["nvidia.com/gpu"] != 8 || len(has) != 2 {
		t.Errorf("its devices are %v", has)
	}
}

func TestShapesTheTypeCannotHaveAreRefused(t *testing.T) {
	tests := map[string]struct {
		over   string
		change func(*types.RequestLaunchTemplateData)
		code   string
	}{
		"no primary interface": {"m5.large", interfaces(interfaceSpec{DeviceIndex: aws.Int32(1)}), "InvalidParameterCombination"},
		"one place twice":      {"m5.large", interfaces(primary(nil), primary(nil)), "InvalidParameterValue"},
		"a card it has not":    {"m5.large", interfaces(primary(nil), interfaceSpec{DeviceIndex: aws.Int32(1), NetworkCardIndex: aws.Int32(1)}), "InvalidNetworkCardIndex"},
		"too many interfaces": {"m5.large", interfaces(primary(nil), interfaceSpec{DeviceIndex: aws.Int32(1)}, interfaceSpec{DeviceIndex: aws.Int32(2)},
			interfaceSpec{DeviceIndex: aws.Int32(3)}), "AttachmentLimitExceeded"},
		"EFA on a type without":     {"m5.large", interfaces(primary(func(s *interfaceSpec) { s.InterfaceType = aws.String("efa") })), "AttachmentLimitExceeded"},
		"a primary without address": {"p4d.24xlarge", interfaces(primary(func(s *interfaceSpec) { s.InterfaceType = aws.String("efa-only") })), "InvalidParameterCombination"},
		"public beside another": {"m5.large", interfaces(primary(func(s *interfaceSpec) { s.AssociatePublicIpAddress = aws.Bool(true) }),
			interfaceSpec{DeviceIndex: aws.Int32(1)}), "InvalidParameterCombination"},
		"IPv6 where the subnet has none": {"m5.large", interfaces(primary(func(s *interfaceSpec) { s.Ipv6PrefixCount = aws.Int32(1) })), "InvalidParameterValue"},
		"more prefixes than slots":       {"m5.large", interfaces(primary(func(s *interfaceSpec) { s.Ipv4PrefixCount = aws.Int32(10) })), "PrivateIpAddressLimitExceeded"},
		"a timeout out of range": {"m5.large", interfaces(primary(func(s *interfaceSpec) {
			s.ConnectionTrackingSpecification = &types.ConnectionTrackingSpecificationRequest{UdpTimeout: aws.Int32(61)}
		})), "InvalidParameterValue"},
		"timeouts on Xen": {"i3.large", interfaces(primary(func(s *interfaceSpec) {
			s.ConnectionTrackingSpecification = &types.ConnectionTrackingSpecificationRequest{UdpTimeout: aws.Int32(60)}
		})), "InvalidParameterCombination"},
		"enclaves on a type without": {"t3.micro", func(d *types.RequestLaunchTemplateData) {
			d.EnclaveOptions = &types.LaunchTemplateEnclaveOptionsRequest{Enabled: aws.Bool(true)}
		}, "InvalidParameterCombination"},
		"nested virtualisation on a type without": {"m5.large", func(d *types.RequestLaunchTemplateData) {
			d.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{NestedVirtualization: "enabled"}
		}, "InvalidParameterCombination"},
		"more cores than it has": {"m5.large", func(d *types.RequestLaunchTemplateData) {
			d.CpuOptions = &types.LaunchTemplateCpuOptionsRequest{CoreCount: aws.Int32(2), ThreadsPerCore: aws.Int32(2)}
		}, "InvalidParameterValue"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.template(t, "nodes", tt.change)
			out := b.fleet(t, fleetOf(1, od, b.over(tt.over, "b")))
			if len(launchedIDs(out)) != 0 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.code {
				t.Errorf("launched %v, errors %+v, want %s", got(out), out.Errors, tt.code)
			}
		})
	}
}

func TestSubnetsRunOutOfAddressesAndPrefixes(t *testing.T) {
	b := newBench(t)
	subnet, err := b.AddSubnet(ec2.Subnet{Zone: "us-west-2a", CIDR: "10.0.224.0/25"}) // 123 addresses, eight blocks of which six are whole
	if err != nil {
		t.Fatal(err)
	}
	over := b.over("m5.large", "a")
	over.SubnetId = &subnet
	b.template(t, "nodes", interfaces(primary(func(s *interfaceSpec) { s.Ipv4PrefixCount = aws.Int32(2) })))
	out := b.fleet(t, fleetOf(4, od, over))
	ids := launchedIDs(out)
	if len(ids) != 2 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientCidrBlocks" {
		t.Fatalf("launched %v, errors %+v", ids, out.Errors)
	}
	free := func() int32 {
		t.Helper()
		out, err := b.sdk.DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{SubnetIds: []string{subnet}})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Subnets[0].AvailableIpAddressCount
	}
	if n := free(); n != 123-2*33 {
		t.Errorf("%d addresses free, want %d", n, 123-2*33)
	}
	b.clock.Advance(time.Minute)
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	if n := free(); n != 123 {
		t.Errorf("%d addresses free once all have gone, want 123", n)
	}
	b.OccupyAddresses(subnet, 122)
	b.template(t, "plain")
	in := fleetOf(2, od, over)
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("plain")
	out = b.fleet(t, in)
	if len(launchedIDs(out)) != 1 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientFreeAddressesInSubnet" || !strings.Contains(*out.Errors[0].ErrorMessage, subnet) {
		t.Errorf("launched %v, errors %+v", got(out), out.Errors)
	}
}

func TestAnImageCanBeDeprecated(t *testing.T) {
	b := newBench(t)
	id := imageFor("x86_64")
	shown := func() bool {
		t.Helper()
		out, err := b.sdk.DescribeImages(t.Context(), &sdk.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{by("image-id", id)}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Images) == 1
	}
	if !shown() || !b.DeprecateImage(id, start.Add(time.Hour)) || !shown() {
		t.Error("it does not show before it is deprecated")
	}
	b.clock.Advance(time.Hour)
	if shown() {
		t.Error("it shows although it is deprecated")
	}
	if b.DeprecateImage("ami-00000000000000000", start) {
		t.Error("an image there is not was deprecated")
	}
}
