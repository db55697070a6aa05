package provision_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// M91: an instance is capacity for as long as its NodePool gives it to join: nothing else is launched for its pods, and
// its class is not suspended. Without, both begin after a quarter of an hour.
func TestM91AnInstanceIsCapacityWhileItsNodePoolWaits(t *testing.T) {
	for name, c := range map[string]struct {
		value     string
		after     time.Duration
		instances int
		suspended bool
	}{
		"by default":          {"", 16 * time.Minute, 2, true},
		"longer":              {"40m", 39 * time.Minute, 1, false},
		"longer, and over":    {"40m", 41 * time.Minute, 2, true},
		"shorter":             {"5m", 6 * time.Minute, 2, true},
		"of no meaning":       {"forty", 16 * time.Minute, 2, true},
		"longer than allowed": {"3h", 16 * time.Minute, 2, true},
	} {
		w := deaf(t, 1)
		pool := world.Pool("default", "default")
		pool.Annotations = map[string]string{model.AnnotationJoinWithin: c.value}
		w.Cluster.AddPool(pool)
		w.Tick(c.after)
		pass(t, w, provision.TriggerResync)
		pass(t, w, provision.TriggerBatch)
		if got := len(w.Fleet.Instances()); got != c.instances {
			t.Errorf("%s: %d instances, want %d", name, got, c.instances)
		}
		if got := len(load(t, w).Notes.ClassSuspensions) > 0; got != c.suspended {
			t.Errorf("%s: suspended %v", name, got)
		}
	}
}

// M7: the setting of the region holds for provision, too.
func TestM7JoinWithinOfTheRegionIsProvisionsToo(t *testing.T) {
	w := deaf(t, 1)
	for _, c := range []struct {
		after time.Duration
		want  int
	}{{20 * time.Minute, 1}, {11 * time.Minute, 2}} {
		w.Tick(c.after)
		flow := w.Process(world.Fault{}).Flow()
		flow.Settings.JoinWithin = 30 * time.Minute
		request := provision.Request{Trigger: provision.TriggerBatch, Cluster: world.Name, Owner: "one",
			Deadline: w.Clock.Now().Add(world.InvocationTimeout)}
		if _, err := flow.Run(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		if got := len(w.Fleet.Instances()); got != c.want {
			t.Errorf("after another %s of 30 minutes: %d instances, want %d", c.after, got, c.want)
		}
	}
}
