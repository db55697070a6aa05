package publish

import (
	"maps"
	"slices"
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

// closable reports whether the open batch may close when its time comes. It stays open while a hint could go out and only
// the queue does not take it: joined to that hint, it would hold it up until its own state is published.
func (f *Publisher) closable() bool {
	return f.batch.open() && (f.pending == nil || f.pending.seq > f.head)
}

// closeBatch makes the open batch a pending hint for the state of sequence number seq.
func (f *Publisher) closeBatch(now time.Time, seq int64) {
	b, o := f.batch, f.pending
	f.batch = batch{}
	if o == nil {
		f.pending = &pendingHint{batch: b, closed: now, seq: seq}
		return
	}
	maps.Copy(o.pods, b.pods)
	maps.Copy(o.nodes, b.nodes)
	o.headroom = o.headroom || b.headroom
	if weight[b.reason] > weight[o.reason] {
		o.reason = b.reason
	}
	o.closed, o.seq, o.hint = now, max(o.seq, seq), nil
}

// retryHints opens a batch for whatever has waited since its last hint for as long as its pause.
func (f *Publisher) retryHints(now time.Time) {
	for key, w := range f.pods {
		if w.due(now) {
			w.retryAt = time.Time{}
			f.batch.add(now, wire.ReasonBatch, key, "")
		}
	}
	for name, w := range f.nodes {
		if w.due(now) {
			w.retryAt = time.Time{}
			f.batch.add(now, wire.ReasonNode, "", name)
		}
	}
}

func (w *waiting) due(now time.Time) bool { return !w.retryAt.IsZero() && !now.Before(w.retryAt) }

// retryAt returns when the next reminder is due, zero where nothing is to be reminded of.
func (f *Publisher) retryAt() time.Time {
	var next time.Time
	for _, all := range []map[string]*waiting{f.pods, f.nodes} {
		for _, w := range all {
			next = earlier(next, w.retryAt)
		}
	}
	return next
}

// hinted starts the pauses of everything a hint was sent for.
func (f *Publisher) hinted(o *pendingHint, now time.Time) {
	pause := func(w *waiting) {
		if w == nil {
			return
		}
		w.pause = min(max(f.settings.HintRetryFirst, 2*w.pause), f.settings.HintRetryMax)
		w.retryAt = now.Add(w.pause)
	}
	for key := range o.pods {
		pause(f.pods[key])
	}
	for name := range o.nodes {
		pause(f.nodes[name])
	}
}

// makeHint returns the pending hint, over the published state; ok is false where nothing of it waits any more.
func (f *Publisher) makeHint(o *pendingHint) (hint wire.Hint, ok bool) {
	if o.hint != nil && o.hint.Seq == f.head {
		return *o.hint, true
	}
	hint = wire.Hint{
		Cluster: f.config.Cluster, Epoch: f.epoch, Seq: f.head, Number: f.number + 1, Reason: o.reason,
		SentAtMillis: f.config.Now().UnixMilli(), FirstSeenMillis: o.first.UnixMilli(), ClosedMillis: o.closed.UnixMilli(),
	}
	for _, key := range slices.Sorted(maps.Keys(o.pods)) {
		if w := f.pods[key]; w != nil {
			hint.Pods = append(hint.Pods, w.ref)
		}
	}
	if o.reason == wire.ReasonBatch && len(hint.Pods) == 0 && len(o.nodes) == 0 {
		if !o.headroom { // which the pods may have taken
			return hint, false
		}
		hint.Reason = wire.ReasonHeadroom
	}
	f.number++
	o.hint = &hint
	return hint, true
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
