package main

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryDefectHasItsPlace: each is still where the list says, and what it makes of its file is Go.
func TestEveryDefectHasItsPlace(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	if len(defects) < 30 {
		t.Errorf("%d defects, want 30", len(defects))
	}
	seen := map[string]bool{}
	for _, d := range all() {
		if seen[d.name] {
			t.Errorf("two defects are called %q", d.name)
		}
		seen[d.name] = true
		text, err := d.changed(root)
		if err != nil {
			t.Error(err)
			continue
		}
		if _, err := format.Source(text); err != nil {
			t.Errorf("%s: %v", d.name, err)
		}
	}
	for _, tests := range []map[string]unit{units, survivorTests} {
		for name := range tests {
			if !seen[name] {
				t.Errorf("no defect is called %q", name)
			}
		}
	}
}

// TestEveryNamedTestIsThere: what the lists name to show a defect matches a test of that folder. A renamed test would show nothing.
func TestEveryNamedTestIsThere(t *testing.T) {
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	inFolder := map[string][]string{}
	namesOf := func(folder string) []string {
		if names, known := inFolder[folder]; known {
			return names
		}
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, declaration := range file.Decls {
				if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv == nil {
					names = append(names, f.Name.Name)
				}
			}
		}
		inFolder[folder] = names
		return names
	}
	check := func(what, folder, names string) {
		t.Helper()
		for _, one := range strings.Split(names, "|") {
			expression, err := regexp.Compile("^(" + one + ")")
			if err != nil {
				t.Errorf("%s: %v", what, err)
			} else if !slices.ContainsFunc(namesOf(folder), expression.MatchString) {
				t.Errorf("%s: %s has no test that %s matches", what, folder, one)
			}
		}
	}
	for _, list := range []map[string]unit{units, survivorTests} {
		for name, u := range list {
			check(name, u.folder, u.names)
		}
	}
	check("telling", "testenv/sim/", telling)
}
