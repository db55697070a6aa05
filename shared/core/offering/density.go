package offering

import (
	"github.com/joiner-sh/joiner/shared/core/kubelet"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// unlimitedPods is the kubelet's own default where addresses do not bound the number of pods.
	unlimitedPods = 110
	// hostNetworkPods need no address of their own: the node's network plugin and proxy.
	hostNetworkPods = 2
)

// density is what the class's kubelet configuration comes to on an instance.
type density struct {
	pods         int64           // a node takes
	kube, system model.Resources // the class's own words; nil = it says nothing
}

// density works the configuration out: the class's word on pods, else as many as the interfaces have addresses for, and
// never more than the class allows a core. With an Invalid error, of an expression that fails on the instance, comes what
// follows from the others.
func (v *view) density(m *model.InstanceTypeInfo) (density, error) {
	instance := kubelet.On(m)
	standard := int64(unlimitedPods)
	if !v.family.unlimitedENIs {
		standard = v.addressable(m, v.settings.ReservedENIs)
	}
	pods, errPods := v.programs.MaxPods(instance, standard)
	if perCore := v.class.Kubelet.PodsPerCore; perCore > 0 && !v.family.ignoresCores {
		pods = min(pods, perCore*m.VCPUs)
	}
	kube, errKube := v.programs.KubeReserved(instance, pods)
	system, errSystem := v.programs.SystemReserved(instance, pods)
	d := density{pods: pods, kube: kube, system: system}
	for _, err := range []error{errPods, errKube, errSystem} {
		if err != nil {
			return d, err
		}
	}
	return d, nil
}

// addressable returns how many pods the interfaces of the first network card can address, less reserved ones and those that
// carry no IP traffic. The first address of each interface is the node's own.
//
// Source: the instance types table of the Amazon VPC CNI, interfaces × (addresses − 1) + 2.
func (v *view) addressable(m *model.InstanceTypeInfo, reserved int64) int64 {
	interfaces := m.Interfaces - reserved - v.efaOnly
	if interfaces <= 0 {
		return 0
	}
	return interfaces*(m.IPv4PerInterface-1) + hostNetworkPods
}
