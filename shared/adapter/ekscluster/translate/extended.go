package translate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// extendedRequests returns how containers of a pod, as an API server stores it, divide the requests for extended
// resources that several of them have, by the resource's name; nil where there are none. Source:
// createRequestsAndMappings of kube-scheduler's plugin DynamicResources.
func extendedRequests(pod *corev1.Pod) map[string][]int64 {
	if len(pod.Spec.InitContainers)+len(pod.Spec.Containers) < 2 {
		return nil // most pods: nothing is copied for them
	}
	all := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	times := make(map[corev1.ResourceName]int)
	for i := range all {
		for name := range all[i].Resources.Requests { // counted each on its own: the order does not matter
			if extended(name) {
				times[name]++
			}
		}
	}
	var out map[string][]int64
	for name, n := range times { // into a map: the order does not matter
		if n < 2 {
			continue
		}
		if parts := dividedRequest(all, len(pod.Spec.InitContainers), name); len(parts) > 1 {
			if out == nil {
				out = make(map[string][]int64)
			}
			out[string(name)] = parts
		}
	}
	return out
}

// dividedRequest returns what each container that runs on claims, and last what init containers claim beside the
// devices of those that come after them: the most of one.
func dividedRequest(all []corev1.Container, inits int, name corev1.ResourceName) []int64 {
	ends := func(i int) bool {
		policy := all[i].RestartPolicy
		return i < inits && (policy == nil || *policy != corev1.ContainerRestartPolicyAlways)
	}
	wants := func(i int) int64 {
		amount := all[i].Resources.Requests[name]
		return amount.Value()
	}
	var out []int64
	for i := range all {
		if !ends(i) && wants(i) > 0 {
			out = append(out, wants(i))
		}
	}
	var most int64
	for i := range inits {
		if !ends(i) {
			continue
		}
		more := wants(i)
		for later := i; later < len(all); later++ {
			if !ends(later) {
				more -= wants(later)
			}
		}
		most = max(most, more)
	}
	if most > 0 {
		out = append(out, most)
	}
	return out
}

// extended reports whether a resource is one that no part of Kubernetes itself counts, or the name that a DeviceClass
// has as one.
func extended(name corev1.ResourceName) bool {
	text := string(name)
	return strings.HasPrefix(text, resourceapi.ResourceDeviceClassPrefix) ||
		strings.Contains(text, "/") && !strings.Contains(text, corev1.ResourceDefaultNamespacePrefix)
}
