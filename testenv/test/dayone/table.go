package dayone

import (
	"fmt"
	"regexp"
	"strings"
)

// Table is what a reader fills in where a page leaves it to them.
type Table struct {
	// Variables are in the reader's environment, such as REGISTRY.
	Variables map[string]string
	// Replaced are pieces of text that stand for something of the reader's own, such as the number of an account, and what is typed in their place.
	Replaced map[string]string
	// Learned are variables that a reader takes from what commands print: the first group of the last match.
	Learned map[string]*regexp.Regexp
}

// Usual is the table of the pages as they are.
func Usual() Table {
	return Table{
		Variables: map[string]string{},
		Replaced: map[string]string{
			"git pull": ": git pull", // the reader's clone is this one
		},
		Learned: map[string]*regexp.Regexp{
			"DIGEST": regexp.MustCompile(`(?m)^(sha256:[0-9a-f]{64})\s*$`), // make image prints it
		},
	}
}

// Fill returns a command as a reader types it.
func (t Table) Fill(c Command) Command {
	for from, to := range t.Replaced {
		c.Text = strings.ReplaceAll(c.Text, from, to)
	}
	return c
}

// learn takes from a command's output what later ones need.
func (t Table) learn(output string) map[string]string {
	out := map[string]string{}
	for name, pattern := range t.Learned {
		if found := pattern.FindAllStringSubmatch(output, -1); len(found) > 0 {
			out[name] = found[len(found)-1][1]
		}
	}
	return out
}

// Failed is a command that failed.
type Failed struct {
	Command Command
	Output  string
	Err     error
}

func (f *Failed) Error() string {
	return fmt.Sprintf("%s: %s\n%v; it said:\n%s", f.Command.Where, f.Command.Text, f.Err, tail(f.Output, 60))
}

// tail is the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(all) > lines {
		all = append([]string{"…"}, all[len(all)-lines:]...)
	}
	return strings.Join(all, "\n")
}
