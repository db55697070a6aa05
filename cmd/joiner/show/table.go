package show

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	columns       = 120
	hoursPerMonth = 730
	mostRows      = 30 // of new nodes
	mostNodes     = 5  // of those that exist
	mostReasons   = 20 // entries of pods nothing can hold
	mostPools     = 6  // named in one reason
)

// Table writes a plan for people.
func Table(out io.Writer, r *Result) error {
	t := &table{r: r}
	t.summary()
	t.newNodes()
	t.existingNodes()
	t.unschedulable()
	t.notPlanned()
	_, err := io.WriteString(out, t.text.String())
	return err
}

type table struct {
	r    *Result
	text strings.Builder
}

func (t *table) line(format string, args ...any) {
	text := plain(fmt.Sprintf(format, args...))
	t.text.WriteString(strings.TrimRight(text, " "))
	t.text.WriteByte('\n')
}

// plain is text with what a terminal would obey, or show as nothing, as spaces: names in a file may hold anything.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
}

func (t *table) summary() {
	plan := &t.r.Plan
	pods := t.r.Pods()
	if pods == 0 {
		t.line("No pending pods: nothing to launch.")
		return
	}
	var onNew, onOld int
	for i := range plan.Claims {
		onNew += len(plan.Claims[i].Pods)
	}
	for i := range plan.Nominations {
		onOld += len(plan.Nominations[i].Pods)
	}
	who := many(pods-t.r.Headroom, "pending pod")
	if room := t.r.Headroom; room > 0 {
		who = strings.TrimPrefix(who+" and ", "0 pending pods and ") + many(room, "placeholder pod") + " of CapacityBuffers"
	}
	t.line("%s: %d on %s, %d on existing capacity, %d unschedulable.", who,
		onNew, many(len(plan.Claims), "new node"), onOld, len(plan.Unschedulable))
	if len(plan.Claims) > 0 {
		t.line("New nodes cost %s per hour, %s per month.", dollars(plan.Price.USD()), dollarsRound(plan.Price.USD()*hoursPerMonth))
	}
}

// newNodes writes a line for each kind of new node, the one that costs most in all first.
func (t *table) newNodes() {
	groups := fold(t.r)
	if len(groups) == 0 {
		return
	}
	shown := groups[:min(len(groups), mostRows)]
	head, align := []string{"NODES", "POOL", "CHEAPEST OFFERING", "ZONE", "$/HOUR", "IN ALL", "TYPES", "MAY BE IN", "PODS", "CPU", "MEMORY"}, "r...rrr.rrr"
	devices := slices.ContainsFunc(shown, func(g *group) bool { return g.devices() != "" })
	if devices {
		head, align = append(head, "DEVICES"), align+"."
	}
	rows := [][]string{head}
	for _, g := range shown {
		row := []string{
			fmt.Sprint(g.nodes), short(g.pool, 20), short(g.offering.InstanceType+" "+g.offering.CapacityType, 28), g.offering.Zone, price(g.price), price(g.total()),
			g.types.String(), g.zones, g.pods.String(), g.filled(model.CPU), g.filled(model.Memory),
		}
		if devices {
			row = append(row, g.devices())
		}
		rows = append(rows, row)
	}
	t.line("")
	t.grid(rows, align)
	if more := groups[len(shown):]; len(more) > 0 {
		var nodes int
		var all model.MicroUSD
		for _, g := range more {
			nodes, all = nodes+g.nodes, all+g.total()
		}
		t.line("and %s of %s more, %s per hour", many(nodes, "node"), many(len(more), "kind"), dollars(all.USD()))
	}
}

// dispensable are the columns left out, first to last, where a table is too wide.
var dispensable = []string{"ZONE", "IN ALL", "TYPES", "DEVICES", "MAY BE IN"}

// grid writes rows in columns, right-justified where align has an r.
func (t *table) grid(rows [][]string, align string) {
	width := widths(rows)
	for _, head := range dispensable {
		if sum(width)+2*(len(width)-1) <= columns {
			break
		}
		if c := slices.Index(rows[0], head); c >= 0 {
			for i := range rows {
				rows[i] = slices.Delete(rows[i], c, c+1)
			}
			align, width = align[:c]+align[c+1:], slices.Delete(width, c, c+1)
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for c, cell := range row {
			if c > 0 {
				line.WriteString("  ")
			}
			space := strings.Repeat(" ", width[c]-len([]rune(cell)))
			if align[c] == 'r' {
				line.WriteString(space + cell)
			} else {
				line.WriteString(cell + space)
			}
		}
		t.line("%s", short(strings.TrimRight(line.String(), " "), columns))
	}
}

// widths returns how wide each column is.
func widths(rows [][]string) []int {
	out := make([]int, len(rows[0]))
	for _, row := range rows {
		for c, cell := range row {
			out[c] = max(out[c], len([]rune(cell)))
		}
	}
	return out
}

func sum(list []int) int {
	n := 0
	for _, v := range list {
		n += v
	}
	return n
}

func (t *table) existingNodes() {
	nominations := t.r.Plan.Nominations
	if len(nominations) == 0 {
		return
	}
	nominations = slices.Clone(nominations)
	slices.SortStableFunc(nominations, func(a, b model.Nomination) int { return cmp.Compare(len(b.Pods), len(a.Pods)) })
	rows := [][]string{{"PODS", "EXISTING NODE, OR IN-FLIGHT NODECLAIM"}}
	for i, n := range nominations {
		if i == mostNodes {
			break
		}
		rows = append(rows, []string{fmt.Sprint(len(n.Pods)), n.Node})
	}
	t.line("")
	t.grid(rows, "r.")
	if more := len(nominations) - mostNodes; more > 0 {
		var pods int
		for _, n := range nominations[mostNodes:] {
			pods += len(n.Pods)
		}
		t.line("and %s on %s more", many(pods, "pod"), many(more, "node"))
	}
}

func (t *table) notPlanned() {
	if len(t.r.NotPlanned) == 0 {
		return
	}
	t.line("")
	t.line("Not planned:")
	for _, why := range slices.Sorted(maps.Keys(t.r.NotPlanned)) {
		t.wrapped("  ", "    ", fmt.Sprintf("%s: %s", many(t.r.NotPlanned[why], "pod"), why))
	}
}

// wrapped writes text in lines of at most columns.
func (t *table) wrapped(first, others, text string) {
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		if !empty && len([]rune(line))+1+len([]rune(word)) > columns {
			t.line("%s", line)
			line, empty = others, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	t.line("%s", line)
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func price(amount model.MicroUSD) string { return fmt.Sprintf("%.4f", amount.USD()) }

func dollars(amount float64) string { return fmt.Sprintf("$%.4f", amount) }

func dollarsRound(amount float64) string {
	if amount < 100 {
		return fmt.Sprintf("$%.2f", amount)
	}
	return fmt.Sprintf("$%.0f", amount)
}

// short cuts text that is longer than most.
func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
