package disruption

import (
	"fmt"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func guarded(name, alarms string) model.Pool {
	return model.Pool{Name: name, Annotations: map[string]string{model.AnnotationStopAlarms: alarms}}
}

// M87: an alarm that is on stops the NodePools that name it. One that does not exist, or cannot be read, stops them,
// too, but no command that is open. OK and INSUFFICIENT_DATA stop nothing.
func TestM87AlarmsStopNodePools(t *testing.T) {
	pools := []model.Pool{guarded("web", "errors, latency"), guarded("gpu", "errors,,errors"), {Name: "free"}}
	if names := AlarmNames(pools); fmt.Sprint(names) != "[errors latency]" {
		t.Errorf("names %v", names)
	}
	states := func(errors, latency model.AlarmState) Alarms {
		return Alarms{States: map[string]model.AlarmState{"errors": errors, "latency": latency}}
	}
	only := func(name string) Alarms {
		return Alarms{States: map[string]model.AlarmState{name: model.AlarmOK}}
	}
	unread, forgotten := Alarms{Unread: "no"}, []model.AlarmStop{{Pool: "free", Alarm: "errors", On: true}}
	const all = "gpu/errors200 web/errors200 web/latency200"
	on := states(model.AlarmOn, model.AlarmOK)
	before := AlarmStops(pools, on, nil, 100)
	for name, c := range map[string]struct {
		read   Alarms
		before []model.AlarmStop
		want   string // NodePool/alarm, with ! where it is on, and since when
		says   string
	}{
		"OK":           {states(model.AlarmOK, model.AlarmOK), before, "", ""},
		"no data":      {states(model.AlarmInsufficient, model.AlarmOK), before, "", ""},
		"on":           {on, nil, "gpu/errors!200 web/errors!200", `"errors" is in state ALARM`},
		"on as before": {on, before, "gpu/errors!100 web/errors!100", "ALARM"},
		"both": {states(model.AlarmOn, model.AlarmOn), before,
			"gpu/errors!100 web/errors!100 web/latency!200", "ALARM"},
		"missing":               {only("errors"), nil, "web/latency200", "does not exist"},
		"unread":                {unread, nil, all, "cannot be read: no"},
		"unread, was on":        {unread, before, "gpu/errors!100 web/errors!100 web/latency200", ""},
		"missing, and was on":   {only("latency"), before, "gpu/errors200 web/errors200", "create it, or remove it"},
		"a NodePool forgets it": {unread, forgotten, all, ""},
		"a state of tomorrow":   {states(model.AlarmOK, "PAUSED"), nil, "web/latency200", "PAUSED"},
	} {
		var got []string
		for _, s := range AlarmStops(pools, c.read, c.before, 200) {
			text := s.Pool + "/" + s.Alarm
			if s.On {
				text += "!"
			}
			got = append(got, fmt.Sprint(text, s.SinceUnix))
			if !strings.Contains(s.Why, c.says) || s.Why == "" {
				t.Errorf("%s: %q", name, s.Why)
			}
			if stop := s.Stop(); stop.Validate() != nil || stop.Scope != model.StopPool || stop.Pool != s.Pool {
				t.Errorf("%s: %+v", name, stop)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
	}
}

// M87: a node says by which alarm its NodePool is stopped.
func TestM87ANodeNamesTheAlarm(t *testing.T) {
	w := newWorld().pool("general").node("a", "general")
	stops := AlarmStops([]model.Pool{guarded("general", "errors")},
		Alarms{States: map[string]model.AlarmState{"errors": model.AlarmOn}}, nil, 100)
	w.in.Stops = model.WithAlarms(nil, stops)
	plan := Plan(w.in)
	if len(plan.Commands) != 0 || len(plan.Kept) != 1 || plan.Kept[0].Reasons[0].Code != Stopped {
		t.Fatalf("%+v", plan)
	}
	const want = `disruption is stopped in NodePool general by CloudWatch: CloudWatch alarm "errors" is in state ALARM`
	if got := plan.Kept[0].Reasons[0].Message; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
