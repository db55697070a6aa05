// Package bound computes a price no plan for a problem can be below, with a proof that does not depend on how well the
// search for it went.
//
// What is kept of a problem: what each offering's node holds after daemons, which offerings a pod's node selector and required
// node affinity admit, that each pod fits the node it is on, and of pods that must not share a host, that a node has one
// at most. Rules over zones are dropped but for one that [Options] may ask to keep; existing capacity is not modeled. Every plan is a solution of what is left, so
// that its price is one the bound may not exceed.
//
// Two bounds are taken and the higher is returned.
//
// The divisible bound. For every offering o take prices λ ≥ 0 of a unit of each resource with λ·capacity(o) ≤ price(o). The
// pods on a node of o are then worth no more than the node costs, so Σ over pods of min over offers of λ(o)·request is a
// lower bound, whatever the λ. The sum is taken pod by pod.
//
// The whole bound. Give each kind of pod a worth π ≥ 0. If no filling of a node of o with whole pods is worth more than
// k(o), then Σ π / max(1, max over offers of k(o)/price(o)) is a lower bound. k is found by branch and bound, and where
// that is cut short the bound in hand is taken. It knows that five pods do not fill a node for five and a half.
//
// Good λ and π come from one linear program over fillings, grown a filling at a time.
//
// A host's share of a spread constraint is counted as a rule only where some host must be without the group's pods: with
// more nodes than pods of the group there is one, and [Options] may say that there always is, since a node that just
// joined is one.
//
//	b, err := bound.Price(p, bound.Options{})
//	ratio := report.Price / b.PerHour
package bound
