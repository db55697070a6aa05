package testenv

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// literal is a text in quotes of a Go file.
type literal struct {
	file, text string
	line       int
}

// texts are the string literals of the repository's Go code that people may read, by folder: neither those of testenv and of tests, nor
// those of generated files, struct tags and import paths.
func texts(t *testing.T) map[string][]literal {
	t.Helper()
	out := map[string][]literal{}
	ownFiles(t, func(file, short string) error {
		if !strings.HasSuffix(short, ".go") || strings.HasSuffix(short, "_test.go") || strings.HasPrefix(short, "testenv/") {
			return nil
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(parsed) {
			return err
		}
		under := path.Dir(short)
		found, err := literalsOf(set, parsed, short)
		out[under] = append(out[under], found...)
		return err
	})
	return out
}

func literalsOf(set *token.FileSet, parsed *ast.File, short string) (out []literal, err error) {
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil // JSON members and variables keep their names
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return true
			}
			text, bad := strconv.Unquote(n.Value)
			if bad != nil {
				err = fmt.Errorf("%s: %w", set.Position(n.Pos()), bad)
			}
			out = append(out, literal{short, text, set.Position(n.Pos()).Line})
		}
		return true
	})
	return out, err
}

// keptTexts are texts that may have a retired phrase, by folder, each with a reason in retiredtexts.csv.
func keptTexts(t *testing.T) map[[2]string]bool {
	t.Helper()
	out := map[[2]string]bool{}
	for _, row := range readCSV(t, "retiredtexts.csv", "where", "text", "reason") {
		if row[2] == "" || out[[2]string{row[0], row[1]}] {
			t.Errorf("retiredtexts.csv: %v has no reason, or is there twice", row)
		}
		out[[2]string{row[0], row[1]}] = true
	}
	return out
}

// retiredIn returns where texts have a retired phrase, one line for each place. What is kept is left out, and taken from unused.
func retiredIn(list []literal, phrases []retired, kept, unused map[[2]string]bool) []string {
	var places []string
	for _, l := range list {
		key := [2]string{path.Dir(l.file), l.text}
		for i := range phrases {
			for _, at := range phrases[i].in(l.text) {
				if kept[key] {
					delete(unused, key)
					continue
				}
				line := l.line + strings.Count(l.text[:at], "\n")
				places = append(places, fmt.Sprintf("%s:%d: %q: write %s", l.file, line, phrases[i].phrase.FindString(l.text[at:]), phrases[i].instead))
			}
		}
	}
	return places
}

// TestV127RetiredPhrasesOfTextsOnlyGetFewer counts retired phrases in the string literals of every folder outside of testenv: help and
// output of the command line, errors, events, conditions, log messages, alarms and dashboards. There may be fewer than in
// retiredtextcounts.csv, and never more; retiredtexts.csv has texts that stay, with the reason.
//
//	go test ./testenv -run TestV127Retired -lower-retired
//
// writes lower counts down.
func TestV127RetiredPhrasesOfTextsOnlyGetFewer(t *testing.T) {
	phrases, allowed, kept := retiredPhrases(t), readCounts(t, "retiredtextcounts.csv"), keptTexts(t)
	unused, found, total := maps.Clone(kept), map[string]int{}, 0
	for under, list := range texts(t) {
		total += len(list)
		places := retiredIn(list, phrases, kept, unused)
		if found[under] = len(places); len(places) > allowed[under] && !*lowerRetired {
			t.Errorf("texts of %s have %d retired phrases and may have %d:\n\t%s", under, len(places), allowed[under], strings.Join(places, "\n\t"))
		}
	}
	if total < 5000 {
		t.Errorf("only %d texts were read", total)
	}
	for key := range unused {
		t.Errorf("retiredtexts.csv: no text of %s with a retired phrase is %q", key[0], key[1])
	}
	if *lowerRetired {
		lower(t, "retiredtextcounts.csv", "How many retired phrases (retired.csv) the string literals of a folder", allowed, found)
	}
}

// TestV127RetiredPhrasesOfTextsAreFound tries what counts as a text, and what does not.
func TestV127RetiredPhrasesOfTextsAreFound(t *testing.T) {
	const source = "package x\n\nimport _ \"the/judge\"\n\ntype a struct {\n\tB int `json:\"machines\"`\n}\n\n" +
		"var c = \"take the judge's lease\" // a machine\n\nconst d = `\nGive no node back\nby choice`\n"
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "f/x.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	list, err := literalsOf(set, parsed, "f/x.go")
	if err != nil {
		t.Fatal(err)
	}
	got := retiredIn(list, retiredPhrases(t), nil, nil)
	slices.Sort(got)
	if len(got) != 3 || !strings.HasPrefix(got[0], "f/x.go:12:") || !strings.HasPrefix(got[1], "f/x.go:13:") || !strings.HasPrefix(got[2], "f/x.go:9:") {
		t.Errorf("%d places: %s", len(got), strings.Join(got, "\n"))
	}
	unused := map[[2]string]bool{{"f", "take the judge's lease"}: true}
	if got := retiredIn(list, retiredPhrases(t), maps.Clone(unused), unused); len(got) != 2 || len(unused) != 0 {
		t.Errorf("with one kept: %v, %v", got, unused)
	}
}

var (
	pageLiteral = regexp.MustCompile("'(?:[^'\\\\\n]|\\\\.)*'|\"(?:[^\"\\\\\n]|\\\\.)*\"|`(?:[^`\\\\]|\\\\.)*`")
	pageInset   = regexp.MustCompile(`\$\{[^}]*\}`)
	pageMarkup  = regexp.MustCompile(`>[^<>{}=;()]*[A-Za-z][^<>{}=;()]*[<{]`)
	pageRemark  = regexp.MustCompile(`(?m)(?:^|\s)//.*$`)
)

// textsOfPage are what people read of a source of the page of `joiner console`: literals without what is put into them, text in markup, and comments.
func textsOfPage(file, source string) []literal {
	var out []literal
	for _, kind := range []*regexp.Regexp{pageLiteral, pageMarkup, pageRemark} {
		for _, at := range kind.FindAllStringIndex(source, -1) {
			out = append(out, literal{file, pageInset.ReplaceAllString(source[at[0]:at[1]], ""), strings.Count(source[:at[0]], "\n") + 1})
		}
	}
	return out
}

// TestV134TextsOfThePageHaveNoRetiredPhrases holds the page of `joiner console` to the words of all other texts.
func TestV134TextsOfThePageHaveNoRetiredPhrases(t *testing.T) {
	phrases, read := retiredPhrases(t), 0
	ownFiles(t, func(file, short string) error {
		if !strings.HasPrefix(short, "cmd/joiner/console/ui/") || !slices.Contains([]string{".ts", ".tsx", ".mjs", ".html", ".css"}, path.Ext(short)) {
			return nil
		}
		source, err := os.ReadFile(file)
		list := textsOfPage(short, string(source))
		read += len(list)
		for _, place := range retiredIn(list, phrases, nil, nil) {
			t.Error(place)
		}
		return err
	})
	if read < 500 {
		t.Errorf("only %d texts of the page were read", read)
	}
	example := "const a = x ? 'cheap' : `dear ${r.machines}` // a colour\nreturn <p class=\"a\">The judge {d.machines}</p>\n"
	if got := retiredIn(textsOfPage("f/x.tsx", example), phrases, nil, nil); len(got) != 3 {
		t.Errorf("of dear, colour and the judge %d were found: %s", len(got), strings.Join(got, "\n"))
	}
}
