package problem

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/model"
)

// createdUnix is when every node that exists was made.
const createdUnix = 1_780_000_000 - 24*3600

// filling says what nodes that exist are like, and how full.
type filling struct {
	low, high     float64  // share of the CPU that pods of other workloads take, drawn evenly
	capacityTypes []string // of the nodes, each as likely as the others
	misses        int      // pods that no longer fit before the node is left as it is; 0 = the first
	empty         float64  // share of nodes with nothing but daemons
}

// nodes emits nodes of middling types and the pods on them.
func (g *generator) nodes(f filling) {
	catalog := g.spec.Catalog()
	middling := slices.DeleteFunc(slices.Clone(catalog), func(t model.InstanceType) bool {
		_, size, _ := strings.Cut(t.Name, ".")
		return t.Capacity[gpuName] > 0 || t.Name[0] == 't' || !slices.Contains([]string{"xlarge", "2xlarge", "4xlarge", "8xlarge"}, size)
	})
	for made := 0; made < g.spec.Nodes; {
		t := pick(g, middling)
		capacityType := pick(g, f.capacityTypes)
		offerings := slices.DeleteFunc(slices.Clone(t.Offerings), func(o model.Offering) bool { return !o.Available || o.CapacityType != capacityType })
		if len(offerings) == 0 {
			continue
		}
		node := nodeNamed(fmt.Sprintf("node-%05d", made), poolName, &t, pick(g, offerings))
		if g.spec.Family == "guarded" {
			g.guardedNode(node)
		}
		g.emit(node)
		share := f.low + (f.high-f.low)*g.random.Float64()
		if f.empty > 0 && g.random.Float64() < f.empty {
			share = 0
		}
		g.fill(node, &t, share, f.misses)
		made++
	}
}

// nodeNamed returns a node of a pool, bought as an offering of a type.
func nodeNamed(name, pool string, t *model.InstanceType, o model.Offering) *corev1.Node {
	labels := map[string]string{
		model.LabelHostname: name, model.LabelZone: o.Zone, model.LabelCapacityType: o.CapacityType, model.LabelNodePool: pool,
		model.LabelRegistered: "true", model.LabelInitialized: "true",
	}
	for key, values := range t.Labels {
		if _, decided := labels[key]; !decided && len(values) == 1 {
			labels[key] = values[0]
		}
	}
	free := t.Allocatable()
	return &corev1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: labels, CreationTimestamp: metav1.Unix(createdUnix, 0)},
		Spec:       corev1.NodeSpec{ProviderID: "aws:///" + o.Zone + "/i-" + name},
		Status: corev1.NodeStatus{
			Capacity:    amounts(t.Capacity[model.CPU], t.Capacity[model.Memory], t.Capacity[model.Pods]),
			Allocatable: amounts(free[model.CPU], free[model.Memory], free[model.Pods]),
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// fill emits the daemons of a node, and running pods until share of its CPU is taken or one more than misses no longer fits.
func (g *generator) fill(node *corev1.Node, t *model.InstanceType, share float64, misses int) {
	free := t.Allocatable()
	take := func(pod *corev1.Pod, cpuMilli, memoryBytes int64) {
		pod.Spec.NodeName = node.Name
		pod.CreationTimestamp, pod.Status = metav1.Unix(createdUnix+30, 0), running()
		free[model.CPU] -= cpuMilli
		free[model.Memory] -= memoryBytes
		free[model.Pods]--
		if g.spec.Family == "guarded" && !IsDaemon(pod) {
			g.guardedPod(pod)
		}
		g.emit(pod)
	}
	for i, d := range daemons {
		take(g.daemonPod(i), d.cpuMilli, d.memoryBytes)
	}
	target := int64(share * float64(t.Allocatable()[model.CPU]))
	for used := int64(0); used < target && free[model.Pods] > 0; {
		cpuMilli, memoryBytes := g.size()
		cpuMilli = min(cpuMilli, 4000)
		if cpuMilli > free[model.CPU] || memoryBytes > free[model.Memory] {
			if misses--; misses < 0 {
				return
			}
			continue
		}
		w := workload{name: fmt.Sprintf("run%03d", g.random.IntN(200)), labels: map[string]string{"app": "run"}, cpuMilli: cpuMilli, memoryBytes: memoryBytes}
		if g.random.Float64() < 0.2 {
			w.nodeSelector = map[string]string{model.LabelZone: node.Labels[model.LabelZone]}
		}
		pod := g.pod(w)
		if g.spec.Family == "guarded" && used == 0 {
			g.apart(pod)
		}
		take(pod, cpuMilli, memoryBytes)
		used += cpuMilli
	}
}

// daemonPod returns the i-th daemon's pod for some node.
func (g *generator) daemonPod(i int) *corev1.Pod {
	set := g.daemonSets[i]
	pod := g.pod(workload{name: set.Name, labels: set.Spec.Template.Labels})
	pod.Namespace = set.Namespace
	pod.OwnerReferences[0].Kind, pod.OwnerReferences[0].UID = "DaemonSet", set.UID
	pod.Spec.Containers, pod.Spec.Tolerations = set.Spec.Template.Spec.Containers, set.Spec.Template.Spec.Tolerations
	return pod
}
