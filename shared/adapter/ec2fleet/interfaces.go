package ec2fleet

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Types of network interfaces, as launch templates name them.
const (
	interfaceEFA     = "efa"
	interfaceEFAOnly = "efa-only" // carries no IP traffic
)

// networkInterfaces are the class's own, or one EFA interface on each card where pods ask for them, or one. Security
// groups are theirs and never the instance's, because EC2 takes them in one of the two places only.
func networkInterfaces(launch model.Launch,
	t model.LaunchTemplate) ([]types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest, error) {
	class := launch.Class
	var out []types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest
	switch {
	case len(class.NetworkInterfaces) > 0:
		for _, n := range class.NetworkInterfaces {
			out = append(out, networkInterface(launch, n.Card, n.Device, n.Type))
		}
	case t.EFA > 0:
		for card := range t.EFA {
			device := min(card, 1) // the first card's is the primary one; each other card counts on its own
			out = append(out, networkInterface(launch, card, device, interfaceEFA))
		}
	default:
		only := networkInterface(launch, 0, 0, "")
		only.NetworkCardIndex = nil
		out = append(out, only)
	}
	if aws.ToBool(class.AssociatePublicIPAddress) && len(out) > 1 {
		return nil, fault.New(fault.Invalid, "PublicAddressOfSeveralInterfaces",
			"EC2NodeClass %s: spec.associatePublicIPAddress: true requires one network interface and the instance has"+
				" %d; remove the field and let the subnet assign public addresses, or use another EC2NodeClass",
			class.Name, len(out))
	}
	return out, nil
}

// networkInterface is one interface. What concerns IP addresses is left out where it carries no IP traffic.
func networkInterface(launch model.Launch, card, device int64,
	kind string) types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
	class := launch.Class
	out := types.LaunchTemplateInstanceNetworkInterfaceSpecificationRequest{
		DeviceIndex: aws.Int32(int32(device)), NetworkCardIndex: aws.Int32(int32(card)), Groups: securityGroups(class),
	}
	if kind != "" {
		out.InterfaceType = aws.String(kind)
	}
	if kind == interfaceEFAOnly {
		return out
	}
	out.AssociatePublicIpAddress = class.AssociatePublicIPAddress
	out.ConnectionTrackingSpecification = connectionTracking(class.ConnectionTracking)
	if launch.IPv6 {
		out.PrimaryIpv6, out.Ipv6AddressCount = aws.Bool(true), aws.Int32(1)
	}
	if class.IPPrefixCount != nil {
		prefixes := aws.Int32(int32(*class.IPPrefixCount))
		if launch.IPv6 {
			out.Ipv6PrefixCount = prefixes
		} else {
			out.Ipv4PrefixCount = prefixes
		}
	}
	return out
}

func securityGroups(class model.Class) []string {
	groups := make([]string, len(class.Status.SecurityGroups))
	for i, group := range class.Status.SecurityGroups {
		groups[i] = group.ID
	}
	return groups
}

func connectionTracking(t *model.ConnectionTracking) *types.ConnectionTrackingSpecificationRequest {
	if t == nil {
		return nil
	}
	seconds := func(n int64) *int32 {
		if n == 0 {
			return nil
		}
		return aws.Int32(int32(n))
	}
	return &types.ConnectionTrackingSpecificationRequest{
		TcpEstablishedTimeout: seconds(t.TCPEstablishedSeconds), UdpStreamTimeout: seconds(t.UDPStreamSeconds),
		UdpTimeout: seconds(t.UDPSeconds),
	}
}
