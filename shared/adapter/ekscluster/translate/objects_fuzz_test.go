package translate

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/test/draw"
)

// hostile are the values that objects are made of here: the few that mean something, and some that never should be there.
var hostile = draw.Options{
	Deep: 3,
	Texts: []string{
		"", "a", "b", "web-0", "node-1", "default", "kube-system", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal",
		"DoNotSchedule", "ScheduleAnyway", "Honor", "Ignore", "Always", "Never", "Pending", "Running", "Unschedulable", "PodScheduled", "True", "False",
		"5", "-5", "9223372036854775808", "cpu", "memory", "pods", "hugepages-2Mi", "nvidia.com/gpu", "metadata.name", "NoSchedule", "TCP", "0.0.0.0",
		"kubernetes.io/hostname", "topology.kubernetes.io/zone", "statefulset.kubernetes.io/pod-name", "apps/v1", "v1", "DaemonSet", "ReplicaSet", "Node",
		"system-node-critical", "karpenter.k8s.aws", "EC2NodeClass", "10%", "a__b", "é", "a b/c\x00",
	},
	Types: map[reflect.Type]func(*rapid.T, string) reflect.Value{
		reflect.TypeFor[resource.Quantity](): func(t *rapid.T, label string) reflect.Value {
			text := rapid.SampledFrom([]string{"0", "1", "250m", "1Gi", "-1", "1n", "9223372036854775807", "1e30", "8Ei", "0.5"}).Draw(t, label)
			return reflect.ValueOf(resource.MustParse(text))
		},
		reflect.TypeFor[metav1.Time](): func(t *rapid.T, label string) reflect.Value {
			return reflect.ValueOf(metav1.Time{Time: time.Unix(rapid.Int64Range(0, 3).Draw(t, label), 0)})
		},
		reflect.TypeFor[intstr.IntOrString](): func(t *rapid.T, label string) reflect.Value {
			return reflect.ValueOf(rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(1), intstr.FromString("50%"), {Type: 7}}).Draw(t, label))
		},
		reflect.TypeFor[metav1.FieldsV1]():        nil,
		reflect.TypeFor[corev1.Probe]():           nil,
		reflect.TypeFor[corev1.Lifecycle]():       nil,
		reflect.TypeFor[corev1.EnvVar]():          nil,
		reflect.TypeFor[corev1.SecurityContext](): nil,
	},
}

// content is everything of a value as text.
func content(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return "cannot be written: " + err.Error()
	}
	return string(data)
}

func drawn[T any](t *rapid.T, label string) *T {
	out := draw.Any[T](t, label, hostile)
	return &out
}

// difference returns where two texts begin to differ.
func difference(a, b string) string {
	at := 0
	for at < min(len(a), len(b)) && a[at] == b[at] {
		at++
	}
	around := func(text string) string { return text[max(0, at-200):min(len(text), at+200)] }
	return fmt.Sprintf("\n…%s…\nwhere there was\n…%s…", around(b), around(a))
}

// drawObjects makes up to a dozen objects of any kinds.
func drawObjects(t *rapid.T) []any {
	kinds := []func() any{
		func() any { return drawn[corev1.Pod](t, "pod") },
		func() any { return drawn[corev1.Pod](t, "pod") },
		func() any { return drawn[appsv1.DaemonSet](t, "daemonSet") },
		func() any { return drawn[corev1.Node](t, "node") },
		func() any { return drawn[corev1.Namespace](t, "namespace") },
		func() any { return drawn[corev1.Service](t, "service") },
		func() any { return drawn[corev1.ReplicationController](t, "controller") },
		func() any { return drawn[appsv1.ReplicaSet](t, "replicaSet") },
		func() any { return drawn[appsv1.StatefulSet](t, "statefulSet") },
		func() any { return drawn[corev1.PersistentVolumeClaim](t, "claim") },
		func() any { return drawn[corev1.PersistentVolume](t, "volume") },
		func() any { return drawn[storagev1.StorageClass](t, "class") },
		func() any { return drawn[storagev1.CSINode](t, "csiNode") },
		func() any { return drawn[storagev1.VolumeAttachment](t, "attachment") },
		func() any { return drawn[policyv1.PodDisruptionBudget](t, "budget") },
		func() any { return drawn[schedulingv1.PriorityClass](t, "priority") },
		func() any { return drawn[nodev1.RuntimeClass](t, "runtime") },
		func() any { return drawn[apiv1.NodePool](t, "pool") },
		func() any { return drawn[apiv1.NodeClaim](t, "nodeClaim") },
		func() any { return drawn[awsv1.EC2NodeClass](t, "nodeClass") },
	}
	var out []any
	for range rapid.IntRange(1, 12).Draw(t, "objects") {
		out = append(out, kinds[rapid.IntRange(0, len(kinds)-1).Draw(t, "kind")]())
	}
	return out
}

// anyObjects: whatever objects there are, they become a snapshot that can be written, is the same in any order, asks for
// nothing below zero, and none of them was written to.
func anyObjects(t *rapid.T) {
	objects := drawObjects(t)
	before := make([]string, len(objects))
	for i := range objects {
		before[i] = content(objects[i])
	}
	add := func() *model.Snapshot {
		b := Builder{AbsentConditionIsPending: true, DefaultSpread: []model.Spread{{TopologyKey: "z", MaxSkew: 1}}}
		for _, object := range objects {
			if !b.Add(object) {
				t.Fatalf("%T is not known", object)
			}
		}
		return b.Snapshot("c", 1)
	}
	first := add()
	for i := range first.Shapes {
		for name, amount := range first.Shapes[i].Requests {
			if amount < 0 {
				t.Fatalf("%s is %d", name, amount)
			}
		}
	}
	if packed, err := wire.EncodeSnapshot(first); err == nil {
		read, err := wire.DecodeSnapshot(packed)
		if err != nil || content(read) != content(first) {
			t.Fatalf("read back (%v) it is\n%s\nand was\n%s", err, content(read), content(first))
		}
	} else if !fault.Is(err, fault.Invalid) {
		t.Fatal(err)
	}
	if again := add(); content(again) != content(first) {
		t.Fatalf("added again, the same objects make %s", difference(content(first), content(again)))
	}
	if distinct(objects) {
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(objects), func(i, j int) {
			objects[i], objects[j], before[i], before[j] = objects[j], objects[i], before[j], before[i]
		})
		if again := add(); content(again) != content(first) {
			t.Fatalf("in another order they make %s", difference(content(first), content(again)))
		}
	}
	for i := range objects {
		if content(objects[i]) != before[i] {
			t.Fatalf("%T was written to", objects[i])
		}
	}
}

// distinct reports whether no object replaces another.
func distinct(objects []any) bool {
	seen := make(map[string]bool)
	for _, object := range objects {
		key := reflect.TypeOf(object).String() + " " + object.(metav1.Object).GetName()
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

func TestAnyObjectsMakeASnapshot(t *testing.T) { rapid.Check(t, anyObjects) }

func FuzzAnyObjects(f *testing.F) {
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(rapid.MakeFuzz(anyObjects))
}
