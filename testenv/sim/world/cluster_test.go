package world

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// node puts a ready node with room for four CPUs into the cluster.
func node(w *World, name, zone string) {
	room := model.Resources{model.CPU: 4000, model.Memory: 16 << 30, model.Pods: 110}
	w.Cluster.PutNode(model.Node{
		Name: name, ProviderID: "aws:///" + zone + "/i-" + name, Ready: true, Capacity: room, Allocatable: room,
		Labels: map[string]string{model.LabelHostname: name, model.LabelZone: zone},
	})
}

// rerun builds what a watch told into pods by key and node, and nodes by name.
func rerun(pods map[string]string, nodes map[string]bool, changes []wire.Change) {
	for _, c := range changes {
		switch {
		case c.Pod != nil && c.Deleted:
			delete(pods, c.Pod.Key())
		case c.Pod != nil:
			pods[c.Pod.Key()] = c.Pod.NodeName
		case c.Node != nil && c.Deleted:
			delete(nodes, c.Node.Name)
		case c.Node != nil:
			nodes[c.Node.Name] = true
		}
	}
}

func TestWatchLagsAndMissesNothing(t *testing.T) {
	w := New(Options{})
	watch := w.Cluster.Watch(10 * time.Second)
	node(w, "a", "z1")
	pods, nodes := map[string]string{}, map[string]bool{}
	poll := func() {
		t.Helper()
		changes, err := watch.Poll()
		if err != nil {
			t.Fatal(err)
		}
		rerun(pods, nodes, changes)
	}
	poll() // the first list has no lag
	if !nodes["a"] {
		t.Fatal("the first list has no node")
	}
	w.Cluster.AddPods("web", 2, Shape(1000, 1<<30))
	w.Tick(2 * time.Second)
	poll()
	if len(pods) != 0 {
		t.Fatalf("after 2 s of 10 s lag: %v", pods)
	}
	if at, due := watch.Next(); !due || at.After(w.Clock.Now().Add(8*time.Second)) {
		t.Errorf("next at %v, %v", at, due)
	}
	w.Tick(12 * time.Second)
	poll()
	if pods["default/web-0"] != "a" || pods["default/web-1"] != "a" {
		t.Errorf("after the lag: %v", pods)
	}
	// What is deleted while the stream is broken comes with the next list.
	w.Cluster.DeletePod("default", "web-1")
	watch.Break()
	if _, err := watch.Poll(); fault.CodeOf(err) != "Gone" {
		t.Fatalf("broken watch: %v", err)
	}
	poll()
	if want := map[string]string{"default/web-0": "a"}; !reflect.DeepEqual(pods, want) {
		t.Errorf("after the new list: %v", pods)
	}
}

func TestListAtShowsThePast(t *testing.T) {
	w := New(Options{})
	node(w, "a", "z1")
	w.Cluster.AddPods("web", 1, Shape(1000, 1<<30))
	w.Tick(time.Minute)
	then, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.Cluster.AddPods("more", 1, Shape(1000, 1<<30))
	w.Cluster.DeletePod("default", "web-0")
	w.Cluster.DeleteNode("a")
	w.Tick(10 * time.Minute)
	past, err := w.Cluster.ListAt(10*time.Minute + 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(past.Pods, then.Pods) || !reflect.DeepEqual(past.Nodes, then.Nodes) {
		t.Errorf("pods %v, nodes %v", past.Pods, past.Nodes)
	}
	if now, _ := w.Cluster.List(t.Context()); len(now.Nodes) != 0 || slices.ContainsFunc(now.Pods, func(p model.Pod) bool { return p.Name == "web-0" }) {
		t.Error("the present is not what it should be")
	}
}

func TestSnapshotsThatWereHandedOutDoNotChange(t *testing.T) {
	w := New(Options{})
	node(w, "a", "z1")
	w.Cluster.AddPods("web", 3, Shape(1000, 1<<30))
	before, _ := w.Cluster.List(t.Context())
	copied := clone(*before)
	w.Tick(time.Minute)
	w.Cluster.AddPods("other", 3, Shape(500, 1<<30))
	w.Cluster.DeletePod("default", "web-2")
	if err := w.Cluster.PatchNode(t.Context(), model.NodePatch{Name: "a", UID: before.Nodes[0].UID, Labels: map[string]string{"x": "y"}}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(clone(*before), copied) {
		t.Error("a snapshot changed after it was handed out")
	}
}

func TestEvictionKeepsBudgets(t *testing.T) {
	w := New(Options{})
	node(w, "a", "z1")
	shape := Shape(500, 1<<30)
	shape.Labels = map[string]string{"app": "web"}
	w.Workloads.Add(Workload{Kind: Deployment, Name: "web", Shape: shape, Replicas: 3})
	w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: "web", Selector: &model.Selector{MatchLabels: shape.Labels}, MaxUnavailable: "1"})
	w.Tick(10 * time.Second)
	pods := w.Cluster.Pods()
	ref := func(i int) model.PodRef {
		return model.PodRef{Namespace: "default", Name: pods[i].Name, UID: pods[i].UID}
	}
	if err := w.Cluster.Evict(t.Context(), model.PodRef{Namespace: "default", Name: pods[0].Name, UID: "another"}, nil); !fault.Is(err, fault.Conflict) {
		t.Errorf("a pod of another UID: %v", err)
	}
	if err := w.Cluster.Evict(t.Context(), ref(0), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Cluster.Evict(t.Context(), ref(1), nil); !fault.Is(err, fault.Throttled) {
		t.Errorf("a second eviction: %v", err)
	}
	w.Tick(40 * time.Second) // the first is gone and its replacement runs
	if err := w.Cluster.Evict(t.Context(), ref(1), nil); err != nil {
		t.Errorf("after the replacement runs: %v", err)
	}
	w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: "also", Selector: &model.Selector{}, MinAvailable: "50%"})
	if err := w.Cluster.Evict(t.Context(), ref(2), nil); !fault.Is(err, fault.Internal) {
		t.Errorf("two budgets: %v", err)
	}
	if err := w.Cluster.Evict(t.Context(), ref(0), nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("a pod that is gone: %v", err)
	}
}

func TestControllersKeepTheirPods(t *testing.T) {
	w := New(Options{})
	node(w, "a", "z1")
	w.Workloads.Add(Workload{Kind: Deployment, Name: "web", Shape: Shape(100, 1<<20), Replicas: 2, Steps: []Step{{Start.Add(time.Minute), 5}, {Start.Add(2 * time.Minute), 1}}})
	w.Workloads.Add(Workload{Kind: StatefulSet, Name: "db", Shape: Shape(101, 1<<20), Replicas: 2})
	w.Workloads.Add(Workload{Kind: Job, Name: "batch", Shape: Shape(102, 1<<20), Replicas: 2, Runs: 30 * time.Second})
	w.Cluster.AddDaemonSet("agent", Shape(10, 1<<20))
	running := func() map[string]int {
		n := map[string]int{}
		for _, pod := range w.Cluster.Pods() {
			if pod.NodeName == "a" && pod.DeletedUnix == 0 && !pod.Terminal() {
				n[w.Cluster.ShapeOf(&pod).OwnerName]++
			}
		}
		return n
	}
	for _, step := range []struct {
		after time.Duration
		want  map[string]int
	}{
		{10 * time.Second, map[string]int{"web": 2, "db": 2, "batch": 2, "agent": 1}},
		{35 * time.Second, map[string]int{"web": 2, "db": 2, "agent": 1}},
		{30 * time.Second, map[string]int{"web": 5, "db": 2, "agent": 1}},
		{90 * time.Second, map[string]int{"web": 1, "db": 2, "agent": 1}},
	} {
		w.Tick(step.after)
		if got := running(); !reflect.DeepEqual(got, step.want) {
			t.Errorf("at %v: %v, want %v", w.Clock.Now().Sub(Start), got, step.want)
		}
	}
	old := uidOf(w, "db-0")
	if err := w.Cluster.Evict(t.Context(), model.PodRef{Namespace: "default", Name: "db-0", UID: old}, nil); err != nil {
		t.Fatal(err)
	}
	w.Tick(time.Minute)
	if now := uidOf(w, "db-0"); now == "" || now == old {
		t.Errorf("db-0 is %q after %q was evicted", now, old)
	}
}

func uidOf(w *World, name string) string {
	for _, pod := range w.Cluster.Pods() {
		if pod.Name == name {
			return pod.UID
		}
	}
	return ""
}

func TestSilentNodeLosesItsPodsAndComesBack(t *testing.T) {
	w := New(Options{})
	w.Kubelets.Start(model.Instance{ID: "i-1", Type: "m5.large", Zone: "us-east-1a"}, nil, w.Clock.Now())
	w.Kubelets.Start(model.Instance{ID: "i-2", Type: "m5.large", Zone: "us-east-1a"}, nil, w.Clock.Now())
	w.Tick(30 * time.Second)
	w.Workloads.Add(Workload{Kind: Deployment, Name: "web", Shape: Shape(500, 1<<30), Replicas: 2})
	w.Tick(5 * time.Second)
	if got := w.Kubelets.Alive(); !slices.Equal(got, []string{"i-1", "i-2"}) {
		t.Fatalf("alive: %v", got)
	}
	where := w.Cluster.Pods()[0].NodeName // the first by name has both
	w.Kubelets.Silence("i-1")
	w.Tick(time.Minute)
	first := w.Cluster.Nodes()[0]
	if first.Name != where || first.Ready || !has(first.Taints, model.Taint{Key: taintUnreachable, Effect: model.NoExecute}) {
		t.Fatalf("after a minute of silence: %+v", first)
	}
	w.Tick(6 * time.Minute)
	for _, pod := range w.Cluster.Pods() {
		if pod.NodeName == where && pod.DeletedUnix == 0 {
			t.Errorf("%s still belongs to the silent node", pod.Name)
		}
	}
	w.Kubelets.Resume("i-1")
	w.Tick(time.Minute)
	if first := w.Cluster.Nodes()[0]; !first.Ready || len(first.Taints) != 0 {
		t.Errorf("after it spoke again: %+v", first)
	}
	if n := len(w.Cluster.Pods()); n != 2 {
		t.Errorf("%d pods", n)
	}
}

func TestNodeOfAnEndedInstanceGoesAndItsPodsComeBackElsewhere(t *testing.T) {
	w := New(Options{})
	w.Kubelets.Start(model.Instance{ID: "i-1", Type: "m5.large", Zone: "us-east-1a"}, nil, w.Clock.Now())
	w.Kubelets.Start(model.Instance{ID: "i-2", Type: "m5.large", Zone: "us-east-1a"}, nil, w.Clock.Now())
	w.Workloads.Add(Workload{Kind: Deployment, Name: "web", Shape: Shape(500, 1<<30), Replicas: 2})
	w.Tick(time.Minute)
	w.Kubelets.End("i-1")
	w.Tick(3 * time.Minute)
	nodes := w.Cluster.Nodes()
	if len(nodes) != 1 || len(w.Cluster.Waiting()) != 0 || len(w.Cluster.Pods()) != 2 {
		t.Errorf("%d nodes, waiting %v, %d pods", len(nodes), w.Cluster.Waiting(), len(w.Cluster.Pods()))
	}
}

func TestHostNameThatIsTakenIsNotTheOtherInstances(t *testing.T) {
	w := New(Options{})
	w.Kubelets.options.HostNames = 1
	w.Kubelets.Start(model.Instance{ID: "i-1", Type: "m5.large", Zone: "us-east-1a"}, nil, w.Clock.Now())
	w.Tick(time.Minute)
	w.Kubelets.Start(model.Instance{ID: "i-2", Type: "m5.large", Zone: "us-east-1b"}, nil, w.Clock.Now())
	w.Tick(2 * time.Minute)
	if nodes := w.Cluster.Nodes(); len(nodes) != 1 || nodes[0].ProviderID != "aws:///us-east-1a/i-1" {
		t.Fatalf("%+v", nodes)
	}
	w.Kubelets.End("i-1")
	w.Tick(2 * time.Minute)
	if nodes := w.Cluster.Nodes(); len(nodes) != 1 || nodes[0].ProviderID != "aws:///us-east-1b/i-2" || !nodes[0].Ready {
		t.Errorf("%+v", nodes)
	}
}

func TestSchedulerKeepsSpreadAndAntiAffinity(t *testing.T) {
	w := New(Options{})
	for i, zone := range []string{"z1", "z1", "z2"} {
		node(w, string(rune('a'+i)), zone)
	}
	apart := Shape(100, 1<<20)
	apart.Labels = map[string]string{"app": "apart"}
	apart.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelZone, Selector: &model.Selector{MatchLabels: apart.Labels}}}
	w.Cluster.AddPods("apart", 3, apart)
	even := Shape(100, 1<<20)
	even.Labels = map[string]string{"app": "even"}
	even.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: &model.Selector{MatchLabels: even.Labels}}}
	w.Cluster.AddPods("even", 5, even)
	w.Tick(time.Second)
	zones := map[string]map[string]int{"apart": {}, "even": {}}
	for _, pod := range w.Cluster.Pods() {
		if pod.NodeName != "" {
			zone := map[string]string{"a": "z1", "b": "z1", "c": "z2"}[pod.NodeName]
			zones[w.Cluster.ShapeOf(&pod).Labels["app"]][zone]++
		}
	}
	if !reflect.DeepEqual(zones["apart"], map[string]int{"z1": 1, "z2": 1}) {
		t.Errorf("apart: %v", zones["apart"])
	}
	if n := zones["even"]; n["z1"]+n["z2"] != 5 || max(n["z1"], n["z2"]) != 3 {
		t.Errorf("even: %v", n)
	}
	if got := w.Cluster.Waiting(); len(got) != 1 {
		t.Errorf("waiting: %v", got)
	}
}

// A pod that is being deleted holds its room and its node's affinities, and counts for no spread any more: kube-scheduler's plugin
// PodTopologySpread leaves out pods with a deletion timestamp (kubernetes/kubernetes#87621).
func TestSchedulerLeavesPodsThatAreBeingDeletedOutOfSpreads(t *testing.T) {
	w := New(Options{})
	node(w, "a", "z1")
	node(w, "b", "z2")
	even := Shape(1000, 1<<20)
	even.Labels = map[string]string{"app": "even"}
	even.Spread = []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: &model.Selector{MatchLabels: even.Labels}}}
	w.Cluster.AddPods("even", 2, even)
	w.Tick(time.Second)
	closed := w.Cluster.Nodes()[1]
	closed.Taints = []model.Taint{{Key: "closed", Effect: model.NoSchedule}}
	w.Cluster.PutNode(closed)
	w.Cluster.AddPods("more", 2, even)
	w.Tick(time.Second)
	on := func(node string) (there []model.Pod) {
		for _, pod := range w.Cluster.Pods() {
			if pod.NodeName == node {
				there = append(there, pod)
			}
		}
		return there
	}
	if waiting := w.Cluster.Waiting(); len(on("a")) != 2 || len(waiting) != 1 {
		t.Fatalf("%d pods are in z1 and %d wait", len(on("a")), len(waiting))
	}
	leaves := on("a")[0]
	w.Cluster.mu.Lock()
	leaves.DeletedUnix = w.Clock.Now().Unix() + 3600
	w.Cluster.putPod("delete", leaves)
	w.Cluster.schedule()
	w.Cluster.mu.Unlock()
	if waiting := w.Cluster.Waiting(); len(on("a")) != 3 || len(waiting) != 0 {
		t.Errorf("%d pods are in z1, one of which is being deleted, and %d wait", len(on("a")), len(waiting))
	}
}

// TestSameSeedSameHistory: instances that boot at drawn times and workloads that shrink by chance leave the same log twice.
func TestSameSeedSameHistory(t *testing.T) {
	history := func(seed uint64) []Entry {
		w := New(Options{})
		random := rand.New(rand.NewPCG(seed, 0))
		w.Kubelets.rand, w.Workloads.rand = random, random
		w.Kubelets.options.BootMax, w.Kubelets.options.NeverJoins = 90*time.Second, 0.2
		for _, id := range []string{"i-1", "i-2", "i-3", "i-4"} {
			w.Kubelets.Start(model.Instance{ID: id, Type: "m5.large", Zone: "us-east-1a"}, nil, w.Clock.Now())
		}
		w.Workloads.Add(Workload{Kind: Deployment, Name: "web", Shape: Shape(300, 1<<20), Replicas: 9, Steps: []Step{{Start.Add(2 * time.Minute), 3}}})
		w.Tick(5 * time.Minute)
		return w.Log.Since(0)
	}
	if !reflect.DeepEqual(history(1), history(1)) {
		t.Error("two runs of one seed differ")
	}
	if reflect.DeepEqual(history(1), history(2)) {
		t.Error("two seeds are the same")
	}
}

// clone copies plain data, so that later changes of the original show.
func clone[T any](value T) T {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err)) // plain data always can
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		panic(fmt.Sprintf("decode %T: %v", value, err))
	}
	return out
}

// An EC2NodeClass has no field for when it was resolved: who reads one must not find more in it than from an API server.
func TestClassStatusKeepsNoTime(t *testing.T) {
	w := New(Options{})
	w.Cluster.AddClass(Class("timeless"))
	is := func() model.Class { return w.Cluster.Class("timeless") }
	status := model.ClassStatus{ObservedGeneration: is().Generation, ResolvedUnix: 1_900_000_000, InstanceProfile: "nodes"}
	if err := w.Cluster.Report(t.Context(), model.Report{Classes: []model.ClassReport{{Class: "timeless", UID: is().UID, Status: status}}}); err != nil {
		t.Fatal(err)
	}
	if got := is().Status; got.InstanceProfile != "nodes" || got.ResolvedUnix != 0 {
		t.Errorf("%+v", got)
	}
}
