package structure

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Type is a type with its methods.
type Type struct {
	Name    string
	Methods int
}

// Types are the types of the package that have methods, those with most first.
func (p *Package) Types() []Type {
	methods := map[string]int{}
	p.functions(func(_ *File, f *ast.FuncDecl) {
		if name := receiver(f); name != "" {
			methods[name]++
		}
	})
	var out []Type
	for name, n := range methods {
		out = append(out, Type{name, n})
	}
	slices.SortFunc(out, func(a, b Type) int {
		return cmp.Or(cmp.Compare(b.Methods, a.Methods), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// receiver is the name of the type that a function is a method of, and "".
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	expr := f.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

func (p *Package) functions(visit func(*File, *ast.FuncDecl)) {
	for _, file := range p.Files {
		for _, decl := range file.syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok {
				visit(file, f)
			}
		}
	}
}

// Lines are the lines of all files.
func (p *Package) Lines() int {
	n := 0
	for _, file := range p.Files {
		n += file.Lines
	}
	return n
}

// Ports are the names of the interfaces that the package declares.
func (p *Package) Ports() []string {
	var out []string
	for _, file := range p.Files {
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if _, is := spec.Type.(*ast.InterfaceType); is {
					out = append(out, spec.Name.Name)
				}
			}
			return true
		})
	}
	return out
}

// circle finds the largest set of files each of which refers to each other one, directly or through others: nil where
// no two do. A file refers to the one that declares a constant, variable, type, function or method that it names.
func (p *Package) circle(set *token.FileSet) []string {
	refers := map[string]map[string]bool{}
	for _, file := range p.Files {
		refers[file.Name] = map[string]bool{}
	}
	for id, object := range p.info.Uses {
		if declared := p.declares(object); declared != nil {
			from, to := set.File(id.Pos()).Name(), set.File(declared.Pos()).Name()
			if from != to {
				refers[filepath.Base(from)][filepath.Base(to)] = true
			}
		}
	}
	return largestCircle(refers)
}

// declares returns the constant, variable, type, function or method of the package's top level that an object is, and
// nil.
func (p *Package) declares(object types.Object) types.Object {
	if object.Pkg() != p.checked {
		return nil
	}
	if f, ok := object.(*types.Func); ok {
		if f.Origin().Signature().Recv() == nil && f.Parent() != p.checked.Scope() {
			return nil
		}
		return f.Origin()
	}
	if object.Parent() != p.checked.Scope() {
		return nil
	}
	return object
}

// largestCircle finds the largest strongly connected part with more than one member, by Tarjan's algorithm; of two as
// large, the first by name.
func largestCircle(refers map[string]map[string]bool) []string {
	var best, stack []string
	index, low, open := map[string]int{}, map[string]int{}, map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		index[name] = len(index) + 1
		low[name] = index[name]
		stack, open[name] = append(stack, name), true
		for _, next := range slices.Sorted(maps.Keys(refers[name])) {
			if index[next] == 0 {
				visit(next)
				low[name] = min(low[name], low[next])
			} else if open[next] {
				low[name] = min(low[name], index[next])
			}
		}
		if low[name] != index[name] {
			return
		}
		at := slices.Index(stack, name)
		circle := slices.Sorted(slices.Values(stack[at:]))
		stack = stack[:at]
		for _, member := range circle {
			open[member] = false
		}
		if len(circle) > max(len(best), 1) || len(circle) > 1 && len(circle) == len(best) && circle[0] < best[0] {
			best = circle
		}
	}
	for _, name := range slices.Sorted(maps.Keys(refers)) {
		if index[name] == 0 {
			visit(name)
		}
	}
	return best
}

// Function is a function or method with a body.
type Function struct {
	Name       string // with its receiver's type before it: solver.place
	Place      string // folder/file:line
	Lines      int    // of its body
	Cyclomatic int
	Cognitive  int
}

// Functions are the functions and methods of the package, file by file.
func (t *Tree) Functions(p *Package) []Function {
	var out []Function
	p.functions(func(file *File, f *ast.FuncDecl) {
		if f.Body == nil {
			return
		}
		name := f.Name.Name
		if of := receiver(f); of != "" {
			name = of + "." + name
		}
		first, last := t.set.Position(f.Body.Lbrace).Line, t.set.Position(f.Body.Rbrace).Line
		out = append(out, Function{
			Name:       name,
			Place:      t.place(p, f.Pos()),
			Lines:      max(last-first-1, 0),
			Cyclomatic: cyclomatic(f.Body),
			Cognitive:  cognitive(f),
		})
	})
	return out
}

func (t *Tree) place(p *Package, pos token.Pos) string {
	at := t.set.Position(pos)
	return fmt.Sprintf("%s:%d", path.Join(p.Folder, filepath.Base(at.Filename)), at.Line)
}

// Misnamed are the doc comments whose first word is another name than that of what they stand on: "place: name".
func (t *Tree) Misnamed(p *Package) []string {
	var out []string
	check := func(doc *ast.CommentGroup, name *ast.Ident) {
		if doc == nil || namedBy(doc.Text(), name.Name) {
			return
		}
		out = append(out, t.place(p, doc.Pos())+": "+name.Name)
	}
	for _, file := range p.Files {
		for _, decl := range file.syntax.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				check(d.Doc, d.Name)
			case *ast.GenDecl:
				group := d.Lparen.IsValid() // its comments may be headings
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						if group {
							check(s.Doc, s.Name)
						} else {
							check(d.Doc, s.Name)
						}
					case *ast.ValueSpec:
						if !group && len(s.Names) == 1 {
							check(d.Doc, s.Names[0])
						}
					}
				}
			}
		}
	}
	return out
}

// namedBy reports whether a doc comment begins with a name, or an article and the name.
func namedBy(doc, name string) bool {
	words := strings.Fields(doc)
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "Deprecated:" {
		return true
	}
	return strings.TrimSuffix(strings.TrimRight(words[0], ".,:;"), "'s") == name
}
