package provision

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// paceAt returns the pace at a minute, with what the notes have.
func paceAt(minute int64, rates ...model.LaunchRate) *pace {
	v := &invocation{settings: Settings{}.withDefaults(), clock: func() time.Time { return time.Unix(60*minute, 0) }}
	return &pace{state: &state{invocation: v, ledger: model.Ledger{Notes: model.Notes{Paces: rates}}}}
}

func TestLaunchesOfAPoolDoubleFromMinuteToMinute(t *testing.T) {
	tests := map[string]struct {
		pace *pace
		want int
	}{
		"nothing was launched":                  {paceAt(100), 300},
		"some of this minute's were":            {paceAt(100, model.LaunchRate{Pool: "a", Minute: 100, Starts: 120}), 180},
		"of another pool":                       {paceAt(100, model.LaunchRate{Pool: "b", Minute: 100, Starts: 120}), 300},
		"twice those of the minute before":      {paceAt(100, model.LaunchRate{Pool: "a", Minute: 99, Starts: 400}), 800},
		"but not those of unknown outcome":      {paceAt(100, model.LaunchRate{Pool: "a", Minute: 99, Starts: 400, UnknownOutcome: 230}), 340},
		"those of a minute ago do not count":    {paceAt(100, model.LaunchRate{Pool: "a", Minute: 98, Starts: 400}), 300},
		"a clock far ahead wrote this minute's": {paceAt(100, model.LaunchRate{Pool: "a", Minute: 500, Starts: 100}), 200},
	}
	for name, test := range tests {
		if got := test.pace.launchesLeft("a", 0); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestAPoolWithTightLimitsIsFilledInParts(t *testing.T) {
	plan := model.Plan{
		Claims:        []model.PlannedClaim{{Name: "1", Pool: "a"}, {Name: "2", Pool: "a"}, {Name: "3", Pool: "b"}},
		Unschedulable: []model.Unschedulable{{Reasons: []model.Reason{{Pool: "a", Code: pack.LimitReached}}}},
	}
	p := paceAt(100)
	if p.tight = tightOf(plan); len(p.tight) != 1 || p.tight["a"] != 2 {
		t.Fatalf("tight pools: %v", p.tight)
	}
	if a, b := p.launchesLeft("a", 0), p.launchesLeft("b", 0); a != 100 || b != 300 {
		t.Errorf("%d of a and %d of b are left, want a third of 300 and all of it", a, b)
	}
}
