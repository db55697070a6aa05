package catalog

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func (w site) ZonalShifts(context.Context, model.Registration) ([]model.ZonalShift, bool, error) {
	return slices.Clone(w.shifts), w.managed, w.call("ZonalShifts")
}

func (w *world) Shifts(context.Context, string) (model.ZonalShifts, error) {
	return w.recorded, w.fail["Shifts"]
}

func (w *world) PutShifts(_ context.Context, _ string, shifts model.ZonalShifts) error {
	if shifts.Version != w.recorded.Version {
		return fault.New(fault.Conflict, "", "at version %d", w.recorded.Version)
	}
	w.recorded, w.shiftPuts = shifts, w.shiftPuts+1
	w.recorded.Version++
	return nil
}

// shifting has a flow ask ARC, and asks for nothing but zonal shifts where only says so.
func (w *world) shifting(only bool) func(*Flow, *Request) {
	return func(f *Flow, r *Request) {
		f.Shifts, r.Shift = w, only
		f.RequestDisruption = func(_ context.Context, cluster, key string) error {
			w.hints = append(w.hints, "disrupt "+cluster+" "+key)
			return nil
		}
		f.RequestShift = func(_ context.Context, cluster, _ string, after time.Duration) error {
			w.hints = append(w.hints, "shift "+cluster+" "+after.String())
			return nil
		}
	}
}

func (w *world) hinted(of string) bool {
	return slices.ContainsFunc(w.hints, func(h string) bool { return strings.HasPrefix(h, of+" web") })
}

// CT-07, F148, M77: a zonal shift is recorded with its end by the run that sees it first, those who launch and disrupt
// get hints, and the NodePools say so; its cancellation is recorded in the same way. What stays as it is is written
// once.
func TestCT07ZonalShiftsAreRecordedWithHints(t *testing.T) {
	w := newWorld(t)
	w.managed = true
	w.pass(time.Minute, w.shifting(false))
	if !w.recorded.Managed || len(w.recorded.Shifts) != 0 || !w.hinted("shift") {
		t.Fatalf("recorded %+v, hints %v", w.recorded, w.hints)
	}
	w.shifts = []model.ZonalShift{{ZoneID: "usw2-az1", SinceUnix: w.now, UntilUnix: w.now + 3600}}
	out := w.pass(30*time.Second, w.shifting(true))
	if !slices.Equal(w.recorded.Shifts, w.shifts) || !slices.Equal(out.Shifted, []string{"usw2-az1"}) ||
		!w.hinted("ready") || !w.hinted("disrupt") || w.hinted("shift") {
		t.Errorf("recorded %+v, outcome %+v, hints %v", w.recorded, out, w.hints)
	}
	if events := w.reported.Events; len(events) != 1 || events[0].Reason != reasonShiftStarted ||
		events[0].Name != "pool" || !strings.Contains(events[0].Message, "usw2-az1") {
		t.Errorf("events %+v", events)
	}
	puts := w.shiftPuts
	w.pass(30*time.Second, w.shifting(true))
	if w.shiftPuts != puts || len(w.hints) != 0 || len(w.reported.Events) != 0 {
		t.Errorf("nothing has changed, and it was written %d times; hints %v", w.shiftPuts-puts, w.hints)
	}
	w.shifts = nil
	w.pass(30*time.Second, w.shifting(true))
	if len(w.recorded.Shifts) != 0 || !w.hinted("ready") || len(w.reported.Events) != 1 ||
		w.reported.Events[0].Reason != reasonShiftEnded {
		t.Errorf("after its cancellation: recorded %+v, hints %v, events %+v", w.recorded, w.hints, w.reported.Events)
	}
}

// CT-07: while ARC does not answer a shift stays until its end. An autoshift has none, so it is believed for an hour
// after it was last seen, and written every half an hour.
func TestCT07ShiftsThatCannotBeAskedAboutLapse(t *testing.T) {
	w := newWorld(t)
	w.managed, w.shifts = true, []model.ZonalShift{{ZoneID: "usw2-az1", Auto: true, SinceUnix: w.now}}
	for range 90 {
		w.pass(time.Minute, w.shifting(true))
	}
	if w.shiftPuts < 3 || w.shiftPuts > 5 {
		t.Errorf("written %d times in 90 minutes", w.shiftPuts)
	}
	w.fail["ZonalShifts"] = errors.New("down")
	out := w.pass(time.Minute, w.shifting(true))
	if len(w.recorded.Unavailable(w.now)) != 1 || len(out.Problems) != 1 {
		t.Errorf("recorded %+v, problems %v", w.recorded, out.Problems)
	}
	if left := w.recorded.Unavailable(w.now + openFor); len(left) != 0 {
		t.Errorf("an hour after it was last seen: %+v", left)
	}
	w.fail["ZonalShifts"] = fault.New(fault.Denied, "AccessDeniedException", "no")
	if out = w.pass(time.Minute, w.shifting(true)); len(out.Problems) != 1 || !strings.Contains(out.Problems[0],
		"arc-zonal-shift:GetManagedResource") {
		t.Errorf("problems %v", out.Problems)
	}
}

// CT-07: where it is turned off nothing is asked, and what was recorded is dropped.
func TestCT07TurnedOffNothingIsAsked(t *testing.T) {
	w := newWorld(t)
	w.managed, w.shifts = true, []model.ZonalShift{{ZoneID: "usw2-az1", UntilUnix: w.now + 3600}}
	w.pass(time.Second, w.shifting(true))
	off := func(f *Flow, r *Request) {
		w.shifting(true)(f, r)
		f.Settings.NoZonalShift = true
	}
	if w.pass(time.Minute, off); w.asked("ZonalShifts") != 0 || w.recorded.Managed || len(w.recorded.Shifts) != 0 ||
		!w.hinted("ready") {
		t.Errorf("asked %d times, recorded %+v, hints %v", w.asked("ZonalShifts"), w.recorded, w.hints)
	}
}
