package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// row is one problem with what became of it.
type row struct {
	spec                   problem.Spec
	bound                  bound.Bound
	ours                   check.Answer
	theirs                 *check.Answer // nil where only ours was asked
	ourReport, theirReport check.Report
}

const heading = "problem                             whose    time      pods/s   allocated      peak  left  nodes        $/h  of bound  broken"

// String returns a line for each planner and one with ratios.
func (r *row) String() string {
	var out strings.Builder
	r.line(&out, "ours", r.ours, r.ourReport)
	broken(&out, "ours", r.ourReport)
	if r.theirs == nil {
		return out.String()
	}
	r.line(&out, "peer", *r.theirs, r.theirReport)
	ours, theirs := r.ours.Stats, r.theirs.Stats
	fmt.Fprintf(&out, "%-35s %-5s %7s %11s %10s %9s %18s %12s\n", "", "ratio",
		over(theirs.PlanSeconds, ours.PlanSeconds), "", over(float64(theirs.AllocBytes), float64(ours.AllocBytes)), over(float64(theirs.PeakBytes), float64(ours.PeakBytes)),
		"", over(r.theirReport.Price, r.ourReport.Price))
	broken(&out, "peer", r.theirReport)
	return out.String()
}

func (r *row) line(out *strings.Builder, whose string, a check.Answer, report check.Report) {
	ofBound := "–"
	if r.bound.PerHour > 0 && report.Left == r.bound.Lost {
		ofBound = fmt.Sprintf("%.3f", report.Price/r.bound.PerHour)
	}
	fmt.Fprintf(out, "%-35s %-5s %6.3fs %11.0f %7.1f MB %6.0f MB %5d %6d %10.4f %9s %7d\n", r.spec, whose, a.Stats.PlanSeconds, float64(report.Placed)/a.Stats.PlanSeconds,
		float64(a.Stats.AllocBytes)/1e6, float64(a.Stats.PeakBytes)/1e6, report.Left, report.Claims, report.Price, ofBound, len(report.Violations))
}

// broken writes how often each rule is broken, and the first time of each.
func broken(out *strings.Builder, whose string, report check.Report) {
	times, first := map[string]int{}, map[string]string{}
	for _, v := range report.Violations {
		if times[v.Rule]++; times[v.Rule] == 1 {
			first[v.Rule] = v.Message
		}
	}
	for _, rule := range slices.Sorted(maps.Keys(times)) {
		fmt.Fprintf(out, "  %s breaks %s %d times: %s\n", whose, rule, times[rule], first[rule])
	}
}

// over returns how many times b goes into a.
func over(a, b float64) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2fx", a/b)
}

// fine reports whether ours breaks no rule, leaves no more pods and costs no more than the peer's.
func (r *row) fine() bool {
	if len(r.ourReport.Violations) > 0 {
		return false
	}
	if r.theirs == nil {
		return true
	}
	if r.ourReport.Left != r.theirReport.Left {
		return r.ourReport.Left < r.theirReport.Left
	}
	return r.ourReport.Price <= r.theirReport.Price*(1+1e-9)
}
