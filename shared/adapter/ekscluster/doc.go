// Package ekscluster reads and writes one EKS cluster through its API server.
//
// For functions, [Client] has a part for each subject: [Reader], [Nodes], [Claims], [Pods], [Objects] and [Reporter].
// It lists the cluster into a snapshot, keeps NodeClaim objects in step with the ledger's claims, registers nodes, and
// tells people through events and conditions. It decides how to authenticate (a token that is a signed STS request,
// made anew in good time), how connections outlive a frozen sandbox, and what each answer of the API server means as a
// kind of error. For the watcher, [Watch] follows every kind that decisions look at and hands on each change as the
// model has it; what it keeps in memory is the model's row and not the object. A DaemonSet is handed on as its newest
// pod shows it. Where kube-scheduler is configured with default constraints of spread, both are given them
// (WatchOptions.DefaultSpread, Client.SpreadByDefault) and look at Services and controllers, too; otherwise nobody asks
// for those. Package translate, beside it, says what of an object counts. Which claim, node or condition to write, and
// when, is decided by the flows.
//
// Objects keep to the API of Karpenter: whoever reads NodeClaims with kubectl finds the labels, conditions and reasons
// they know.
//
//	client, err := ekscluster.Connect(config, registration, relay)
//	snapshot, err := client.List(ctx)
//	uid, err := client.PutClaim(ctx, claim)
package ekscluster
