package referee

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"testing"
)

//go:embed DIFFERENCES.md
var differences string

// Difference is one thing in which the two differ. A row of DIFFERENCES.md names it where its second cell fits "Where: What"; a star in it
// is any text.
type Difference struct {
	Where string // what differs, from the general to the particular, with " / " between
	What  string // both values
}

// row is one of DIFFERENCES.md.
type row struct {
	topic, where, why string
	line              int
	used              bool
}

// parseRows reads every table row whose first cell is the topic: | topic | where | why |. The error names the line.
func parseRows(document, topic string) ([]*row, error) {
	var rows []*row
	for i, line := range strings.Split(document, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 3 {
			return nil, fmt.Errorf("read DIFFERENCES.md: line %d has %d cells, want 3", i+1, len(cells))
		}
		r := &row{topic: strings.TrimSpace(cells[0]), where: strings.TrimSpace(cells[1]), why: strings.TrimSpace(cells[2]), line: i + 1}
		if r.where == "" || r.why == "" {
			return nil, fmt.Errorf("read DIFFERENCES.md: line %d says not where, or not why", i+1)
		}
		if r.topic == topic {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// fits reports whether text is as the pattern says, in which a star is any text.
func fits(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, last)
}

// settle returns what is wrong: differences that no row names, and rows that name none, unless they wait for something.
func settle(rows []*row, found []Difference) []string {
	var wrong []string
	for _, d := range found {
		known := false
		for _, r := range rows {
			if fits(r.where, d.Where+": "+d.What) {
				r.used, known = true, true
			}
		}
		if !known {
			wrong = append(wrong, fmt.Sprintf("unknown difference: %s: %s", d.Where, d.What))
		}
	}
	slices.Sort(wrong)
	for _, r := range rows {
		if !r.used && !strings.HasPrefix(r.why, "until ") {
			wrong = append(wrong, fmt.Sprintf("DIFFERENCES.md, line %d: nothing differs in %q any more; take the row out", r.line, r.where))
		}
	}
	return slices.Compact(wrong)
}

// Evaluate fails the test for differences that DIFFERENCES.md does not know under the topic, and for its rows that are of none.
func Evaluate(t testing.TB, topic string, found []Difference) {
	t.Helper()
	rows, err := parseRows(differences, topic)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range settle(rows, found) {
		t.Error(text)
	}
	t.Logf("%s: %d differences, %d reasons", topic, len(found), len(rows))
}
