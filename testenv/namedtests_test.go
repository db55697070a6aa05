package testenv

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	declaredTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	namedTest    = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+…?`)
)

// TestPagesNameTestsThatThereAre: what a page says is shown by a test is shown by one that there is. The threat model names one for most attacks.
func TestPagesNameTestsThatThereAre(t *testing.T) {
	var there []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != ".." && (strings.HasPrefix(name, ".") || name == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range declaredTest.FindAllStringSubmatch(string(text), -1) {
			there = append(there, found[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(there)
	n := 0
	for _, page := range pages(t, false) {
		text, err := os.ReadFile("../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range namedTest.FindAllString(string(text), -1) {
			n++
			prefix, many := strings.CutSuffix(name, "…")
			at, whole := slices.BinarySearch(there, prefix)
			if !whole && !(many && at < len(there) && strings.HasPrefix(there[at], prefix)) {
				t.Errorf("%s names %s, and there is no such test", page, name)
			}
		}
	}
	if n < 60 || len(there) < 2000 {
		t.Errorf("%d names in pages and %d tests were found: they are not read", n, len(there))
	}
}
