package testenv

import (
	"encoding/csv"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var lowerRetired = flag.Bool("lower-retired", false, "write retiredcounts.csv anew, where there are fewer retired phrases than it has")

// retired is one phrase that pages and comments are to lose.
type retired struct {
	phrase, allowed *regexp.Regexp // allowed may be nil
	instead         string
}

// in returns the places of a text, as byte offsets, where the phrase is.
func (r *retired) in(text string) []int {
	if r.allowed != nil {
		text = r.allowed.ReplaceAllStringFunc(text, func(is string) string { return strings.Repeat("\x00", len(is)) })
	}
	var out []int
	for _, at := range r.phrase.FindAllStringIndex(text, -1) {
		out = append(out, at[0])
	}
	return out
}

func readCSV(t *testing.T, file string, columns ...string) [][]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // read only
	reader := csv.NewReader(f)
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil || len(rows) == 0 || !slices.Equal(rows[0], columns) {
		t.Fatalf("%s: %v: it needs the columns %v", file, err, columns)
	}
	return rows[1:]
}

func retiredPhrases(t *testing.T) []retired {
	t.Helper()
	var out []retired
	for _, row := range readCSV(t, "retired.csv", "phrase", "write", "allowed") {
		one := retired{instead: row[1]}
		for text, into := range map[string]**regexp.Regexp{row[0]: &one.phrase, row[2]: &one.allowed} {
			if text == "" {
				continue
			}
			compiled, err := regexp.Compile("(?i)" + text)
			if err != nil {
				t.Fatalf("retired.csv: %s: %v", text, err)
			}
			*into = compiled
		}
		if one.phrase == nil || one.instead == "" {
			t.Fatalf("retired.csv: %v lacks a phrase or what to write instead", row)
		}
		out = append(out, one)
	}
	return out
}

var (
	spanOfCode   = regexp.MustCompile("`[^`\n]*`")
	targetOfLink = regexp.MustCompile(`\]\([^)\s]*\)|<[^>\n]*>`)
)

// prose is a page without its code and without the targets of its links, line by line.
func prose(text string) string {
	var out []string
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```") && fence == "":
			fence, line = "```", ""
		case strings.HasPrefix(trimmed, "```"):
			fence, line = "", ""
		case fence != "":
			line = ""
		}
		out = append(out, targetOfLink.ReplaceAllString(spanOfCode.ReplaceAllString(line, "`"), "]"))
	}
	return strings.Join(out, "\n")
}

// ownFiles calls visit with the path of each file of the repository that is written by hand, from here and from the root. Others' data and
// what builds write are left out.
func ownFiles(t *testing.T, visit func(file, short string) error) {
	t.Helper()
	err := filepath.WalkDir("..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, short := entry.Name(), strings.TrimPrefix(filepath.ToSlash(file), "../")
		if !entry.IsDir() {
			return visit(file, short)
		}
		if name == "node_modules" || name == "testdata" || name == "cdk.out" || name != ".." && strings.HasPrefix(name, ".") || short == "dist" || short == "bin" {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// said are all texts of the repository that people read as prose, by what they are counted under: a page under its path, comments of Go files
// under their folder. Generated files and others' data are left out.
func said(t *testing.T) map[string]map[string]string {
	t.Helper()
	texts := map[string]map[string]string{} // by what is counted, then by file
	add := func(under, file, text string) {
		if texts[under] == nil {
			texts[under] = map[string]string{}
		}
		texts[under][file] = text
	}
	ownFiles(t, func(file, short string) error {
		switch {
		case strings.HasSuffix(short, ".md"):
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			add(short, short, prose(string(text)))
		case strings.HasSuffix(short, ".go"):
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			lines := make([]string, set.File(parsed.Pos()).LineCount()+1)
			for _, group := range parsed.Comments {
				for _, comment := range group.List {
					at := set.Position(comment.Pos()).Line - 1
					if strings.HasPrefix(comment.Text, "// Code generated") {
						return nil
					}
					for i, line := range strings.Split(comment.Text, "\n") {
						lines[at+i] = spanOfCode.ReplaceAllString(strings.TrimPrefix(line, "//"), "`")
					}
				}
			}
			add(path.Dir(short), short, strings.Join(lines, "\n"))
		}
		return nil
	})
	return texts
}

// TestV11RetiredPhrasesOnlyGetFewer counts retired phrases in every page and in the comments of every folder, and compares with
// retiredcounts.csv: there may be fewer, and never more. Only testenv may have any.
//
//	go test ./testenv -run TestV11Retired -lower-retired
//
// writes lower counts down.
func TestV11RetiredPhrasesOnlyGetFewer(t *testing.T) {
	phrases, allowed := retiredPhrases(t), readCounts(t, "retiredcounts.csv")
	for under := range allowed {
		if top, _, _ := strings.Cut(under, "/"); top != "testenv" {
			t.Errorf("retiredcounts.csv: %s may have no retired phrase", under)
		}
	}
	texts, found, total := said(t), map[string]int{}, 0
	if len(texts) < 100 {
		t.Fatalf("only %d folders and pages were read", len(texts))
	}
	for under, files := range texts {
		var places []string
		for _, file := range slices.Sorted(maps.Keys(files)) {
			text := files[file]
			for i := range phrases {
				for _, at := range phrases[i].in(text) {
					line := strings.Count(text[:at], "\n") + 1
					places = append(places, fmt.Sprintf("%s:%d: %q: write %s", file, line, phrases[i].phrase.FindString(text[at:]), phrases[i].instead))
				}
			}
		}
		found[under] = len(places)
		total += len(places)
		if len(places) > allowed[under] && !*lowerRetired {
			t.Errorf("%s has %d retired phrases and may have %d:\n\t%s", under, len(places), allowed[under], strings.Join(places, "\n\t"))
		}
	}
	t.Logf("%d retired phrases", total)
	if *lowerRetired {
		lower(t, "retiredcounts.csv", "How many retired phrases (retired.csv) a page, or the comments of a folder,", allowed, found)
	}
}

// readCounts reads how many of something a place may have at most, by place.
func readCounts(t *testing.T, file string) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, row := range readCSV(t, file, "where", "most") {
		most, err := strconv.Atoi(row[1])
		if err != nil || most < 1 {
			t.Fatalf("%s: %v: %v", file, row, err)
		}
		out[row[0]] = most
	}
	return out
}

// lower writes the counts that are lower than before, under a line that begins with what they are about.
func lower(t *testing.T, file, about string, allowed, found map[string]int) {
	t.Helper()
	var out strings.Builder
	fmt.Fprintf(&out, "# %s may have at most. What is not here may have none.\nwhere,most\n", about)
	for _, under := range slices.Sorted(maps.Keys(allowed)) {
		if most := min(allowed[under], found[under]); most > 0 {
			fmt.Fprintf(&out, "%s,%d\n", under, most)
		}
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestV11RetiredPhrasesAreFound tries the expressions, the exceptions, and what is left out of a page.
func TestV11RetiredPhrasesAreFound(t *testing.T) {
	phrases := retiredPhrases(t)
	for text, want := range map[string]int{
		"Nodes are given back by choice.":                  2,
		"It gives one node back, and a Machine goes.":      2,
		"An instance is removed on this machine.":          0,
		"A state machine of `machines` in [x](machine.md)": 0,
		"The judge takes a glance at it.":                  2,
		"```\nthe judge\n```\nthe judge":                   1,
		"Each later look finds what is not to be had.":     2,
		"The catalogue is honoured.":                       2,
		"It offers an offering of the fleet.":              0,
		"The behavior is authorized by a license.":         0,
	} {
		got := 0
		for i := range phrases {
			got += len(phrases[i].in(prose(text)))
		}
		if got != want {
			t.Errorf("%q has %d retired phrases, and %d were found", text, want, got)
		}
	}
}
