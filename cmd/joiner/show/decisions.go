package show

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/joiner-sh/joiner/shared/core/explain"
)

// mostDecisions is how many a table lists.
const mostDecisions = 50

// Decisions writes for people what was decided.
func Decisions(out io.Writer, decided []explain.Decided) error {
	if len(decided) == 0 {
		_, err := fmt.Fprintln(out, "Nothing was decided in that time.")
		return err
	}
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "DECIDED\tBY\tDECISION\tWHAT")
	for i := range decided[:min(len(decided), mostDecisions)] {
		d := &decided[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", clock(d.AtUnix), d.By, d.ID, plain(what(d)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if more := len(decided) - mostDecisions; more > 0 {
		_, err := fmt.Fprintf(out, "and %d older; -o json has all\n", more)
		return err
	}
	return nil
}

// what says what was decided in a few words.
func what(d *explain.Decided) string {
	if d.By == explain.DecidedDisrupt {
		if d.Nodes == 0 {
			return "nothing to disrupt"
		}
		return fmt.Sprintf("%s disrupted (%s), %s moved, %s per hour saved", many(d.Nodes, "node"), strings.Join(d.Reasons, ", "), many(d.PodsMoved, "pod"), micro(d.Savings))
	}
	parts := []string{many(d.Launched, "instance") + " for " + many(d.Pending, "pod")}
	if d.Failed > 0 {
		parts = append(parts, many(d.Failed, "claim")+" not launched")
	}
	if d.Unschedulable > 0 {
		parts = append(parts, "unschedulable: "+many(d.Unschedulable, "pod"))
	}
	if d.Open {
		parts = append(parts, "the run stopped before it recorded the result")
	}
	return strings.Join(parts, ", ")
}
