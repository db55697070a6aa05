package ec2

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// What instances are named by.
const (
	ipName       = "ip-name"
	resourceName = "resource-name"
)

// naming is how instances of a subnet are named where their launch says nothing of it.
type naming struct {
	HostnameType string `xml:"hostnameType"` // ipName or resourceName
	ARecord      bool   `xml:"enableResourceNameDnsARecord"`
	AAAARecord   bool   `xml:"enableResourceNameDnsAAAARecord"`
}

// naming returns how an instance is named.
func (s *launchSpec) naming() naming {
	out := s.subnet.naming
	out.HostnameType = cmp.Or(out.HostnameType, ipName)
	if set := s.data.PrivateDNSNameOptions; set != nil {
		out.HostnameType = cmp.Or(set.HostnameType, out.HostnameType)
		if set.EnableResourceNameDNSARecord != nil {
			out.ARecord = *set.EnableResourceNameDNSARecord
		}
		if set.EnableResourceNameDNSAAAARecord != nil {
			out.AAAARecord = *set.EnableResourceNameDNSAAAARecord
		}
	}
	return out
}

// hostName returns the private name of an instance.
func (i *instance) hostName() string {
	if i.naming.HostnameType == resourceName {
		return i.facts.ID + "." + catalog.Region + ".compute.internal"
	}
	return privateDNSName(i.address)
}

type modifySubnetAttributeInput struct {
	SubnetID            string     `query:"SubnetId"`
	MapPublicIPOnLaunch *boolValue `query:"MapPublicIpOnLaunch"`
	HostnameType        string     `query:"PrivateDnsHostnameTypeOnLaunch"`
	ARecord             *boolValue `query:"EnableResourceNameDnsARecordOnLaunch"`
	AAAARecord          *boolValue `query:"EnableResourceNameDnsAAAARecordOnLaunch"`
}

// modifySubnetAttribute changes one attribute of a subnet. Instances that there are keep the name and addresses they have.
func (m *Model) modifySubnetAttribute(_ context.Context, in *modifySubnetAttributeInput) (*returnOutput, error) {
	m.lock()
	defer m.unlock()
	set := 0
	for _, is := range []bool{in.MapPublicIPOnLaunch != nil, in.HostnameType != "", in.ARecord != nil, in.AAAARecord != nil} {
		if is {
			set++
		}
	}
	s := m.subnet(in.SubnetID)
	switch {
	case in.SubnetID == "":
		return nil, wire.Errorf("MissingParameter", "The request must contain the parameter subnetId")
	case !strings.HasPrefix(in.SubnetID, "subnet-"):
		return nil, wire.Errorf("InvalidSubnetID.Malformed", "Invalid id: \"%s\" (expecting \"subnet-...\")", in.SubnetID)
	case s == nil:
		return nil, wire.Errorf("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", in.SubnetID)
	case set == 0:
		return nil, wire.Errorf("MissingParameter", "The request must contain the attribute that is to change")
	case set > 1:
		return nil, wire.Errorf("InvalidParameterCombination", "Only one attribute can be modified at a time")
	case !slices.Contains([]string{"", ipName, resourceName}, in.HostnameType):
		return nil, wire.Errorf("InvalidParameterValue", "Invalid value '%s' for PrivateDnsHostnameTypeOnLaunch", in.HostnameType)
	case in.AAAARecord != nil && in.AAAARecord.Value && s.IPv6CIDR == "":
		return nil, wire.Errorf("InvalidParameterValue", "The subnet '%s' has no IPv6 CIDR block.", s.ID)
	}
	switch {
	case in.MapPublicIPOnLaunch != nil:
		s.Public = in.MapPublicIPOnLaunch.Value
	case in.ARecord != nil:
		s.naming.ARecord = in.ARecord.Value
	case in.AAAARecord != nil:
		s.naming.AAAARecord = in.AAAARecord.Value
	default:
		s.naming.HostnameType = in.HostnameType
	}
	return &returnOutput{true}, nil
}
