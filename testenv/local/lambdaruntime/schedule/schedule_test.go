package schedule_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/delivery"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

// start is a Thursday.
var start = time.Date(2026, 1, 1, 0, 0, 30, 0, time.UTC)

// world is a scheduler on a clock that a test advances, with a target that keeps when it was called with what.
type world struct {
	clock     *clock.Fake
	scheduler *schedule.Scheduler
	at        []string // relative to start, or the time of day of a later day
	inputs    []string
	err       error // what the target answers
	dropped   []string
}

func newWorld(t *testing.T) *world {
	w := &world{clock: clock.NewFake(start)}
	w.scheduler = schedule.New(schedule.Config{
		Region: "eu-west-1", Clock: w.clock, OnDropped: func(name string, err error) { w.dropped = append(w.dropped, name+": "+err.Error()) },
	})
	t.Cleanup(w.scheduler.Stop)
	return w
}

func (w *world) target(_ context.Context, payload []byte) error {
	w.at = append(w.at, w.clock.Now().Format("2006-01-02T15:04:05"))
	w.inputs = append(w.inputs, string(payload))
	return w.err
}

func (w *world) create(t *testing.T, s schedule.Schedule) {
	t.Helper()
	if s.Input == "" {
		s.Input = "tick"
	}
	s.Name, s.Target = "sweep", w.target
	if err := w.scheduler.Create(s); err != nil {
		t.Fatal(err)
	}
}

func TestScheduleFiresWhenItsExpressionIsDue(t *testing.T) {
	cases := []struct {
		name     string
		schedule schedule.Schedule
		advance  time.Duration
		want     []string
	}{
		{"rate counts from its creation", schedule.Schedule{Expression: "rate(1 minute)"}, 2*time.Minute + 59*time.Second,
			[]string{"2026-01-01T00:00:30", "2026-01-01T00:01:30", "2026-01-01T00:02:30"}},
		{"rate counts from its start", schedule.Schedule{Expression: "rate(5 minutes)", Start: start.Add(time.Minute)}, 7 * time.Minute,
			[]string{"2026-01-01T00:01:30", "2026-01-01T00:06:30"}},
		{"rate ends before its end", schedule.Schedule{Expression: "rate(1 hour)", End: start.Add(2 * time.Hour)}, 24 * time.Hour,
			[]string{"2026-01-01T00:00:30", "2026-01-01T01:00:30"}},
		{"rate of days", schedule.Schedule{Expression: "rate(2 days)"}, 50 * time.Hour,
			[]string{"2026-01-01T00:00:30", "2026-01-03T00:00:30"}},
		{"at fires once", schedule.Schedule{Expression: "at(2026-01-01T08:00:00)"}, 48 * time.Hour, []string{"2026-01-01T08:00:00"}},
		{"at in the past never fires", schedule.Schedule{Expression: "at(2025-12-31T08:00:00)"}, 48 * time.Hour, nil},
		{"at in its zone", schedule.Schedule{Expression: "at(2026-01-01T08:00:00)", Timezone: "Europe/Berlin"}, 48 * time.Hour,
			[]string{"2026-01-01T07:00:00"}},
		{"cron steps", schedule.Schedule{Expression: "cron(0/20 0 * * ? *)"}, 23 * time.Hour,
			[]string{"2026-01-01T00:20:00", "2026-01-01T00:40:00"}},
		{"cron weekday 1 is Sunday", schedule.Schedule{Expression: "cron(0 9 ? * 1 *)"}, 7 * 24 * time.Hour, []string{"2026-01-04T09:00:00"}},
		{"cron weekday names and ranges", schedule.Schedule{Expression: "cron(0 9 ? * FRI-SAT *)"}, 7 * 24 * time.Hour,
			[]string{"2026-01-02T09:00:00", "2026-01-03T09:00:00"}},
		{"cron weekday range by number", schedule.Schedule{Expression: "cron(0 9 ? * 6-7 *)"}, 7 * 24 * time.Hour,
			[]string{"2026-01-02T09:00:00", "2026-01-03T09:00:00"}},
		{"cron third Friday", schedule.Schedule{Expression: "cron(0 9 ? * 6#3 *)"}, 31 * 24 * time.Hour, []string{"2026-01-16T09:00:00"}},
		{"cron last day", schedule.Schedule{Expression: "cron(0 9 L * ? 2026)"}, 40 * 24 * time.Hour, []string{"2026-01-31T09:00:00"}},
		{"cron of a year gone never fires", schedule.Schedule{Expression: "cron(0 9 1 1 ? 2025)"}, 48 * time.Hour, nil},
		{"cron in its zone", schedule.Schedule{Expression: "cron(0 9 2 1 ? *)", Timezone: "America/New_York"}, 48 * time.Hour,
			[]string{"2026-01-02T14:00:00"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.create(t, c.schedule)
			w.clock.Advance(c.advance)
			if !slices.Equal(w.at, c.want) {
				t.Errorf("fired at %q, want %q", w.at, c.want)
			}
		})
	}
}

func TestInputIsFilledInAtEachFiring(t *testing.T) {
	w := newWorld(t)
	w.create(t, schedule.Schedule{
		Expression: "rate(1 minute)",
		Input: `{"time":"<aws.scheduler.scheduled-time>","id":"<aws.scheduler.execution-id>","arn":"<aws.scheduler.schedule-arn>",` +
			`"attempt":"<aws.scheduler.attempt-number>"}`,
	})
	w.clock.Advance(time.Minute)
	type input struct{ Time, ID, ARN, Attempt string }
	var got [2]input
	for i := range got {
		if err := json.Unmarshal([]byte(w.inputs[i]), &got[i]); err != nil {
			t.Fatal(err)
		}
	}
	if got[0].Time != "2026-01-01T00:00:30Z" || got[1].Time != "2026-01-01T00:01:30Z" {
		t.Errorf("scheduled times %q and %q", got[0].Time, got[1].Time)
	}
	if got[0].ID == got[1].ID || strings.Contains(got[0].ID, "<") {
		t.Errorf("execution ids %q and %q, want two different ones", got[0].ID, got[1].ID)
	}
	if got[0].ARN != "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/sweep" || got[0].Attempt != "1" {
		t.Errorf("ARN %q, attempt %q", got[0].ARN, got[0].Attempt)
	}
}

func TestFailedFiringIsTriedAgainUnderOneExecution(t *testing.T) {
	w := newWorld(t)
	w.err = errors.New("down")
	w.create(t, schedule.Schedule{
		Expression: "at(2026-01-01T00:01:00)", Policy: &delivery.Policy{MaxRetries: 1},
		Input: "<aws.scheduler.execution-id> <aws.scheduler.attempt-number>",
	})
	w.clock.Advance(time.Hour)
	if len(w.inputs) != 2 {
		t.Fatalf("%d attempts, want 2", len(w.inputs))
	}
	first, second := strings.Fields(w.inputs[0]), strings.Fields(w.inputs[1])
	if first[0] != second[0] || first[1] != "1" || second[1] != "2" {
		t.Errorf("attempts %q and %q, want one execution id, attempts 1 and 2", w.inputs[0], w.inputs[1])
	}
	if want := []string{"sweep: deliver, attempt 2: down"}; !slices.Equal(w.dropped, want) {
		t.Errorf("dropped %q, want %q", w.dropped, want)
	}
}

func TestDeletedScheduleNoLongerFires(t *testing.T) {
	w := newWorld(t)
	w.create(t, schedule.Schedule{Expression: "rate(1 minute)"})
	w.clock.Advance(time.Minute)
	w.scheduler.Delete("sweep")
	w.scheduler.Delete("sweep")
	w.clock.Advance(time.Hour)
	if len(w.at) != 2 || w.clock.Pending() != 0 {
		t.Errorf("fired %d times with %d waiting, want 2 and none", len(w.at), w.clock.Pending())
	}
	w.create(t, schedule.Schedule{Expression: "rate(1 minute)"})
}

func TestStoppedSchedulerFiresNothingMore(t *testing.T) {
	w := newWorld(t)
	w.create(t, schedule.Schedule{Expression: "rate(1 minute)"})
	w.scheduler.Stop()
	w.scheduler.Stop()
	w.clock.Advance(time.Hour)
	if len(w.at) != 0 {
		t.Errorf("fired %d times after Stop", len(w.at))
	}
	if err := w.scheduler.Create(schedule.Schedule{Name: "n", Expression: "rate(1 minute)", Input: "x", Target: w.target}); err == nil {
		t.Error("created a schedule after Stop")
	}
}

func TestCreateNamesWhatIsWrong(t *testing.T) {
	w := newWorld(t)
	w.create(t, schedule.Schedule{Expression: "rate(1 minute)"})
	cases := []struct{ name, expression, zone, want string }{
		{"sweep", "rate(1 minute)", "", "the name is taken"},
		{"", "rate(1 minute)", "", "required"},
		{"n", "every minute", "", "want rate"},
		{"n", "rate(0 minutes)", "", "positive"},
		{"n", "rate(1 second)", "", "rate unit"},
		{"n", "at(tomorrow)", "", "want a time"},
		{"n", "cron(* * * * *)", "", "5 fields"},
		{"n", "cron(0 9 * * * *)", "", "must be ?"},
		{"n", "cron(99 9 * * ? *)", "", "cron(99"},
		{"n", "rate(1 minute)", "Mars/Olympus", "timezone"},
	}
	for _, c := range cases {
		t.Run(c.expression+" "+c.want, func(t *testing.T) {
			err := w.scheduler.Create(schedule.Schedule{Name: c.name, Expression: c.expression, Timezone: c.zone, Input: "x", Target: w.target})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}
