package machine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/joiner-sh/joiner/testenv/local/machine"
)

// M59: what a pod's annotations say of its containers is what they do. A quick stop and a grace period are minutes
// apart.
func TestPodSaysHowItsContainersBehave(t *testing.T) {
	t.Parallel()
	i := instance(50)
	boot(t, fleet, events, i, machine.Ready)

	t.Run("starts after a while", func(t *testing.T) {
		const delay = 2 * time.Second
		pod := createPod(t, i.ID, func(p *corev1.Pod) { p.Annotations[machine.StartAfterAnnotation] = delay.String() })
		bound := awaitPod(t, pod.Name, func(p corev1.Pod) bool { return p.Spec.NodeName != "" })
		if isRunning(*bound) {
			t.Error("it runs as soon as it is bound")
		}
		running := awaitPod(t, pod.Name, isRunning)
		if waited := running.Status.StartTime.Sub(pod.CreationTimestamp.Time); waited < delay-time.Second { // times are whole seconds
			t.Errorf("it started after %s", waited)
		}
	})
	t.Run("ends by itself", func(t *testing.T) {
		pod := createPod(t, i.ID, func(p *corev1.Pod) {
			p.Annotations[machine.RunForAnnotation] = "100ms"
			p.Spec.RestartPolicy = corev1.RestartPolicyNever
		})
		done := awaitPod(t, pod.Name, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
		if state := done.Status.ContainerStatuses[0].State.Terminated; state == nil || state.ExitCode != 0 {
			t.Errorf("its container's state is %+v", done.Status.ContainerStatuses[0].State)
		}
	})
	t.Run("sleeps, and ends", func(t *testing.T) {
		sleeps := func(policy corev1.RestartPolicy, command ...string) *corev1.Pod {
			return createPod(t, i.ID, func(p *corev1.Pod) {
				p.Spec.RestartPolicy, p.Spec.Containers[0].Command = policy, command
			})
		}
		always, serves := sleeps(corev1.RestartPolicyAlways, "sleep", "1"), sleeps(corev1.RestartPolicyNever, "serve")
		pod := sleeps(corev1.RestartPolicyNever, "/bin/sh", "-c", "sleep 1")
		awaitPod(t, pod.Name, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
		for _, other := range []*corev1.Pod{always, serves} {
			awaitPod(t, other.Name, isRunning)
		}
	})
	t.Run("stops at once", func(t *testing.T) {
		pod := createPod(t, i.ID, func(*corev1.Pod) {})
		awaitPod(t, pod.Name, isRunning)
		const grace = 600
		if took := stop(t, pod.Name, grace); took >= grace*time.Second/2 {
			t.Errorf("it stopped after %s of a grace of %d s", took, grace)
		}
	})
	t.Run("is killed when its grace is over", func(t *testing.T) {
		pod := createPod(t, i.ID, func(p *corev1.Pod) { p.Annotations[machine.IgnoreTermAnnotation] = "true" })
		awaitPod(t, pod.Name, isRunning)
		if took := stop(t, pod.Name, 3); took < 2*time.Second {
			t.Errorf("it stopped after %s of its 3s", took)
		}
	})
	t.Run("stops when its hook has slept", func(t *testing.T) {
		for name, hook := range map[string]corev1.LifecycleHandler{
			"command": {Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "sleep 4"}}},
			"sleep":   {Sleep: &corev1.SleepAction{Seconds: 4}},
		} {
			pod := createPod(t, i.ID, func(p *corev1.Pod) { p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &hook} })
			awaitPod(t, pod.Name, isRunning)
			const grace = 600
			if took := stop(t, pod.Name, grace); took < 2*time.Second || took >= grace*time.Second/2 { // times are whole seconds
				t.Errorf("%s: it stopped after %s of a hook of 4 s and a grace of %d s", name, took, grace)
			}
		}
	})
	t.Run("is killed in its hook when its grace is over", func(t *testing.T) {
		pod := createPod(t, i.ID, func(p *corev1.Pod) {
			p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: 3000}}}
			p.Spec.TerminationGracePeriodSeconds = new(int64(3600))
		})
		awaitPod(t, pod.Name, isRunning)
		if took := stop(t, pod.Name, 3); took < 2*time.Second || took >= 600*time.Second {
			t.Errorf("it stopped after %s of its 3s", took)
		}
	})
	t.Run("answers no probe where its image is pause", func(t *testing.T) {
		probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}}
		deaf := createPod(t, i.ID, func(p *corev1.Pod) {
			p.Spec.Containers[0].Image, p.Spec.Containers[0].ReadinessProbe = "example/pause:3.10", probe
		})
		pod := awaitPod(t, deaf.Name, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
		if isRunning(*pod) || pod.Status.ContainerStatuses[0].Ready {
			t.Errorf("it is ready: %+v", pod.Status)
		}
		served := createPod(t, i.ID, func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = probe })
		awaitPod(t, served.Name, isRunning)
	})
	t.Run("has init containers, sidecars and gates", func(t *testing.T) {
		always := corev1.ContainerRestartPolicyAlways
		pod := createPod(t, i.ID, func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{
				{Name: "prepare", Image: "example/prepare"}, {Name: "proxy", Image: "example/proxy", RestartPolicy: &always},
			}
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}}
		})
		running := awaitPod(t, pod.Name, isRunning)
		prepare, proxy := running.Status.InitContainerStatuses[0], running.Status.InitContainerStatuses[1]
		if prepare.State.Terminated == nil || proxy.State.Running == nil {
			t.Errorf("prepare is %+v, proxy is %+v", prepare.State, proxy.State)
		}
	})
}

// createPod makes a pod that only the instance's node can hold, and deletes it
// with the test.
func createPod(t *testing.T, instanceID string, change func(*corev1.Pod)) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-", Annotations: map[string]string{}},
		Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"instance": instanceID},
			Containers:   []corev1.Container{{Name: "main", Image: "example/main"}},
		},
	}
	change(pod)
	pods := client(t).CoreV1().Pods("default")
	created, err := pods.Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func getPod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := client(t).CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func awaitPod(t *testing.T, name string, f func(corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, "pod "+name, func() (bool, string) {
		pod = getPod(t, name)
		return f(*pod), podState(*pod)
	})
	return pod
}

// awaitPods waits until f is true of exactly n pods, which are all.
func awaitPods(t *testing.T, selector string, n int, f func(corev1.Pod) bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d pods of %s", n, selector), func() (bool, string) {
		list, err := client(t).CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			t.Fatal(err)
		}
		good := 0
		var states []string
		for _, pod := range list.Items {
			states = append(states, podState(pod))
			if f(pod) {
				good++
			}
		}
		return good == n && len(list.Items) == n, strings.Join(states, "; ")
	})
}

// stop deletes the pod and returns how long it takes to be gone.
func stop(t *testing.T, name string, graceSeconds int64) time.Duration {
	t.Helper()
	begun := time.Now()
	pods := client(t).CoreV1().Pods("default")
	if err := pods.Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &graceSeconds}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of "+name, func() (bool, string) {
		_, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err), "still there"
	})
	return time.Since(begun)
}

func isRunning(pod corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return pod.Status.Phase == corev1.PodRunning && c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func podState(pod corev1.Pod) string {
	return fmt.Sprintf("%s on %q is %s %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase, unschedulableMessage(&pod))
}

func unschedulableMessage(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

func taintsOf(n *corev1.Node) string {
	var taints []string
	for _, taint := range n.Spec.Taints {
		taints = append(taints, taint.ToString())
	}
	return strings.Join(taints, " ")
}

func wantResource(t *testing.T, list corev1.ResourceList, name corev1.ResourceName, want string) {
	t.Helper()
	if got := list[name]; got.String() != want {
		t.Errorf("%s is %s, want %s", name, got.String(), want)
	}
}

// otherFleet starts a fleet beside the shared one, for other options.
func otherFleet(t *testing.T, o machine.Options) *machine.Fleet {
	t.Helper()
	o.Config, o.Cluster, o.Kwok, o.Dir = plane.Config(), cluster(), plane.Assets().Kwok, t.TempDir()
	f, err := machine.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Stop)
	return f
}
