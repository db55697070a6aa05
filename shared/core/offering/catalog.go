package offering

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/kubelet"
	"github.com/joiner-sh/joiner/shared/model"
)

// Settings are the region's and the operator's own values.
type Settings = model.OfferingSettings

const defaultMemoryOverheadPPM = 75_000

// Catalog returns the instance types that nodes of the class see, by name, with every offering of the region and every
// reservation of the class: those the class cannot use now are unavailable, not absent. The class's status must be resolved:
// without subnets nothing is available, and where it has images, a type that none of them boots is not.
func Catalog(facts []model.InstanceTypeInfo, class model.Class, settings Settings) []model.InstanceType {
	v := newView(&class, settings)
	types := make([]model.InstanceType, 0, len(facts))
	for i := range facts {
		types = append(types, v.instanceType(&facts[i]))
	}
	slices.SortStableFunc(types, func(a, b model.InstanceType) int { return strings.Compare(a.Name, b.Name) })
	return types
}

// ClassProblems returns what is wrong with the class's expressions: that they are not enabled, that one is none, or that one
// fails on one of the instances. Empty where each gives a number on every instance.
func ClassProblems(facts []model.InstanceTypeInfo, class model.Class, settings Settings) []model.ClassProblem {
	if !kubelet.HasExpressions(&class.Kubelet) {
		return nil
	}
	if !settings.NodeClassCEL {
		return kubelet.DisabledProblems(&class.Kubelet)
	}
	if _, problems := kubelet.Compile(class.Kubelet); len(problems) > 0 {
		return problems
	}
	v := newView(&class, settings)
	for i := range facts {
		if _, err := v.density(&facts[i]); err != nil {
			return []model.ClassProblem{kubelet.EvaluationProblem(err)}
		}
	}
	return nil
}

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

func (v *view) instanceType(m *model.InstanceTypeInfo) model.InstanceType {
	density, err := v.density(m)
	t := model.InstanceType{
		Name:           m.Name,
		Capacity:       v.capacity(m, density),
		Offerings:      v.offerings(m),
		KubeReserved:   kubelet.Texts(density.kube),
		SystemReserved: kubelet.Texts(density.system),
	}
	t.Overhead = v.overhead(m, density, t.Capacity)
	t.Labels = v.labels(m, t.Offerings)
	if v.broken || err != nil || !v.suits(m) || !v.boots(t) || !t.KubeletStarts() {
		for i := range t.Offerings {
			t.Offerings[i].Available = false
		}
	}
	return t
}

// boots reports whether the class has an image for the type, or none at all yet.
func (v *view) boots(t model.InstanceType) bool {
	_, found := ImageFor(*v.class, t)
	return found || len(v.class.Status.Images) == 0
}

// offerings returns the instance's offerings and the class's reservations of it, those that cannot be used now unavailable.
func (v *view) offerings(m *model.InstanceTypeInfo) []model.Offering {
	offerings := slices.Clone(m.Offerings)
	offerings = append(offerings, v.reserved(m)...)
	for i := range offerings {
		o := &offerings[i]
		zoneID, reachable := v.zones[o.Zone]
		if o.ZoneID == "" {
			o.ZoneID = zoneID
		}
		o.Available = o.Available && reachable && sold(m, o)
	}
	slices.SortStableFunc(offerings, compareOfferings)
	return offerings
}

// sold reports whether the offering can be bought at all: at a known price, in a way the type is sold, and, where it is
// reserved, with something left of the reservation.
func sold(m *model.InstanceTypeInfo, o *model.Offering) bool {
	if o.CapacityType == model.Reserved {
		return o.ReservationCapacity > 0 && o.Price >= 0
	}
	return o.Price > 0 && soldAs(m, o.CapacityType)
}

// soldAs reports whether the type is sold in the way; where nothing is known of it, it is.
func soldAs(m *model.InstanceTypeInfo, capacityType string) bool {
	return len(m.UsageClasses) == 0 || slices.Contains(m.UsageClasses, capacityType)
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

func compareOfferings(a, b model.Offering) int {
	if c := strings.Compare(a.Zone, b.Zone); c != 0 {
		return c
	}
	if c := strings.Compare(a.CapacityType, b.CapacityType); c != 0 {
		return c
	}
	return strings.Compare(a.ReservationID, b.ReservationID)
}
