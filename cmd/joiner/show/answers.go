package show

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

// What the table of costs lists.
const (
	ByPool      = "pool"
	ByNamespace = "namespace"
	ByWorkload  = "workload"
)

const (
	mostMoves = 30
	mostCosts = 30
	mostIdle  = 10
)

// WhyNode writes for people why a node is there, why it stays, or who took it away.
func WhyNode(out io.Writer, a *explain.NodeAnswer) error {
	t := newTable(out)
	t.line("%s", a.Line())
	if a.Instance != nil && a.Instance.InstanceType != "" {
		m := a.Instance
		t.line("")
		t.line("INSTANCE")
		t.wrapped("  ", "    ", fmt.Sprintf("%s %s in %s, %s per hour; instance %s; NodeClaim %s; NodePool %s", m.InstanceType, m.CapacityType, m.Zone, micro(m.Price), cmp.Or(m.InstanceID, "-"), a.NodeClaim, cmp.Or(m.Pool, "-")))
	}
	t.launch(a.Launch)
	if len(a.Stays) > 0 && a.Stays[0].Code != explain.InCommand {
		t.line("")
		t.line("WHY IT STAYS")
		for _, reason := range a.Stays {
			t.wrapped("  ", "    ", reason.Code+": "+reason.Message)
		}
	}
	if a.Move != nil {
		t.line("")
		t.line("COMMAND %s, %s, decided %s", a.Move.Command, a.Move.State, clock(a.Move.AtUnix))
		t.wrapped("  ", "    ", fmt.Sprintf("%s: %s removed, %s; %s moved; planned savings %s per hour", a.Move.Reason, explain.Many(len(a.Move.Nodes), "node"), explain.Many(len(a.Move.Replacements), "replacement"), explain.Many(a.Move.PodsMoved, "pod"), micro(a.Move.Planned)))
	}
	_, err := io.WriteString(out, t.text.String())
	return err
}

// launch writes what launched a node, and what else it might have been.
func (t *table) launch(b *explain.Launch) {
	if b == nil {
		return
	}
	t.line("")
	t.line("WHY IT WAS LAUNCHED")
	t.wrapped("  ", "    ", fmt.Sprintf("%s  decision %s (%s), after %s: %s", clock(b.AtUnix), b.Decision, b.Trigger, explain.Many(b.Rounds, "plan"), b.For))
	for _, r := range b.Refused[:min(len(b.Refused), mostReasons)] {
		t.wrapped("    ", "      ", "EC2 refused "+r.Offering+": "+r.Reason)
	}
	if len(b.Alternatives) == 0 {
		return
	}
	t.line("  Of %s that would have fit, the cheapest:", explain.Many(b.Acceptable, "instance type"))
	rows := [][]string{{"", "TYPE", "CAPACITY", "ZONE", "$/HOUR"}}
	for _, x := range b.Alternatives {
		mark, cost := "", "-"
		if x.Chosen {
			mark = "*"
		}
		if x.Price > 0 {
			cost = price(x.Price)
		}
		rows = append(rows, []string{"  " + mark, x.InstanceType, x.CapacityType, x.Zone, cost})
	}
	t.grid(rows, "r...r")
}

// Savings writes for people what disrupting nodes came to.
func Savings(out io.Writer, s *explain.Saving) error {
	t := newTable(out)
	t.sentence("Saved %s from %s to %s, when instances cost %s; they save %s per hour now.", sum2(s.Saved), clock(s.FromUnix), clock(s.ToUnix), sum2(s.Spent), micro(s.PerHour))
	t.line("%s, %s moved, %s.", explain.Many(len(s.Moves), "command"),
		explain.Many(s.Pods, "pod"), explain.Many(s.Regrets, "regret"))
	committed := 0
	if len(s.Moves) > 0 {
		t.line("")
		rows := [][]string{{"DECIDED", "REASON", "STATE", "NODES", "NEW", "PODS", "$/HOUR", "SAVED", "COMMAND"}}
		for i := range s.Moves {
			m := &s.Moves[i]
			committed += m.Committed
			if i >= mostMoves {
				continue
			}
			state := m.State
			if m.Regret != "" {
				state = "regretted"
			}
			rows = append(rows, []string{clock(m.AtUnix), m.Reason, state, fmt.Sprint(len(m.Nodes)), fmt.Sprint(len(m.Replacements)), fmt.Sprint(m.PodsMoved), signed(m.PerHour, 4), signed(m.Saved, 2), m.Command})
		}
		t.grid(rows, "...rrrrr.")
		if more := len(s.Moves) - mostMoves; more > 0 {
			t.line("and %s more", explain.Many(more, "command"))
		}
	}
	for i := range s.Moves {
		if m := &s.Moves[i]; m.Regret != "" {
			t.wrapped("", "  ", fmt.Sprintf("Regretted: %s: %s, at %s.", m.Command, m.Regret, clock(m.RegretUnix)))
		}
	}
	if committed > 0 {
		t.wrapped("", "  ", fmt.Sprintf("%s removed were reserved capacity, which is paid for anyway: they count nothing.", explain.Many(committed, "node")))
	}
	_, err := io.WriteString(out, t.text.String())
	return err
}

// Costs writes for people what instances cost and whom it is due to; hourly says that it is what an hour costs.
func Costs(out io.Writer, c *explain.Cost, by string, hourly bool) error {
	t := newTable(out)
	digits, span := 2, fmt.Sprintf("from %s to %s", clock(c.FromUnix), clock(c.ToUnix))
	if hourly {
		digits, span = 4, "per hour"
	}
	t.sentence("Instances cost $%s %s: %s of it is idle, %s is of nodes that launch or terminate.", signed(c.Total, digits), span, percent(c.Idle, c.Total), percent(c.Unseen, c.Total))
	if c.Unpriced > 0 {
		t.wrapped("", "  ", fmt.Sprintf("%s of NodePools with an unknown price are not included.",
			explain.Many(c.Unpriced, "node")))
	}
	t.line("")
	var rows [][]string
	align, n := "", 0
	switch by {
	case ByNamespace:
		rows, align, n = [][]string{{"NAMESPACE", "$", "PART"}}, ".rr", len(c.Namespaces)
		for _, x := range c.Namespaces[:min(n, mostCosts)] {
			rows = append(rows, []string{short(x.Namespace, 60), signed(x.Cost, digits), percent(x.Cost, c.Total)})
		}
	case ByWorkload:
		rows, align, n = [][]string{{"WORKLOAD", "$", "PART", "FAIR"}}, ".rrr", len(c.Workloads)
		for _, x := range c.Workloads[:min(n, mostCosts)] {
			fair := "-"
			if x.Fair > 0 {
				fair = signed(x.Fair, digits)
			}
			rows = append(rows, []string{short(workloadText(&x), 80), signed(x.Cost, digits), percent(x.Cost, c.Total), fair})
		}
	default:
		rows, align, n = [][]string{{"NODEPOOL", "$", "PART", "IDLE", "NODE HOURS"}}, ".rrrr", len(c.Pools)
		for _, x := range c.Pools[:min(n, mostCosts)] {
			rows = append(rows, []string{short(cmp.Or(x.Pool, "-"), 60), signed(x.Cost, digits), percent(x.Cost, c.Total), percent(x.Idle, x.Cost), fmt.Sprintf("%.1f", float64(x.NodeSeconds)/3600)})
		}
	}
	t.grid(rows, align)
	if more := n - mostCosts; more > 0 {
		t.line("and %d more", more)
	}
	t.idle(c, digits)
	_, err := io.WriteString(out, t.text.String())
	return err
}

// idle writes the nodes that idle most, and the workloads that pay far more than their requests are worth.
func (t *table) idle(c *explain.Cost, digits int) {
	nodes := slices.DeleteFunc(slices.Clone(c.Nodes), func(n explain.NodeCost) bool { return n.Idle <= 0 })
	if len(nodes) > 0 {
		t.line("")
		t.line("IDLE NODES, the most expensive first")
		for _, n := range nodes[:min(len(nodes), mostIdle)] {
			text := fmt.Sprintf("%s (%s): %s per hour, %s of it idle", n.Node, cmp.Or(n.Pool, "-"), micro(n.Price), percent(n.Idle, n.Price))
			if len(n.Blocked) > 0 {
				text += "; " + n.Blocked[0].Code + ": " + n.Blocked[0].Message
			}
			t.wrapped("  ", "    ", text)
		}
		if more := len(nodes) - mostIdle; more > 0 {
			t.line("  and %s more", explain.Many(more, "node"))
		}
	}
	expensive := explain.Overpriced(c)
	if len(expensive) == 0 {
		return
	}
	t.line("")
	t.line("WORKLOADS ON INSTANCE TYPES THAT DO NOT FIT THEM")
	for _, w := range expensive[:min(len(expensive), mostIdle)] {
		t.wrapped("  ", "    ", fmt.Sprintf("%s: $%s, and $%s would be enough on fitting instance types", workloadText(&w), signed(w.Cost, digits), signed(w.Fair, digits)))
	}
}

func workloadText(w *explain.WorkloadCost) string {
	return strings.TrimPrefix(w.Kind+" ", " ") + w.Namespace + "/" + w.Name
}

func percent(part, whole model.MicroUSD) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

func signed(amount model.MicroUSD, digits int) string {
	return fmt.Sprintf("%.*f", digits, amount.USD())
}

// sum2 writes a sum of money.
func sum2(amount model.MicroUSD) string {
	if amount < 0 {
		return "-" + dollarsRound((-amount).USD())
	}
	return dollarsRound(amount.USD())
}

// WhyPod writes for people why a pod waits: the answer in one line, however long, then what each NodePool says and what was decided.
func WhyPod(out io.Writer, a *explain.PodAnswer) error {
	t := newTable(out)
	t.line("%s", a.Line())
	if len(a.Pools) > 0 {
		t.line("")
		t.line("NODEPOOLS, the nearest first")
		for i := range a.Pools {
			t.poolWhy(&a.Pools[i])
		}
	}
	t.events(a.Events)
	_, err := io.WriteString(out, t.text.String())
	return err
}

// poolWhy writes what keeps a pod off some NodePools.
func (t *table) poolWhy(why *explain.PoolWhy) {
	for i, obstacle := range why.Obstacles {
		r := reason{Reason: obstacle}
		if i == 0 {
			r.pools = why.Pools
			t.reason(r)
			continue
		}
		t.wrapped("    ", "      ", fmt.Sprintf("and %s: %s", r.Code, r.Message))
		if r.Remedy != "" {
			t.wrapped("      ", "        ", "Remedy: "+r.Remedy)
		}
	}
	if why.Then != nil && !slices.ContainsFunc(why.Obstacles, explain.NeedsElse) && (why.Then.Node != "" || slices.Contains(why.Pools, why.Then.Pool)) {
		t.wrapped("    ", "      ", "Without that "+why.Then.String()+".")
	}
}

// events writes what was decided or happened, with the decision to look into.
func (t *table) events(events []explain.HistoryEvent) {
	if len(events) == 0 {
		return
	}
	t.line("")
	t.line("LATELY")
	for _, e := range events {
		text := clock(e.AtUnix) + "  " + e.Text
		if e.Decision != "" {
			text += " Decision " + e.Decision + "."
		}
		t.wrapped("  ", "    ", text)
	}
}
