package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/joiner-sh/joiner/testenv/repository/page"
)

// tests has the texts of the files that declare a test, by its name.
type tests map[string][]string

var declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

// readTests reads every test of the repository.
func readTests(root string) (tests, error) {
	out := tests{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules") {
			return filepath.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			out[found[1]] = append(out[found[1]], string(text))
		}
		return err
	})
	return out, err
}

// has reports whether there is a test, and in a file of it a text that begins as the case's name does, where one is
// named: TEST or TEST/CASE.
func (t tests) has(name string) bool {
	test, of, cases := strings.Cut(name, "/")
	if len(t[test]) == 0 || !cases {
		return len(t[test]) > 0
	}
	begins := regexp.MustCompile(`"` + regexp.QuoteMeta(of) + `\b`)
	for _, text := range t[test] {
		if of != "" && begins.MatchString(text) {
			return true
		}
	}
	return false
}

// proofOf returns the names of tests, separated by blanks, as a cell of a page. Without a name, or with one that does
// not exist, there is no proof.
func (t tests) proofOf(names string) (string, error) {
	var cell []string
	for _, test := range strings.Fields(names) {
		if !t.has(test) {
			return "", fmt.Errorf("it names %s, and there is no such test", test)
		}
		cell = append(cell, page.Code(test))
	}
	if len(cell) == 0 {
		return "", errors.New("no test holds it")
	}
	return strings.Join(cell, ", "), nil
}
