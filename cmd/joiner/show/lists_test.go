package show_test

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
)

func TestDecisionsSayWhatCameOfThem(t *testing.T) {
	var out strings.Builder
	err := show.Decisions(&out, []explain.Decided{
		{ID: "d", AtUnix: 1_772_366_460, By: explain.DecidedDisrupt, Reasons: []string{"Empty", "Underutilized"}, Nodes: 4, PodsMoved: 1, Savings: 588_000},
		{ID: "c", AtUnix: 1_772_366_450, By: explain.DecidedDisrupt},
		{ID: "b", AtUnix: 1_772_366_440, By: explain.DecidedProvision, Pending: 3, Launched: 2, Failed: 1, Unschedulable: 1},
		{ID: "a", AtUnix: 1_772_366_400, By: explain.DecidedProvision, Pending: 1, Launched: 1, Open: true},
	}, true)
	want := `DECIDED               BY         DECISION  WHAT
2026-03-01T12:01:00Z  disrupt    d         4 nodes disrupted (Empty, Underutilized), 1 pod moved, $0.5880 per hour saved
2026-03-01T12:00:50Z  disrupt    c         nothing to disrupt
2026-03-01T12:00:40Z  provision  b         2 instances for 3 pods, 1 claim not launched, unschedulable: 1 pod
2026-03-01T12:00:00Z  provision  a         1 instance for 1 pod, the run stopped before it recorded the result
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := show.Decisions(&out, make([]explain.Decided, 60), true); err != nil || !strings.HasSuffix(out.String(), "and 10 older; -o json has all\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := show.Decisions(&out, nil, true); err != nil || out.String() != "Nothing was decided in that time.\n" {
		t.Errorf("%v %q", err, out.String())
	}
}
