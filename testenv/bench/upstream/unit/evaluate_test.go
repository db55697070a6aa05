package unit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRenameChangesOneDeclarationAndNothingElse(t *testing.T) {
	const text = "package p\n\ntype A struct{}\n\nfunc Do() {}\n\nfunc (b B) Do() {}\n\n// Do is done.\nfunc (a *A) Do() { a.Do(); Do() }\n"
	for _, c := range []struct {
		of   method
		want string
	}{
		{method{"A", "Do"}, strings.Replace(text, "func (a *A) Do()", "func (a *A) karpentersDo()", 1)},
		{method{"B", "Do"}, strings.Replace(text, "func (b B) Do()", "func (b B) karpentersDo()", 1)},
		{method{"", "Do"}, strings.Replace(text, "func Do()", "func karpentersDo()", 1)},
	} {
		got, err := rename([]byte(text), c.of)
		if err != nil || string(got) != c.want {
			t.Errorf("%v: %v, got\n%s", c.of, err, got)
		}
	}
	if _, err := rename([]byte(text), method{"A", "Undo"}); err == nil {
		t.Error("a method that is not there was renamed")
	}
}

func TestEvaluateFindsWhatHasNoReasonAndWhatNeedsNone(t *testing.T) {
	reasons := []Reason{
		{Suite: "s", Specs: []string{"a * c", "gone"}, Kind: "artefact", Why: "w"},
		{Suite: "other", Specs: []string{"not run"}, Kind: "artefact", Why: "w"},
	}
	j := evaluate([]Outcome{
		{Suite: "s", Spec: "a b c", Status: Failed, Why: "x"},
		{Suite: "s", Spec: "a d c", Status: Passed},
		{Suite: "s", Spec: "e", Status: Failed, Why: "y"},
		{Suite: "s", Spec: "f", Status: Passed},
	}, reasons)
	want := []string{"passes, and reasons.yaml has why it does not: s: a d c", "failed without a reason: s: e", "no spec is called that: s: gone"}
	if len(j.problems) != len(want) {
		t.Fatalf("got %q", j.problems)
	}
	for i := range want {
		if !strings.HasPrefix(j.problems[i], want[i]) {
			t.Errorf("got %q, want %q", j.problems[i], want[i])
		}
	}
	table := string(j.table(&Ran{Version: "v1"}))
	for _, line := range []string{
		"| s | 4 | 2 | 2 | 0 |", "- s: a b c (failed)",
		"Of those that failed, 0 are differences that are meant, 1 look into Karpenter, 0 wait for what is not built, and 1 have no reason.",
	} {
		if !strings.Contains(table, line+"\n") {
			t.Errorf("the table lacks %q:\n%s", line, table)
		}
	}
}

func TestReasonsOfDifferencesNameTheirRow(t *testing.T) {
	for text, want := range map[string]string{
		"- {suite: s, specs: [a], kind: difference, why: w}":              "names its row",
		"- {suite: s, specs: [a], kind: difference, why: w, row: absent}": "has no row with",
		"- {suite: s, specs: [a], kind: other, why: w}":                   "must be one of",
		"- {suite: s, specs: [], kind: artefact, why: w}":                 "are needed",
		"- {suite: s, specs: [a], kind: artefact, why: w, because: x}":    "because",
	} {
		path := filepath.Join(t.TempDir(), "reasons.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readReasons(path, "| a row |"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
