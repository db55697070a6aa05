package publish

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// headroom says whether the room that CapacityBuffers keep free may be less than it was, so that whoever makes room
// looks soon, and not too often: where pods come and go all the time a look each few seconds does.
type headroom struct {
	first  time.Time // since when it may be; zero = nothing happened
	sentAt time.Time // when a batch was opened for it last
}

// due returns when a batch is to be opened for it, zero where none is.
func (r *headroom) due(s *Settings) time.Time {
	if r.first.IsZero() {
		return time.Time{}
	}
	if again := r.sentAt.Add(s.HeadroomEvery); r.first.Before(again) {
		return again
	}
	return r.first
}

// bufferBefore returns the row of the buffer a change is about, as it was before; nil where there was none, or for
// other kinds.
func (s *state) bufferBefore(c *wire.Change) *model.Buffer {
	if c.Buffer != nil {
		if buffer, known := s.buffers.rows[c.Buffer.Key()]; known {
			return &buffer
		}
	}
	return nil
}
