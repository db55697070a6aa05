package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const suite = "core/regression"

func all(Row) bool { return true }

func TestEvaluateHoldsARunAgainstTheRows(t *testing.T) {
	passes := Row{Suite: suite, Spec: "a pod runs", Verdict: Passes}
	differs := Row{Suite: suite, Spec: "a hash is equal", Verdict: Differs, Why: "Drift"}
	waits := Row{Suite: suite, Spec: "a device is claimed", Verdict: Waits, Why: "dynamic resources"}
	ok := func(r Row) Outcome { return Outcome{Suite: suite, Spec: r.Spec, Passed: true} }
	bad := func(r Row) Outcome { return Outcome{Suite: suite, Spec: r.Spec, Failure: "timed out"} }
	for name, c := range map[string]struct {
		rows     []Row
		listed   []string
		outcomes []Outcome
		faults   []string // parts of each
		summary  string
	}{
		"all is as the rows say": {
			[]Row{passes, differs, waits}, []string{passes.Spec, differs.Spec, waits.Spec}, []Outcome{ok(passes)}, nil,
			"1 passed, 0 failed, 2 not runnable\n    1 differs: Drift\n    1 waits: dynamic resources",
		},
		"a difference was run and fails as its row says": {
			[]Row{differs}, []string{differs.Spec}, []Outcome{bad(differs)}, nil, "0 passed, 0 failed, 1 not runnable\n    1 differs: Drift",
		},
		"a spec fails": {
			[]Row{passes}, []string{passes.Spec}, []Outcome{bad(passes)}, []string{`"a pod runs" fails`}, "0 passed, 1 failed, 0 not runnable",
		},
		"a spec has no row": {
			nil, []string{"new"}, []Outcome{{Suite: suite, Spec: "new", Passed: true}}, []string{`"new" has no row`}, "1 passed, 0 failed, 0 not runnable",
		},
		"a row says that it differs, and it passes": {
			[]Row{differs}, []string{differs.Spec}, []Outcome{ok(differs)}, []string{`"a hash is equal" passes`}, "1 passed, 0 failed, 0 not runnable",
		},
		"what waits passes": {
			[]Row{waits}, []string{waits.Spec}, []Outcome{ok(waits)}, []string{"change the row"}, "1 passed, 0 failed, 0 not runnable",
		},
		"a row names no spec": {
			[]Row{passes}, []string{}, nil, []string{"which the suite has not"}, "0 passed, 0 failed, 0 not runnable",
		},
		"a spec was skipped by itself": {
			[]Row{passes}, []string{passes.Spec}, nil, []string{"was to run and did not"}, "0 passed, 0 failed, 0 not runnable",
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := Evaluate(c.rows, map[string][]string{suite: c.listed}, all, c.outcomes)
			if len(j.Faults) != len(c.faults) {
				t.Fatalf("faults are %q, want %d", j.Faults, len(c.faults))
			}
			for i, part := range c.faults {
				if !strings.Contains(j.Faults[i], part) {
					t.Errorf("fault %q says nothing of %q", j.Faults[i], part)
				}
			}
			if j.Summary() != c.summary {
				t.Errorf("summary is %q, want %q", j.Summary(), c.summary)
			}
		})
	}
}

// TestEveryRowCanBeUsed: what specs.csv says can be read, and what it names is there.
func TestEveryRowCanBeUsed(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Fatal("there are none")
	}
	compatibility, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Verdict != Differs {
			continue
		}
		// The reason of a difference is a row's first column, after its section: "Drift: The values of …".
		section, row, ok := strings.Cut(r.Why, ": ")
		_, of, found := strings.Cut(string(compatibility), "\n## "+section+"\n")
		of, _, _ = strings.Cut(of, "\n## ")
		if !ok || !found || !strings.Contains(of, "\n| "+row+" |") {
			t.Errorf("%q differs by %q, and docs/compatibility.md has no such row in that section", r.Spec, r.Why)
		}
	}
}

func TestRowsSayWhatIsWrongWithThem(t *testing.T) {
	const head = "suite,verdict,setup,spec,why\n"
	for text, want := range map[string]string{
		head + "core/regression,differs,,a,\n":                              "no reason",
		head + "core/regression,perhaps,,a,\n":                              `verdict "perhaps"`,
		head + "core/regression,passes,huge,a,\n":                           `no setup "huge"`,
		head + "core/other,passes,,a,\n":                                    `no suite "core/other"`,
		head + "core/regression,passes,,a,\ncore/regression,waits,,a,why\n": "there twice",
		head + "core/regression,passes,a\n":                                 "wrong number of fields",
	} {
		if _, err := readRows(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want one about %q", text, err, want)
		}
	}
}

func TestSpecsAreDealtByWhatTheyTook(t *testing.T) {
	rows := []Row{{Spec: "a"}, {Spec: "b"}, {Spec: "c"}, {Spec: "d"}}
	parts := share(rows, map[string]float64{" a": 10, " b": 300, " c": 200, " d": 120}, 2)
	var names [][]string
	for _, part := range parts {
		var some []string
		for _, r := range part {
			some = append(some, r.Spec)
		}
		names = append(names, some)
	}
	if want := [][]string{{"b", "a"}, {"c", "d"}}; !slices.EqualFunc(names, want, slices.Equal) {
		t.Errorf("parts are %v, want %v", names, want)
	}
	if parts := share(rows[:1], nil, 3); len(parts) != 1 {
		t.Errorf("one spec is dealt to %d stacks", len(parts))
	}
}

// TestEverySetupHasItsNodePool: and what all are made from is there, too.
func TestASuiteThatRunsWholeIsNotDealt(t *testing.T) {
	rows := []Row{{Suite: "aws/drift", Spec: "a"}}
	for _, spec := range []string{"b", "c", "d", "e"} {
		rows = append(rows, Row{Suite: "aws/scheduling-strict", Spec: spec})
	}
	parts := share(rows, nil, 3)
	if len(parts) != 2 || len(parts[0]) != 4 || len(parts[1]) != 1 || parts[1][0].Spec != "a" {
		t.Errorf("dealt as %v; what one process runs is one part", parts)
	}
}

func TestEverySetupHasItsNodePool(t *testing.T) {
	names := []string{"nodeclass", "karpenter", "performance", "kwoknodeclass"}
	for _, s := range Setups {
		names = append(names, s.Pool)
	}
	for _, name := range names {
		path, err := WriteManifest(t.TempDir(), name, "shop")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), "$CLUSTER_NAME") {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}

func TestSpecsOfOneStackAreTogether(t *testing.T) {
	groups := byStack([]Row{{Spec: "a"}, {Spec: "b", Setup: "besteffort"}, {Spec: "c", Setup: "small"}, {Spec: "d", Setup: "ebs"}})
	if len(groups) != 3 || len(groups[0]) != 2 || groups[0][1].Spec != "c" || groups[1][0].Spec != "b" || groups[2][0].Spec != "d" {
		t.Errorf("groups are %v", groups)
	}
}

func TestFocusMatchesItsSpecsAlone(t *testing.T) {
	b := Batch{Description: "Regression", Specs: []string{"Drift [*].x (a)", "Drift b"}}
	if got, want := b.focus(), `^Regression (?:Drift \[\*\]\.x \(a\)|Drift b)$`; got != want {
		t.Errorf("focus is %s, want %s", got, want)
	}
}
