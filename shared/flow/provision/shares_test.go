package provision_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func in(namespace string, shape model.PodShape) model.PodShape {
	shape.Namespace = namespace
	return shape
}

// waitingIn returns how many pods of a namespace wait.
func waitingIn(w *world.World, namespace string) int {
	n := 0
	for _, key := range w.Cluster.Waiting() {
		if strings.HasPrefix(key, namespace+"/") {
			n++
		}
	}
	return n
}

// instancesFor returns for how many pods of a namespace instances were launched that have joined by now.
func instancesFor(t *testing.T, w *world.World, namespace string) int {
	t.Helper()
	n := 0
	for _, claim := range load(t, w).Claims {
		for _, pod := range claim.Pods {
			if pod.Namespace == namespace && claim.NodeName != "" {
				n++
			}
		}
	}
	return n
}

// A namespace that asks for 1,500 instances delays another one's three by seconds, whenever in a minute it began, and also where limits
// leave room for 300: its pods are bound within a minute, though kube-scheduler takes older pods of the same priority first.
func TestM2AnotherNamespacesThreePodsAreBoundWithinAMinute(t *testing.T) {
	for name, test := range map[string]struct {
		limits model.Resources
		begins time.Duration
	}{
		"without limits":                {nil, 0},
		"without limits, at second 20":  {nil, 20 * time.Second},
		"without limits, at second 50":  {nil, 50 * time.Second},
		"300 nodes":                     {model.Resources{model.Nodes: 300}, 0},
		"300 nodes, begun at second 50": {model.Resources{model.Nodes: 300}, 50 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, world.Options{Types: []string{"m5.large"}})
			pool := world.Pool("default", "default")
			pool.Limits = test.limits
			w.Cluster.AddPool(pool)
			w.Tick(test.begins)
			pending(w, "many", 1500, in("hostile", world.Shape(1500, gib)))
			pass := func() {
				_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
				w.Tick(10 * time.Second)
			}
			for range 6 {
				pass()
			}
			pending(w, "few", 3, in("normal", world.Shape(1500, gib)))
			if instances := len(w.Fleet.Instances()); test.limits != nil && instances >= 300 {
				t.Errorf("hostile has %d machines after a minute: the limit leaves nothing to deal", instances)
			}
			for range 6 {
				pass()
			}
			if n := instancesFor(t, w, "normal"); n != 3 {
				t.Errorf("machines for %d of normal's three pods have joined after a minute, of %d", n, len(w.Fleet.Instances()))
			}
			if n := waitingIn(w, "normal"); n != 0 {
				t.Errorf("%d of normal's three pods wait after a minute", n)
			}
		})
	}
}

// What a pool may launch in a minute is dealt in turns: of 300 instances 120 are for the 120 pods of a namespace beside one that asks
// for 900, and not the tenth that those who come late have.
func TestM2TheInstancesOfAMinuteAreDealtInTurns(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Cluster.AddPods("many", 900, in("hostile", world.Shape(1500, gib)))
	pending(w, "some", 120, in("normal", world.Shape(1500, gib)))
	pass(t, w, provision.TriggerResync)
	instances := map[string]int{}
	for _, claim := range load(t, w).Claims {
		for _, pod := range claim.Pods {
			instances[pod.Namespace]++
		}
	}
	if instances["normal"] != 120 || instances["hostile"] != 180 {
		t.Errorf("machines by namespace: %v, want 180 of hostile and 120 of normal", instances)
	}
}

// A pod is nominated once its node takes pods, and not before: kube-scheduler tries it at once, and forgets the nomination where the node
// takes none yet.
func TestM2NoPodIsNominatedToANodeThatTakesNoneYet(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "many", 450, in("hostile", world.Shape(1500, gib)))
	pass(t, w, provision.TriggerResync)
	pending(w, "few", 3, in("normal", world.Shape(1500, gib)))
	for range 100 {
		_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
		w.Tick(time.Second)
	}
	ready, nominated := map[string]bool{}, 0
	for _, entry := range w.Log.Since(0) {
		switch o, _ := entry.Fact.(world.ObjectWritten); {
		case o.Node != nil:
			ready[o.Node.Name] = o.Node.Ready
		case o.Pod != nil && o.Verb == "status" && o.Pod.NominatedNode != "":
			if nominated++; !ready[o.Pod.NominatedNode] {
				t.Errorf("pod %s is nominated at %s to node %s, which is not Ready", o.Pod.Key(), entry.At, o.Pod.NominatedNode)
			}
		}
	}
	if nominated < 3 {
		t.Errorf("%d nominations: nobody was planned ahead of anybody", nominated)
	}
}

// Where limits leave nothing, nothing that runs is taken away, and the room that comes is dealt in turns: the namespace first that has
// waited longest.
func TestM2RoomWithinALimitIsDealtInTurns(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	limit := func(nodes int64) {
		pool := world.Pool("default", "default")
		pool.Limits = model.Resources{model.Nodes: nodes}
		w.Cluster.AddPool(pool)
	}
	limit(4)
	pending(w, "many", 40, in("hostile", world.Shape(1500, gib)))
	pass := func() {
		for range 12 {
			_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
			w.Tick(10 * time.Second)
		}
	}
	pass()
	pending(w, "few", 3, in("normal", world.Shape(1500, gib)))
	pass()
	if h, n := instancesFor(t, w, "hostile"), instancesFor(t, w, "normal"); h != 4 || n != 0 {
		t.Fatalf("at the limit machines for %d of hostile and %d of normal are there", h, n)
	}
	for i, want := range [][2]int{{4, 1}, {5, 1}, {5, 2}, {6, 2}} {
		limit(5 + int64(i))
		pass()
		if h, n := instancesFor(t, w, "hostile"), instancesFor(t, w, "normal"); h != want[0] || n != want[1] {
			t.Errorf("with room for %d more, machines for %d of hostile and %d of normal are there, want %v", i+1, h, n, want)
		}
	}
}

// A higher priority goes first, whatever turns say.
func TestM2PriorityComesBeforeTurns(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 3}
	w.Cluster.AddPool(pool)
	low, high := in("low", world.Shape(1500, gib)), in("high", world.Shape(1500, gib))
	high.Priority = 10
	w.Cluster.AddPods("a", 3, low)
	pending(w, "b", 3, high)
	for range 12 {
		_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
		w.Tick(10 * time.Second)
	}
	if l, h := waitingIn(w, "low"), waitingIn(w, "high"); l != 3 || h != 0 {
		t.Errorf("%d of low and %d of high wait, want 3 and 0", l, h)
	}
}

// bounded runs the flow with a small bound of what one plan takes.
func bounded(t *testing.T, w *world.World, most model.PlanBound) provision.Outcome {
	t.Helper()
	flow := w.Process(world.Fault{}).Flow()
	flow.Settings.Most, flow.Settings.LaunchFloor, flow.Settings.CallBurst = most, 10_000, 10_000
	outcome, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerResync, Owner: w.Clock.Now().String(), Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	})
	if err != nil {
		t.Fatalf("%v\n%+v", err, outcome)
	}
	return outcome
}

// workloads returns a world with twenty workloads of five pods, each with a rule of its own.
func workloads(t *testing.T) *world.World {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.xlarge"}})
	for i := range 20 {
		shape := world.Shape(700, gib)
		shape.Labels = map[string]string{"app": fmt.Sprintf("w%02d", i)}
		if i%2 == 0 {
			shape.Spread = []model.Spread{{MaxSkew: 1, TopologyKey: model.LabelZone, Selector: &model.Selector{MatchLabels: shape.Labels}}}
		} else {
			shape.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: shape.Labels}}}
		}
		w.Cluster.AddPods(fmt.Sprintf("w%02d", i), 5, shape)
	}
	w.Tick(time.Second)
	return w
}

// Three plans of eight workloads take twenty workloads of five pods, each pod once, although none is bound meanwhile, and buy what one
// plan of all would.
func TestF088ABacklogIsPlannedInPortionsAndNothingTwice(t *testing.T) {
	w, whole := workloads(t), workloads(t)
	bounded(t, whole, model.PlanBound{Pods: 1000, Sets: 1000, Rules: 1000})
	most := model.PlanBound{Pods: 1000, Sets: 8, Rules: 20}
	for i, later := range []int{60, 20, 0} {
		outcome := bounded(t, w, most)
		if outcome.Later != later {
			t.Errorf("run %d leaves %d pods for the next, want %d: %+v", i+1, outcome.Later, later, outcome)
		}
		if reported := strings.Contains(strings.Join(outcome.Problems, "\n"), "planned next"); reported != (later > 0) {
			t.Errorf("run %d tells of pods planned next: %v: %v", i+1, reported, outcome.Problems)
		}
		if outcome.Unschedulable > 0 {
			t.Errorf("run %d finds no place for %d pods", i+1, outcome.Unschedulable)
		}
	}
	homes := map[string]string{}
	for _, claim := range load(t, w).Claims {
		for _, pod := range claim.Pods {
			if other, twice := homes[pod.UID]; twice {
				t.Errorf("pod %s was planned onto %s and %s", pod.Key(), other, claim.Name)
			}
			homes[pod.UID] = claim.Name
		}
	}
	if len(homes) != 100 {
		t.Errorf("%d of 100 pods have a machine that is for them", len(homes))
	}
	if portions, once := len(w.Fleet.Instances()), len(whole.Fleet.Instances()); portions > once {
		t.Errorf("%d machines were launched for the portions, and %d for all at once", portions, once)
	}
	settle(t, w)
}

// M97: pods that nothing can hold, of the highest priority and more than one plan takes, do not keep others waiting
// for ever.
func TestF088NoPodStarvesBehindPodsThatNothingCanHold(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	for i := range 40 {
		shape := in("hostile", world.Shape(900_000, gib))
		shape.Priority, shape.Labels = 1000, map[string]string{"app": fmt.Sprintf("w%02d", i)}
		shape.Spread = []model.Spread{{MaxSkew: 1, TopologyKey: model.LabelZone, Selector: &model.Selector{MatchLabels: shape.Labels}}}
		w.Cluster.AddPods(fmt.Sprintf("w%02d", i), 1, shape)
	}
	mine := in("normal", world.Shape(1500, gib))
	mine.Labels = map[string]string{"app": "mine"}
	mine.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelHostname, Selector: &model.Selector{MatchLabels: mine.Labels}}}
	pending(w, "mine", 2, mine)
	for range 22 { // 41 sets, of which each plan takes two in turn
		bounded(t, w, model.PlanBound{Pods: 1000, Sets: 8, Rules: 20})
		w.Tick(10 * time.Second)
	}
	if n := waitingIn(w, "normal"); n > 0 {
		t.Errorf("%d of normal's pods wait still", n)
	}
}

// D6: what a portion planned, in turns of namespaces and at a limit, is planned once more from its record to the last byte.
func TestF088PortionsAndTurnsAreMadeOnceMoreFromTheirRecords(t *testing.T) {
	w := workloads(t)
	pool := world.Pool("default", "default")
	pool.Limits = model.Resources{model.Nodes: 40}
	w.Cluster.AddPool(pool)
	pending(w, "few", 3, in("normal", world.Shape(1500, gib)))
	reported, dealt := false, false
	for range 4 {
		outcome := bounded(t, w, model.PlanBound{Pods: 1000, Sets: 8, Rules: 20})
		d, known := w.Store.Decision(outcome.Decision)
		if !known {
			continue // nothing was launched, and nothing is new
		}
		facts, err := w.Catalogs().Facts(d.Input, d.Catalog)
		if err != nil {
			t.Fatal(err)
		}
		for i, plan := range replay.ReplayProvision(&d, facts) {
			if !replay.Identical(plan, d.Rounds[i].Plan) {
				t.Errorf("round %d of %s came out otherwise:\nwas %+v\nis  %+v", i, d.ID, d.Rounds[i].Plan, plan)
			}
			reported, dealt = reported || d.Rounds[i].Plan.Later > 0, dealt || len(d.Rounds[i].Input.Served) > 0
		}
		w.Tick(time.Second)
	}
	if !reported || !dealt {
		t.Errorf("a portion is on record: %v; namespaces that were served are: %v", reported, dealt)
	}
}
