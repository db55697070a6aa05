// Package volume tells where a pod's volumes let it run, how many volumes it attaches, and why a claim lets it run
// nowhere.
//
// An [Index] is made once of a snapshot and asked pod by pod. [Index.ExistingNodeAlternatives] answers for nodes that
// exist, as kube-scheduler would; [Index.NewNodeAlternatives] for nodes yet to be made, which know no host names and
// run the drivers that our nodes can run. Either way the answer is requirements of the node: any one of them must hold,
// so that what a volume wants of a node and what a pod wants of it stay apart, and the domains over which a pod is
// spread are not narrowed by where its volume is. Choosing among nodes and counting what is attached is core/pack's.
//
//	volumes := volume.New(snapshot)
//	alternatives, problem := volumes.NewNodeAlternatives(pod, snapshot.ShapeOf(pod))
//	if problem != nil {
//		return problem.Message // "claim shop/data names the storage class fast, which does not exist"
//	}
//	for _, where := range alternatives { // none: anywhere
//		conflict := claim.Compatible(where, requirement.WellKnown)
//	}
//
// Two things differ from kube-scheduler on purpose. A local volume whose node is gone holds its pod to no host name:
// the node will not come back, the pod's owner is about to make a new claim, and until then one node, not one after the
// other, is kept for it. And a driver's own name for the zone label counts as the zone label, because nodes that are
// starting do not have it yet.
package volume
