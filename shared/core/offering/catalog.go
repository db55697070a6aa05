package offering

import (
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/kubelet"
	"github.com/joiner-sh/joiner/shared/model"
)

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
			t.Offerings[i].Available, t.Offerings[i].Unpriced = false, false
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
		o.Unpriced = o.Price == 0 && o.CapacityType != model.Reserved && reachable && soldAs(m, o.CapacityType)
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

func compareOfferings(a, b model.Offering) int {
	if c := strings.Compare(a.Zone, b.Zone); c != 0 {
		return c
	}
	if c := strings.Compare(a.CapacityType, b.CapacityType); c != 0 {
		return c
	}
	return strings.Compare(a.ReservationID, b.ReservationID)
}
