package publish

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// headroom says whether the room that CapacityBuffers keep free may be less than it was, so that whoever makes room looks soon, and not too
// often: where pods come and go all the time a look each few seconds does.
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

// bufferBefore returns the row of the buffer a change is about, as it was before; nil where there was none, or for other kinds.
func (s *state) bufferBefore(c *wire.Change) *model.Buffer {
	if c.Buffer != nil {
		if buffer, known := s.buffers.rows[c.Buffer.Key()]; known {
			return &buffer
		}
	}
	return nil
}

// noteHeadroom takes note of what may have changed about the room of buffers, where there are any: what buffers ask for, pods that
// came to nodes, and nodes that went. What a buffer's status says is not such a change, or the functions' own writes would wake them.
func (f *Publisher) noteHeadroom(c *wire.Change, pod *model.Pod, buffer *model.Buffer, now time.Time) {
	switch {
	case c.Buffer != nil:
		if c.Deleted { // nodes may be empty now
			if f.config.EmptyNodes != nil && f.emptied.first.IsZero() {
				f.emptied.first = now
			}
			return
		}
		row := f.state.buffers.rows[c.Buffer.Key()]
		if buffer != nil {
			row.Status = buffer.Status
			if row == *buffer {
				return
			}
		}
	case len(f.state.buffers.rows) == 0:
		return
	case c.Pod != nil:
		if pod != nil && pod.NodeName != "" || c.Deleted || c.Pod.NodeName == "" || c.Pod.Terminal() {
			return
		}
	case c.Node != nil:
		if !c.Deleted {
			return
		}
	default:
		return
	}
	if f.headroom.first.IsZero() {
		f.headroom.first = now
	}
}

// recheckHeadroom opens a batch where it is time to look at the room of buffers again.
func (f *Publisher) recheckHeadroom(now time.Time) {
	due := f.headroom.due(&f.settings)
	if due.IsZero() || now.Before(due) {
		return
	}
	f.headroom = headroom{sentAt: now}
	f.batch.add(now, wire.ReasonHeadroom, "", "")
}
