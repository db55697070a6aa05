package world

import (
	"math/rand/v2"
	"time"
)

// Span is a stretch of time something takes: at least Min and at most Max, evenly drawn.
type Span struct{ Min, Max time.Duration }

// draw returns how long it is this time, to the millisecond; the least where chance is nil.
func (s Span) draw(chance *rand.Rand) time.Duration {
	if chance == nil || s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(chance.Int64N(int64((s.Max-s.Min)/time.Millisecond)+1))*time.Millisecond
}
