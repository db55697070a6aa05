package audit_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/audit"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// Each way in which one cluster's run may come to another's state is seen, and the same within a cluster is not.
func TestCrossingSeesEachWayToAnothersState(t *testing.T) {
	fence := model.Fence{Cluster: "a", Lease: "planner"}
	claim := model.Claim{Name: "web-1", Intent: "1", InstanceID: "i-1", Pods: []model.PodRef{{Namespace: "default", Name: "web", UID: "pod-1"}}}
	before := []world.Fact{
		world.ObjectWritten{Cluster: "a", Kind: "Pod", Name: "default/web", UID: "pod-1"},
		world.InstanceStarted{Cluster: "a", Instance: model.Instance{ID: "i-1"}},
		world.FleetCalled{Cluster: "a", Intent: "1"},
	}
	for name, fact := range map[string]world.Fact{
		"ledger read":         world.Touched{Cluster: "b", What: "ledger"},
		"lease taken":         world.LeaseTaken{Fence: model.Fence{Cluster: "b"}},
		"snapshot moved":      world.ManifestMoved{Cluster: "b"},
		"message sent":        world.MessageMoved{Queue: "plan", Group: "b", Verb: "send"},
		"object written":      world.ObjectWritten{Cluster: "b", Kind: "Node", Name: "n", UID: "n"},
		"ledger written":      world.LedgerWritten{Cluster: "b", Op: "advance"},
		"another's lease":     world.LedgerWritten{Cluster: "b", Op: "record", Fence: &fence},
		"another's pod":       world.LedgerWritten{Cluster: "b", Claims: []world.ClaimChange{{After: &model.Claim{Name: "web-1", Pods: claim.Pods}}}},
		"another's node":      world.ObjectWritten{Cluster: "b", Kind: "Node", UID: "n", Node: &model.Node{ProviderID: "aws:///z/i-1"}},
		"another's launch":    world.FleetCalled{Cluster: "b", Intent: "1"},
		"machine told to end": world.TerminateCalled{IDs: []string{"i-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := audit.NewCrossing()
			actor := "provision-1@a"
			if name == "machine told to end" {
				actor = "interruption-1@b"
			}
			at := time.Unix(0, 0)
			for _, fact := range append(before, world.LedgerWritten{Cluster: "a", Op: "record", Fence: &fence, Claims: []world.ClaimChange{{After: &claim}}}) {
				if found := c.Check([]world.Entry{{Seq: 1, At: at, Actor: "provision-1@a", Fact: fact}}); len(found) > 0 {
					t.Fatalf("a cluster may not touch its own: %v", found)
				}
			}
			if found := c.Check([]world.Entry{{Seq: 2, At: at, Actor: actor, Fact: fact}}); len(found) == 0 {
				t.Errorf("%+v was not seen", fact)
			}
		})
	}
}
