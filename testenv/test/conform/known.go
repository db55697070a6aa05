package conform

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed KNOWN_DIFFERENCES.md
var knownDifferences string

// Known is what one target is expected to fail.
type Known struct {
	why map[[2]string]string // keyed by service and case name
}

// KnownDifferences returns the rows of KNOWN_DIFFERENCES.md for target. The
// error names the line that is not a row of four cells.
func KnownDifferences(target string) (Known, error) {
	return parseKnown(knownDifferences, target)
}

// parseKnown reads every table row of the document that names target in its
// first cell: | target | service | case | what it does instead |.
func parseKnown(document, target string) (Known, error) {
	known := Known{why: map[[2]string]string{}}
	for i, line := range strings.Split(document, "\n") {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) != 4 {
			return Known{}, fmt.Errorf("read known differences: line %d has %d cells, want 4", i+1, len(cells))
		}
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		if cells[0] == target {
			known.why[[2]string{cells[1], cells[2]}] = cells[3]
		}
	}
	return known, nil
}

// Why returns what the target does instead in this case, and whether the case
// is listed at all.
func (k Known) Why(service, name string) (why string, listed bool) {
	why, listed = k.why[[2]string{service, name}]
	return why, listed
}

// Names returns the listed cases of a service, sorted.
func (k Known) Names(service string) []string {
	var names []string
	for key := range k.why {
		if key[0] == service {
			names = append(names, key[1])
		}
	}
	slices.Sort(names)
	return names
}
