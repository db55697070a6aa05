package oracle

import (
	"runtime"
	"strings"
	"testing"
)

// TestK1SpreadsHoldInEveryStateOnTheWay evaluates what is given back of clusters whose pods are spread: no command may give up domains or
// raise the skew beyond what upstream lets it, and the scheduler has to take every pod that moves while nodes drain. `make oracle`
// has 2,000 of them.
func TestK1SpreadsHoldInEveryStateOnTheWay(t *testing.T) {
	report := Disruptions{Clusters: 150, Spread: true, Workers: runtime.GOMAXPROCS(0), Depth: Depth{Orders: 4}}.Run()
	var text strings.Builder
	report.Write(&text, 8)
	t.Log("\n" + text.String())
	fresh, gone := New(report.Findings, KnownSpread, 0, 150)
	if len(fresh)+len(gone)+len(report.Errors) > 0 {
		t.Errorf("%d findings that are not known, %d known ones that are gone, %d errors", len(fresh), len(gone), len(report.Errors))
	}
	if report.Commands < 100 || report.Moved < 100 {
		t.Errorf("%d commands move %d pods: that is no test", report.Commands, report.Moved)
	}
}

// TestK1MendedClustersStayMended evaluates the clusters in which the planner once let pods wait for others of the same command to leave, and
// (352) in which it moved one into the zone of a pod it must be far from and that had not left.
func TestK1MendedClustersStayMended(t *testing.T) {
	commands := 0
	for _, seed := range []uint64{352, 483, 678, 895, 1001, 1557, 1624, 1865, 1891} {
		v, err := EvaluateSpread(seed, Default)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range v.Findings {
			t.Error(f)
		}
		commands += v.Commands
	}
	if commands < 9 {
		t.Errorf("%d commands: that is no test", commands)
	}
}
