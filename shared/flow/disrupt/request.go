package disrupt

import (
	"context"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/shared/work"
)

// FanOut turns the tick of each minute into one hint per cluster that does not rest, as work.FanOut says. Paused clusters get
// theirs too: what was on its way when they were paused is undone.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	rests := func(reg model.Registration) bool { return f.rests(ctx, reg) }
	return work.FanOut(ctx, f.Registry, "disruption", rests, func(cluster string) error {
		return f.Hints.RequestDisruption(ctx, cluster, ownKey+tick, 0)
	})
}

// rests reports whether a run would find at its first read that there is nothing to do. Whatever cannot be read does not rest.
func (f *Flow) rests(ctx context.Context, reg model.Registration) bool {
	manifest, notes, nowUnix, err := f.Ledger.Peek(ctx, reg.Cluster)
	if err != nil {
		return false
	}
	r := &pass{Flow: f, settings: f.Settings.withDefaults(), notes: notes, clockOffset: nowUnix - f.Now().Unix()}
	if !r.settled(manifest) {
		return false
	}
	r.later(notes.DueUnix)
	return !r.hintMissing()
}

// ownKey begins the keys of hints this flow sends because time has passed. Whoever else sends one has seen something change.
const ownKey = "due/"

// busyKey begins the keys of hints that come back because another run was at work, and delayedKey those of hints that do so and that
// somebody sent who had seen something change; how often they have follows.
const (
	busyKey    = ownKey + "busy/"
	delayedKey = "again/"
)

// Take makes the request what a hint asks for too. Of hints of people who have seen something change the one counts that has come back least
// often, since it must be heard; of others the one that has most often.
func (r *Request) Take(hint wire.Hint) {
	if strings.HasPrefix(hint.Tick, ownKey) {
		if !r.Changed {
			r.Redeliveries = max(r.Redeliveries, returns(hint.Tick, busyKey))
		}
		return
	}
	n := returns(hint.Tick, delayedKey)
	if r.Changed {
		n = min(n, r.Redeliveries)
	}
	r.Changed, r.Redeliveries = true, n
}

// returns is how often a hint has come back whose key begins with a prefix.
func returns(key, prefix string) int {
	count, came := strings.CutPrefix(key, prefix)
	if !came {
		return 0
	}
	count, _, _ = strings.Cut(count, "/")
	n, err := strconv.Atoi(count)
	if err != nil || n > 1000 { // of a release before, whose hints named the second alone
		return 0
	}
	return n
}
