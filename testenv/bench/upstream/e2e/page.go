package e2e

import (
	"fmt"
	"strings"
)

// Page is docs/upstream.md: what specs.csv says, for people.
func Page(rows []Row) string {
	verdicts := []Verdict{Passes, Differs, Waits, Untried, Cannot}
	counts, sums := map[string]map[Verdict]int{}, map[Verdict]int{}
	for _, r := range rows {
		if counts[r.Suite] == nil {
			counts[r.Suite] = map[Verdict]int{}
		}
		counts[r.Suite][r.Verdict]++
		sums[r.Verdict]++
	}
	var b strings.Builder
	b.WriteString(pageHead)
	line := func(name string, of map[Verdict]int) {
		all := 0
		for _, n := range of {
			all += n
		}
		fmt.Fprintf(&b, "| %s | %d |", name, all)
		for _, v := range verdicts {
			fmt.Fprintf(&b, " %d |", of[v])
		}
		b.WriteByte('\n')
	}
	b.WriteString("| Suite | Specs | pass | differs | waits | untried | cannot |\n|---|---|---|---|---|---|---|\n")
	for _, s := range Suites {
		if counts[s.Name] != nil {
			line(s.Name, counts[s.Name])
		}
	}
	line("all", sums)
	b.WriteString("\n## Specs that do not pass\n\n| Suite | Spec | Result | Why |\n|---|---|---|---|\n")
	for _, r := range rows {
		if r.Verdict != Passes && r.Verdict != Untried {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Suite, strings.ReplaceAll(r.Spec, "|", "\\|"), r.Verdict, r.Why)
		}
	}
	return b.String()
}

const pageHead = `# Karpenter's own end-to-end suites

` + "`make upstream`" + ` runs the end-to-end suites of Karpenter 1.14.1 and of its AWS provider, unchanged, against the stack of ` + "`make up`" + `.
That is a real control plane and scheduler, the function binaries, and the policies of the templates in force. Kubelets and EC2 are models.

This page is generated from ` + "`testenv/bench/upstream/e2e/specs.csv`" + `. Every run is compared with that file.
A spec that should pass and fails is an error, and so is a row that no spec needs.

| Result | Meaning |
|---|---|
| pass | The spec passes. |
| differs | The spec expects what Joiner does otherwise on purpose. The reason names section and row of [Compatibility](compatibility.md). |
| waits | It needs something that is not built yet. |
| untried | Nobody has run it to its end yet. |
| cannot | It needs an AWS account, a larger computer, or a part of Karpenter. |

`
