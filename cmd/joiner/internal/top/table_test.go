package top

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/console"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// U34: ages are as kubectl writes them.
func TestU34AgesAreThoseOfKubectl(t *testing.T) {
	for seconds, want := range map[int64]string{
		-1: "-", 0: "0s", 119: "119s", 125: "2m5s", 600: "10m", 3*3600 + 120: "3h2m", 9 * 3600: "9h",
		49 * 3600: "2d1h", 30 * 86400: "30d", 3 * 365 * 86400: "3y",
	} {
		if got := age(1_780_000_000, 1_780_000_000-seconds); got != want {
			t.Errorf("%d seconds: %q, want %q", seconds, got, want)
		}
	}
	if got := age(1_780_000_000, 0); got != "-" {
		t.Errorf("of what has no time: %q", got)
	}
}

// U34: what stops disruption stands below the sums, with its reason: a stop of people, an alarm, the region's switch.
func TestU34TopShowsWhatStopsDisruption(t *testing.T) {
	at := &explain.Installation{Ledger: model.Ledger{
		Stops: []model.Stop{{Scope: model.StopCluster, Why: "ingress moves", By: "anna", SinceUnix: 1}},
		Disrupt: model.DisruptNotes{Alarms: []model.AlarmStop{{Pool: "web", Alarm: "errors", On: true,
			Why: `alarm "errors" is in state ALARM`}}}}}
	shown := func() string {
		t.Helper()
		state := &explain.Cluster{Installation: at,
			Ask: pack.Input{Snapshot: &model.Snapshot{}, NowUnix: 1_780_000_000}}
		v := viewOf(console.NewCluster("shop", "", state), nil)
		var out strings.Builder
		if err := v.write(&out, 200); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := shown()
	for _, want := range []string{"\nSTOPPED: Voluntary disruption is stopped in this cluster: ingress moves.\n",
		"\nSTOPPED: Voluntary disruption is stopped in NodePool web: alarm \"errors\" is in state ALARM.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	at.Past = true // when the ledger said something else
	if text := shown(); strings.Contains(text, "STOPPED") {
		t.Errorf("of a time that is over it says\n%s", text)
	}
	at.Past, at.Ledger, at.Switch = false, model.Ledger{}, "disruption"
	if text := shown(); !strings.Contains(text, "STOPPED: The region's stop switch is set to disruption.") {
		t.Errorf("of the switch it says\n%s", text)
	}
	if at = nil; strings.Contains(shown(), "STOPPED") {
		t.Error("of files it names a stop")
	}
}
