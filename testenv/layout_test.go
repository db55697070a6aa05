package testenv

import (
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// localModule is the module of testenv/local.
const localModule = module + "testenv/local"

// TestFloorsTestenvIsInSixFolders holds testenv to the folders that its package comment names: what is added goes
// into one of them.
func TestFloorsTestenvIsInSixFolders(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") {
			got = append(got, entry.Name())
		}
	}
	if want := []string{"bench", "cost", "local", "repository", "sim", "test"}; !slices.Equal(got, want) {
		t.Errorf("testenv has the folders %q, want %q", got, want)
	}
}

// TestFloorsTestenvLocalIsAModuleOfItsOwn holds testenv/local to what a stranger can use: it imports nothing else of
// this repository, tests included, and requires no module of it.
func TestFloorsTestenvLocalIsAModuleOfItsOwn(t *testing.T) {
	text, err := os.ReadFile("local/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	named := strings.Count(string(text), strings.TrimSuffix(module, "/"))
	if !strings.HasPrefix(string(text), "module "+localModule+"\n") || named != 1 {
		t.Errorf("local/go.mod is not of %s, or names another module of the repository", localModule)
	}
	checked := 0
	ownFiles(t, func(file, short string) error {
		if !strings.HasPrefix(short, "testenv/local/") || !strings.HasSuffix(short, ".go") {
			return nil
		}
		checked++
		for _, problem := range importsBeyondLocal(short, file, nil) {
			t.Error(problem)
		}
		return nil
	})
	if checked < 300 {
		t.Errorf("only %d files were checked: the walk looks at the wrong place", checked)
	}
	if len(importsBeyondLocal("x.go", "x.go", `package x; import _ "github.com/joiner-sh/joiner/shared/model"`)) != 1 {
		t.Error("nothing objects to an import of shared")
	}
}

func importsBeyondLocal(short, file string, source any) []string {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ImportsOnly)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{err.Error()}
		}
		if strings.HasPrefix(imported, module) && !strings.HasPrefix(imported+"/", localModule+"/") {
			out = append(out, short+" imports "+imported+", which is outside of its module")
		}
	}
	return out
}

// H20: no folder has another name than its package.
//
// TestFloorsFoldersHaveTheNamesOfTheirPackages holds each folder to the name of its package, programs and what is
// overlaid on Karpenter's sources left out.
func TestFloorsFoldersHaveTheNamesOfTheirPackages(t *testing.T) {
	checked := 0
	ownFiles(t, func(file, short string) error {
		if !strings.HasSuffix(short, ".go") || strings.HasPrefix(short, "testenv/bench/upstream/unit/overlay/") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		checked++
		folder, name := path.Base(path.Dir(short)), strings.TrimSuffix(parsed.Name.Name, "_test")
		if name != "main" && name != folder {
			t.Errorf("%s is of package %s, and its folder is %s", short, name, folder)
		}
		return nil
	})
	if checked < 1000 {
		t.Errorf("only %d files were checked: the walk looks at the wrong place", checked)
	}
}
