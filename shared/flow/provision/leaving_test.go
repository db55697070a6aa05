package provision_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// occupied returns a world whose replicas of a Deployment run on one instance.
func occupied(t *testing.T, replicas int, shape model.PodShape) *world.World {
	t.Helper()
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: shape, Replicas: replicas})
	w.Tick(5 * time.Second)
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	if claim := onlyClaim(t, w); claim.State != model.Initialized || len(w.Cluster.Nodes()) != 1 {
		t.Fatalf("claim %s is %s", claim.Name, claim.State)
	}
	return w
}

// end decides that a claim is to end, by a deadline where that is not 0.
func end(t *testing.T, w *world.World, claim model.Claim, deadline int64) model.Claim {
	t.Helper()
	claim.State, claim.FailureCode = model.Draining, model.EndedExpired
	claim.Drain = &model.Drain{SinceUnix: w.Clock.Now().Unix(), DeadlineUnix: deadline}
	claim, err := w.Ledger.Advance(t.Context(), world.Name, claim)
	if err != nil {
		t.Fatal(err)
	}
	return claim
}

func claimNames(t *testing.T, w *world.World) []string {
	t.Helper()
	var names []string
	for _, claim := range load(t, w).Claims {
		if claim.Live() {
			names = append(names, claim.Name)
		}
	}
	return names
}

// B5, S9: pods of a node that is being emptied ask for capacity once, before its taint is on it, and however often somebody
// looks; when they are made anew they find it.
func TestB5S9PodsOfADrainingNodeAreCountedOnce(t *testing.T) {
	w := occupied(t, 2, world.Shape(800, gib))
	old := end(t, w, onlyClaim(t, w), 0)
	before, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if outcome := pass(t, w, provision.TriggerDrain); outcome.Claims != 1 || outcome.Pending != 2 || outcome.Decision == "" {
		t.Fatalf("%+v, want one machine for both pods", outcome)
	}
	if replaced := load(t, w).Notes.Replaced; !slices.Equal(replaced, []string{old.Name}) {
		t.Errorf("replaced %v", replaced)
	}
	if hasKey(before.Nodes[0].Taints, model.TaintDisrupted) || hasKey(onlyNode(t, w).Taints, model.TaintDisrupted) {
		t.Error("the snapshot others share, or the node itself, was tainted")
	}
	for range 4 {
		w.Tick(20 * time.Second)
		if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 || outcome.Nominated != 2 {
			t.Fatalf("planned again: %+v", outcome)
		}
	}
	if held, _ := w.Ledger.Held("default"); held[model.Nodes] != 2 {
		t.Errorf("the pool holds %v: a machine that is being emptied counts against limits until it is gone", held)
	}
	// Evicted one after the other: old pods end, new ones come.
	for _, pod := range before.Pods {
		if err := w.Cluster.Evict(t.Context(), model.PodRef{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, nil); err != nil {
			t.Fatal(err)
		}
		w.Tick(2 * time.Second)
		if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 0 {
			t.Fatalf("capacity bought twice: %+v", outcome)
		}
	}
	w.Tick(time.Minute)
	pass(t, w, provision.TriggerResync)
	for _, pod := range pods(t, w) {
		if pod.NodeName == "" || pod.NodeName == old.NodeName && pod.DeletedUnix == 0 {
			t.Errorf("pod %s is on %q", pod.Name, pod.NodeName)
		}
	}
	if n := len(w.Fleet.Instances()); n != 2 {
		t.Errorf("%d machines, want the old and the new one", n)
	}
	// The note goes with the drain.
	fence, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "a", w.Clock.Now().Unix(), w.Clock.Now().Unix()+30)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Ledger.CloseClaim(t.Context(), fence, old, w.Clock.Now().Unix()); err != nil {
		t.Fatal(err)
	}
	pass(t, w, provision.TriggerResync)
	if replaced := load(t, w).Notes.Replaced; len(replaced) != 0 {
		t.Errorf("replaced %v after the end", replaced)
	}
}

func pods(t *testing.T, w *world.World) []model.Pod {
	t.Helper()
	snapshot, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snapshot.Pods
}

// R43, S9: the order is launched, then noted, then (by the drain, which reads the note) evicted. A process killed at any
// effect never leaves a note without an instance on its way.
func TestR43ReplacementIsThereBeforeItIsNoted(t *testing.T) {
	for _, mode := range world.Modes {
		for at := 1; ; at++ {
			w := occupied(t, 1, world.Shape(1500, gib))
			old := end(t, w, onlyClaim(t, w), 0)
			process := w.Process(world.Fault{At: at, Mode: mode})
			_, _ = process.Run(t.Context(), provision.TriggerDrain)
			ledger := load(t, w)
			if slices.Contains(ledger.Notes.Replaced, old.Name) && len(claimNames(t, w)) != 2 {
				t.Fatalf("%s at effect %d (%v): noted, and only the claims %v", mode, at, process.Effects(), claimNames(t, w))
			}
			if len(process.Effects()) < at {
				break
			}
			for range 8 { // whatever it left, the next ones finish
				w.Tick(30 * time.Second)
				_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
			}
			if !slices.Contains(load(t, w).Notes.Replaced, old.Name) || len(claimNames(t, w)) != 2 || len(w.Fleet.Instances()) != 2 {
				t.Fatalf("%s at effect %d: claims %v, %d machines, note %v", mode, at, claimNames(t, w), len(w.Fleet.Instances()), load(t, w).Notes.Replaced)
			}
		}
	}
}

// R6, R30: pods that cannot leave ask for no instance as long as nobody makes them, however often somebody looks; where there
// is a deadline they get theirs once, shortly before it.
func TestR30UndrainablePodsGetOneReplacementAndOnlyBeforeTheDeadline(t *testing.T) {
	keep := world.Shape(1500, gib)
	keep.DoNotDisrupt = "true"
	guarded := world.Shape(1500, gib)
	guarded.Labels = map[string]string{"app": "web"}
	for name, shape := range map[string]model.PodShape{"do-not-disrupt": keep, "budget": guarded} {
		t.Run(name, func(t *testing.T) {
			w := occupied(t, 1, shape)
			w.Cluster.AddBudget(model.PDB{Namespace: "default", Name: "b", Selector: &model.Selector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: "0"})
			claim := end(t, w, onlyClaim(t, w), 0)
			for range 30 {
				w.Tick(time.Minute)
				if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 || outcome.Pending != 0 {
					t.Fatalf("without a deadline: %+v", outcome)
				}
			}
			if !slices.Contains(load(t, w).Notes.Replaced, claim.Name) {
				t.Error("the drain is not told that there is nothing to wait for")
			}
			claim = load(t, w).Claims[0]
			deadline := w.Clock.Now().Add(time.Hour)
			claim.Drain.DeadlineUnix = deadline.Unix()
			if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
				t.Fatal(err)
			}
			launched, at := 0, time.Duration(0)
			for w.Clock.Now().Before(deadline) {
				w.Tick(time.Minute)
				if outcome := pass(t, w, provision.TriggerResync); outcome.Claims > 0 {
					launched, at = launched+outcome.Claims, deadline.Sub(w.Clock.Now())
				}
			}
			if launched != 1 || at < 2*time.Minute || at > 6*time.Minute {
				t.Errorf("%d machines, the last %s before the deadline; want one, some minutes before", launched, at)
			}
		})
	}
}

// R6: what goes with its node, or has ended, asks for nothing.
func TestR6DaemonsAndEndedPodsOfALeavingNodeAddNoInstance(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Cluster.AddDaemonSet("agent", world.Shape(50, gib/8))
	w.Workloads.Add(world.Workload{Kind: world.Job, Name: "once", Shape: world.Shape(800, gib), Replicas: 1, Runs: 30 * time.Second})
	w.Tick(5 * time.Second)
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	w.Tick(2 * time.Minute)
	ended := 0
	for _, pod := range pods(t, w) {
		if pod.Terminal() {
			ended++
		}
	}
	if ended != 1 || len(pods(t, w)) != 2 {
		t.Fatalf("%d of %d pods have ended", ended, len(pods(t, w)))
	}
	end(t, w, onlyClaim(t, w), w.Clock.Now().Unix()+1)
	if outcome := pass(t, w, provision.TriggerDrain); outcome.Claims != 0 || outcome.Pending != 0 {
		t.Errorf("%+v", outcome)
	}
}

// An instance that is being emptied is no capacity for others from the moment that is on record, taint or not.
func TestNothingIsPlannedOntoADrainingNode(t *testing.T) {
	w := occupied(t, 1, world.Shape(500, gib))
	claim := onlyClaim(t, w)
	shape := world.Shape(600, gib) // it would fit beside the other
	shape.NodeSelector = map[string]string{model.LabelCapacityType: claim.CapacityType}
	w.Cluster.AddPods("more", 1, shape)
	end(t, w, claim, 0)
	snapshot, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range snapshot.Pods { // before kube-scheduler, which knows nothing of it, has looked
		if pod.Name == "more-0" && pod.NodeName != "" {
			t.Fatal("bound already")
		}
	}
	if outcome := pass(t, w, provision.TriggerDrain); outcome.Claims != 1 {
		t.Fatalf("%+v", outcome)
	}
	if n := len(w.Fleet.Instances()); n != 2 {
		t.Errorf("%d machines", n)
	}
}

// A static pool has its number of instances beside those that are to end, within its limits.
func TestStaticPoolReplacesADrainingInstance(t *testing.T) {
	w := world.New(world.Options{Types: []string{"m5.large"}})
	w.Cluster.AddClass(world.Class("default"))
	pool := world.Pool("fixed", "default")
	two := int64(2)
	pool.Replicas = &two
	w.Cluster.AddPool(pool)
	pass(t, w, provision.TriggerConfig)
	settle(t, w)
	end(t, w, load(t, w).Claims[0], 0)
	if outcome := pass(t, w, provision.TriggerDrain); outcome.Claims != 1 {
		t.Fatalf("%+v", outcome)
	}
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 0 {
		t.Errorf("once more: %+v", outcome)
	}
}

func TestDrainHintAsksForARun(t *testing.T) {
	var request provision.Request
	request.Take(wire.Hint{Cluster: "c", Reason: wire.ReasonResync})
	request.Take(wire.Hint{Cluster: "c", Reason: wire.ReasonLeaving})
	if request.Trigger != provision.TriggerDrain {
		t.Errorf("a drain hint makes a run of %q", request.Trigger)
	}
}

// C1: of ends that begin while a run launches for others the same run takes care, before it shows what it launched, and each of
// them is noted as soon as EC2 was asked for what its pods need.
func TestC1_EndsThatBeginDuringALaunchArePlannedForBeforeAnythingIsShown(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: world.Shape(1500, gib), Replicas: 2})
	w.Tick(5 * time.Second)
	pass(t, w, provision.TriggerBatch)
	settle(t, w)
	claims := load(t, w).Claims
	end(t, w, claims[0], 0)
	flow := w.Process(world.Fault{}).Flow()
	launches, spent, shown := 0, []string(nil), []string(nil) // who is noted when calls were last taken, and when something is shown
	flow.Effects = beforeEffect(func(effect string) {
		switch effect {
		case provision.EffectLaunch:
			if launches++; launches == 1 {
				end(t, w, claims[1], 0)
			}
		case provision.EffectSpend:
			spent = load(t, w).Notes.Replaced
		case provision.EffectPutClaim:
			if shown == nil {
				shown = load(t, w).Notes.Replaced
			}
		}
	})
	outcome, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Trigger: provision.TriggerDrain, Owner: "a", Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
	if err != nil || outcome.Claims != 2 || launches != 2 {
		t.Fatalf("%d launches, %+v, %v", launches, outcome, err)
	}
	both := []string{claims[0].Name, claims[1].Name}
	slices.Sort(both)
	if !slices.Equal(spent, []string{claims[0].Name}) || !slices.Equal(shown, both) {
		t.Errorf("noted before the second launch %v, want %s; before anything is shown %v, want %v", spent, claims[0].Name, shown, both)
	}
	if n := len(w.Fleet.Instances()); n != 4 {
		t.Errorf("%d machines, want one more for each of two", n)
	}
}

// beforeEffect is an Effects that is called before each effect.
type beforeEffect func(effect string)

func (do beforeEffect) Before(_ context.Context, effect string) error {
	do(effect)
	return nil
}

func (beforeEffect) After(context.Context, string) {}

// C1: while very many pods are asked to leave the API server is not asked to show new NodeClaims; a later run does, before their
// instances can have joined, however long the rush goes on.
func TestC1_ShowingMakesRoomForManyEvictions(t *testing.T) {
	for name, c := range map[string]struct {
		nodes       int
		since       time.Duration // since the ends began
		first, then int           // NodeClaims that are shown at once, and 16 s later, when as many ends have just begun
	}{"many": {21, 0, 0, 21}, "few": {20, 0, 20, 0}, "many, a while ago": {21, 11 * time.Second, 21, 0}} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: world.Shape(1500, gib), Replicas: c.nodes})
			w.Tick(5 * time.Second)
			pass(t, w, provision.TriggerBatch)
			settle(t, w)
			for _, claim := range load(t, w).Claims {
				end(t, w, claim, 0)
			}
			w.Clock.Advance(c.since)
			shown := func() int {
				n := 0
				flow := w.Process(world.Fault{}).Flow()
				flow.Effects = beforeEffect(func(effect string) {
					if effect == provision.EffectNote {
						n++
					}
				})
				_, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Trigger: provision.TriggerDrain, Owner: w.Clock.Now().String(), Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			if n := shown(); n != c.first {
				t.Errorf("%d NodeClaims were shown, want %d", n, c.first)
			}
			w.Clock.Advance(16 * time.Second)
			for _, claim := range load(t, w).Claims {
				if claim.State == model.Draining { // as if the rush went on
					claim.Drain.SinceUnix = w.Clock.Now().Unix()
					if _, err := w.Ledger.Advance(t.Context(), world.Name, claim); err != nil {
						t.Fatal(err)
					}
				}
			}
			if n := shown(); n != c.then {
				t.Errorf("16 s later %d NodeClaims were shown, want %d", n, c.then)
			}
		})
	}
}

// In a rush nothing is said of pods that are about to be asked to leave: what takes their places are other pods.
func TestC1_InARushPodsThatAreToLeaveAreNotNominated(t *testing.T) {
	for nodes, want := range map[int]int{21: 0, 20: 20} {
		w := start(t, world.Options{Types: []string{"m5.large"}})
		w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: world.Shape(1500, gib), Replicas: nodes})
		w.Tick(5 * time.Second)
		pass(t, w, provision.TriggerBatch)
		settle(t, w)
		for _, claim := range load(t, w).Claims {
			end(t, w, claim, 0)
		}
		nominated := func() int {
			n := 0
			for _, pod := range w.Cluster.Pods() {
				for _, event := range w.Cluster.Events("Pod", pod.Name) {
					if event.Reason == "Nominated" {
						n++
					}
				}
			}
			return n
		}
		before := nominated()
		if outcome := pass(t, w, provision.TriggerDrain); outcome.Claims != nodes {
			t.Fatalf("%d machines were launched for the pods of %d nodes", outcome.Claims, nodes)
		}
		if n := nominated() - before; n != want {
			t.Errorf("of %d ends that have just begun %d pods were nominated, want %d", nodes, n, want)
		}
	}
}
