package translate

import (
	"reflect"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestOccupantIsThePodAsDrainingLooksAtIt(t *testing.T) {
	yes, grace, priority := true, int64(-1), int32(7)
	ends := metav1.NewTime(time.Unix(1_900_000_060, 0))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "p", UID: "u", DeletionTimestamp: &ends,
			Labels:          map[string]string{"app": "web"},
			Annotations:     map[string]string{corev1.MirrorPodAnnotationKey: "x", model.AnnotationNotDisrupt: "true"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", APIVersion: "example.com/v1", Name: "o", Controller: &yes}, {Kind: "Other"}},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace, Priority: &priority, PriorityClassName: "c",
			Tolerations: []corev1.Toleration{{Key: "k", Operator: "Equal", Value: "v", Effect: "NoSchedule"}},
			Volumes: []corev1.Volume{
				{Name: "a", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
				{Name: "b", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			},
		},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	got, claims := Occupant(pod)
	want := model.Occupant{
		PodRef: model.PodRef{Namespace: "n", Name: "p", UID: "u"}, Phase: model.Pending, Ready: true, Labels: map[string]string{"app": "web"}, OwnerKind: "DaemonSet.example.com", Static: true,
		Priority: 7, PriorityClass: "c", DoNotDisrupt: "true", DeletedUnix: 1_900_000_060,
		Tolerations: []model.Toleration{{Key: "k", Operator: "Equal", Value: "v", Effect: "NoSchedule"}},
	}
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(claims, []string{"data", "p-b"}) {
		t.Errorf("got %+v with %v", got, claims)
	}
	if got, _ := Occupant(&corev1.Pod{}); got.GraceSeconds != 30 || got.DeletedUnix != 0 || got.StartedUnix != 0 || got.Static {
		t.Errorf("of a bare pod: %+v", got)
	}
}

func TestAttachmentMayNameNoVolume(t *testing.T) {
	o := &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec:       storagev1.VolumeAttachmentSpec{Source: storagev1.VolumeAttachmentSource{InlineVolumeSpec: &corev1.PersistentVolumeSpec{}}},
		Status:     storagev1.VolumeAttachmentStatus{Attached: true},
	}
	if got := Attachment(o); got != (model.Attachment{Name: "a", Attached: true}) {
		t.Errorf("got %+v", got)
	}
}

func TestNodeTellsOfConditionsThatAreBad(t *testing.T) {
	at := metav1.NewTime(time.Unix(1_900_000_000, 0))
	condition := func(kind, status string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), LastTransitionTime: at}
	}
	for name, test := range map[string]struct {
		all  []corev1.NodeCondition
		want []model.NodeCondition
	}{
		"none":    {nil, nil},
		"healthy": {[]corev1.NodeCondition{condition("Ready", "True"), condition("MemoryPressure", "False"), condition("KernelReady", "True")}, nil},
		"silent": {[]corev1.NodeCondition{condition("Ready", "Unknown"), condition("MemoryPressure", "Unknown"), condition("StorageReady", "Unknown")},
			[]model.NodeCondition{{Type: "Ready", Status: "Unknown", SinceUnix: 1_900_000_000}}},
		"broken": {[]corev1.NodeCondition{condition("StorageReady", "False"), condition("DiskPressure", "True"), condition("Ready", "False"), condition("AcceleratedHardwareReady", "False"),
			condition("ContainerRuntimeReady", "False"), condition("NetworkingReady", "False"), condition("KernelReady", "False")},
			[]model.NodeCondition{
				{Type: "AcceleratedHardwareReady", Status: "False", SinceUnix: 1_900_000_000}, {Type: "ContainerRuntimeReady", Status: "False", SinceUnix: 1_900_000_000},
				{Type: "KernelReady", Status: "False", SinceUnix: 1_900_000_000}, {Type: "NetworkingReady", Status: "False", SinceUnix: 1_900_000_000},
				{Type: "Ready", Status: "False", SinceUnix: 1_900_000_000}, {Type: "StorageReady", Status: "False", SinceUnix: 1_900_000_000},
			}},
	} {
		node := Node(&corev1.Node{Status: corev1.NodeStatus{Conditions: test.all}})
		if !reflect.DeepEqual(node.Conditions, test.want) {
			t.Errorf("%s: got %+v", name, node.Conditions)
		}
	}
	held := Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"x", model.Finalizer}}})
	if !held.Finalizer || Node(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Finalizers: []string{"x"}}}).Finalizer {
		t.Errorf("finalizer %v", held.Finalizer)
	}
}

// Most nodes are healthy: nothing is kept of their conditions.
func TestReadingAHealthyNodeKeepsNothingOfItsConditions(t *testing.T) {
	conditions := []corev1.NodeCondition{{Type: "Ready", Status: "True"}, {Type: "MemoryPressure", Status: "False"}, {Type: "KernelReady", Status: "True"}}
	if allocs := testing.AllocsPerRun(100, func() { _ = badConditions(conditions) }); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
