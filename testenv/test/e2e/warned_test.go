package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// M50: TestC1_HalfAClusterOfSpotInstancesIsWarnedAtOnce warns every second spot instance of a cluster in the same
// moment, with PodDisruptionBudgets in force. Nodes are tainted within seconds, EC2 is asked for other instances
// before the first pod leaves, no budget is broken at any instant, no pod is deleted before the deadline less its
// grace, and no pod is on an instance when that ends. In the long form 200 of 400 instances are warned.
//
// What it holds to seconds is measured while no other scenario runs.
func TestC1_HalfAClusterOfSpotInstancesIsWarnedAtOnce(t *testing.T) {
	const perApp, mayGo = 10, 3
	apps := 4
	if full() {
		apps = 40
	}
	options := stack.Options{KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}}
	if full() { // as long as an instance really takes: hundreds of nodes do not join in the seconds after a warning
		options.EC2 = ec2.Timing{
			Boot: ec2.Delay{Min: 20 * time.Second, Max: 35 * time.Second}, Shutdown: ec2.Delay{Min: time.Second, Max: 2 * time.Second},
			Visibility: time.Second, Gone: time.Hour,
		}
	}
	c := start(t, options)
	client := quick(t, c.Kube.Config())
	house := watchPods(t, client, "warned")
	// A pod fills an instance of four CPUs. Each pool may launch a hundred a minute.
	manifests, floors := []string{namespace("warned"), class("default")}, map[string]int{}
	pools := (apps + 7) / 8
	for i := range pools {
		manifests = append(manifests, pool(fmt.Sprintf("pool-%d", i), "default", fourCPUs, nil, nil))
	}
	c.apply(t, manifests...)
	for i := range pools {
		c.awaitReady(t, nodePools, fmt.Sprintf("pool-%d", i))
	}
	began := time.Now()
	for i := range apps {
		name := fmt.Sprintf("app%d", i)
		floors[name] = perApp - mayGo
		c.apply(t, guarded("warned", name, perApp, perApp-mayGo, "3", fmt.Sprintf("nodeSelector: {karpenter.sh/nodepool: pool-%d}", i%pools)))
	}
	c.awaitRunning(t, "warned", apps*perApp, 5*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	c.oneEach(t)
	t.Logf("%d machines with %d pods after %s", len(c.running()), apps*perApp, time.Since(began).Round(time.Second))

	claims := c.ledger(t).Claims
	half := claims[:0:0]
	for i := range claims {
		if i%2 == 0 {
			half = append(half, claims[i])
		}
	}
	before := c.byInstance(t)
	house.hold(floors)
	tainted := watchTainted(t, client)
	deaths := c.watchDeaths(house, claims)
	launched := len(c.EC2.Launches())
	cost := watchCost(t)
	began = time.Now()
	// An instance ends two minutes after its warning, less a margin of 5 s; a pod has 20 s, and times are whole seconds.
	byForce := began.Truncate(time.Second).Add((120 - 5 - 20) * time.Second)
	house.mayDeleteFrom(byForce)
	for _, claim := range half {
		c.warn(t, claim)
	}
	await(t, 3*time.Minute, "nothing is left of what was warned", func(ctx context.Context) string { return c.allGone(ctx, t, half) })
	gone := time.Since(began)
	c.awaitRunning(t, "warned", apps*perApp, 2*time.Minute)
	back := time.Since(began)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	c.oneEach(t)
	c.onlyTheseEnded(t, before, half)

	t.Logf("%d of %d machines warned; everything gone after %s, all pods run after %s; fewest ready: %s", len(half), len(claims), gone.Round(100*time.Millisecond), back.Round(100*time.Millisecond), house.kept(t))
	log := audit(t, c.Kube, began)
	asked := askedToLeave(log, house)
	cost.end()
	lastAsked := latest(asked)
	t.Logf("until pods of the last node were asked to leave: %s; of the API server %s", cost.until(lastAsked), requests(log, lastAsked))
	c.inTime(t, began, half, tainted.times(), asked, c.EC2.Launches()[launched:])
	for _, line := range deaths.found() {
		t.Error(line)
	}
	left, refused := byEviction(t, log, "warned", byForce)
	deleted := len(log.By("joiner:interruption").PodDeletions())
	if len(left) != len(half) {
		t.Errorf("%d pods were made to leave, want one of each of %d nodes", len(left), len(half))
	}
	var took []time.Duration
	for _, entry := range log.Evictions() {
		took = append(took, entry.Answered.Sub(entry.Received))
	}
	slices.Sort(took)
	t.Logf("by the audit log %d pods left, %d of them deleted for the deadline; %d evictions were refused by budgets; evictions are answered after %s", len(left), deleted, refused, spread(took))
}

const fourCPUs = `{key: karpenter.sh/capacity-type, operator: In, values: [spot]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}, {key: karpenter.k8s.aws/instance-cpu, operator: In, values: ["4"]}`

// quick is a client that waits for nobody.
func quick(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 500, 500
	config.ContentType, config.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// askedToLeave is when a pod of each node was first asked to leave, whatever the answer.
func askedToLeave(log kube.Audit, house *house) map[string]time.Time {
	out := map[string]time.Time{}
	for _, entry := range log.Evictions() {
		if node := house.home(entry.Name); out[node].IsZero() || entry.Received.Before(out[node]) {
			out[node] = entry.Received
		}
	}
	return out
}

// latest is the last of some moments.
func latest(at map[string]time.Time) time.Time {
	return slices.MaxFunc(slices.Collect(maps.Values(at)), time.Time.Compare)
}

// inTime holds what happened after warnings to what was promised: 99 of 100 nodes tainted within 5 s and all within 20 s,
// pods of 99 of 100 nodes asked to leave within 8 s, and EC2 asked for other instances before any is.
func (c *cluster) inTime(t *testing.T, warned time.Time, claims []model.Claim, tainted, asked map[string]time.Time, launches []ec2.Launch) {
	t.Helper()
	after := func(what string, at map[string]time.Time) []time.Duration {
		var out []time.Duration
		for _, claim := range claims {
			if when, ok := at[claim.NodeName]; ok {
				out = append(out, when.Sub(warned))
			}
		}
		if len(out) != len(claims) {
			t.Fatalf("%d of %d nodes were %s", len(out), len(claims), what)
		}
		slices.Sort(out)
		return out
	}
	taints, first := after("tainted", tainted), after("asked to become empty", asked)
	if len(launches) == 0 {
		t.Fatal("no machine was launched instead")
	}
	bought := slices.MinFunc(launches, func(a, b ec2.Launch) int { return a.LaunchTime.Compare(b.LaunchTime) }).LaunchTime.Sub(warned)
	t.Logf("after the warnings: taint %s; first eviction of a node %s; first machine bought %s, %d in all", spread(taints), spread(first), bought.Round(time.Millisecond), len(launches))
	timed.Within(t, "99 of 100 nodes are tainted", at99(taints), 5*time.Second)
	timed.Within(t, "the last node is tainted", taints[len(taints)-1], 20*time.Second)
	timed.Within(t, "pods of 99 of 100 nodes are asked to leave", at99(first), 8*time.Second)
	timed.Within(t, "EC2 is asked for a machine, before the first pod is asked to leave", bought, first[0])
}

func at99(sorted []time.Duration) time.Duration { return sorted[(len(sorted)*99+99)/100-1] }

// spread is median, 99 of 100 and last of sorted times.
func spread(sorted []time.Duration) string {
	round := func(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
	return fmt.Sprintf("median %s, of 99 in 100 %s, last %s", round(sorted[len(sorted)/2]), round(at99(sorted)), round(sorted[len(sorted)-1]))
}

// allGone says what is left of claims; it asks in lists, since there may be hundreds.
func (c *cluster) allGone(ctx context.Context, t *testing.T, claims []model.Claim) string {
	for _, claim := range claims {
		if i, _ := c.EC2.Lookup(claim.InstanceID); i.State != ec2.Terminated {
			return claim.InstanceID + " is " + string(i.State)
		}
	}
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	objects, err := c.dynamic.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	there := map[string]bool{}
	for _, node := range nodes.Items {
		there[node.Name] = true
	}
	for _, object := range objects.Items {
		there[object.GetName()] = true
	}
	for _, claim := range c.ledger(t).Claims {
		there[claim.Name] = there[claim.Name] || claim.Live()
	}
	for _, claim := range claims {
		if there[claim.Name] || there[claim.NodeName] {
			return "something is left of " + claim.Name
		}
	}
	return ""
}

// tainted is when nodes were first seen with the taint of a drain.
type tainted struct {
	mutex sync.Mutex
	at    map[string]time.Time
}

func (w *tainted) times() map[string]time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return maps.Clone(w.at)
}

func watchTainted(t *testing.T, client kubernetes.Interface) *tainted {
	t.Helper()
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := toolswatch.NewRetryWatcherWithContext(t.Context(), list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: client.CoreV1().Nodes().Watch})
	if err != nil {
		t.Fatal(err)
	}
	w := &tainted{at: map[string]time.Time{}}
	go func() {
		for event := range stream.ResultChan() {
			node, ok := event.Object.(*corev1.Node)
			if !ok || !slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == model.TaintDisrupted }) {
				continue
			}
			w.mutex.Lock()
			if w.at[node.Name].IsZero() {
				w.at[node.Name] = time.Now()
			}
			w.mutex.Unlock()
		}
	}()
	return w
}

// deaths is what was on instances when they began to end.
type deaths struct {
	mutex sync.Mutex
	lines []string
}

func (d *deaths) found() []string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return slices.Clone(d.lines)
}

// watchDeaths notes every pod that is on the node of one of the claims when its instance begins to end.
func (c *cluster) watchDeaths(house *house, claims []model.Claim) *deaths {
	nodes, d := map[string]string{}, &deaths{}
	for _, claim := range claims {
		nodes[claim.InstanceID] = claim.NodeName
	}
	c.EC2.OnStateChange(func(i ec2.Instance) {
		node, known := nodes[i.ID]
		if !known || i.State != ec2.ShuttingDown {
			return
		}
		var names []string
		for _, pod := range house.on(node) {
			names = append(names, pod.Name)
		}
		if len(names) > 0 {
			d.mutex.Lock()
			defer d.mutex.Unlock()
			d.lines = append(d.lines, fmt.Sprintf("machine %s ended with pods %s on its node %s", i.ID, strings.Join(names, ", "), node))
		}
	})
	return d
}
