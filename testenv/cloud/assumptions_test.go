package cloud

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/cloud/reading"
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

var (
	testName = regexp.MustCompile(`\bTest\w+(…)?`)
	fileName = regexp.MustCompile("`(\\w+_test\\.go)`")
	caseName = regexp.MustCompile(`"([^"]+)"`)
)

// What an assumption says it is held by is there: tests, files of tests, suites and their cases.
func TestAssumptionsAreHeldByTestsThatExist(t *testing.T) {
	tests, files, suites := map[string]bool{}, map[string]bool{}, map[string]string{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := filepath.Join("..", "..")
	for _, top := range []string{"testenv", "shared", "functions", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if strings.HasSuffix(path, "_test.go") {
				files[entry.Name()] = true
				for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
					tests[m[1]] = true
				}
			}
			if filepath.Dir(path) == filepath.Join(root, "testenv", "conform") {
				suite, _, _ := strings.Cut(strings.TrimSuffix(entry.Name(), ".go"), "_")
				suites[suite] += string(text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cases := ""
	for _, text := range suites {
		cases += text
	}
	rows, _ := rowsOf(t)
	for _, row := range rows {
		held := strings.HasPrefix(row.HeldBy, "none") || strings.Contains(row.HeldBy, "(`testenv/rights`)")
		for _, name := range testName.FindAllString(row.HeldBy, -1) {
			prefix, any := strings.CutSuffix(name, "…")
			if held = true; !tests[name] && !(any && slices.ContainsFunc(keys(tests), func(test string) bool { return strings.HasPrefix(test, prefix) })) {
				t.Errorf("%s: there is no %s", row.ID, name)
			}
		}
		for _, m := range fileName.FindAllStringSubmatch(row.HeldBy, -1) {
			if held = true; !files[m[1]] {
				t.Errorf("%s: there is no %s", row.ID, m[1])
			}
		}
		if strings.Contains(row.HeldBy, "conform") && !testName.MatchString(row.HeldBy) || strings.Contains(row.HeldBy, "`conform` \"") {
			for _, m := range caseName.FindAllStringSubmatch(row.HeldBy, -1) {
				if !strings.Contains(cases, `"`+m[1]+`"`) {
					t.Errorf("%s: no suite has a case %q", row.ID, m[1])
				}
			}
			held = true
		}
		for _, m := range regexp.MustCompile("suite `(\\w+)`").FindAllStringSubmatch(row.HeldBy, -1) {
			if held = true; suites[m[1]] == "" {
				t.Errorf("%s: there is no suite %s", row.ID, m[1])
			}
		}
		if !held {
			t.Errorf("%s: %q names nothing that holds it", row.ID, row.HeldBy)
		}
	}
}

// Probes that rows name are written, and those that are wanted are not.
func TestAssumptionsNameProbesThatAreWritten(t *testing.T) {
	folder := filepath.Join("..", "..", "cmd", "joiner", "proof", "probes")
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no probes in %s: %v", folder, err)
	}
	var source strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	rows, wanted := rowsOf(t)
	for _, row := range rows {
		for _, probe := range row.Probes {
			if written := strings.Contains(source.String(), `"`+probe+`"`); written == (wanted[probe] != "") {
				t.Errorf("%s: probe %s is written: %v; a probe is written or stands in the table of wanted ones", row.ID, probe, written)
			}
		}
	}
}

func keys(m map[string]bool) []string {
	var out []string
	for key := range m {
		out = append(out, key)
	}
	return out
}

func TestAssumptionsWithOtherColumnsAreRefused(t *testing.T) {
	_, _, err := parseAssumptions("## A\n\n| id | assumption | other reading | source | held by | status | probes |\n|---|---|\n| a-b | c |\n")
	if err == nil || !strings.Contains(err.Error(), "line 5: 2 columns; there are 7") {
		t.Errorf("%v", err)
	}
}
