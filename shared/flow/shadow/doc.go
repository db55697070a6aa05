// Package shadow makes recorded decisions once more with the build at hand, beside the one that decides, and says where it comes out
// otherwise. It reads records and what they went by, and writes nothing but its findings: it has no port by which it could act.
//
// What a version was asked is in its records (core/replay), so that another one can be asked the same at any later time, while the first
// goes on. What the first never asked is not seen: a pod that one version would have given a node and the other has not is in the next
// question of the other again.
//
//	flow := &shadow.Flow{Records: store, Findings: store, Catalogs: sources, By: build}
//	pass, err := flow.Run(ctx, "shop", from, to, nil)
//	report, err := flow.Report(ctx, "shop", from, to)
package shadow
