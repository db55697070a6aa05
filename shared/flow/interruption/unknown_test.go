package interruption_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// endsOf returns the records of the end of an instance.
func endsOf(w *world.World, id string) (out []model.Removal) {
	for _, r := range w.Store.Removals() {
		if r.Claim.InstanceID == id {
			out = append(out, r)
		}
	}
	return out
}

// D5, F5: an instance that ends right after its claim was deleted by hand has a record, with its node.
func TestD5InstanceThatEndsAfterItsClaimWasDeletedHasARecord(t *testing.T) {
	w := settled(t, 2, world.Options{})
	claim := load(t, w).Claims[0]
	world.Skew(w.Ledger, world.Name, claim.Name)
	w.Fleet.EndByHand(claim.InstanceID)
	w.Tick(time.Second)
	pass(t, w, 3*time.Minute)
	got := endsOf(w, claim.InstanceID)
	if len(got) != 1 || got[0].Reason != model.EndedInstance || got[0].By != model.ByPeople || got[0].Node != claim.NodeName {
		t.Fatalf("%+v; want one record with node %s", got, claim.NodeName)
	}
	w.Tick(time.Minute)
	pass(t, w, 5*time.Minute)
	if again := endsOf(w, claim.InstanceID); len(again) != 1 || again[0].GoneUnix != got[0].GoneUnix {
		t.Errorf("recorded again: %+v", again)
	}
}

// D5, A3: that an instance was ended because no claim had it stays what its record says when it has ended.
func TestD5RecordOfAnOrphanIsNotWrittenOver(t *testing.T) {
	w := start(t, world.Options{})
	w.Fleet.GiveMore(1)
	w.Cluster.AddPods("web", 1, big())
	w.Tick(time.Second)
	if _, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch); err != nil {
		t.Fatal(err)
	}
	w.Fleet.GiveMore(0)
	w.Tick(5 * time.Second)
	sum := pass(t, w, 10*time.Minute)
	if len(sum.Terminated) != 1 {
		t.Fatalf("terminated %v, want one", sum.Terminated)
	}
	if got := endsOf(w, sum.Terminated[0]); len(got) != 1 || got[0].Reason != model.EndedOrphan || got[0].By != model.ByJoiner {
		t.Errorf("%+v", got)
	}
}
