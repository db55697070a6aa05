package sim_test

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// worlds plays runs from the first seed on, faults and all, and shows each world once its run is over, one at a time, until enough
// returns true.
func worlds(t *testing.T, first uint64, show func(seed uint64, w *world.World) (enough bool)) {
	t.Helper()
	var mu sync.Mutex
	done := false
	draw := func(seed uint64) sim.Config {
		c := sim.Draw(seed)
		c.After = func(w *world.World) {
			mu.Lock()
			defer mu.Unlock()
			done = done || show(seed, w)
		}
		return c
	}
	over := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return done
	}
	const most = 3000
	for seed := first; !over() && !t.Failed(); seed += 8 {
		if seed > first+most {
			t.Fatalf("%d runs were not enough", most)
		}
		_, failed := sim.Campaign{First: seed, Runs: 8, Cores: runtime.GOMAXPROCS(0), Draw: draw, Now: time.Now}.Run()
		for _, r := range failed {
			t.Error(report(r))
		}
	}
}

// replayed counts decisions that were made once more.
type replayed struct{ provisioned, evaluated, rounds, listed, several, replaced int }

// again makes every decision of a world once more, from its record alone, and fails where any comes out otherwise.
func (n *replayed) again(t *testing.T, seed uint64, w *world.World) {
	catalogs := w.Catalogs()
	for _, d := range w.Store.Decisions() {
		facts, err := catalogs.Facts(d.Input, d.Catalog)
		if err != nil {
			t.Errorf("seed %d, decision %s: %v", seed, d.ID, err)
			continue
		}
		n.provisioned++
		n.rounds += len(d.Rounds)
		if d.Input.Snapshot == nil {
			n.listed++
		}
		if len(d.Rounds) > 1 {
			n.several++
		}
		for i, plan := range replay.ReplayProvision(&d, facts) {
			if len(d.Rounds[i].Input.PendingReplacements) > 0 {
				n.replaced++
			}
			if !replay.Identical(plan, d.Rounds[i].Plan) {
				t.Errorf("seed %d, decision %s, round %d came out otherwise:\nwas %s\nis  %s", seed, d.ID, i, text(d.Rounds[i].Plan), text(plan))
			}
		}
	}
	for _, d := range w.Store.Disruptions() {
		facts, err := catalogs.Facts(d.Recorded, d.Catalog)
		if err != nil {
			t.Errorf("seed %d, decision %s: %v", seed, d.ID, err)
			continue
		}
		n.evaluated++
		if plan := replay.ReplayDisruption(&d, facts); !replay.Identical(plan, d.Plan) {
			t.Errorf("seed %d, decision %s about giving back came out otherwise:\nwas %s\nis  %s", seed, d.ID, text(d.Plan), text(plan))
		}
	}
}

func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// D6: 500 decisions of simulated runs, made once more from their records, come out the same to the last byte.
func TestD6DecisionsReplayByteIdentical(t *testing.T) {
	t.Parallel()
	want := 60
	if long() {
		want = 500
	}
	var n replayed
	worlds(t, 1, func(seed uint64, w *world.World) bool {
		n.again(t, seed, w)
		return n.provisioned >= want && n.evaluated >= want/5 && n.listed > 0 && n.several > 0 && n.replaced > 0
	})
	t.Logf("%+v", n)
}

// removed counts instances' ends by why and by who wanted them.
type removed struct {
	ends        int
	reasons, by map[string]int
}

// all holds every instance of a world that ended to one record that says why, and who wanted it. Where people, spot or failure ended one
// nobody had decided about, the record does not say that we did.
func (n *removed) all(t *testing.T, seed uint64, w *world.World) {
	records := map[string]model.Removal{}
	for _, r := range w.Store.Removals() {
		if other, twice := records[r.Claim.InstanceID]; twice && other.Claim.Name != r.Claim.Name && r.Reason != model.EndedOrphan && other.Reason != model.EndedOrphan {
			t.Errorf("seed %d: machine %s ended as %s and as %s", seed, r.Claim.InstanceID, other.Claim.Name, r.Claim.Name)
		}
		if _, known := records[r.Claim.InstanceID]; !known || r.Reason != model.EndedOrphan {
			records[r.Claim.InstanceID] = r
		}
	}
	causes := map[string]string{}
	for _, entry := range w.Log.Since(0) {
		if fact, is := entry.Fact.(world.InstanceEnding); is {
			causes[fact.ID] = fact.Cause
		}
	}
	for _, m := range w.Fleet.Instances() {
		if !m.Terminated || m.Cluster != world.Name || w.Clock.Now().Sub(m.EndedAt) < 3*time.Minute {
			continue // nobody's, or its claim may be yet to be closed
		}
		n.ends++
		r, known := records[m.ID]
		switch {
		case !known:
			t.Errorf("seed %d: machine %s ended at %s (%s) and nothing says why", seed, m.ID, m.EndedAt.Sub(world.Start), causes[m.ID])
			continue
		case r.Reason == "" || r.By == "" || r.Message == "":
			t.Errorf("seed %d: the record of machine %s says nothing: %+v", seed, m.ID, r)
		case r.Reason == model.EndedInstance && causes[m.ID] == "person" && r.By != model.ByPeople,
			r.Reason == model.EndedInstance && causes[m.ID] == "failure" && r.By != model.ByAWS:
			t.Errorf("seed %d: a %s ended machine %s, and the record says %s", seed, causes[m.ID], m.ID, r.By)
		}
		n.reasons[r.Reason]++
		n.by[r.By]++
	}
}

// D5: of 1,000 instances that ended in simulated runs 1,000 have a record with a reason, outside causes too.
func TestD5EveryInstancesEndIsRecorded(t *testing.T) {
	t.Parallel()
	want := 60
	if long() {
		want = 1000
	}
	n := removed{reasons: map[string]int{}, by: map[string]int{}}
	worlds(t, 1, func(seed uint64, w *world.World) bool {
		n.all(t, seed, w)
		return n.ends >= want
	})
	t.Logf("%d ends: %v, by %v", n.ends, n.reasons, n.by)
	if n.by[model.ByJoiner] == 0 || n.by[model.ByPeople] == 0 || n.by[model.ByAWS] == 0 {
		t.Errorf("too little happened to show anything: %v", n.by)
	}
}
