package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/joiner-sh/joiner/testenv/repository/page"
)

const aboutParity = `# Parity

Generated from ` + "`testenv/repository/paritydoc/parity.csv`" + ` by ` + "`make generated`" + `.

Each row is something that holds, and the tests that hold it.
` + "`TEST/CASE`" + ` is the cases of a test whose names begin so.
A test of the repository fails if a row has no test, or names one that does not exist.
[Compatibility](../compatibility.md) lists the differences from Karpenter.
[What becomes of each field](fields.md) lists the fields of the CRDs.

`

// section is the rows whose ids begin alike.
type section struct{ prefix, title string }

// sections are in the order of the page.
var sections = []section{
	{"F", "Karpenter's core"}, {"NC-", "EC2NodeClasses"}, {"UD-", "User data"}, {"IT-", "Instance types"},
	{"PR-", "Prices"}, {"IC-", "Capacity errors"}, {"LA-", "Launches"}, {"AM-", "Images"}, {"IN-", "Events of AWS"},
	{"CT-", "Resources in AWS"}, {"SE-", "Permissions and networks"}, {"OB-", "Metrics of the AWS provider"},
	{"A", "Launches: what never happens"}, {"B", "Disruption: what never happens"},
	{"C", "The whole: what always holds"}, {"S", "Scenarios that went wrong elsewhere"},
	{"R", "Defects of other autoscalers"}, {"D", "What Karpenter does not have"},
}

// row is one of the table.
type row struct {
	id, holds string
	tests     []string
	missing   string
}

var idForm = regexp.MustCompile(`^([A-Z]+-?)[0-9]+$`)

// readRows returns the rows of parity.csv, in its order.
func readRows() ([]row, error) {
	lines, err := read("parity.csv", "row", "what holds", "tests", "missing")
	if err != nil {
		return nil, err
	}
	var out []row
	for _, l := range lines {
		out = append(out, row{id: l[0], holds: l[1], tests: strings.Fields(l[2]), missing: l[3]})
	}
	return out, nil
}

// parity writes parity.md.
func parity(out io.Writer, root string) error {
	rows, err := readRows()
	if err != nil {
		return err
	}
	there, err := readTests(root)
	if err != nil {
		return err
	}
	if err := check(rows, there); err != nil {
		return err
	}
	fmt.Fprint(out, aboutParity)
	summary(out, rows)
	for _, s := range sections {
		fmt.Fprintf(out, "\n## %s\n\n| Row | What holds | Tests |\n|---|---|---|\n", s.title)
		for _, r := range rows {
			if idForm.FindStringSubmatch(r.id)[1] == s.prefix {
				page.Row(out, r.id, r.holds, r.proof())
			}
		}
	}
	return nil
}

// summary writes how many rows are kept, and what is missing of the others.
func summary(out io.Writer, rows []row) {
	var partly []row
	for _, r := range rows {
		if r.missing != "" {
			partly = append(partly, r)
		}
	}
	fmt.Fprintf(out, "%d of %d rows are kept.\n", len(rows)-len(partly), len(rows))
	if len(partly) == 0 {
		return
	}
	fmt.Fprint(out, "\n## Rows that are not kept\n\n| Row | What holds | What is missing |\n|---|---|---|\n")
	for _, r := range partly {
		page.Row(out, r.id, r.holds, r.missing)
	}
}

// proof is the last cell of a row.
func (r row) proof() string {
	var parts []string
	for _, test := range r.tests {
		parts = append(parts, page.Code(test))
	}
	if r.missing != "" {
		parts = append(parts, "Not kept: see above.")
	}
	return strings.Join(parts, ", ")
}

// check reports rows without a test and without a word on what is missing, rows that name tests that do not exist, and
// rows that are there twice or belong to no section.
func check(rows []row, there tests) error {
	var problems []error
	seen := map[string]bool{}
	known := map[string]bool{}
	for _, s := range sections {
		known[s.prefix] = true
	}
	for _, r := range rows {
		id := idForm.FindStringSubmatch(r.id)
		switch {
		case id == nil || !known[id[1]]:
			problems = append(problems, fmt.Errorf("row %q: no section has it", r.id))
		case seen[r.id]:
			problems = append(problems, fmt.Errorf("row %s is there twice", r.id))
		}
		seen[r.id] = true
		if len(r.tests) == 0 && r.missing == "" {
			problems = append(problems, fmt.Errorf("row %s has no test: name one, or say what is missing", r.id))
		}
		for _, name := range r.tests {
			if !there.has(name) {
				problems = append(problems, fmt.Errorf("row %s names %s, and there is no such test", r.id, name))
			}
		}
	}
	return errors.Join(problems...)
}
