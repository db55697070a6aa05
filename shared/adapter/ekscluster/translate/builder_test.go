package translate

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// documents reads objects that are separated by lines of three dashes.
func documents(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for part := range strings.SplitSeq(text, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(part), &object.Object); err != nil {
			t.Fatalf("%v in %s", err, part)
		}
		out = append(out, object)
	}
	return out
}

// build makes a snapshot of documents, each of which must be of a known kind and readable.
func build(t testing.TB, builder Builder, text string) *model.Snapshot {
	t.Helper()
	for _, object := range documents(t, text) {
		if known, err := builder.AddUnstructured(object); !known || err != nil {
			t.Fatalf("%s %s: known %v, %v", object.GetKind(), object.GetName(), known, err)
		}
	}
	s := builder.Snapshot("c", 1)
	if _, err := wire.EncodeSnapshot(s); err != nil {
		t.Fatalf("no snapshot: %v", err)
	}
	return s
}

func shapeOf(t testing.TB, s *model.Snapshot, key string) *model.PodShape {
	t.Helper()
	for i := range s.Pods {
		if s.Pods[i].Key() == key {
			return s.ShapeOf(&s.Pods[i])
		}
	}
	t.Fatalf("no pod %s", key)
	return nil
}

const classes = `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
preemptionPolicy: Never
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: usual}
value: 10
globalDefault: true
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: more}
value: 20
globalDefault: true
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: vm}
handler: kata
overhead: {podFixed: {cpu: 250m, memory: 120Mi}}
scheduling: {nodeSelector: {vm: "true"}, tolerations: [{key: vm, operator: Exists}]}
---
`

func TestManifestsGetWhatAdmissionFillsIn(t *testing.T) {
	cases := map[string]struct {
		pod  string
		want model.PodShape
	}{
		"the class's priority": {
			`spec: {priorityClassName: high}`,
			model.PodShape{PriorityClass: "high", Priority: 1000, NoPreemption: true, Requests: model.Resources{"pods": 1}},
		},
		"the lowest of the default classes": {
			`spec: {}`,
			model.PodShape{PriorityClass: "usual", Priority: 10, Requests: model.Resources{"pods": 1}},
		},
		"a class every cluster has": {
			`spec: {priorityClassName: system-node-critical}`,
			model.PodShape{PriorityClass: "system-node-critical", Priority: 2_000_001_000, Requests: model.Resources{"pods": 1}},
		},
		"a class that is not there": {
			`spec: {priorityClassName: low}`,
			model.PodShape{PriorityClass: "low", Requests: model.Resources{"pods": 1}},
		},
		"a priority that is there": {
			`spec: {priorityClassName: high, priority: 7}`,
			model.PodShape{PriorityClass: "high", Priority: 7, Requests: model.Resources{"pods": 1}},
		},
		"what the pod says of preemption": {
			`spec: {priorityClassName: high, preemptionPolicy: PreemptLowerPriority}`,
			model.PodShape{PriorityClass: "high", Priority: 1000, Requests: model.Resources{"pods": 1}},
		},
		"overhead and place of the runtime": {
			`spec: {priority: 0, runtimeClassName: vm, nodeSelector: {a: b}, containers: [{name: a, resources: {requests: {cpu: 1}}}]}`,
			model.PodShape{
				Requests:     model.Resources{"cpu": 1250, "memory": 120 << 20, "pods": 1},
				NodeSelector: map[string]string{"a": "b", "vm": "true"}, Tolerations: []model.Toleration{{Key: "vm", Operator: "Exists"}},
			},
		},
		"overhead that is there": {
			`spec: {priority: 0, runtimeClassName: vm, overhead: {cpu: 100m}}`,
			model.PodShape{
				Requests:     model.Resources{"cpu": 100, "pods": 1},
				NodeSelector: map[string]string{"vm": "true"}, Tolerations: []model.Toleration{{Key: "vm", Operator: "Exists"}},
			},
		},
		"a place that contradicts": {
			`spec: {priority: 0, runtimeClassName: vm, overhead: {cpu: 100m}, nodeSelector: {vm: "false"}}`,
			model.PodShape{
				Requests:     model.Resources{"cpu": 100, "pods": 1},
				NodeSelector: map[string]string{"vm": "false"}, Tolerations: []model.Toleration{{Key: "vm", Operator: "Exists"}},
				Unsupported: []string{`spec.nodeSelector[vm]: "false": RuntimeClass vm has "true" there; use that or another class`},
			},
		},
		"a runtime that is not there": {
			`spec: {priority: 0, runtimeClassName: other}`,
			model.PodShape{Requests: model.Resources{"pods": 1}},
		},
		"nothing that an API server stored": {
			`spec: {priority: 0, runtimeClassName: vm}` + "\nmetadata: {name: a, namespace: b, uid: u}",
			model.PodShape{Requests: model.Resources{"pods": 1}},
		},
		"nor the default class then": {
			"spec: {}\nmetadata: {name: a, namespace: b, uid: u}",
			model.PodShape{Requests: model.Resources{"pods": 1}},
		},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			tt.want.Namespace, tt.want.GraceSeconds = "b", 30
			pod := "apiVersion: v1\nkind: Pod\n" + tt.pod
			if !strings.Contains(pod, "metadata:") {
				pod += "\nmetadata: {name: a, namespace: b}"
			}
			for _, text := range []string{classes + pod, pod + "\n---\n" + strings.TrimSuffix(classes, "---\n")} {
				if got := shapeOf(t, build(t, Builder{}, text), "b/a"); !reflect.DeepEqual(*got, tt.want) {
					t.Errorf("\n got %+v\nwant %+v", *got, tt.want)
				}
			}
		})
	}
}

func TestOverheadBeyondBoundsMakesThePodUnsupported(t *testing.T) {
	s := build(t, Builder{}, `
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {name: vm}
handler: kata
overhead: {podFixed: {memory: "9223372036854775807", cpu: -1}}
---
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec: {runtimeClassName: vm, containers: [{name: a, resources: {requests: {memory: 1Gi}}}]}
`)
	shape := shapeOf(t, s, "b/a")
	if len(shape.Unsupported) != 2 || !strings.Contains(shape.Unsupported[0], "overhead.podFixed[cpu]") || !strings.Contains(shape.Unsupported[1], "overhead.podFixed[memory]") {
		t.Errorf("got %q", shape.Unsupported)
	}
	if shape.Requests["memory"] != 1<<30 {
		t.Errorf("requests: %v", shape.Requests)
	}
}

const daemonSet = `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: kube-system, uid: d, annotations: {deprecated.daemonset.template.generation: "3"}}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: os, operator: In, values: [linux]}]}]}}}
      containers: [{name: a, resources: {requests: {cpu: 100m}}}]
`

func daemonPod(name, generation, created, cpu, more string) string {
	return `
---
apiVersion: v1
kind: Pod
metadata:
  name: ` + name + `
  namespace: kube-system
  uid: ` + name + `
  creationTimestamp: "` + created + `"
  labels: {app: agent, pod-template-generation: "` + generation + `"}
  ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: d, controller: true}]
  ` + more + `
spec:
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [node-1]}]}]}}}
  containers: [{name: a, resources: {requests: {cpu: ` + cpu + `}}}]
`
}

func TestADaemonSetIsWhatItsNewestPodIs(t *testing.T) {
	older := daemonPod("x-older", "3", "2026-11-20T12:00:00Z", "200m", "")
	newer := daemonPod("a-newer", "3", "2026-11-20T13:00:00Z", "300m", "")
	cases := map[string]struct {
		pods string
		want int64
	}{
		"no pod yet":             {"", 100},
		"one pod":                {older, 200},
		"the newest of two":      {newer + older, 300},
		"one that goes away":     {older + daemonPod("b", "3", "2026-11-20T14:00:00Z", "900m", `deletionTimestamp: "2026-11-20T14:01:00Z"`), 200},
		"one that has ended":     {older + daemonPod("b", "3", "2026-11-20T14:00:00Z", "900m", "") + "status: {phase: Failed}\n", 200},
		"one of an old template": {daemonPod("b", "2", "2026-11-20T14:00:00Z", "900m", ""), 100},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			s := build(t, Builder{}, daemonSet+tt.pods)
			got := &s.Shapes[s.DaemonSets[0].Shape]
			where := []model.NodeTerm{{Requirements: []model.Requirement{{Key: "os", Operator: model.In, Values: []string{"linux"}}}}}
			if got.Requests["cpu"] != tt.want || !reflect.DeepEqual(got.RequiredNodeAffinity, where) {
				t.Errorf("got %v at %+v, want %d at %+v", got.Requests, got.RequiredNodeAffinity, tt.want, where)
			}
		})
	}
}

func TestTheTemplateOfADaemonSetGetsItsRuntimesOverhead(t *testing.T) {
	s := build(t, Builder{}, strings.TrimPrefix(classes, "\n")+strings.Replace(daemonSet, "      containers:", "      runtimeClassName: vm\n      containers:", 1))
	if got := s.Shapes[s.DaemonSets[0].Shape]; got.Requests["cpu"] != 350 || got.NodeSelector["vm"] != "true" || got.Priority != 10 {
		t.Errorf("got %+v", got)
	}
}

func TestTheOrderOfAddingDoesNotShow(t *testing.T) {
	text := classes + strings.TrimPrefix(daemonSet, "\n") + daemonPod("x", "3", "2026-11-20T12:00:00Z", "200m", "") + daemonPod("y", "3", "2026-11-20T12:00:00Z", "300m", "")
	for _, name := range []string{"a", "b", "c", "d"} {
		text += "---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: n, name: " + name + ", labels: {app: " + name + "}}\n"
	}
	objects := documents(t, text)
	random := rand.New(rand.NewPCG(1, 2))
	var want []byte
	for range 20 {
		var builder Builder
		for _, object := range objects {
			builder.Add(object)
		}
		got, err := json.Marshal(builder.Snapshot("c", 1))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if string(got) != string(want) {
			t.Fatalf("\n got %s\nwant %s", got, want)
		}
		random.Shuffle(len(objects), func(i, j int) { objects[i], objects[j] = objects[j], objects[i] })
	}
}

func TestShapesOfReplacedPodsAreForgotten(t *testing.T) {
	var b Builder
	for _, app := range []string{"one", "two"} {
		b.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", Labels: map[string]string{"app": app}}})
	}
	if s := b.Snapshot("c", 1); len(s.Shapes) != 1 || s.Shapes[0].Labels["app"] != "two" {
		t.Errorf("got %+v", s.Shapes)
	}
}

func TestEveryKindOfADumpIsKnown(t *testing.T) {
	for _, kind := range []string{
		"v1 Pod", "v1 Node", "apps/v1 DaemonSet", "v1 Namespace", "v1 Service", "v1 PersistentVolumeClaim", "v1 PersistentVolume",
		"storage.k8s.io/v1 StorageClass", "storage.k8s.io/v1 CSINode", "storage.k8s.io/v1 VolumeAttachment", "policy/v1 PodDisruptionBudget",
		"apps/v1 ReplicaSet", "apps/v1 StatefulSet", "batch/v1 Job", "scheduling.k8s.io/v1 PriorityClass", "node.k8s.io/v1 RuntimeClass",
		"karpenter.sh/v1 NodePool", "karpenter.sh/v1 NodeClaim", "karpenter.k8s.aws/v1 EC2NodeClass", "karpenter.sh/v1alpha1 NodeOverlay",
		"autoscaling.x-k8s.io/v1beta1 CapacityBuffer", "apps/v1 Deployment", "batch/v1 CronJob", "v1 ReplicationController",
	} {
		version, name, _ := strings.Cut(kind, " ")
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": name, "metadata": map[string]any{"name": "a"}}}
		if known, err := new(Builder).AddUnstructured(object); !known || err != nil {
			t.Errorf("%s: known %v, %v", kind, known, err)
		}
	}
	for _, kind := range []string{"v1 Secret", "apps.kruise.io/v1alpha1 DaemonSet", "example.com/v1 NodePool"} {
		version, name, _ := strings.Cut(kind, " ")
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": version, "kind": name, "metadata": map[string]any{"name": "a"}}}
		if known, err := new(Builder).AddUnstructured(object); known || err != nil {
			t.Errorf("%s: known %v, %v", kind, known, err)
		}
	}
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	cases := map[string]struct{ object, want string }{
		"a quantity": {
			"apiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: web}\nspec: {containers: [{name: a, resources: {requests: {cpu: 1}}}, {name: b, resources: {requests: {memory: much}}}]}",
			`Pod shop/web: spec.containers[1].resources.requests.memory: "much": quantities must match`},
		"a number": {
			"apiVersion: v1\nkind: Pod\nmetadata: {namespace: shop, name: web}\nspec: {priority: high}",
			`Pod shop/web: spec.priority: "high": `},
		"the first of two": {
			"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {namespace: shop, name: web, labels: [a]}\nspec: {template: {spec: {containers: 5}}}",
			`DaemonSet shop/web: metadata.labels: ["a"]: `},
		"a time": {
			"apiVersion: v1\nkind: Node\nmetadata: {name: node-1, creationTimestamp: yesterday}",
			"Node node-1: metadata.creationTimestamp: "},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			var builder Builder
			known, err := builder.AddUnstructured(documents(t, tt.object)[0])
			if !known || !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("known %v, got %v, want %q", known, err, tt.want)
			}
			if s := builder.Snapshot("c", 1); len(s.Pods)+len(s.Nodes)+len(s.DaemonSets) != 0 {
				t.Errorf("something was added: %+v", s)
			}
		})
	}
}

func TestBuilderTakesTypedAndUntypedAlike(t *testing.T) {
	object := documents(t, "apiVersion: v1\nkind: Pod\n"+strings.TrimPrefix(fullPod, "\n"))[0]
	var typed, untyped Builder
	typed.Add(parsePod(t, fullPod))
	if known, err := untyped.AddUnstructured(object); !known || err != nil {
		t.Fatal(known, err)
	}
	a, b := typed.Snapshot("c", 1), untyped.Snapshot("c", 1)
	if !reflect.DeepEqual(a, b) || !slices.Equal(a.Pods[0].Claims, []string{"data-web-0", "web-0-scratch"}) {
		t.Errorf("\n typed %+v\nuntyped %+v", a, b)
	}
}
