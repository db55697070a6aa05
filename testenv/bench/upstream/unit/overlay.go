package unit

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// seamPath is where package seam is in Karpenter's module.
const seamPath = "pkg/joiner"

// method is one, or a function where it has no receiver.
type method struct{ receiver, name string }

// replaced are methods of Karpenter's whose place some of ours take. Theirs stay, by other names.
type replaced struct {
	file    string
	methods []method
	ours    string // a file of overlay/ that has one of that name, in the same package
}

// replacements are those of a run; quick: objects are in memory, not in an API server.
func replacements(quick bool) []replaced {
	all := []replaced{
		{"pkg/controllers/provisioning/provisioner.go", []method{{"Provisioner", "Schedule"}}, "provisioning.go"},
		{"pkg/controllers/disruption/controller.go", []method{{"Controller", "disrupt"}}, "disruption.go"},
		{"pkg/controllers/nodeoverlay/controller.go", []method{{"Controller", "Reconcile"}}, "nodeoverlay.go"},
	}
	if quick {
		all = append(all, replaced{"pkg/test/environment.go", []method{{"", "NewEnvironment"}, {"Environment", "Stop"}}, "environment.go"})
	}
	return all
}

// overlay writes, below folder, what `go build -overlay` takes to compile Karpenter's tree with Joiner in its planner's place, and returns
// its path. Replaced are the files with the methods of replacements, each but for a name, and added are package seam and the methods
// of ours. No file of a spec is among them.
func overlay(home, tree, folder string, quick bool) (string, error) {
	files, err := definitions(home, tree)
	if err != nil {
		return "", err
	}
	add := func(below, text string) error {
		path := filepath.Join(folder, strings.ReplaceAll(below, "/", "_"))
		files[filepath.Join(tree, filepath.FromSlash(below))] = path
		return os.WriteFile(path, []byte(text), 0o644)
	}
	for _, r := range replacements(quick) {
		text, err := os.ReadFile(filepath.Join(tree, filepath.FromSlash(r.file)))
		if err != nil {
			return "", err
		}
		for _, m := range r.methods {
			if text, err = rename(text, m); err != nil {
				return "", fmt.Errorf("%s: %w", r.file, err)
			}
		}
		if err := add(r.file, string(text)); err != nil {
			return "", err
		}
		ours, err := os.ReadFile(filepath.Join(home, "unit", "overlay", r.ours))
		if err != nil {
			return "", err
		}
		if err := add(filepath.ToSlash(filepath.Join(filepath.Dir(r.file), "joiner_"+r.ours)), strings.TrimPrefix(string(ours), "//go:build ignore\n")); err != nil {
			return "", err
		}
	}
	seam, err := filepath.Glob(filepath.Join(home, "unit", "seam", "*.go"))
	if err != nil {
		return "", err
	}
	for _, path := range seam {
		if !strings.HasSuffix(path, "_test.go") {
			files[filepath.Join(tree, filepath.FromSlash(seamPath), filepath.Base(path))] = path
		}
	}
	return writeOverlay(folder, files)
}

// definitions returns which files of Joiner's take the place of the CustomResourceDefinitions in a module's tree.
func definitions(home, tree string) (map[string]string, error) {
	files := map[string]string{}
	theirs, err := filepath.Glob(filepath.Join(tree, "pkg", "apis", "crds", "*.yaml"))
	if err != nil || len(theirs) == 0 {
		return nil, fmt.Errorf("%s has no definitions in pkg/apis/crds: %v", tree, err)
	}
	for _, path := range theirs {
		ours := filepath.Join(home, "..", "..", "..", "shared", "api", "crds", filepath.Base(path))
		if _, err := os.Stat(ours); err != nil {
			return nil, err
		}
		files[path] = ours
	}
	return files, nil
}

// writeOverlay writes what `go build -overlay` takes, and returns its path.
func writeOverlay(folder string, files map[string]string) (string, error) {
	text, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, "overlay.json")
	return path, os.WriteFile(path, text, 0o644)
}

// rename gives a method another name where it is declared, and nowhere else: who calls it calls ours.
func rename(text []byte, m method) ([]byte, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != m.name || receiver(f) != m.receiver {
			continue
		}
		at := set.Position(f.Name.Pos()).Offset
		out := append([]byte{}, text[:at]...)
		out = append(out, "karpenters"+m.name...)
		return append(out, text[at+len(m.name):]...), nil
	}
	return nil, fmt.Errorf("no method %s of %q", m.name, m.receiver)
}

// receiver returns the name of the type a method is of, "" of a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) != 1 {
		return ""
	}
	of := f.Recv.List[0].Type
	if manifest, ok := of.(*ast.StarExpr); ok {
		of = manifest.X
	}
	name, _ := of.(*ast.Ident)
	if name == nil {
		return "?"
	}
	return name.Name
}
