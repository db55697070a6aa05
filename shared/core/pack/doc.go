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
// How it works, in the order of the files:
//
//  1. Pods that scheduling cannot tell apart are one pod group with a count (podgroup.go, demand.go). Rules between pods become
//     topology groups: how many pods of a set are in each domain of a label (rules.go).
//  2. What exists, or is on its way, becomes existing nodes with free capacity, all at once or, for few pods, in turn until they are
//     placed; an index finds the first with enough (existing.go, build.go, finder.go). What-ifs of one cluster share a
//     simulator, which copies the nodes whose pods are what they were (simulator.go, cache.go).
//  3. Every pod group gets its place: an existing node, or the domains of its new nodes (assign.go). A pod whose zone, capacity type or
//     custom label matters to a rule is pinned to the domain that was counted, so that packing need not know of rules
//     between nodes. Pods that must share a host become one unit (bundle.go).
//  4. What a pod group can buy is a market: offerings numbered by price, so that a set of offerings is a bitset and its cheapest
//     the lowest bit (market.go, pool.go, variant.go). A node is opened where the price for what it carries is best, each
//     pod counting what it would cost at its own best, so that pods that take anything are not drawn onto expensive nodes of
//     picky ones; filled so that CPU and memory run out together; and repeated as often as the filling can be (packing.go,
//     attempt.go). What a pod costs at its best follows from what else there is to fill nodes with: it is the dual of the
//     linear program without whole pods and whole nodes (pricing.go), which also says what each zone costs where rules
//     leave a choice. A few orders of opening are tried, and pods are priced again by what they were charged
//     (reprice.go); the cheapest result is kept, with one node for all that is left in the end where that is cheaper
//     (whole.go).
//  5. The plan is looked at as kube-scheduler will once every node is there, whatever the order of binding; a pod for
//     which a rule would not hold is taken off again (verify.go).
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
