package provision

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// DelayedHints is a queue of hints that may be set to come later.
type DelayedHints interface {
	Send(ctx context.Context, hint wire.Hint, after time.Duration) error
}

// Dues remembers when what was reported last for a cluster arrives.
type Dues interface {
	// ScheduleHint returns after what time a hint is to arrive that asks for the same as the last one, so that the two
	// are apart; false where the last one has not arrived yet and says the same.
	ScheduleHint(
		ctx context.Context, cluster, what string, nowMillis, apartMillis int64,
	) (after time.Duration, due bool, err error)
}

// apartMillis is how far apart hints of one cluster and reason are passed on.
const apartMillis = 2000

// Forwarder passes on what a watcher tells functions other than this one, in the name of the cluster whose queue it
// came through: at most one hint for a cluster and reason is on its way at a time. Those functions look at everything
// whatever a hint says, so that nothing is lost, and a flood of hints reaches the queues that clusters share every two
// seconds.
type Forwarder struct {
	Dues   Dues
	Queues map[wire.HintReason]DelayedHints // by what is reported; none = nobody learns
	Now    func() time.Time
}

// Forwards reports whether a hint of that reason is passed on.
func Forwards(reason wire.HintReason) bool {
	return reason == wire.ReasonConfig || reason == wire.ReasonEnd || reason == wire.ReasonDisrupt
}

// Forward passes a hint on.
func (t *Forwarder) Forward(ctx context.Context, hint wire.Hint) error {
	queue := t.Queues[hint.Reason]
	if queue == nil {
		return nil
	}
	after, due, err := t.Dues.ScheduleHint(ctx, hint.Cluster, string(hint.Reason), t.Now().UnixMilli(), apartMillis)
	if err != nil || !due {
		return err
	}
	return queue.Send(ctx, hint, after)
}
