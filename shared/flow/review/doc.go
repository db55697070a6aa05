// Package review answers what an API server asks before it stores an object: it brings together the object, the region's
// catalog and, in the cluster, what else is there, and leaves the evaluation to core/admit.
//
// It writes nothing, and nothing it cannot read keeps anybody waiting: an answer that comes late is worth less than one without
// prices. Where the catalog is not there, or not there in time, warnings that need it are left out; refusals never need it.
//
//	flow := &review.Flow{Catalogs: store, Patience: 800 * time.Millisecond}
//	verdict, err := flow.Admit(ctx, model.Registration{Account: "123456789012", Region: "eu-west-1"}, admission)
package review
