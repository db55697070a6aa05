package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// FitChecker evaluates single pods against single nodes that exist, by the rules Plan places pods by, as kube-scheduler would now:
// nothing is kept free for daemons to come, and no taint is taken for passing.
type FitChecker struct {
	solver     *solver
	numbers    map[string]int          // existing nodes by name
	podGroupOf map[int]*group.PodGroup // by pod
	placements map[*group.PodGroup]*placement
}

// NewFitChecker prepares the input's nodes. Pending pods take nothing of any node.
func NewFitChecker(in input.Input) *FitChecker {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	in.Claims = nil
	b := prepare(question{in: &in}, group.NoPreferences, true)
	f := &FitChecker{solver: b, numbers: make(map[string]int), podGroupOf: make(map[int]*group.PodGroup), placements: make(map[*group.PodGroup]*placement)}
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

// Check returns the code of every rule that keeps pod i of the snapshot off the named node, sorted; empty where it fits.
func (f *FitChecker) Check(pod int, node string) []string {
	c := f.podGroupOf[pod]
	n, known := f.numbers[node]
	switch {
	case c == nil && f.solver.refused[pod] != nil:
		return []string{f.solver.refused[pod].Code}
	case c == nil:
		return []string{input.Invalid}
	case !known:
		return []string{input.RequirementConflict}
	}
	l := f.placements[c]
	if l == nil {
		a := assigner{planner: f.solver.planner, existing: f.solver.existing, rules: f.solver.rules}
		l = a.newPlacement(c)
		f.placements[c] = l
	}
	return l.codes(pod, n)
}

// codes returns the code of every rule that keeps the pod of the pod group off existing node n, sorted.
func (l *placement) codes(pod, n int) []string {
	s, c := l.existing.List[n], l.podGroup
	var out []string
	if hard, _ := c.Untolerated(s.Taints); hard != nil {
		out = append(out, input.TaintNotTolerated)
	}
	if !existing.MeetsAny(c.OwnThere, s) {
		out = append(out, input.RequirementConflict)
	}
	if c.VolumeTerms != nil && !existing.MeetsAny(c.VolumeTerms, s) {
		out = append(out, input.VolumeConflict)
	}
	if !c.Request.Fits(s.Free) {
		out = append(out, input.ResourcesTooLarge)
	}
	if _, clash := topology.PortConflict(c.Ports, s.Ports); clash {
		out = append(out, input.HostPortTaken)
	}
	c.Pods = []int{pod}
	if c.Attaches && !l.existing.Attachable(s, c.Pods) {
		out = append(out, input.VolumeLimit)
	}
	for i := range c.Constraints {
		if code := l.useRefuses(i, n); code != "" {
			out = append(out, code)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// useRefuses returns the code of the pod group's i-th rule where it keeps a pod off existing node n; empty where it does not.
func (l *placement) useRefuses(i, n int) string {
	u, s := &l.podGroup.Constraints[i], l.existing.List[n]
	t := &l.rules.TopologyGroups[u.TopologyGroup]
	value, there := s.Label(t.Key)
	count := t.Count[value]
	if t.Host {
		count = t.ByNode[n]
	}
	switch u.Kind {
	case group.Affinity:
		if u.Claim { // there is no volume yet, and where it will be is not decided
			return ""
		}
		if !there || count == 0 && !l.bootstraps() {
			return input.PodAffinity
		}
	case group.AntiAffinity:
		if there && count > 0 {
			return input.PodAntiAffinity
		}
	case group.Spread:
		low := int32(0)
		if t.Host {
			low = l.hostLow(i, n)
		} else {
			low = l.lowest(t, l.universe[i], u.MinDomains)
		}
		if !there || count+u.Self-low > u.MaxSkew {
			return input.TopologySpread
		}
	}
	return ""
}
