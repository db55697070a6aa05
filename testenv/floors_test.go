package testenv

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/joiner-sh/joiner/"

// floor is one layer of the code: which folders are on it and what their files may import.
type floor struct {
	name    string
	folders []string // prefixes of paths below the module's root, each ending in /
	ours    []string // what of ours may be imported, beside the folder's own subfolders
	foreign []string // prefixes of other modules that may be imported; "*" = any
	banned  []string // standard library packages that may not
	pure    bool     // no clock, no goroutine
	clock   bool     // may read the clock
}

var typeFolders = []string{"shared/model", "shared/fault", "shared/wire"}
var primitiveFolders = []string{"shared/core/resource", "shared/core/requirement", "shared/core/topology",
	"shared/core/volume", "shared/core/kubelet", "shared/core/offering", "shared/core/overlay", "shared/core/allowance",
	"shared/core/fairshare", "shared/core/device"}
var decisionFolders = []string{"shared/core/pack", "shared/core/headroom", "shared/core/disruption", "shared/core/replay", "shared/core/drain", "shared/core/lifecycle", "shared/core/admit", "shared/core/image", "shared/core/userdata", "shared/core/explain"}
var effects = []string{"context", "math/rand", "math/rand/v2", "crypto/rand", "log", "log/slog", "os", "os/exec", "net", "net/http", "sync", "syscall"}

var floors = []floor{
	{name: "types", folders: slashed(typeFolders), ours: typeFolders, banned: effects, pure: true},
	{name: "types", folders: []string{"shared/api/"}, ours: []string{"shared/api"}, foreign: []string{"k8s.io/apimachinery", "k8s.io/api/"}, clock: true},
	{name: "primitives", folders: []string{"shared/core/kubelet/"}, ours: typeFolders, foreign: []string{"github.com/google/cel-go"}, banned: effects, pure: true},
	{name: "primitives", folders: []string{"shared/core/device/"}, ours: join(typeFolders, primitiveFolders),
		foreign: []string{"k8s.io/api/", "k8s.io/apimachinery", "k8s.io/dynamic-resource-allocation",
			"k8s.io/utils/ptr"},
		banned: effects[1:], pure: true}, // kube-scheduler's allocator takes a context
	{name: "primitives", folders: slashed(primitiveFolders), ours: join(typeFolders, primitiveFolders), banned: effects, pure: true},
	{name: "decisions", folders: []string{"shared/core/disruption/"}, ours: join(typeFolders, primitiveFolders, []string{"shared/core/pack"}), foreign: []string{"github.com/robfig/cron/v3"}, banned: effects, pure: true},
	{name: "decisions", folders: []string{"shared/core/explain/"}, ours: join(typeFolders, primitiveFolders, []string{"shared/core/pack", "shared/core/disruption"}), banned: effects, pure: true},
	{name: "decisions", folders: []string{"shared/core/replay/"}, ours: join(typeFolders, primitiveFolders, []string{"shared/core/pack", "shared/core/headroom", "shared/core/disruption"}), banned: effects, pure: true},
	{name: "decisions", folders: []string{"shared/core/admit/"}, ours: join(typeFolders, primitiveFolders, []string{"shared/core/disruption"}), banned: effects, pure: true},
	{name: "decisions", folders: []string{"shared/core/userdata/"}, ours: join(typeFolders, primitiveFolders), foreign: []string{"github.com/pelletier/go-toml/v2", "sigs.k8s.io/yaml"}, banned: effects, pure: true},
	{name: "decisions", folders: []string{"shared/core/"}, ours: join(typeFolders, primitiveFolders), banned: effects, pure: true},
	{name: "ports", folders: []string{"shared/port/"}, ours: typeFolders, banned: []string{"sync", "log", "os", "net/http"}},
	{name: "runtime", folders: []string{"shared/work/"}, ours: join(typeFolders, []string{"shared/port"}), banned: []string{"math/rand", "math/rand/v2", "crypto/rand", "log", "os", "net/http"}},
	{name: "flows", folders: []string{"shared/flow/"}, ours: join(typeFolders, primitiveFolders, decisionFolders, []string{"shared/port", "shared/work"}), banned: []string{"math/rand", "math/rand/v2", "crypto/rand", "log", "os", "net/http"}},
	{name: "adapters", folders: []string{"shared/adapter/"}, ours: join(typeFolders, []string{"shared/api", "shared/port", "shared/adapter/sdkerr"}), foreign: []string{"*"}, clock: true},
	{name: "boot", folders: []string{"shared/boot/"}, ours: join(typeFolders, []string{"shared/port", "shared/work"}), foreign: []string{"*"}, clock: true},
	{name: "programs", folders: []string{"functions/", "cmd/"}, ours: []string{"shared"}, foreign: []string{"*"}, clock: true},
}

func slashed(folders []string) []string {
	out := make([]string, len(folders))
	for i, folder := range folders {
		out[i] = folder + "/"
	}
	return out
}

func join(lists ...[]string) []string { return slices.Concat(lists...) }

// TestFloors holds every file that ships to its floor: who may import whom, and where no clock is read.
func TestFloors(t *testing.T) {
	checked := 0
	for path, file := range parseShipped(t) {
		f := floorOf(path)
		if f == nil {
			t.Errorf("%s is on no floor; see the table of floors in docs/architecture/index.md", path)
			continue
		}
		checked++
		for _, problem := range f.check(path, file) {
			t.Error(problem)
		}
	}
	if checked < 30 {
		t.Fatalf("only %d files were checked: the walk looks at the wrong place", checked)
	}
}

// parseShipped returns every Go file of shared, functions and cmd that is not a test, by its path below the root.
func parseShipped(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	for _, top := range []string{"shared", "functions", "cmd"} {
		root := filepath.Join("..", top)
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".")) {
				return filepath.SkipDir
			}
			if entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			files[strings.TrimPrefix(filepath.ToSlash(path), "../")] = file
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func floorOf(path string) *floor {
	for i := range floors {
		for _, folder := range floors[i].folders {
			if strings.HasPrefix(path, folder) {
				return &floors[i]
			}
		}
	}
	return nil
}

// TestPackagesWithControlPlanesAreTestedOneAtATime holds every package whose tests start a control plane to doing so from
// kube.Alone: of those a plain `go test ./...` runs one at a time.
func TestPackagesWithControlPlanesAreTestedOneAtATime(t *testing.T) {
	starts, alone := map[string]bool{"testenv/local/kube": true, "testenv/test/stack": true}, map[string]bool{}
	for _, top := range []string{"shared", "functions", "cmd", "testenv"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			folder := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			for _, spec := range file.Imports {
				if spec.Path.Value == `"`+module+`testenv/local/kube"` || spec.Path.Value == `"`+module+`testenv/test/stack"` {
					starts[folder] = true
				}
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if selector, ok := node.(*ast.SelectorExpr); ok && selector.Sel.Name == "Alone" {
					pkg, named := selector.X.(*ast.Ident)
					alone[folder] = alone[folder] || named && pkg.Name == "kube"
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for folder := range starts {
		if !alone[folder] {
			t.Errorf("%s: its tests start control planes, and its TestMain does not run them by kube.Alone", folder)
		}
	}
	if len(starts) < 6 {
		t.Errorf("only %d packages start control planes: the walk looks at the wrong place", len(starts))
	}
}

// check returns one sentence for each way the file leaves its floor.
func (f *floor) check(path string, file *ast.File) []string {
	var problems []string
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{path + ": " + err.Error()}
		}
		if why := f.refuses(path, imported); why != "" {
			problems = append(problems, fmt.Sprintf("%s is on the floor of %s and may not import %s: %s", path, f.name, imported, why))
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.GoStmt:
			if f.pure {
				problems = append(problems, fmt.Sprintf("%s starts a goroutine, and %s decide without any", path, f.name))
			}
		case *ast.SelectorExpr:
			pkg, ok := n.X.(*ast.Ident)
			if ok && pkg.Name == "time" && !f.clock && slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}, n.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s reads the clock with time.%s; on the floor of %s time is an argument", path, n.Sel.Name, f.name))
			}
		}
		return true
	})
	return problems
}

// refuses says why the floor does not let path import a package, and "" where it does.
func (f *floor) refuses(path, imported string) string {
	if below, ours := strings.CutPrefix(imported, module); ours {
		switch part := "shared/core/pack/"; {
		case sameUnit(path, below):
			return ""
		case strings.HasPrefix(below, part):
			return "the planner's parts are its own: ask " + strings.TrimSuffix(part, "/")
		case anyPrefix(f.ours, below):
			return ""
		}
		return "of ours it may use " + orNothing(f.ours)
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") { // standard library
		if slices.Contains(f.banned, imported) {
			return "what it decides must not depend on anything but its arguments"
		}
		return ""
	}
	for _, prefix := range f.foreign {
		if prefix == "*" || strings.HasPrefix(imported, prefix) {
			return ""
		}
	}
	return "of other modules it may use " + orNothing(f.foreign)
}

// sameUnit reports whether an import stays within the file's own unit: the package three folders deep and what is below
// it, or the program two deep.
func sameUnit(path, imported string) bool {
	depth := 3
	if !strings.HasPrefix(path, "shared/") {
		depth = 2
	}
	parts := strings.Split(path, "/")
	if len(parts) <= depth {
		depth = len(parts) - 1
	}
	unit := strings.Join(parts[:depth], "/")
	return imported == unit || strings.HasPrefix(imported, unit+"/")
}

func anyPrefix(allowed []string, imported string) bool {
	for _, a := range allowed {
		if imported == a || strings.HasPrefix(imported, a+"/") {
			return true
		}
	}
	return false
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, ", ")
}

// TestFloorsRefuse proves the net: each of these must be caught.
func TestFloorsRefuse(t *testing.T) {
	cases := map[string]struct{ path, source string }{
		"a decision with a context":          {"shared/core/pack/x.go", `package pack; import _ "context"`},
		"a decision with a clock":            {"shared/core/pack/x.go", `package pack; import "time"; var _ = time.Now()`},
		"a decision with a goroutine":        {"shared/core/pack/x.go", `package pack; func f() { go f() }`},
		"a sum that calls a decision":        {"shared/core/offering/x.go", `package offering; import _ "github.com/joiner-sh/joiner/shared/core/pack"`},
		"a flow with an SDK":                 {"shared/flow/provision/x.go", `package provision; import _ "github.com/aws/aws-sdk-go-v2/aws"`},
		"a flow that calls another":          {"shared/flow/provision/x.go", `package provision; import _ "github.com/joiner-sh/joiner/shared/flow/publish"`},
		"an adapter that decides":            {"shared/adapter/ec2fleet/x.go", `package ec2fleet; import _ "github.com/joiner-sh/joiner/shared/core/pack"`},
		"an adapter that uses another":       {"shared/adapter/ec2fleet/x.go", `package ec2fleet; import _ "github.com/joiner-sh/joiner/shared/adapter/sqsqueue"`},
		"a word with a library":              {"shared/model/x.go", `package model; import _ "github.com/google/go-cmp/cmp"`},
		"a program that uses testenv":        {"cmd/watcher/x.go", `package main; import _ "github.com/joiner-sh/joiner/testenv/local/cloud"`},
		"a program that uses another":        {"cmd/watcher/x.go", `package main; import _ "github.com/joiner-sh/joiner/functions/provision"`},
		"a flow that uses a planner part":    {"shared/flow/provision/x.go", `package provision; import _ "github.com/joiner-sh/joiner/shared/core/pack/newnodes"`},
		"a decision that uses its neighbour": {"shared/core/drain/x.go", `package drain; import _ "github.com/joiner-sh/joiner/shared/core/pack"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), c.path, c.source, 0)
			if err != nil {
				t.Fatal(err)
			}
			f := floorOf(c.path)
			if f == nil || len(f.check(c.path, file)) == 0 {
				t.Errorf("nothing objects to %s", c.source)
			}
		})
	}
}
