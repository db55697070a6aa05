package publish

import (
	"maps"
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// batch gathers what a hint will be sent for. It is open from the first addition on.
type batch struct {
	first, last time.Time // of additions; zero while it is closed
	reason      wire.HintReason
	pods        map[string]bool // keys
	nodes       map[string]bool // names
	headroom    bool            // room of CapacityBuffers may be missing
}

func (b *batch) open() bool { return !b.first.IsZero() }

// weight orders reasons: a hint carries the one that asks for most.
var weight = map[wire.HintReason]int{wire.ReasonHeadroom: 1, wire.ReasonNode: 2, wire.ReasonBatch: 3, wire.ReasonConfig: 4}

// add puts something new into the batch; empty names are none.
func (b *batch) add(now time.Time, reason wire.HintReason, pod, node string) {
	if !b.open() {
		*b = batch{first: now, pods: make(map[string]bool), nodes: make(map[string]bool)}
	}
	b.last, b.headroom = now, b.headroom || reason == wire.ReasonHeadroom
	if weight[reason] > weight[b.reason] {
		b.reason = reason
	}
	if pod != "" {
		b.pods[pod] = true
	}
	if node != "" {
		b.nodes[node] = true
	}
}

// closesAt returns when the batch closes if nothing new comes.
func (b *batch) closesAt(s *Settings) time.Time {
	quiet, full := b.last.Add(s.QuietWindow), b.first.Add(s.MaxWindow)
	if quiet.Before(full) {
		return quiet
	}
	return full
}

// pendingHint is a closed batch whose hint is not sent yet. Batches that close before it is are added to it.
type pendingHint struct {
	batch
	closed time.Time
	seq    int64      // that must be published first
	hint   *wire.Hint // as sent last, kept so that a repetition is the same; nil = to be made
}

// join adds a batch that closed before the hint was sent, for the state of sequence number seq.
func (o *pendingHint) join(b batch, closed time.Time, seq int64) {
	maps.Copy(o.pods, b.pods)
	maps.Copy(o.nodes, b.nodes)
	o.headroom = o.headroom || b.headroom
	if weight[b.reason] > weight[o.reason] {
		o.reason = b.reason
	}
	o.closed, o.seq, o.hint = closed, max(o.seq, seq), nil
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// pause grows with each failure in a row.
type pause struct {
	length time.Duration
	until  time.Time
}

func (p *pause) failed(now time.Time, s *Settings) {
	p.length = min(max(s.RetryFirst, 2*p.length), s.RetryMax)
	p.until = now.Add(p.length)
}

func (p *pause) over(now time.Time) bool { return !now.Before(p.until) }
