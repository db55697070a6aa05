package ekscluster

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/joiner-sh/joiner/shared/model"
)

// podOn makes a pod of namespace default that runs on a node, ready, with a label app that is its name; change may be nil.
func podOn(t *testing.T, node, base string, change func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	name := unique(base)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	if change != nil {
		change(pod)
	}
	made, err := admin(t).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return setPhase(t, made, corev1.PodRunning)
}

func setPhase(t *testing.T, pod *corev1.Pod, phase corev1.PodPhase) *corev1.Pod {
	t.Helper()
	pod.Status.Phase, pod.ResourceVersion = phase, "" // others may have written to it
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	started := metav1.NewTime(time.Now().Truncate(time.Second))
	pod.Status.StartTime = &started
	out, err := admin(t).CoreV1().Pods(pod.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func readPod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := admin(t).CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func refOf(pod *corev1.Pod) model.PodRef {
	return model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}

// budget makes a PodDisruptionBudget over pods with a label app, and waits until its controller has counted want of them.
func budget(t *testing.T, base, app string, minAvailable, want int) string {
	t.Helper()
	name, least := unique(base), intstr.FromInt(minAvailable)
	_, err := admin(t).PolicyV1().PodDisruptionBudgets("default").Create(t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: &least, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "budget "+name+" is counted", func() error {
		b, err := admin(t).PolicyV1().PodDisruptionBudgets("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || b.Status.ObservedGeneration != b.Generation || int(b.Status.CurrentHealthy) != want {
			return fmt.Errorf("status %+v, %w", b.Status, err)
		}
		return nil
	})
	return name
}

// eventually tries until there is no error, for at most a minute.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func quantityOf(gibibytes int64) *resource.Quantity {
	return resource.NewQuantity(gibibytes<<30, resource.BinarySI)
}
