package converge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/measure"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// Decide is what plans: disruption.Plan.
type Decide func(disruption.Input) model.DisruptPlan

// Options say how far to go. The zero value is the usual.
type Options struct {
	Decisions int // at most; 0 = 50
	// Unchecked leaves plans unjudged, where only figures are wanted.
	Unchecked bool
}

// Result is what came of it, as the peer says it, too.
type Result struct {
	Decisions       int     `json:"decisions"` // that had commands
	Commands        int     `json:"commands"`
	Removed         int     `json:"removed"` // nodes given back
	Added           int     `json:"added"`   // nodes that took their place
	PodsMoved       int     `json:"podsMoved"`
	MedianSeconds   float64 `json:"medianSeconds"` // of the decisions that had commands
	MaxSeconds      float64 `json:"maxSeconds"`    //
	CPUSeconds      float64 `json:"cpuSeconds"`    // the most processor time of any decision
	LastSeconds     float64 `json:"lastSeconds"`   // of the one that found nothing
	TotalSeconds    float64 `json:"totalSeconds"`
	TotalCPUSeconds float64 `json:"totalCPUSeconds"` // processor time of all decisions
	AllocBytes      uint64  `json:"allocBytes"`      // the most of any decision
	PeakBytes       uint64  `json:"peakBytes"`       // resident, the problem included
	PriceFirst      float64 `json:"priceFirst"`      // dollars per hour
	PriceLast       float64 `json:"priceLast"`
	NodesFirst      int     `json:"nodesFirst"`
	NodesLast       int     `json:"nodesLast"`
	Finished        bool    `json:"finished"` // a decision found nothing

	Violations []check.Violation `json:"violations,omitempty"` // of all plans; their messages start with the decision
	Steps      []Step            `json:"steps,omitempty"`
}

// Step is one decision.
type Step struct {
	Commands  int     `json:"commands"`
	Removed   int     `json:"removed"`
	Added     int     `json:"added"`
	PodsMoved int     `json:"podsMoved"`
	Seconds   float64 `json:"seconds"`
	Price     float64 `json:"price"` // dollars per hour, once it is carried out
}

// Run carries out one plan after the other, from the problem on. It fails where a plan cannot be carried out at all.
func Run(p *problem.Problem, decide Decide, o Options) (Result, error) {
	if o.Decisions == 0 {
		o.Decisions = 50
	}
	out := Result{PriceFirst: p.PriceOfNodes().USD(), NodesFirst: len(p.Nodes)}
	var seconds []float64
	for range o.Decisions + 1 {
		in := p.Running()
		plan, stats := measure.Disrupt(in, decide)
		took := stats.PlanSeconds
		out.TotalSeconds += took
		out.TotalCPUSeconds += stats.CPUSeconds
		out.CPUSeconds = max(out.CPUSeconds, stats.CPUSeconds)
		out.AllocBytes, out.PeakBytes = max(out.AllocBytes, stats.AllocBytes), max(out.PeakBytes, stats.PeakBytes)
		if !o.Unchecked {
			for _, v := range check.Disrupt(p, &plan, in.NowUnix).Violations {
				out.Violations = append(out.Violations, check.Violation{Rule: v.Rule, Message: fmt.Sprintf("decision %d: %s", out.Decisions+1, v.Message)})
			}
		}
		if len(plan.Commands) == 0 {
			out.Finished, out.LastSeconds = true, took
			break
		}
		if out.Decisions == o.Decisions {
			break
		}
		seconds = append(seconds, took)
		after, moved, err := p.CarryOut(plan.Commands)
		if err != nil {
			return out, fmt.Errorf("carry out decision %d: %w", out.Decisions+1, err)
		}
		p = after
		out.add(&plan, moved, took, p.PriceOfNodes().USD())
	}
	if slices.Sort(seconds); len(seconds) > 0 {
		out.MedianSeconds, out.MaxSeconds = seconds[len(seconds)/2], seconds[len(seconds)-1]
	}
	out.PriceLast, out.NodesLast = p.PriceOfNodes().USD(), len(p.Nodes)
	return out, nil
}

func (r *Result) add(plan *model.DisruptPlan, moved int, seconds, price float64) {
	step := Step{Commands: len(plan.Commands), PodsMoved: moved, Seconds: seconds, Price: price}
	for i := range plan.Commands {
		step.Removed += len(plan.Commands[i].Nodes)
		step.Added += len(plan.Commands[i].Replacements)
	}
	r.Steps = append(r.Steps, step)
	r.Decisions++
	r.Commands += step.Commands
	r.Removed += step.Removed
	r.Added += step.Added
	r.PodsMoved += moved
}

// String returns one line for each decision.
func (r *Result) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d nodes at $%.3f/h\n", r.NodesFirst, r.PriceFirst)
	for i, s := range r.Steps {
		fmt.Fprintf(&out, "  decision %d: %.3f s, %d commands give back %d nodes for %d, %d pods move: $%.3f/h\n", i+1, s.Seconds, s.Commands, s.Removed, s.Added, s.PodsMoved, s.Price)
	}
	fmt.Fprintf(&out, "%d nodes at $%.3f/h", r.NodesLast, r.PriceLast)
	return out.String()
}
