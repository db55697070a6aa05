package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resources "k8s.io/component-helpers/resource"

	"github.com/joiner-sh/joiner/shared/model"
)

// requests returns what the whole pod, as an API server stores it (withDefaultRequests), asks of a node, pods=1
// included, and a sentence for each amount that cannot be: that resource is left out.
func requests(pod *corev1.Pod) (model.Resources, []string) {
	problems := negative(pod)
	total := resources.PodRequests(pod, resources.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
		UseDRANodeAllocatableResourceClaimStatus:       true,
	})
	out := make(model.Resources, len(total)+1)
	for _, name := range names(total) {
		q := total[name]
		v, ok := count(q, scaleOf(name), roundUp)
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf(
				"requests of %s add up to %q, which is more than 64 bits hold; request less", name, q.String()))
		case v > 0:
			out[string(name)] = v
		}
	}
	out[model.Pods] = 1
	return out, problems
}

// negative reports every amount below zero; such a pod never passed an API server.
func negative(pod *corev1.Pod) []string {
	var problems []string
	check := func(field string, list corev1.ResourceList) {
		for _, name := range names(list) {
			if q := list[name]; q.Sign() < 0 {
				problems = append(problems, fmt.Sprintf("%s[%s]: %q: must not be negative", field, name, q.String()))
			}
		}
	}
	for i := range pod.Spec.Containers {
		check(fmt.Sprintf("spec.containers[%d].resources.requests", i), pod.Spec.Containers[i].Resources.Requests)
	}
	for i := range pod.Spec.InitContainers {
		check(fmt.Sprintf("spec.initContainers[%d].resources.requests", i),
			pod.Spec.InitContainers[i].Resources.Requests)
	}
	if pod.Spec.Resources != nil {
		check("spec.resources.requests", pod.Spec.Resources.Requests)
	}
	check("spec.overhead", pod.Spec.Overhead)
	return problems
}

// withDefaultRequests returns the pod with requests where only limits are given, as an API server stores a pod. Pod
// templates and files lack that. The pod itself is not written to.
func withDefaultRequests(pod *corev1.Pod) *corev1.Pod {
	containers, changed := defaulted(pod.Spec.Containers)
	initContainers, initChanged := defaulted(pod.Spec.InitContainers)
	if changed || initChanged {
		out := *pod
		out.Spec.Containers, out.Spec.InitContainers = containers, initContainers
		pod = &out
	}
	return withWholePodRequests(pod)
}

// withWholePodRequests adds the requests that limits of the pod as a whole stand for: those of resources that no
// container requests, and of huge pages in any case. The result has amounts of its own, as Kubernetes' arithmetic adds
// overhead to the very ones it is given.
func withWholePodRequests(pod *corev1.Pod) *corev1.Pod {
	whole := pod.Spec.Resources
	if whole == nil || len(whole.Requests)+len(whole.Limits) == 0 {
		return pod
	}
	requests := whole.Requests.DeepCopy()
	if requests == nil {
		requests = make(corev1.ResourceList)
	}
	ofContainers := resources.AggregateContainerRequests(pod, resources.PodResourcesOptions{})
	for name, limit := range whole.Limits {
		_, own := whole.Requests[name]
		_, requested := ofContainers[name]
		hugePages := strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
		if !own && (!requested || hugePages) && resources.IsSupportedPodLevelResource(name) {
			requests[name] = limit.DeepCopy()
		}
	}
	out := *pod
	out.Spec.Resources = &corev1.ResourceRequirements{Requests: requests, Limits: whole.Limits}
	return &out
}

func defaulted(containers []corev1.Container) ([]corev1.Container, bool) {
	changed := false
	for i := range containers {
		for name, limit := range containers[i].Resources.Limits {
			if _, ok := containers[i].Resources.Requests[name]; ok {
				continue
			}
			if !changed {
				containers, changed = slices.Clone(containers), true
			}
			list := maps.Clone(containers[i].Resources.Requests)
			if list == nil {
				list = make(map[corev1.ResourceName]resource.Quantity)
			}
			list[name] = limit
			containers[i].Resources.Requests = list
		}
	}
	return containers, changed
}
