package model

import "strings"

// AlarmState is the state of a CloudWatch alarm.
type AlarmState string

// The states of an alarm.
const (
	AlarmOK           AlarmState = "OK"
	AlarmOn           AlarmState = "ALARM"
	AlarmInsufficient AlarmState = "INSUFFICIENT_DATA"
)

// Bounds of AnnotationStopAlarms.
const (
	MaxStopAlarms    = 10
	MaxAlarmNameSize = 255 // as CloudWatch has it
)

// StopAlarms returns the names in AnnotationStopAlarms, in their order and each once; none where there is none.
func (p *Pool) StopAlarms() []string { return AlarmNames(p.Annotations[AnnotationStopAlarms]) }

// AlarmNames reads a value of AnnotationStopAlarms. Space around a name and names that are empty do not count.
func AlarmNames(value string) []string {
	var names []string
	seen := map[string]bool{}
	for name := range strings.SplitSeq(value, ",") {
		if name = strings.TrimSpace(name); name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// AlarmStop says that an alarm keeps a NodePool's nodes from voluntary disruption.
type AlarmStop struct {
	Pool  string `json:"pool"`
	Alarm string `json:"alarm"`
	// On says that the alarm is in ALARM: commands that have not begun to drain are undone, too. Otherwise its state is
	// not known, and no command begins.
	On        bool   `json:"on,omitempty"`
	Why       string `json:"why"`
	SinceUnix int64  `json:"since"` // when a check found it first, for this reason
}

// Stop is the stop of the NodePool that it comes to.
func (a *AlarmStop) Stop() Stop {
	return Stop{Scope: StopPool, Pool: a.Pool, Why: a.Why, By: "CloudWatch", SinceUnix: a.SinceUnix}
}

// StopsInForce returns the stops of people, and those of alarms as the last check of the disruption function found
// them.
func (l *Ledger) StopsInForce() []Stop { return WithAlarms(l.Stops, l.Disrupt.Alarms) }

// WithAlarms adds stops of alarms to others, in the order of SortStops.
func WithAlarms(stops []Stop, alarms []AlarmStop) []Stop {
	if len(alarms) == 0 {
		return stops
	}
	out := append([]Stop{}, stops...)
	for i := range alarms {
		out = append(out, alarms[i].Stop())
	}
	SortStops(out)
	return out
}
