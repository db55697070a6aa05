// Package offerings makes what NodePools can buy ready to be searched.
//
// A [Market] is what one EC2NodeClass can buy: each offering of each instance type is a numbered column, cheapest
// first, so that a set of offerings is a bitset and its cheapest the lowest bit. A [Pool] is a NodePool on its market:
// which columns its requirements admit, what DaemonSets leave of each type, and what its limits leave. A [Variant] is
// one way pods may be placed there, an [Option] what that costs pods of one size, and an [OptionSet] what a claim can
// say: types, zones and capacity types of which every combination is acceptable.
//
// Numbering the columns by price is what a bitmap index over a sorted column is in databases: the first set bit of an
// intersection answers "the cheapest that meets all of these".
//
//	pools := offerings.NewPools(in, dims, markets, daemons)
//	for _, option := range pools[0].Options(pools[0].Variants(terms, nil), request, 0) {
//		cheapest := option.Offerings[0]
//	}
package offerings
