package sim

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// An instance that ended needs a record of why, unless its launch was settled when EC2 no longer showed it.
func TestD5AnInstanceThatEndedUnseenNeedsNoRecord(t *testing.T) {
	for name, c := range map[string]struct {
		settled time.Duration // after its end; 0 = never
		broken  bool
	}{
		"never settled":             {0, true},
		"settled while it is shown": {50 * time.Minute, true},
		"settled after that":        {70 * time.Minute, false},
	} {
		w := world.New(world.Options{Types: []string{"m5.large"}})
		id := w.Fleet.AddInstance(model.Instance{Type: "m5.large", Zone: "us-west-2a", Tags: map[string]string{
			"kubernetes.io/cluster/" + world.Name: "owned", model.LabelNodePool: "web",
			"joiner.sh/intent": "01LATE",
		}})
		w.Fleet.FailInstance(id)
		w.Clock.Advance(5 * time.Minute)
		instance, _ := w.Fleet.Instance(id)
		if !instance.Terminated {
			t.Fatalf("%s: %+v", name, instance)
		}
		if c.settled != 0 {
			w.Clock.Advance(instance.EndedAt.Add(c.settled).Sub(w.Clock.Now()))
			w.Log.Note(world.LedgerWritten{Cluster: world.Name, Op: "settle", Intents: []model.Intent{{ID: "01LATE"}}})
		}
		if got := unrecorded(w); (len(got) > 0) != c.broken {
			t.Errorf("%s: %+v, want broken: %t", name, got, c.broken)
		}
	}
}
