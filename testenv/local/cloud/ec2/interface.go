package ec2

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Kinds of network interfaces.
const (
	plainInterface = "interface"
	efaInterface   = "efa"
	efaOnly        = "efa-only" // has no addresses
)

// prefixAddresses is how many addresses of its subnet an IPv4 prefix takes: a /28.
const prefixAddresses = 16

// checkInterfaces refuses network interfaces the type or the subnet has no room for, and those EC2 cannot make.
func checkInterfaces(t catalog.Type, in *subnet, specs []NetworkInterfaceSpec) *wire.Error {
	perCard, seen, efa := map[int]int{}, map[[2]int]bool{}, 0
	for _, s := range specs {
		if err := checkInterface(t, in, s); err != nil {
			return err
		}
		card, place := value(s.NetworkCardIndex), [2]int{value(s.NetworkCardIndex), value(s.DeviceIndex)}
		if seen[place] {
			return wire.Errorf("InvalidParameterValue", "Each network interface requires a unique device index on its network card.")
		}
		seen[place] = true
		if perCard[card]++; perCard[card] > t.InterfacesPerCard {
			return wire.Errorf("AttachmentLimitExceeded", "Interface count %d exceeds the limit for %s", perCard[card], t.Name)
		}
		if s.InterfaceType == efaInterface || s.InterfaceType == efaOnly {
			efa++
		}
		if value(s.AssociatePublicIPAddress) && len(specs) > 1 {
			return wire.Errorf("InvalidParameterCombination", "The associatePublicIPAddress parameter cannot be specified when launching with multiple network interfaces.")
		}
	}
	if len(specs) > 0 && !seen[[2]int{}] {
		return wire.Errorf("InvalidParameterCombination", "A network interface with device index 0 on network card 0 is required.")
	}
	if efa > t.EFAInterfaces {
		return wire.Errorf("AttachmentLimitExceeded", "EFA interface count %d exceeds allowed limit for %s", efa, t.Name)
	}
	return nil
}

func checkInterface(t catalog.Type, in *subnet, s NetworkInterfaceSpec) *wire.Error {
	card := value(s.NetworkCardIndex)
	bare := s.InterfaceType == efaOnly
	addresses := value(s.IPv4PrefixCount) + value(s.IPv6PrefixCount) + value(s.IPv6AddressCount)
	switch {
	case !slices.Contains([]string{"", plainInterface, efaInterface, efaOnly}, s.InterfaceType):
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for InterfaceType", s.InterfaceType)
	case card < 0 || card >= t.NetworkCards:
		return wire.Errorf("InvalidNetworkCardIndex", "Network card index %d exceeds the limit for %s", card, t.Name)
	case bare && card == 0 && value(s.DeviceIndex) == 0:
		return wire.Errorf("InvalidParameterCombination", "The primary network interface cannot be of the type 'efa-only'.")
	case value(s.IPv4PrefixCount) < 0 || value(s.IPv6PrefixCount) < 0 || value(s.IPv6AddressCount) < 0:
		return wire.Errorf("InvalidParameterValue", "Counts of addresses and prefixes must not be negative")
	case bare && (addresses > 0 || value(s.PrimaryIPv6) || value(s.AssociatePublicIPAddress) || s.ConnectionTracking != nil):
		return wire.Errorf("InvalidParameterCombination", "A network interface of the type 'efa-only' has no IP addresses.")
	case in.IPv6CIDR == "" && (value(s.IPv6PrefixCount)+value(s.IPv6AddressCount) > 0 || value(s.PrimaryIPv6)):
		return wire.Errorf("InvalidParameterValue", "The subnet '%s' has no IPv6 CIDR block.", in.ID)
	case value(s.IPv4PrefixCount)+1 > t.IPv4PerInterface:
		return wire.Errorf("PrivateIpAddressLimitExceeded", "Number of private addresses will exceed limit.")
	}
	return checkTracking(t, s.ConnectionTracking)
}

// checkTracking refuses idle timeouts out of their range. Source: API reference, ConnectionTrackingSpecificationRequest.
func checkTracking(t catalog.Type, c *ConnectionTracking) *wire.Error {
	if c == nil {
		return nil
	}
	if t.Hypervisor != "nitro" {
		return wire.Errorf("InvalidParameterCombination", "Connection tracking timeouts are not supported by the instance type '%s'.", t.Name)
	}
	for _, timeout := range []struct {
		name        string
		seconds     *int
		least, most int
	}{
		{"TcpEstablishedTimeout", c.TCPEstablishedTimeout, 60, 432000}, {"UdpStreamTimeout", c.UDPStreamTimeout, 60, 180}, {"UdpTimeout", c.UDPTimeout, 30, 60},
	} {
		if s := timeout.seconds; s != nil && (*s < timeout.least || *s > timeout.most) {
			return wire.Errorf("InvalidParameterValue", "Value (%d) for parameter %s is invalid. It must be between %d and %d.", *s, timeout.name, timeout.least, timeout.most)
		}
	}
	return nil
}

// checkProcessor refuses what the processor of a type cannot do.
func checkProcessor(t catalog.Type, d LaunchTemplateData) *wire.Error {
	if e := d.EnclaveOptions; e != nil && value(e.Enabled) && !t.NitroEnclaves {
		return wire.Errorf("InvalidParameterCombination", "The instance type '%s' does not support Nitro Enclaves.", t.Name)
	}
	c := value(d.CPUOptions)
	switch {
	case !slices.Contains([]string{"", "enabled", "disabled"}, c.NestedVirtualization):
		return wire.Errorf("InvalidParameterValue", "Invalid value '%s' for CpuOptions.NestedVirtualization", c.NestedVirtualization)
	case c.NestedVirtualization == "enabled" && !t.NestedVirtualization:
		return wire.Errorf("InvalidParameterCombination", "The instance type '%s' does not support nested virtualization.", t.Name)
	case c.AMDSEVSNP != "":
		return wire.Errorf("UnsupportedOperation", "AMD SEV-SNP is not modelled")
	case (c.CoreCount == nil) != (c.ThreadsPerCore == nil):
		return wire.Errorf("InvalidParameterCombination", "CoreCount and ThreadsPerCore need each other.")
	case c.CoreCount != nil && (*c.CoreCount < 1 || *c.CoreCount > cores(t) || *c.ThreadsPerCore < 1 || *c.ThreadsPerCore > t.ThreadsPerCore):
		return wire.Errorf("InvalidParameterValue", "The CPU options of %d cores with %d threads are not valid for the instance type '%s'.", *c.CoreCount, *c.ThreadsPerCore, t.Name)
	}
	return nil
}

// prefixes returns how many IPv4 prefixes of its subnet an instance takes.
func (s *launchSpec) prefixes() int {
	n := 0
	for _, i := range s.data.NetworkInterfaces {
		n += value(i.IPv4PrefixCount)
	}
	return n
}

// addresses returns how many IPv4 addresses of its subnet an instance takes.
func (s *launchSpec) addresses() int {
	n := 0
	for _, i := range s.data.NetworkInterfaces {
		if i.InterfaceType != efaOnly {
			n++
		}
	}
	return max(n, 1) + prefixAddresses*s.prefixes()
}

// newInterfaces makes the network interfaces a spec declares, or one.
func (m *Model) newInterfaces(spec *launchSpec) []networkInterface {
	declared := spec.data.NetworkInterfaces
	if len(declared) == 0 {
		declared = []NetworkInterfaceSpec{{}}
	}
	var out []networkInterface
	for _, d := range declared {
		n := networkInterface{
			id: m.newID("eni"), attachmentID: m.newID("eni-attach"), kind: plainInterface, description: d.Description,
			card: value(d.NetworkCardIndex), device: value(d.DeviceIndex), groups: spec.groups, tracking: d.ConnectionTracking,
		}
		if d.InterfaceType != "" {
			n.kind = d.InterfaceType
		}
		m.giveAddresses(&n, spec.subnet, d, len(declared) == 1)
		h := digest(n.id)
		n.mac = fmt.Sprintf("02:%s:%s:%s:%s:%s", h[0:2], h[2:4], h[4:6], h[6:8], h[8:10])
		out = append(out, n)
	}
	return out
}

// giveAddresses gives an interface the addresses and prefixes it asks for; only one that is alone can get a public one.
func (m *Model) giveAddresses(n *networkInterface, in *subnet, d NetworkInterfaceSpec, alone bool) {
	if n.kind == efaOnly {
		return
	}
	n.address = in.take()
	for range value(d.IPv4PrefixCount) {
		n.prefixes = append(n.prefixes, in.takePrefix())
	}
	for range value(d.IPv6AddressCount) {
		n.addresses6 = append(n.addresses6, in.take6())
	}
	for range value(d.IPv6PrefixCount) {
		n.prefixes6 = append(n.prefixes6, netip.PrefixFrom(in.take6(), 80))
	}
	n.primary6 = value(d.PrimaryIPv6)
	public := in.Public
	if d.AssociatePublicIPAddress != nil {
		public = *d.AssociatePublicIPAddress
	}
	if public && alone {
		h := digest(n.id)
		var b [3]byte
		fmt.Sscanf(h, "%02x%02x%02x", &b[0], &b[1], &b[2])
		n.public = netip.AddrFrom4([4]byte{198, 18 + b[0]%2, b[1], b[2]}) // of the range kept for tests: RFC 2544
	}
}

// freeAddresses frees what an interface holds of its subnet.
func (n *networkInterface) freeAddresses(in *subnet) {
	if n.address.IsValid() {
		in.release(n.address)
	}
	for _, p := range n.prefixes {
		for a := p.Addr(); p.Contains(a); a = a.Next() {
			in.release(a)
		}
	}
}

// takePrefix gives out 16 addresses in a row from the end of the range, which freeBlocks has said are there.
func (s *subnet) takePrefix() netip.Prefix {
	for at := s.blocks() - 2; at > 0; at-- {
		if p := s.block(at); s.blockFree(p) {
			for a := p.Addr(); p.Contains(a); a = a.Next() {
				s.used[a] = true
			}
			return p
		}
	}
	panic("ec2: a launch took more prefixes than it was granted")
}

func (s *subnet) blocks() int { return 1 << max(0, 28-s.prefix.Bits()) }

func (s *subnet) block(at int) netip.Prefix {
	return netip.PrefixFrom(offset(s.prefix.Addr(), uint32(at*prefixAddresses)), 28)
}

func (s *subnet) blockFree(p netip.Prefix) bool {
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		if s.used[a] {
			return false
		}
	}
	return true
}

// freeBlocks returns how many prefixes can be given out beside others single addresses, which come from the start of the
// range. The first and last block hold addresses of AWS.
func (s *subnet) freeBlocks(others int) int {
	n := 0
	for at := 1; at < s.blocks()-1; at++ {
		if s.blockFree(s.block(at)) {
			n++
		}
	}
	return max(0, n-(others+prefixAddresses-1)/prefixAddresses)
}

// take6 gives out the next IPv6 address of the range; there is no end to them. Prefixes are /80s, so each is 2^48 on.
func (s *subnet) take6() netip.Addr {
	s.next6++
	b := s.prefix6.Addr().As16()
	for i, shift := 9, 0; i >= 8; i, shift = i-1, shift+8 { // bytes 8 and 9 number it
		b[i] = byte(s.next6 >> shift)
	}
	return netip.AddrFrom16(b)
}
