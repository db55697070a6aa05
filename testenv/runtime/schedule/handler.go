package schedule

import (
	"maps"
	"net/http"
	"slices"

	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// The states of a schedule.
const (
	Enabled  = "ENABLED"
	Disabled = "DISABLED"
)

// SetDisabled has a schedule fire no more, or again, as people do in the console. One that is not there is left alone.
func (s *Scheduler) SetDisabled(name string, disabled bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.running[name]; e != nil {
		e.disabled = disabled
	}
}

// summary is a schedule as ListSchedules has it.
type summary struct {
	Arn, Name, GroupName, State string
}

// NewHandler serves what there is of schedules on the wire protocol of EventBridge Scheduler: ListSchedules, in one page.
func NewHandler(s *Scheduler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /schedules", func(w http.ResponseWriter, r *http.Request) {
		wire.WriteRESTJSON(w, r, http.StatusOK, map[string]any{"Schedules": s.list(r.URL.Query().Get("ScheduleGroup"), r.URL.Query().Get("State"))})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		wire.WriteRESTJSONError(w, r, wire.StatusErrorf(http.StatusNotImplemented, "NotImplemented", "%s %s is not modelled", r.Method, r.URL.Path))
	})
	return mux
}

// list returns the schedules of a group and in a state, by name; "" = of any.
func (s *Scheduler) list(group, state string) []summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []summary{}
	for _, name := range slices.Sorted(maps.Keys(s.running)) {
		e := s.running[name]
		one := summary{Name: name, GroupName: e.schedule.group(), State: Enabled}
		if e.disabled {
			one.State = Disabled
		}
		one.Arn = "arn:aws:scheduler:" + s.config.Region + ":" + s.config.Account + ":schedule/" + one.GroupName + "/" + name
		if (group == "" || group == one.GroupName) && (state == "" || state == one.State) {
			out = append(out, one)
		}
	}
	return out
}
