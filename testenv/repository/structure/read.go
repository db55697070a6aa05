package structure

import (
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Read reads the Go code below root, with all modules there.
func Read(root string) (*Tree, error) {
	build.Default.CgoEnabled = false // or the importer of source runs cgo
	if build.Default.GOROOT == "" {  // a program that was built with -trimpath does not know it
		root, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, fmt.Errorf("find the standard library: %w", err)
		}
		build.Default.GOROOT = strings.TrimSpace(string(root))
	}
	set := token.NewFileSet()
	tree := &Tree{set: set, byImport: map[string]*Package{}, standard: importer.ForCompiler(set, "source", nil)}
	modules := map[string]string{} // import path by folder
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		short = filepath.ToSlash(short)
		if !entry.IsDir() {
			return nil
		}
		if short != "." && leftOut(short) {
			return filepath.SkipDir
		}
		at, err := importPath(file, short, modules)
		if err != nil {
			return err
		}
		return tree.readFolder(file, short, at)
	})
	if err != nil {
		return nil, err
	}
	for _, p := range tree.Packages {
		tree.check(p)
		p.Circle = p.circle(set)
		for _, imported := range p.imports() {
			if other := tree.byImport[imported]; other != nil {
				p.Imports = append(p.Imports, other.Folder)
			}
		}
	}
	return tree, nil
}

func leftOut(folder string) bool {
	name := path.Base(folder)
	return name == "node_modules" || name == "testdata" || name == "cdk.out" || strings.HasPrefix(name, ".") ||
		folder == "bin" || folder == "dist"
}

// importPath returns the import path of a folder, and notes it in modules, which has those of the folders above.
func importPath(folder, short string, modules map[string]string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		modules[short] = path.Join(modules[path.Dir(short)], path.Base(short))
	case err != nil:
		return "", err
	default:
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(line, "module "); ok {
				modules[short] = strings.TrimSpace(name)
			}
		}
	}
	return modules[short], nil
}

func (t *Tree) readFolder(folder, short, at string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	p := &Package{Folder: short, path: at}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		mode := parser.ParseComments | parser.SkipObjectResolution
		syntax, err := parser.ParseFile(t.set, filepath.Join(folder, name), text, mode)
		if err != nil {
			return err
		}
		if ast.IsGenerated(syntax) {
			continue
		}
		lines, long := measureLines(path.Join(short, name), text)
		if strings.HasSuffix(name, "_test.go") {
			p.LongTestLines = append(p.LongTestLines, long...)
			continue
		}
		matches, err := build.Default.MatchFile(folder, name)
		if err != nil {
			return err
		}
		p.LongLines = append(p.LongLines, long...)
		p.Files = append(p.Files, &File{Name: name, Lines: lines, text: text, syntax: syntax, ignored: !matches})
	}
	if len(p.Files) > 0 || len(p.LongTestLines) > 0 {
		t.Packages = append(t.Packages, p)
		t.byImport[at] = p
	}
	return nil
}

// measureLines counts lines, and returns the places of those that are too long, where a tab goes to the next multiple
// of four.
func measureLines(file string, text []byte) (lines int, long []string) {
	for line := range strings.Lines(string(text)) {
		lines++
		width := 0
		for _, r := range strings.TrimRight(line, "\r\n") {
			if r == '\t' {
				width += 4 - width%4
			} else {
				width++
			}
		}
		if width > MaxColumns {
			long = append(long, fmt.Sprintf("%s:%d", file, lines))
		}
	}
	return lines, long
}

// imports are the import paths of all files, in order.
func (p *Package) imports() []string {
	var out []string
	for _, file := range p.Files {
		for _, spec := range file.syntax.Imports {
			out = append(out, strings.Trim(spec.Path.Value, `"`))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// check finds what each name of a package stands for, as far as its source says.
func (t *Tree) check(p *Package) *types.Package {
	if p.info != nil {
		return p.checked
	}
	p.info = &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	var files []*ast.File
	for _, file := range p.Files {
		if !file.ignored {
			files = append(files, file.syntax)
		}
	}
	config := types.Config{Importer: source{t}, Error: func(error) {}} // what other modules declare is unknown
	p.checked, _ = config.Check(p.path, t.set, files, p.info)
	return p.checked
}

// source imports packages of the repository and of the standard library.
type source struct{ tree *Tree }

// Import returns an error for packages of other modules, which the type checker then takes for packages whose names are
// unknown.
func (s source) Import(at string) (*types.Package, error) {
	if p := s.tree.byImport[at]; p != nil {
		if checked := s.tree.check(p); checked != nil {
			return checked, nil
		}
		return nil, fmt.Errorf("%s imports itself", at)
	}
	if first, _, _ := strings.Cut(at, "/"); strings.Contains(first, ".") {
		return nil, fmt.Errorf("%s is of another module", at)
	}
	return s.tree.standard.Import(at)
}
