package disrupt_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func (h *house) AlarmStates(_ context.Context, names []string) (map[string]model.AlarmState, error) {
	if err := h.did("alarms", strings.Join(names, " ")); err != nil {
		return nil, err
	}
	return h.alarms, nil
}

// guarded is a house whose NodePool names an alarm that is OK, and that plans commands where nothing is stopped.
func guarded(t *testing.T, nodes int, commands ...model.PlannedCommand) *house {
	t.Helper()
	h := newHouse(t, nodes)
	h.annotations = map[string]string{model.AnnotationStopAlarms: "errors"}
	h.alarms = map[string]model.AlarmState{"errors": model.AlarmOK}
	h.publish()
	h.wants(commands...)
	plan := h.plan
	h.plan = func(in disruption.Input) model.DisruptPlan {
		if len(in.Stops) > 0 {
			h.plans++
			return model.DisruptPlan{Commands: []model.PlannedCommand{}, Kept: []model.KeptNode{{Node: "n0",
				Reasons: []model.KeptReason{{Code: disruption.Stopped, Message: in.Stops[0].Why}}}}}
		}
		return plan(in)
	}
	return h
}

// M87: while an alarm is on nothing begins, an event names it, and once it is off a quiet cluster is evaluated again
// within minutes.
func TestM87NothingBeginsWhileAnAlarmIsOn(t *testing.T) {
	h := guarded(t, 2, planned(model.ReasonEmpty, 0, "n0"))
	h.alarms["errors"] = model.AlarmOn
	h.pass(120)
	drained(t, h)
	untouched(t, h)
	ledger := h.load()
	if got := ledger.StopsInForce(); len(got) != 1 || got[0].Pool != "web" || got[0].By != "CloudWatch" ||
		!strings.Contains(got[0].Why, "ALARM") {
		t.Errorf("stops in force: %+v", got)
	}
	if !slices.ContainsFunc(h.events, func(e model.Event) bool {
		return e.Reason == "DisruptionBlocked" && strings.Contains(e.Message, `alarm "errors" is in state ALARM`)
	}) {
		t.Errorf("no event names the alarm: %+v", h.events)
	}
	h.alarms["errors"] = model.AlarmOK
	h.pass(420)
	drained(t, h, "c-n0")
	if ledger := h.load(); len(ledger.StopsInForce()) != 0 {
		t.Errorf("stops in force: %+v", ledger.StopsInForce())
	}
}

// M87: an alarm that goes on undoes what has not begun to drain; what drains goes on.
func TestM87AnAlarmUndoesWhatHasNotBegunToDrain(t *testing.T) {
	h := guarded(t, 3, planned(model.ReasonEmpty, 0, "n0"), planned(model.ReasonDrifted, 1, "n1"))
	h.check()
	drained(t, h, "c-n0")
	h.alarms["errors"] = model.AlarmOn
	h.pass(61)
	drained(t, h, "c-n0")
	untouched(t, h)
	for _, c := range h.load().Commands {
		if c.Reason == model.ReasonDrifted && (c.State != model.CommandUndone || c.FailureCode != disruption.Stopped) {
			t.Errorf("%+v", c)
		}
	}
}

// M87: an alarm that does not exist or cannot be read lets nothing begin, and undoes nothing.
func TestM87AnUnknownAlarmUndoesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		unknown func(h *house)
		says    string
	}{
		"missing": {func(h *house) { delete(h.alarms, "errors") }, "does not exist"},
		"denied": {func(h *house) {
			h.errs["alarms"] = fault.New(fault.Denied, "AccessDenied", "not authorized, request 17")
		}, "deploy the cluster's stack with option stopAlarms"},
		"down": {func(h *house) {
			h.errs["alarms"] = errors.New("request 18 timed out")
		}, "CloudWatch does not answer"},
	} {
		t.Run(name, func(t *testing.T) {
			h := guarded(t, 3, planned(model.ReasonDrifted, 1, "n1"))
			h.check()
			c.unknown(h)
			h.wants(planned(model.ReasonEmpty, 0, "n0"))
			plan := h.plan
			h.plan = func(in disruption.Input) model.DisruptPlan {
				if len(in.Stops) == 0 {
					return plan(in)
				}
				return model.DisruptPlan{Commands: []model.PlannedCommand{}, Kept: []model.KeptNode{}}
			}
			h.pass(180)
			drained(t, h, "c-n1")
			ledger := h.load()
			if got := ledger.StopsInForce(); len(got) != 1 || !strings.Contains(got[0].Why, c.says) ||
				strings.Contains(got[0].Why, "request 1") {
				t.Errorf("stops in force: %+v", got)
			}
		})
	}
}

// M87: where no NodePool names an alarm, CloudWatch is not asked.
func TestM87NoAlarmNoRequest(t *testing.T) {
	h := newHouse(t, 2)
	h.pass(120)
	if slices.ContainsFunc(h.log, func(s string) bool { return strings.HasPrefix(s, "alarms") }) {
		t.Errorf("%v", h.log)
	}
}
