package translate_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
)

// F095: kube-scheduler claims devices for each container that requests an extended resource. An init container has
// those of the containers after it, and claims what it wants beside them.
func TestF095ContainersDivideExtendedRequests(t *testing.T) {
	const gpu = "example.com/gpu"
	always := corev1.ContainerRestartPolicyAlways
	of := func(amount string, name corev1.ResourceName) corev1.Container {
		list := corev1.ResourceList{name: resource.MustParse(amount)}
		return corev1.Container{Resources: corev1.ResourceRequirements{Limits: list}}
	}
	sidecar := of("1", gpu)
	sidecar.RestartPolicy = &always
	containers := func(c ...corev1.Container) []corev1.Container { return c }
	const class = "deviceclass.resource.kubernetes.io/x"
	type parts = map[string][]int64
	for text, c := range map[string]struct {
		init, run []corev1.Container
		want      parts
	}{
		"one container":               {nil, containers(of("2", gpu)), nil},
		"two":                         {nil, containers(of("2", gpu), of("1", gpu)), parts{gpu: {2, 1}}},
		"two, of different resources": {nil, containers(of("2", gpu), of("1", "example.com/nic")), nil},
		"two, of CPUs":                {nil, containers(of("2", "cpu"), of("1", "cpu")), nil},
		"two, of a resource of Kubernetes": {nil,
			containers(of("2", "kubernetes.io/x"), of("1", "kubernetes.io/x")), nil},
		"an init container with less": {containers(of("1", gpu)), containers(of("2", gpu)), nil},
		"an init container with more": {containers(of("3", gpu)), containers(of("2", gpu)), parts{gpu: {2, 1}}},
		"the most of two": {containers(of("3", gpu), of("4", gpu)), containers(of("1", gpu)),
			parts{gpu: {1, 3}}},
		"a sidecar before": {containers(sidecar, of("3", gpu)), containers(of("2", gpu)), parts{gpu: {1, 2, 1}}},
		"a sidecar after":  {containers(of("4", gpu), sidecar), containers(of("2", gpu)), parts{gpu: {1, 2, 1}}},
		"two, by the name of a DeviceClass": {nil, containers(of("1", class), of("1", class)),
			parts{class: {1, 1}}},
	} {
		_, shape := translate.Pod(&corev1.Pod{Spec: corev1.PodSpec{InitContainers: c.init, Containers: c.run}})
		if !reflect.DeepEqual(shape.ExtendedRequests, c.want) {
			t.Errorf("%s: %v, want %v", text, shape.ExtendedRequests, c.want)
		}
		for name, counts := range c.want {
			var sum int64
			for _, count := range counts {
				sum += count
			}
			if sum != shape.Requests[name] {
				t.Errorf("%s: parts %v of a request for %d", text, counts, shape.Requests[name])
			}
		}
	}
}
