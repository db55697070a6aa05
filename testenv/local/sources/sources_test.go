package sources

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The root is found from the folder of the test, whatever folder the test changes to.
func TestRepositoryIsFoundFromWhereTheProgramWasStarted(t *testing.T) {
	t.Setenv(variable, "")
	t.Chdir(t.TempDir())
	root, err := Repository()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "infra", "chart", "Chart.yaml")); err != nil {
		t.Error(err)
	}
	local, err := Local(t.Context())
	if want := filepath.Join(root, "testenv", "local"); err != nil || local != want {
		t.Errorf("the module is in %q, %v; want %q", local, err, want)
	}
	if again := MustRepository(); again != root {
		t.Errorf("%q, and then %q", root, again)
	}
}

// A module of the repository that is not its root is passed over, as is a go.mod that says nothing.
func TestRepositoryPassesOverOtherModules(t *testing.T) {
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "// a comment\nmodule github.com/joiner-sh/joiner // another\n\ngo 1.26\n")
	write(t, filepath.Join(root, "testenv", "local", "go.mod"), "module github.com/joiner-sh/joiner/testenv/local\n")
	write(t, filepath.Join(root, "testenv", "local", "kube", "go.mod"), "")
	got, err := repository("", filepath.Join(root, "testenv", "local", "kube"))
	if err != nil || got != root {
		t.Errorf("got %q, %v; want %q", got, err, root)
	}
}

func TestRepositoryIsTheOneThatTheVariableNames(t *testing.T) {
	named, started := t.TempDir(), t.TempDir()
	for _, dir := range []string{named, started} {
		write(t, filepath.Join(dir, "go.mod"), "module github.com/joiner-sh/joiner\n")
	}
	if got, err := repository(named, started); err != nil || got != named {
		t.Errorf("got %q, %v; want %q", got, err, named)
	}
}

func TestRepositoryThatIsNotThereIsToldWithTheRemedy(t *testing.T) {
	empty := t.TempDir()
	if _, err := repository("", empty); err == nil || !strings.Contains(err.Error(), "set JOINER_SOURCES") ||
		!strings.Contains(err.Error(), empty) {
		t.Errorf("%v; want the folder and the variable", err)
	}
	if _, err := repository(empty, empty); err == nil || !strings.Contains(err.Error(), "JOINER_SOURCES="+empty) {
		t.Errorf("%v; want the variable and its value", err)
	}
}

// A module that requires testenv/local finds it through the go command.
func TestLocalIsFoundAsARequirement(t *testing.T) {
	local := MustRepository() + "/testenv/local"
	other := t.TempDir()
	write(t, filepath.Join(other, "go.mod"), "module example.com/other\n\ngo 1.26\n\nrequire "+localModule+
		" v0.0.0\n\nreplace "+localModule+" => "+local+"\n")
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	if got, err := required(t.Context(), other); err != nil || got != local {
		t.Errorf("got %q, %v; want %q", got, err, local)
	}
	_, err := required(t.Context(), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "set JOINER_SOURCES") {
		t.Errorf("%v; want the variable", err)
	}
}

// Nothing below testenv asks the compiler where its sources are: binaries built with -trimpath do not know.
func TestNothingAsksTheCompilerForThePathOfItsSources(t *testing.T) {
	root := filepath.Join(MustRepository(), "testenv")
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "runtime"+".Caller(") {
			t.Errorf("%s calls runtime"+".Caller: use sources.Repository", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
