package kube_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// A pod that a budget keeps, one that is evicted, and one that is deleted by another.
func TestAuditTellsWhoEvictedAndWhoDeletedWhat(t *testing.T) {
	began := time.Now().Add(-time.Millisecond)
	drainer, other := clientOf(t, "drainer", "joiner:interruption", "system:masters"), clientOf(t, "somebody", "system:masters")
	kept, evicted, deleted := runningPod(t, other, "kept"), runningPod(t, other, "evicted"), runningPod(t, other, "deleted")
	one := intstr.FromInt(1)
	_, err := other.PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "kept"},
		Spec:       policyv1.PodDisruptionBudgetSpec{MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "kept"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The disruption controller counts, so that the budget has a status.
	eventually(t, "the budget's status", func() (bool, string) {
		b, err := other.PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), "kept", metav1.GetOptions{})
		return err == nil && b.Status.ObservedGeneration == b.Generation && b.Status.CurrentHealthy == 1, fmt.Sprint(b.Status, err)
	})

	evict := func(pod *corev1.Pod) error {
		return drainer.PolicyV1().Evictions("default").Evict(t.Context(), &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod.Name}, DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &pod.UID}},
		})
	}
	if err := evict(kept); err == nil {
		t.Error("the budget allows it")
	}
	if err := evict(evicted); err != nil {
		t.Error(err)
	}
	grace, wrong := int64(7), types.UID("wrong")
	for _, uid := range []*types.UID{&wrong, &deleted.UID} {
		_ = other.CoreV1().Pods("default").Delete(t.Context(), deleted.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: uid},
		}) // the first is refused
	}

	var audit kube.Audit
	eventually(t, "the audit log", func() (bool, string) {
		if audit, err = plane.Audit(began); err != nil {
			t.Fatal(err)
		}
		return len(of(audit.PodDeletions(), deleted.Name)) == 1 && len(of(audit.Evictions(), evicted.Name)) == 1, fmt.Sprint(len(audit), " entries")
	})
	if got := of(audit.Evictions(), kept.Name); len(got) != 1 || got[0].Done() || got[0].Code != 429 || !strings.Contains(got[0].Message, "disruption budget") {
		t.Errorf("of the one that is kept: %+v", got)
	}
	if got := of(audit.By("joiner:interruption").Evictions(), evicted.Name); len(got) != 1 || !got[0].Done() || got[0].UID() != evicted.UID || got[0].GraceSeconds() != nil || got[0].Answered.Before(began) {
		t.Errorf("of the one that was evicted: %+v", got)
	}
	got := of(audit.PodDeletions(), deleted.Name)
	if e := got[0]; e.User != "somebody" || e.UID() != deleted.UID || *e.GraceSeconds() != 7 || e.Namespace != "default" {
		t.Errorf("of the one that was deleted: %+v", e)
	}
	if drained := audit.By("joiner:interruption"); len(drained.PodDeletions()) != 0 || !slices.Equal(drained.Rights(), []string{"create /pods/eviction"}) {
		t.Errorf("deletions %v, rights %v", drained.PodDeletions(), drained.Rights())
	}
}

func of(audit kube.Audit, name string) []kube.Entry {
	return slices.DeleteFunc(slices.Clone(audit), func(e kube.Entry) bool { return e.Name != name })
}

func clientOf(t *testing.T, name string, groups ...string) *kubernetes.Clientset {
	t.Helper()
	config, err := plane.User(name, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return clientFor(t, config)
}

// runningPod makes a pod with a label app that is its name, and says that it runs on a node nobody made.
func runningPod(t *testing.T, client *kubernetes.Clientset, name string) *corev1.Pod {
	t.Helper()
	pods := client.CoreV1().Pods("default")
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: "nobody", Containers: []corev1.Container{{Name: "a", Image: "x"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if pod, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	return pod
}
