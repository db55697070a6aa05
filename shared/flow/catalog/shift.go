package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Reasons of events about zonal shifts.
const (
	reasonShiftStarted = "ZonalShiftStarted"
	reasonShiftEnded   = "ZonalShiftEnded"
)

const (
	// shiftEvery is how long after the tick of a minute ARC is asked once more, so that a zonal shift is known half a
	// minute after its start.
	shiftEvery = 30 * time.Second
	// askWithin is what ARC has to answer: nothing else of the pass waits for longer.
	askWithin = 5 * time.Second
	// openFor is how many seconds a shift is believed of which ARC does not say when it ends, and nobody can ask: at
	// least half of it is left each time.
	openFor = 3600
)

// zonalShifts asks ARC which zones the cluster is shifted away from, and records what has changed. Whoever launches and
// disrupts gets a hint. What cannot be asked stays as it was, each shift until its end.
func (r *session) zonalShifts(ctx context.Context) {
	if r.flow.Shifts == nil {
		return
	}
	before, err := r.flow.Shifts.Shifts(ctx, r.reg.Cluster)
	if err != nil {
		r.Problem("read the recorded zonal shifts: %v", err)
		return
	}
	next := model.ZonalShifts{Version: before.Version}
	if !r.settings.NoZonalShift {
		asking, stop := context.WithTimeout(ctx, askWithin)
		defer stop()
		if next.Shifts, next.Managed, err = r.clients.Zones.ZonalShifts(asking, r.reg); err != nil {
			r.unasked(err)
			r.askAgain(ctx, before.Managed)
			return
		}
	}
	next.Shifts = inForce(next.Shifts, before.Shifts, r.Clock().Unix())
	for _, shift := range next.Shifts {
		r.out.Shifted = append(r.out.Shifted, shift.ZoneID)
	}
	r.askAgain(ctx, next.Managed)
	if next.Managed == before.Managed && slices.Equal(next.Shifts, before.Shifts) {
		return
	}
	err = r.Effect(ctx, EffectShift, func() error { return r.flow.Shifts.PutShifts(ctx, r.reg.Cluster, next) })
	if err != nil {
		if !fault.Is(err, fault.Conflict) { // another run was faster
			r.Problem("record the zonal shifts: %v", err)
		}
		return
	}
	r.announceShifts(ctx, before.Shifts, next.Shifts)
}

// inForce returns the shifts that are not over, each with an end.
func inForce(found, before []model.ZonalShift, now int64) []model.ZonalShift {
	var out []model.ZonalShift
	for _, shift := range found {
		if shift.UntilUnix == 0 {
			shift.UntilUnix = now + openFor
			known := slices.IndexFunc(before, func(b model.ZonalShift) bool { return sameShift(b, shift) })
			if known >= 0 && before[known].UntilUnix-now > openFor/2 && before[known].UntilUnix <= shift.UntilUnix {
				shift.UntilUnix = before[known].UntilUnix // so that it is not written each time
			}
		}
		if shift.UntilUnix > now {
			out = append(out, shift)
		}
	}
	return out
}

func sameShift(a, b model.ZonalShift) bool {
	return a.ZoneID == b.ZoneID && a.Auto == b.Auto && a.SinceUnix == b.SinceUnix
}

// unasked tells that ARC could not be asked.
func (r *session) unasked(err error) {
	if fault.Is(err, fault.Denied) {
		r.Problem("ARC may not be asked for zonal shifts: allow arc-zonal-shift:GetManagedResource by deploying "+
			"the cluster's stack of this release, or set JOINER_DISABLE_ZONAL_SHIFT: %v", err)
		return
	}
	r.Problem("ask ARC for zonal shifts; the next run does: %v", err)
}

// askAgain sends a hint to ask ARC once more before the next tick where the cluster has zonal shifts enabled. The run
// that the hint asks for sends none itself.
func (r *session) askAgain(ctx context.Context, managed bool) {
	if !managed || r.request.Shift || r.request.Config || r.flow.RequestShift == nil {
		return
	}
	key := fmt.Sprintf("shift/%d", r.Clock().Unix())
	r.Try(ctx, EffectHint, "send a hint to ask ARC again; the next tick does", func() error {
		return r.flow.RequestShift(ctx, r.reg.Cluster, key, shiftEvery)
	})
}

// announceShifts tells those who launch and disrupt, and people by events on the NodePools that might use the zone.
func (r *session) announceShifts(ctx context.Context, before, now []model.ZonalShift) {
	key := fmt.Sprintf("shift/%d", r.Clock().Unix())
	r.Try(ctx, EffectHint, "send a hint about zonal shifts; the next scheduled run finds them", func() error {
		return r.flow.ReportReady(ctx, r.reg.Cluster, key)
	})
	if r.flow.RequestDisruption != nil {
		r.Try(ctx, EffectHint, "send a disruption hint about zonal shifts; the next scheduled run finds them",
			func() error {
				return r.flow.RequestDisruption(ctx, r.reg.Cluster, key)
			})
	}
	started, ended := lacking(now, before), lacking(before, now)
	if len(started)+len(ended) == 0 {
		return
	}
	config, err := r.clients.Cluster.Configuration(ctx)
	if err != nil {
		r.Problem("read the NodePools to report zonal shifts: %v", err)
		return
	}
	var events []model.Event
	for _, shift := range started {
		until := "it ends"
		if !shift.Auto {
			until = time.Unix(shift.UntilUnix, 0).UTC().Format(time.RFC3339)
		}
		events = append(events, shiftEvents(&config, shift, reasonShiftStarted, fmt.Sprintf(
			"A %s of the cluster is in force in zone %s: until %s no instance is launched there, "+
				"and no node there is disrupted voluntarily",
			shift.Name(), shift.ZoneID, until))...)
	}
	for _, shift := range ended {
		events = append(events, shiftEvents(&config, shift, reasonShiftEnded, fmt.Sprintf(
			"The %s of the cluster in zone %s is over: instances are launched there again", shift.Name(),
			shift.ZoneID))...)
	}
	if len(events) > 0 {
		r.Try(ctx, EffectReport, "report zonal shifts", func() error {
			return r.clients.Reporter.Report(ctx, model.Report{Events: events})
		})
	}
}

// lacking returns the shifts of zones that others have none of.
func lacking(shifts, others []model.ZonalShift) []model.ZonalShift {
	return slices.DeleteFunc(slices.Clone(shifts), func(s model.ZonalShift) bool {
		return slices.ContainsFunc(others, func(o model.ZonalShift) bool { return o.ZoneID == s.ZoneID })
	})
}

func shiftEvents(config *model.Configuration, shift model.ZonalShift, reason, message string) []model.Event {
	var events []model.Event
	for i := range config.Pools {
		pool := &config.Pools[i]
		if pool.DeletedUnix == 0 && offering.Accepts(pool.Template.Requirements, model.LabelZoneID, shift.ZoneID) {
			events = append(events, model.Event{Kind: "NodePool", Name: pool.Name, UID: pool.UID, Reason: reason,
				Message: message})
		}
	}
	slices.SortFunc(events, func(a, b model.Event) int { return strings.Compare(a.Name, b.Name) })
	return events
}

// shiftable reports whether the cluster is known to have zonal shifts enabled: ARC is asked each minute then, also
// while the cluster sleeps. What cannot be read may have.
func (f *Flow) shiftable(ctx context.Context, cluster string) bool {
	if f.Shifts == nil || f.Settings.NoZonalShift {
		return false
	}
	shifts, err := f.Shifts.Shifts(ctx, cluster)
	return err != nil || shifts.Managed
}
