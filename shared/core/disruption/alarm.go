package disruption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Alarms is what was read of the CloudWatch alarms that NodePools name.
type Alarms struct {
	States map[string]model.AlarmState // by name; without those that do not exist
	Unread string                      // why none could be read, the same at each attempt; "" = they were
}

// AlarmNames returns the alarms that NodePools name, sorted and each once.
func AlarmNames(pools []model.Pool) []string {
	var names []string
	for i := range pools {
		names = append(names, pools[i].StopAlarms()...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// AlarmStops says which NodePools' nodes alarms keep from voluntary disruption, by NodePool and in the order in which
// each names its alarms. An alarm that does not exist or cannot be read stops its NodePools: who asked for a guard is
// not left without one. One that was on at the last check, before, stays on until its state is read. INSUFFICIENT_DATA
// stops nothing: what missing data means is the alarm's own setting.
func AlarmStops(pools []model.Pool, read Alarms, before []model.AlarmStop, nowUnix int64) []model.AlarmStop {
	var stops []model.AlarmStop
	for i := range pools {
		for _, name := range pools[i].StopAlarms() {
			stop := model.AlarmStop{Pool: pools[i].Name, Alarm: name, SinceUnix: nowUnix}
			was := slices.IndexFunc(before, func(a model.AlarmStop) bool {
				return a.Pool == stop.Pool && a.Alarm == name
			})
			state, exists := read.States[name]
			switch {
			case read.Unread != "" && was >= 0 && before[was].On:
				stop.On, stop.Why = true, before[was].Why
			case read.Unread != "":
				stop.Why = fmt.Sprintf("CloudWatch alarm %q cannot be read: %s", name, read.Unread)
			case !exists:
				stop.Why = fmt.Sprintf("CloudWatch alarm %q does not exist in the account and region of the cluster; "+
					"create it, or remove it from annotation %s", name, model.AnnotationStopAlarms)
			case state == model.AlarmOn:
				stop.On, stop.Why = true, fmt.Sprintf("CloudWatch alarm %q is in state ALARM", name)
			case state == model.AlarmOK || state == model.AlarmInsufficient:
				continue
			default:
				stop.Why = fmt.Sprintf("CloudWatch alarm %q is in state %s, which Joiner does not know", name, state)
			}
			if was >= 0 && before[was].Why == stop.Why {
				stop.SinceUnix = before[was].SinceUnix
			}
			stops = append(stops, stop)
		}
	}
	slices.SortStableFunc(stops, func(a, b model.AlarmStop) int { return strings.Compare(a.Pool, b.Pool) })
	return stops
}
