package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// sixHundred is what a pod of these tests asks for: three of them fill an instance of two CPUs and six one of four, whatever the
// kubelet keeps for itself.
const sixHundred = 600

// twoSizes admits instances of two and of four CPUs whose prices are as their sizes.
const twoSizes = `{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, {key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large, m6i.xlarge]}`

// giving is the disruption section of a NodePool.
func giving(after time.Duration, nodes string) string {
	return fmt.Sprintf("disruption: {consolidationPolicy: WhenEmptyOrUnderutilized, consolidateAfter: %s, budgets: [{nodes: %q}]}", after, nodes)
}

// leastPrice is a price per hour below which no cluster of twoSizes holds n pods: an instance holds no more of them than its CPUs
// do, so that each costs at least its share of the instance on which that is least.
func leastPrice(t *testing.T, n int) model.MicroUSD {
	t.Helper()
	share := model.MicroUSD(0)
	for _, name := range []string{"m6i.large", "m6i.xlarge"} {
		kind, known := catalog.Lookup(name)
		if !known {
			t.Fatalf("the sandbox has no %s", name)
		}
		if each := model.MicroUSD(kind.OnDemandMicroUSDPerHour) / model.MicroUSD(kind.VCPUs*1000/sixHundred); share == 0 || each < share {
			share = each
		}
	}
	return share * model.MicroUSD(n)
}

// M58: TestF120_ClusterShrinks scales a Deployment down and watches the cluster shrink to within a tenth of a price no
// cluster can be below, with its PodDisruptionBudget kept at every instant.
func TestF120_ClusterShrinks(t *testing.T) {
	t.Parallel()
	before, after := 60, 12
	if full() {
		before, after = 200, 40
	}
	c, house, nodes := startShrinking(t, "50%", before, after-2)
	nodes.allow(func(all int) int { return (all + 1) / 2 })
	began := time.Now()
	house.hold(map[string]int{"web": after - 2})
	c.scale(t, "shrinks", "web", after)
	c.awaitLeft(t, "shrinks", after)
	scaled, least := time.Now(), leastPrice(t, after)
	await(t, 6*time.Minute, "the cluster costs a tenth more than it must at most", func(ctx context.Context) string {
		if price := model.MicroUSD(c.EC2.PricePerHour()); price*10 > least*11 {
			return fmt.Sprintf("%d machines at $%.3f an hour, want $%.3f at most", len(c.running()), price.USD(), (least * 11 / 10).USD())
		}
		if missing := c.appRuns(ctx, "shrinks", "web", after); missing != "" {
			return missing
		}
		return c.settled(t)(ctx)
	})
	t.Logf("scaled to %d pods: after %s %d machines at $%.3f an hour, least possible $%.3f; fewest ready: %s", after,
		time.Since(began).Round(time.Second), len(c.running()), float64(c.EC2.PricePerHour())/1e6, least.USD(), house.kept(t))
	c.oneEach(t)
	c.usageIsOf(t)
	byEviction(t, audit(t, c.Kube, scaled), "shrinks", time.Time{})
	c.decidedAlike(t)
	nodes.kept(t)
}

// patience is consolidateAfter of these tests.
const patience = 5 * time.Second

// startShrinking starts a cluster that gives nodes back within a budget of nodes, and awaits a Deployment web of so many pods, of
// which some must always be ready. Its pods and nodes are watched.
func startShrinking(t *testing.T, budget string, pods, leastReady int) (*cluster, *house, *leavers) {
	t.Helper()
	c := start(t, stack.Options{KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}})
	c.quicken(t)
	client := quick(t, c.Kube.Config())
	c.apply(t, namespace("shrinks"), class("default"), pool("default", "default", twoSizes, nil, []string{giving(patience, budget)}))
	c.awaitReady(t, nodePools, "default")
	house, nodes := watchPods(t, client, "shrinks"), watchNodes(t, client)
	c.apply(t, guarded("shrinks", "web", pods, leastReady, fmt.Sprintf("%dm", sixHundred)))
	c.awaitRunning(t, "shrinks", pods, 3*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	t.Logf("%d pods on %d machines at $%.3f an hour", pods, len(c.running()), float64(c.EC2.PricePerHour())/1e6)
	return c, house, nodes
}

// TestF143_F145_NodesRollStayAndEnd edits a NodePool's template: every node is replaced, one at a time as the pool's budget says. A
// pod that is not to be disrupted, and one whose PodDisruptionBudget lets none go, keep their nodes, which say so. In the end
// everything is deleted, and no instance is left.
func TestF143_F145_NodesRollStayAndEnd(t *testing.T) {
	t.Parallel()
	pods := 12
	if full() {
		pods = 40
	}
	c, house, nodes := startShrinking(t, "1", pods, pods-2)

	// 1. It rolls: every node is another, never more than one leaves at a time.
	began := time.Now()
	house.hold(map[string]int{"web": pods - 2})
	nodes.allow(func(int) int { return 1 })
	c.patchPool(t, "default", map[string]any{"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"example.com/rolled": "yes"}}}})
	old := c.byInstance(t)
	await(t, time.Duration(2+len(old))*time.Minute, "every node is another", func(ctx context.Context) string {
		for id, name := range old {
			if i, _ := c.EC2.Lookup(id); i.State != ec2.Terminated {
				return fmt.Sprintf("%s of claim %s is %s; leaving: %s", id, name, i.State, nodes.leaving())
			}
		}
		if missing := c.appRuns(ctx, "shrinks", "web", pods); missing != "" {
			return missing
		}
		return c.settled(t)(ctx)
	})
	t.Logf("%d nodes were replaced by %d after %s; most leaving at once %d, fewest ready: %s", len(old), len(c.running()), time.Since(began).Round(time.Second), nodes.kept(t), house.kept(t))
	c.areRolled(t)
	c.oneEach(t)
	c.usageIsOf(t)
	byEviction(t, audit(t, c.Kube, began), "shrinks", time.Time{})

	// 2. Some pods keep their nodes, and these say why.
	c.patchPool(t, "default", map[string]any{"disruption": map[string]any{"budgets": []map[string]any{{"nodes": "100%"}}}})
	nodes.allow(nil)
	c.apply(t, lone("shrinks", "keep", `{karpenter.sh/do-not-disrupt: "true"}`), guarded("shrinks", "still", 1, 1, fmt.Sprintf("%dm", sixHundred)))
	c.awaitRunning(t, "shrinks", pods+2, 2*time.Minute)
	house.hold(nil)
	c.scale(t, "shrinks", "web", 0)
	c.awaitLeft(t, "shrinks", 2)
	for app, words := range map[string][]string{"keep": {"DisruptionBlocked", "do-not-disrupt"}, "still": {"DisruptionBlocked", "PodDisruptionBudget shrinks/still"}} {
		await(t, 3*time.Minute, "the node of pod "+app+" says why it stays", func(ctx context.Context) string {
			said := c.events(ctx, "Node", house.home(c.podOf(ctx, "shrinks", app)))
			for _, word := range words {
				if !strings.Contains(said, word) {
					return "no word of " + word + " in: " + said
				}
			}
			return ""
		})
	}
	await(t, 2*time.Minute, "the other nodes are gone", func(ctx context.Context) string {
		homes := map[string]bool{house.home(c.podOf(ctx, "shrinks", "keep")): true, house.home(c.podOf(ctx, "shrinks", "still")): true}
		if n := len(c.running()); n != len(homes) {
			return fmt.Sprintf("%d machines", n)
		}
		return c.settled(t)(ctx)
	})
	for _, app := range []string{"keep", "still"} {
		if missing := c.appRuns(t.Context(), "shrinks", app, 1); missing != "" {
			t.Errorf("%s: %s", app, missing)
		}
	}
	c.oneEach(t)

	// 3. And ends.
	if err := c.kube.CoreV1().Namespaces().Delete(t.Context(), "shrinks", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitLeft(t, "shrinks", 0)
	await(t, time.Minute, "no pod is there", func(context.Context) string { return house.left() })
	took := await(t, 2*time.Minute, "no machine is left", func(context.Context) string {
		for _, i := range c.running() {
			return i.ID + " runs"
		}
		return ""
	})
	t.Logf("the last machine ended %s after the last pod", took.Round(100*time.Millisecond))
	timed.Within(t, "the last machine ends after the last pod", took, patience+15*time.Second)
	await(t, time.Minute, "nothing is left", func(ctx context.Context) string {
		if n := len(c.byInstance(t)); n > 0 {
			return fmt.Sprintf("%d claims", n)
		}
		return ""
	})
	c.oneEach(t)
	audit(t, c.Kube, began)
}

// areRolled awaits that every node carries the label that was put into the template. A Node goes a moment after its
// claim is closed.
func (c *cluster) areRolled(t *testing.T) {
	t.Helper()
	await(t, time.Minute, "every node has the template's label", func(ctx context.Context) string {
		list, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "example.com/rolled!=yes"})
		if err != nil {
			return err.Error()
		}
		for _, node := range list.Items {
			return fmt.Sprintf("node %s has labels %v", node.Name, node.Labels)
		}
		return ""
	})
}

// lone is a Deployment of one pod with annotations.
func lone(namespace, name, annotations string) string {
	return annotated(deployment(namespace, name, 1, fmt.Sprintf("%dm", sixHundred)), annotations)
}

// annotated puts annotations on the pods of a Deployment.
func annotated(manifest, annotations string) string {
	const metadata = "    metadata: {"
	return strings.Replace(manifest, metadata, metadata+"annotations: "+annotations+", ", 1)
}

// left says which pods are there.
func (h *house) left() string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, pod := range h.pods {
		return fmt.Sprintf("%d pods, %s among them", len(h.pods), pod.Name)
	}
	return ""
}

// scale sets a Deployment's replicas.
func (c *cluster) scale(t *testing.T, namespace, name string, replicas int) {
	t.Helper()
	scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: int32(replicas)}}
	if _, err := c.kube.AppsV1().Deployments(namespace).UpdateScale(t.Context(), name, scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitLeft waits until of a namespace's pods only n are not being deleted, so that whoever owned the others is done with them.
func (c *cluster) awaitLeft(t *testing.T, namespace string, n int) {
	t.Helper()
	await(t, time.Minute, fmt.Sprintf("%d pods are left in %s", n, namespace), func(ctx context.Context) string {
		list, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		left := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
		if len(left) <= n {
			return ""
		}
		return fmt.Sprintf("there are %d", len(left))
	})
}

// patchPool changes a NodePool's spec by a merge patch.
func (c *cluster) patchPool(t *testing.T, name string, spec map[string]any) {
	t.Helper()
	c.mergePool(t, name, map[string]any{"spec": spec})
}

// mergePool changes a NodePool by a merge patch.
func (c *cluster) mergePool(t *testing.T, name string, change map[string]any) {
	t.Helper()
	body, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	pools := c.dynamic.Resource(nodePools)
	if _, err := pools.Patch(t.Context(), name, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// leavers follows nodes by one watch and holds how many of them leave at once to what is allowed.
type leavers struct {
	mutex   sync.Mutex
	nodes   map[string]bool   // that are there, and whether they leave
	allowed func(all int) int // nil = any
	most    int
	broken  []string
}

// watchNodes starts following nodes until the test ends.
func watchNodes(t *testing.T, client kubernetes.Interface) *leavers {
	t.Helper()
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l := &leavers{nodes: map[string]bool{}}
	for i := range list.Items {
		l.see(watch.Added, &list.Items[i])
	}
	stream, err := toolswatch.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: client.CoreV1().Nodes().Watch})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for event := range stream.ResultChan() {
			if node, ok := event.Object.(*corev1.Node); ok {
				l.see(event.Type, node)
			}
		}
	}()
	return l
}

// see takes one change. A node leaves from its taint on until it is gone. Whenever one more does, all are counted.
func (l *leavers) see(kind watch.EventType, node *corev1.Node) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if kind == watch.Deleted {
		delete(l.nodes, node.Name)
		return
	}
	left := l.nodes[node.Name]
	leaves := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == model.TaintDisrupted })
	if l.nodes[node.Name] = leaves; left || !leaves {
		return
	}
	n := 0
	for _, leaves := range l.nodes {
		if leaves {
			n++
		}
	}
	l.most = max(l.most, n)
	if l.allowed != nil && n > l.allowed(len(l.nodes)) {
		l.broken = append(l.broken, fmt.Sprintf("%s: %d of %d nodes leave at once, when %s is tainted", time.Now().Format("15:04:05.000"), n, len(l.nodes), node.Name))
	}
}

// allow says how many of all nodes may leave at once from now on.
func (l *leavers) allow(allowed func(all int) int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.allowed, l.most = allowed, 0
}

// kept fails the test where too many left at once, and where none ever did.
func (l *leavers) kept(t *testing.T) int {
	t.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, line := range l.broken[:min(10, len(l.broken))] {
		t.Error(line)
	}
	if l.most == 0 {
		t.Error("no node was ever seen to leave")
	}
	return l.most
}

// leaving are the nodes that carry the taint now.
func (l *leavers) leaving() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var names []string
	for name, leaves := range l.nodes {
		if leaves {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
