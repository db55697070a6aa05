package provision

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Limits are evaluated by usage, which writes change by what they take and release. Where somebody has deleted a claim or a pool's usage by
// hand, the two differ from then on, and part of a limit can never be bought again. So each run compares them, which costs no read, and
// where they differ counts anew.

// recountEvery is how many seconds lie between two times usage is counted anew.
const recountEvery = 60

// recount corrects the usage of pools whose claims hold something else. The ledger is not read at one instant, so a difference alone says
// nothing: its claims are read once more after the usage was, and the usage is written on condition that it is still the one that was read.
func recount(ctx context.Context, r *pass) error {
	notes := &r.ledger.Notes
	if r.UsageRecounts == nil || len(lifecycle.Recounts(r.ledger.Usage, &r.ledger)) == 0 || r.now()-notes.RecountUnix < recountEvery && notes.RecountUnix <= r.now() {
		return nil
	}
	notes.RecountUnix, r.noted = r.now(), true
	usage := slices.Clone(r.ledger.Usage)
	if err := r.reload(ctx); err != nil {
		return err
	}
	corrected := false
	for _, off := range lifecycle.Recounts(usage, &r.ledger) {
		next := model.Usage{Pool: off.Pool, Reserved: off.Reserved, Version: off.Version}
		err := r.effect(ctx, EffectRecount, func() error { return r.UsageRecounts.Recount(ctx, r.fence, next) })
		switch {
		case fault.Is(err, fault.Conflict): // something was launched or ended meanwhile, and may be all there is to it
			continue
		case err != nil:
			r.problem("recount the usage of NodePool %s: %v", off.Pool, err)
			continue
		}
		corrected = true
		r.out.Recounted = append(r.out.Recounted, off)
		r.problem("the usage of NodePool %s is recounted: limits were checked against %s, and its claims use %s", off.Pool, amounts(off.Counted), amounts(off.Reserved))
	}
	if corrected {
		return r.reload(ctx)
	}
	return nil
}

// amounts writes resources for people, by name.
func amounts(held model.Resources) string {
	if len(held) == 0 {
		return "nothing"
	}
	text := ""
	for _, name := range slices.Sorted(maps.Keys(held)) {
		text += fmt.Sprintf(", %s %d", name, held[name])
	}
	return text[2:]
}
