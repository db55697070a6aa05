package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

// FitChecker evaluates single pods against single nodes that exist, by the rules Plan places pods by, as kube-scheduler would now:
// nothing is kept free for daemons to come, and no taint is taken for passing.
type FitChecker struct {
	solver     *solver
	numbers    map[string]int    // existing nodes by name
	podGroupOf map[int]*podGroup // by pod
	placements map[*podGroup]*placement
}

// NewFitChecker prepares the input's nodes. Pending pods take nothing of any node.
func NewFitChecker(in input.Input) *FitChecker {
	if in.Snapshot == nil {
		in.Snapshot = &model.Snapshot{}
	}
	in.Claims = nil
	b := prepare(question{in: &in}, noPreferences, true)
	f := &FitChecker{solver: b, numbers: make(map[string]int), podGroupOf: make(map[int]*podGroup), placements: make(map[*podGroup]*placement)}
	for n, s := range b.existing.nodes {
		f.numbers[s.name] = n
	}
	for _, c := range b.podGroups {
		for _, i := range c.pods {
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
	s, c := l.existing.nodes[n], l.podGroup
	var out []string
	if hard, _ := c.untolerated(s.taints); hard != nil {
		out = append(out, input.TaintNotTolerated)
	}
	if !meetsAny(c.ownThere, s) {
		out = append(out, input.RequirementConflict)
	}
	if c.volumeTerms != nil && !meetsAny(c.volumeTerms, s) {
		out = append(out, input.VolumeConflict)
	}
	if !c.request.Fits(s.free) {
		out = append(out, input.ResourcesTooLarge)
	}
	if _, clash := topology.PortConflict(c.ports, s.ports); clash {
		out = append(out, input.HostPortTaken)
	}
	c.pods = []int{pod}
	if c.attaches && !l.existing.attachable(s, c.pods) {
		out = append(out, input.VolumeLimit)
	}
	for i := range c.constraints {
		if code := l.useRefuses(i, n); code != "" {
			out = append(out, code)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// useRefuses returns the code of the pod group's i-th rule where it keeps a pod off existing node n; empty where it does not.
func (l *placement) useRefuses(i, n int) string {
	u, s := &l.podGroup.constraints[i], l.existing.nodes[n]
	t := &l.rules.topologyGroups[u.topologyGroup]
	value, there := s.label(t.key)
	count := t.count[value]
	if t.host {
		count = t.byNode[n]
	}
	switch u.kind {
	case affinity:
		if u.claim { // there is no volume yet, and where it will be is not decided
			return ""
		}
		if !there || count == 0 && !l.bootstraps() {
			return input.PodAffinity
		}
	case antiAffinity:
		if there && count > 0 {
			return input.PodAntiAffinity
		}
	case spread:
		low := int32(0)
		if t.host {
			low = l.hostLow(i, n)
		} else {
			low = l.lowest(t, l.universe[i], u.minDomains)
		}
		if !there || count+u.self-low > u.maxSkew {
			return input.TopologySpread
		}
	}
	return ""
}
