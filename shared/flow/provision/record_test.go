package provision_test

import (
	"context"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// D3: what leaves pods without a place is kept when that is news, and each hour, and not by each resync.
func TestD3WhatLeavesPodsWithoutAPlaceIsKeptOnce(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "huge", 1, model.PodShape{Namespace: "shop", Requests: model.Resources{model.CPU: 1 << 30}})
	kept := func() int { return len(w.Store.Decisions()) }
	pass(t, w, provision.TriggerResync)
	if kept() != 1 {
		t.Fatalf("%d decisions are kept of the first look, want 1", kept())
	}
	w.Tick(time.Minute)
	pass(t, w, provision.TriggerResync)
	if kept() != 1 {
		t.Errorf("%d decisions are kept after a look that found the same, want 1", kept())
	}
	pending(w, "large", 1, model.PodShape{Namespace: "shop", Requests: model.Resources{model.CPU: 1 << 31}})
	if pass(t, w, provision.TriggerResync); kept() != 2 {
		t.Errorf("%d decisions are kept once there is another pod, want 2", kept())
	}
	w.Tick(time.Hour)
	if pass(t, w, provision.TriggerResync); kept() != 3 {
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
			id := pass(t, w, provision.TriggerBatch).Decision
			settle(t, w)
			d, known := w.Store.Decision(id)
			if !known || len(d.Launched) == 0 || d.Input == nil || (d.Input.Snapshot != nil) != published {
				t.Fatalf("the record: %+v", d)
			}
			facts, err := w.Catalogs().Facts(d.Input, d.Catalog)
			if err != nil {
				t.Fatal(err)
			}
			for i, plan := range replay.ReplayProvision(&d, facts) {
				if !replay.Identical(plan, d.Rounds[i].Plan) {
					t.Errorf("round %d came out otherwise:\nwas %+v\nis  %+v", i, d.Rounds[i].Plan, plan)
				}
			}
			facts.Types = nil // so that it can come out otherwise
			if plan := replay.ReplayProvision(&d, facts)[0]; replay.Identical(plan, d.Rounds[0].Plan) {
				t.Error("nothing it goes by is asked")
			}
		})
	}
}

// first is a store that shows the first record of each decision, and does not answer about it where it is stuck.
type first struct {
	*world.Store
	stuck bool
	show  func(model.Decision)
}

func (f *first) PutDecision(ctx context.Context, d model.Decision) error {
	if !d.Open {
		return f.Store.PutDecision(ctx, d)
	}
	f.show(d)
	if f.stuck {
		<-ctx.Done()
		return fault.Wrap(fault.Internal, "", ctx.Err(), "keep %s", d.ID)
	}
	return f.Store.PutDecision(ctx, d)
}

// D4: the plan is on record before any of its launches is in the ledger, and its outcome once it is known. A store that does not answer
// holds no launch up.
func TestD4ThePlanIsKeptBeforeItsLaunches(t *testing.T) {
	for name, stuck := range map[string]bool{"kept": false, "the store does not answer": true} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{})
			pending(w, "web", 5, model.PodShape{Namespace: "shop", Requests: model.Resources{model.CPU: 1500, model.Memory: gib}})
			planned := 0
			flow := w.Process(world.Fault{}).Flow()
			flow.Decisions = &first{w.Store, stuck, func(d model.Decision) {
				planned = len(d.Rounds[0].Plan.Claims)
				ledger, err := w.Ledger.Load(t.Context(), model.Registration{Cluster: world.Name})
				if err != nil || len(ledger.Claims) > 0 || d.Input == nil || d.Rounds[0].Input == nil || len(d.Rounds[0].Launched) > 0 {
					t.Errorf("%d claims are recorded before their plan %+v is, %v", len(ledger.Claims), d, err)
				}
			}}
			out, err := flow.Run(t.Context(), provision.Request{Trigger: provision.TriggerBatch, Cluster: world.Name, Owner: "one", Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
			if err != nil {
				t.Fatal(err)
			}
			d, known := w.Store.Decision(out.Decision)
			if !known || d.Open || planned == 0 || len(d.Launched) != planned || len(d.Rounds[0].Launched) != planned {
				t.Errorf("%d machines were planned: %+v", planned, d)
			}
		})
	}
}
