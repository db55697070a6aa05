// Package pack decides which nodes to ask for: [Plan] takes one snapshot, what each class can buy and what is on its
// way, and says which pods fit what exists, which claims to make for the others, and why nothing can hold the rest.
// [FitChecker] evaluates a single pod on a single node that exists, by the same rules.
//
// It is a pure function: same input, byte-identical plan, whatever the order of the lists it is given. It does not
// record, launch or report; the flow does. Instance types and their offerings come from core/offering, which pods a
// rule names from core/topology, where volumes may be from core/volume.
//
// Planned for are resources, node selectors and affinity, taints, pod affinity and anti-affinity with its symmetry,
// topology spread, host ports, volumes, priorities, pool weights, limits and minValues, daemons, reserved capacity,
// existing nodes and claims on their way. A pod with dynamic resources is refused as [NotSupportedYet], never placed
// wrongly. Preferences for nodes are kept where some pool can meet them, heaviest first; preferences between pods where
// the whole plan costs little more for it.
//
// How it works. Each part is a package below this one and knows only those before it:
//
//   - input has what is asked, and the codes of reasons; vector has sums of several resources, sets, and the search for
//     room; terms reads what a pod says of its node.
//   - offerings makes what a NodePool can buy a set of columns numbered by price, so that a set of offerings is a
//     bitset and its cheapest the lowest bit.
//   - group makes pods that scheduling cannot tell apart one pod group with a count, and rules between pods topology
//     groups: how many pods of a set are in each domain of a label.
//   - existing makes what exists, or is on its way, nodes with free capacity, all at once or, for few pods, in turn
//     until they are placed. What-ifs of one cluster share a [Simulator], whose memory copies the nodes whose pods are
//     what they were.
//   - pricing says what a pod costs at its best, given what else there is to fill nodes with: the dual of the linear
//     program without whole pods and whole nodes.
//   - newnodes packs pods onto new nodes. A node is opened where the price for what it carries is best, each pod
//     counting what it would cost at its own best, so that pods that take anything are not drawn onto expensive nodes
//     of picky ones; filled so that CPU and memory run out together; and repeated as often as the filling can be. A few
//     orders are tried; the cheapest result is kept.
//   - placing gives every pod group its place by counting: an existing node, or the domains of its new nodes. A pod
//     whose zone, capacity type or custom label matters to a rule is pinned to the domain that was counted, so that
//     packing need not know of rules between nodes.
//
// Here, on top, is the order in which they are asked (plan.go), on a solver that all of it works on (solver.go). Pods
// that must share a host become one unit (bundle.go). What is left over, or could do with what exists, is tried
// elsewhere (retry.go, shift.go, relocate.go). The plan is looked at as kube-scheduler will once every node is there,
// whatever the order of binding; a pod for which a rule would not hold is taken off again (verify.go, settle.go,
// binding.go). What has no place gets its reasons (reason.go).
//
// All bounds on effort are counts, never time.
//
//	plan := pack.Plan(pack.Input{
//		Snapshot: snapshot,
//		Catalogs: map[string][]model.InstanceType{"default": types},
//		Claims:   ledger.Claims,
//		NowUnix:  now,
//	})
package pack
