package performance

import (
	"fmt"
	"slices"
	"strings"
)

// Line is a run in a few lines, for people who wait.
func Line(r Run) string {
	var b strings.Builder
	state := "passed"
	if !r.Passed {
		state = "failed: " + r.Failure
	}
	fmt.Fprintf(&b, "%s, pair %d, %s after %.0f s: %s\n", r.Side, r.Pair, r.Spec, r.Seconds, state)
	for _, p := range r.Phases {
		fmt.Fprintf(&b, "  %-45s %5.0f s (suite: %.0f s), %d pods disrupted, %d nodes at $%.2f an hour, +%d -%d, %d kept, %.0f MiB (%.0f in the cluster), %.2f cores\n",
			p.Name, p.Seconds, p.Suite, p.Disrupted, p.Nodes, p.Price, p.Launched, p.Ended, p.Kept, p.Memory, p.Watcher, p.CPU)
	}
	return b.String()
}

// Section is what docs/upstream.md says of runs.
func Section(runs []Run) string {
	var b strings.Builder
	b.WriteString(sectionHead)
	if len(runs) == 0 {
		b.WriteString("No run is kept.\n")
		return b.String()
	}
	var specs []string
	for _, r := range runs {
		if !slices.Contains(specs, r.Spec) {
			specs = append(specs, r.Spec)
		}
	}
	for _, spec := range specs {
		of := func(side Side) (out []Run) {
			for _, r := range runs {
				if r.Spec == spec && r.Side == side {
					out = append(out, r)
				}
			}
			return out
		}
		theirs, ours := of(Karpenter), of(Joiner)
		fmt.Fprintf(&b, "### %s\n\n%s; %s.\n\n%s", spec, said(Karpenter, theirs), said(Joiner, ours), tableHead)
		for _, name := range phasesOf(append(slices.Clone(theirs), ours...)) {
			row(&b, name, Karpenter, theirs)
			row(&b, name, Joiner, ours)
		}
		fmt.Fprintf(&b, "\n%s\n\n", verdict(theirs, ours))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// verdict counts, of the phases that both sides came to, those in which Joiner does no worse.
func verdict(theirs, ours []Run) string {
	both, sooner, fewer, cheaper := 0, 0, 0, 0
	for _, name := range phasesOf(theirs) {
		k, j := medians(name, theirs), medians(name, ours)
		if k.Name == "" || j.Name == "" {
			continue
		}
		both++
		for _, c := range []struct {
			better bool
			count  *int
		}{{j.Seconds <= k.Seconds, &sooner}, {j.Disrupted <= k.Disrupted, &fewer}, {j.Price <= k.Price, &cheaper}} {
			if c.better {
				*c.count++
			}
		}
	}
	if both == 0 {
		return "Both reached no phase."
	}
	return fmt.Sprintf("Of %d phases that both reached, Joiner finishes no later in %d, disrupts no more pods in %d, and costs no more at the end of %d.", both, sooner, fewer, cheaper)
}

// said is how a side's runs of a spec went.
func said(side Side, runs []Run) string {
	if len(runs) == 0 {
		return string(side) + ": no run is kept"
	}
	passed, loads := 0, []float64{}
	var failures []string
	for _, r := range runs {
		loads = append(loads, r.Load)
		if r.Passed {
			passed++
		} else if !slices.Contains(failures, r.Failure) {
			failures = append(failures, r.Failure)
		}
	}
	text := fmt.Sprintf("%s: %d of %d runs passed, with a load average of %.1f before the run", side, passed, len(runs), median(loads))
	if len(failures) > 0 {
		text += " (" + strings.Join(failures, "; ") + ")"
	}
	return text
}

// phasesOf returns the names of all phases, in the order of the runs.
func phasesOf(runs []Run) (names []string) {
	for _, r := range runs {
		for _, p := range r.Phases {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// typical is the medians of a phase.
type typical struct {
	Name, Kind string // empty where no run came to it

	Seconds, Suite, Disrupted, Launched, Ended, Kept, Nodes, Price, Memory, Watcher, CPU float64
}

func medians(name string, runs []Run) (t typical) {
	var all []Phase
	for _, r := range runs {
		for _, p := range r.Phases {
			if p.Name == name {
				t.Name, t.Kind = name, p.Kind
				all = append(all, p)
			}
		}
	}
	of := func(value func(Phase) float64) float64 {
		values := make([]float64, len(all))
		for i, p := range all {
			values[i] = value(p)
		}
		return median(values)
	}
	t.Seconds, t.Suite = of(func(p Phase) float64 { return p.Seconds }), of(func(p Phase) float64 { return p.Suite })
	t.Disrupted, t.Launched = of(func(p Phase) float64 { return float64(p.Disrupted) }), of(func(p Phase) float64 { return float64(p.Launched) })
	t.Ended, t.Kept = of(func(p Phase) float64 { return float64(p.Ended) }), of(func(p Phase) float64 { return float64(p.Kept) })
	t.Nodes, t.Price = of(func(p Phase) float64 { return float64(p.Nodes) }), of(func(p Phase) float64 { return p.Price })
	t.Memory, t.Watcher = of(func(p Phase) float64 { return p.Memory }), of(func(p Phase) float64 { return p.Watcher })
	t.CPU = of(func(p Phase) float64 { return p.CPU })
	return t
}

// row has the medians of a phase; where a side never came to it, it says so.
func row(b *strings.Builder, name string, side Side, runs []Run) {
	t := medians(name, runs)
	if t.Name == "" {
		fmt.Fprintf(b, "| %s | %s | not reached |  |  |  |  |  |  |  |\n", name, side)
		return
	}
	done := "none went"
	if t.Seconds > 0 {
		done = fmt.Sprintf("%.0f s", t.Seconds)
	}
	fmt.Fprintf(b, "| %s (%s) | %s | %s | %.0f s | %.0f | %.0f / %.0f / %.0f | %.0f | %.2f | %.0f (%.0f) | %.2f |\n", name, t.Kind, side, done,
		t.Suite, t.Disrupted, t.Launched, t.Ended, t.Kept, t.Nodes, t.Price, t.Memory, t.Watcher, t.CPU)
}

// median of an even number of values is the mean of the two in the middle; 0 of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

const tableHead = `| Phase | By | Done after | Suite's time | Pods disrupted | Nodes launched / ended / kept | Nodes | USD an hour | Memory, MiB | CPU, cores |
|---|---|---|---|---|---|---|---|---|---|
`

const sectionHead = `## Performance, beside Karpenter on one computer

` + "`make upstream-performance`" + ` runs upstream's performance suite, unchanged, with Karpenter's own controller and with Joiner in turn.
Each run has a cluster of its own. The tables show medians of the runs in [results.json](../testenv/bench/upstream/e2e/performance/results.json).

| Column | Meaning |
|---|---|
| Done after | Scale-out: until all its pods run. Consolidation: until the last node is gone. Drift: until the last node is gone that the phase began with. |
| Suite's time | What upstream's report says. It includes two or three minutes without a change, and is checked every 15 or 30 s. |
| Pods disrupted | Pods that were evicted, or deleted together with their node, by the API server's audit log. |
| Kept | Nodes that existed before the phase and exist after it. |
| Memory | 95th percentile of all processes of the side. In brackets: the most that runs inside the cluster. |
| CPU | Average. |

The same on both sides:

* the control plane and kube-scheduler, and kwok with the same stages as kubelet of the pods
* five seconds from launch to Node, and one more until it is ready
* instance types c, m and r of generation 5 and later, on demand, with fewer than 32 CPUs, in three zones, at the same prices
* the free capacity of nodes, and the objects, sizes and assertions of the suite

The suite's limits of memory and CPU are lifted on both sides, by its own variables ` + "`KARPENTER_MEMORY_OVERHEAD_MB` and `KARPENTER_CPU_OVERHEAD_CORES`" + `.
The table shows what was used.

What differs:

* Karpenter uses its kwok provider: a launch is a function call that always succeeds, and an instance is gone with its NodeClaim.
  Joiner calls its model of EC2 over the wire, with transactions of its ledger before and after. Its instances take one or two seconds to shut down.
* Joiner launches at most 300 instances of a NodePool in the first minute of a backlog, then twice those of the minute before ([Launch](architecture/launch.md)).
  Karpenter launches all at once.
* Joiner's functions are resident processes here. In AWS they run in Lambda, and only the watcher runs in the cluster.
* Karpenter's nodes reserve 100m of CPU at any size. Joiner's reserve what a kubelet of Amazon Linux 2023 does: 70m of 2 CPUs, 110m of 16.
* Karpenter knows from the start how much memory instances have. Joiner plans with 7.5 % less until it has seen one.
* The computer has two processors. The API server, scheduler and kubelets share them with the side that is measured.

`
