package cloud

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

func rowsOf(t *testing.T) ([]Assumption, map[string]string) {
	t.Helper()
	rows, wanted, err := Assumptions()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 100 {
		t.Fatalf("ASSUMPTIONS.md has %d rows: its tables are not read", len(rows))
	}
	return rows, wanted
}

var idPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)

func TestAssumptionsHaveIdsSourcesAndStatuses(t *testing.T) {
	rows, wanted := rowsOf(t)
	seen, probed := map[string]bool{}, map[string]string{}
	count := map[string]int{}
	for _, row := range rows {
		if !idPattern.MatchString(row.ID) || seen[row.ID] {
			t.Errorf("%q is no id, or is there twice", row.ID)
		}
		seen[row.ID] = true
		count[row.Status]++
		if row.Text == "" || row.Source == "" || row.HeldBy == "" {
			t.Errorf("%s: assumption, source and held by must say something", row.ID)
		}
		for _, probe := range row.Probes {
			if other, twice := probed[probe]; twice || !idPattern.MatchString(probe) {
				t.Errorf("%s: probe %q is no id, or is also of %s", row.ID, probe, other)
			}
			probed[probe] = row.ID
		}
		doubtful := row.Status == ToProbe || row.Status == Guess
		switch {
		case !slices.Contains([]string{Sourced, ToProbe, Guess, OfModel}, row.Status):
			t.Errorf("%s: %q is no status", row.ID, row.Status)
		case doubtful && (row.Other == "" || !slices.Contains(row.Probes, row.ID)):
			t.Errorf("%s is %s: it needs another reading and a probe of its id", row.ID, row.Status)
		case row.Status == Guess && wanted[row.ID] == "":
			t.Errorf("%s is a guess: the table of wanted probes must say what its probe would do", row.ID)
		case row.Status != Guess && wanted[row.ID] != "":
			t.Errorf("%s is %s, and its probe is wanted still", row.ID, row.Status)
		}
	}
	for probe := range wanted {
		if !seen[probe] {
			t.Errorf("probe %s is wanted, and of no assumption", probe)
		}
	}
	t.Logf("%d assumptions: %d sourced, %d with a probe that has not been run on AWS, %d guesses, %d choices of the model's; %d probes",
		len(rows), count[Sourced], count[ToProbe], count[Guess], count[OfModel], len(probed))
}

// What can be read the other way by a switch says so in its row.
func TestAssumptionsNameEveryDoubt(t *testing.T) {
	rows, _ := rowsOf(t)
	for _, d := range reading.All() {
		i := slices.IndexFunc(rows, func(row Assumption) bool { return row.ID == d.ID })
		if i < 0 || rows[i].Other == "" {
			t.Errorf("%s can be read in two ways, and has no row with another reading", d.ID)
		}
	}
}

func TestAssumptionsWithOtherColumnsAreRefused(t *testing.T) {
	_, _, err := parseAssumptions("## A\n\n| id | assumption | other reading | source | held by | status | probes |\n|---|---|\n| a-b | c |\n")
	if err == nil || !strings.Contains(err.Error(), "line 5: 2 columns; there are 7") {
		t.Errorf("%v", err)
	}
}
