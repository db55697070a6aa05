package testenv

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// retiredName is one word that names are not to have as a part.
type retiredName struct {
	word, allowed *regexp.Regexp // allowed may be nil
	instead       string
	tests         bool // names of test functions may have it
}

func retiredNames(t *testing.T) []retiredName {
	t.Helper()
	var out []retiredName
	for _, row := range readCSV(t, "retirednames.csv", "word", "write", "tests", "allowed") {
		one := retiredName{instead: row[1], tests: row[2] == "yes"}
		var err error
		if one.word, err = regexp.Compile("^(" + row[0] + ")$"); err != nil || row[0] == "" || row[1] == "" || row[2] != "yes" && row[2] != "no" {
			t.Fatalf("retirednames.csv: %v: %v: it needs a word, what to write instead, and yes or no for names of tests", row, err)
		}
		if row[3] != "" {
			if one.allowed, err = regexp.Compile(row[3]); err != nil {
				t.Fatalf("retirednames.csv: %v: %v", row, err)
			}
		}
		out = append(out, one)
	}
	return out
}

// parts splits a name into its words, in small letters: ParseURLs has parse and urls.
func parts(name string) []string {
	var out []string
	runes, start := []rune(name), 0
	for i := range runes {
		next := i+1 < len(runes)
		switch {
		case i == start:
			continue
		case !unicode.IsLetter(runes[i]), !unicode.IsLetter(runes[i-1]):
		case unicode.IsUpper(runes[i]) && unicode.IsLower(runes[i-1]):
		case unicode.IsUpper(runes[i]) && next && unicode.IsLower(runes[i+1]) && !plural(runes[i+1:]):
		default:
			continue
		}
		out, start = append(out, strings.ToLower(string(runes[start:i]))), i
	}
	return append(out, strings.ToLower(string(runes[start:])))
}

// plural reports whether an s ends a word in capitals.
func plural(rest []rune) bool { return rest[0] == 's' && (len(rest) == 1 || unicode.IsUpper(rest[1])) }

// refuses returns what to write instead of a name that is declared in a folder, and "" where it may stay.
func (r *retiredName) refuses(folder, name string, test bool) string {
	if test && r.tests || r.allowed != nil && r.allowed.MatchString(folder+"."+name) {
		return ""
	}
	for _, part := range parts(name) {
		if r.word.MatchString(part) {
			return r.instead
		}
	}
	return ""
}

// declared calls found with each name that a file declares. test is set for functions that go test calls.
func declared(file *ast.File, found func(name *ast.Ident, test bool)) {
	test := regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)([^a-z]|$)`)
	ids := func(list ...ast.Expr) {
		for _, e := range list {
			if id, ok := e.(*ast.Ident); ok {
				found(id, false)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncDecl:
			found(n.Name, n.Recv == nil && test.MatchString(n.Name.Name))
		case *ast.TypeSpec:
			found(n.Name, false)
		case *ast.ValueSpec:
			for _, name := range n.Names {
				found(name, false)
			}
		case *ast.Field:
			for _, name := range n.Names {
				found(name, false)
			}
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				ids(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				ids(n.Key, n.Value)
			}
		case *ast.LabeledStmt:
			found(n.Label, false)
		case *ast.ImportSpec:
			if n.Name != nil {
				found(n.Name, false)
			}
		}
		return true
	})
}

// TestV11RetiredNamesOnlyGetFewer counts names with retired words in the Go code of every folder, and compares with
// retirednamecounts.csv: there may be fewer, and never more.
//
//	go test ./testenv -run TestV11RetiredNames -lower-retired
//
// writes lower counts down.
func TestV11RetiredNamesOnlyGetFewer(t *testing.T) {
	names, allowed := retiredNames(t), readCounts(t, "retirednamecounts.csv")
	places, seen, total := map[string][]string{}, map[[2]string]bool{}, 0
	ownFiles(t, func(file, short string) error {
		if !strings.HasSuffix(short, ".go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil || bytes.Contains(text[:min(len(text), 600)], []byte("// Code generated")) {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(short)
		note := func(where, name string, test bool) {
			if seen[[2]string{folder, name}] {
				return
			}
			seen[[2]string{folder, name}] = true
			total++
			for i := range names {
				if instead := names[i].refuses(folder, name, test); instead != "" {
					places[folder] = append(places[folder], fmt.Sprintf("%s: %s: write %s", where, name, instead))
				}
			}
		}
		note(short, strings.TrimSuffix(path.Base(short), ".go"), false)
		note(short, parsed.Name.Name, false)
		declared(parsed, func(id *ast.Ident, test bool) {
			note(fmt.Sprintf("%s:%d", short, set.Position(id.Pos()).Line), id.Name, test)
		})
		return nil
	})
	if total < 10_000 {
		t.Fatalf("only %d names were read", total)
	}
	found := map[string]int{}
	for _, folder := range slices.Sorted(maps.Keys(places)) {
		found[folder] = len(places[folder])
		if len(places[folder]) > allowed[folder] && !*lowerRetired {
			t.Errorf("%s has %d names with retired words and may have %d:\n\t%s", folder, len(places[folder]), allowed[folder], strings.Join(places[folder], "\n\t"))
		}
	}
	if *lowerRetired {
		lower(t, "retirednamecounts.csv", "How many names with retired words (retirednames.csv) a folder", allowed, found)
	}
}

// TestV11RetiredNamesAreFound tries the words, the exceptions, and how names are split.
func TestV11RetiredNamesAreFound(t *testing.T) {
	names := retiredNames(t)
	source := `package desk
type Machines struct{ theOffer, reordering int }
func TestNobodyIsTold(dearest int) {
	for told, labelled := range map[int]int{} { _, _ = told, labelled }
looking:
	for { break looking }
	dryRun, town := 0, 0
	_, _ = dryRun, town
}`
	file, err := parser.ParseFile(token.NewFileSet(), "x.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	note := func(name string, test bool) {
		for i := range names {
			if names[i].refuses("shared/x", name, test) != "" {
				got = append(got, name)
			}
		}
	}
	note(file.Name.Name, false)
	declared(file, func(id *ast.Ident, test bool) { note(id.Name, test) })
	if want := []string{"desk", "Machines", "theOffer", "dearest", "told", "labelled", "town"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	for name, want := range map[string]string{"parseURLsOf": "parse urls of", "HTTPServer2Judge": "http server 2 judge", "Is_Told": "is _ told", "x": "x"} {
		if got := strings.Join(parts(name), " "); got != want {
			t.Errorf("%s has the parts %q, want %q", name, got, want)
		}
	}
}
