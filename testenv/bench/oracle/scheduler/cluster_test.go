package scheduler

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

func newCluster(t *testing.T, objects ...runtime.Object) *Cluster {
	t.Helper()
	c, err := New(objects...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func node(name, zone string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, corev1.LabelTopologyZone: zone}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("4Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}
	return n
}

func pod(name, cpu string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Labels: map[string]string{"app": "web"}}}
	p.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	return p
}

// TestFiltersAreThoseOfTheDefaultProfile compares the list with the plugins that are there.
func TestFiltersAreThoseOfTheDefaultProfile(t *testing.T) {
	c := newCluster(t)
	var have []string
	for name, plugin := range c.plugins {
		if _, filters := plugin.(fwk.FilterPlugin); filters {
			have = append(have, name)
		}
	}
	want := slices.Sorted(slices.Values(Filters))
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("the default profile filters by %v, the list has %v", have, want)
	}
}

// TestOfferBindsWhatFits offers pods to a node until it is full.
func TestOfferBindsWhatFits(t *testing.T) {
	c := newCluster(t, node("a", "z"))
	for _, step := range []struct {
		pod, cpu, want string
	}{{"one", "1", ""}, {"two", "1", ""}, {"three", "100m", names.NodeResourcesFit}} {
		refused, err := c.Offer(pod(step.pod, step.cpu), "a")
		if err != nil {
			t.Fatal(err)
		}
		if refused.Plugin != step.want {
			t.Errorf("%s: refused by %q, want %q", step.pod, refused.Plugin, step.want)
		}
	}
}

// TestEvaluateAsksEveryPlugin evaluates a pod that several plugins refuse.
func TestEvaluateAsksEveryPlugin(t *testing.T) {
	tainted := node("a", "z")
	tainted.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	c := newCluster(t, tainted)
	p := pod("p", "3")
	p.Spec.NodeSelector = map[string]string{"missing": "label"}
	evaluated, err := c.Evaluate(p)
	if err != nil {
		t.Fatal(err)
	}
	refusals, err := evaluated.On("a")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range refusals {
		got = append(got, r.Plugin)
	}
	if want := []string{names.TaintToleration, names.NodeAffinity, names.NodeResourcesFit}; !slices.Equal(got, want) {
		t.Errorf("refused by %v, want %v", got, want)
	}
}

// TestChooseTakesTheBestScore has an empty node and a full one.
func TestChooseTakesTheBestScore(t *testing.T) {
	c := newCluster(t, node("a", "z"), node("b", "z"))
	if _, err := c.Offer(pod("first", "1500m"), "a"); err != nil {
		t.Fatal(err)
	}
	got, err := c.Choose(pod("second", "400m"), []string{"a", "b"})
	if err != nil {
		t.Fatal(err)
	}
	if got != "b" {
		t.Errorf("chose %q, want b", got)
	}
}

// TestBoundPodsVolumesStayInItsZone binds a pod with a claim that waits for it, and then another pod with the same claim.
func TestBoundPodsVolumesStayInItsZone(t *testing.T) {
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "disk"}, Provisioner: "ebs.csi.aws.com", VolumeBindingMode: &wait}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
	claim.Spec.StorageClassName = &class.Name
	claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	c := newCluster(t, node("a", "one"), node("b", "two"), class, claim)
	with := func(name string) *corev1.Pod {
		p := pod(name, "100m")
		p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
		return p
	}
	for _, step := range []struct{ pod, node, want string }{{"first", "a", ""}, {"second", "b", names.VolumeBinding}, {"third", "a", ""}} {
		refused, err := c.Offer(with(step.pod), step.node)
		if err != nil {
			t.Fatal(err)
		}
		if refused.Plugin != step.want {
			t.Errorf("%s on %s: refused by %q (%s), want %q", step.pod, step.node, refused.Plugin, refused.Message, step.want)
		}
	}
}

// TestRemovedNodesAreForgotten binds a pod that repels another to a node of the same zone, and takes that node away.
func TestRemovedNodesAreForgotten(t *testing.T) {
	c := newCluster(t, node("a", "one"), node("b", "one"))
	apart := pod("first", "100m")
	apart.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
		{TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}}}
	if _, err := c.Offer(apart, "b"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{names.InterPodAffinity, ""} {
		refused, err := c.Fits(pod("second", "100m"), "a")
		if err != nil {
			t.Fatal(err)
		}
		if refused.Plugin != want {
			t.Errorf("refused by %q, want %q", refused.Plugin, want)
		}
		if want != "" {
			if err := c.RemoveNode("b"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
