package testenv

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// named is what the files of one package that ships declare.
type named struct {
	name    string
	top     map[string]bool            // functions, types, variables and constants
	members map[string]bool            // methods and fields of its types
	fields  map[string]map[string]bool // by struct
	about   map[string]string          // its package comments, by file
}

// packagesNamed returns the packages of some parsed files, by folder, and the names that imports from elsewhere have.
func packagesNamed(files map[string]*ast.File) (map[string]*named, map[string]bool) {
	out, foreign := map[string]*named{}, map[string]bool{}
	for file, parsed := range files {
		p := out[path.Dir(file)]
		if p == nil {
			p = &named{parsed.Name.Name, map[string]bool{}, map[string]bool{}, map[string]map[string]bool{}, map[string]string{}}
			out[path.Dir(file)] = p
		}
		if parsed.Doc != nil {
			p.about[file] = parsed.Doc.Text()
		}
		for _, i := range parsed.Imports {
			if from, err := strconv.Unquote(i.Path.Value); err == nil && !strings.HasPrefix(from, module) {
				if foreign[path.Base(from)] = true; i.Name != nil {
					foreign[i.Name.Name] = true
				}
			}
		}
		for _, d := range parsed.Decls {
			p.add(d)
		}
	}
	return out, foreign
}

func (p *named) add(d ast.Decl) {
	if f, ok := d.(*ast.FuncDecl); ok {
		if f.Recv != nil {
			p.members[f.Name.Name] = true
		} else {
			p.top[f.Name.Name] = true
		}
		return
	}
	for _, spec := range d.(*ast.GenDecl).Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			for _, id := range s.Names {
				p.top[id.Name] = true
			}
		case *ast.TypeSpec:
			p.top[s.Name.Name] = true
			of := map[string]bool{}
			if _, ok := s.Type.(*ast.StructType); ok { // else fields are those of another type
				p.fields[s.Name.Name] = of
			}
			ast.Inspect(s.Type, func(n ast.Node) bool {
				field, ok := n.(*ast.Field)
				if !ok {
					return true
				}
				ids := field.Names
				if len(ids) == 0 { // embedded
					ids = []*ast.Ident{embedded(field.Type)}
				}
				for _, id := range ids {
					p.members[id.Name], of[id.Name] = true, true
				}
				return true
			})
		}
	}
}

// embedded returns the name that an embedded field has by its type.
func embedded(of ast.Expr) *ast.Ident {
	switch t := of.(type) {
	case *ast.Ident:
		return t
	case *ast.StarExpr:
		return embedded(t.X)
	case *ast.SelectorExpr:
		return t.Sel
	}
	return ast.NewIdent("_")
}

var (
	docLink  = regexp.MustCompile(`\[\*?([A-Z]\w*)(?:\.([A-Z]\w*))?\]`)
	quoted   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	selector = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`)
	literals = regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)\{`)
	keyOf    = regexp.MustCompile(`^[{, ]([A-Z]\w*):`)
)

// absent returns what the package comments of a folder name and nothing declares: links to names of the package, and, in examples of code, names
// of the packages that ship, methods, and fields of struct literals. What packages from elsewhere declare is not looked at.
func absent(folder string, all map[string]*named, foreign map[string]bool) []string {
	var out []string
	p := all[folder]
	own := map[string][]*named{} // by name
	for _, other := range all {
		own[other.name] = append(own[other.name], other)
	}
	declared := func(base, name string) bool {
		if p.members[name] {
			return true
		}
		if list := own[base]; len(list) > 0 {
			return slices.ContainsFunc(list, func(o *named) bool { return o.top[name] })
		}
		if foreign[base] {
			return true
		}
		for _, other := range all { // base is a variable of some type
			if other.members[name] {
				return true
			}
		}
		return false
	}
	for file, text := range p.about {
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.HasPrefix(line, "\t") {
				for _, m := range docLink.FindAllStringSubmatch(line, -1) {
					if !p.top[m[1]] || m[2] != "" && !p.members[m[2]] {
						out = append(out, fmt.Sprintf("%s: the package has no %s", file, m[0]))
					}
				}
				continue
			}
			code, _, _ := strings.Cut(quoted.ReplaceAllString(line, `""`), " // ")
			for _, m := range selector.FindAllStringSubmatch(code, -1) {
				if !declared(m[1], m[2]) {
					out = append(out, fmt.Sprintf("%s: nothing is %s, in: %s", file, m[0], strings.TrimSpace(line)))
				}
			}
			for _, at := range literals.FindAllStringSubmatchIndex(code, -1) {
				for _, o := range own[code[at[2]:at[3]]] {
					name := code[at[4]:at[5]]
					if o.fields[name] == nil {
						continue
					}
					for _, key := range keys(code[at[1]-1:]) {
						if !o.fields[name][key] {
							out = append(out, fmt.Sprintf("%s: %s.%s has no field %s", file, o.name, name, key))
						}
					}
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// keys returns the keys of the struct literal that the text begins with, without those of literals in it.
func keys(text string) []string {
	var out []string
	depth := 0
	for i := range text {
		if i == 0 || depth == 1 && text[i] != '{' {
			if m := keyOf.FindStringSubmatch(text[i:]); m != nil {
				out = append(out, m[1])
			}
		}
		switch text[i] {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			if depth--; depth == 0 {
				return out
			}
		}
	}
	return out
}

// TestV1ExamplesNameWhatExists holds package comments to the names that there are: a reader starts there, and a rename does not change comments.
func TestV1ExamplesNameWhatExists(t *testing.T) {
	files := map[string]*ast.File{}
	ownFiles(t, func(file, short string) error {
		top, _, _ := strings.Cut(short, "/")
		if !slices.Contains([]string{"shared", "functions", "cmd", "infra", "tools"}, top) || !strings.HasSuffix(short, ".go") || strings.HasSuffix(short, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		files[short] = parsed
		return err
	})
	all, foreign := packagesNamed(files)
	if len(all) < 50 {
		t.Fatalf("only %d packages were read", len(all))
	}
	for folder := range all {
		if all[folder].name == "main" {
			continue // their comments have commands and variables of the environment
		}
		for _, what := range absent(folder, all, foreign) {
			t.Error(what)
		}
	}
}

// TestV1AbsentNamesAreFound tries each kind of name, and what is not looked at.
func TestV1AbsentNamesAreFound(t *testing.T) {
	files := map[string]*ast.File{}
	for file, source := range map[string]string{
		"shared/a/doc.go": "// Package a has [Do], [Thing.Run] and [Gone]; see [Thing.Left].\n//\n//\tt := a.New(b.Options{Size: 1, Inner: b.Inner{Deep: 2}, Extra: 3})\n" +
			"//\tfmt.Println(a.Old(\"a.NotCode\"), t.Run(), t.Halt()) // a.Remark\npackage a\n\nimport \"fmt\"\n\ntype Thing struct{ Field int }\n\nfunc (Thing) Run() { fmt.Println() }\nfunc Do() {}\nfunc New() {}\n",
		"shared/b/b.go": "package b\n\ntype Options struct {\n\tSize int\n\tInner\n}\ntype Inner struct{ Deep int }\n",
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[file] = parsed
	}
	all, foreign := packagesNamed(files)
	got := strings.Join(absent("shared/a", all, foreign), "\n")
	for _, want := range []string{"[Gone]", "[Thing.Left]", "b.Options has no field Extra", "nothing is a.Old", "nothing is t.Halt"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not found in:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 5 {
		t.Errorf("%d names are absent, not 5:\n%s", n, got)
	}
}
