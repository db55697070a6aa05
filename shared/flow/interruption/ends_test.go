package interruption_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// aging returns a house whose pool's nodes expire after a while and have a grace; nil = none.
func aging(t *testing.T, pods int, expire, grace *time.Duration, change func(*model.PodShape)) *world.World {
	t.Helper()
	w := start(t, world.Options{Kubelets: world.KubeletOptions{EvictAfter: 24 * time.Hour}})
	w.Cluster.HoldClaims(true)
	pool := world.Pool("default", "default")
	seconds := func(d *time.Duration) *int64 {
		if d == nil {
			return nil
		}
		s := int64(d.Seconds())
		return &s
	}
	pool.Template.ExpireAfterSeconds, pool.Template.GraceSeconds = seconds(expire), seconds(grace)
	w.Cluster.AddPool(pool)
	shape := big()
	if change != nil {
		change(&shape)
	}
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: shape, Replicas: pods})
	w.Tick(2 * time.Second)
	settle(t, w)
	return w
}

func lasting(d time.Duration) *time.Duration { return &d }

// F106, F113: a claim that has come of age is drained, budgets of its pool or not, and with a grace it is gone by then although a
// PodDisruptionBudget forbids it.
func TestF106_ClaimsOfAgeAreDrained(t *testing.T) {
	w := aging(t, 1, lasting(30*time.Minute), nil, nil)
	claim := load(t, w).Claims[0]
	sum := play(t, w, 28*time.Minute)
	if sum.Drained > 0 {
		t.Fatalf("before its time: %+v", sum)
	}
	play(t, w, 6*time.Minute)
	ended(t, w, claim)
	if now := claimOf(t, w, claim.Name); now.FailureCode != model.EndedExpired {
		t.Errorf("%s: %s", now.FailureCode, now.FailureMessage)
	}
	if saying(w, "NodeClaim", claim.Name, "DisruptionTerminating") == "" {
		t.Error("nobody is told")
	}
	if left := leaves(w); len(left) != 1 || left[0].verb != "evict" {
		t.Errorf("%+v", left)
	}

	w = aging(t, 1, lasting(20*time.Minute), lasting(10*time.Minute), labeled)
	budget(w, "none", "0")
	claim = load(t, w).Claims[0]
	play(t, w, 34*time.Minute)
	ended(t, w, claim)
}

// R32, F146: a node that has been NotReady for half an hour is repaired: its pods are deleted with a second of grace, whatever
// forbids it.
func TestR32_UnhealthyNodeIsRepairedByForce(t *testing.T) {
	w := aging(t, 6, nil, lasting(24*time.Hour), labeled)
	budget(w, "none", "0")
	claim := load(t, w).Claims[0]
	w.Kubelets.Silence(claim.InstanceID)
	sum := play(t, w, 29*time.Minute)
	if sum.Drained+sum.Evicted+sum.Deleted > 0 {
		t.Fatalf("before its time: %+v", sum)
	}
	sum = play(t, w, 5*time.Minute)
	if now := claimOf(t, w, claim.Name); now.FailureCode != model.EndedUnhealthy || terminated(w, claim.InstanceID).IsZero() {
		t.Errorf("%s %s %+v: %+v", now.State, now.FailureCode, now.Drain, sum)
	}
	for _, l := range leaves(w) {
		if l.verb != "delete" || l.grace > 2*time.Second {
			t.Errorf("%+v", l)
		}
	}
	if len(instances(w)) < 6 {
		t.Errorf("%d machines: it was not replaced", len(instances(w)))
	}
}

// R62, S35: an instance whose status checks have failed for two minutes is ended, not coaxed: within a few minutes more it has
// gone, whatever forbids its pods to leave.
func TestR62_ImpairedInstanceIsEndedNotCoaxed(t *testing.T) {
	w := aging(t, 3, nil, lasting(24*time.Hour), labeled)
	budget(w, "none", "0")
	claim := load(t, w).Claims[0]
	w.Fleet.Impair(claim.InstanceID, model.ImpairedSystem, "")
	if sum := play(t, w, 119*time.Second); sum.Drained > 0 {
		t.Fatalf("before its time: %+v", sum)
	}
	play(t, w, 4*time.Minute)
	ended(t, w, claim)
	if now := claimOf(t, w, claim.Name); now.FailureCode != model.EndedStatusFailed {
		t.Errorf("%s: %s", now.FailureCode, now.FailureMessage)
	}
	if saying(w, "NodeClaim", claim.Name, "TerminatingOnInterruption") == "" {
		t.Error("nobody is told")
	}
}

// B8: however many nodes are unhealthy at once, the guard of the pool and the removal limit let few of them go.
func TestB8_RepairIsLimited(t *testing.T) {
	w := aging(t, 20, nil, nil, nil)
	for _, claim := range load(t, w).Claims[:10] {
		w.Kubelets.Silence(claim.InstanceID)
	}
	sum := play(t, w, 40*time.Minute)
	if sum.Drained > 0 || len(leaves(w)) > 0 {
		t.Errorf("half of the pool is NotReady: %+v", sum)
	}
	if saying(w, "NodePool", "default", "NodeRepairBlocked") == "" {
		t.Error("nobody is told")
	}
}

// F108, CT-01: a node that is deleted drains first; so does one of a claim nobody has registered, where it carries pods (R67).
func TestR67_DeletedClaimOfAnUnregisteredNodeIsDrained(t *testing.T) {
	w := house(t, 1, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	again := claim // as after an adoption
	again.State, again.NodeName, again.NodeUID = model.Launched, "", ""
	if _, err := w.Ledger.Advance(t.Context(), world.Name, again); err != nil {
		t.Fatal(err)
	}
	w.Cluster.Delete(world.KindNodeClaim, claim.Name)
	sum := pass(t, w, 5*time.Minute)
	if sum.Evicted != 1 || sum.Deleted > 0 || gone(w, leaves(w)[0].pod).After(terminated(w, claim.InstanceID)) {
		t.Errorf("%+v, %+v", sum, leaves(w))
	}
	ended(t, w, claim)
}

// CT01: an instance that nobody owns ends with its node; young and owned ones stay.
func TestCT01_OrphanEndsWithItsNode(t *testing.T) {
	w := house(t, 1, world.Options{}, nil)
	id := w.Fleet.AddInstance(orphanOf("default"))
	w.Tick(2 * time.Minute) // it joins, and nobody registers its node
	joined := func() bool {
		for _, node := range w.Cluster.Nodes() {
			if strings.Contains(node.ProviderID, id) {
				return true
			}
		}
		return false
	}
	nothing(t, w, pass(t, w, 29*time.Second))
	pass(t, w, 3*time.Minute)
	if m, _ := w.Fleet.Instance(id); m.State != "terminated" || joined() {
		t.Errorf("machine %s is %s, its node is there: %v", id, m.State, joined())
	}
	if len(instances(w)) != 1 {
		t.Errorf("%d machines", len(instances(w)))
	}
}

// The annotation of a deadline that people put on a NodeClaim brings the deadline of its drain forward.
func TestF113_AnnotationBringsTheDeadlineForward(t *testing.T) {
	w := house(t, 1, world.Options{}, labeled)
	budget(w, "none", "0")
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	play(t, w, 2*time.Minute)
	w.Cluster.SetDeadline(claim.Name, w.Clock.Now().Add(3*time.Minute).Unix())
	sum := play(t, w, 5*time.Minute)
	if sum.Hastened != 1 || sum.Deleted != 1 {
		t.Errorf("%+v", sum)
	}
	ended(t, w, claim)
}

// A spot instance that is taken back while its node is being drained, slowly, is drained within the warning.
func TestC1_InterruptionHastensADrain(t *testing.T) {
	w := house(t, 1, world.Options{}, labeled)
	budget(w, "none", "0")
	claim := load(t, w).Claims[0]
	begun := end(t, w, claim, model.EndedExpired, 0)
	play(t, w, time.Minute)
	begun = claimOf(t, w, begun.Name)
	end(t, w, begun, model.EndedSpotInterrupted, 115*time.Second)
	play(t, w, 118*time.Second)
	if left := podsOn(w, claim); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	for _, l := range leaves(w) {
		if l.verb != "delete" || l.grace < 20*time.Second {
			t.Errorf("%+v", l)
		}
	}
	play(t, w, time.Minute)
	ended(t, w, claim)
}

// R63: a lost hint costs a minute: the look finds the drain that is overdue.
func TestR63_LostHintOfADrainCostsAMinute(t *testing.T) {
	w := house(t, 2, world.Options{}, labeled)
	budget(w, "all", "0")
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	for range 3 {
		play(t, w, 90*time.Second)
		w.Tick(31 * time.Second) // the next hint has arrived
		messages, err := w.Passes.Receive(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range messages { // lost
			if err := w.Passes.Delete(t.Context(), m.Receipt); err != nil {
				t.Fatal(err)
			}
		}
		before := claimOf(t, w, claim.Name).Drain.DueUnix
		sum := play(t, w, 65*time.Second)
		if after := claimOf(t, w, claim.Name).Drain.DueUnix; after == before || sum.drains == 0 {
			t.Errorf("it stands still: %+v", sum)
		}
	}
}

// A cluster that is paused drains nothing.
func TestPausedClusterDrainsNothing(t *testing.T) {
	w := house(t, 1, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	reg := world.Registration()
	reg.Paused = true
	if err := w.Ledger.Register(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
	sum := passWith(t, w, 5*time.Minute, func(context.Context, *world.Process, *interruption.Flow) {})
	if len(leaves(w)) > 0 || len(sum.Terminated) > 0 {
		t.Errorf("%+v", sum)
	}
	if err := w.Ledger.Register(t.Context(), world.Registration()); err != nil {
		t.Fatal(err)
	}
	play(t, w, 5*time.Minute)
	ended(t, w, claim)
}
