package oracle

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
)

// M10, M69: TestKnownFindingsAreThereAndNoOthers evaluates the small ones of the problems that are known to have
// findings: those, and none of another check. `make oracle` evaluates all of them.
func TestKnownFindingsAreThereAndNoOthers(t *testing.T) {
	seeds, small := make(map[uint64]bool), make(map[Check][]uint64)
	for check, list := range Known {
		for _, seed := range list {
			if SizeOf(seed) == problem.Small {
				seeds[seed] = true
				small[check] = append(small[check], seed)
			}
		}
	}
	if len(seeds) == 0 && len(Known) > 0 {
		t.Error("no small problem is left: judge large ones")
	}
	var found []Finding
	for _, seed := range slices.Sorted(maps.Keys(seeds)) {
		report := Campaign{Problems: 1, First: seed, Workers: 1, Depth: Default}.Run()
		for _, err := range report.Errors {
			t.Error(err)
		}
		found = append(found, report.Findings...)
	}
	fresh, gone := New(found, small, 0, 10_000)
	for _, f := range append(fresh, gone...) {
		t.Error(f)
	}
}

// TestKnownFindingsAreWrittenDown compares the list that is read by people with the one that is applied.
func TestKnownFindingsAreWrittenDown(t *testing.T) {
	text, err := os.ReadFile("OWED.md")
	if err != nil {
		t.Fatal(err)
	}
	for check, seeds := range KnownSpread {
		if !slices.ContainsFunc(slices.Collect(strings.Lines(string(text))), func(line string) bool {
			return strings.HasPrefix(line, "| "+string(check)+", spread |") &&
				!slices.ContainsFunc(seeds, func(seed uint64) bool { return !strings.Contains(line, fmt.Sprint(seed)) })
		}) {
			t.Errorf("OWED.md has no line of %s of spread clusters with all of %v", check, seeds)
		}
	}
	for check, seeds := range Known {
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "| "+string(check)+" |") {
				continue
			}
			for _, seed := range seeds {
				if !strings.Contains(line, fmt.Sprint(seed)) {
					t.Errorf("OWED.md does not have seed %d of %s", seed, check)
				}
			}
		}
	}
}

// TestNewTellsKnownFindingsFromOthers has one of each.
func TestNewTellsKnownFindingsFromOthers(t *testing.T) {
	known := map[Check][]uint64{Movable: {3, 5, 900}}
	fresh, gone := New([]Finding{{Check: Movable, Seed: 3}, {Check: GivenUp, Seed: 3}, {Check: Movable, Seed: 4}}, known, 0, 10)
	if len(fresh) != 2 || fresh[0].Check != GivenUp || fresh[1].Seed != 4 {
		t.Errorf("fresh: %v", fresh)
	}
	if len(gone) != 1 || gone[0].Seed != 5 {
		t.Errorf("gone: %v", gone)
	}
}
