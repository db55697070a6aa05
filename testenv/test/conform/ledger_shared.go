package conform

import (
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// ledgerOutOfCapacity is an offering that failed n times; its mark lasts until untilUnix and is remembered for an hour more.
func ledgerOutOfCapacity(n int, untilUnix int64) model.UnavailableOffering {
	return model.UnavailableOffering{
		OfferingKey: model.OfferingKey{InstanceType: "m7g.large", Zone: "us-west-2a", CapacityType: model.Spot},
		UntilUnix:   untilUnix, ForgetUnix: untilUnix + 3600, AtUnix: untilUnix - 180, Failures: n, Reason: "InsufficientInstanceCapacity",
	}
}

func (b book) mark(unavailableOfferings ...model.UnavailableOffering) {
	b.t.Helper()
	b.must(b.MarkUnavailable(b.ctx(), ledgerWeb, unavailableOfferings))
}

func markCountsFailures(t *testing.T, b book) {
	b.mark(ledgerOutOfCapacity(2, farUnix))
	b.mark(ledgerOutOfCapacity(1, farUnix+60)) // somebody who did not know of the second failure
	if kept := b.load().UnavailableOfferings; len(kept) != 1 || kept[0] != ledgerOutOfCapacity(2, farUnix) {
		t.Errorf("%+v", kept)
	}
	b.mark(ledgerOutOfCapacity(3, farUnix-60))
	if kept := b.load().UnavailableOfferings; len(kept) != 1 || kept[0] != ledgerOutOfCapacity(3, farUnix-60) {
		t.Errorf("%+v", kept)
	}
	group := model.UnavailableOffering{OfferingKey: model.OfferingKey{CapacityType: model.Spot}, Group: "standard", UntilUnix: farUnix, Failures: 1, Reason: "VcpuLimitExceeded"}
	b.mark(group)
	if kept := b.load().UnavailableOfferings; len(kept) != 2 {
		t.Errorf("a group's mark is one of its own: %+v", kept)
	}
	// One that is forgotten by the time of a new failure does not count any more.
	late := ledgerOutOfCapacity(1, farUnix+7200)
	b.mark(late)
	if kept := b.load().UnavailableOfferings; len(kept) != 2 || kept[0] != late && kept[1] != late {
		t.Errorf("%+v", kept)
	}
}

func probeIsTakenOnce(t *testing.T, b book) {
	lapsed := ledgerOutOfCapacity(1, ledgerBegin)
	lapsed.ForgetUnix = farUnix
	b.mark(lapsed)
	if kept := b.load().UnavailableOfferings; len(kept) != 1 || kept[0] != lapsed {
		t.Fatalf("a mark that lapsed is remembered: %+v", kept)
	}
	var taken atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			next, err := b.TakeProbe(b.ctx(), ledgerWeb, lapsed, ledgerBegin+60)
			switch {
			case err == nil:
				taken.Add(1)
				if next.UntilUnix != ledgerBegin+60 || next.Failures != 1 || next.ForgetUnix != farUnix {
					t.Errorf("taken %+v", next)
				}
			case !fault.Is(err, fault.Conflict):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if taken.Load() != 1 {
		t.Errorf("%d took the probe", taken.Load())
	}
	if kept := b.load().UnavailableOfferings; len(kept) != 1 || kept[0].UntilUnix != ledgerBegin+60 {
		t.Errorf("%+v", kept)
	}
	never := ledgerOutOfCapacity(1, ledgerBegin)
	never.Zone = "us-west-2b"
	_, err := b.TakeProbe(b.ctx(), ledgerWeb, never, ledgerBegin+60)
	b.want(fault.Conflict, "the probe of no mark", err)
}

func clearNeedsTheSameMark(t *testing.T, b book) {
	seen := ledgerOutOfCapacity(1, farUnix)
	b.mark(seen)
	b.mark(ledgerOutOfCapacity(2, farUnix+60))
	b.must(b.Clear(b.ctx(), ledgerWeb, seen))
	if kept := b.load().UnavailableOfferings; len(kept) != 1 {
		t.Fatalf("a mark that was made anew is gone: %+v", kept)
	}
	b.must(b.Clear(b.ctx(), ledgerWeb, ledgerOutOfCapacity(2, farUnix+60)))
	b.must(b.Clear(b.ctx(), ledgerWeb, ledgerOutOfCapacity(2, farUnix+60)))
	if kept := b.load().UnavailableOfferings; len(kept) != 0 {
		t.Errorf("%+v", kept)
	}
	// What was cleared starts from the beginning.
	b.mark(ledgerOutOfCapacity(1, farUnix))
	if kept := b.load().UnavailableOfferings; len(kept) != 1 || kept[0].Failures != 1 {
		t.Errorf("%+v", kept)
	}
}

func allowanceNeedsVersion(t *testing.T, b book) {
	if a, err := b.Allowance(b.ctx(), ledgerWeb); err != nil || a != (model.Allowance{}) {
		t.Fatalf("%+v %v", a, err)
	}
	var spent atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				a, err := b.Allowance(b.ctx(), ledgerWeb)
				if err != nil {
					t.Error(err)
					return
				}
				a.CallsMilli++
				a.ClosedUntilUnix = ledgerSoon
				if err = b.Spend(b.ctx(), ledgerWeb, a); err == nil {
					spent.Add(1)
					return
				}
				if !fault.Is(err, fault.Conflict) {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	a, err := b.Allowance(b.ctx(), ledgerWeb)
	if err != nil || a.CallsMilli != spent.Load() || a.Version != 8 || a.ClosedUntilUnix != ledgerSoon {
		t.Errorf("%+v %v", a, err)
	}
	if loaded := b.load().Allowance; loaded != a {
		t.Errorf("load returns %+v, want %+v", loaded, a)
	}
	elsewhere := ledgerWeb
	elsewhere.Region = "eu-west-1"
	if a, err := b.Allowance(b.ctx(), elsewhere); err != nil || a.Version != 0 {
		t.Errorf("another region: %+v %v", a, err)
	}
}

func notesNeedTheFence(t *testing.T, b book) {
	old := b.acquire("a")
	notes := model.Notes{
		Paces:            []model.LaunchRate{{Pool: "default", Minute: ledgerBegin / 60, Starts: 3, Before: 2}},
		ClassSuspensions: []model.ClassSuspension{{Class: "default", Failures: 2, LastUnix: ledgerBegin, UntilUnix: ledgerSoon}},
		Quarantine:       []model.Quarantine{{What: "NodePool/default", Count: 1, UntilUnix: ledgerSoon}},
		LostUnix:         ledgerBegin,
	}
	b.must(b.Remember(b.ctx(), old, notes))
	if kept := b.load().Notes; !reflect.DeepEqual(kept, notes) {
		t.Errorf("%+v", kept)
	}
	newer := b.acquire("a")
	b.want(fault.Conflict, "an old fence", b.Remember(b.ctx(), old, model.Notes{}))
	b.must(b.Remember(b.ctx(), newer, model.Notes{LostUnix: 1}))
	if kept := b.load().Notes; !reflect.DeepEqual(kept, model.Notes{LostUnix: 1}) {
		t.Errorf("%+v", kept)
	}
}

func endedAreApart(t *testing.T, b book) {
	fence := b.acquire("a")
	intent, claims := ledgerLaunch("1", 3)
	b.must(b.Record(b.ctx(), fence, intent, claims, nil))
	outcome := ledgerOutcome(intent, claims, 1)
	outcome.AtUnix = farUnix
	for i, gone := range []int64{farUnix, 1} { // as claims that are closed after they had an instance
		outcome.Failed[i].InstanceID, outcome.Failed[i].GoneUnix = fmt.Sprintf("i-ended-%d", i), gone
	}
	b.must(b.Settle(b.ctx(), fence, outcome))
	ledger := b.load()
	if len(ledger.Claims) != 1 || len(ledger.Ended) != 1 || ledger.Ended[0].InstanceID != "i-ended-0" || ledger.Ended[0].State != model.Gone {
		t.Errorf("live %+v\nended %+v", ledger.Claims, ledger.Ended)
	}
}
