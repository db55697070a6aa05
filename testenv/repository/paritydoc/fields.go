package main

import (
	"fmt"
	"io"

	"github.com/joiner-sh/joiner/testenv/repository/page"
)

const aboutFields = `# What becomes of each field

Generated from ` + "`testenv/repository/paritydoc/fields.csv`" + ` by ` + "`make generated`" + `.

Each field of the CRDs is in this table with unusual values. A test sends each manifest through the schema and the
admission webhook, and fails if the outcome is another one. It also fails if a field has no row,
or no value that is honored and nothing that warns of it.

* **Refused**: the API server refuses the object. Some refusals are the webhook's alone. Where it is not installed,
  conditions show most of them.
* **Warned**: ` + "`kubectl apply`" + ` prints a warning.
* **Honored**: launches and disruption go by the value. The tests named hold that.
* **Written**: Joiner writes the field. The tests named hold that.

A field that the schema does not have is not stored. ` + "`kubectl apply`" + ` refuses it.
So do ` + "`-f`" + ` and ` + "`--with`" + ` of ` + "`joiner plan`" + `.
` + "`joiner lint`" + ` says of a file what the schema and the webhook say, without a cluster.
`

const headOfFields = "\n| Field | Value | Outcome | What is said, or which tests hold it |\n|---|---|---|---|\n"

// outcomes are what may become of a field, with how the page names them.
var outcomes = map[string]string{
	"refused": "Refused", "warned": "Warned", "honored": "Honored", "written": "Written",
}

// fields writes fields.md.
func fields(out io.Writer, root string) error {
	rows, err := read("fields.csv", "kind", "field", "manifest", "outcome", "says")
	if err != nil {
		return err
	}
	there, err := readTests(root)
	if err != nil {
		return err
	}
	fmt.Fprint(out, aboutFields)
	kind := ""
	for _, r := range rows {
		if r[0] != kind {
			kind = r[0]
			fmt.Fprintf(out, "\n## %s\n%s", kind, headOfFields)
		}
		says, outcome := r[4], outcomes[r[3]]
		if outcome == "" {
			return fmt.Errorf("%s, %s: %q is no outcome", kind, r[1], r[3])
		}
		if r[3] == "written" || r[3] == "honored" {
			if says, err = there.proofOf(says); err != nil {
				return fmt.Errorf("%s, %s, which is %s: %w", kind, r[1], r[3], err)
			}
		}
		page.Row(out, page.Code(r[1]), page.Code(r[2]), outcome, says)
	}
	return nil
}
