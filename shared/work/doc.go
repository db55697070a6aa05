// Package work is what every flow does alike: an invocation with its clock, its deadline, its lease and its problems,
// effects under the eyes of whoever tests them, settings with their defaults, and like things side by side.
//
//	i := (&work.Invocation{Clock: time.Now, Deadline: deadline, LeaseMargin: 2 * time.Second, StopBefore: 3 * time.Second}).Begin()
//	reg, skipped, err := work.ActiveRegistration(ctx, registry, "prod")
//	lease, err := i.Acquire(ctx, leases, reg.Cluster, model.LeaseCatalog, owner, "the catalog's lease")
//	defer i.Release(ctx, lease)
//	i.Try(ctx, "hint", "send a hint", func() error { return hints.RequestPass(ctx, reg.Cluster, "k") })
package work
