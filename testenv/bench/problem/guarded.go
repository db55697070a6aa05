package problem

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
)

// guards are the pools of the family guarded: what each says of giving nodes back.
var guards = []struct {
	pool    string
	after   string // consolidateAfter
	policy  apiv1.ConsolidationPolicy
	budgets []apiv1.Budget
}{
	{"free", "0s", apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, []apiv1.Budget{{Nodes: "100%"}}},
	{"tenth", "0s", apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, []apiv1.Budget{{Nodes: "10%"}}},
	{"two", "0s", apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, []apiv1.Budget{{Nodes: "2"}, {Nodes: "100%"}}},
	{"byreason", "0s", apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized,
		[]apiv1.Budget{{Nodes: "0", Reasons: []apiv1.DisruptionReason{apiv1.ReasonUnderutilized}}, {Nodes: "50%"}}},
	{"emptyonly", "0s", apiv1.ConsolidationPolicyWhenEmpty, []apiv1.Budget{{Nodes: "100%"}}},
	{"late", "1h", apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, []apiv1.Budget{{Nodes: "100%"}}},
	{"never", apiv1.Never, apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, []apiv1.Budget{{Nodes: "100%"}}},
	{"closed", "0s", apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, []apiv1.Budget{{Nodes: "0"}}},
}

// guardedPools emits the pools of the family guarded, and budgets of pods: one that is used up, two that name the same
// pods, and one that has room.
func (g *generator) guardedPools() {
	for _, guard := range guards {
		pool := g.pool()
		pool.Name, pool.UID = guard.pool, types.UID("pool-"+guard.pool)
		d := &pool.Spec.Disruption
		d.ConsolidationPolicy, d.Budgets, d.ConsolidateAfter = guard.policy, guard.budgets, apiv1.NewNillableDuration(nil)
		if after, err := time.ParseDuration(guard.after); err == nil {
			d.ConsolidateAfter = apiv1.NewNillableDuration(&after)
		}
		g.emit(pool)
	}
	g.emit(podBudget("used-up", "used-up", 0))
	g.emit(podBudget("twice-one", "twice", 5))
	g.emit(podBudget("twice-two", "twice", 5))
	g.emit(podBudget("roomy", "roomy", 5))
}

// guardLabel tells the pods that a PodDisruptionBudget names.
const guardLabel = "guard"

func podBudget(name, guard string, allowed int32) *policyv1.PodDisruptionBudget {
	most := intstr.FromInt32(5)
	return &policyv1.PodDisruptionBudget{
		TypeMeta:   metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("budget-" + name)},
		Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{guardLabel: guard}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// guardedNode gives a node one of the pools, and now and then what keeps it.
func (g *generator) guardedNode(node *corev1.Node) {
	node.Labels[model.LabelNodePool] = pick(g, guards).pool
	if g.random.Float64() < 0.05 {
		node.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
	}
}

// guardedPod gives a running pod now and then what keeps it where it is, or seems to.
func (g *generator) guardedPod(pod *corev1.Pod) {
	if pod.Spec.Affinity != nil {
		return // its labels are what its rule is about
	}
	switch chance := g.random.Float64(); {
	case chance < 0.01:
		pod.Annotations = map[string]string{model.AnnotationNotDisrupt: "true"}
	case chance < 0.02:
		pod.Annotations = map[string]string{model.AnnotationNotDisrupt: "48h"} // it has run for half of that
	case chance < 0.04:
		pod.Annotations = map[string]string{model.AnnotationNotDisrupt: "30m"} // and is over
	case chance < 0.05:
		pod.Labels = map[string]string{"app": "run", guardLabel: "used-up"}
	case chance < 0.06:
		pod.Labels = map[string]string{"app": "run", guardLabel: "twice"}
	case chance < 0.10:
		pod.Labels = map[string]string{"app": "run", guardLabel: "roomy"}
	case chance < 0.12:
		recently := metav1.Unix(nowUnix-300, 0)
		pod.CreationTimestamp, pod.Status.StartTime = recently, &recently
		for i := range pod.Status.Conditions {
			pod.Status.Conditions[i].LastTransitionTime = recently
		}
	}
}

// apart makes the first pod of a node now and then one of a workload that is on no host twice.
func (g *generator) apart(pod *corev1.Pod) {
	if g.random.Float64() >= 0.3 {
		return
	}
	name := fmt.Sprintf("apart%d", g.random.IntN(4))
	pod.Labels = map[string]string{"app": name}
	pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{like(pod.Labels, model.LabelHostname)}}}
}
