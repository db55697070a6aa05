package check

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Requests returns what a pod takes of a node: the sum of its containers, and one pod. No family has init containers.
func Requests(pod *corev1.Pod) model.Resources {
	out := model.Resources{model.Pods: 1}
	for i := range pod.Spec.Containers {
		for name, amount := range resources(pod.Spec.Containers[i].Resources.Requests) {
			out[name] += amount
		}
	}
	return out
}

// take subtracts amounts from what is left; a name that was not there goes below zero.
func take(left, amounts model.Resources) {
	for name, amount := range amounts {
		left[name] -= amount
	}
}

// resources returns CPU in milli-CPU and everything else in whole units.
func resources(list corev1.ResourceList) model.Resources {
	out := make(model.Resources, len(list))
	for name, quantity := range list {
		out[string(name)] = quantity.Value()
		if name == corev1.ResourceCPU {
			out[string(name)] = quantity.MilliValue()
		}
	}
	return out
}

// selects says which node selector or required node affinity of the pod labels do not meet, "" where they meet all.
func selects(pod *corev1.Pod, labels map[string]string) string {
	for _, k := range sortedKeys(pod.Spec.NodeSelector) {
		if value, has := labels[k]; !has || value != pod.Spec.NodeSelector[k] {
			return fmt.Sprintf("selects %s=%s", k, pod.Spec.NodeSelector[k])
		}
	}
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return ""
	}
	for _, term := range pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchExpressions) > 0 && !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return !meets(labels, r.Key, string(r.Operator), r.Values)
		}) {
			return ""
		}
	}
	return "no term of its required node affinity is met"
}

// meets reports whether labels meet one requirement.
func meets(labels map[string]string, key, operator string, values []string) bool {
	value, has := labels[key]
	switch operator {
	case "In":
		return has && slices.Contains(values, value)
	case "NotIn":
		return !has || !slices.Contains(values, value)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	}
	number, err := strconv.Atoi(value)
	if !has || err != nil || len(values) != 1 {
		return false
	}
	bound, err := strconv.Atoi(values[0])
	switch operator {
	case "Gt":
		return err == nil && number > bound
	case "Lt":
		return err == nil && number < bound
	case "Gte":
		return err == nil && number >= bound
	case "Lte":
		return err == nil && number <= bound
	}
	return false
}

// untolerated returns the first taint that keeps the pod away, nil where none does.
func untolerated(pod *corev1.Pod, taints []corev1.Taint) *corev1.Taint {
	for i := range taints {
		taint := &taints[i]
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(&t, taint) }) {
			return taint
		}
	}
	return nil
}

func tolerates(t *corev1.Toleration, taint *corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	if t.Operator == corev1.TolerationOpExists {
		return true
	}
	return t.Key != "" && t.Value == taint.Value
}
