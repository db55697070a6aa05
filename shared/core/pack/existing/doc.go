// Package existing is the capacity that is there or on its way: nodes, and claims whose node has not joined.
//
// A [Node] is one of them, with what is free there once its pods and the DaemonSets yet to come have theirs. A claim
// that may still become any of several instance types is as small as the smallest, and a pod fits only where it fits
// all of them. [Nodes] is all of them, each read when somebody looks at it. Those that no pod group can tell apart have
// one signature and one index, so that whether a pod group may go there is asked once for all of them. A [Counter]
// counts their pods in topology groups.
//
// Plans of one cluster share a [Memory]: only nodes whose pods have changed are made again. It is what Karpenter's
// state.Cluster and kube-scheduler's cache.Snapshot with its generations are for, without notice of changes.
//
//	nodes := existing.New(in, dims, markets, daemons, false, nil)
//	nodes.Build(len(pending), moving, keys)
//	if existing.Evaluate(podGroup, nodes.List[0]) == existing.Refused {
//		return
//	}
package existing
