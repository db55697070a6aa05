package testenv

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// navigation returns the pages that mkdocs.yml names, in order.
func navigation(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../mkdocs.yml")
	if err != nil {
		t.Fatal(err)
	}
	// The rest of the file has a tag of Python's, and the navigation is last.
	_, section, found := strings.Cut(string(text), "\nnav:\n")
	var nav any
	if err := yaml.Unmarshal([]byte(section), &nav); err != nil || !found {
		t.Fatalf("mkdocs.yml: no navigation can be read: %v", err)
	}
	var named []string
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case string:
			named = append(named, node)
		case []any:
			for _, each := range node {
				walk(each)
			}
		case map[string]any: // one title and what it names
			for _, each := range node {
				walk(each)
			}
		default:
			t.Fatalf("mkdocs.yml: the navigation has %v", node)
		}
	}
	walk(nav)
	return named
}

// pagesOfDocs returns every Markdown file below docs, by its path there.
func pagesOfDocs(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, page := range pages(t, false) {
		if name, found := strings.CutPrefix(page, "docs/"); found {
			out = append(out, name)
		}
	}
	return out
}

// TestNavigationNamesEveryPageOnce: each page of docs is in the site's navigation, each entry is a page, and none is there twice. The start page is
// README.md (tools/docs/hooks.py).
func TestNavigationNamesEveryPageOnce(t *testing.T) {
	named, there := navigation(t), append(pagesOfDocs(t), "index.md")
	for i, page := range named {
		if slices.Contains(named[:i], page) {
			t.Errorf("mkdocs.yml names %s twice", page)
		}
		if !slices.Contains(there, page) {
			t.Errorf("mkdocs.yml names %s, and there is no docs/%s", page, page)
		}
	}
	for _, page := range there {
		if !slices.Contains(named, page) {
			t.Errorf("docs/%s is not in the navigation of mkdocs.yml", page)
		}
	}
}

// fenced are the lines of each fenced block of a language.
func fenced(text, language string) (blocks [][]string) {
	fence, block := "", []string(nil)
	for line := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```") && fence == "":
			fence, block = trimmed, nil
		case strings.HasPrefix(trimmed, "```"):
			if fence == "```"+language {
				blocks = append(blocks, block)
			}
			fence = ""
		case fence != "":
			block = append(block, line)
		}
	}
	return blocks
}

// TestV3ArchitectureIsShortAndDrawn: the page of the architecture has at most 2,500 words and the four sequence diagrams.
func TestV3ArchitectureIsShortAndDrawn(t *testing.T) {
	text, err := os.ReadFile("../docs/architecture/index.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(text))); words > 2500 {
		t.Errorf("%d words", words)
	}
	diagrams := fenced(string(text), "mermaid")
	if len(diagrams) != 4 {
		t.Errorf("%d diagrams", len(diagrams))
	}
	for _, diagram := range diagrams {
		if strings.TrimSpace(diagram[0]) != "sequenceDiagram" {
			t.Errorf("a diagram begins with %q", diagram[0])
		}
	}
}

// TestDiagramsCanBeDrawn holds Mermaid blocks to what its parser takes: a semicolon ends a line there. `make docs-look` draws them.
func TestDiagramsCanBeDrawn(t *testing.T) {
	checked := 0
	for _, page := range append(pagesOfDocs(t), "../README.md") {
		text, err := os.ReadFile("../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		diagrams := fenced(string(text), "mermaid")
		for _, diagram := range diagrams {
			checked++
			for _, line := range diagram {
				if strings.Contains(line, ";") {
					t.Errorf("docs/%s: a semicolon in %q", page, strings.TrimSpace(line))
				}
			}
		}
	}
	if checked < 4 {
		t.Errorf("only %d diagrams were found", checked)
	}
}

// TestV11GlossaryIsShort: at most 30 terms, each in one line, sorted within their table.
func TestV11GlossaryIsShort(t *testing.T) {
	text, err := os.ReadFile("../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+\.? \|$`).FindAllStringSubmatch(string(text), -1)
	rows = slices.DeleteFunc(rows, func(row []string) bool { return row[1] == "Term" })
	if len(rows) < 20 || len(rows) > 30 {
		t.Errorf("%d terms", len(rows))
	}
	for _, section := range strings.Split(string(text), "\n## ")[1:] {
		var terms []string
		for line := range strings.SplitSeq(section, "\n") {
			if term, found := strings.CutPrefix(line, "| "); found && !strings.HasPrefix(term, "Term ") {
				term, _, _ = strings.Cut(term, " |")
				terms = append(terms, strings.ToLower(term))
			}
		}
		if !slices.IsSorted(terms) {
			t.Errorf("the terms are not sorted: %v", terms)
		}
	}
}
