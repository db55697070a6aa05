// Package group turns pending pods into pod groups and the rules between them into counts.
//
// A [PodGroup] is pods that scheduling cannot tell apart: work is done once per group and not once per pod, as in bin
// packing with few item sizes (high-multiplicity bin packing; kube-scheduler's equivalence classes). [ShapeFacts] is
// what a shape says by itself, read once for all plans of a simulator; a [Classifier] adds what volumes and other pods'
// rules say of it.
//
// [PodRules] has the rules between pods as kube-scheduler's plugins InterPodAffinity and PodTopologySpread understand
// them. Each becomes a [TopologyGroup]: how many pods of a set are in each domain of a node label. A rule then is a
// [Constraint] on one such count, and a pod's place a [Contribution] to it.
//
//	rules := group.NewPodRules(snapshot, group.AllPreferences)
//	classifier := &group.Classifier{Snapshot: snapshot, Facts: facts, Rules: rules}
//	podGroups, refused := classifier.PodGroupsOf(pending, nil)
package group
