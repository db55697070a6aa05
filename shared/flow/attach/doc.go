// Package attach is the flow by which a cluster becomes one of the installation's, and by which it leaves.
//
// To attach, EKS is asked for the cluster, the desired registration is compared with that, and the registration is written: from the next
// tick on the functions see to it. It may be repeated; what nobody said otherwise stays as it was, above all whether the cluster
// is paused.
//
// To detach is refused while the ledger has instances of the cluster, because nobody would know of them any more: who they belong
// to, and what they cost. Before it begins the cluster is paused and every lease of it taken, so that nobody launches or ends
// anything meanwhile, or afterwards with what they read before. The registration goes last: whatever dies in between is run again.
//
// A hand-over leaves instances, nodes and pods as they are, to Karpenter or to people. Karpenter takes NodeClaims as they are: the
// finalizer is the one it uses itself, and hashes of rules that it does not know it computes anew. For people the finalizers
// are taken off, since nobody would any more when they delete a node.
//
//	flow := attach.Flow{Registry: ledger, Clusters: eks, Leases: ledger, Ledger: ledger, Now: time.Now, Pause: pause}
//	outcome, err := flow.Attach(ctx, attach.Desired{Registration: model.Registration{Cluster: "web", Region: "us-west-2"}})
//	left, err := flow.Detach(ctx, attach.DetachRequest{Cluster: "web", Owner: "detach-7f"})
package attach
