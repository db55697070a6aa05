// Package interruption owns a claim's death. A look finds what is to end: what people deleted, what has come of age, what is
// unhealthy, what never joined, what EC2 takes back or has ended. What AWS says by itself is heard as notices. A drain run
// empties the nodes of whatever is to end, step by step, terminates their instances and closes their claims. Instances that
// belong to nobody are adopted or terminated.
//
// It can terminate and cannot launch. Every entry is level-triggered, and none waits for anything. What is not said in so
// many words is not concluded from one look: what looks wrong is noted in the ledger, and acted upon by a later check that
// sees it still. EC2 is read first, then the ledger, then the API server, so that whatever came into being in between is known
// to the later source. When any of the three cannot be read, nothing is removed.
//
//	flow := &interruption.Flow{Registry: ledger, Leases: ledger, Collector: ledger, Claims: ledger, Removals: store,
//		Finder: ledger, Steps: ledger, Unavailable: ledger, Connector: connector, Now: time.Now,
//		RequestPass: own.RequestPass, RequestPlan: plans.Plan, RequestDrain: own.Drain}
//	outcome, err := flow.Run(ctx, interruption.Request{Cluster: "prod", Owner: id, Deadline: deadline})
//	drained, err := flow.Drain(ctx, interruption.Request{Cluster: "prod", Owner: id, Deadline: deadline})
//	failed, noticed := flow.Notices(ctx, batch, deadline)
//
// Each entry has a file that goes through it in its order: run.go (with observe.go, poll.go, confirm.go and act.go), drain.go (with step.go,
// evict.go and drainevents.go) and notice.go (with noticecluster.go). All begin the end of a claim as begin.go says.
package interruption
