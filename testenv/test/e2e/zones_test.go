package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// places follows where pods of some apps are by one watch, and holds every state to what is said of it.
type places struct {
	mutex  sync.Mutex
	zoneOf func(node string) string
	zones  map[string]string                    // by node
	pods   map[types.UID]*corev1.Pod            // that are there
	rules  map[string]func(nodes []string) bool // by app; nil until hold
	homes  map[string]map[string]bool           // nodes its pods were bound to since, by app
	first  int                                  // nodes they were on to begin with, summed up over apps
	states int                                  // that were evaluated
	broken []string
}

func newPlaces(zoneOf func(node string) string) *places {
	return &places{zoneOf: zoneOf, zones: map[string]string{}, pods: map[types.UID]*corev1.Pod{}, homes: map[string]map[string]bool{}}
}

// watchPlaces starts following the pods of a namespace until the test ends.
func watchPlaces(t *testing.T, client kubernetes.Interface, namespace string) *places {
	t.Helper()
	p := newPlaces(func(name string) string {
		node, err := client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return ""
		}
		return node.Labels[corev1.LabelTopologyZone]
	})
	followPods(t, client, namespace, p)
	return p
}

func (p *places) breaks(line string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.broken = append(p.broken, line)
}

// see takes one change and evaluates the state it makes.
func (p *places) see(kind watch.EventType, pod *corev1.Pod) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if kind == watch.Deleted {
		delete(p.pods, pod.UID)
	} else {
		p.pods[pod.UID] = pod
	}
	if node := pod.Spec.NodeName; node != "" && p.zones[node] == "" {
		p.zones[node] = p.zoneOf(node) // while it is there
	}
	app := pod.Labels["app"]
	if p.rules[app] == nil {
		return
	}
	p.states++
	nodes := p.nodes(app)
	for _, node := range nodes {
		p.home(app, node)
	}
	if !p.rules[app](nodes) {
		p.broken = append(p.broken, fmt.Sprintf("%s: pods of %s are on %v in zones %v, after %s of %s", time.Now().Format("15:04:05.000"), app, nodes, p.zonesOf(nodes), kind, pod.Name))
	}
}

func (p *places) home(app, node string) {
	if p.homes[app] == nil {
		p.homes[app] = map[string]bool{}
	}
	p.homes[app][node] = true
}

// nodes returns the node of each pod of the app that is bound and not leaving, sorted.
func (p *places) nodes(app string) []string {
	var out []string
	for _, pod := range p.pods { // sorted below
		if pod.Labels["app"] == app && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			out = append(out, pod.Spec.NodeName)
		}
	}
	slices.Sort(out)
	return out
}

func (p *places) zonesOf(nodes []string) []string {
	out := make([]string, len(nodes))
	for n, node := range nodes {
		out[n] = p.zones[node]
	}
	return out
}

// hold holds apps to their rules from now on. It returns which apps do not keep theirs to begin with, or have fewer pods than three.
func (p *places) hold(rules map[string]func(nodes []string) bool) []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.rules = rules
	var out []string
	for _, app := range slices.Sorted(maps.Keys(rules)) {
		nodes := p.nodes(app)
		for _, node := range nodes {
			p.home(app, node)
		}
		if len(nodes) != 3 || !rules[app](nodes) {
			out = append(out, fmt.Sprintf("%s is on %v in zones %v", app, nodes, p.zonesOf(nodes)))
		}
		p.first += len(p.homes[app])
	}
	return out
}

// moved reports whether a pod of any app was bound to a node that none of its app was on to begin with.
func (p *places) moved() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now := 0
	for _, homes := range p.homes {
		now += len(homes)
	}
	return now > p.first
}

// kept fails the test where a rule was broken, or an app has not three pods, and returns on how many nodes each app's were.
func (p *places) kept(t *testing.T) map[string]int {
	t.Helper()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, line := range p.broken[:min(10, len(p.broken))] {
		t.Error(line)
	}
	out := map[string]int{}
	for app := range p.rules {
		if nodes := p.nodes(app); len(nodes) != 3 {
			t.Errorf("%d pods of %s are bound in the end, want 3", len(nodes), app)
		}
		out[app] = len(p.homes[app])
	}
	return out
}

// The rules of these tests, which every state keeps. A pod that waits for its node counts nowhere.

// zoneEach says that no two pods are in one zone.
func (p *places) zoneEach(nodes []string) bool {
	zones := p.zonesOf(nodes)
	slices.Sort(zones)
	return len(slices.Compact(zones)) == len(nodes) && !slices.Contains(zones, "")
}

// hostEach says that no two pods are on one node.
func (p *places) hostEach(nodes []string) bool {
	return len(slices.Compact(slices.Clone(nodes))) == len(nodes)
}

// twoZones says that three pods are not all in one zone.
func (p *places) twoZones(nodes []string) bool {
	zones := p.zonesOf(nodes)
	slices.Sort(zones)
	return len(nodes) < 3 || len(slices.Compact(zones)) > 1
}

// spreadHard is a constraint of an app's pods that must hold.
func spreadHard(app, key string) string {
	return fmt.Sprintf("topologySpreadConstraints: [{maxSkew: 1, topologyKey: %s, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: %s}}}]", key, app)
}

// spreadSoft is one that need not.
func spreadSoft(app, key string) string {
	return fmt.Sprintf("topologySpreadConstraints: [{maxSkew: 1, topologyKey: %s, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: %s}}}]", key, app)
}

// TestK1ThreeReplicasStayInThreeZones has consolidation tempted, for an hour in the long form, by instances in three zones that other pods
// leave nearly empty, again and again: at no moment two of the three replicas spread over zones are in one zone, nor two of those spread
// over hosts on one host, nor all three that are to keep two zones in one.
func TestK1ThreeReplicasStayInThreeZones(t *testing.T) {
	t.Parallel()
	hour, wave := 70*time.Second, 70*time.Second
	if full() {
		hour, wave = time.Hour, 5*time.Minute
	}
	c := start(t, stack.Options{})
	c.quicken(t)
	client := quick(t, c.Kube.Config())
	c.apply(t, namespace("zones"), class("default"), pool("default", "default", twoSizes, nil, []string{giving(patience, "100%")}))
	c.awaitReady(t, nodePools, "default")
	var tides []string
	request := fmt.Sprintf("%dm", sixHundred)
	const tide = 6 // pods that come and go in each zone: what one of the larger instances holds
	for _, zone := range catalog.Zones() {
		app := "tide-" + zone.ID
		tides = append(tides, app)
		c.apply(t, deployment("zones", app, tide, request, "nodeSelector: {topology.kubernetes.io/zone: "+zone.Name+"}"))
	}
	c.awaitRunning(t, "zones", tide*len(tides), 3*time.Minute)
	p := watchPlaces(t, client, "zones")
	c.apply(t, deployment("zones", "zonal", 3, request, spreadHard("zonal", corev1.LabelTopologyZone)), deployment("zones", "hosts", 3, request, spreadHard("hosts", corev1.LabelHostname)),
		withTwoZones(deployment("zones", "pair", 3, request, spreadSoft("pair", corev1.LabelTopologyZone))))
	c.awaitRunning(t, "zones", tide*len(tides)+9, 3*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	c.spreadOut(t, p, "zones", "pair")
	if wrong := p.hold(map[string]func([]string) bool{"zonal": p.zoneEach, "hosts": p.hostEach, "pair": p.twoZones}); len(wrong) > 0 {
		t.Fatalf("to begin with %v", wrong)
	}

	// Which instances a wave leaves is kube-controller-manager's choice, so that a few may leave all replicas where they are.
	began, most := time.Now(), len(c.running())
	for n := 0; n == 0 || time.Since(began) < hour || !p.moved() && n < 8; n++ {
		for i, app := range tides { // one pod is left of all, in another zone each time
			left := 0
			if i == n%len(tides) {
				left = 1
			}
			c.scale(t, "zones", app, left)
		}
		before, given := len(c.running()), c.givenBack()
		await(t, 4*time.Minute, "machines are given back", func(context.Context) string {
			if now := c.givenBack() - given; now < 2 {
				return fmt.Sprintf("%d machines have ended of %d", now, before)
			}
			return ""
		})
		pause(t, wave/2)
		t.Logf("%s: wave %d leaves %d machines of %d", time.Since(began).Round(time.Second), n, len(c.running()), before)
		if time.Since(began) >= hour && p.moved() {
			break
		}
		for _, app := range tides {
			c.scale(t, "zones", app, tide)
		}
		c.awaitRunning(t, "zones", tide*len(tides)+9, 4*time.Minute)
		most = max(most, len(c.running()))
	}
	await(t, 2*time.Minute, "all nine replicas run and nothing is under way", func(ctx context.Context) string {
		for _, app := range []string{"zonal", "hosts", "pair"} {
			if missing := c.appRuns(ctx, "zones", app, 3); missing != "" {
				return missing
			}
		}
		return c.settled(t)(ctx)
	})
	homes := p.kept(t)
	t.Logf("after %s %d machines run of %d, %d were given back; replicas were on so many nodes: %v; %d states were judged", time.Since(began).Round(time.Second), len(c.running()), most, c.givenBack(), homes, p.states)
	if !p.moved() {
		t.Errorf("no replica was moved in %s: %v", time.Since(began).Round(time.Second), homes)
	}
	c.oneEach(t)
}

// spreadOut deletes pods of an app, one at a time, until it is in two zones at least. kube-scheduler need not spread it: where one node came
// up first it may have put all of them there, and what is in one zone has nothing to keep.
func (c *cluster) spreadOut(t *testing.T, p *places, namespace, app string) {
	t.Helper()
	for range 6 {
		p.mutex.Lock()
		nodes := p.nodes(app)
		together := len(nodes) > 0 && len(slices.Compact(slices.Sorted(slices.Values(p.zonesOf(nodes))))) == 1
		p.mutex.Unlock()
		if !together {
			return
		}
		list, err := c.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + app, Limit: 1})
		if err != nil || len(list.Items) == 0 {
			t.Fatalf("%d pods of %s, %v", len(list.Items), app, err)
		}
		gone := list.Items[0].UID
		if err := c.kube.CoreV1().Pods(namespace).Delete(t.Context(), list.Items[0].Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, 2*time.Minute, "another pod of "+app+" runs in its place", func(ctx context.Context) string {
			if missing := c.appRuns(ctx, namespace, app, 3); missing != "" {
				return missing
			}
			p.mutex.Lock()
			defer p.mutex.Unlock()
			if p.pods[gone] != nil || len(p.nodes(app)) != 3 {
				return "the watch has not shown it yet"
			}
			return ""
		})
	}
}

// withTwoZones puts the annotation that keeps two zones on the pods of a Deployment.
func withTwoZones(manifest string) string {
	return annotated(manifest, "{"+model.AnnotationTwoZones+`: "true"}`)
}

// givenBack returns how many instances EC2 has ended.
func (c *cluster) givenBack() int {
	n := 0
	for _, i := range c.EC2.Instances() {
		if i.State == ec2.Terminated || i.State == ec2.ShuttingDown {
			n++
		}
	}
	return n
}

// TestPlacesTellWhatIsBroken shows that the watch of the test above notices what it is to notice.
func TestPlacesTellWhatIsBroken(t *testing.T) {
	t.Parallel()
	bound := func(app, name, node string) *corev1.Pod {
		pod := &corev1.Pod{}
		pod.Name, pod.UID, pod.Labels, pod.Spec.NodeName = name, types.UID(name), map[string]string{"app": app}, node
		return pod
	}
	p := newPlaces(func(node string) string { return node[:1] }) // a node's first letter is its zone
	for n, node := range []string{"a1", "b1", "c1"} {
		for _, app := range []string{"zonal", "hosts", "pair"} {
			p.see(watch.Added, bound(app, fmt.Sprint(app, n), node))
		}
	}
	if wrong := p.hold(map[string]func([]string) bool{"zonal": p.zoneEach, "hosts": p.hostEach, "pair": p.twoZones}); len(wrong) > 0 {
		t.Fatalf("to begin with %v", wrong)
	}
	for _, step := range []struct {
		pod    *corev1.Pod
		broken int
	}{
		{bound("zonal", "zonal0", ""), 0}, {bound("zonal", "zonal0", "a2"), 0}, {bound("zonal", "zonal0", "b2"), 1}, {bound("zonal", "zonal0", "a1"), 1},
		{bound("hosts", "hosts0", "c2"), 1}, {bound("hosts", "hosts0", "c1"), 2}, {bound("hosts", "hosts0", "a1"), 2},
		{bound("pair", "pair0", "c2"), 2}, {bound("pair", "pair1", ""), 2}, {bound("pair", "pair1", "c2"), 3},
	} {
		if p.see(watch.Modified, step.pod); len(p.broken) != step.broken {
			t.Fatalf("%s on %q: %d broken, want %d: %v", step.pod.Name, step.pod.Spec.NodeName, len(p.broken), step.broken, p.broken)
		}
	}
	if p.states != 10 || len(p.homes["zonal"]) != 5 {
		t.Errorf("%d states, and the zonal pods were on %v", p.states, p.homes["zonal"])
	}
}
