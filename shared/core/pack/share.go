package pack

import "math/bits"

const (
	// minSpotTypes is how many types a spot claim should be able to fall back on, where its pods allow as many.
	minSpotTypes = 10
	// priceCeiling bounds prices where they are weighed against each other, in micro-USD per hour: far above any machine,
	// and low enough that sums of products cannot overflow.
	priceCeiling = 10_000_000_000
)

// share returns the part of a price that a request is answerable for: that of the resource it takes most of, in
// nano-USD per hour, at least 1. The request fits the room.
func share(price int64, request, room vector) int64 {
	nano := uint64(min(price, priceCeiling)) * 1000
	most := uint64(1)
	for i, amount := range request {
		if amount > 0 {
			high, low := bits.Mul64(nano, uint64(amount))
			quotient, _ := bits.Div64(high, low, uint64(room[i])) // amount ≤ room, so that it cannot overflow
			most = max(most, quotient)
		}
	}
	return int64(most)
}
