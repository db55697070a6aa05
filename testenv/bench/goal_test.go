package bench

import (
	"math"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/measure"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// BenchmarkGoal measures each figure the design promises, every plan in a process of its own. Its metrics are the figure
// and, as of-goal, how much of what was promised it takes: at most 1 where the promise is kept.
func BenchmarkGoal(b *testing.B) {
	goalOf(b, "bench 10,000 pods in 0.2 s", problem.Spec{Family: "bench", Pods: 10_000}, 0.2, 0)
	for _, family := range problem.Families {
		goalOf(b, family+" 20,000 pods in 1 s", problem.Spec{Family: family, Pods: 20_000}, 1, 0)
	}
	goalOf(b, "100,000 pods on 10,000 nodes in 3 s and 1 GiB", problem.Spec{Family: "existing", Pods: 100_000, Nodes: 10_000}, 3, 1<<30)
	goalOf(b, "10 pods onto 5,000 nodes in 10 ms", problem.Spec{Family: "existing", Pods: 10, Nodes: 5000}, 0.010, 0)
	for _, family := range problem.Families {
		b.Run("growth of "+family+" at most 1.1", growth(family))
	}
	b.Run("price at most 1.15 of the bound, median 1.08", prices)
}

// BenchmarkGoalBacklog measures what the bound of a plan comes to: 60,000 pods of 12,000 workloads with rules of their own, in as many
// plans as it takes, on one processor. of-goal is the most expensive plan's part of 60 % of provision's 30 s, of 60 % of its 1,769 MB, and the
// number of plans of five.
func BenchmarkGoalBacklog(b *testing.B) {
	b.Setenv("GOMAXPROCS", "1")
	for range b.N {
		answer, err := measure.Start(problem.Spec{Family: "backlog", Pods: 60_000})
		if err != nil {
			b.Fatal(err)
		}
		s := answer.Stats
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(s.Pods), "plans")
		b.ReportMetric(s.CPUSeconds, "cpu-s-of-the-dearest")
		b.ReportMetric(s.PlanSeconds, "plan-s-of-the-dearest")
		b.ReportMetric(float64(s.PeakBytes)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(len(answer.Claims)), "claims")
		b.ReportMetric(max(s.CPUSeconds/18, float64(s.PeakBytes)/(0.6*1769e6), float64(s.Pods)/5), "of-goal")
	}
}

// planned returns how long the plan took at best, which is what it takes on a machine nobody else uses, and the most
// memory.
func planned(b *testing.B, spec problem.Spec) check.Stats {
	b.Helper()
	var stats check.Stats
	for i := 0; b.Loop(); i++ {
		answer, err := measure.Start(spec)
		if err != nil {
			b.Fatal(err)
		}
		if i == 0 || answer.Stats.PlanSeconds < stats.PlanSeconds {
			stats.PlanSeconds = answer.Stats.PlanSeconds
		}
		stats.PeakBytes, stats.AllocBytes = max(stats.PeakBytes, answer.Stats.PeakBytes), answer.Stats.AllocBytes
	}
	return stats
}

// goalOf measures one plan against seconds and, where they are not 0, bytes of peak memory.
func goalOf(b *testing.B, name string, spec problem.Spec, seconds float64, bytes uint64) {
	b.Run(name, func(b *testing.B) {
		stats := planned(b, spec)
		ofGoal := stats.PlanSeconds / seconds
		if bytes > 0 {
			ofGoal = max(ofGoal, float64(stats.PeakBytes)/float64(bytes))
		}
		b.ReportMetric(0, "ns/op") // of the whole process, problem and all
		b.ReportMetric(stats.PlanSeconds*1e3, "plan-ms")
		b.ReportMetric(float64(stats.PeakBytes)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(stats.AllocBytes)/(1<<20), "alloc-MiB")
		b.ReportMetric(ofGoal, "of-goal")
	})
}

// growth fits time = c · pods^exponent over sizes from 1,000 to 20,000.
func growth(family string) func(*testing.B) {
	return func(b *testing.B) {
		sizes := []int{1000, 2000, 5000, 10_000, 20_000}
		best := make([]float64, len(sizes))
		for b.Loop() {
			for i, pods := range sizes {
				for range 3 {
					answer, err := measure.Start(problem.Spec{Family: family, Pods: pods})
					if err != nil {
						b.Fatal(err)
					}
					if best[i] == 0 || answer.Stats.PlanSeconds < best[i] {
						best[i] = answer.Stats.PlanSeconds
					}
				}
			}
		}
		exponent := slope(sizes, best)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(exponent, "exponent")
		b.ReportMetric(exponent/1.1, "of-goal")
	}
}

// slope returns the slope of the line of least squares through log y over log x.
func slope(x []int, y []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range x {
		lx, ly := math.Log(float64(x[i])), math.Log(y[i])
		sx, sy, sxx, sxy = sx+lx, sy+ly, sxx+lx*lx, sxy+lx*ly
	}
	n := float64(len(x))
	return (n*sxy - sx*sy) / (n*sxx - sx*sx)
}

func TestSlopeFindsTheExponent(t *testing.T) {
	x := []int{10, 100, 1000}
	y := []float64{2 * math.Pow(10, 1.3), 2 * math.Pow(100, 1.3), 2 * math.Pow(1000, 1.3)}
	if got := slope(x, y); math.Abs(got-1.3) > 1e-9 {
		t.Errorf("exponent %v, want 1.3", got)
	}
}

// prices plans every family with three seeds and holds each price against its bound.
func prices(b *testing.B) {
	var ratios []float64
	for b.Loop() {
		ratios = nil
		for _, family := range problem.Families {
			for seed := uint64(1); seed <= 3; seed++ {
				ratios = append(ratios, ratio(b, problem.Spec{Family: family, Pods: 5000, Seed: seed}))
			}
			b.Logf("%s, 5,000 pods: %.3f of the bound, by seed", family, ratios[len(ratios)-3:])
		}
	}
	slices.Sort(ratios)
	highest, median := ratios[len(ratios)-1], ratios[len(ratios)/2]
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(highest, "highest-of-bound")
	b.ReportMetric(median, "median-of-bound")
	b.ReportMetric(max(highest/1.15, median/1.08), "of-goal")
}

func ratio(b *testing.B, spec problem.Spec) float64 {
	p := newProblem(b, spec)
	answer, err := measure.Start(spec)
	if err != nil {
		b.Fatal(err)
	}
	report := check.Plan(p, answer)
	if len(report.Violations) > 0 || report.Left > 0 {
		b.Errorf("%s: %d pods are left, and broken are %v", spec, report.Left, report.Violations[:min(3, len(report.Violations))])
	}
	return report.Price / bound.Price(p, bound.Options{EmptyHost: true, EveryZone: true, Branches: 1_000_000}).PerHour
}
