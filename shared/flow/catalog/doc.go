// Package catalog finds out what there is to buy and what people's classes mean: for each cluster it resolves and validates
// every EC2NodeClass, makes instance profiles, and says which claims have drifted; for the region it refreshes the
// instance catalog.
//
// It can neither launch nor terminate. Every entry is level-triggered: it looks at everything, and does what is due. It
// is the only writer of an EC2NodeClass's status; who launches reads what it wrote to the ledger, and resolves by itself
// where that is missing or old.
//
//	flow := &catalog.Flow{Registry: ledger, Leases: ledger, Records: ledger, Allowances: ledger,
//		RequestPass: queue.RequestPass, Connector: connector, Now: time.Now}
//	outcome, err := flow.Run(ctx, catalog.Request{Cluster: "prod", Owner: id, Deadline: deadline})
//
// A run is in run.go, in its order: class by class (class.go, with profile.go, validate.go, trial.go and, of those that are deleted,
// terminate.go), then claims (drift.go). The region's pass is in region.go.
package catalog
