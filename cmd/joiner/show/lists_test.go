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
		{
			ID: "d", AtUnix: 1_772_366_460, By: explain.DecidedDisrupt, Reasons: []string{"Empty", "Underutilized"},
			Nodes: 4, PodsMoved: 1, Savings: 588_000,
		},
		{ID: "c", AtUnix: 1_772_366_450, By: explain.DecidedDisrupt},
		{ID: "b", AtUnix: 1_772_366_440, By: explain.DecidedProvision, Pending: 3, Launched: 2, Failed: 1,
			Unschedulable: 1},
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
	launches := make([]explain.Decided, 60)
	for i := range launches {
		launches[i] = explain.Decided{By: explain.DecidedProvision, Pending: 1, Launched: 1}
	}
	err = show.Decisions(&out, launches, true)
	if err != nil || !strings.HasSuffix(out.String(), "and 10 older; -o json has all\n") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := show.Decisions(&out, nil, true); err != nil || out.String() != "Nothing was decided in that time.\n" {
		t.Errorf("%v %q", err, out.String())
	}
}

// TestU12RunsWithoutEffectAreOneRow: what changed nothing, again and again, does not hide what did. The one row names
// the newest.
func TestU12RunsWithoutEffectAreOneRow(t *testing.T) {
	idle := func(id string, at int64, pending int) explain.Decided {
		return explain.Decided{ID: id, AtUnix: 1_772_366_400 + at, By: explain.DecidedProvision, Pending: pending}
	}
	launch := explain.Decided{ID: "e", AtUnix: 1_772_366_440, By: explain.DecidedProvision, Pending: 3, Launched: 1}
	failed := idle("c", 20, 2)
	failed.Failed = 1
	var out strings.Builder
	err := show.Decisions(&out, []explain.Decided{
		idle("h", 70, 3), idle("g", 60, 3), idle("f", 50, 3), launch,
		idle("d", 30, 2), failed, idle("b", 10, 2), idle("a", 0, 4),
	}, true)
	want := `DECIDED               BY         DECISION  WHAT
2026-03-01T12:01:10Z  provision  h         nothing launched for 3 pods (3 runs in 20s)
2026-03-01T12:00:40Z  provision  e         1 instance for 3 pods
2026-03-01T12:00:30Z  provision  d         nothing launched for 2 pods
2026-03-01T12:00:20Z  provision  c         0 instances for 2 pods, 1 claim not launched
2026-03-01T12:00:10Z  provision  b         nothing launched for 2 pods
2026-03-01T12:00:00Z  provision  a         nothing launched for 4 pods
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s", err, out.String())
	}

	// sixty of them take one row, and what came before is listed still
	many := make([]explain.Decided, 60, 61)
	for i := range many {
		many[i] = idle("x", int64(1000-i), 1)
	}
	out.Reset()
	err = show.Decisions(&out, append(many, launch), false)
	if err != nil || strings.Count(out.String(), "provision") != 2 || strings.Contains(out.String(), "older") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// U35: a row that is wider than a page is written whole where no terminal reads it, and cut where the width is known.
func TestU35RowsAreWholeInAPipe(t *testing.T) {
	rows := [][]string{{"DECIDED", "WHAT"}, {"now", strings.Repeat("x", 150) + " end"}}
	for columns, want := range map[string]string{"": " end", "100": "…"} {
		t.Setenv("COLUMNS", columns)
		var out strings.Builder
		if err := show.Rows(&out, rows, "..", true); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(out.String()); !strings.HasSuffix(got, want) {
			t.Errorf("with COLUMNS=%q the last row ends in %q, not in %q", columns, got[len(got)-8:], want)
		}
	}
}
