package world_test

import (
	"context"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// A cluster that the disruption function found empty, and of which nothing was published since, gets a resync every fifth minute.
func TestResyncsOfClustersThatSleep(t *testing.T) {
	w := world.New(world.Options{})
	ctx, now := t.Context(), w.Clock.Now().Unix()
	manifest := model.Manifest{Cluster: world.Name, Epoch: 1, HeadSeq: 4, HeartbeatAt: now}
	if _, err := w.Ledger.AdvanceManifest(ctx, manifest); err != nil {
		t.Fatal(err)
	}
	ports := w.Ports(w.Process(world.Fault{}), "tick")
	flows := map[string]func(context.Context, string) (int, error){
		"provision": ports.Provision(w.Clock.Now, provision.Settings{}).FanOut, "interruption": ports.Interruption(w.Clock.Now, interruption.Settings{}).FanOut, "catalog": ports.Catalog(w.Clock.Now, catalog.Settings{}).FanOut,
	}
	want := func(when string, odd, fifth int) {
		t.Helper()
		for name, fanOut := range flows {
			for tick, n := range map[string]int{"2026-03-01T12:03:00Z": odd, "2026-03-01T12:05:00Z": fifth} {
				if sent, err := fanOut(ctx, tick); sent != n || err != nil {
					t.Errorf("%s, %s at %s: %d hints, %v; want %d", when, name, tick, sent, err, n)
				}
			}
		}
	}
	want("before the judge has looked", 1, 1)
	fence, err := w.Ledger.AcquireLease(ctx, world.Name, model.LeaseDisrupt, "judge", now, now+60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Ledger.Recall(ctx, fence, model.DisruptNotes{Empty: true, Ledger: "d", Epoch: 1, Seq: 4, AtUnix: now}); err != nil {
		t.Fatal(err)
	}
	want("asleep", 0, 1)
	manifest.HeadSeq++
	if _, err := w.Ledger.AdvanceManifest(ctx, manifest); err != nil {
		t.Fatal(err)
	}
	want("awake", 1, 1)
}
