// Package port has the interfaces that several flows ask of the same adapters: the registry of clusters, leases, the
// ledger, snapshots, the catalog of a region, and the API server of a cluster. What one flow alone asks for is declared
// by that flow.
//
// A port of one call that only sends is a function: Hint and DelayedHint.
//
// An adapter says which ports it serves:
//
//	var _ port.Leases = (*Ledger)(nil)
//
// and a flow has a field for each port it needs:
//
//	type Flow struct {
//		Registry  port.Registry
//		Leases    port.Leases
//		Connector port.Connector[Clients]
//	}
package port
