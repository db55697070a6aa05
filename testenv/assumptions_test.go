package testenv

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
)

// assumptionRows are the rows of testenv/local/cloud/ASSUMPTIONS.md, and the probes that it says are wanted.
func assumptionRows(t *testing.T) ([]cloud.Assumption, map[string]string) {
	t.Helper()
	rows, wanted, err := cloud.Assumptions()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 100 {
		t.Fatalf("ASSUMPTIONS.md has %d rows: its tables are not read", len(rows))
	}
	return rows, wanted
}

var (
	assumptionTest = regexp.MustCompile(`\bTest\w+(…)?`)
	assumptionFile = regexp.MustCompile("`(\\w+_test\\.go)`")
	assumptionCase = regexp.MustCompile(`"([^"]+)"`)
)

// What an assumption says it is held by is there: tests, files of tests, suites and their cases.
func TestAssumptionsAreHeldByTestsThatExist(t *testing.T) {
	tests, files, suites := map[string]bool{}, map[string]bool{}, map[string]string{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	root := ".."
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
			if filepath.Dir(path) == filepath.Join(root, "testenv", "test", "conform") {
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
	rows, _ := assumptionRows(t)
	for _, row := range rows {
		held := strings.HasPrefix(row.HeldBy, "none") || strings.Contains(row.HeldBy, "(`testenv/test/rights`)")
		for _, name := range assumptionTest.FindAllString(row.HeldBy, -1) {
			prefix, any := strings.CutSuffix(name, "…")
			if held = true; !tests[name] && !(any && slices.ContainsFunc(slices.Collect(maps.Keys(tests)), func(test string) bool { return strings.HasPrefix(test, prefix) })) {
				t.Errorf("%s: there is no %s", row.ID, name)
			}
		}
		for _, m := range assumptionFile.FindAllStringSubmatch(row.HeldBy, -1) {
			if held = true; !files[m[1]] {
				t.Errorf("%s: there is no %s", row.ID, m[1])
			}
		}
		if strings.Contains(row.HeldBy, "conform") && !assumptionTest.MatchString(row.HeldBy) || strings.Contains(row.HeldBy, "`conform` \"") {
			for _, m := range assumptionCase.FindAllStringSubmatch(row.HeldBy, -1) {
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

// M70, M71, M72, M73: probes that rows name are written, and those that are wanted are not.
func TestAssumptionsNameProbesThatAreWritten(t *testing.T) {
	folder := filepath.Join("..", "cmd", "joiner", "proof", "probes")
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
	rows, wanted := assumptionRows(t)
	for _, row := range rows {
		for _, probe := range row.Probes {
			if written := strings.Contains(source.String(), `"`+probe+`"`); written == (wanted[probe] != "") {
				t.Errorf("%s: probe %s is written: %v; a probe is written or stands in the table of wanted ones", row.ID, probe, written)
			}
		}
	}
}
