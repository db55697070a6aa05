package testenv

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// switches are the variables of tests that no target sets, each with who sets it.
var switches = map[string]string{
	"JOINER_SIM_WORLDS": "people, who run a long test in parts",
	"JOINER_UPDATE":     "people, when the failing test says so",
	"JOINER_ZIPS":       "people, before a release",
}

var readsSwitch = regexp.MustCompile(`os\.Getenv\("(JOINER_[A-Z0-9_]+)"\)`)

// M45, M46: a form of a test that runs only on demand has a target that runs it. What no target runs is soon
// forgotten.
func TestM45M46EverySwitchOfATestIsSetByATarget(t *testing.T) {
	var targets strings.Builder
	read := map[string]string{} // by variable, a file that reads it
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() {
			if name == "node_modules" || name != ".." && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		script := entry.Name() == "Makefile" || strings.HasSuffix(file, ".sh")
		if !script && !strings.HasSuffix(file, "_test.go") && entry.Name() != "timed.go" {
			return nil
		}
		text, err := os.ReadFile(file)
		if script {
			targets.Write(text)
			return err
		}
		for _, found := range readsSwitch.FindAllStringSubmatch(string(text), -1) {
			read[found[1]] = file
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(read) < 10 {
		t.Fatalf("only %d switches were found: %v", len(read), read)
	}
	for _, name := range slices.Sorted(maps.Keys(read)) {
		set, by := strings.Contains(targets.String(), name+"="), switches[name]
		if set == (by != "") {
			t.Errorf("%s, which %s reads: set by a target %v, otherwise by %q; want one of both",
				name, read[name], set, by)
		}
	}
	for name := range switches {
		if read[name] == "" {
			t.Errorf("no test reads %s any more", name)
		}
	}
}

// M47: golangci-lint and the search for dead code go through every module that has Go code, and not through the root
// module alone.
func TestM47EveryModuleWithCodeIsLinted(t *testing.T) {
	out, err := exec.Command("../tools/modules.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	var linted []string
	for line := range strings.Lines(string(out)) {
		folder, _, _ := strings.Cut(line, " ")
		linted = append(linted, folder)
	}
	want := []string{".", "infra/cdk", "tools", "testenv/local", "testenv/bench/oracle", "testenv/bench/peer"}
	for _, folder := range want {
		if !slices.Contains(linted, folder) {
			t.Errorf("tools/modules.sh does not name %s: %q", folder, linted)
		}
	}
	for _, script := range []string{"lint.sh", "deadcode.sh"} {
		text, err := os.ReadFile(filepath.Join("..", "tools", script))
		if err != nil || !strings.Contains(string(text), "tools/modules.sh | while read") {
			t.Errorf("tools/%s does not go through tools/modules.sh (%v)", script, err)
		}
	}
}
