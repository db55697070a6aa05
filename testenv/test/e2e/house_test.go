package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/joiner-sh/joiner/testenv/local/kube"
)

// house follows the pods of a namespace by one watch, so that it sees every change of them, in the order etcd made them.
type house struct {
	mutex  sync.Mutex
	pods   map[types.UID]*corev1.Pod // that are there
	homes  map[string]string         // node of every pod that was ever bound, by pod name
	floors map[string]int            // ready pods an app must always have; nil until hold
	until  time.Time                 // when the last pods may be deleted whatever the budget; zero = never
	lowest map[string]int            // that it had since
	broken []string                  // what was below its floor, or is wrong with the watch
}

// watchPods starts following the pods of a namespace until the test ends.
func watchPods(t *testing.T, client kubernetes.Interface, namespace string) *house {
	t.Helper()
	h := &house{pods: map[types.UID]*corev1.Pod{}, homes: map[string]string{}, lowest: map[string]int{}}
	followPods(t, client, namespace, h)
	return h
}

// follower takes every change of the pods of a namespace.
type follower interface {
	see(kind watch.EventType, pod *corev1.Pod)
	breaks(line string) // what is wrong with the watch
}

// followPods tells a follower of the pods there are, and then of each change by one watch until the test ends.
func followPods(t *testing.T, client kubernetes.Interface, namespace string, f follower) {
	t.Helper()
	list, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		f.see(watch.Added, &list.Items[i])
	}
	stream, err := toolswatch.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: client.CoreV1().Pods(namespace).Watch,
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range stream.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				f.see(event.Type, pod)
			} else {
				f.breaks(fmt.Sprintf("the watch of pods says %+v", event.Object))
			}
		}
		f.breaks("the watch of pods has ended") // matters only to who asks before the test's end
	}()
}

func (h *house) breaks(line string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.broken = append(h.broken, line)
}

// see takes one change. What an app has that is ready, and not leaving, is held to its floor after each.
func (h *house) see(kind watch.EventType, pod *corev1.Pod) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if pod.Spec.NodeName != "" {
		h.homes[pod.Name] = pod.Spec.NodeName
	}
	if kind == watch.Deleted {
		delete(h.pods, pod.UID)
	} else {
		h.pods[pod.UID] = pod
	}
	app := pod.Labels["app"]
	floor, held := h.floors[app]
	if !held {
		return
	}
	n := h.ready(app)
	h.lowest[app] = min(h.lowest[app], n)
	if n < floor && (h.until.IsZero() || time.Now().Before(h.until)) {
		h.broken = append(h.broken, fmt.Sprintf("%s: %d pods of %s are ready, fewer than %d, after %s of %s", time.Now().Format("15:04:05.000"), n, app, floor, kind, pod.Name))
	}
}

// ready counts an app's pods that a PodDisruptionBudget counts.
func (h *house) ready(app string) int {
	n := 0
	for _, pod := range h.pods {
		if pod.Labels["app"] == app && pod.DeletionTimestamp == nil && isReady(pod) {
			n++
		}
	}
	return n
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// hold holds apps to how many of their pods must be ready, from now on.
func (h *house) hold(floors map[string]int) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.floors = floors
	for app := range floors {
		h.lowest[app] = h.ready(app)
	}
}

// kept fails the test where an app was below its floor, and returns the fewest that were ready of each.
func (h *house) kept(t *testing.T) string {
	t.Helper()
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, line := range h.broken[:min(10, len(h.broken))] {
		t.Error(line)
	}
	return fmt.Sprint(h.lowest)
}

// mayDeleteFrom says from when on pods may be deleted for a deadline, so that floors are over.
func (h *house) mayDeleteFrom(at time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.until = at
}

// home returns the node a pod ran on.
func (h *house) home(name string) string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.homes[name]
}

// on returns the pods that are bound to a node and have not ended, as namespace-less names with when they are to be gone.
func (h *house) on(node string) []corev1.Pod {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	var out []corev1.Pod
	for _, pod := range h.pods {
		if pod.Spec.NodeName == node && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			out = append(out, *pod)
		}
	}
	return out
}

// ours are the groups our processes act as.
var ours = []string{"joiner:functions", "joiner:interruption", "joiner:catalog", "joiner:disrupt", "system:serviceaccounts:joiner"}

// audit reads the audit log and fails the test where anything was forbidden to us.
func audit(t *testing.T, plane *kube.ControlPlane, since time.Time) kube.Audit {
	t.Helper()
	time.Sleep(300 * time.Millisecond) // entries are written about when requests are answered
	log, err := plane.Audit(since)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, group := range ours {
		for _, entry := range log.By(group) {
			asked++
			if entry.Code == 403 || entry.Code == 401 {
				t.Errorf("forbidden to %s: %s", group, entry.String())
			}
		}
	}
	if asked == 0 {
		t.Error("the audit log has no request of ours: it says nothing about our rights")
	}
	return log
}

// byEviction fails the test unless every pod that left did so by an eviction of the interruption function that named its
// UID, or from a time on, which may be never (zero), by its deletion of that UID. Nobody else but kubelets deleted any; pods
// that are collected after their node are lost ones. It returns what made pods leave, and how many evictions were refused.
//
// kube-controller-manager may delete a pod or two by itself on a busy machine: its taint eviction goes by a cache of nodes and another of
// pods (handlePodUpdate), and where that of nodes is behind it takes a pod that was just bound to a node that was just registered for one
// that does not tolerate the unregistered taint. More than two are no coincidence.
func byEviction(t *testing.T, log kube.Audit, namespace string, deletions time.Time) (left []kube.Entry, refused int) {
	t.Helper()
	byCache := 0
	for _, entry := range log.PodDeletions() {
		kubelet := strings.HasPrefix(entry.User, "system:node:") || entry.User == "system:admin" || slices.Contains(entry.Groups, "system:masters")
		switch in := !deletions.IsZero() && !entry.Received.Before(deletions); {
		case entry.Namespace != namespace || kubelet:
		case entry.User == "system:serviceaccount:kube-system:node-controller" && byCache < 2:
			byCache++
			t.Logf("kube-controller-manager deleted a pod: %s", entry.String())
		case !in || !slices.Contains(entry.Groups, "joiner:interruption") || entry.UID() == "" || entry.GraceSeconds() == nil || *entry.GraceSeconds() < 1:
			t.Errorf("a pod was deleted: %s", entry.String())
		default:
			left = append(left, entry)
		}
	}
	for _, entry := range log.Evictions() {
		switch {
		case entry.Namespace != namespace:
		case !slices.Contains(entry.Groups, "joiner:interruption"):
			t.Errorf("somebody else evicts: %s", entry.String())
		case entry.UID() == "":
			t.Errorf("an eviction of whichever pod has the name: %s", entry.String())
		case entry.Done():
			left = append(left, entry)
		case entry.Code == 429:
			refused++
		}
	}
	return left, refused
}

// guarded is a deployment whose pods take their time to stop, and a PodDisruptionBudget.
func guarded(namespace, name string, n, leastReady int, cpu string, spec ...string) string {
	text := strings.Replace(deployment(namespace, name, n, cpu, spec...), "terminationGracePeriodSeconds: 0", "terminationGracePeriodSeconds: 20", 1)
	return text + fmt.Sprintf(`---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: %[2]s, namespace: %[1]s}
spec: {minAvailable: %[3]d, selector: {matchLabels: {app: %[2]s}}}
`, namespace, name, leastReady)
}

// apart keeps pods of an app off each other's nodes.
func apart(app string) string {
	return `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: ` + app + `}}}]}}`
}

// daemons is a DaemonSet; a priority class makes it critical.
func daemons(namespace, name, priorityClass string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: DaemonSet
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      priorityClassName: %[3]q
      terminationGracePeriodSeconds: 5
      containers: [{name: main, image: example.com/pause, resources: {requests: {cpu: 50m, memory: 32Mi}}}]
`, namespace, name, priorityClass)
}

// isGone says what is left of a claim: its instance, its objects, its record.
func (c *cluster) isGone(ctx context.Context, t *testing.T, name, node, instance string) string {
	if i, _ := c.EC2.Lookup(instance); i.State != "terminated" {
		return instance + " is " + string(i.State)
	}
	if _, err := c.dynamic.Resource(nodeClaims).Get(ctx, name, metav1.GetOptions{}); err == nil {
		return "NodeClaim " + name + " is there"
	}
	if _, err := c.kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err == nil {
		return "Node " + node + " is there"
	}
	for _, claim := range c.ledger(t).Claims {
		if claim.Name == name && claim.Live() {
			return "claim " + name + " is " + string(claim.State)
		}
	}
	return ""
}
