package provision

import "github.com/joiner-sh/joiner/shared/wire"

// Take makes the request ask for what a hint asks for too: it keeps the newest state any of a cluster's hints speaks of,
// and the trigger that asks for most.
func (r *Request) Take(hint wire.Hint) {
	if hint.Epoch > r.Epoch || hint.Epoch == r.Epoch && hint.Seq > r.Seq {
		r.Epoch, r.Seq = hint.Epoch, hint.Seq
	}
	rank := map[string]int{TriggerSweep: 1, TriggerNode: 2, TriggerBatch: 3, TriggerConfig: 4}
	trigger := string(hint.Reason)
	if rank[trigger] == 0 {
		trigger = TriggerSweep
	}
	if rank[trigger] > rank[r.Trigger] {
		r.Trigger = trigger
	}
}
