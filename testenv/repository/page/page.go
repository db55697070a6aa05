package page

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Set has what writes each page, by file name. root is the repository's folder.
type Set map[string]func(out io.Writer, root string) error

// Main is the program of that name: it writes the pages into the folder that is its only argument. Its working
// directory is the repository's folder. It ends the process with a status that is not 0 where it cannot.
func Main(program string, pages Set) {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: %s FOLDER, from the repository's root\n", program)
		os.Exit(2)
	}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		var text bytes.Buffer
		err := pages[name](&text, ".")
		if err == nil {
			err = os.WriteFile(filepath.Join(os.Args[1], name), text.Bytes(), 0o644)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %s: %v\n", program, name, err)
			os.Exit(1)
		}
	}
}

// Stale returns an error for each page that cannot be written, or is not what docs/reference in root has.
func (s Set) Stale(root string) []error {
	var out []error
	for _, name := range slices.Sorted(maps.Keys(s)) {
		var want bytes.Buffer
		if err := s[name](&want, root); err != nil {
			out = append(out, fmt.Errorf("%s: %w", name, err))
			continue
		}
		got, err := os.ReadFile(filepath.Join(root, "docs/reference", name))
		if err != nil || !bytes.Equal(got, want.Bytes()) {
			out = append(out, fmt.Errorf("docs/reference/%s is not what it is made from (%v); run `make generated` "+
				"and commit", name, err))
		}
	}
	return out
}

// Row writes a row of a table.
func Row(out io.Writer, cells ...string) {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = strings.ReplaceAll(strings.ReplaceAll(cell, "|", `\|`), "\n", " ")
	}
	fmt.Fprintln(out, "| "+strings.Join(escaped, " | ")+" |")
}

// Code returns text as code, nothing for nothing.
func Code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
