// Package pack decides which nodes to ask for: [Plan] takes one snapshot, what each class can buy and what is on its
// way, and says which pods fit what exists, which claims to make for the others, and why nothing can hold the rest.
//
// It is a pure function: same input, byte-identical plan, whatever the order of the lists it is given. It does not
// record, launch or report; the flow does. Instance types and their offers come from core/offer.
//
//	plan := pack.Plan(pack.Input{
//		Snapshot: snapshot,
//		Catalogs: map[string][]model.InstanceType{"default": types},
//		Claims:   ledger.Claims,
//		NowUnix:  now,
//	})
package pack
