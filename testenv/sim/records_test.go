package sim_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/testenv/sim"
	"github.com/joiner-sh/joiner/testenv/world"
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
type replayed struct{ provisioned, judged, rounds, listed, several, replaced int }

// again makes every decision of a world once more, from its record alone, and fails where any comes out otherwise.
func (n *replayed) again(t *testing.T, seed uint64, w *world.World) {
	shelves := w.Shelves()
	for _, d := range w.Store.Decisions() {
		facts, err := shelves.Find(d.Input, d.Machines)
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
		for i, plan := range replay.Provisioned(&d, facts) {
			if len(d.Rounds[i].Asked.Owed) > 0 {
				n.replaced++
			}
			if !replay.Identical(plan, d.Rounds[i].Plan) {
				t.Errorf("seed %d, decision %s, round %d came out otherwise:\nwas %s\nis  %s", seed, d.ID, i, text(d.Rounds[i].Plan), text(plan))
			}
		}
	}
	for _, d := range w.Store.Disruptions() {
		facts, err := shelves.Find(d.Input, d.Machines)
		if err != nil {
			t.Errorf("seed %d, decision %s: %v", seed, d.ID, err)
			continue
		}
		n.judged++
		if plan := replay.Judged(&d, facts); !replay.Identical(plan, d.Plan) {
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

// D3: 500 decisions of simulated runs, made once more from their records, come out the same to the last byte.
func TestD3DecisionsReplayByteIdentical(t *testing.T) {
	t.Parallel()
	want := 60
	if long() {
		want = 500
	}
	var n replayed
	worlds(t, 1, func(seed uint64, w *world.World) bool {
		n.again(t, seed, w)
		return n.provisioned >= want && n.judged >= want/5
	})
	t.Log(fmt.Sprintf("%+v", n))
	if n.listed == 0 || n.several == 0 || n.replaced == 0 {
		t.Errorf("too little happened to show anything: %+v", n)
	}
}
