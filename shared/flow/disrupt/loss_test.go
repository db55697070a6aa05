package disrupt_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
)

// saidLost returns how often the watcher was notified that something is gone.
func (h *house) saidLost() int {
	return len(slices.DeleteFunc(slices.Clone(h.log), func(op string) bool { return !strings.HasPrefix(op, "lost") }))
}

// F4: where an object of the snapshot is gone the disruption function says so, once for a manifest, and acts once the state is published anew. The watcher is not
// notified of what is there and cannot be read: it would be the same again.
func TestF4TheWatcherIsToldOnceWhatIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		failure error
		want    int
	}{
		"gone":         {fault.New(fault.NotFound, "NoSuchKey", "no object seg-2"), 1},
		"malformed":    {fault.New(fault.Invalid, "Malformed", "seg-2 is no segment"), 0},
		"too large":    {fault.New(fault.Invalid, "TooLarge", "seg-2 weighs 9 GiB"), 0},
		"not answered": {fault.New(fault.Internal, "", "connection reset"), 0},
		"not allowed":  {fault.New(fault.Denied, "AccessDenied", "no"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, 3)
			h.wants(planned(model.ReasonEmpty, 0, "n0"))
			h.frozen = true
			h.errs["snapshot"] = c.failure
			for range 5 {
				must(t, h.run(nil, true))
				if !strings.Contains(h.outcome.Undecided, "cannot be read") {
					t.Fatalf("%+v", h.outcome)
				}
				h.now++
				h.publish()
			}
			lost, err := h.ledger.Heartbeat(t.Context(), cluster, 1, h.now)
			must(t, err)
			if got := h.saidLost(); got != c.want || lost != (c.want > 0) {
				t.Errorf("said %d times, want %d; the watcher hears %t", got, c.want, lost)
			}
			delete(h.errs, "snapshot") // it is published anew
			h.published.Seq++
			h.frozen = false
			h.pass(65)
			drained(t, h, "c-n0")
			if got := h.saidLost(); got != c.want {
				t.Errorf("said %d times afterwards", got)
			}
		})
	}
}

// F4: a run that cannot say so goes on as before, and says it with the next check.
func TestF4WhatCouldNotBeSaidIsSaidAgain(t *testing.T) {
	h := newHouse(t, 3)
	h.frozen = true
	h.errs["snapshot"] = fault.New(fault.NotFound, "NoSuchKey", "no object seg-2")
	h.errs["lost"] = fault.New(fault.Throttled, "ThrottlingException", "slow down")
	must(t, h.run(nil, true))
	if n := len(h.outcome.Problems); n != 2 || len(h.hints) != 1 {
		t.Errorf("%d problems, %d hints: %+v", n, len(h.hints), h.outcome)
	}
	delete(h.errs, "lost")
	must(t, h.run(nil, true))
	must(t, h.run(nil, true))
	if got := h.saidLost(); got != 2 {
		t.Errorf("said %d times, want once in vain and once", got)
	}
}

// lied is a book whose watcher wrote a manifest that is not to be believed.
type lied struct{ disrupt.Ledger }

func (l lied) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	ledger, err := l.Ledger.Load(ctx, reg)
	ledger.Manifest, ledger.ManifestFault = nil, "the snapshot pointer names the cluster victim"
	return ledger, err
}

// W4: where the watcher's manifest is not believed no node is disrupted, and the outcome says why.
func TestW4NothingIsDecidedByAManifestThatIsNotBelieved(t *testing.T) {
	h := newHouse(t, 3)
	h.wants(planned(model.ReasonEmpty, 0, "n0"))
	flow := h.flow(nil)
	flow.Ledger = lied{flow.Ledger}
	outcome, err := flow.Run(t.Context(), disrupt.Request{Cluster: cluster, Owner: "a", Changed: true, Deadline: flow.Now().Add(time.Minute)})
	if err != nil || outcome.Planned != 0 || h.plans != 0 || !strings.Contains(outcome.Undecided, "names the cluster victim") || len(outcome.Problems) != 1 {
		t.Errorf("%+v, %v; planned %d times", outcome, err, h.plans)
	}
	must(t, h.run(nil, true))
	if h.outcome.Planned == 0 {
		t.Errorf("the test shows nothing: %+v", h.outcome)
	}
}
