package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// M3, M33: TestF088ABacklogOfManyWorkloadsIsLaunchedByAFewInvocations has a cluster ask for thousands of workloads of
// five pods at once, each with rules of its own, of a provision function on one processor. The cluster is paused until
// all are there. Each invocation ends within 60 % of its time and memory, five of them plan every pod, and no pod is
// planned twice. The long form has 60,000 pods. Instances boot for longer than the test lasts, so that nothing of what
// is planned is bound meanwhile.
func TestF088ABacklogOfManyWorkloadsIsLaunchedByAFewInvocations(t *testing.T) {
	t.Parallel()
	const perWorkload, most = 5, 5
	pods, within, sizes := 600, 3*time.Minute, ""
	if full() {
		// Of the largest instances fewer than a hundred hold all pods: of more, those beyond the first hundred wait for the next minute, and of
		// those with six pods each ten thousand come up as a ramp.
		pods, within, sizes = 60_000, 5*time.Minute, "{key: karpenter.k8s.aws/instance-size, operator: In, values: [48xlarge]}"
	}
	c := start(t, stack.Options{
		PlannerEnv: map[string]string{"GOMAXPROCS": "1"},
		EC2:        ec2.Timing{Boot: ec2.Delay{Min: time.Hour, Max: time.Hour}, Shutdown: ec2.Delay{Min: time.Second, Max: time.Second}, Gone: time.Hour},
	})
	c.apply(t, namespace("work"), class("default"), pool("default", "default", sizes, nil, nil))
	c.awaitReady(t, nodePools, "default")
	c.pause(t, true)
	c.backlog(t, "work", pods/perWorkload, perWorkload)
	c.pause(t, false)

	defer func() {
		for i, outcome := range c.logs.runs() {
			if outcome.Claims > 0 {
				t.Logf("invocation %d: %d claims, %d pods without one, %d pods later, by %v ms, %q", i, outcome.Claims, outcome.Unschedulable, outcome.Later, outcome.Millis, outcome.Problems)
			}
		}
	}()
	planned, seen := map[string]int{}, 0
	await(t, within, "every pod is planned", func(context.Context) string {
		clear(planned)
		for _, claim := range c.ledger(t).Claims {
			for _, pod := range claim.Pods {
				planned[pod.UID]++
			}
		}
		nominated := 0 // to room that instances on their way have, as a run said that left none for the next
		if runs := c.logs.runs(); len(runs) > 0 && runs[len(runs)-1].Later == 0 {
			nominated = runs[len(runs)-1].Nominated
		}
		if len(planned)+nominated != seen {
			seen = len(planned) + nominated
			t.Logf("%d of %d pods are planned, %d of them onto what is on its way", seen, pods, nominated)
		}
		if seen < pods {
			return fmt.Sprintf("%d of %d", seen, pods)
		}
		return ""
	})
	for uid, n := range planned {
		if n > 1 {
			t.Errorf("pod %s is planned onto %d machines", uid, n)
		}
	}

	// An invocation is told of once it has ended, which is after what it launched is in the ledger.
	launched, launching := len(c.ledger(t).Claims), 0
	await(t, within, "the invocations that launched have ended", func(context.Context) string {
		reported := 0
		launching = 0
		for _, outcome := range c.logs.runs() {
			if outcome.Claims > 0 {
				reported += outcome.Claims
				launching++
			}
		}
		if reported < launched {
			return fmt.Sprintf("they told of %d of %d machines", reported, launched)
		}
		return ""
	})
	if full() && launching > most {
		t.Errorf("%d invocations launched, of at most %d", launching, most)
	}
	longest, largest := c.logs.used(c.FunctionName("Provision"))
	t.Logf("%d pods, %d invocations that launched, the longest %v, at most %d MB", pods, launching, longest, largest)
	if full() && longest > provisionTimeout*6/10 {
		t.Errorf("an invocation took %v of %v", longest, provisionTimeout)
	}
	if largest*10 > provisionMB*6 {
		t.Errorf("%d MB of %d", largest, provisionMB)
	}
}

// What the template gives provision.
const (
	provisionTimeout = 30 * time.Second
	provisionMB      = 1769
)

// backlog creates pods of workloads that have rules of their own: by turns spread over zones, apart on hosts, both at once, and with
// preferences.
func (c *cluster) backlog(t *testing.T, namespace string, workloads, replicas int) {
	t.Helper()
	work, failed := make(chan *corev1.Pod), make(chan error, 1)
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			for pod := range work {
				if err := c.pending(t.Context(), namespace, pod); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			}
		})
	}
	for i := range workloads {
		for n := range replicas {
			work <- ownRules(fmt.Sprintf("own%05d", i), n, i%4)
		}
	}
	close(work)
	group.Wait()
	select {
	case err := <-failed:
		t.Fatal(err)
	default:
	}
}

// pending creates a pod and says of it what kube-scheduler says of one it has no node for. kube-scheduler itself writes 50 a second.
func (c *cluster) pending(ctx context.Context, namespace string, pod *corev1.Pod) error {
	pod.Spec.SchedulerName = "nobody"
	made, err := c.kube.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/0 nodes are available", LastTransitionTime: metav1.Now(),
	}}
	_, err = c.kube.CoreV1().Pods(namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

// ownRules is a pod of a workload: 0 = spread over zones, 1 = apart on hosts, 2 = both, 3 = preferred alone.
func ownRules(app string, n, rules int) *corev1.Pod {
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	spread := corev1.TopologySpreadConstraint{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector}
	term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: selector}
	apart := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", app, n), Labels: selector.MatchLabels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/pause", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("512Mi")},
		}}}},
	}
	switch rules {
	case 0:
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread}
	case 1:
		pod.Spec.Affinity = apart
	case 2:
		pod.Spec.TopologySpreadConstraints, pod.Spec.Affinity = []corev1.TopologySpreadConstraint{spread}, apart
	case 3:
		spread.WhenUnsatisfiable = corev1.ScheduleAnyway
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: term}},
		}}
	}
	return pod
}
