package world

import (
	"slices"
	"sync"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Alarms is CloudWatch as far as alarms go that NodePools name. Only what is set exists.
type Alarms struct {
	note func(name string, on bool)

	mu     sync.Mutex
	down   bool
	states map[string]model.AlarmState
}

// Set moves an alarm into a state, and makes it where it is not there.
func (a *Alarms) Set(name string, state model.AlarmState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.states == nil {
		a.states = map[string]model.AlarmState{}
	}
	if a.states[name] != state {
		a.states[name] = state
		a.note(name, state == model.AlarmOn)
	}
}

// Down has CloudWatch answer nothing while it is set.
func (a *Alarms) Down(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

// Heal has every alarm go off, and CloudWatch answer.
func (a *Alarms) Heal() {
	a.Down(false)
	a.mu.Lock()
	var names []string
	for name := range a.states {
		names = append(names, name)
	}
	a.mu.Unlock()
	slices.Sort(names)
	for _, name := range names {
		a.Set(name, model.AlarmOK)
	}
}

// States returns the states of alarms by name, without those that do not exist.
func (a *Alarms) States(names []string) (map[string]model.AlarmState, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return nil, fault.New(fault.Internal, "InternalServiceFault", "CloudWatch does not answer")
	}
	out := map[string]model.AlarmState{}
	for _, name := range names {
		if state, ok := a.states[name]; ok {
			out[name] = state
		}
	}
	return out, nil
}
