package interruption_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// byHand returns a world without any NodePool where people made a NodeClaim, which has become a node with a pod on it.
func byHand(t *testing.T, change func(*model.Claim)) (*world.World, model.Claim) {
	t.Helper()
	w := world.New(world.Options{Types: []string{"m5.large"}, Kubelets: world.KubeletOptions{EvictAfter: 24 * time.Hour}})
	w.Cluster.HoldClaims(true)
	w.Cluster.AddClass(world.Class("default"))
	claim := model.Claim{Name: "mine", Class: "default"}
	if change != nil {
		change(&claim)
	}
	w.Cluster.MakeClaim(claim)
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "web", Shape: big(), Replicas: 1})
	w.Tick(2 * time.Second)
	settle(t, w)
	return w, load(t, w).Claims[0]
}

// F107, F108: a NodeClaim that people made and delete again drains its node; then nothing is left of it, and what it held is
// disrupted.
func TestF107ClaimMadeByHandThatIsDeletedDrains(t *testing.T) {
	w, claim := byHand(t, nil)
	w.Cluster.Delete(world.KindNodeClaim, claim.Name)
	play(t, w, 5*time.Minute)
	ended(t, w, claim)
	left := leaves(w)
	if len(left) != 1 || left[0].verb != "evict" || gone(w, left[0].pod).After(terminated(w, claim.InstanceID)) {
		t.Errorf("%+v", left)
	}
	if counted, claimed := w.Ledger.Held(""); counted[model.Nodes] != 0 || claimed[model.Nodes] != 0 {
		t.Errorf("%v is held, by claims %v", counted, claimed)
	}
	if n := len(w.Fleet.Instances()); n != 1 {
		t.Errorf("%d machines: it was launched again", n)
	}
}

// F106, F107: it expires like any other.
func TestF107ClaimMadeByHandExpires(t *testing.T) {
	expire := int64(1800)
	w, claim := byHand(t, func(c *model.Claim) { c.ExpireSeconds = &expire })
	if sum := play(t, w, 25*time.Minute); sum.Drained > 0 {
		t.Fatalf("before its time: %+v", sum)
	}
	play(t, w, 10*time.Minute)
	ended(t, w, claim)
	if now := claimOf(t, w, claim.Name); now.FailureCode != model.EndedExpired {
		t.Errorf("%s: %s", now.FailureCode, now.FailureMessage)
	}

	w, _ = byHand(t, func(c *model.Claim) { c.ExpireSeconds = nil }) // expireAfter: Never
	if sum := play(t, w, 35*time.Minute); sum.Drained > 0 || len(load(t, w).Claims) != 1 {
		t.Errorf("it expires without an age: %+v", sum)
	}
}

// F107, R32: its node is repaired, unless more than a fifth of all the cluster's nodes are unhealthy.
func TestF107NodeOfClaimMadeByHandIsRepairedByTheGuardOfTheCluster(t *testing.T) {
	w, claim := byHand(t, nil)
	w.Cluster.AddPool(world.Pool("default", "default"))
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "more", Shape: big(), Replicas: 5})
	w.Tick(2 * time.Second)
	settle(t, w)
	others := load(t, w).Claims
	w.Kubelets.Silence(claim.InstanceID)
	play(t, w, 35*time.Minute)
	if now := claimOf(t, w, claim.Name); now.FailureCode != model.EndedUnhealthy {
		t.Errorf("%s %s %s", now.State, now.FailureCode, now.FailureMessage)
	}

	w, claim = byHand(t, nil)
	w.Cluster.AddPool(world.Pool("default", "default"))
	w.Workloads.Add(world.Workload{Kind: world.Deployment, Name: "more", Shape: big(), Replicas: 5})
	w.Tick(2 * time.Second)
	settle(t, w)
	for _, other := range append(others[:0:0], load(t, w).Claims[:3]...) {
		w.Kubelets.Silence(other.InstanceID)
	}
	w.Kubelets.Silence(claim.InstanceID)
	if sum := play(t, w, 40*time.Minute); sum.Drained > 0 {
		t.Errorf("%+v", sum)
	}
}

// F107, S7: after the loss of the ledger it is taken into it again, of no pool as before. Where its object was taken away too, the garbage
// collector deletes its node, which ends it as that ends any other: emptied first.
func TestF107ClaimMadeByHandIsAdoptedOfNoPool(t *testing.T) {
	for name, object := range map[string]bool{"with its object": true, "without it": false} {
		t.Run(name, func(t *testing.T) {
			w, claim := byHand(t, nil)
			w.Ledger.Lose(world.Name)
			if !object {
				w.Cluster.DeleteClaim(claim.Name)
			}
			play(t, w, 6*time.Minute)
			claims, left := load(t, w).Claims, len(instances(w))
			if object && (left != 1 || len(claims) != 1 || claims[0].Pool != "" || claims[0].InstanceID != claim.InstanceID || claims[0].State != model.Initialized || claims[0].Name != "mine") {
				t.Errorf("%d machines: %+v", left, claims)
			}
			if gone := endsOf(w, claim.InstanceID); !object && (left != 0 || len(gone) != 1 || gone[0].Reason != model.EndedNodeDeleted || gone[0].BeganUnix == 0 || gone[0].Claim.Pool != "") {
				t.Errorf("%d machines, ended by %+v", left, gone)
			}
		})
	}
}

// F107: one that got no instance stays until people delete it, and then goes although a finalizer of ours is on it: copied from
// another, say.
func TestF107ClaimMadeByHandWithoutAnInstanceStaysAndGoes(t *testing.T) {
	w := world.New(world.Options{Types: []string{"m5.large"}})
	w.Cluster.HoldClaims(true)
	w.Cluster.AddClass(world.Class("default"))
	for _, capacityType := range []string{model.Spot, model.OnDemand} {
		for _, zone := range []string{"us-west-2a", "us-west-2b", "us-west-2c"} {
			w.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.large", Zone: zone, CapacityType: capacityType}, 0)
		}
	}
	w.Cluster.MakeClaim(model.Claim{Name: "mine", Class: "default"})
	uid := w.Cluster.Claims()[0].UID
	for range 60 {
		_, _ = w.Process(world.Fault{}).Run(t.Context(), provision.TriggerResync)
		if _, err := w.Process(world.Fault{}).Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.Tick(20 * time.Second)
	}
	if objects := w.Cluster.Claims(); len(objects) != 1 || objects[0].UID != uid || objects[0].DeletedUnix != 0 || len(instances(w)) != 0 || w.Fleet.Calls() == 0 {
		t.Fatalf("%+v, %d machines, %d calls", objects, len(instances(w)), w.Fleet.Calls())
	}
	w.Cluster.Hold("mine")
	w.Cluster.Delete(world.KindNodeClaim, "mine")
	if len(w.Cluster.Claims()) != 1 {
		t.Fatal("the finalizer does not hold it")
	}
	play(t, w, 3*time.Minute)
	if objects := w.Cluster.Claims(); len(objects) != 0 {
		t.Errorf("%+v", objects)
	}
}
