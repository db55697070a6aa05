package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// shown is a command of a page that reads files of the project, with what the page says it prints. A line of "…" stands for any.
type shown struct {
	page, command string
	lines         []string
}

// shownOn returns the commands with their outputs of a page's blocks: lines that begin with "$ ", and those after them.
func shownOn(page, text string) []shown {
	var out []shown
	fence := false
	for line := range strings.SplitSeq(text, "\n") {
		command, typed := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			fence = !fence
			if !fence {
				out = append(out, shown{}) // what comes after belongs to no command
			}
		case fence && typed:
			out = append(out, shown{page: page, command: command})
		case fence && len(out) > 0:
			last := &out[len(out)-1]
			last.lines = append(last.lines, line)
		}
	}
	return slices.DeleteFunc(out, func(s shown) bool { return !strings.Contains(s.command, " -f cmd/joiner/testdata/") })
}

// TestPagesShowWhatIsPrinted runs each such command: every line of its output that a page shows is printed, in that order.
func TestPagesShowWhatIsPrinted(t *testing.T) {
	var all []shown
	err := filepath.WalkDir("../../docs", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".md" {
			return err
		}
		text, err := os.ReadFile(file)
		all = append(all, shownOn(file, string(text))...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 6 {
		t.Errorf("only %d commands with their outputs were found", len(all))
	}
	for _, s := range all {
		args := strings.Fields(strings.ReplaceAll(s.command, "cmd/joiner/testdata/", "testdata/"))[1:]
		_, out, errs := joiner("", args...)
		printed, at := strings.Split(out, "\n"), 0
		for _, line := range s.lines {
			if strings.TrimSpace(line) == "…" || line == "" {
				continue
			}
			i := slices.Index(printed[at:], line)
			if i < 0 {
				t.Errorf("%s: %s does not print, or not there, the line\n%s\nbut\n%s%s", s.page, s.command, line, out, errs)
				break
			}
			at += i + 1
		}
	}
}
