package e2e

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
)

// Verdict is what is to become of a spec.
type Verdict string

const (
	Passes  Verdict = "passes"  // it runs, and what it expects is there
	Differs Verdict = "differs" // it expects what Joiner does otherwise on purpose; why names the row of docs/compatibility.md
	Waits   Verdict = "waits"   // it asks for what is not built yet; why says what
	Untried Verdict = "untried" // nobody has run it yet; why says what it takes
	Cannot  Verdict = "cannot"  // it asks for what no machine without an account of AWS has; why says what
)

// Row is what is known of one spec.
type Row struct {
	Suite   string // as in Suites
	Spec    string // its containers' texts and its own, joined by spaces
	Verdict Verdict
	Setup   string // what it is run with: a key of Setups
	Why     string // what it takes, and for all but Passes why it is left out
}

//go:embed specs.csv
var specs string

// Rows returns what is known, in the order of the file.
func Rows() ([]Row, error) { return readRows(specs) }

func readRows(text string) ([]Row, error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = 5
	records, err := reader.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("specs.csv: %w", err)
	}
	var rows []Row
	seen := map[[2]string]bool{}
	for i, r := range records[min(1, len(records)):] {
		row := Row{Suite: r[0], Verdict: Verdict(r[1]), Setup: r[2], Spec: r[3], Why: r[4]}
		switch row.Verdict {
		case Passes:
		case Differs, Waits, Untried, Cannot:
			if row.Why == "" {
				return nil, fmt.Errorf("specs.csv: row %d: %q has the verdict %s and no reason; say why in the last column", i+2, row.Spec, row.Verdict)
			}
		default:
			return nil, fmt.Errorf("specs.csv: row %d: verdict %q of %q is none of passes, differs, waits, untried, cannot", i+2, r[1], row.Spec)
		}
		if _, ok := suiteOf(row.Suite); !ok {
			return nil, fmt.Errorf("specs.csv: row %d: there is no suite %q; Suites has those there are", i+2, row.Suite)
		}
		if _, ok := Setups[row.Setup]; !ok {
			return nil, fmt.Errorf("specs.csv: row %d: there is no setup %q; Setups has those there are", i+2, row.Setup)
		}
		if key := [2]string{row.Suite, row.Spec}; seen[key] {
			return nil, fmt.Errorf("specs.csv: row %d: %q of %s is there twice; leave one of the rows out", i+2, row.Spec, row.Suite)
		} else {
			seen[key] = true
		}
		rows = append(rows, row)
	}
	return rows, nil
}
