package ec2

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type describeSubnetsInput struct {
	SubnetIDs  []string `query:"SubnetId"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeSubnetsOutput struct {
	NextToken string               `xml:"nextToken,omitempty"`
	Subnets   wire.Set[subnetView] `xml:"subnetSet"`
}

type subnetView struct {
	SubnetID                string                  `xml:"subnetId"`
	SubnetARN               string                  `xml:"subnetArn"`
	State                   string                  `xml:"state"`
	OwnerID                 string                  `xml:"ownerId"`
	VPCID                   string                  `xml:"vpcId"`
	CIDRBlock               string                  `xml:"cidrBlock"`
	AvailableIPAddressCount int                     `xml:"availableIpAddressCount"`
	AvailabilityZone        string                  `xml:"availabilityZone"`
	AvailabilityZoneID      string                  `xml:"availabilityZoneId"`
	DefaultForAZ            bool                    `xml:"defaultForAz"`
	MapPublicIPOnLaunch     bool                    `xml:"mapPublicIpOnLaunch"`
	AssignIPv6              bool                    `xml:"assignIpv6AddressOnCreation"`
	IPv6Native              bool                    `xml:"ipv6Native"`
	IPv6                    wire.Set[ipv6BlockView] `xml:"ipv6CidrBlockAssociationSet"`
	Naming                  naming                  `xml:"privateDnsNameOptionsOnLaunch"`
	Tags                    wire.Set[Tag]           `xml:"tagSet"`
}

type ipv6BlockView struct {
	AssociationID string `xml:"associationId"`
	CIDR          string `xml:"ipv6CidrBlock"`
	State         string `xml:"ipv6CidrBlockState>state"`
}

var subnetFields = fields[*subnet]{
	"availability-zone":          func(s *subnet) []string { return one(s.Zone) },
	"availabilityZone":           func(s *subnet) []string { return one(s.Zone) },
	"availability-zone-id":       func(s *subnet) []string { return one(catalog.ZoneID(s.Zone)) },
	"available-ip-address-count": func(s *subnet) []string { return one(strconv.Itoa(s.free())) },
	"cidr-block":                 func(s *subnet) []string { return one(s.CIDR) },
	"default-for-az":             func(s *subnet) []string { return one(strconv.FormatBool(s.Default)) },
	"map-public-ip-on-launch":    func(s *subnet) []string { return one(strconv.FormatBool(s.Public)) },
	"state":                      func(*subnet) []string { return one("available") },
	"subnet-id":                  func(s *subnet) []string { return one(s.ID) },
	"vpc-id":                     func(s *subnet) []string { return one(s.VPCID) },
}

func (m *Model) describeSubnets(_ context.Context, in *describeSubnetsInput) (*describeSubnetsOutput, error) {
	m.lock()
	defer m.unlock()
	id := func(s *subnet) string { return s.ID }
	all := slices.Clone(m.subnets)
	slices.SortFunc(all, func(a, b *subnet) int { return strings.Compare(a.ID, b.ID) })
	found, err := pickByID(all, in.SubnetIDs, id, "InvalidSubnetID.NotFound", "subnet ID")
	if err != nil {
		return nil, err
	}
	tags := func(s *subnet) map[string]string { return m.tags.seen(s.ID, m.now()) }
	if found, err = filter(found, in.Filters, subnetFields, tags); err != nil {
		return nil, err
	}
	found, next, err := page(found, id, pages{5, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	views := []subnetView{}
	for _, s := range found {
		blocks := []ipv6BlockView{}
		if s.IPv6CIDR != "" {
			blocks = append(blocks, ipv6BlockView{"subnet-cidr-assoc-" + digest(s.ID)[:17], s.IPv6CIDR, "associated"})
		}
		naming := s.naming
		naming.HostnameType = cmp.Or(naming.HostnameType, ipName)
		views = append(views, subnetView{
			SubnetID: s.ID, SubnetARN: m.arn("subnet/" + s.ID), State: "available", OwnerID: m.account, VPCID: s.VPCID,
			CIDRBlock: s.CIDR, AvailableIPAddressCount: s.free(), AvailabilityZone: s.Zone, AvailabilityZoneID: catalog.ZoneID(s.Zone),
			DefaultForAZ: s.Default, MapPublicIPOnLaunch: s.Public, IPv6: wire.SetOf(blocks), Naming: naming, Tags: wire.SetOf(tagList(tags(s))),
		})
	}
	return &describeSubnetsOutput{next, wire.SetOf(views)}, nil
}

type describeSecurityGroupsInput struct {
	GroupIDs   []string `query:"GroupId"`
	GroupNames []string `query:"GroupName"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeSecurityGroupsOutput struct {
	NextToken string              `xml:"nextToken,omitempty"`
	Groups    wire.Set[groupView] `xml:"securityGroupInfo"`
}

type groupView struct {
	GroupID     string             `xml:"groupId"`
	GroupName   string             `xml:"groupName"`
	Description string             `xml:"groupDescription"`
	ARN         string             `xml:"securityGroupArn"`
	OwnerID     string             `xml:"ownerId"`
	VPCID       string             `xml:"vpcId"`
	Ingress     wire.Set[ruleView] `xml:"ipPermissions"`
	Egress      wire.Set[ruleView] `xml:"ipPermissionsEgress"`
	Tags        wire.Set[Tag]      `xml:"tagSet"`
}

type ruleView struct {
	Protocol string             `xml:"ipProtocol"`
	Ranges   wire.Set[cidrView] `xml:"ipRanges"`
}

type cidrView struct {
	CIDR string `xml:"cidrIp"`
}

var groupFields = fields[*securityGroup]{
	"description": func(g *securityGroup) []string { return one(g.Description) },
	"group-id":    func(g *securityGroup) []string { return one(g.ID) },
	"group-name":  func(g *securityGroup) []string { return one(g.Name) },
	"vpc-id":      func(g *securityGroup) []string { return one(g.VPCID) },
}

func (m *Model) describeSecurityGroups(_ context.Context, in *describeSecurityGroupsInput) (*describeSecurityGroupsOutput, error) {
	m.lock()
	defer m.unlock()
	id := func(g *securityGroup) string { return g.ID }
	all := slices.Clone(m.groups)
	slices.SortFunc(all, func(a, b *securityGroup) int { return strings.Compare(a.ID, b.ID) })
	found, err := pickByID(all, in.GroupIDs, id, "InvalidGroup.NotFound", "security group")
	if err != nil {
		return nil, err
	}
	if found, err = pickByID(found, in.GroupNames, func(g *securityGroup) string { return g.Name }, "InvalidGroup.NotFound", "security group"); err != nil {
		return nil, err
	}
	tags := func(g *securityGroup) map[string]string { return m.tags.seen(g.ID, m.now()) }
	if found, err = filter(found, in.Filters, groupFields, tags); err != nil {
		return nil, err
	}
	found, next, err := page(found, id, pages{5, 1000, 1000}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	views := []groupView{}
	for _, g := range found {
		views = append(views, groupView{
			GroupID: g.ID, GroupName: g.Name, Description: g.Description, ARN: m.arn("security-group/" + g.ID),
			OwnerID: m.account, VPCID: g.VPCID, Tags: wire.SetOf(tagList(tags(g))),
			Egress: wire.SetOf([]ruleView{{"-1", wire.SetOf([]cidrView{{"0.0.0.0/0"}})}}),
		})
	}
	return &describeSecurityGroupsOutput{next, wire.SetOf(views)}, nil
}

type describeVpcsInput struct {
	VPCIDs     []string `query:"VpcId"`
	Filters    []Filter `query:"Filter"`
	NextToken  string
	MaxResults *int
}

type describeVpcsOutput struct {
	NextToken string            `xml:"nextToken,omitempty"`
	VPCs      wire.Set[vpcView] `xml:"vpcSet"`
}

type vpcView struct {
	VPCID           string        `xml:"vpcId"`
	State           string        `xml:"state"`
	OwnerID         string        `xml:"ownerId"`
	CIDRBlock       string        `xml:"cidrBlock"`
	InstanceTenancy string        `xml:"instanceTenancy"`
	IsDefault       bool          `xml:"isDefault"`
	Tags            wire.Set[Tag] `xml:"tagSet"`
}

var vpcFields = fields[*vpc]{
	"cidr":       func(v *vpc) []string { return one(v.CIDR) },
	"is-default": func(*vpc) []string { return one("false") },
	"state":      func(*vpc) []string { return one("available") },
	"vpc-id":     func(v *vpc) []string { return one(v.ID) },
}

func (m *Model) describeVpcs(_ context.Context, in *describeVpcsInput) (*describeVpcsOutput, error) {
	m.lock()
	defer m.unlock()
	id := func(v *vpc) string { return v.ID }
	all := slices.Clone(m.vpcs)
	slices.SortFunc(all, func(a, b *vpc) int { return strings.Compare(a.ID, b.ID) })
	found, err := pickByID(all, in.VPCIDs, id, "InvalidVpcID.NotFound", "vpc ID")
	if err != nil {
		return nil, err
	}
	tags := func(v *vpc) map[string]string { return m.tags.seen(v.ID, m.now()) }
	if found, err = filter(found, in.Filters, vpcFields, tags); err != nil {
		return nil, err
	}
	found, next, err := page(found, id, pages{5, 1000, 0}, in.MaxResults, in.NextToken)
	if err != nil {
		return nil, err
	}
	views := []vpcView{}
	for _, v := range found {
		views = append(views, vpcView{VPCID: v.ID, State: "available", OwnerID: m.account, CIDRBlock: v.CIDR, InstanceTenancy: "default", Tags: wire.SetOf(tagList(tags(v)))})
	}
	return &describeVpcsOutput{next, wire.SetOf(views)}, nil
}

type describeAvailabilityZonesInput struct {
	ZoneNames            []string `query:"ZoneName"`
	ZoneIDs              []string `query:"ZoneId"`
	AllAvailabilityZones bool
	Filters              []Filter `query:"Filter"`
}

type describeAvailabilityZonesOutput struct {
	Zones wire.Set[zoneView] `xml:"availabilityZoneInfo"`
}

type zoneView struct {
	ZoneName           string `xml:"zoneName"`
	ZoneID             string `xml:"zoneId"`
	State              string `xml:"zoneState"`
	RegionName         string `xml:"regionName"`
	OptInStatus        string `xml:"optInStatus"`
	GroupName          string `xml:"groupName"`
	NetworkBorderGroup string `xml:"networkBorderGroup"`
	ZoneType           string `xml:"zoneType"`
}

var zoneFields = fields[zoneView]{
	"opt-in-status": func(z zoneView) []string { return one(z.OptInStatus) },
	"region-name":   func(z zoneView) []string { return one(z.RegionName) },
	"state":         func(z zoneView) []string { return one(z.State) },
	"zone-id":       func(z zoneView) []string { return one(z.ZoneID) },
	"zone-name":     func(z zoneView) []string { return one(z.ZoneName) },
	"zone-type":     func(z zoneView) []string { return one(z.ZoneType) },
}

func (m *Model) describeAvailabilityZones(_ context.Context, in *describeAvailabilityZonesInput) (*describeAvailabilityZonesOutput, error) {
	views := []zoneView{}
	for _, z := range catalog.Zones() {
		views = append(views, zoneView{z.Name, z.ID, "available", catalog.Region, "opt-in-not-required", catalog.Region + "-zg-1", catalog.Region, "availability-zone"})
	}
	views, err := pickByID(views, in.ZoneNames, func(z zoneView) string { return z.ZoneName }, "InvalidParameterValue", "availability zone")
	if err != nil {
		return nil, err
	}
	if views, err = pickByID(views, in.ZoneIDs, func(z zoneView) string { return z.ZoneID }, "InvalidParameterValue", "availability zone id"); err != nil {
		return nil, err
	}
	if views, err = filter(views, in.Filters, zoneFields, nil); err != nil {
		return nil, err
	}
	return &describeAvailabilityZonesOutput{wire.SetOf(views)}, nil
}
