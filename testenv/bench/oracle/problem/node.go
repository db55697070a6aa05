package problem

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/controller/daemon"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// room is what a node has left, for pods that are bound when a problem is made.
type room struct {
	cpuMilli, memoryBytes, pods int64
	ports                       map[int32]bool
}

func (m *maker) nodes() {
	m.room = make(map[string]*room)
	if !m.chance(m.Size.Existing) {
		return
	}
	low := 1
	if m.Size.Existing == 100 {
		low = m.Size.Nodes / 2
	}
	for i := range m.between(low, m.Size.Nodes) {
		m.node(fmt.Sprintf("node-%02d", i))
	}
}

func (m *maker) node(name string) {
	t := &m.Catalog[m.IntN(len(m.Catalog))]
	labels := Labels(t, pick(m.die, zones...), pick(m.die, capacityTypes...))
	node := &corev1.Node{ObjectMeta: meta("", name)}
	node.Labels, node.Spec.ProviderID = labels, "aws:///"+labels[model.LabelZone]+"/i-"+name
	labels[model.LabelHostname] = name
	if m.chance(65) {
		m.adopt(node, pick(m.die, m.Pools...))
	} else if m.chance(50) {
		delete(labels, model.LabelCapacityType)
	}
	if _, has := labels[RackLabel]; !has && m.chance(50) {
		labels[RackLabel] = pick(m.die, racks...)
	}
	if m.chance(4) {
		delete(labels, model.LabelZone)
		delete(labels, corev1.LabelFailureDomainBetaZone)
	}
	node.Status.Capacity, node.Status.Allocatable = List(t.Capacity), List(t.Allocatable())
	if m.Has(Extended) && m.chance(30) {
		two := *resource.NewQuantity(2, resource.DecimalSI)
		node.Status.Capacity[fpga], node.Status.Allocatable[fpga] = two, two
	}
	if m.Has(Taints) && m.chance(30) {
		node.Spec.Taints = append(node.Spec.Taints, m.taint())
	}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(Now-3000, 0)}}
	if m.Has(States) {
		m.state(node)
	}
	m.Nodes = append(m.Nodes, node)
	allocatable := t.Allocatable()
	m.room[name] = &room{allocatable[model.CPU], allocatable[model.Memory], allocatable[model.Pods], map[int32]bool{}}
	m.csiNode(name)
	m.daemonsOn(node)
}

// adopt makes the node one of the pool's. Its instance need not be one the pool would buy today.
func (m *maker) adopt(node *corev1.Node, pool *apiv1.NodePool) {
	node.Labels[model.LabelNodePool], node.Labels[model.LabelNodeClass] = pool.Name, Class
	node.Labels[model.LabelRegistered], node.Labels[model.LabelInitialized] = "true", "true"
	for key, value := range pool.Spec.Template.Metadata.Labels {
		node.Labels[key] = value
	}
	node.Spec.Taints = append(node.Spec.Taints, pool.Spec.Template.Spec.Taints...)
}

// state makes some nodes unfit: cordoned, being drained, being deleted, or not ready yet.
func (m *maker) state(node *corev1.Node) {
	switch m.IntN(10) {
	case 0:
		node.Spec.Unschedulable = true
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	case 1:
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: model.TaintDisrupted, Effect: corev1.TaintEffectNoSchedule})
	case 2:
		gone := metav1.Unix(Now+60, 0)
		node.DeletionTimestamp, node.Finalizers = &gone, []string{"karpenter.sh/termination"}
	case 3:
		node.Status.Conditions[0].Status = corev1.ConditionFalse
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: effect})
		}
		delete(node.Labels, model.LabelInitialized)
	}
}

// csiNode says how many volumes the node can attach; some nodes do not.
func (m *maker) csiNode(name string) {
	if m.chance(15) {
		return
	}
	driver := func(name string, limit int32) storagev1.CSINodeDriver {
		out := storagev1.CSINodeDriver{Name: name, NodeID: name, TopologyKeys: []string{corev1.LabelTopologyZone}}
		if limit > 0 {
			out.Allocatable = &storagev1.VolumeNodeResources{Count: &limit}
		}
		return out
	}
	m.CSINodes = append(m.CSINodes, &storagev1.CSINode{
		ObjectMeta: meta("", name),
		Spec:       storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{driver(ebs, int32(m.between(0, 3))), driver(efs, 0)}},
	})
}

// daemonsOn binds the daemons of the node, by the judgment of their controller. Some sets are new and have none yet.
func (m *maker) daemonsOn(node *corev1.Node) {
	for _, set := range m.DaemonSets {
		if run, _ := daemon.NodeShouldRunDaemonPod(klog.Background(), node, set); run && !m.chance(10) {
			pod := DaemonPod(set, node.Name)
			pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning
			m.take(node.Name, pod)
			m.Pods = append(m.Pods, pod)
		}
	}
}

// take notes what a bound pod takes of its node.
func (m *maker) take(node string, pod *corev1.Pod) {
	left := m.room[node]
	cpuMilli, memoryBytes := sums(pod)
	left.cpuMilli, left.memoryBytes, left.pods = left.cpuMilli-cpuMilli, left.memoryBytes-memoryBytes, left.pods-1
	for _, port := range hostPorts(pod) {
		left.ports[port] = true
	}
}

// List returns amounts as a node states them.
func List(amounts model.Resources) corev1.ResourceList {
	out := make(corev1.ResourceList)
	for name, amount := range amounts {
		switch name {
		case model.CPU:
			out[corev1.ResourceCPU] = *resource.NewMilliQuantity(amount, resource.DecimalSI)
		case model.Memory, model.EphemeralStorage:
			out[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.BinarySI)
		default:
			out[corev1.ResourceName(name)] = *resource.NewQuantity(amount, resource.DecimalSI)
		}
	}
	return out
}
