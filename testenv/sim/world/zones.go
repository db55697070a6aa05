package world

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Zones is ARC as far as the world's cluster goes, and the hints by which functions ask it again. Until it is enabled
// nobody asks, so that worlds without zonal shifts are as they were.
type Zones struct {
	now     func() time.Time
	events  *Events
	configs HintQueue
	cluster string

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

func (z *Zones) announce(kind string) {
	arn := "arn:aws:eks:" + z.events.options.Region + ":" + z.events.options.Account + ":cluster/" + z.cluster
	z.events.emitOf(model.NoticeZonalShift, "aws.arc-zonal-shift", kind, struct{}{}, nil, []string{arn})
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
		return z.configs.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonShift, Tick: key})
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

// shifting has a catalog flow ask ARC, where zonal shifts are enabled.
func (p *Ports) shifting(flow *catalog.Flow) *catalog.Flow {
	if p.world.Zones.Enabled() {
		flow.Shifts = ledgerPort{p}
		flow.RequestShift = shiftPort{p}.Request
	}
	return flow
}

type shiftPort struct{ *Ports }

func (p shiftPort) Request(ctx context.Context, cluster, key string, after time.Duration) error {
	return do(ctx, p.Ports, "queue.shift", func() error { return p.world.Zones.Request(ctx, cluster, key, after) })
}

func (p shiftPort) Now(ctx context.Context, cluster, key string) error {
	return p.Request(ctx, cluster, key, 0)
}

func (p classPort) ZonalShifts(ctx context.Context, reg model.Registration) (shifts []model.ZonalShift, managed bool,
	err error) {
	shifts, err = read(ctx, p.Ports, "zones.shifts", func() (shifts []model.ZonalShift, err error) {
		shifts, managed, err = p.world.Zones.ZonalShifts(ctx, reg)
		return shifts, err
	})
	return shifts, managed, err
}

func (p ledgerPort) Shifts(ctx context.Context, cluster string) (model.ZonalShifts, error) {
	return read(ctx, p.Ports, "ledger.shifts", func() (model.ZonalShifts, error) {
		return p.world.Ledger.Shifts(ctx, cluster)
	})
}

func (p ledgerPort) PutShifts(ctx context.Context, cluster string, shifts model.ZonalShifts) error {
	return do(ctx, p.Ports, "ledger.putshifts", func() error { return p.world.Ledger.PutShifts(ctx, cluster, shifts) })
}

// Shifts returns the zonal shifts that were recorded last.
func (l *Ledger) Shifts(_ context.Context, cluster string) (model.ZonalShifts, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items(cluster).shifts, nil
}

// PutShifts writes them on condition of their version.
func (l *Ledger) PutShifts(_ context.Context, cluster string, shifts model.ZonalShifts) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.items(cluster)
	if b.shifts.Version != shifts.Version {
		return fault.New(fault.Conflict, "ShiftsChanged", "the zonal shifts are at version %d, not %d",
			b.shifts.Version, shifts.Version)
	}
	shifts.Version++
	b.shifts = shifts
	l.note(LedgerWritten{Cluster: cluster, Op: "shifts"})
	return nil
}
