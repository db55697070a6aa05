package cloudwatch

import (
	"slices"
	"strings"
	"sync"
)

// State is the state of an alarm.
type State string

// The states of an alarm. A new one has not been evaluated.
const (
	OK           State = "OK"
	On           State = "ALARM"
	Insufficient State = "INSUFFICIENT_DATA"
)

type alarm struct {
	name      string
	composite bool
	state     State
}

// Model is one account in one region. It is safe for concurrent use.
type Model struct {
	mu     sync.Mutex
	alarms []alarm // by name
}

// New returns a model without alarms.
func New() *Model { return &Model{} }

// PutMetric makes a metric alarm.
func (m *Model) PutMetric(name string) { m.put(alarm{name: name, state: Insufficient}) }

// PutComposite makes a composite alarm.
func (m *Model) PutComposite(name string) {
	m.put(alarm{name: name, composite: true, state: Insufficient})
}

// Set moves an alarm into a state, as SetAlarmState does. One that does not exist stays so.
func (m *Model) Set(name string, state State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range m.alarms {
		if m.alarms[i].name == name {
			m.alarms[i].state = state
		}
	}
}

// Delete deletes an alarm.
func (m *Model) Delete(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alarms = slices.DeleteFunc(m.alarms, func(a alarm) bool { return a.name == name })
}

func (m *Model) put(a alarm) {
	m.Delete(a.name)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.alarms = append(m.alarms, a)
	slices.SortFunc(m.alarms, func(a, b alarm) int { return strings.Compare(a.name, b.name) })
}

// page returns the alarms of some names and kinds after one, at most so many, and the last name where there are more.
func (m *Model) page(names []string, kinds map[bool]bool, after string, most int) (out []alarm, next string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range m.alarms {
		if a.name <= after || !kinds[a.composite] || len(names) > 0 && !slices.Contains(names, a.name) {
			continue
		}
		if len(out) == most {
			return out, out[most-1].name
		}
		out = append(out, a)
	}
	return out, ""
}
