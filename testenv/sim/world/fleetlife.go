package world

import (
	"math"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// Causes of an instance's end.
const (
	byTerminate = "terminate"
	bySpot      = "spot"
	byFailure   = "failure"
	byPerson    = "person"
)

// begin lets an instance's life begin now.
func (f *Fleet) begin(m *Instance, price model.MicroUSD) {
	now := f.now()
	m.State, m.LaunchedUnix, m.LaunchedAt = statePending, now.Unix(), now
	m.VisibleAt = now.Add(f.draw(f.options.Visibility))
	m.cost.begin(now, price)
	f.instances, f.listed = append(f.instances, m), append(f.listed, m)
	f.byID[m.ID] = m
	f.byIntent[m.Tags[tagIntent]] = append(f.byIntent[m.Tags[tagIntent]], m)
	f.changed(m)
	f.eventQueue.Add(now.Add(f.draw(f.options.Pending)), func() {
		if m.State == statePending {
			m.State = stateRunning
			f.changed(m)
		}
	})
	if m.CapacityType == model.Spot {
		f.perhaps(f.options.SpotLife, func() { f.warn(m, f.options.SpotNotice) })
	}
	f.perhaps(f.options.FailureLife, func() { f.end(m, byFailure) })
}

// perhaps does something after a time drawn around a mean, unless chance has been switched off by then.
func (f *Fleet) perhaps(mean time.Duration, do func()) {
	if mean <= 0 || f.options.Rand == nil {
		return
	}
	after := time.Duration(-math.Log(1-f.options.Rand.Float64()) * float64(mean)).Round(time.Millisecond)
	f.eventQueue.Add(f.now().Add(after), func() {
		if !f.calm {
			do()
		}
	})
}

func (f *Fleet) draw(s Span) time.Duration { return s.draw(f.options.Rand) }

func (f *Fleet) changed(m *Instance) {
	f.changes = append(f.changes, InstanceChange{m.ID, m.State})
	if f.events != nil {
		f.events.stateChanged(m.ID, m.State)
	}
}

func (f *Fleet) noteStarted(instances []*Instance) {
	for _, m := range instances {
		f.log.Note(InstanceStarted{Cluster: m.Cluster, Instance: m.Instance, UserData: m.UserData, Price: m.cost.rate, VisibleAt: m.VisibleAt})
	}
}

// warn tells a spot instance that it will be taken away.
func (f *Fleet) warn(m *Instance, notice time.Duration) {
	if m.shutting || m.Terminated || m.marked {
		return
	}
	due := f.now().Add(notice)
	m.marked, m.markedAt = true, f.now()
	f.log.Note(InstanceWarned{ID: m.ID, Due: due})
	if f.events != nil {
		f.events.interrupted(m.ID, m.Zone)
	}
	f.eventQueue.Add(due, func() { f.end(m, bySpot) })
}

// stateReasons are the codes EC2 gives for why instances ended, by cause. Source: state reason codes of the EC2 API reference, Instance.
var stateReasons = map[string]string{
	byTerminate: "Client.UserInitiatedShutdown", byPerson: "Client.UserInitiatedShutdown", bySpot: "Server.SpotInstanceTermination", byFailure: "Server.InternalError",
}

// end tells an instance to end; it is terminated a while later. One that is ending already goes on.
func (f *Fleet) end(m *Instance, cause string) {
	if m.shutting || m.Terminated {
		return
	}
	if cause == bySpot && !m.marked {
		m.marked, m.markedAt = true, f.now()
	}
	m.shutting, m.State, m.StateReason = true, stateShuttingDown, stateReasons[cause]
	m.cost.stop(f.now())
	f.log.Note(InstanceEnding{ID: m.ID, Cause: cause})
	f.changed(m)
	after := f.draw(f.options.ShuttingDown)
	if after == 0 {
		f.terminated(m, cause)
		return
	}
	f.eventQueue.Add(f.now().Add(after), func() { f.terminated(m, cause) })
}

func (f *Fleet) terminated(m *Instance, cause string) {
	m.Terminated, m.State, m.EndedAt = true, stateTerminated, f.now()
	f.log.Note(InstanceEnded{ID: m.ID, Cause: cause})
	f.changed(m)
	offering := model.OfferingKey{InstanceType: m.Type, Zone: m.Zone, CapacityType: m.CapacityType}
	if _, limited := f.stock[offering]; limited && m.limited {
		f.stock[offering]++
	}
	f.eventQueue.Add(f.now().Add(f.options.Listed), func() {
		f.listed = slices.DeleteFunc(f.listed, func(other *Instance) bool { return other == m })
	})
}

// Interrupt warns a spot instance that it will be taken away after the notice, and takes it away then.
func (f *Fleet) Interrupt(id string, notice time.Duration) {
	defer f.enter()()
	if m := f.byID[id]; m != nil {
		f.warn(m, notice)
	}
}

// FailInstance ends an instance without a word, as a broken host does.
func (f *Fleet) FailInstance(id string) { f.endBy(id, byFailure) }

// EndByHand ends an instance as a person at the console would.
func (f *Fleet) EndByHand(id string) { f.endBy(id, byPerson) }

func (f *Fleet) endBy(id, cause string) {
	defer f.enter()()
	if m := f.byID[id]; m != nil {
		f.end(m, cause)
	}
}

// meter adds up what an instance costs: money per hour over time, in micro-USD seconds.
type meter struct {
	rate  model.MicroUSD // per hour
	since time.Time      // zero once it runs no more
	sum   int64          // micro-USD an hour times seconds, until since
}

func (t *meter) begin(now time.Time, rate model.MicroUSD) { t.rate, t.since = rate, now }

// reprice goes on at another rate.
func (t *meter) reprice(now time.Time, rate model.MicroUSD) {
	if !t.since.IsZero() {
		t.sum += int64(t.rate) * int64(now.Sub(t.since)/time.Second)
		t.rate, t.since = rate, now
	}
}

func (t *meter) stop(now time.Time) {
	t.reprice(now, t.rate)
	t.since = time.Time{}
}

func (t *meter) total(now time.Time) int64 {
	if t.since.IsZero() {
		return t.sum
	}
	return t.sum + int64(t.rate)*int64(now.Sub(t.since)/time.Second)
}

// Cost returns what instances have cost by now, all of them where no id is given. An instance costs from its launch until it
// is told to end, at the price of the moment where it is spot.
func (f *Fleet) Cost(ids ...string) model.MicroUSD {
	defer f.enter()()
	var sum int64
	for _, m := range f.instances {
		if len(ids) == 0 || slices.Contains(ids, m.ID) {
			sum += m.cost.total(f.now())
		}
	}
	return model.MicroUSD(sum / 3600)
}

// SetPrice moves the price of an offering, in the catalog and for the spot instances that run.
func (f *Fleet) SetPrice(offering model.OfferingKey, price model.MicroUSD) {
	defer f.enter()()
	f.catalog.SetPrice(offering, price)
	for _, m := range f.listed {
		if offering.CapacityType == model.Spot && m.CapacityType == model.Spot && m.Type == offering.InstanceType && m.Zone == offering.Zone {
			m.cost.reprice(f.now(), price)
		}
	}
}
