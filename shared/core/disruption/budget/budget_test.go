package budget

import (
	"fmt"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// F140: a percentage is rounded up, a number is taken as it is, and the smallest of those that name the reason counts.
func TestF140BudgetsPercentNumbersAndTheSmallest(t *testing.T) {
	empty := []string{model.ReasonEmpty}
	for _, c := range []struct {
		budgets []model.Budget
		nodes   int
		want    int
	}{
		{nil, 19, Unlimited},
		{[]model.Budget{}, 19, Unlimited},
		{[]model.Budget{{Nodes: "20%"}}, 19, 4},
		{[]model.Budget{{Nodes: "5%"}}, 10, 1},
		{[]model.Budget{{Nodes: "10%"}}, 1, 1},
		{[]model.Budget{{Nodes: "10%"}}, 0, 0},
		{[]model.Budget{{Nodes: "0%"}}, 100, 0},
		{[]model.Budget{{Nodes: "100%"}}, 7, 7},
		{[]model.Budget{{Nodes: "0"}}, 100, 0},
		{[]model.Budget{{Nodes: "7"}}, 3, 7},
		{[]model.Budget{{Nodes: "50%"}, {Nodes: "3"}}, 100, 3},
		{[]model.Budget{{Nodes: "3"}, {Nodes: "50%"}}, 4, 2},
		{[]model.Budget{{Nodes: "3", Reasons: empty}}, 100, Unlimited},
		{[]model.Budget{{Nodes: "3", Reasons: empty}, {Nodes: "10%"}}, 100, 10},
		{[]model.Budget{{Nodes: "3", Reasons: []string{model.ReasonDrifted, model.ReasonEmpty}}, {Nodes: "10%"}}, 100, 3},
	} {
		bounds, _, err := Bounds(c.budgets, model.ReasonDrifted, c.nodes, 1_780_000_000)
		if got, _ := Tightest(bounds, nil, false); err != nil || got.Nodes != c.want {
			t.Errorf("%+v of %d nodes: %d, %v; want %d", c.budgets, c.nodes, got.Nodes, err, c.want)
		}
	}
}

// F141: a window begins with each hit of its schedule, in UTC, and is over once its duration is. It says when to look again.
func TestF141BudgetWindows(t *testing.T) {
	at := func(text string) int64 {
		moment, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return moment.Unix()
	}
	daily := model.Budget{Nodes: "0", Schedule: "@daily", DurationSeconds: 600}
	work := model.Budget{Nodes: "0", Schedule: "0 9 * * mon-fri", DurationSeconds: 8 * 3600}
	never := model.Budget{Nodes: "0", Schedule: "0 0 31 2 *", DurationSeconds: 3600}
	for _, c := range []struct {
		budget model.Budget
		now    string
		active bool
		change string // "" = never
	}{
		{daily, "2026-05-27T23:59:59Z", false, "2026-05-28T00:00:00Z"},
		{daily, "2026-05-28T00:00:00Z", true, "2026-05-28T00:10:00Z"},
		{daily, "2026-05-28T00:09:59Z", true, "2026-05-28T00:10:00Z"},
		{daily, "2026-05-28T00:10:00Z", false, "2026-05-29T00:00:00Z"},
		{work, "2026-05-29T16:59:59Z", true, "2026-05-29T17:00:00Z"}, // a Friday
		{work, "2026-05-29T17:00:00Z", false, "2026-06-01T09:00:00Z"},
		{never, "2026-02-28T00:00:00Z", false, ""},
		{model.Budget{Nodes: "0", Schedule: "* * * * *", DurationSeconds: 120}, "2026-05-28T00:10:30Z", true, "2026-05-28T00:11:00Z"},
		{model.Budget{Nodes: "0"}, "2026-05-28T00:10:30Z", true, ""},
	} {
		active, change, err := window(&c.budget, at(c.now))
		want := int64(0)
		if c.change != "" {
			want = at(c.change)
		}
		if err != nil || active != c.active || change != want {
			t.Errorf("%+v at %s: %v until %s, %v", c.budget, c.now, active, time.Unix(change, 0).UTC(), err)
		}
	}
}

// S30: schedules are in UTC whatever the process's time zone.
func TestS30SchedulesAreUTC(t *testing.T) {
	here := time.Local
	defer func() { time.Local = here }()
	moment := time.Date(2026, 3, 29, 1, 30, 0, 0, time.UTC).Unix() // clocks change in Europe
	for _, zone := range []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Chatham"} {
		location, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		time.Local = location
		for hour := range 24 {
			b := model.Budget{Nodes: "0", Schedule: fmt.Sprintf("0 %d * * *", hour), DurationSeconds: 3600}
			if active, _, err := window(&b, moment); err != nil || active != (hour == 1) {
				t.Errorf("%s: %s at 01:30 UTC: %v, %v", zone, b.Schedule, active, err)
			}
		}
	}
}

func TestProblemNamesTheFieldThatCannotBeRead(t *testing.T) {
	for field, budgets := range map[string][]model.Budget{
		"":         {{Nodes: "0"}, {Nodes: "100%"}, {Nodes: "3", Schedule: "0 9 * * mon-fri", DurationSeconds: 3600}, {Nodes: "3", Schedule: "@daily", DurationSeconds: 60}},
		"nodes":    {{Nodes: "101%"}, {Nodes: "-1"}, {Nodes: "x"}, {}},
		"schedule": {{Nodes: "1", Schedule: "99 * * * *", DurationSeconds: 60}, {Nodes: "1", Schedule: "@daily"}, {Nodes: "1", DurationSeconds: 60}, {Nodes: "1", Schedule: "* * * *", DurationSeconds: 60}},
	} {
		for _, b := range budgets {
			if got, err := Problem(b); got != field || (err != nil) != (field != "") {
				t.Errorf("%+v: %q, %v; want %q", b, got, err, field)
			}
		}
	}
}
