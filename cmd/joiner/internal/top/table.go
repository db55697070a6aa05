package top

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/joiner-sh/joiner/cmd/joiner/show"
	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	wideBar, narrowBar = 12, 6 // columns of a bar
	wide               = 110   // columns from which on there is room for wide ones
	mostNodes          = 200   // rows; JSON has all
)

// write writes the view for people.
func (v *view) write(out io.Writer, columns int) error {
	bar := narrowBar
	if columns >= wide {
		bar = wideBar
	}
	pods := 0
	for i := range v.Nodes {
		pods += v.Nodes[i].Pods
	}
	waits := 0
	for i := range v.Pending {
		waits += v.Pending[i].Pods
	}
	sum := fmt.Sprintf("%s: %s, %s, %s pending, $%.4f per hour ($%.0f a month)",
		time.Unix(v.AtUnix, 0).UTC().Format(time.RFC3339), explain.Many(len(v.Nodes), "node"),
		explain.Many(pods, "pod"),
		explain.Many(waits, "pod"), v.Price.USD(), v.Price.USD()*730)
	lines := [][2]string{{"", sum}}
	for _, text := range v.Stopped {
		lines = append(lines, [2]string{"STOPPED: ", text})
	}
	if err := show.Findings(out, lines, ""); err != nil {
		return err
	}
	if len(v.Pools) > 0 {
		rows := [][]string{{"NODEPOOL", "NODES", "PODS", "CPU", "MEMORY", "$/HOUR"}}
		for i := range v.Pools {
			p := &v.Pools[i]
			rows = append(rows, []string{cmp.Or(p.Name, "(none)"), fmt.Sprint(p.Nodes), fmt.Sprint(p.Pods),
				share(p.CPU, p.CPUAllocatable, bar), share(p.Memory, p.MemoryAllocatable, bar), price(p.Price)})
		}
		fmt.Fprintln(out)
		if err := show.Rows(out, rows, ".rr..r", true); err != nil {
			return err
		}
		fmt.Fprintln(out)
		if err := show.Rows(out, v.nodeRows(bar), "......r..r.", true); err != nil {
			return err
		}
	}
	if more := len(v.Nodes) - mostNodes; more > 0 {
		fmt.Fprintf(out, "and %s more; -o json has all\n", explain.Many(more, "node"))
	}
	return v.writePending(out)
}

// nodeRows are the nodes.
func (v *view) nodeRows(bar int) [][]string {
	rows := [][]string{{"NODE", "NODEPOOL", "TYPE", "CAPACITY", "ZONE", "STATE", "PODS", "CPU", "MEMORY", "$/HOUR",
		"AGE"}}
	for i := range v.Nodes[:min(len(v.Nodes), mostNodes)] {
		n := &v.Nodes[i]
		name, _, _ := strings.Cut(n.Name, ".") // of ip-10-0-0-1.us-west-2.compute.internal
		rows = append(rows, []string{name, cmp.Or(n.NodePool, "-"), cmp.Or(n.InstanceType, "-"),
			cmp.Or(n.CapacityType, "-"),
			cmp.Or(n.Zone, "-"), n.State, fmt.Sprint(n.Pods), share(n.CPU, n.CPUAllocatable, bar),
			share(n.Memory, n.MemoryAllocatable, bar), price(n.Price), age(v.AtUnix, n.SinceUnix)})
	}
	return rows
}

func (v *view) writePending(out io.Writer) error {
	if len(v.Pending) == 0 {
		return nil
	}
	fmt.Fprintln(out, "\nPENDING")
	var items [][2]string
	for i := range v.Pending {
		p := &v.Pending[i]
		text := p.Why
		if p.Remedy != "" {
			text = strings.TrimSuffix(text, ".") + ". Remedy: " + p.Remedy
		}
		items = append(items, [2]string{fmt.Sprintf("%s, %s: ", p.Workload, explain.Many(p.Pods, "pod")), text})
	}
	return show.Findings(out, items, "")
}

// share is how much of something is requested, as a bar and a percentage.
func share(of, all int64, columns int) string {
	if all <= 0 {
		return "-"
	}
	full := int(min(int64(columns), (of*int64(columns)+all/2)/all))
	return strings.Repeat("█", full) + strings.Repeat("░", columns-full) + fmt.Sprintf(" %3d%%", of*100/all)
}

func price(amount model.MicroUSD) string {
	if amount == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", amount.USD())
}

// age is how long something is there, as kubectl writes it.
func age(now, since int64) string {
	if since <= 0 || since > now {
		return "-"
	}
	return duration.HumanDuration(time.Duration(now-since) * time.Second)
}
