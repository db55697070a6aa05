package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// suiteProgram writes a shell script that stands in for a suite whose one spec passes, and does something before that.
func suiteProgram(t *testing.T, script string) string {
	t.Helper()
	return program(t, `for a in "$@"; do case $a in -ginkgo.json-report=*) report=${a#*=};; esac; done
`+script+`
echo '[{"SuiteDescription": "S", "SpecReports": [{"LeafNodeType": "It", "LeafNodeText": "a", "State": "passed"}]}]' >"$report"
`)
}

func TestSuitesRunInTheFolderOfTheirPackage(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "input"), []byte("here"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	b := Batch{Suite: Suite{Name: "aws/ami"}, Program: suiteProgram(t, `cat input >"$OUTPUT_DIR/read"`), Description: "S", Specs: []string{"a"}, Folder: folder, Dir: dir, Name: "batch", Within: time.Minute}
	outcomes, err := b.Run(t.Context(), Place{})
	if err != nil || len(outcomes) != 1 || !outcomes[0].Passed {
		t.Fatalf("%+v %v", outcomes, err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "batch", "read")); err != nil || string(text) != "here" {
		t.Errorf("it has read %q %v", text, err)
	}
}

func TestASpecOfPerformanceThatMeasuredNothingHasFailed(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(`{"clusters": [{"name": "a", "cluster": {"server": "http://127.0.0.1:9"}}], "contexts": [{"name": "a", "context": {"cluster": "a"}}], "current-context": "a"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p := Place{Kubeconfig: kubeconfig, Kubectl: program(t, "exit 0\n"), PID: os.Getpid()}
	for _, c := range []struct {
		name, script string
		passed       bool
	}{
		{"no report", "", false},
		{"one sample", `echo '{"metrics_sample_count": 1}' >"$OUTPUT_DIR/scale_out_performance_report.json"`, false},
		{"samples", `echo '{"metrics_sample_count": 9}' >"$OUTPUT_DIR/scale_out_performance_report.json"`, true},
	} {
		b := Batch{Suite: Suite{Name: "core/performance", Measures: true}, Program: suiteProgram(t, `grep -q http://127.0.0.1: "$KUBECONFIG" && ! grep -q :9\" "$KUBECONFIG" || exit 1
`+c.script), Description: "S", Specs: []string{"a"}, Folder: t.TempDir(), Dir: t.TempDir(), Name: "batch", Within: time.Minute}
		outcomes, err := b.Run(t.Context(), p)
		if err != nil || len(outcomes) != 1 || outcomes[0].Passed != c.passed || !c.passed && !strings.Contains(outcomes[0].Failure, "measured nothing") {
			t.Errorf("%s: %+v %v, passed should be %v", c.name, outcomes, err, c.passed)
		}
	}
}

// A suite whose process dies is a failure of the specs it ran, and not the end of all others.
func TestASuiteThatLeavesNoReportHasFailed(t *testing.T) {
	b := Batch{Suite: Suite{Name: "core/regression"}, Program: program(t, "exit 2\n"), Description: "S", Specs: []string{"a"}, Folder: t.TempDir(), Dir: t.TempDir(), Name: "batch", Within: time.Minute}
	outcomes, err := b.Run(t.Context(), Place{})
	if err != nil || len(outcomes) != 1 || outcomes[0].Passed || !strings.Contains(outcomes[0].Failure, "without a report (exit status 2)") {
		t.Errorf("%+v %v", outcomes, err)
	}
}
