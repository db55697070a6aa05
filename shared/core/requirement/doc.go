// Package requirement is the algebra of node label requirements: what a list of conditions such as "zone In [a b]" and
// "cpu Gt 3" means as sets of values, whether two lists can hold on one node, and what remains when both must.
//
// A [Set] is everything one key may be: some values or all but some, within integer bounds, and whether the label may be
// absent. [Requirements] are Sets by key. Both are values: every operation returns a new one. What a person wrote is
// checked by [From] and never panics; what it means to a pod or a pool is core/pack's.
//
//	pool, err := requirement.From(pool.Template.Requirements)
//	pod, err := requirement.From(podRequirements)
//	if conflict := pool.Compatible(pod, requirement.WellKnown); conflict != nil {
//		return conflict // "kubernetes.io/arch In [arm64] does not meet kubernetes.io/arch In [amd64]"
//	}
//	both := pool.Intersect(pod)
package requirement
