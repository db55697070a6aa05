package main

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// delayed is a queue of hints that may be told to come later.
type delayed interface {
	Send(ctx context.Context, hint wire.Hint, after time.Duration) error
}

// dues remembers when what was told last for a cluster arrives.
type dues interface {
	// Tell returns after what time a hint is to arrive that asks for the same as the last one, so that the two are apart; false where
	// the last one has not arrived yet and says the same.
	Tell(ctx context.Context, cluster, what string, nowMillis, apartMillis int64) (after time.Duration, due bool, err error)
}

// apartMillis is how far apart hints of one cluster and reason are passed on.
const apartMillis = 2000

// teller passes on what a watcher tells functions other than this one, in the name of the cluster whose queue it came through: at
// most one hint for a cluster and reason is on its way at a time. Those functions look at everything whatever a hint says, so that nothing is
// lost, and a flood of hints reaches the queues that clusters share every two seconds.
type teller struct {
	book   dues
	queues map[wire.HintReason]delayed // by what is told; none = nobody is told
	now    func() time.Time
}

// tells reports whether a hint of that reason is passed on.
func tells(reason wire.HintReason) bool {
	return reason == wire.ReasonConfig || reason == wire.ReasonEnd || reason == wire.ReasonJudge
}

// tell passes a hint on.
func (t *teller) tell(ctx context.Context, hint wire.Hint) error {
	queue := t.queues[hint.Reason]
	if queue == nil {
		return nil
	}
	after, due, err := t.book.Tell(ctx, hint.Cluster, string(hint.Reason), t.now().UnixMilli(), apartMillis)
	if err != nil || !due {
		return err
	}
	return queue.Send(ctx, hint, after)
}
