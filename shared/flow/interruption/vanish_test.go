package interruption_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// whole fails unless a claim's instance runs, its node is there, is not being deleted and bears no taint, and nobody asked EC2 to
// end it.
func whole(t *testing.T, w *world.World, claim model.Claim) {
	t.Helper()
	if now := claimOf(t, w, claim.Name); now.Ending() || now.State == model.Gone || now.InstanceID != claim.InstanceID {
		t.Errorf("claim %s is %s: %s", now.Name, now.State, now.FailureMessage)
	}
	if at := terminated(w, claim.InstanceID); !at.IsZero() {
		t.Errorf("instance %s was terminated at %s", claim.InstanceID, at)
	}
	snapshot, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range snapshot.Nodes {
		if node.Name == claim.NodeName {
			if node.DeletedUnix != 0 || len(node.Taints) > 0 || node.UID != claim.NodeUID {
				t.Errorf("node %s is being deleted %d, taints %v", node.Name, node.DeletedUnix, node.Taints)
			}
			return
		}
	}
	t.Errorf("node %s is gone", claim.NodeName)
}

// A definition that is deleted takes every object with it and nothing of the instances; once it and the NodePools are there again
// every NodeClaim is, too, and owns its node. What people delete after that ends.
func TestDefinitionsThatVanishEndNothingAndNodeClaimsComeBack(t *testing.T) {
	w := house(t, 3, world.Options{}, nil)
	before := load(t, w).Claims
	instances := len(w.Fleet.Instances())
	w.Cluster.DeleteDefinitions()
	play(t, w, 20*time.Minute)
	for _, claim := range before {
		whole(t, w, claim)
		if now := claimOf(t, w, claim.Name); !now.Vanished || now.ObjectUID != "" {
			t.Errorf("%+v", now)
		}
	}
	if !w.Cluster.DefineAnew() {
		t.Fatal("a finalizer still holds an object")
	}
	play(t, w, 5*time.Minute)
	for _, claim := range before {
		whole(t, w, claim)
	}
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(world.Pool("default", "default"))
	play(t, w, 5*time.Minute)
	for _, claim := range before {
		whole(t, w, claim)
		if now := claimOf(t, w, claim.Name); now.Vanished || now.ObjectUID == "" || now.ObjectUID == claim.ObjectUID || now.PoolUID == claim.PoolUID {
			t.Errorf("%+v", now)
		}
	}
	if n := len(w.Fleet.Instances()); n != instances {
		t.Errorf("%d machines, were %d", n, instances)
	}
	w.Cluster.Delete(world.KindPool, "default")
	play(t, w, 5*time.Minute)
	for _, claim := range before {
		ended(t, w, claim)
	}
}

// A drain that a budget blocks goes on without its NodeClaim, or the definition could not be applied anew before it is over.
func TestDefinitionsDoNotWaitForDrains(t *testing.T) {
	w := house(t, 2, world.Options{}, labeled)
	claim := load(t, w).Claims[0]
	budget(w, "none", "0")
	w.Cluster.Delete(world.KindNodeClaim, claim.Name)
	play(t, w, time.Minute)
	w.Cluster.DeleteDefinitions()
	play(t, w, 5*time.Minute)
	if !w.Cluster.DefineAnew() {
		t.Error("the drain still holds its NodeClaim")
	}
	now := claimOf(t, w, claim.Name)
	if now.State != model.Draining || !now.Vanished || now.ObjectUID != "" {
		t.Errorf("%+v", now)
	}
}

// What was to end before the definitions went ends all the same, and a look asks for the drain run that a lost message asked for; a
// instance that EC2 ends is closed and its Node released. The others stay.
func TestM28EndsGoOnWhileNodeClaimsAreNotDefined(t *testing.T) {
	w := house(t, 3, world.Options{}, nil)
	before := load(t, w).Claims
	w.Cluster.DeleteDefinitions()
	play(t, w, 2*time.Minute) // all of them are released
	if _, err := w.Cluster.ReadLive(t.Context()); fault.CodeOf(err) != model.CodeUndefined {
		t.Fatalf("NodeClaims are still there: %v", err)
	}
	end(t, w, claimOf(t, w, before[0].Name), model.EndedSpotInterrupted, time.Minute)
	messages, err := w.Passes.Receive(t.Context(), 10) // what was asked for is lost
	if err != nil || len(messages) == 0 {
		t.Fatalf("%d messages: %v", len(messages), err)
	}
	for _, m := range messages {
		if err := w.Passes.Delete(t.Context(), m.Receipt); err != nil {
			t.Fatal(err)
		}
	}
	w.Fleet.EndByHand(before[1].InstanceID)
	play(t, w, 5*time.Minute)
	ended(t, w, before[0])
	ended(t, w, before[1])
	whole(t, w, before[2])
}

// Applied anew before anybody looked, the definitions are younger than what the garbage collector deletes.
func TestDefinitionsThatAreBackAtOnceEndNothing(t *testing.T) {
	w := house(t, 2, world.Options{}, nil)
	before := load(t, w).Claims
	w.Cluster.RecreatePools()
	w.Cluster.AddPool(world.Pool("default", "default"))
	play(t, w, 10*time.Minute)
	for _, claim := range before {
		whole(t, w, claim)
		if now := claimOf(t, w, claim.Name); now.Vanished || now.ObjectUID == "" || now.PoolUID == claim.PoolUID {
			t.Errorf("%+v", now)
		}
	}
}

// A NodeClaim that people delete ends its instance as ever; while the definitions cannot be read it waits.
func TestDeletionsWaitWhileDefinitionsCannotBeRead(t *testing.T) {
	w := house(t, 2, world.Options{}, nil)
	claim := load(t, w).Claims[0]
	w.Cluster.Refuse(func(request string) error {
		if request == "definitions" {
			return fault.New(fault.Denied, "Forbidden", "no permission to get customresourcedefinitions")
		}
		return nil
	})
	w.Cluster.Delete(world.KindNodeClaim, claim.Name)
	play(t, w, 5*time.Minute)
	if now := claimOf(t, w, claim.Name); now.Ending() || now.State == model.Gone {
		t.Fatalf("%s: %s", now.State, now.FailureMessage)
	}
	w.Cluster.Refuse(nil)
	play(t, w, 5*time.Minute)
	ended(t, w, claim)
}
