package provision

import (
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// spentAfter is the age at which a hint says nothing any more: resyncs have looked at its cluster several times since.
const spentAfter = 5 * time.Minute

// Spent reports whether a hint is so old that nothing need be done about it, so that a backlog of hours is worked off in
// the time it takes to read it. A hint that does not say when it was sent is not. Where the sender's clock is wrong a hint
// may be taken for spent that is not; the next resync finds what it would have said.
func Spent(hint wire.Hint, now time.Time) bool {
	return hint.SentAtMillis > 0 && now.Sub(time.UnixMilli(hint.SentAtMillis)) > spentAfter
}

// Take makes the request ask for what a hint asks for too: it keeps the newest state any of a cluster's hints names,
// and the trigger that asks for most.
func (r *Request) Take(hint wire.Hint) {
	if hint.Epoch > r.Epoch || hint.Epoch == r.Epoch && hint.Seq > r.Seq {
		r.Epoch, r.Seq = hint.Epoch, hint.Seq
	}
	rank := map[string]int{TriggerResync: 1, TriggerNode: 2, TriggerHeadroom: 2, TriggerBatch: 3, TriggerDrain: 3, TriggerReplace: 3, TriggerConfig: 4}
	trigger := string(hint.Reason)
	if hint.Reason == wire.ReasonLeaving { // releases before called it a drain
		trigger = TriggerDrain
	}
	if rank[trigger] == 0 {
		trigger = TriggerResync
	}
	if rank[trigger] > rank[r.Trigger] {
		r.Trigger = trigger
	}
}
