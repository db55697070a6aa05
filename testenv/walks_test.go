package testenv

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	walksPage    = "docs/architecture/walks.md"
	mostFiles    = 12 // of a walk
	mostReturns  = 2  // to a file that the walk has left
	fewestOfWalk = 4  // steps, or the table was not understood
)

// walkStep is a row of a walk: a file of the repository, and the function or method in it.
type walkStep struct{ file, function string }

var walkRow = regexp.MustCompile("^\\| `([^`]+\\.go)` \\| `([^`]+)` \\|")

// walksOf are the tables of a page whose rows begin with a file and a function, by the heading they stand under.
func walksOf(page string) map[string][]walkStep {
	out, heading := map[string][]walkStep{}, ""
	for line := range strings.Lines(page) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			heading = strings.TrimSpace(title)
		}
		if found := walkRow.FindStringSubmatch(line); found != nil {
			out[heading] = append(out[heading], walkStep{found[1], found[2]})
		}
	}
	return out
}

// problemsOf returns a sentence for each way in which a walk cannot be followed. read returns the text of a file.
func problemsOf(walk []walkStep, read func(file string) ([]byte, error)) []string {
	var out, files []string
	left := map[string]int{}
	for i, step := range walk {
		if i > 0 && walk[i-1].file != step.file && slices.Contains(files, step.file) {
			if left[step.file]++; left[step.file] == mostReturns+1 {
				out = append(out, fmt.Sprintf("it comes back to %s more than %d times", step.file, mostReturns))
			}
		}
		if !slices.Contains(files, step.file) {
			files = append(files, step.file)
		}
		text, err := read(step.file)
		if errors.Is(err, fs.ErrNotExist) {
			out = append(out, "there is no "+step.file)
			continue
		}
		if err == nil {
			var has []string
			if has, err = functionsOf(step.file, text); err == nil && !slices.Contains(has, step.function) {
				out = append(out, fmt.Sprintf("%s has no %s: it has %s", step.file, step.function,
					strings.Join(has, ", ")))
			}
		}
		if err != nil {
			out = append(out, err.Error())
		}
	}
	if len(files) > mostFiles {
		out = append(out, fmt.Sprintf("it goes through %d files, and %d are enough", len(files), mostFiles))
	}
	return out
}

// functionsOf are the functions of a file and its methods, as Type.Method.
func functionsOf(name string, text []byte) ([]string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		switch {
		case !ok:
		case f.Recv == nil:
			out = append(out, f.Name.Name)
		default:
			of := f.Recv.List[0].Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if index, ok := of.(*ast.IndexExpr); ok {
				of = index.X
			}
			if id, ok := of.(*ast.Ident); ok {
				out = append(out, id.Name+"."+f.Name.Name)
			}
		}
	}
	return out, nil
}

// TestWalksNameWhatExists holds the page of walks through the code to files and functions that exist, and to few files.
func TestWalksNameWhatExists(t *testing.T) {
	text, err := os.ReadFile("../" + walksPage)
	if err != nil {
		t.Fatal(err)
	}
	walks := walksOf(string(text))
	if len(walks) != 4 {
		t.Errorf("%s has %d walks, and four flows are to be walked", walksPage, len(walks))
	}
	for heading, walk := range walks {
		if len(walk) < fewestOfWalk {
			t.Errorf("%s: only %d steps", heading, len(walk))
		}
		read := func(file string) ([]byte, error) { return os.ReadFile("../" + file) }
		for _, problem := range problemsOf(walk, read) {
			t.Errorf("%s: %s", heading, problem)
		}
	}
}

var namedPath = regexp.MustCompile("`((?:shared|functions|cmd|infra|testenv)/[^`]+)`")

// H15, and how much a change touches.
//
// TestRecipesNameWhatExists holds the page to paths that exist, and a recipe to five files.
func TestRecipesNameWhatExists(t *testing.T) {
	text, err := os.ReadFile("../" + walksPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range namedPath.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat("../" + found[1]); err != nil {
			t.Errorf("%s: %v", walksPage, err)
		}
	}
	_, recipes, _ := strings.Cut(string(text), "\n## How much a change touches\n")
	recipes, _, _ = strings.Cut(recipes, "\n## ")
	all := strings.Split(recipes, "\n### ")[1:]
	for _, recipe := range all {
		title, _, _ := strings.Cut(recipe, "\n")
		n := len(regexp.MustCompile("(?m)^\\d\\. `").FindAllString(recipe, -1))
		if n < 3 || n > 5 {
			t.Errorf("%s: %d files, want 3 to 5", title, n)
		}
	}
	if len(all) != 4 {
		t.Errorf("%d recipes, and four changes have one", len(all))
	}
}

// TestWalksRefuse proves the net: each of these walks must be caught, and the first one not.
func TestWalksRefuse(t *testing.T) {
	files := map[string]string{
		"a.go": "package a\n\nfunc (b *box[T]) Open() {}\n\nfunc Close() {}\n",
		"b.go": "package a\n\nfunc (b box) Shut() {}\n",
	}
	many := ""
	for i := range mostFiles {
		files[fmt.Sprintf("c%d.go", i)] = "package a\n\nfunc c() {}\n"
		many += fmt.Sprintf("| `c%d.go` | `c` | x |\n", i)
	}
	read := func(file string) ([]byte, error) {
		if text, ok := files[file]; ok {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}
	there, back := "| `a.go` | `box.Open` | opens |\n", "| `b.go` | `box.Shut` | shuts |\n"
	for table, want := range map[string]string{
		there + there + back + "| `a.go` | `Close` | closes |\n" + back: "",
		"| `a.go` | `box.Shut` | shuts |\n":                             "a.go has no box.Shut",
		"| `d.go` | `Open` | opens |\n":                                 "there is no d.go",
		there + back + there + back + there + back + there:              "it comes back to a.go more than",
		there + many: "it goes through 13 files",
	} {
		problems := problemsOf(walksOf("## x\n" + table)["x"], read)
		one := len(problems) == 1 && strings.HasPrefix(problems[0], want)
		if want == "" && len(problems) > 0 || want != "" && !one {
			t.Errorf("%s has the problems %q, want %q", table, problems, want)
		}
	}
}
