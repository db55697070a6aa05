// Package pack decides which nodes to ask for: [Plan] takes one snapshot, what each class can buy and what is on its
// way, and says which pods fit what exists, which claims to make for the others, and why nothing can hold the rest.
//
// It is a pure function: same input, byte-identical plan, whatever the order of the lists it is given. It does not
// record, launch or report; the flow does. Instance types and their offers come from core/offer.
//
// Planned for are resources, node selectors and required node affinity, taints, pool weights, limits and minValues,
// daemons, existing nodes and claims on their way. A pod that needs pod affinity or anti-affinity, topology spread, host
// ports, volumes or dynamic resources as a hard rule is refused as [NotSupportedYet], and never placed wrongly.
// Preferences are left to kube-scheduler, which weighs them among the nodes there are; of them only PreferNoSchedule
// taints are avoided where it costs nothing but order.
//
// How it works: pods that scheduling cannot tell apart are one class with a count. What a class can buy is a market:
// offers numbered by price, so that a set of offers is a bitset and its cheapest the lowest bit. A node is opened where
// the price for what it carries is best, each pod counting what it would cost at its own best, so that pods that take
// anything are not drawn onto dear nodes of pods that are picky; filled from every class that accepts the offer; and
// repeated as often as the filling can be. A few orders of opening are tried and the cheapest result is kept.
//
//	plan := pack.Plan(pack.Input{
//		Snapshot: snapshot,
//		Catalogs: map[string][]model.InstanceType{"default": types},
//		Claims:   ledger.Claims,
//		NowUnix:  now,
//	})
package pack
