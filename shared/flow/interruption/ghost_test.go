package interruption_test

import (
	"context"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// A4, R23: a claim whose instance EC2 says was terminated is closed within 120 s: gone from the ledger with what it held,
// its Node and NodeClaim objects deleted.
func TestA4_R23_ClaimOfAnEndedInstanceIsClosedWithin120Seconds(t *testing.T) {
	w := settled(t, 3, world.Options{Kubelets: world.KubeletOptions{NodeGoneMin: time.Hour, NodeGoneMax: time.Hour}})
	claim := load(t, w).Claims[1]
	w.Fleet.EndByHand(claim.InstanceID)
	w.Tick(time.Second)
	sum := pass(t, w, 120*time.Second)
	if sum.Closed != 1 || len(sum.Terminated) > 0 {
		t.Errorf("%+v", sum.Outcome)
	}
	for _, node := range w.Cluster.Nodes() {
		if node.Name == claim.NodeName {
			t.Errorf("node %s is there", node.Name)
		}
	}
	for _, stored := range records(t, w).Claims {
		if stored.Name == claim.Name && (stored.State != model.Gone || stored.FailureCode != model.EndedInstance || len(stored.Reserved) > 0) {
			t.Errorf("stored %+v", stored)
		}
	}
	sound(t, w)
	nothing(t, w, pass(t, w, 5*time.Minute))
}

// A4: a claim whose instance EC2 shows no more is closed after two reads, and not before its node stopped being Ready.
func TestF104_A4_ClaimOfAMissingInstanceIsClosedOnceItsNodeIsNotReady(t *testing.T) {
	w := settled(t, 2, world.Options{})
	claim := load(t, w).Claims[0]
	w.Tick(11 * time.Minute) // none of the claims is young any more
	hide := map[string]bool{claim.InstanceID: true}
	nothing(t, w, passHiding(t, w, 5*time.Minute, hide))
	w.Kubelets.Silence(claim.InstanceID)
	w.Tick(41 * time.Second)
	sum := passHiding(t, w, 120*time.Second, hide)
	if sum.Closed != 1 || len(sum.Terminated) > 0 {
		t.Errorf("%+v\n%s", sum.Outcome, claimsText(t, w))
	}
}

// passHiding lets time pass with EC2 never showing some instances.
func passHiding(t *testing.T, w *world.World, d time.Duration, hidden map[string]bool) totals {
	t.Helper()
	return passWith(t, w, d, func(ctx context.Context, p *world.Process, flow *interruption.Flow) {
		flow.Connector = hiding{flow.Connector, hidden}
	})
}

type hiding struct {
	port.Connector[interruption.Clients]
	hidden map[string]bool
}

func (h hiding) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := h.Connector.Connect(ctx, reg)
	site.Fleet = hidingFleet{site.Fleet, h.hidden}
	return site, err
}

type hidingFleet struct {
	interruption.Fleet
	hidden map[string]bool
}

func (h hidingFleet) shown(all []model.Instance, err error) ([]model.Instance, error) {
	var out []model.Instance
	for _, i := range all {
		if !h.hidden[i.ID] {
			out = append(out, i)
		}
	}
	return out, err
}

func (h hidingFleet) Owned(ctx context.Context, cluster string) ([]model.Instance, error) {
	return h.shown(h.Fleet.Owned(ctx, cluster))
}

func (h hidingFleet) DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error) {
	return h.shown(h.Fleet.DescribeInstances(ctx, ids))
}

// Scenario 5: describing calls hide new instances for four minutes while the resync runs.
func TestScenario5_InstancesHiddenForFourMinutes(t *testing.T) {
	w := start(t, world.Options{Visibility: 4 * time.Minute, Boot: 6 * time.Minute})
	w.Cluster.AddPods("web", 3, big())
	w.Tick(time.Second)
	if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
		t.Fatal(err)
	}
	nothing(t, w, pass(t, w, 7*time.Minute))
	settle(t, w)
	sound(t, w)
	if len(instances(w)) != 3 {
		t.Errorf("%d machines for three pods", len(instances(w)))
	}
}

// Scenario 6: a listing loses half of its pages, once and again.
func TestScenario6_ListingLosesHalfItsPages(t *testing.T) {
	w := settled(t, 30, world.Options{})
	w.Tick(11 * time.Minute)
	w.Fleet.HalveNext(1)
	nothing(t, w, pass(t, w, 3*time.Minute))
	w.Fleet.HalveNext(20)
	nothing(t, w, pass(t, w, 3*time.Minute))
	w.Fleet.Heal()
	sound(t, w)
}

// R21, S4: instances a listing names twice are looked at once.
func TestR21_S4_InstancesListedTwice(t *testing.T) {
	w := settled(t, 4, world.Options{})
	w.Fleet.AddInstance(orphanOf("default"))
	w.Fleet.DoubleNext(100)
	sum := pass(t, w, 2*time.Minute)
	if len(sum.Terminated) != 1 {
		t.Errorf("%+v", sum.Outcome)
	}
	sound(t, w)
}

// R20, S5: nodes, objects and claims without an id match nothing.
func TestR20_S5_BlankIdsMatchNothing(t *testing.T) {
	w := settled(t, 1, world.Options{})
	w.Cluster.PutNode(model.Node{Name: "blank-1"})
	w.Cluster.PutNode(model.Node{Name: "blank-2", Labels: map[string]string{model.LabelRegistered: "true", model.LabelNodePool: "default"}})
	if _, err := w.Cluster.PutClaim(t.Context(), model.Claim{Name: "by-hand", Pool: "default"}); err != nil {
		t.Fatal(err)
	}
	nothing(t, w, pass(t, w, 10*time.Minute))
	if len(w.Cluster.Nodes()) != 3 || len(w.Cluster.Claims()) != 2 {
		t.Errorf("%d nodes and %d NodeClaims, want 3 and 2", len(w.Cluster.Nodes()), len(w.Cluster.Claims()))
	}
}

// R17: an instance whose node left the cluster is ended within one resync after it was seen twice.
func TestR17_InstanceWithoutItsNodeEnds(t *testing.T) {
	w := settled(t, 3, world.Options{})
	claim := load(t, w).Claims[0]
	w.Cluster.DeleteNode(claim.NodeName)
	sum := pass(t, w, 120*time.Second)
	if len(sum.Terminated) != 1 || sum.Terminated[0] != claim.InstanceID || sum.Drained != 1 || sum.Closed != 1 {
		t.Errorf("%+v\n%s", sum.Outcome, claimsText(t, w))
	}
	sound(t, w)
}

// A node that is deleted and made anew by its kubelet is no reason to end anything.
func TestR17_NodeThatComesBackKeepsItsInstance(t *testing.T) {
	w := settled(t, 2, world.Options{Kubelets: world.KubeletOptions{Rejoins: true}})
	w.Cluster.DeleteNode(load(t, w).Claims[0].NodeName)
	w.Tick(time.Second)
	collect(t, w)
	w.Tick(30 * time.Second)
	settle(t, w)
	nothing(t, w, pass(t, w, 5*time.Minute))
	sound(t, w)
}

// R18: a new instance has the private name of a node that is still there. Each is known by its id: the old one's node is
// removed, the new one's claim lives.
func TestR18_NewInstanceWithTheNameOfAnOldNode(t *testing.T) {
	w := settled(t, 1, world.Options{Kubelets: world.KubeletOptions{HostNames: 1, NodeGoneMin: time.Hour, NodeGoneMax: time.Hour}})
	old := load(t, w).Claims[0]
	w.Fleet.EndByHand(old.InstanceID)
	w.Cluster.DeletePod("default", "web-0")
	w.Kubelets.Silence(old.InstanceID)
	w.Tick(time.Minute)
	w.Cluster.AddPods("more", 1, big())
	w.Tick(time.Second)
	for range 10 {
		_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
		collect(t, w)
		w.Tick(35 * time.Second)
	}
	settle(t, w)
	live := load(t, w).Claims
	if len(live) != 1 || live[0].InstanceID == old.InstanceID || live[0].NodeName != old.NodeName || live[0].NodeUID == old.NodeUID {
		t.Errorf("%s", claimsText(t, w))
	}
	sound(t, w)
}

// R24, S7: an instance that never joins is ended after 15 minutes and its claim closed with the reason.
func TestF102_R24_S7_InstanceThatNeverJoinsEnds(t *testing.T) {
	w := start(t, world.Options{Boot: 10 * time.Hour})
	w.Cluster.AddPods("web", 1, big())
	w.Tick(time.Second)
	if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
		t.Fatal(err)
	}
	nothing(t, w, pass(t, w, 15*time.Minute-30*time.Second))
	sum := pass(t, w, 4*time.Minute)
	if len(sum.Terminated) == 0 || sum.Retired != 1 || sum.Closed != 1 {
		t.Errorf("%+v\n%s", sum.Outcome, claimsText(t, w))
	}
	if claims := records(t, w).Claims; len(claims) != 1 || claims[0].FailureCode != model.EndedNeverRegistered || claims[0].State != model.Gone {
		t.Errorf("%+v", claims)
	}
	sound(t, w)
	if held, _ := w.Ledger.Held("default"); len(held) > 0 {
		t.Errorf("the pool holds %v", held)
	}
}

// R22: a NodeClaim deleted in any phase of its launch ends its instance, pending or not; one whose node carries pods waits.
func TestR22_DeletedDuringEveryPhaseOfTheLaunch(t *testing.T) {
	for phase, after := range map[string]time.Duration{"pending": 5 * time.Second, "joined": 25 * time.Second, "ready": 45 * time.Second} {
		for _, deaf := range []bool{true, false} { // provisioning does not run meanwhile, or does
			w := start(t, world.Options{})
			w.Cluster.AddPods("web", 1, big())
			w.Tick(time.Second)
			if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
				t.Fatal(err)
			}
			w.Cluster.DeletePod("default", "web-0") // nobody needs it any more
			w.Tick(after)
			if !deaf {
				_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
			}
			claim := load(t, w).Claims[0]
			w.Cluster.DeleteClaim(claim.Name)
			sum := pass(t, w, 4*time.Minute)
			if len(sum.Terminated) == 0 || sum.Closed != 1 {
				t.Errorf("%s, deaf %v: %+v\n%s", phase, deaf, sum.Outcome, claimsText(t, w))
			}
			sound(t, w)
		}
	}
	t.Run("with pods", func(t *testing.T) { // they are moved first
		w := settled(t, 1, world.Options{})
		claim := load(t, w).Claims[0]
		w.Cluster.DeleteClaim(claim.Name)
		sum := pass(t, w, 5*time.Minute)
		if sum.Drained != 1 || sum.Evicted != 1 || sum.Deleted > 0 || sum.Closed != 1 {
			t.Errorf("%+v\n%s", sum, claimsText(t, w))
		}
		sound(t, w)
		if live := load(t, w).Claims; len(live) > 0 || len(instances(w)) > 0 {
			t.Errorf("%s", claimsText(t, w))
		}
	})
}

// B8: however many instances lose their nodes at once, no more than the removal limit allows end in any five minutes; those that
// EC2 says have ended are closed all the same.
func TestB8_RemovalLimit(t *testing.T) {
	for nodes, most := range map[int]int{20: 5, 80: 8} {
		w := settled(t, nodes, world.Options{})
		claims := load(t, w).Claims
		for i, node := range w.Cluster.Nodes() {
			if i >= 4 {
				w.Cluster.DeleteNode(node.Name)
			}
		}
		kept := map[string]bool{}
		for _, node := range w.Cluster.Nodes() {
			kept[node.Name] = true
		}
		for _, claim := range claims { // two of the others end by themselves
			if kept[claim.NodeName] && len(kept) > 2 {
				delete(kept, claim.NodeName)
				w.Fleet.EndByHand(claim.InstanceID)
			}
		}
		var ended []time.Time
		first := pass(t, w, 2*time.Minute)
		if first.Closed < 2 || first.Limited == 0 {
			t.Errorf("%d nodes: %+v", nodes, first.Outcome)
		}
		pass(t, w, 20*time.Minute)
		for _, entry := range w.Log.Since(0) {
			if end, ok := entry.Fact.(world.InstanceEnded); ok && end.Cause == "terminate" {
				ended = append(ended, entry.At)
			}
		}
		if len(ended) < 2*most {
			t.Errorf("%d nodes: only %d machines ended in 22 minutes", nodes, len(ended))
		}
		for i, at := range ended {
			n := 0
			for _, other := range ended[i:] {
				if other.Sub(at) < 5*time.Minute {
					n++
				}
			}
			if n > most {
				t.Errorf("%d nodes: %d machines ended in the five minutes from %s, at most %d may", nodes, n, at.Sub(world.Start), most)
			}
		}
	}
}

// Scenario 14, B9: an API server that shows an older state than was seen already is not believed.
func TestScenario14_OldStateOfTheAPIServer(t *testing.T) {
	w := settled(t, 2, world.Options{})
	old, err := w.Cluster.ReadLive(t.Context()) // with two nodes
	if err != nil {
		t.Fatal(err)
	}
	w.Cluster.AddPods("more", 3, big())
	w.Tick(time.Second)
	settle(t, w)
	nothing(t, w, pass(t, w, 2*time.Minute))
	sum := passWith(t, w, 10*time.Minute, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
		flow.Connector = fallenBehind{flow.Connector, old}
	})
	nothing(t, w, sum)
	if len(sum.Problems) == 0 {
		t.Error("nobody is told")
	}
	nothing(t, w, pass(t, w, 5*time.Minute))
	sound(t, w)
}

type fallenBehind struct {
	port.Connector[interruption.Clients]
	old model.LiveState
}

func (b fallenBehind) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := b.Connector.Connect(ctx, reg)
	site.Cluster = oldCluster{site.Cluster, b.old}
	return site, err
}

type oldCluster struct {
	interruption.Cluster
	old model.LiveState
}

func (c oldCluster) ReadLive(context.Context) (model.LiveState, error) { return c.old, nil }

// C12: whatever the clocks of the processes say, nothing is done before its time, and all of it in time.
func TestC12_WrongClocks(t *testing.T) {
	w := settled(t, 2, world.Options{})
	w.Fleet.AddInstance(orphanOf("default"))
	w.Cluster.DeleteNode(load(t, w).Claims[0].NodeName)
	skews := []time.Duration{-5 * time.Minute, 5 * time.Minute, 0}
	run := 0
	skewed := func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
		skew := skews[run%len(skews)]
		run++
		flow.Now = func() time.Time { return w.Clock.Now().Add(skew) }
	}
	// The first checks are less than 30 s apart.
	for range 3 {
		sum := passOnce(t, w, skewed)
		nothing(t, w, sum)
		w.Tick(9 * time.Second)
	}
	sum := passWith(t, w, 2*time.Minute, skewed)
	if len(sum.Terminated) != 2 {
		t.Errorf("%+v", sum.Outcome)
	}
}

// A collector that another has deposed writes nothing more.
func TestCollectorThatLostItsLeaseChangesNothing(t *testing.T) {
	w := settled(t, 2, world.Options{})
	claim := load(t, w).Claims[0]
	w.Fleet.EndByHand(claim.InstanceID)
	w.Tick(5 * time.Second)
	flow := w.Ports(w.Process(world.Fault{}), "first").Interruption(w.Clock.Now, interruption.Settings{})
	flow.Effects = onEffect{interruption.EffectClose, func() {
		if _, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "second", w.Clock.Now().Add(time.Hour).Unix(), w.Clock.Now().Add(2*time.Hour).Unix()); err != nil {
			t.Error(err)
		}
	}}
	outcome, err := flow.Run(t.Context(), interruption.Request{Cluster: world.Name, Owner: "first", Deadline: w.Clock.Now().Add(30 * time.Second)})
	if err != nil || outcome.Closed > 0 || outcome.Removed > 0 {
		t.Errorf("%+v %v", outcome, err)
	}
	if live := load(t, w).Claims; len(live) != 2 {
		t.Errorf("%d live claims, want 2", len(live))
	}
}

type onEffect struct {
	name string
	do   func()
}

func (o onEffect) Before(_ context.Context, effect string) error {
	if effect == o.name {
		o.do()
	}
	return nil
}

func (o onEffect) After(context.Context, string) {}

// Two collectors at once: the second has nothing to do.
func TestSecondCollectorIsSkipped(t *testing.T) {
	w := settled(t, 1, world.Options{})
	if _, err := w.Ledger.AcquireLease(t.Context(), world.Name, model.LeaseCollector, "first", w.Clock.Now().Unix(), w.Clock.Now().Unix()+30); err != nil {
		t.Fatal(err)
	}
	if outcome := collect(t, w); outcome.Skipped == "" {
		t.Errorf("%+v", outcome)
	}
}

// messy is a world with something of everything to collect: an instance nobody owns, one that ended, one without its node,
// one whose NodeClaim was deleted before it joined, and one whose record is lost.
func messy(t *testing.T) *world.World {
	w := settled(t, 4, world.Options{})
	claims := load(t, w).Claims
	w.Fleet.AddInstance(orphanOf("default"))
	w.Fleet.EndByHand(claims[0].InstanceID)
	w.Cluster.DeleteNode(claims[1].NodeName)
	w.Ledger.Forget(world.Name, claims[2].Name)
	w.Cluster.AddPods("late", 1, big())
	w.Tick(time.Second)
	if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
		t.Fatal(err)
	}
	w.Cluster.DeletePod("default", "late-0")
	for _, claim := range load(t, w).Claims {
		if claim.State == model.Launched {
			w.Cluster.DeleteClaim(claim.Name)
		}
	}
	return w
}

// Every effect of the runs that clear a mess up may go wrong in every way, once: the end is the same.
func TestEveryEffectMayGoWrong(t *testing.T) {
	tidy := func(t *testing.T, w *world.World) {
		t.Helper()
		for range 8 {
			_, _ = w.Process(world.Fault{}).Collect(t.Context())
			_, _ = drainOnce(t, w, w.Process(world.Fault{}))
			w.Tick(35 * time.Second)
		}
		sound(t, w)
		if live := load(t, w).Claims; len(live) != 2 || len(instances(w)) != 2 {
			t.Errorf("%d live claims and %d machines, want 2 and 2\n%s", len(live), len(instances(w)), claimsText(t, w))
		}
	}
	calm := messy(t)
	var effects [][]string // of the first runs
	for range 3 {
		p := calm.Process(world.Fault{})
		if _, err := p.Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		effects = append(effects, p.Effects())
		calm.Tick(35 * time.Second)
	}
	tidy(t, calm)
	seen := map[string]bool{}
	for run, names := range effects {
		for i, effect := range names {
			seen[effect] = true
			for _, mode := range world.Modes {
				w := messy(t)
				for range run {
					collect(t, w)
					w.Tick(35 * time.Second)
				}
				_, _ = w.Process(world.Fault{At: i + 1, Mode: mode}).Collect(t.Context()) // its error is what the fault made it
				w.Tick(35 * time.Second)
				tidy(t, w)
				if t.Failed() {
					t.Fatalf("run %d, effect %d: %s %s", run+1, i+1, effect, mode)
				}
			}
		}
	}
	for _, effect := range []string{"hold", "note", "advance", "node", "plan", "drain", "terminate", "close", "adopt", "remove", "look", "release"} {
		if !seen[effect] {
			t.Errorf("the runs never came to %q: %v", effect, effects)
		}
	}
}

// The collector state of a cluster without instances is written every few minutes, and at once where something is to be remembered.
func TestIdleClusterIsNotedEveryFewMinutes(t *testing.T) {
	w := start(t, world.Options{})
	cases := func() model.CollectorState {
		t.Helper()
		records, err := w.Ledger.Records(t.Context(), world.Registration())
		if err != nil {
			t.Fatal(err)
		}
		return records.Collector
	}
	pass(t, w, time.Minute)
	before := cases().Version
	pass(t, w, 30*time.Minute)
	if n := cases().Version - before; n < 5 || n > 10 {
		t.Errorf("it was written %d times in half an hour", n)
	}
	if age := w.Clock.Now().Unix() - cases().AtUnix; age > 10*60 {
		t.Errorf("it is %d s old: suspicions would begin anew", age)
	}
	w.Fleet.GiveMore(2)
	w.Cluster.AddPods("web", 1, big())
	w.Tick(time.Second)
	if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
		t.Fatal(err)
	}
	w.Tick(5 * time.Second)
	before = cases().Version
	passOnce(t, w, func(context.Context, *world.Process, *interruption.Flow) {})
	if c := cases(); c.Version == before || len(c.Suspects) == 0 {
		t.Errorf("a machine that nobody owns is not remembered: %+v", c)
	}
}

// A tick becomes one hint for each attached cluster; one that is paused gets none.
func TestTickFansOut(t *testing.T) {
	w := start(t, world.Options{})
	paused := world.Registration()
	paused.Cluster, paused.Paused = "asleep", true
	if err := w.Ledger.Register(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	flow := w.Ports(w.Process(world.Fault{}), "tick").Interruption(w.Clock.Now, interruption.Settings{})
	if sent, err := flow.FanOut(t.Context(), "2026-03-01T12:00:00Z"); sent != 1 || err != nil || w.Passes.Len() != 1 {
		t.Errorf("%d sent, %v; %d in the queue", sent, err, w.Passes.Len())
	}
	outcome, err := flow.Run(t.Context(), interruption.Request{Cluster: "asleep", Owner: "a", Deadline: w.Clock.Now().Add(30 * time.Second)})
	if err != nil || outcome.Skipped == "" {
		t.Errorf("%+v %v", outcome, err)
	}
	outcome, err = flow.Run(t.Context(), interruption.Request{Cluster: "never", Owner: "a", Deadline: w.Clock.Now().Add(30 * time.Second)})
	if err != nil || outcome.Skipped == "" {
		t.Errorf("%+v %v", outcome, err)
	}
}

// X13: the end of an instance is recorded, with who wanted it.
func TestX13TheEndOfAnInstanceIsRecorded(t *testing.T) {
	w := house(t, 2, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	w.Cluster.Delete(world.KindNodeClaim, claim.Name)
	play(t, w, 5*time.Minute)
	ended(t, w, claim)
	removals := w.Store.Removals()
	if len(removals) != 1 || removals[0].Claim.Name != claim.Name || removals[0].Claim.InstanceID != claim.InstanceID || removals[0].By == "" {
		t.Errorf("%+v", removals)
	}
}
