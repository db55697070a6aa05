package page_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/testenv/repository/page"
)

func TestPagesThatDifferAreStale(t *testing.T) {
	root := t.TempDir()
	folder := filepath.Join(root, "docs/reference")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"same.md": "text\n", "changed.md": "before\n"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writes := func(out io.Writer, _ string) error { _, err := io.WriteString(out, "text\n"); return err }
	fails := func(io.Writer, string) error { return os.ErrInvalid }
	stale := page.Set{"same.md": writes, "changed.md": writes, "missing.md": writes, "wrong.md": fails}.Stale(root)
	var found []string
	for _, err := range stale {
		found = append(found, err.Error())
	}
	for i, want := range []string{"changed.md is not", "missing.md is not", "wrong.md: invalid argument"} {
		if len(found) != 3 || !strings.Contains(found[i], want) {
			t.Fatalf("%q, want %q", found, want)
		}
	}
}

func TestARowEscapesItsCells(t *testing.T) {
	var out strings.Builder
	cells := []string{"a|b", "c\nd", page.Code("e"), page.Code("")}
	page.Row(&out, cells...)
	if out.String() != "| a\\|b | c d | `e` |  |\n" || cells[0] != "a|b" {
		t.Errorf("%q of %q", out.String(), cells)
	}
}
