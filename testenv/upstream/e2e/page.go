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
	b.WriteString("| Suite | Specs | pass | differ | wait | untried | cannot |\n|---|---|---|---|---|---|---|\n")
	for _, s := range Suites {
		if counts[s.Name] != nil {
			line(s.Name, counts[s.Name])
		}
	}
	line("all", sums)
	b.WriteString("\n## Those that are left out\n\n| Suite | Spec | | Why |\n|---|---|---|---|\n")
	for _, r := range rows {
		if r.Verdict != Passes && r.Verdict != Untried {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.Suite, strings.ReplaceAll(r.Spec, "|", "\\|"), r.Verdict, r.Why)
		}
	}
	return b.String()
}

const pageHead = `# Karpenter's own end-to-end suites

` + "`make upstream`" + ` runs the end-to-end suites of Karpenter 1.14.1 and of its AWS provider, unchanged, against the stack of ` + "`make up`" + `: a real control plane and
scheduler, the function binaries, the policies of the templates in force, kubelets and EC2 as models. This page says what
[specs.csv](../testenv/upstream/e2e/specs.csv) says, which every run is held against: a spec that is to pass and fails is a fault, and so is a row that no spec needs.

*differ*: the spec expects what Joiner does otherwise on purpose; the reason names section and row of [Compatibility](compatibility.md). *wait*: it asks for
what is not built yet. *untried*: nobody has run it to its end yet. *cannot*: it asks for what there is not without an account of AWS, or a larger machine.

`
