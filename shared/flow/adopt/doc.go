// Package adopt is the flow by which a cluster that Karpenter ran becomes ours, or by which the ledger of one that is ours is
// written anew: each NodeClaim with an instance gets a claim in the ledger, its instance the tag that makes it ours, and its
// hashes are written by our rules. Pods, nodes and instances go on as they are.
//
// It looks first and says what it would do; a second check, under the collector's lease, is what it acts on. What becomes of
// each NodeClaim is core/lifecycle's to say. For each the order is ledger, tag, object: an instance with the tag that nobody
// recorded would be an orphan, which the resync adopts as well, and one that is recorded and not tagged is never ended. So it
// may be killed anywhere and run again.
//
// While Karpenter runs it refuses: two controllers would launch for the same pods, and end each other's nodes.
//
//	flow := adopt.Flow{Registry: ledger, Leases: ledger, Ledger: ledger, Connector: connector, Now: time.Now, Pause: pause}
//	outcome, err := flow.Run(ctx, adopt.Request{Cluster: "prod", Owner: "adopt-7f"})               // only looks
//	outcome, err = flow.Run(ctx, adopt.Request{Cluster: "prod", Owner: "adopt-7f", Apply: true})
package adopt
