package pack

import (
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/placing"
	"github.com/joiner-sh/joiner/shared/model"
)

// FitChecker evaluates single pods against single nodes that exist, by the rules Plan places pods by, as kube-scheduler
// would now: nothing is kept free for daemons to come, and no taint is taken for passing.
type FitChecker struct {
	solver     *solver
	numbers    map[string]int          // existing nodes by name
	podGroupOf map[int]*group.PodGroup // by pod
	placements map[*group.PodGroup]*placing.Placement
}

// NewFitChecker prepares the input's nodes. Pending pods take nothing of any node.
func NewFitChecker(in Input) *FitChecker {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	in.Snapshot = group.WithClaims(in.Snapshot)
	in.Claims = nil
	b := prepare(question{in: &in}, group.NoPreferences, true)
	f := &FitChecker{solver: b, numbers: make(map[string]int), podGroupOf: make(map[int]*group.PodGroup), placements: make(map[*group.PodGroup]*placing.Placement)}
	for n, s := range b.existing.List {
		f.numbers[s.Name] = n
	}
	for _, c := range b.podGroups {
		for _, i := range c.Pods {
			f.podGroupOf[i] = c
		}
	}
	return f
}

// Refusal returns why the pod can be placed nowhere at all; nil where it can be.
func (f *FitChecker) Refusal(pod int) *model.Reason { return f.solver.refused[pod] }

// Check returns the code of every rule that keeps pod i of the snapshot off the named node, sorted; empty where it
// fits.
func (f *FitChecker) Check(pod int, node string) []string {
	c := f.podGroupOf[pod]
	n, known := f.numbers[node]
	switch {
	case c == nil && f.solver.refused[pod] != nil:
		return []string{f.solver.refused[pod].Code}
	case c == nil:
		return []string{Invalid}
	case !known:
		return []string{RequirementConflict}
	}
	l := f.placements[c]
	if l == nil {
		a := placing.Assigner{Planner: f.solver.planner, Existing: f.solver.existing, Rules: f.solver.rules}
		l = a.NewPlacement(c)
		f.placements[c] = l
	}
	return l.Codes(pod, n)
}
