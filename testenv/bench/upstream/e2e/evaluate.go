package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// Outcome is what became of a spec that ran.
type Outcome struct {
	Suite, Spec string
	Passed      bool
	Seconds     float64
	Failure     string // the first, with its place
}

// Judgment is a run held against the rows.
type Judgment struct {
	Passed, Failed int
	NotRun         map[string]int // by reason, of rows that are to be left out
	Faults         []string       // why the run fails; none = it passes
}

// Evaluate compares. listed are all specs that the suites of the run have, by suite; chosen says which specs were to run.
func Evaluate(rows []Row, listed map[string][]string, chosen func(Row) bool, outcomes []Outcome) Judgment {
	j := Judgment{NotRun: map[string]int{}}
	known, ran := map[[2]string]Row{}, map[[2]string]Outcome{}
	for _, r := range rows {
		known[[2]string{r.Suite, r.Spec}] = r
	}
	for suite, texts := range listed {
		for _, text := range texts {
			if _, ok := known[[2]string{suite, text}]; !ok {
				j.fault("%s: %q has no row in specs.csv", suite, text)
			}
		}
	}
	for _, o := range outcomes {
		key := [2]string{o.Suite, o.Spec}
		ran[key] = o
		row, ok := known[key]
		switch {
		case o.Passed:
			j.Passed++
			if ok && row.Verdict != Passes {
				j.fault("%s: %q passes, and its row says that it %s (%s): change the row", o.Suite, o.Spec, row.Verdict, row.Why)
			}
		case ok && row.Verdict == Differs:
			j.NotRun[row.reason()]++
		default:
			j.Failed++
			j.fault("%s: %q fails after %.0f s: %s", o.Suite, o.Spec, o.Seconds, o.Failure)
		}
	}
	for _, r := range rows {
		texts, ok := listed[r.Suite]
		if !ok {
			continue
		}
		if !slices.Contains(texts, r.Spec) {
			j.fault("%s: specs.csv has a row for %q, which the suite has not", r.Suite, r.Spec)
			continue
		}
		if _, ok := ran[[2]string{r.Suite, r.Spec}]; ok {
			continue
		}
		switch {
		case r.Verdict != Passes:
			j.NotRun[r.reason()]++
		case chosen(r):
			j.fault("%s: %q was to run and did not", r.Suite, r.Spec)
		}
	}
	slices.Sort(j.Faults)
	return j
}

func (j *Judgment) fault(format string, args ...any) {
	j.Faults = append(j.Faults, fmt.Sprintf(format, args...))
}

func (r Row) reason() string { return string(r.Verdict) + ": " + r.Why }

// Summary is the run in one line, and the reasons of what did not run in one each.
func (j Judgment) Summary() string {
	left := 0
	var reasons []string
	for reason, n := range j.NotRun {
		left += n
		reasons = append(reasons, fmt.Sprintf("  %3d %s", n, reason))
	}
	slices.SortFunc(reasons, func(a, b string) int { return strings.Compare(a[6:], b[6:]) })
	lines := append([]string{fmt.Sprintf("%d passed, %d failed, %d not runnable", j.Passed, j.Failed, left)}, reasons...)
	return strings.Join(lines, "\n")
}
