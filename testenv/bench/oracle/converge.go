package oracle

import (
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
	bench "github.com/joiner-sh/joiner/testenv/bench/problem"
)

// Converged is what came of a cluster of the benchmarks whose nodes were given back until nothing more was.
type Converged struct {
	DisruptVerdict // sums of all decisions
	Decisions      int
	First, Last    float64 // dollars per hour
}

// EvaluateConvergence gives nodes of a cluster of the benchmarks back, decision by decision until nothing more is found, and evaluates every
// plan as EvaluateDisruptPlan does.
func EvaluateConvergence(spec bench.Spec, depth Depth) (Converged, error) {
	out := Converged{DisruptVerdict: DisruptVerdict{Reasons: map[string]int{}}}
	p, err := bench.New(spec)
	if err != nil {
		return out, err
	}
	out.First = p.PriceOfNodes().USD()
	for {
		out.Last = p.PriceOfNodes().USD()
		plan := disruption.Plan(p.Running())
		if len(plan.Commands) == 0 {
			return out, nil
		}
		if out.Decisions++; out.Decisions > 500 {
			return out, fmt.Errorf("%s: there is no end to it", spec)
		}
		v, err := EvaluateDisruptPlan(ofBench(p), &plan, depth)
		if err != nil {
			return out, fmt.Errorf("%s: decision %d: %w", spec, out.Decisions, err)
		}
		for i := range v.Findings {
			v.Findings[i].Message = fmt.Sprintf("%s, decision %d: %s", spec, out.Decisions, v.Findings[i].Message)
		}
		out.Findings = append(out.Findings, v.Findings...)
		out.Commands, out.Removed, out.Added, out.Moved = out.Commands+v.Commands, out.Removed+v.Removed, out.Added+v.Added, out.Moved+v.Moved
		if p, _, err = p.CarryOut(plan.Commands); err != nil {
			return out, fmt.Errorf("%s: carry out decision %d: %w", spec, out.Decisions, err)
		}
	}
}

// Convergences evaluates clusters of the families of so many nodes, of the first so many seeds, and says what came of each. It reports
// whether all plans hold.
func Convergences(out io.Writer, families []string, sizes []int, seeds uint64, depth Depth) bool {
	sound := true
	for _, nodes := range sizes {
		for _, family := range families {
			for seed := range seeds {
				spec := bench.Spec{Family: family, Nodes: nodes, Seed: seed + 1}
				got, err := EvaluateConvergence(spec, depth)
				fmt.Fprintf(out, "%s: %d decisions, %d commands, %d nodes given back, %d bought, %d pods moved, $%.2f to $%.2f an hour, %d findings\n",
					spec, got.Decisions, got.Commands, got.Removed, got.Added, got.Moved, got.First, got.Last, len(got.Findings))
				for _, f := range got.Findings[:min(5, len(got.Findings))] {
					fmt.Fprintf(out, "  %s %s: pod %s, node %s: %s\n", f.Check, f.Kind, f.Pod, f.Node, f.Message)
				}
				if err != nil {
					fmt.Fprintf(out, "  %v\n", err)
				}
				sound = sound && err == nil && len(got.Findings) == 0
			}
		}
	}
	return sound
}

// ofBench returns a cluster of the benchmarks as one that can be evaluated, which gives each node its daemons' pods under names of its own.
func ofBench(p *bench.Problem) *problem.Problem {
	pods := slices.DeleteFunc(slices.Concat(p.Bound, p.Pods), bench.IsDaemon)
	return &problem.Problem{
		Seed: p.Spec.Seed, Nodes: p.Nodes, Pods: pods, DaemonSets: p.DaemonSets, Budgets: p.Budgets, Pools: p.Pools, Catalog: p.Types,
		Namespaces: []*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{corev1.LabelMetadataName: "default"}}}},
	}
}
