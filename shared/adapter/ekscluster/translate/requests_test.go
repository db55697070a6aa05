package translate

import (
	"math"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/joiner-sh/joiner/shared/model"
)

func list(pairs ...string) corev1.ResourceList {
	out := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func container(name string, pairs ...string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: list(pairs...)}}
}

func sidecar(name string, pairs ...string) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	c := container(name, pairs...)
	c.RestartPolicy = &always
	return c
}

// The sums are those of the Kubernetes API: KEP 753 for sidecars, 2837 for resources of the pod, 1287 for resizing.
func TestRequestsAreWhatKubernetesCounts(t *testing.T) {
	limited := corev1.Container{Name: "a", Resources: corev1.ResourceRequirements{Limits: list("cpu", "2", "memory", "1Gi"), Requests: list("cpu", "500m")}}
	cases := map[string]struct {
		pod  corev1.Pod
		want model.Resources
	}{
		"nothing asked": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a")}}},
			model.Resources{"pods": 1},
		},
		"containers add up": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "250m", "memory", "1Gi"), container("b", "cpu", "1", "nvidia.com/gpu", "2")}}},
			model.Resources{"cpu": 1250, "memory": 1 << 30, "nvidia.com/gpu": 2, "pods": 1},
		},
		"the largest init container counts where it is more": {
			corev1.Pod{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{container("i", "cpu", "2", "memory", "64Mi"), container("j", "cpu", "3")},
				Containers:     []corev1.Container{container("a", "cpu", "1", "memory", "1Gi")},
			}},
			model.Resources{"cpu": 3000, "memory": 1 << 30, "pods": 1},
		},
		"a sidecar runs beside later init containers and the rest": {
			corev1.Pod{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{sidecar("s", "cpu", "1"), container("i", "cpu", "3")},
				Containers:     []corev1.Container{container("a", "cpu", "2")},
			}},
			model.Resources{"cpu": 4000, "pods": 1},
		},
		"overhead": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "1")}, Overhead: list("cpu", "250m", "memory", "120Mi")}},
			model.Resources{"cpu": 1250, "memory": 120 << 20, "pods": 1},
		},
		"requests of the pod replace those of its containers": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "1", "nvidia.com/gpu", "1")}, Resources: &corev1.ResourceRequirements{Requests: list("cpu", "3")}}},
			model.Resources{"cpu": 3000, "nvidia.com/gpu": 1, "pods": 1},
		},
		"while resized in place the larger counts": {
			corev1.Pod{
				Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "1")}},
				Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
					Name: "a", AllocatedResources: list("cpu", "2"), Resources: &corev1.ResourceRequirements{Requests: list("cpu", "2")},
				}}},
			},
			model.Resources{"cpu": 2000, "pods": 1},
		},
		"a resize that cannot be is not counted": {
			corev1.Pod{
				Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "8")}},
				Status: corev1.PodStatus{
					Conditions: []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonInfeasible}},
					ContainerStatuses: []corev1.ContainerStatus{{
						Name: "a", AllocatedResources: list("cpu", "2"), Resources: &corev1.ResourceRequirements{Requests: list("cpu", "1")},
					}},
				},
			},
			model.Resources{"cpu": 2000, "pods": 1},
		},
		"a resize put off counts in full": {
			corev1.Pod{
				Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "8")}},
				Status: corev1.PodStatus{
					Conditions: []corev1.PodCondition{{Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred}},
					ContainerStatuses: []corev1.ContainerStatus{{
						Name: "a", AllocatedResources: list("cpu", "2"), Resources: &corev1.ResourceRequirements{Requests: list("cpu", "2")},
					}},
				},
			},
			model.Resources{"cpu": 8000, "pods": 1},
		},
		"a sidecar is resized, too": {
			corev1.Pod{
				Spec: corev1.PodSpec{InitContainers: []corev1.Container{sidecar("s", "cpu", "1")}, Containers: []corev1.Container{container("a", "cpu", "1")}},
				Status: corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{{
					Name: "s", AllocatedResources: list("cpu", "3"), Resources: &corev1.ResourceRequirements{Requests: list("cpu", "3")},
				}}},
			},
			model.Resources{"cpu": 4000, "pods": 1},
		},
		"the whole pod is resized": {
			corev1.Pod{
				Spec:   corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: list("cpu", "1")}, Containers: []corev1.Container{container("a")}},
				Status: corev1.PodStatus{AllocatedResources: list("cpu", "2"), Resources: &corev1.ResourceRequirements{Requests: list("cpu", "2")}},
			},
			model.Resources{"cpu": 2000, "pods": 1},
		},
		"overhead comes on top of requests of the pod": {
			corev1.Pod{Spec: corev1.PodSpec{Resources: &corev1.ResourceRequirements{Requests: list("cpu", "1")}, Containers: []corev1.Container{container("a", "cpu", "500m")}, Overhead: list("cpu", "250m")}},
			model.Resources{"cpu": 1250, "pods": 1},
		},
		"a limit of the pod is a request where no container asks": {
			corev1.Pod{Spec: corev1.PodSpec{
				Resources:  &corev1.ResourceRequirements{Limits: list("cpu", "4", "memory", "2Gi", "hugepages-2Mi", "8Mi")},
				Containers: []corev1.Container{container("a", "memory", "1Gi", "hugepages-2Mi", "4Mi")},
			}},
			model.Resources{"cpu": 4000, "memory": 1 << 30, "hugepages-2Mi": 8 << 20, "pods": 1},
		},
		"limits of the pod fill in what its requests leave out": {
			corev1.Pod{Spec: corev1.PodSpec{
				Resources:  &corev1.ResourceRequirements{Requests: list("cpu", "1"), Limits: list("cpu", "4", "memory", "2Gi", "nvidia.com/gpu", "1")},
				Containers: []corev1.Container{container("a")},
			}},
			model.Resources{"cpu": 1000, "memory": 2 << 30, "pods": 1},
		},
		"a device in limits only": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: list("nvidia.com/gpu", "1")}}}}},
			model.Resources{"nvidia.com/gpu": 1, "pods": 1},
		},
		"limits of an init container alone": {
			corev1.Pod{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{Limits: list("cpu", "2")}}},
				Containers:     []corev1.Container{container("a", "cpu", "1")},
			}},
			model.Resources{"cpu": 2000, "pods": 1},
		},
		"a limit alone is a request": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{limited}}},
			model.Resources{"cpu": 500, "memory": 1 << 30, "pods": 1},
		},
		"rounded up": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "cpu", "100u", "memory", "1500m", "ephemeral-storage", "1n")}}},
			model.Resources{"cpu": 1, "memory": 2, "ephemeral-storage": 1, "pods": 1},
		},
		"the last number that fits": {
			corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{container("a", "memory", "9223372036854775807")}}},
			model.Resources{"memory": math.MaxInt64, "pods": 1},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			before := tt.pod.DeepCopy()
			_, shape := Pod(&tt.pod)
			if !reflect.DeepEqual(shape.Requests, tt.want) || shape.Unsupported != nil {
				t.Errorf("got %v %q, want %v", shape.Requests, shape.Unsupported, tt.want)
			}
			if !reflect.DeepEqual(before, &tt.pod) {
				t.Error("the pod was written to")
			}
		})
	}
}

func TestHostileQuantitiesMakeThePodUnsupported(t *testing.T) {
	cases := map[string]struct {
		containers []corev1.Container
		want       string
	}{
		"negative":          {[]corev1.Container{container("a", "cpu", "1"), container("b", "cpu", "-1")}, `spec.containers[1].resources.requests[cpu]: "-1": must not be negative`},
		"beyond in milli":   {[]corev1.Container{container("a", "cpu", "9223372036854775807")}, "requests of cpu add up to"},
		"beyond in the sum": {[]corev1.Container{container("a", "memory", "8Ei"), container("b", "memory", "8Ei")}, "requests of memory add up to"},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			_, shape := Pod(&corev1.Pod{Spec: corev1.PodSpec{Containers: tt.containers}})
			if len(shape.Unsupported) != 1 || !strings.Contains(shape.Unsupported[0], tt.want) {
				t.Errorf("got %q, want one with %q", shape.Unsupported, tt.want)
			}
			for name, amount := range shape.Requests {
				if amount < 0 {
					t.Errorf("%s is %d", name, amount)
				}
			}
		})
	}
}

// Amounts beyond 64 bits are held by pointer, and Kubernetes' arithmetic adds to them in place.
func TestHugeAmountsAreNotAddedTo(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Resources: &corev1.ResourceRequirements{Requests: list("memory", "16Ei")}, Overhead: list("memory", "8Ei"),
		Containers: []corev1.Container{container("a")},
	}}
	_, first := Pod(pod)
	_, second := Pod(pod)
	if !reflect.DeepEqual(first, second) || len(first.Unsupported) != 1 {
		t.Errorf("first %q, then %q", first.Unsupported, second.Unsupported)
	}
}

func TestWhatANodeOffersRoundsUpAsKubeSchedulerDoes(t *testing.T) {
	node := &corev1.Node{Status: corev1.NodeStatus{Allocatable: list("cpu", "3920500u", "memory", "1500m", "pods", "0")}}
	want := model.Resources{}
	for name, q := range node.Status.Allocatable {
		want[string(name)] = q.Value()
	}
	cpu := node.Status.Allocatable["cpu"]
	want["cpu"] = cpu.MilliValue()
	if got := Node(node).Allocatable; !reflect.DeepEqual(got, want) || got["cpu"] != 3921 {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestLimitsRoundDown(t *testing.T) {
	got, problems := amounts(list("cpu", "3920500u", "memory", "1500m", "pods", "0"), "status.allocatable")
	want := model.Resources{"cpu": 3920, "memory": 1, "pods": 0}
	if !reflect.DeepEqual(got, want) || problems != nil {
		t.Errorf("got %v %q, want %v", got, problems, want)
	}
	if got, problems = amounts(list("cpu", "-1"), "spec.limits"); len(got) != 0 || len(problems) != 1 {
		t.Errorf("a negative amount: got %v %q", got, problems)
	}
	if got, _ := amounts(nil, ""); got != nil {
		t.Errorf("no list is no amounts, got %v", got)
	}
}
