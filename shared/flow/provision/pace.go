package provision

import (
	"context"
	"fmt"
	"sort"

	"github.com/joiner-sh/joiner/shared/model"
)

// room returns how many claims of a pool may still be recorded in this minute, of an allowance that at most doubles from
// one minute to the next and is LaunchFloor at least. So a backlog that waited for hours comes up like a ramp, and nobody
// makes a pool launch without bound.
func (r *run) room(pool string) int {
	pace := r.pace(pool)
	return int(max(0, max(int64(r.settings.LaunchFloor), 2*pace.Before)-pace.Starts))
}

// pace returns a pool's count, moved on to this minute.
func (r *run) pace(pool string) model.Pace {
	minute := r.now() / 60
	for _, pace := range r.ledger.Notes.Paces {
		if pace.Pool != pool {
			continue
		}
		switch ahead := pace.Minute - minute; {
		case ahead > 2: // written by a clock that is wrong
			return model.Pace{Pool: pool, Minute: minute, Starts: pace.Starts}
		case ahead >= 0:
			return pace
		case ahead == -1:
			return model.Pace{Pool: pool, Minute: minute, Before: max(0, pace.Starts-pace.Vain)}
		}
	}
	return model.Pace{Pool: pool, Minute: minute}
}

// start counts n more claims of a pool, fewer where n < 0.
func (r *run) start(pool string, n int) {
	pace := r.pace(pool)
	pace.Starts = max(0, pace.Starts+int64(n))
	r.setPace(pace)
}

// vain notes of n claims that were counted that nobody knows whether they were launched: what an outage lets pile up must not
// make room for more.
func (r *run) vain(pool string, n int) {
	pace := r.pace(pool)
	pace.Vain += int64(n)
	r.setPace(pace)
}

func (r *run) setPace(pace model.Pace) {
	paces := []model.Pace{pace}
	for _, other := range r.ledger.Notes.Paces {
		if other.Pool != pace.Pool && other.Minute >= pace.Minute-1 { // older ones say nothing any more
			paces = append(paces, other)
		}
	}
	sort.Slice(paces, func(i, j int) bool { return paces[i].Pool < paces[j].Pool })
	r.ledger.Notes.Paces, r.noted = paces, true
}

// remember writes the notes where they have changed.
func (r *run) remember(ctx context.Context) error {
	if !r.noted {
		return nil
	}
	err := r.effect(ctx, EffectRemember, func() error { return r.Memory.Remember(ctx, r.fence, r.ledger.Notes) })
	if err != nil {
		return fmt.Errorf("write the planner's notes: %w", err)
	}
	r.noted = false
	return nil
}
