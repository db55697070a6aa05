package provision_test

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/world"
)

// D3: what leaves pods without a place is kept when that is news, and each hour, and not by each sweep.
func TestD3WhatLeavesPodsWithoutAPlaceIsKeptOnce(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "huge", 1, model.PodShape{Namespace: "shop", Requests: model.Resources{model.CPU: 1 << 30}})
	kept := func() int { return len(w.Store.Decisions()) }
	run(t, w, provision.TriggerSweep)
	if kept() != 1 {
		t.Fatalf("%d decisions are kept of the first look, want 1", kept())
	}
	w.Tick(time.Minute)
	run(t, w, provision.TriggerSweep)
	if kept() != 1 {
		t.Errorf("%d decisions are kept after a look that found the same, want 1", kept())
	}
	pending(w, "large", 1, model.PodShape{Namespace: "shop", Requests: model.Resources{model.CPU: 1 << 31}})
	if run(t, w, provision.TriggerSweep); kept() != 2 {
		t.Errorf("%d decisions are kept once there is another pod, want 2", kept())
	}
	w.Tick(time.Hour)
	if run(t, w, provision.TriggerSweep); kept() != 3 {
		t.Errorf("%d decisions are kept an hour later, want 3", kept())
	}
}

// D6: a decision is made once more from its record alone, though what it is of has changed since: the record's own list where the
// cluster was listed, else what was published.
func TestD6ADecisionIsMadeOnceMoreFromItsRecord(t *testing.T) {
	for name, published := range map[string]bool{"listed": false, "published": true} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{})
			pending(w, "web", 5, model.PodShape{Namespace: "shop", Requests: model.Resources{model.CPU: 1500, model.Memory: gib}})
			if published {
				if err := w.Publish(t.Context(), 1, 1); err != nil {
					t.Fatal(err)
				}
			}
			id := run(t, w, provision.TriggerBatch).Decision
			settle(t, w)
			d, known := w.Store.Decision(id)
			if !known || len(d.Launched) == 0 || d.Input == nil || (d.Input.Snapshot != nil) != published {
				t.Fatalf("the record: %+v", d)
			}
			facts, err := w.Shelves().Find(d.Input, d.Machines)
			if err != nil {
				t.Fatal(err)
			}
			for i, plan := range replay.Provisioned(&d, facts) {
				if !replay.Identical(plan, d.Rounds[i].Plan) {
					t.Errorf("round %d came out otherwise:\nwas %+v\nis  %+v", i, d.Rounds[i].Plan, plan)
				}
			}
			facts.Types = nil // so that it can come out otherwise
			if plan := replay.Provisioned(&d, facts)[0]; replay.Identical(plan, d.Rounds[0].Plan) {
				t.Error("nothing it goes by is asked")
			}
		})
	}
}
