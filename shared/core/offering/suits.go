package offering

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// suits reports whether an instance can do what the class asks of every node.
func (v *view) suits(m *model.InstanceTypeInfo) bool {
	c := v.class
	switch {
	case v.family.windows && m.Arch != "amd64":
	case c.Family == "AL2023" && strings.HasPrefix(m.Name, "a1."): // its kernel needs a newer processor
	case c.ConnectionTracking != nil && m.Hypervisor != "nitro": // bare metal has none
	case c.NestedVirtualization == "enabled" && !m.Nested:
	case !v.fitsPlacementGroup(m):
	case !v.connects(m):
	default:
		return true
	}
	return false
}

// fitsPlacementGroup reports whether the instance may be in the class's placement group. In one that is not there nothing may be.
func (v *view) fitsPlacementGroup(m *model.InstanceTypeInfo) bool {
	group := v.class.Status.PlacementGroup
	if group == nil {
		return v.class.PlacementGroup == nil
	}
	return slices.Contains(m.Strategies, group.Strategy)
}

// connects reports whether the instance takes the class's network interfaces.
func (v *view) connects(m *model.InstanceTypeInfo) bool {
	if len(v.class.NetworkInterfaces) == 0 {
		return true
	}
	if !m.ENA {
		return false
	}
	cards := m.Cards
	if len(cards) == 0 {
		cards = []int64{m.Interfaces}
	}
	for _, i := range v.class.NetworkInterfaces {
		if i.Card < 0 || i.Card >= int64(len(cards)) || i.Device < 0 || i.Device >= cards[i.Card] {
			return false
		}
	}
	return efaOnlyInterfaces(v.class) <= m.EFAInterfaces
}

func efaOnlyInterfaces(class *model.Class) int64 {
	count := int64(0)
	for _, i := range class.NetworkInterfaces {
		if i.Type == efaOnly {
			count++
		}
	}
	return count
}
