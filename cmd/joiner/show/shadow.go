package show

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/flow/shadow"
	"github.com/joiner-sh/joiner/shared/model"
)

const mostOtherwise = 50 // decisions whose differences are reported

// Shadow writes for people how decisions come out when another version makes them.
func Shadow(out io.Writer, r *shadow.Report) error {
	t := newTable(out)
	t.wrapped("", "  ", fmt.Sprintf("Decisions of cluster %s from %s to %s by build %s, replayed by build %s:", r.Cluster, clock(r.FromUnix), clock(r.ToUnix), orNone(strings.Join(r.Builds, ", ")), r.By))
	wording := ""
	if r.Wording > 0 {
		wording = fmt.Sprintf(" (%d in reasons or order alone)", r.Wording)
	}
	t.line("%d compared: %d the same, %d different%s.", r.Compared, r.Same, r.Different, wording)
	if p := r.Provision; p.Different > 0 {
		t.line("Launches that differ cost %s per hour, and would cost %s: %s.", micro(p.Live), micro(p.Shadow), more(p.Shadow-p.Live))
	}
	if p := r.Disrupt; p.Different > 0 {
		t.line("Disruption that differs leaves the cluster at %s per hour on average, and would at %s: %s.", micro(p.Live), micro(p.Shadow), more(p.Shadow-p.Live))
	}
	t.otherwise(r.Decisions)
	if len(r.Missing) > 0 {
		t.line("")
		t.wrapped("", "  ", "Different too, without stored details: "+strings.Join(r.Missing, ", "))
	}
	if len(r.Unanswered) > 0 {
		t.line("")
		t.line("COULD NOT BE REPLAYED")
		for _, why := range slices.Sorted(maps.Keys(r.Unanswered)) {
			t.wrapped("  ", "    ", fmt.Sprintf("%s: %s", explain.Many(r.Unanswered[why], "decision"), why))
		}
	}
	_, err := io.WriteString(out, t.text.String())
	return err
}

// otherwise lists decisions that come out otherwise, and then how.
func (t *table) otherwise(list []shadow.DifferentDecision) {
	if len(list) == 0 {
		return
	}
	t.line("")
	rows := [][]string{{"DECISION", "TIME", "KIND", "$/HOUR", "WOULD BE", "ADDED", "MISSING", "CHANGED", "PODS"}}
	for i := range list {
		o := &list[i]
		n := changesOf(o.Rounds)
		rows = append(rows, []string{o.Decision, clock(o.AtUnix), o.Kind, signed(o.Live, 4), signed(o.Shadow, 4), fmt.Sprint(n.added), fmt.Sprint(n.removed), fmt.Sprint(n.changed), fmt.Sprint(n.pods)})
	}
	t.grid(rows, "...rrrrrr")
	for i := range list[:min(len(list), mostOtherwise)] {
		o := &list[i]
		t.line("")
		t.line("%s", o.Decision)
		if o.Panic != "" {
			t.wrapped("  ", "    ", "it panics: "+o.Panic)
		}
		for j := range o.Rounds {
			if d := &o.Rounds[j]; !d.Identical {
				for _, line := range Difference(d) {
					t.line("  %s", line)
				}
			}
		}
	}
	if rest := len(list) - mostOtherwise; rest > 0 {
		t.line("")
		t.line("and %s more; -o json has them", explain.Many(rest, "decision"))
	}
}

// changes counts instances and commands that differ.
type changes struct{ added, removed, changed, pods int }

func changesOf(rounds []model.Difference) changes {
	var n changes
	count := func(was, is bool) {
		switch {
		case !was:
			n.added++
		case !is:
			n.removed++
		default:
			n.changed++
		}
	}
	for i := range rounds {
		for _, c := range rounds[i].Claims {
			count(c.Was != nil, c.Is != nil)
		}
		for _, c := range rounds[i].Commands {
			count(c.Was != nil, c.Is != nil)
		}
		n.pods += len(rounds[i].Pods)
	}
	return n
}

func orNone(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// more says how much an amount is more or less, per hour.
func more(amount model.MicroUSD) string {
	switch {
	case amount > 0:
		return micro(amount) + " more"
	case amount < 0:
		return micro(-amount) + " less"
	}
	return "the same"
}

// Difference says in lines which instances, commands and pods differ.
func Difference(d *model.Difference) []string {
	var out []string
	for _, c := range d.Claims {
		out = append(out, "instance "+changed(boughtText(c.Was), boughtText(c.Is)))
	}
	for _, c := range d.Commands {
		out = append(out, fmt.Sprintf("nodes %s: %s", strings.Join(c.Nodes, " "), changed(disruptedText(c.Was), disruptedText(c.Is))))
	}
	for _, p := range d.Pods {
		out = append(out, fmt.Sprintf("pod %s: %s", p.Pod, changed(p.Was, p.Is)))
	}
	if len(out) == 0 {
		out = append(out, "the same instances, commands and places; reasons or order differ")
	}
	return out
}

// changed words what was and what is; empty = nothing.
func changed(was, is string) string {
	switch {
	case was == "":
		return "added: " + is
	case is == "":
		return "missing: " + was
	}
	return was + " -> " + is
}

func boughtText(c *model.Bought) string {
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s (%s, %s in %s, $%.4f, %d types, %d pods)", c.Name, c.Offering.InstanceType, c.Offering.CapacityType, c.Offering.Zone, c.Price.USD(), c.Types, c.Pods)
}

func disruptedText(g *model.DisruptedNodes) string {
	if g == nil {
		return ""
	}
	text := fmt.Sprintf("%s, %d pods moved, saves $%.4f", g.Reason, g.PodsMoved, g.Savings.USD())
	for i := range g.Replacements {
		text += ", for " + boughtText(&g.Replacements[i])
	}
	return text
}
