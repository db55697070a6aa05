package ec2

import (
	"slices"
	"time"
)

// Check is a status check of an instance.
type Check string

// The status checks, as their filters call them.
const (
	InstanceCheck Check = "instance-status"
	SystemCheck   Check = "system-status"
	EBSCheck      Check = "attached-ebs-status"
)

// Codes of scheduled events.
const (
	InstanceReboot     = "instance-reboot"
	SystemReboot       = "system-reboot"
	SystemMaintenance  = "system-maintenance"
	InstanceRetirement = "instance-retirement"
	InstanceStop       = "instance-stop"
)

// ScheduledEvent is something EC2 means to do to an instance. That it happens is not modeled: nothing is done when its
// time has come.
type ScheduledEvent struct {
	ID          string // made up when empty
	Code        string // one of the codes above
	Description string // "" means what EC2 says of the code
	NotBefore   time.Time
	NotAfter    time.Time // zero means none is said
	Deadline    time.Time // NotBefore's; zero means none is said
}

type scheduledEvent struct {
	ScheduledEvent
	ended time.Time // zero while it is still to come
}

// eventKept is how long an event is described after it ended. Source: API reference, InstanceStatusEvent.
const eventKept = 7 * 24 * time.Hour

// Impair makes a status check of an instance fail as of a time, zero for now, and reports whether there is such an instance.
func (m *Model) Impair(id string, check Check, since time.Time) bool {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok {
		return false
	}
	if since.IsZero() {
		since = m.now()
	}
	if i.impaired == nil {
		i.impaired = map[Check]time.Time{}
	}
	i.impaired[check] = since
	return true
}

// Recover makes a status check pass again, and reports whether it had failed.
func (m *Model) Recover(id string, check Check) bool {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok || i.impaired[check].IsZero() {
		return false
	}
	delete(i.impaired, check)
	return true
}

// Schedule announces an event for an instance and returns the event's id, "" when there is no such instance.
func (m *Model) Schedule(id string, e ScheduledEvent) string {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok {
		return ""
	}
	if e.ID == "" {
		e.ID = m.newID("instance-event")
	}
	if e.Description == "" {
		e.Description = "The instance is running on degraded hardware"
		if e.Code == SystemReboot || e.Code == InstanceReboot || e.Code == SystemMaintenance {
			e.Description = "The instance is scheduled for maintenance"
		}
	}
	i.events = append(i.events, scheduledEvent{ScheduledEvent: e})
	return e.ID
}

// Complete ends a scheduled event, which is described for a week on, with that before its description. It reports whether
// there was one to end.
func (m *Model) Complete(id, event string) bool { return m.endEvent(id, event, "[Completed] ") }

// Cancel takes a scheduled event back: see Complete.
func (m *Model) Cancel(id, event string) bool { return m.endEvent(id, event, "[Canceled] ") }

func (m *Model) endEvent(id, event, how string) bool {
	m.lock()
	defer m.unlock()
	i, ok := m.instances[id]
	if !ok {
		return false
	}
	at := slices.IndexFunc(i.events, func(e scheduledEvent) bool { return e.ID == event && e.ended.IsZero() })
	if at < 0 {
		return false
	}
	i.events[at].ended, i.events[at].Description = m.now(), how+i.events[at].Description
	return true
}

// reported returns the events of an instance that are described now.
func (m *Model) reported(i *instance) []scheduledEvent {
	var out []scheduledEvent
	for _, e := range i.events {
		if e.ended.IsZero() || m.now().Before(e.ended.Add(eventKept)) {
			out = append(out, e)
		}
	}
	return out
}
