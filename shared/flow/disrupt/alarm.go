package disrupt

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// readAlarms finds out which NodePools alarms stop, and notes it for people. Where no NodePool names an alarm nothing
// is read. Without a snapshot it is not known which ones they name, and what the last check found holds.
func (r *session) readAlarms(ctx context.Context, snapshot *model.Snapshot) {
	before := r.memo.notes.Alarms
	r.state.alarms = before
	if snapshot == nil {
		return
	}
	var read disruption.Alarms
	if names := disruption.AlarmNames(snapshot.Pools); len(names) > 0 {
		states, err := r.clients.Alarms.AlarmStates(ctx, names)
		if read.States = states; err != nil {
			read.Unread = unreadAlarms(err)
			r.Problem("read CloudWatch alarms: %v", err)
		}
	}
	r.state.alarms = disruption.AlarmStops(snapshot.Pools, read, before, r.NowUnix())
	if !slices.Equal(r.state.alarms, before) {
		r.memo.notes.Alarms, r.memo.changed = r.state.alarms, true
	}
}

// unreadAlarms says for people why alarms cannot be read, in words that are the same at each attempt.
func unreadAlarms(err error) string {
	if fault.Is(err, fault.Denied) {
		return "the disruption function may not; deploy the cluster's stack with option stopAlarms"
	}
	return "CloudWatch does not answer"
}
