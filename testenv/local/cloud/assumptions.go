package cloud

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed ASSUMPTIONS.md
var assumptions string

// Statuses of assumptions, as ASSUMPTIONS.md explains them.
const (
	Sourced = "sourced"
	ToProbe = "to probe"
	Guess   = "guess"
	OfModel = "model"
)

// Assumption is a row of ASSUMPTIONS.md.
type Assumption struct {
	ID, Text, Other, Source, HeldBy, Status string

	Probes []string // ids of probes of `joiner proof`
}

// Assumptions returns the rows of ASSUMPTIONS.md in order, and what probes that are wanted would do, by id. An error names the line.
func Assumptions() (rows []Assumption, wanted map[string]string, err error) {
	return parseAssumptions(assumptions)
}

// columns of the tables, as their heads name them.
var columns = []string{"id", "assumption", "other reading", "source", "held by", "status", "probes"}

func parseAssumptions(text string) (rows []Assumption, wanted map[string]string, err error) {
	wanted = map[string]string{}
	number, probes := 0, false
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "## ") {
			probes = line == "## Probes wanted"
		}
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := cellsOf(line)
		switch {
		case probes && len(cells) == 2:
			if cells[0] != "probe" {
				wanted[cells[0]] = cells[1]
			}
		case len(cells) != len(columns):
			return nil, nil, fmt.Errorf("ASSUMPTIONS.md, line %d: %d columns; there are %d: %s", number, len(cells), len(columns), strings.Join(columns, ", "))
		case !slices.Equal(cells, columns):
			row := Assumption{ID: cells[0], Text: cells[1], Other: cells[2], Source: cells[3], HeldBy: cells[4], Status: cells[5]}
			if cells[6] != "" {
				row.Probes = strings.Split(cells[6], ", ")
			}
			rows = append(rows, row)
		}
	}
	return rows, wanted, nil
}

// cellsOf returns the cells of a table's row; "–" is an empty one.
func cellsOf(line string) []string {
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), " | ")
	for i, cell := range cells {
		if cells[i] = strings.TrimSpace(cell); cells[i] == "–" {
			cells[i] = ""
		}
	}
	return cells
}
