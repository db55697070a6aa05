package translate

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// DaemonSet returns a daemon set and the shape of its template, with the tolerations and the label its controller adds.
// Its Shape is 0: whoever keeps the dictionary of shapes sets it.
func DaemonSet(set *appsv1.DaemonSet) (model.DaemonSet, model.PodShape) {
	controller := true
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Labels: set.Spec.Template.Labels, Annotations: set.Spec.Template.Annotations,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: set.Name,
				Controller: &controller}},
		},
		Spec: set.Spec.Template.Spec,
	}
	pod.Spec.Tolerations = daemonTolerations(&pod.Spec)
	if generation, ok := set.Annotations[appsv1.DeprecatedTemplateGeneration]; ok {
		labels := maps.Clone(pod.Labels)
		if labels == nil {
			labels = make(map[string]string)
		}
		labels[labelTemplateGeneration] = generation
		pod.Labels = labels
	}
	out := model.DaemonSet{Namespace: set.Namespace, Name: set.Name, UID: string(set.UID)}
	return out, shape(pod)
}

func daemonTolerations(spec *corev1.PodSpec) []corev1.Toleration {
	tolerate := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	out := append(slices.Clone(spec.Tolerations),
		tolerate(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
		tolerate(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
		tolerate(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
	)
	if spec.HostNetwork {
		out = append(out, tolerate(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return out
}

// Namespace returns a namespace.
func Namespace(namespace *corev1.Namespace) model.Namespace {
	return model.Namespace{Name: namespace.Name, Labels: nonEmpty(namespace.Labels)}
}

// PDB returns a disruption budget. One whose status is behind its spec allows nothing, as the eviction API has it.
func PDB(budget *policyv1.PodDisruptionBudget) model.PDB {
	policy := budget.Spec.UnhealthyPodEvictionPolicy
	out := model.PDB{
		Namespace:          budget.Namespace,
		Name:               budget.Name,
		Selector:           selector(budget.Spec.Selector),
		DisruptionsAllowed: max(0, budget.Status.DisruptionsAllowed),
		AlwaysEvictUnready: policy != nil && *policy == policyv1.AlwaysAllow,
	}
	if budget.Status.ObservedGeneration < budget.Generation {
		out.DisruptionsAllowed = 0
	}
	if budget.Spec.MinAvailable != nil {
		out.MinAvailable = budget.Spec.MinAvailable.String()
	}
	if budget.Spec.MaxUnavailable != nil {
		out.MaxUnavailable = budget.Spec.MaxUnavailable.String()
	}
	return out
}

// Object returns name and UID of any object, such as a NodeClaim.
func Object(object metav1.Object) model.Object {
	return model.Object{Name: object.GetName(), UID: string(object.GetUID()),
		DeletedUnix: unix(object.GetDeletionTimestamp())}
}
