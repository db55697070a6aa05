package publish

import (
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// gathered is what was observed and is not published, or not hinted, yet.
type gathered struct {
	config   *Config
	settings *Settings
	state    state
	pods     map[string]*waiting // that need capacity, by key
	nodes    map[string]*waiting // of ours that are starting, by name

	batch      batch
	dirtySince time.Time    // of the oldest change that is not published; zero = none
	pending    *pendingHint // nil = none
	ends       ends
	emptied    emptiedNodes
	freed      freedCapacity
	headroom   headroom
	seen       bool // what was there before anybody looked has all been observed
}

// anew makes everything that waits, or is being deleted, new.
func (g *gathered) anew(now time.Time) {
	g.pending, g.batch = nil, batch{}
	g.seen, g.emptied, g.freed, g.headroom = true, emptiedNodes{}, freedCapacity{}, headroom{}
	g.ends = ends{going: g.ends.going}
	if len(g.ends.going) > 0 {
		g.ends.batch.add(now, wire.ReasonEnd, "", "")
	}
	g.batch.add(now, wire.ReasonConfig, "", "")
	for key, w := range g.pods {
		*w = waiting{ref: w.ref}
		g.batch.add(now, wire.ReasonBatch, key, "")
	}
	for name, w := range g.nodes {
		*w = waiting{}
		g.batch.add(now, wire.ReasonNode, "", name)
	}
}

// closable reports whether the open batch may close when its time comes, where head is the sequence number published
// last. It stays open while a hint could go out and only the queue does not take it: joined to that hint, it would hold
// it up until its own state is published.
func (g *gathered) closable(head int64) bool {
	return g.batch.open() && (g.pending == nil || g.pending.seq > head)
}

// closeBatch makes the open batch a pending hint for the state of sequence number seq.
func (g *gathered) closeBatch(now time.Time, seq int64) {
	b := g.batch
	g.batch = batch{}
	if g.pending == nil {
		g.pending = &pendingHint{batch: b, closed: now, seq: seq}
		return
	}
	g.pending.join(b, now, seq)
}

// retryHints opens a batch for whatever has waited since its last hint for as long as its pause.
func (g *gathered) retryHints(now time.Time) {
	for key, w := range g.pods {
		if w.due(now) {
			w.retryAt = time.Time{}
			g.batch.add(now, wire.ReasonBatch, key, "")
		}
	}
	for name, w := range g.nodes {
		if w.due(now) {
			w.retryAt = time.Time{}
			g.batch.add(now, wire.ReasonNode, "", name)
		}
	}
}

// hinted starts the pauses of everything a hint was sent for.
func (g *gathered) hinted(o *pendingHint, now time.Time) {
	pause := func(w *waiting) {
		if w == nil {
			return
		}
		w.pause = min(max(g.settings.HintRetryFirst, 2*w.pause), g.settings.HintRetryMax)
		w.retryAt = now.Add(w.pause)
	}
	for key := range o.pods {
		pause(g.pods[key])
	}
	for name := range o.nodes {
		pause(g.nodes[name])
	}
}

// recheckHeadroom opens a batch where it is time to look at the room of buffers again.
func (g *gathered) recheckHeadroom(now time.Time) {
	due := g.headroom.due(g.settings)
	if due.IsZero() || now.Before(due) {
		return
	}
	g.headroom = headroom{sentAt: now}
	g.batch.add(now, wire.ReasonHeadroom, "", "")
}

// heartbeatEvery is how often the watcher says that it lives. Nodes are disrupted by a state that was confirmed ten
// seconds ago; where there is nothing to disrupt, and nobody waits, functions need to know no more than that a change
// would be published.
func (g *gathered) heartbeatEvery() time.Duration {
	if len(g.pods)+len(g.nodes) > 0 || g.state.ours() {
		return g.settings.Heartbeat
	}
	return max(g.settings.Heartbeat, g.settings.QuietHeartbeat)
}

// keepEvery is how often the full snapshot is looked for: each eighth heartbeat.
func (g *gathered) keepEvery() time.Duration { return 8 * g.heartbeatEvery() }

// retryAt returns when the next reminder is due, zero where nothing is to be reminded of.
func (g *gathered) retryAt() time.Time {
	var next time.Time
	for _, all := range []map[string]*waiting{g.pods, g.nodes} {
		for _, w := range all {
			next = earlier(next, w.retryAt)
		}
	}
	return next
}

// endDue returns when somebody is to learn next of what is being deleted; zero where nobody is.
func (g *gathered) endDue() time.Time {
	switch e := &g.ends; {
	case e.hint != nil:
		return e.pause.until
	case e.batch.open():
		return later(e.batch.closesAt(g.settings), e.pause.until)
	}
	return time.Time{}
}

// disruptionDue returns when the next hint to the disruption function is due, zero where none is.
func (g *gathered) disruptionDue() time.Time {
	empty, freed := g.emptyDue(), g.freedDue()
	if empty.IsZero() {
		return freed
	}
	return earlier(empty, freed)
}

// emptyDue returns when the hint is due that nodes have become empty, zero where there are none: once the state that
// shows it has been published, and a while after the hint before.
func (g *gathered) emptyDue() time.Time {
	if g.emptied.first.IsZero() {
		return time.Time{}
	}
	return later(g.emptied.first.Add(g.settings.IdleWindow+g.settings.QuietWindow), g.emptied.sentAt.Add(g.settings.EmptyEvery))
}

// freedDue returns when the hint is due that pods have left, zero where too few have: once no pod has left for a while,
// or pods have gone on leaving for long, and a while after the hint before.
func (g *gathered) freedDue() time.Time {
	c := &g.freed
	if c.first.IsZero() {
		return time.Time{}
	}
	due := earlier(c.last.Add(g.settings.IdleWindow+g.settings.QuietWindow), c.first.Add(g.settings.FreedEvery))
	return later(due, g.emptied.sentAt.Add(g.settings.FreedEvery))
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
