// Package newnodes packs pods onto new nodes for the lowest price.
//
// The problem is vector bin packing with bins of many sizes and costs, and with items that do not go into every bin. A
// [Planner] goes through the pools in their order. On each, a [Packing] opens one node at a time: of the offerings
// worth comparing (shortlist) it takes the one whose filling is worth most for its price, each pod being worth what
// package pricing says. It fills that node so that CPU and memory run out together, and repeats it as often as the
// filling can be. That is first-fit decreasing where bins differ in price, with the dual's prices in place of sizes.
// Several orders are tried, pods are priced again by what they were charged, and the cheapest result is kept. What
// comes of it is written down as claims.
//
// Which file has what: strategies.go the orders, attempt.go what a node is opened with, filling.go what goes onto it,
// packing.go what it is bought as, priced.go and reprice.go what pods are worth, whole.go the last node, cells.go in
// which domains nodes can be, claim.go the claims.
//
// Sources: Johnson, Fast Algorithms for Bin Packing, 1974; Friesen and Langston, Variable Sized Bin Packing, 1986;
// Panigrahy, Talwar, Uyeda and Wieder, Heuristics for Vector Bin Packing, 2011.
//
//	planner := newnodes.NewPlanner(in, dims, rules, markets, daemons)
//	planner.Pack([]*newnodes.PodBatch{{PodGroup: podGroup, Pods: podGroup.Pods, Pools: planner.CandidatePools(podGroup)}})
//	claims, price := planner.Claims()
package newnodes
