// Package topology tells which pods a rule between pods names: the pods an affinity or anti-affinity term is about,
// the pods a spread constraint counts, the pods a selector selects; and which host ports cannot be had twice.
//
// [Peers] is such a set of pods, selected by namespace and labels. Terms that mean the same have the same [Peers.Key],
// whoever wrote them and in whatever order, so that work is done once per set and not once per pod. The meaning is
// kube-scheduler's: what its InterPodAffinity, PodTopologySpread and NodePorts plugins would match. Where the pods are,
// how many a domain holds and what follows from it is core/pack's.
//
//	peers, err := topology.PeersOfTerm(&shape.PodAntiAffinity[0], shape, topology.NamespacesOf(snapshot.Namespaces))
//	if err != nil {
//		return err // "labelSelector.matchExpressions[0]: app In needs at least one value"
//	}
//	if peers.Match(other.Namespace, other.Labels) {
//		// the two must not share a domain
//	}
package topology
