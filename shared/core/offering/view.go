package offering

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/kubelet"
	"github.com/joiner-sh/joiner/shared/model"
)

// Settings are the region's and the operator's own values.
type Settings = model.OfferingSettings

const defaultMemoryOverheadPPM = 75_000

// efaOnly is the type of network interfaces that carry no IP traffic.
const efaOnly = "efa-only"

// view is a class as its instances are looked at through it.
type view struct {
	class    *model.Class
	family   family
	settings Settings
	zones    map[string]string // ids of zones with a subnet, "" where it is not known, by zone
	images   string            // see model.ClassStatus.ImagesKey
	programs *kubelet.Programs
	broken   bool  // an expression cannot be used
	efaOnly  int64 // interfaces that pods get no addresses from, on the first network card
}

func newView(class *model.Class, settings Settings) *view {
	v := &view{
		class: class, family: familyOf(class), settings: settings,
		zones: zoneIDs(class.Status.Subnets), images: class.Status.ImagesKey(),
	}
	config := class.Kubelet
	if kubelet.HasExpressions(&config) && !settings.NodeClassCEL {
		v.broken = true
		config.MaxPodsExpr, config.KubeReservedExpr, config.SystemReservedExpr = "", nil, nil
	}
	programs, problems := kubelet.Compile(config)
	v.programs, v.broken = programs, v.broken || len(problems) > 0
	for _, i := range class.NetworkInterfaces {
		if i.Type == efaOnly && i.Card == 0 {
			v.efaOnly++
		}
	}
	return v
}

// zoneIDs returns the id of every zone that has a subnet, "" where it is not known, by zone.
func zoneIDs(subnets []model.Subnet) map[string]string {
	zones := make(map[string]string, len(subnets))
	for _, subnet := range subnets {
		if zones[subnet.Zone] == "" {
			zones[subnet.Zone] = subnet.ZoneID
		}
	}
	return zones
}

// soldAs reports whether the type is sold in the way; where nothing is known of it, it is.
func soldAs(m *model.InstanceTypeInfo, capacityType string) bool {
	return len(m.UsageClasses) == 0 || slices.Contains(m.UsageClasses, capacityType)
}
