// Package disrupt is the disruption function: each minute, and when something changed, it decides what of a cluster to disrupt voluntarily,
// records that as commands, and moves commands on: its nodes are tainted and looked at again, replacements are asked of
// provision, and once those are ready the claims are Draining, which is where interruption takes over. What does not hold is
// undone. It calls no EC2 at all.
//
//	flow := &disrupt.Flow{Registry: ledger, Leases: ledger, Ledger: ledger, Commands: ledger, Snapshots: store, Catalogs: catalogs,
//		RequestReplacement: plans.Replace, RequestDrain: drains.Drain, RequestDisruption: own.RequestDisruption,
//		Decisions: store, Connector: connector, Now: time.Now, NewID: newID}
//	outcome, err := flow.Run(ctx, disrupt.Request{Cluster: "prod", Owner: id, Deadline: deadline, Changed: true})
//
// A run is in run.go, in its order: the ledger (state.go), the watcher's snapshot (snapshot.go), open commands (advance.go, with what each
// step reads and writes in step.go), taints nobody answers for (taint.go), what to disrupt (input.go, propose.go, commit.go), events, and what
// is remembered (memo.go, remember.go).
package disrupt
