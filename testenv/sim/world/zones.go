package world

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Zones is ARC as far as the world's cluster goes, and the hints by which functions ask it again. Until it is enabled
// nobody asks, so that worlds without zonal shifts are as they were.
type Zones struct {
	now      func() time.Time
	announce func(detailType string)                         // emits ARC's event about the cluster
	send     func(ctx context.Context, hint wire.Hint) error // to the queue of the catalog function

	mu      sync.Mutex
	enabled bool
	down    bool
	shifts  []model.ZonalShift
	hints   eventqueue.Queue
}

// Enable has zonal shifts enabled for the cluster.
func (z *Zones) Enable() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.enabled = true
}

// Enabled reports whether they are.
func (z *Zones) Enabled() bool {
	if z == nil { // another cluster's world
		return false
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.enabled
}

// Down has ARC answer nothing while it is set.
func (z *Zones) Down(down bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.down = down
}

// Heal ends every shift, and has ARC answer.
func (z *Zones) Heal() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.shifts, z.down = nil, false
}

// Shift moves the cluster away from a zone, until a time or, as an autoshift, until it is canceled.
func (z *Zones) Shift(zoneID string, until time.Time) {
	shift := model.ZonalShift{ZoneID: zoneID, Auto: until.IsZero(), SinceUnix: z.now().Unix()}
	kind := "Autoshift In Progress"
	if !shift.Auto {
		shift.UntilUnix, kind = until.Unix(), "Manual Shift Started"
	}
	z.mu.Lock()
	z.shifts = append(z.shifts, shift)
	z.mu.Unlock()
	z.announce(kind)
}

// Cancel ends the shifts of a zone.
func (z *Zones) Cancel(zoneID string) {
	z.mu.Lock()
	kind := "Manual Shift Canceled"
	z.shifts = slices.DeleteFunc(z.shifts, func(s model.ZonalShift) bool {
		if s.ZoneID == zoneID && s.Auto {
			kind = "Autoshift Completed"
		}
		return s.ZoneID == zoneID
	})
	z.mu.Unlock()
	z.announce(kind)
}

// ZonalShifts returns the shifts that are applied now, as ARC does: one that has expired is not shown.
func (z *Zones) ZonalShifts(context.Context, model.Registration) ([]model.ZonalShift, bool, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.down {
		return nil, false, fault.New(fault.Internal, "InternalServerException", "ARC does not answer")
	}
	var out []model.ZonalShift
	for _, shift := range z.shifts {
		if shift.Auto || shift.UntilUnix > z.now().Unix() {
			out = append(out, shift)
		}
	}
	slices.SortFunc(out, func(a, b model.ZonalShift) int { return strings.Compare(a.ZoneID, b.ZoneID) })
	return out, z.enabled, nil
}

// Request has the catalog function ask after a time. Its queue here is FIFO, which knows no delays, so the hint waits
// outside.
func (z *Zones) Request(ctx context.Context, cluster, key string, after time.Duration) error {
	send := func() error {
		return z.send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonShift, Tick: key})
	}
	if after == 0 {
		return send()
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.hints.Add(z.now().Add(after), func() { _ = send() }) // one that is lost is no worse
	return nil
}

// Next returns when a hint is sent next.
func (z *Zones) Next() (time.Time, bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.hints.Next()
}

// Run sends the hints that are due.
func (z *Zones) Run(now time.Time) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.hints.Run(now)
}
