package provision_test

import (
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// B5: pods that ended a moment before their node's NodeClaim was deleted get no other node, though the state that was published
// last still shows them; those that are there still do.
func TestB5PodsThatEndedAreNotGivenAnotherNode(t *testing.T) {
	for _, kind := range []string{world.Deployment, world.StatefulSet} {
		for _, c := range []struct {
			name      string
			replicas  int // that are left
			down      bool
			instances int
		}{
			{name: "all ended"}, {name: "some are left", replicas: 1, instances: 1}, {name: "nobody answers", down: true, instances: 1},
		} {
			t.Run(kind+", "+c.name, func(t *testing.T) {
				w := start(t, world.Options{Types: []string{"m5.large"}})
				w.Workloads.Add(world.Workload{Kind: kind, Name: "web", Shape: world.Shape(800, gib), Replicas: 2})
				for range 60 { // a StatefulSet's come one after the other
					pass(t, w, provision.TriggerBatch)
					settle(t, w)
					w.Tick(5 * time.Second)
				}
				old := onlyClaim(t, w)
				w.Workloads.Scale("web", c.replicas)
				if err := w.Publish(t.Context(), 1, 1); err != nil {
					t.Fatal(err)
				}
				if n := len(pods(t, w)); n != 2 {
					t.Fatalf("%d pods when that was published", n)
				}
				for range 40 {
					w.Tick(2 * time.Second)
				}
				if n := len(pods(t, w)); n != c.replicas {
					t.Fatalf("%d pods are left", n)
				}
				if _, err := w.Ledger.Heartbeat(t.Context(), world.Name, 1, w.Clock.Now().Unix()); err != nil {
					t.Fatal(err)
				}
				end(t, w, old, 0)
				if c.down {
					w.Cluster.Refuse(func(request string) error {
						if request == "list pods" {
							return fault.New(fault.Internal, "Down", "nobody is there")
						}
						return nil
					})
				}
				outcome, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerDrain)
				if err != nil || outcome.Source != "snapshot" || outcome.Claims != c.instances {
					t.Errorf("%d machines, want %d; %v, %+v", outcome.Claims, c.instances, err, outcome)
				}
				if replaced := load(t, w).Notes.Replaced; !slices.Equal(replaced, []string{old.Name}) {
					t.Errorf("replaced %v", replaced)
				}
			})
		}
	}
}
