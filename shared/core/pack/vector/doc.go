// Package vector has the sums that packing is made of: amounts of several resources at once, sets of numbers, and the
// search for the first of many places that has room.
//
// A [Vector] is an amount of each of a problem's [Dimensions]; which resource an index stands for is looked up once,
// and not in every comparison. A [Bitset] is a set of small numbers, 64 to a word. A [Finder] is a tournament tree of
// maxima, one for each dimension: a part of the list of which no maximum is enough is left out as a whole. It is how
// first fit is done in logarithmic time (Johnson, Fast Algorithms for Bin Packing, 1974).
//
//	dims := vector.Dimensions{"cpu", "memory"}
//	request := dims.Vector(shape.Requests)
//	find := vector.NewFinder(len(dims), len(nodes), func(slot int) vector.Vector { return nodes[slot].Free })
//	slot := find.First(request, 0) // −1: none has room
package vector
