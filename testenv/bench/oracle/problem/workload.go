package problem

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

var (
	apps   = []string{"web", "db", "cache"}
	tiers  = []string{"front", "back"}
	tracks = []string{"v1", "v2"}
	ports  = []int32{80, 443}
)

// workload is pods of one kind.
type workload struct {
	namespace, name string
	labels          map[string]string
	replicas        int
	template        corev1.PodSpec
	claims          func(replica int) []corev1.Volume // nil = no volumes
}

// workloads makes up the pods. Some replicas run already, where their node has room.
func (m *maker) workloads() {
	waiting := 0
	for i := range m.between(1, m.Size.Workloads) {
		w := m.workload(i)
		for replica := range w.replicas {
			pod := m.pod(w, replica)
			if !m.settle(pod) {
				waiting++
			}
			m.Pods = append(m.Pods, pod)
		}
	}
	if waiting == 0 { // nothing to plan is no problem
		m.Pods = append(m.Pods, m.pod(&workload{namespace: "default", name: "last", replicas: 1, template: m.spec()}, 0))
	}
}

func (m *maker) workload(i int) *workload {
	w := &workload{namespace: m.namespace(), name: fmt.Sprintf("w%02d", i), replicas: m.between(1, m.Size.Replicas)}
	w.labels = map[string]string{"app": pick(m.die, apps...)}
	if m.chance(50) {
		w.labels["tier"] = pick(m.die, tiers...)
	}
	if m.chance(50) {
		w.labels["track"] = pick(m.die, tracks...)
	}
	w.template = m.spec()
	m.rules(w)
	if m.Has(Storage) && m.chance(60) {
		m.volumes(w)
	}
	if m.Has(Ports) && m.chance(50) {
		m.port(&w.template.Containers[0])
	}
	if m.Has(Extended) && m.chance(40) {
		one := *resource.NewQuantity(int64(m.between(1, 2)), resource.DecimalSI)
		name := pick[corev1.ResourceName](m.die, gpu, gpu, fpga)
		w.template.Containers[0].Resources.Requests[name] = one
		w.template.Containers[0].Resources.Limits = corev1.ResourceList{name: one}
	}
	if m.Has(Priority) {
		w.template.PriorityClassName = pick(m.die, "", "low", "high")
	}
	return w
}

// spec returns what every pod has: containers and what they ask for.
func (m *maker) spec() corev1.PodSpec {
	cpu := pick[int64](m.die, 0, 100, 250, 250, 500, 500, 1000, 1900, 3500)
	memory := pick[int64](m.die, 0, 128*mebi, 512*mebi, gibi, gibi, 2*gibi, 5*gibi)
	spec := corev1.PodSpec{Containers: []corev1.Container{container("main", cpu, memory)}}
	if m.chance(15) {
		spec.Containers = append(spec.Containers, container("beside", 50, 64*mebi))
	}
	if m.chance(10) {
		first := container("first", 2*cpu, memory/2)
		if m.chance(50) {
			always := corev1.ContainerRestartPolicyAlways
			first.RestartPolicy = &always
		}
		spec.InitContainers = []corev1.Container{first}
	}
	if m.chance(5) {
		spec.Overhead = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("120m")}
	}
	if m.chance(8) {
		spec.Containers[0].Resources.Requests[corev1.ResourceEphemeralStorage] = resource.MustParse(pick(m.die, "1Gi", "12Gi"))
	}
	return spec
}

func (m *maker) port(c *corev1.Container) {
	c.Ports = []corev1.ContainerPort{{
		ContainerPort: 8080, HostPort: pick(m.die, ports...), Protocol: pick(m.die, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		HostIP: pick(m.die, "", "", "", "0.0.0.0", "127.0.0.1", "10.0.0.1"),
	}}
}

// pod returns a replica as an API server stores it, waiting.
func (m *maker) pod(w *workload, replica int) *corev1.Pod {
	name := fmt.Sprintf("%s-%02d", w.name, replica)
	pod := &corev1.Pod{ObjectMeta: meta(w.namespace, name), Spec: *w.template.DeepCopy()}
	pod.Labels = make(map[string]string)
	for key, value := range w.labels {
		pod.Labels[key] = value
	}
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.name, Controller: &yes}}
	if w.claims != nil {
		pod.Spec.Volumes = w.claims(replica)
	}
	pod.Status.Phase = corev1.PodPending
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, LastTransitionTime: metav1.Unix(Now-60, 0),
	}}
	admit(pod)
	return pod
}

// settle binds the pod to a node with room for it, or not; rules between pods are not looked at, since what runs in a
// cluster need not obey what holds for new pods. Pods with volumes wait.
func (m *maker) settle(pod *corev1.Pod) bool {
	if len(m.Nodes) == 0 || len(pod.Spec.Volumes) > 0 && !m.storable(pod) || !m.chance(45) {
		return false
	}
	node := m.Nodes[m.IntN(len(m.Nodes))]
	left := m.room[node.Name]
	cpuMilli, memoryBytes := sums(pod)
	if cpuMilli > left.cpuMilli || memoryBytes > left.memoryBytes || left.pods < 1 || len(pod.Spec.Containers[0].Resources.Limits) > 0 {
		return false
	}
	for _, port := range hostPorts(pod) {
		if left.ports[port] {
			return false
		}
	}
	for _, pv := range m.volumesOf(pod) {
		if !inZoneOf(pv, node) {
			return false
		}
	}
	pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	if m.Has(States) && m.chance(8) {
		gone := metav1.Unix(Now+30, 0)
		pod.DeletionTimestamp = &gone
	}
	m.take(node.Name, pod)
	return true
}

// sums returns at least what the pod asks of its node, in CPU and memory.
func sums(pod *corev1.Pod) (cpuMilli, memoryBytes int64) {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			cpuMilli += list[i].Resources.Requests.Cpu().MilliValue()
			memoryBytes += list[i].Resources.Requests.Memory().Value()
		}
	}
	return cpuMilli + pod.Spec.Overhead.Cpu().MilliValue(), memoryBytes
}

func hostPorts(pod *corev1.Pod) []int32 {
	var out []int32
	for i := range pod.Spec.Containers {
		for _, p := range pod.Spec.Containers[i].Ports {
			if p.HostPort > 0 {
				out = append(out, p.HostPort)
			}
		}
	}
	return out
}

// inZoneOf reports whether a volume can be used on the node, as far as zones go.
func inZoneOf(pv *corev1.PersistentVolume, node *corev1.Node) bool {
	if pv.Spec.NodeAffinity == nil {
		return true
	}
	for _, term := range pv.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, e := range term.MatchExpressions {
			for _, zone := range e.Values {
				if zone == node.Labels[model.LabelZone] {
					return true
				}
			}
		}
	}
	return false
}
