package ec2

import (
	"encoding/binary"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
)

// Network is what a model starts with: one VPC.
type Network struct {
	VPC            VPC
	Subnets        []Subnet
	SecurityGroups []SecurityGroup
}

// VPC is a virtual network. ID may be empty: it is made up then.
type VPC struct {
	ID   string
	CIDR string // IPv4, e.g. "10.0.0.0/16"
	Tags map[string]string
}

// Subnet is a range of addresses in one zone. ID may be empty: it is made up
// then. Five addresses of every subnet belong to AWS.
type Subnet struct {
	ID       string
	VPCID    string // of the network it is added to; "" means the first VPC
	Zone     string // name
	CIDR     string // IPv4, e.g. "10.0.32.0/19"
	IPv6CIDR string // a /64, e.g. "2001:db8:0:1::/64"; "" when it has none
	Public   bool   // instances get a public address unless they ask for none
	Default  bool   // used where a launch names the zone only
	Tags     map[string]string
}

// SecurityGroup is a set of rules. ID may be empty: it is made up then.
type SecurityGroup struct {
	ID          string
	VPCID       string // "" means the first VPC
	Name        string
	Description string
	Tags        map[string]string
}

// DefaultNetwork returns a VPC with one private subnet of 8,187 usable
// addresses in each zone, a control plane and a node security group, all tagged
// karpenter.sh/discovery=discovery.
func DefaultNetwork(discovery string) Network {
	tags := func(name string) map[string]string {
		return map[string]string{"Name": discovery + "-" + name, "karpenter.sh/discovery": discovery}
	}
	n := Network{VPC: VPC{CIDR: "10.0.0.0/16", Tags: tags("vpc")}}
	for i, zone := range catalog.Zones() {
		n.Subnets = append(n.Subnets, Subnet{
			Zone: zone.Name, CIDR: fmt.Sprintf("10.0.%d.0/19", 32*i), Default: true,
			Tags: tags("private-" + zone.Name),
		})
	}
	n.SecurityGroups = []SecurityGroup{
		{Name: "eks-cluster-sg-" + discovery, Description: "control plane and managed nodes", Tags: map[string]string{"Name": "eks-cluster-sg-" + discovery}},
		{Name: discovery + "-node", Description: "nodes", Tags: tags("node")},
	}
	return n
}

type vpc struct{ VPC }

type subnet struct {
	Subnet
	naming   naming
	prefix   netip.Prefix
	prefix6  netip.Prefix // invalid when it has none
	next6    uint64
	occupied int // addresses something else holds
	used     map[netip.Addr]bool
	next     netip.Addr // where the search for a free address starts
}

type securityGroup struct{ SecurityGroup }

func (m *Model) addNetwork(n Network) {
	v := n.VPC
	if v.ID == "" {
		v.ID = m.newID("vpc")
	}
	m.vpcs = append(m.vpcs, &vpc{v})
	m.tags.set(v.ID, v.Tags, m.now())
	for _, s := range n.Subnets {
		s.VPCID = v.ID
		if _, err := m.addSubnet(s); err != nil {
			panic(fmt.Sprintf("ec2: network: %v", err)) // the caller wrote the CIDR down wrong
		}
	}
	for _, g := range n.SecurityGroups {
		g.VPCID = v.ID
		m.addSecurityGroup(g)
	}
}

// AddSubnet adds a subnet and returns its id, or an error when its zone, VPC or
// CIDR is not one the model knows.
func (m *Model) AddSubnet(s Subnet) (string, error) {
	m.lock()
	defer m.unlock()
	return m.addSubnet(s)
}

func (m *Model) addSubnet(s Subnet) (string, error) {
	prefix, err := netip.ParsePrefix(s.CIDR)
	if err != nil {
		return "", fmt.Errorf("add subnet: %w", err)
	}
	if !prefix.Addr().Is4() || prefix.Bits() < 16 || prefix.Bits() > 28 {
		return "", fmt.Errorf("add subnet: %s is not an IPv4 range between /16 and /28", s.CIDR)
	}
	if catalog.ZoneID(s.Zone) == "" {
		return "", fmt.Errorf("add subnet: unknown zone %q", s.Zone)
	}
	if s.VPCID == "" {
		s.VPCID = m.vpcs[0].ID
	}
	if !slices.ContainsFunc(m.vpcs, func(v *vpc) bool { return v.ID == s.VPCID }) {
		return "", fmt.Errorf("add subnet: unknown VPC %q", s.VPCID)
	}
	if s.ID == "" {
		s.ID = m.newID("subnet")
	}
	added := &subnet{Subnet: s, prefix: prefix.Masked(), used: map[netip.Addr]bool{}}
	if s.IPv6CIDR != "" {
		added.prefix6, err = netip.ParsePrefix(s.IPv6CIDR)
		if err != nil || !added.prefix6.Addr().Is6() || added.prefix6.Bits() != 64 {
			return "", fmt.Errorf("add subnet: %s is not an IPv6 range of 64 bits", s.IPv6CIDR)
		}
	}
	m.subnets = append(m.subnets, added)
	m.tags.set(s.ID, s.Tags, m.now())
	return s.ID, nil
}

// AddSecurityGroup adds a security group and returns its id.
func (m *Model) AddSecurityGroup(g SecurityGroup) string {
	m.lock()
	defer m.unlock()
	return m.addSecurityGroup(g)
}

func (m *Model) addSecurityGroup(g SecurityGroup) string {
	if g.VPCID == "" {
		g.VPCID = m.vpcs[0].ID
	}
	if g.ID == "" {
		g.ID = m.newID("sg")
	}
	m.groups = append(m.groups, &securityGroup{g})
	m.tags.set(g.ID, g.Tags, m.now())
	return g.ID
}

// Subnets returns the subnets, in the order they were added.
func (m *Model) Subnets() []Subnet {
	m.lock()
	defer m.unlock()
	var out []Subnet
	for _, s := range m.subnets {
		c := s.Subnet
		c.Tags = maps.Clone(c.Tags)
		out = append(out, c)
	}
	return out
}

// SecurityGroups returns the security groups, in the order they were added.
func (m *Model) SecurityGroups() []SecurityGroup {
	m.lock()
	defer m.unlock()
	var out []SecurityGroup
	for _, g := range m.groups {
		c := g.SecurityGroup
		c.Tags = maps.Clone(c.Tags)
		out = append(out, c)
	}
	return out
}

func (m *Model) subnet(id string) *subnet {
	i := slices.IndexFunc(m.subnets, func(s *subnet) bool { return s.ID == id })
	if i < 0 {
		return nil
	}
	return m.subnets[i]
}

// defaultSubnet returns the subnet for a launch that names no subnet: in the
// zone, or in any when zone is "". It is nil when there is none.
func (m *Model) defaultSubnet(zone string) *subnet {
	i := slices.IndexFunc(m.subnets, func(s *subnet) bool { return s.Default && (zone == "" || s.Zone == zone) })
	if i < 0 {
		return nil
	}
	return m.subnets[i]
}

func (m *Model) group(id string) *securityGroup {
	i := slices.IndexFunc(m.groups, func(g *securityGroup) bool { return g.ID == id })
	if i < 0 {
		return nil
	}
	return m.groups[i]
}

// OccupyAddresses lets something else hold n addresses of a subnet, e.g. pods or load balancers, instead of however many it
// held before, and reports whether there is a subnet of that id.
func (m *Model) OccupyAddresses(id string, n int) bool {
	m.lock()
	defer m.unlock()
	s := m.subnet(id)
	if s != nil {
		s.occupied = n
	}
	return s != nil
}

// free returns how many addresses can still be given out.
func (s *subnet) free() int {
	return max(0, 1<<(32-s.prefix.Bits())-5-len(s.used)-s.occupied)
}

// take gives out the next free address in turn, so that one just given back
// rests for a while. It must not be called when free is 0.
func (s *subnet) take() netip.Addr {
	first := offset(s.prefix.Addr(), 4)
	last := offset(s.prefix.Addr(), 1<<(32-s.prefix.Bits())-2)
	if !s.next.IsValid() || last.Less(s.next) {
		s.next = first
	}
	for s.used[s.next] {
		s.next = s.next.Next()
		if last.Less(s.next) {
			s.next = first
		}
	}
	addr := s.next
	s.used[addr] = true
	s.next = addr.Next()
	return addr
}

func (s *subnet) release(addr netip.Addr) { delete(s.used, addr) }

func offset(a netip.Addr, n uint32) netip.Addr {
	b := a.As4()
	binary.BigEndian.PutUint32(b[:], binary.BigEndian.Uint32(b[:])+n)
	return netip.AddrFrom4(b)
}

// publicDNSName returns the host name of a public address.
func publicDNSName(a netip.Addr) string {
	return "ec2-" + strings.ReplaceAll(a.String(), ".", "-") + "." + catalog.Region + ".compute.amazonaws.com"
}

// privateDNSName returns the IP-based host name of an address.
func privateDNSName(a netip.Addr) string {
	return "ip-" + strings.ReplaceAll(a.String(), ".", "-") + "." + catalog.Region + ".compute.internal"
}
