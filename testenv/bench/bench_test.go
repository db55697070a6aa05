package bench

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// BenchmarkProvision plans every family at several sizes.
func BenchmarkProvision(b *testing.B) {
	for _, family := range problem.Families {
		for _, pods := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("%s/pods=%d", family, pods), func(b *testing.B) {
				provision(b, problem.Spec{Family: family, Pods: pods})
			})
		}
	}
	for _, family := range problem.Existing {
		for _, nodes := range []int{1000, 5000} {
			b.Run(fmt.Sprintf("%s/pods=2000/nodes=%d", family, nodes), func(b *testing.B) {
				provision(b, problem.Spec{Family: family, Pods: 2000, Nodes: nodes})
			})
		}
	}
}

func provision(b *testing.B, spec problem.Spec) {
	p := newProblem(b, spec)
	in := p.Input()
	b.ReportAllocs()
	var plan model.Plan
	for b.Loop() {
		plan = pack.Plan(in)
	}
	report := check.Plan(p, check.FromPlan(plan))
	if len(report.Violations) > 0 || report.Left > 0 {
		b.Errorf("%d pods are left, and broken are %v", report.Left, report.Violations[:min(3, len(report.Violations))])
	}
	b.ReportMetric(float64(len(p.Pods)*b.N)/b.Elapsed().Seconds(), "pods/s")
	b.ReportMetric(report.Price, "USD/h")
	if bounded := bound.Price(p, bound.Options{EmptyHost: true, EveryZone: true, Branches: 1_000_000}); bounded.PerHour > 0 {
		b.ReportMetric(report.Price/bounded.PerHour, "of-bound")
	}
}
