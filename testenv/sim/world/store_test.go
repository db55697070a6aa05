package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

type storeUnderTest struct{ *world.Store }

func (s storeUnderTest) Decided(_ context.Context, _ string, _ int64, id string) (model.Decision, error) {
	decision, ok := s.Decision(id)
	if !ok {
		return decision, fault.New(fault.NotFound, "", "no decision %s", id)
	}
	return decision, nil
}

func (s storeUnderTest) Disrupted(_ context.Context, _ string, _ int64, id string) (model.Disrupted, error) {
	decision, ok := s.Disruption(id)
	if !ok {
		return decision, fault.New(fault.NotFound, "", "no decision %s", id)
	}
	return decision, nil
}

func TestStoreKeepsTheContract(t *testing.T) {
	conform.Store(t, func(*testing.T) conform.StorePort { return storeUnderTest{world.NewStore(time.Now, nil)} })
}

func TestStoreLosesAndExpires(t *testing.T) {
	w := world.New(world.Options{})
	for epoch := range int64(3) {
		if err := w.Publish(t.Context(), epoch+1, 1); err != nil {
			t.Fatal(err)
		}
	}
	at := func(epoch int64) error {
		_, err := w.Store.SnapshotAt(t.Context(), model.Manifest{Cluster: world.Name, Epoch: epoch, SnapshotKey: "snap/world/" + string('0'+rune(epoch)) + "/base-1", SnapshotSeq: 1, HeadSeq: 1})
		return err
	}
	w.Store.Expire(world.Name, 3)
	if !fault.Is(at(1), fault.NotFound) || !fault.Is(at(2), fault.NotFound) || at(3) != nil {
		t.Errorf("after epochs before 3 expired: %v, %v, %v", at(1), at(2), at(3))
	}
	w.Store.Unreachable(w.Clock.Now().Add(time.Hour))
	if !fault.Is(at(3), fault.Internal) {
		t.Errorf("out of reach: %v", at(3))
	}
	w.Clock.Advance(time.Hour)
	w.Store.Lose()
	if !fault.Is(at(3), fault.NotFound) {
		t.Errorf("after everything was lost: %v", at(3))
	}
}
