package oracle

import (
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestPlansHold judges plans of random problems by the real scheduler.
func TestPlansHold(t *testing.T) {
	report := Campaign{Problems: 200, Workers: runtime.GOMAXPROCS(0), Depth: Default}.Run()
	conclude(t, report)
}

// TestFitEqualsFilters compares our fit with each filter plugin.
func TestFitEqualsFilters(t *testing.T) {
	report := Campaign{Pairs: 10_000, Workers: runtime.GOMAXPROCS(0)}.Run()
	conclude(t, report)
	if report.Fit.Pairs < 10_000 {
		t.Errorf("%d pairs compared, want 10000", report.Fit.Pairs)
	}
	for _, d := range Differences {
		if report.Fit.Listed[d.ID] == 0 {
			t.Errorf("the listed difference %s did not occur", d.ID)
		}
	}
}

func conclude(t *testing.T, report *Report) {
	t.Helper()
	var text strings.Builder
	report.Write(&text, 3)
	t.Log("\n" + text.String())
	if report.Failed() {
		t.Errorf("%d findings, %d errors", len(report.Findings)+len(report.Fit.Findings), len(report.Errors))
	}
}

// TestCampaignDoesNotDependOnWorkers compares all of a report but the time it took.
func TestCampaignDoesNotDependOnWorkers(t *testing.T) {
	text := func(workers int) string {
		report := Campaign{Problems: 20, Workers: workers, Depth: Default}.Run()
		report.Took = 0
		var out strings.Builder
		report.Write(&out, 100)
		return out.String()
	}
	if one, four := text(1), text(4); one != four {
		t.Errorf("one worker:\n%s\nfour workers:\n%s", one, four)
	}
}

// TestDifferencesAreWrittenDown compares the list that is read by people with the one that is applied.
func TestDifferencesAreWrittenDown(t *testing.T) {
	text, err := os.ReadFile("DIFFERENCES.md")
	if err != nil {
		t.Fatal(err)
	}
	var written, applied []string
	for _, heading := range regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(text), -1) {
		written = append(written, heading[1])
	}
	for _, d := range Differences {
		applied = append(applied, d.ID)
	}
	if !slices.Equal(written, applied) {
		t.Errorf("DIFFERENCES.md has %q, the code %q", written, applied)
	}
}
