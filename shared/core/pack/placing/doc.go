// Package placing gives every pod group its place by counting: an existing node, or the topology domains of its new
// nodes.
//
// A rule between pods of different nodes is a condition on how many pods of a set are in each domain. An [Assigner]
// takes one pod group after the other. A [Placement] puts its pods one by one where every count allows it: required
// affinity, anti-affinity of its own and of others, topology spread with its skew. Where several domains do,
// preferences, balance and price decide. A pod that needs a new node is pinned to the domain it was counted in, so that
// packing need not know of rules between nodes.
//
// The conditions are kube-scheduler's, of its plugins InterPodAffinity and PodTopologySpread (filtering.go in each).
// The greedy order is that of scheduling one pod at a time, but for whole groups.
//
//	assigner := placing.Assigner{Planner: planner, Existing: nodes, Rules: rules, MayOpen: true}
//	for _, podGroup := range group.InOrder(podGroups) {
//		podBatches = append(podBatches, assigner.Place(podGroup)...)
//	}
package placing
