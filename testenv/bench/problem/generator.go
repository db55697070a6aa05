package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	poolName  = "default"
	className = "default"
	gpuName   = "nvidia.com/gpu"
)

// generator makes the objects of one problem in a fixed order from one stream of random numbers.
type generator struct {
	spec       Spec
	emit       func(object any)
	random     *rand.Rand
	daemonSets []*appsv1.DaemonSet
	made       int // pods so far
}

// workload is what the pods of a problem differ in.
type workload struct {
	name         string // of the owner
	labels       map[string]string
	cpuMilli     int64
	memoryBytes  int64
	gpus         int64
	nodeSelector map[string]string
	affinity     *corev1.Affinity
	spread       []corev1.TopologySpreadConstraint
}

// pod returns one waiting pod of the workload.
func (g *generator) pod(w workload) *corev1.Pod {
	g.made++
	controller := true
	requests := amounts(w.cpuMilli, w.memoryBytes, 0)
	var limits corev1.ResourceList
	if w.gpus > 0 {
		requests[gpuName] = *resource.NewQuantity(w.gpus, resource.DecimalSI)
		limits = corev1.ResourceList{gpuName: requests[gpuName]}
	}
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: fmt.Sprintf("%s-%06d", w.name, g.made), Labels: w.labels,
			UID:             types.UID(fmt.Sprintf("%016x-%06d", g.random.Uint64(), g.made)), // sorts in no order of ours
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: w.name, UID: types.UID("owner-" + w.name), Controller: &controller}},
		},
		Spec: corev1.PodSpec{
			Containers:                []corev1.Container{{Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}},
			NodeSelector:              w.nodeSelector,
			Affinity:                  w.affinity,
			TopologySpreadConstraints: w.spread,
		},
		Status: pending(),
	}
}

// pending is the status of a pod that no node there is can hold.
func pending() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}}
}

// running is the status of a pod that has run for as long as its node is there.
func running() corev1.PodStatus {
	since := metav1.Unix(createdUnix+60, 0)
	return corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &since, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: since}, {Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}}
}

// amounts returns a list of resources; pods is left out where it is 0.
func amounts(cpuMilli, memoryBytes, pods int64) corev1.ResourceList {
	list := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(cpuMilli, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memoryBytes, resource.BinarySI),
	}
	if pods > 0 {
		list[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
	}
	return list
}

// pool returns the only pool: any architecture and capacity type, no limits, and nothing that keeps nodes from being given
// back at once.
func (g *generator) pool() *apiv1.NodePool {
	pool := &apiv1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Name: poolName, UID: "pool-" + poolName},
	}
	spec := &pool.Spec.Template.Spec
	spec.NodeClassRef = apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: className}
	spec.Requirements = []apiv1.Requirement{}
	pool.Spec.Disruption = apiv1.Disruption{ConsolidationPolicy: apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, ConsolidateAfter: apiv1.NewNillableDuration(new(time.Duration)),
		Budgets: []apiv1.Budget{{Nodes: "100%"}}}
	if g.spec.Family == "benchfake" {
		return pool
	}
	capacityTypes := []string{model.OnDemand, model.Spot}
	if g.spec.OnDemand {
		capacityTypes = capacityTypes[:1]
	}
	spec.Requirements = []apiv1.Requirement{
		{Key: model.LabelOS, Operator: "In", Values: []string{"linux"}},
		{Key: model.LabelArch, Operator: "In", Values: []string{"amd64", "arm64"}},
		{Key: model.LabelCapacityType, Operator: "In", Values: capacityTypes},
	}
	return pool
}

// daemon is a small pod on every node.
type daemon struct {
	name        string
	cpuMilli    int64
	memoryBytes int64
}

var daemons = []daemon{{"kube-proxy", 100, 64 * mib}, {"network", 50, 64 * mib}, {"logs", 100, 256 * mib}}

// hasDaemons tells the families that are as upstream benchmarks have them, without daemons, from the others.
func (g *generator) hasDaemons() bool {
	return g.spec.Family != "bench" && g.spec.Family != "benchfake" && g.spec.Family != "prefs"
}

func (d daemon) set() *appsv1.DaemonSet {
	labels := map[string]string{"daemon": d.name}
	return &appsv1.DaemonSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: d.name, UID: types.UID("daemon-" + d.name)},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers:  []corev1.Container{{Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: amounts(d.cpuMilli, d.memoryBytes, 0)}}},
				},
			},
		},
	}
}

// size returns a pod's size as clusters have them: CPU log-normal with median 400m, memory log-normal about 2.5 GiB a
// core; 50m ≤ cpu ≤ 16, 64 MiB ≤ memory ≤ 96 GiB.
func (g *generator) size() (cpuMilli, memoryBytes int64) {
	cpu := min(max(400*math.Exp(g.random.NormFloat64()), 50), 16_000)
	cpuMilli = int64(cpu+5) / 10 * 10
	memory := float64(cpuMilli) / 1000 * 2.5 * float64(gib) * math.Exp(0.8*g.random.NormFloat64())
	memory = min(max(memory, float64(64*mib)), float64(96*gib))
	return cpuMilli, int64(memory+float64(8*mib)) / (16 * mib) * (16 * mib)
}

func pick[T any](g *generator, list []T) T { return list[g.random.IntN(len(list))] }
