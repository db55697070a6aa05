package bench

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/testenv/bench/bound"
	"github.com/joiner-sh/joiner/testenv/bench/converge"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// TestGivingBackBreaksNoRuleAndEnds disrupts nodes of small clusters of every family until nothing is left to, each plan evaluated.
func TestGivingBackBreaksNoRuleAndEnds(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		for _, family := range problem.Clusters {
			spec := problem.Spec{Family: family, Nodes: 40, Types: 200, Seed: seed}
			t.Run(spec.String(), func(t *testing.T) {
				t.Parallel()
				p := newProblem(t, spec)
				r, err := converge.Run(p, disruption.Plan, converge.Options{Decisions: 20})
				if err != nil {
					t.Fatal(err)
				}
				for i, v := range r.Violations {
					if i == 10 {
						t.Errorf("… and %d more", len(r.Violations)-i)
						break
					}
					t.Error(v)
				}
				t.Log(r.String())
				if !r.Finished {
					t.Errorf("after %d decisions there is always more to do", r.Decisions)
				}
				if r.PriceLast > r.PriceFirst {
					t.Errorf("$%v/h at first, $%v/h in the end", r.PriceFirst, r.PriceLast)
				}
				switch family {
				case "packed":
					if r.Decisions > 0 {
						t.Errorf("%d decisions about a cluster in which nothing is to be had", r.Decisions)
					}
				case "underused":
					nearTheBound(t, p, &r)
				}
			})
		}
	}
}

// TestCommandsHoldOnceCommitted guards that plan and second check agree: of commands that were all committed at once, and whose
// nodes are tainted, each still holds when nothing else has happened. Otherwise nothing would ever be given back.
func TestCommandsHoldOnceCommitted(t *testing.T) {
	commands := 0
	for seed := uint64(1); seed <= 4; seed++ {
		for _, family := range problem.Clusters {
			spec := problem.Spec{Family: family, Nodes: 60, Types: 200, Seed: seed}
			in := spec.Running()
			plan := disruption.Plan(in)
			later, committed := converge.Committed(in, &plan)
			for i := range committed {
				commands++
				if why := disruption.Revalidate(later, &committed[i]); len(why) > 0 {
					t.Errorf("%s: command %d of %d (%s, %d nodes for %d) does not hold: %+v", spec, i, len(committed), committed[i].Reason, len(committed[i].Targets), len(committed[i].Replacements), why[0])
				}
			}
		}
	}
	if commands < 10 {
		t.Errorf("%d commands: that is no test", commands)
	}
}

// nearTheBound evaluates the convergence of a cluster that is mostly empty.
func nearTheBound(t *testing.T, p *problem.Problem, r *converge.Result) {
	t.Helper()
	least := bound.Price(p.FromNothing(), bound.Options{EmptyHost: true, EveryZone: true, Rounds: 300, Branches: 300_000}).PerHour
	switch ratio := r.PriceLast / least; {
	case ratio < 1:
		t.Errorf("$%v/h is below the bound of $%v/h: the bound is wrong", r.PriceLast, least)
	case ratio > mostOverBound:
		t.Errorf("$%v/h is %.3f times the bound of $%v/h, want at most %.2f", r.PriceLast, ratio, least, mostOverBound)
	}
	if r.Decisions > mostDecisions {
		t.Errorf("%d decisions, want at most %d", r.Decisions, mostDecisions)
	}
	if fewest := bound.Moves(bound.NodesOf(p), least*mostOverBound); float64(r.PodsMoved) > mostMoves*float64(fewest) {
		t.Errorf("%d moves, and %d are what no way to %.2f of the bound can do without: want at most %v times as many", r.PodsMoved, fewest, mostOverBound, mostMoves)
	}
}

// BenchmarkGoalConsolidate measures each figure the design promises of giving nodes back, in processes of its own. Its
// metrics are the figures and, as of-goal, how much of what was promised they take: at most 1 where the promise is kept.
func BenchmarkGoalConsolidate(b *testing.B) {
	decisionWithin(b, "one decision over 2,000 nodes in 0.5 s", problem.Spec{Family: "underused", Nodes: 2000}, 0, 0.5)
	decisionWithin(b, "one decision over 5,000 nodes in 3 s", problem.Spec{Family: "underused", Nodes: 5000}, 0, 3)
	decisionWithin(b, "nothing to find on 500 packed nodes in 0.5 s", problem.Spec{Family: "packed", Nodes: 500}, 0, 0.5)
	decisionWithin(b, "drift of 500 of 2,000 packed nodes in 1 s", problem.Spec{Family: "packed", Nodes: 2000}, 500, 1)
	for _, nodes := range []int{100, 500, 1000, 5000} {
		for seed := uint64(1); seed <= 3; seed++ {
			spec := problem.Spec{Family: "underused", Nodes: nodes, Seed: seed}
			b.Run(fmt.Sprintf("%d underused nodes to 1.15 of the bound in 5 decisions and %v of the moves that takes, seed %d", nodes, mostMoves, seed), func(b *testing.B) { converged(b, spec) })
		}
	}
	for _, nodes := range []int{100, 1000, 5000} {
		for seed := uint64(1); seed <= 3; seed++ {
			spec := problem.Spec{Family: "packed", Nodes: nodes, Seed: seed}
			b.Run(fmt.Sprintf("%d packed nodes, of which there is nothing to give back, seed %d", nodes, seed), func(b *testing.B) { stays(b, spec) })
		}
	}
}

// decisionWithin measures one decision, the best of a few, which is what it takes on a machine nobody else uses.
func decisionWithin(b *testing.B, name string, spec problem.Spec, drifted int, seconds float64) {
	b.Run(name, func(b *testing.B) {
		var best converge.Result
		for b.Loop() {
			for range 3 {
				r, err := converge.Once(spec, drifted)
				if err != nil {
					b.Fatal(err)
				}
				if best.TotalSeconds == 0 || r.TotalSeconds < best.TotalSeconds {
					best = r
				}
			}
		}
		if spec.Family == "packed" && (best.Decisions > 0) != (drifted > 0) {
			b.Errorf("of %d drifted nodes: %s", drifted, best.String())
		}
		b.ReportMetric(0, "ns/op") // of the whole process, problem and all
		b.ReportMetric(best.TotalSeconds*1e3, "decision-ms")
		b.ReportMetric(best.CPUSeconds*1e3, "cpu-ms")
		b.ReportMetric(float64(best.PeakBytes)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(best.AllocBytes)/(1<<20), "alloc-MiB")
		b.ReportMetric(float64(best.PodsMoved), "pods-moved")
		b.ReportMetric(best.TotalSeconds/seconds, "of-goal")
	})
}

// What a convergence may take: decisions, the price for the bound, and moves for those that no way to a price within that
// share of the bound can do without.
const (
	mostDecisions = 5
	mostOfBound   = 1.15
	mostMoves     = 1.3
)

// converged measures a whole convergence.
func converged(b *testing.B, spec problem.Spec) {
	p := newProblem(b, spec)
	least := bound.Price(p.FromNothing(), bound.Options{EmptyHost: true, EveryZone: true, Branches: 1_000_000}).PerHour
	var r converge.Result
	for b.Loop() {
		var err error
		if r, err = converge.Start(spec, converge.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	if len(r.Violations) > 0 || !r.Finished {
		b.Errorf("finished %v, broken are %v", r.Finished, r.Violations[:min(3, len(r.Violations))])
	}
	b.Log(r.String())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.PriceLast/least, "of-bound")
	b.ReportMetric(float64(r.Decisions), "decisions")
	fewest := bound.Moves(bound.NodesOf(p), least*mostOfBound)
	b.ReportMetric(float64(r.PodsMoved), "pods-moved")
	b.ReportMetric(float64(fewest), "fewest-moves")
	b.ReportMetric(r.MaxSeconds*1e3, "decision-ms")
	b.ReportMetric(r.CPUSeconds*1e3, "cpu-ms")
	b.ReportMetric(float64(r.PeakBytes)/(1<<20), "peak-MiB")
	b.ReportMetric(max(r.PriceLast/least/mostOfBound, float64(r.Decisions)/mostDecisions, float64(r.PodsMoved)/(mostMoves*float64(fewest))), "of-goal")
}

// stays measures how soon it is known that a cluster stays as it is, of which nothing is available.
func stays(b *testing.B, spec problem.Spec) {
	var r converge.Result
	for b.Loop() {
		var err error
		if r, err = converge.Start(spec, converge.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	if len(r.Violations) > 0 || !r.Finished || r.Decisions > 0 {
		b.Errorf("finished %v after %d decisions, broken are %v", r.Finished, r.Decisions, r.Violations[:min(3, len(r.Violations))])
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(r.LastSeconds*1e3, "decision-ms")
	b.ReportMetric(r.CPUSeconds*1e3, "cpu-ms")
	b.ReportMetric(float64(r.PeakBytes)/(1<<20), "peak-MiB")
	b.ReportMetric(r.PriceLast, "USD/h")
}
