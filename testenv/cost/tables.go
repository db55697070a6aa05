package cost

import (
	"fmt"
	"strings"
)

// Markers of docs/performance.md between which the tables stand.
const (
	markBegin  = "<!-- cost: begin, written by make cost -->\n"
	markEnd    = "<!-- cost: end -->\n"
	markBeyond = "<!-- beyond: begin, written by make cost -->\n"
	markClose  = "<!-- beyond: end -->\n"
)

// Table returns the table of docs/performance.md for what is recorded of scenarios.
func Table(recorded []Recorded, d Deployment) string {
	var b strings.Builder
	bills := make([][]Line, len(recorded))
	row := func(name string, cell func(lines []Line) string) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, lines := range bills {
			fmt.Fprintf(&b, " %s |", cell(lines))
		}
		b.WriteString("\n")
	}
	for i, r := range recorded {
		bills[i] = Bill(r.Month(), d)
	}
	fmt.Fprintf(&b, "| Per month, %s, %s |", region, pricedAt)
	for _, r := range recorded {
		fmt.Fprintf(&b, " %s |", r.Scenario)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(recorded)) + "\n")
	for i, line := range bills[0] {
		name := fmt.Sprintf("%s: %s", line.Service, line.Item.Name)
		if line.Kind == Compute {
			name += fmt.Sprintf(", assumed: %g ms and %g to %g for each call of an invocation, %d ms for each of %d cold starts of a function",
				workMillis, callMillis["dynamodb"], callMillis["s3"], initMillis, environments*int(month/renewedEvery))
		}
		row(name, func(lines []Line) string {
			l := lines[i]
			return fmt.Sprintf("%s %s = $%.2f", count(l.Quantity), l.Item.Unit, l.USD())
		})
	}
	for _, sum := range sums {
		name := sum.name
		row("**"+name+"**", func(lines []Line) string {
			list, billed := Sum(lines, sum.kinds...)
			return fmt.Sprintf("**$%.2f** ($%.2f)", list, billed)
		})
	}
	return b.String()
}

// Rewrite returns a text with the tables between their markers replaced: of the bills, and of what comes on top.
func Rewrite(text, table, beyond string) (string, error) {
	for _, part := range []struct{ begin, end, table string }{{markBegin, markEnd, table}, {markBeyond, markClose, beyond}} {
		before, rest, found := strings.Cut(text, part.begin)
		_, after, ended := strings.Cut(rest, part.end)
		if !found || !ended {
			return "", fmt.Errorf("there is no %q and %q after it", strings.TrimSpace(part.begin), strings.TrimSpace(part.end))
		}
		text = before + part.begin + part.table + part.end + after
	}
	return text, nil
}
