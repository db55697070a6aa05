// Package types has the command joiner types: the instance types that can be bought, in a region or by a NodePool, with
// their labels, capacity and prices.
//
//	command := types.New()
package types
