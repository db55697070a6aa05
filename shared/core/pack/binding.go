package pack

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
)

// bindingCost is up to how many pods, times places they are in, binding is gone through pod by pod.
const bindingCost = 500_000

// satisfied reports whether every rule between pods holds, in the end and, where that is not too much to go through, on
// the way there. Where one does not, planned nodes keep the offerings they had.
func (b *solver) satisfied() bool {
	var had []newnodes.Node
	for _, r := range b.planner.Runs {
		had = append(had, r.Nodes...)
	}
	if b.holds() && (!b.rules.Entangled() || !b.surveyable() || b.binds()) {
		return true
	}
	for _, r := range b.planner.Runs {
		for i := range r.Nodes {
			r.Nodes[i].OfferingSet, r.Nodes[i].Mask = had[i].OfferingSet, had[i].Mask
		}
		had = had[len(r.Nodes):]
	}
	return false
}

// surveyable reports whether binding can be gone through pod by pod.
func (b *solver) surveyable() bool {
	places := b.existing.Total
	for _, r := range b.planner.Runs {
		places += len(r.Nodes)
	}
	return len(b.pending)*places <= bindingCost
}

// arrival is a pod that kube-scheduler is to bind.
type arrival struct{ spot, pod int }

// binds goes through binding in a few orders and reports whether every pod is bound in all of them. A plan that holds
// once all are bound may yet have two pods wait for each other, such as two that must not get ahead of one another in
// zones and on nodes.
func (b *solver) binds() bool {
	var all []arrival
	o := b.vacated()
	for i := range o.spots {
		for _, pod := range o.pods(i) {
			all = append(all, arrival{i, pod})
		}
	}
	mixed := make([]arrival, 0, len(all))
	for step, at := strideOf(len(all)), 0; len(mixed) < len(all); at = (at + step) % len(all) {
		mixed = append(mixed, all[at])
	}
	for _, order := range [][]arrival{all, mixed} {
		backward := slices.Clone(order)
		slices.Reverse(backward)
		if !b.vacated().bind(order) || !b.vacated().bind(backward) {
			return false
		}
	}
	return true
}

// strideOf returns a number with no divisor in common with n, about three fifths of it: steps of it meet everything
// once, neighbors far apart.
func strideOf(n int) int {
	step := max(1, n*3/5)
	for divisor(step, n) > 1 {
		step++
	}
	return step
}

// divisor returns the largest common divisor.
func divisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// bind lets the pods arrive, those that are refused again after others, and reports whether all are bound in the end.
// The outcome must be a vacated one.
func (o *outcome) bind(queue []arrival) bool {
	o.started = make(map[start]bool)
	for len(queue) > 0 {
		var left []arrival
		for _, a := range queue {
			if !o.admit(a) {
				left = append(left, a)
			}
		}
		if len(left) == len(queue) {
			return false
		}
		queue = left
	}
	return true
}

// admit binds the pod if its rules hold now.
func (o *outcome) admit(a arrival) bool {
	o.note(a.spot, a.pod, 1)
	if o.brokenBy(a.spot, a.pod) != nil {
		o.note(a.spot, a.pod, -1)
		return false
	}
	c := o.podGroupOf[a.pod]
	if s := (start{a.spot, c}); c.Waits() && !o.started[s] {
		o.started[s] = true
		for _, x := range c.Contributions {
			if value, counts := o.domain(x.TopologyGroup, a.spot); counts {
				o.free[x.TopologyGroup][placeName(value, x.ByHost, a.spot)] += x.Weight
			}
		}
	}
	return true
}
