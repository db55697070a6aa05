package translate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/model"
)

const webDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 10
  template:
    metadata: {labels: {app: web}, annotations: {karpenter.sh/do-not-disrupt: "true"}}
    spec:
      nodeName: here
      priorityClassName: high
      schedulingGates: [{name: wait}]
      nodeSelector: {disk: fast}
      volumes: [{name: a, persistentVolumeClaim: {claimName: data}}, {name: b, emptyDir: {}}, {name: c, ephemeral: {volumeClaimTemplate: {spec: {}}}}]
      containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}]
---
apiVersion: v1
kind: PodTemplate
metadata: {name: web, namespace: shop}
template:
  spec: {containers: [{name: a, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
---
`

func bufferOf(spec string) string {
	return "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: spare, namespace: shop, uid: u}\nspec: " + spec
}

// resolve makes a snapshot of a Deployment of ten, a PodTemplate of the same pods, and a buffer.
func resolve(t *testing.T, spec string) (*model.Snapshot, model.Buffer) {
	t.Helper()
	b := Builder{Headroom: true}
	for _, object := range documents(t, webDeployment+bufferOf(spec)) {
		if known, err := b.AddUnstructured(object); !known || err != nil {
			t.Fatalf("%s: %v, %v", object.GetKind(), known, err)
		}
	}
	s := b.Snapshot("c", 1)
	if len(s.Buffers) != 1 || len(s.Pods) != 0 {
		t.Fatalf("%+v, %+v", s.Buffers, s.Pods)
	}
	return headroom.WithPlaceholders(s), s.Buffers[0]
}

// The pods ask for half a CPU and 1 GiB each; the Deployment has ten.
func TestF091BufferSizes(t *testing.T) {
	const deployment, template = "scalableRef: {kind: Deployment, name: web}", "podTemplateRef: {name: web}"
	for spec, want := range map[string]int{
		template + ", replicas: 3":                                          3,
		template + ", replicas: 0":                                          0,
		template + ", limits: {cpu: 2}":                                     4,
		template + ", limits: {cpu: 2, memory: 3Gi}":                        3,
		template + ", limits: {cpu: 1999m}":                                 3,
		template + ", limits: {cpu: 400m}":                                  0,
		template + ", replicas: 5, limits: {cpu: 2}":                        4,
		template + ", replicas: 5, limits: {cpu: 20}":                       5,
		template + ", replicas: 5, limits: {example.com/gpu: 1}":            5,
		template + ", replicas: 1, percentage: 300":                         3, // of one, as a template has no replicas
		deployment + ", percentage: 20":                                     2,
		deployment + ", percentage: 21":                                     3,
		deployment + ", percentage: 1":                                      1,
		deployment + ", percentage: 0":                                      0,
		deployment + ", percentage: 250":                                    25,
		deployment + ", percentage: 20, replicas: 5":                        5, // the larger
		deployment + ", percentage: 80, replicas: 5":                        8,
		deployment + ", percentage: 80, replicas: 5, limits: {memory: 6Gi}": 6,
	} {
		s, buffer := resolve(t, "{"+spec+"}")
		if len(s.Pods) != want || int(buffer.Replicas) != want || buffer.Problem != "" {
			t.Errorf("%s: %d pods, %+v, want %d", spec, len(s.Pods), buffer, want)
		}
	}
}

func TestF091BuffersThatCannotBeMadeRoomForSayWhy(t *testing.T) {
	for spec, want := range map[string]string{
		"podTemplateRef: {name: other}, replicas: 1":                                           `spec.podTemplateRef.name: "other": there is no such PodTemplate in namespace shop`,
		"podTemplateRef: {name: web}":                                                          "spec.replicas, spec.limits: neither is set",
		"podTemplateRef: {name: web}, scalableRef: {kind: Deployment, name: web}, replicas: 1": "both are set",
		"podTemplateRef: {name: web}, limits: {example.com/gpu: 1}":                            "spec.limits: names no resource",
		"podTemplateRef: {name: web}, limits: {cpu: -1}":                                       `spec.limits[cpu]: "-1"`,
		"podTemplateRef: {name: web}, replicas: 10001":                                         "room for 10001 pods",
		"scalableRef: {kind: Deployment, name: other}, replicas: 1":                            `spec.scalableRef.name: "other": there is no such Deployment`,
		"scalableRef: {kind: Deployment, name: web}":                                           "set spec.replicas",
		"scalableRef: {apiGroup: batch, kind: Job, name: web}, replicas: 1":                    `Job of group "batch": must be`,
		"scalableRef: {apiGroup: example.com, kind: Deployment, name: web}, replicas: 1":       `Deployment of group "example.com": must be`,
	} {
		s, buffer := resolve(t, "{"+spec+"}")
		if len(s.Pods) != 0 || !strings.Contains(buffer.Problem, want) {
			t.Errorf("%s: %d pods, %q, want %q", spec, len(s.Pods), buffer.Problem, want)
		}
	}
}

func TestF090HeadroomIsThatOfPodsOfTheLowestPriority(t *testing.T) {
	s, buffer := resolve(t, "{scalableRef: {apiGroup: apps, kind: Deployment, name: web}, replicas: 2}")
	if buffer.Of != "Deployment web" || len(s.Pods) != 2 {
		t.Fatalf("%+v, %+v", buffer, s.Pods)
	}
	for i, pod := range s.Pods {
		if pod.Key() != fmt.Sprintf("shop/capacity-buffer-spare-%d", i) || pod.UID != fmt.Sprintf("u-%d", i) || pod.Buffer != "shop/spare" || !pod.Unschedulable || pod.NodeName != "" || pod.Claims != nil {
			t.Errorf("%+v", pod)
		}
	}
	shape := s.ShapeOf(&s.Pods[0])
	if s.Pods[0].Shape != s.Pods[1].Shape || shape.Priority != math.MinInt32 || shape.PriorityClass != "" || shape.Gated || shape.Ephemeral != nil || shape.OwnerKind != "" || shape.DoNotDisrupt != "" {
		t.Errorf("%+v", shape)
	}
	if shape.Labels["app"] != "web" || shape.NodeSelector["disk"] != "fast" || shape.Requests[model.CPU] != 500 || len(shape.Unsupported) > 0 {
		t.Errorf("%+v", shape)
	}
}

// Whoever does not ask for it gets pods only.
func TestF090SnapshotsOfPodsHaveNoHeadroom(t *testing.T) {
	if s := build(t, Builder{}, webDeployment+bufferOf("{podTemplateRef: {name: web}, replicas: 2}")); len(s.Pods)+len(s.Buffers) != 0 {
		t.Errorf("%+v, %+v", s.Pods, s.Buffers)
	}
}

// What a buffer is said to be of goes into its status; why it is of nothing has the API's own words.
func TestF090BuffersSayWhatTheyAreOf(t *testing.T) {
	if _, b := resolve(t, "{podTemplateRef: {name: web}, replicas: 2}"); b.Template != "web" || b.Reason != "" || b.Strategy != "buffer.x-k8s.io/active-capacity" || b.Shape != 0 {
		t.Errorf("%+v", b)
	}
	if _, b := resolve(t, "{scalableRef: {kind: Deployment, name: web}, replicas: 2, provisioningStrategy: mine}"); b.Template != "" || b.Strategy != "mine" {
		t.Errorf("%+v", b)
	}
	for spec, want := range map[string]string{
		"podTemplateRef: {name: other}, replicas: 1":                        model.PodTemplateNotFound,
		"scalableRef: {kind: Deployment, name: other}, replicas: 1":         model.ScalableRefNotFound,
		"podTemplateRef: {name: web}, limits: {example.com/gpu: 1}":         model.ResolutionFailed,
		"scalableRef: {apiGroup: batch, kind: Job, name: web}, replicas: 1": model.ResolutionFailed,
	} {
		if _, b := resolve(t, "{"+spec+"}"); b.Reason != want || b.Replicas != 0 || b.Shape != -1 {
			t.Errorf("%s: %+v, want %s", spec, b, want)
		}
	}
}
