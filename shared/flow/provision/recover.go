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

// recoverer finishes what an earlier run left half done.
type recoverer struct {
	*state
	quota    *quota
	pace     *pace
	settler  *settler
	fleet    Fleet
	recounts UsageRecounts // nil = usage is not corrected
}

// recover settles the launches an earlier run recorded and did not finish.
//
// The planner lease outlives its holder's hard timeout and an intent is due only some time after that, so whoever
// recorded it cannot be calling EC2 any more. Instances are looked for by the intent's tag first. Only where there is
// none the very same bytes are sent again: EC2 answers a repeated client token with the first outcome.
func (r *recoverer) recover(ctx context.Context) error {
	var due []model.Intent
	for _, intent := range r.ledger.Intents {
		if intent.State == model.IntentDone || intent.DueUnix > r.now() {
			continue
		}
		if claim := r.ledger.Unread.First(model.UnreadClaim, intent.Claims...); claim != "" {
			r.problem(
				"launch %s waits: its claim %s cannot be read, so it is unknown which claims its instances belong to",
				intent.ID, claim)
			continue
		}
		due = append(due, intent)
	}
	if len(due) == 0 {
		return nil
	}
	// Each may take a look and a call.
	got := r.quota.take(ctx, 2*len(due), false, 0)
	if due = due[:got.calls/2]; len(due) == 0 {
		r.problem("unfinished launches wait: %s", quotaUsedUp)
		return nil
	}
	// 1. What became of each, side by side; 2. the outcomes one after the other, because they share counters. Where
	// instances must be asked for again, no more are than the pace of their pool allows: an outage leaves many.
	found, failures := make([]*model.LaunchResult, len(due)), make([]error, len(due))
	again := r.mayRepeat(due)
	asked := make([]bool, len(due))
	r.parallel(len(due), func(i int) {
		found[i], asked[i], failures[i] = r.findOut(ctx, &due[i], again[i])
		if failures[i] != nil {
			r.problem("read launch %s: %v", due[i].ID, failures[i])
		}
	})
	for i := range due {
		switch n := len(due[i].Claims); {
		case again[i] && !asked[i]:
			r.pace.start(due[i].Pool, -n)
		case asked[i] && found[i] == nil:
			r.pace.discountUnknown(due[i].Pool, n)
		}
		r.reportOpenLaunch(&due[i], found[i] == nil)
	}
	if slices.ContainsFunc(failures, func(err error) bool { return fault.Is(err, fault.Throttled) }) {
		r.quota.settleCalls(ctx, got, 0, true)
	}
	for i, result := range found {
		if result == nil {
			continue
		}
		if err := r.settler.settle(ctx, due[i], r.claimsOf(due[i]), *result); err != nil {
			r.problem("recover launch %s: %v", due[i].ID, err)
			continue
		}
		r.out.Recovered++
	}
	return r.reload(ctx)
}

// mayRepeat says of each launch whether EC2 may be asked for its instances again now, and counts those as started.
func (r *recoverer) mayRepeat(due []model.Intent) []bool {
	may := make([]bool, len(due))
	begun := map[string]bool{} // pools
	for i := range due {
		pool, n := due[i].Pool, len(due[i].Claims)
		room := r.pace.launchesLeft(pool, 0)
		if n <= room || !begun[pool] && room > 0 { // one that is larger than any minute's room must not wait for ever
			may[i], begun[pool] = true, true
			r.pace.start(pool, n)
		}
	}
	return may
}

// reportAfter is the age, in seconds, from which people learn of a launch of unknown outcome.
const reportAfter = 240

// refusedAfter is the age, in seconds, from which a launch is over whose repeated call is denied or found invalid, and
// of which no look has shown an instance: whatever an earlier call launched can be seen by then, and its pods are not
// to wait longer. Repeated calls come at ticks, 63 s apart at least, so that the second comes 180 s after the launch
// was recorded or later.
const refusedAfter = 180

// reportOpenLaunch tells a pool of a launch that has been without a known outcome for minutes: its pods wait for it.
func (r *recoverer) reportOpenLaunch(intent *model.Intent, open bool) {
	if !open || r.now()-intent.CreatedUnix < reportAfter {
		return
	}
	const reason = "LaunchOutcomeUnknown"
	givenUp := intent.CreatedUnix + int64(r.settings.GiveUpAfter.Seconds())
	message := fmt.Sprintf("EC2 has not returned the result of launch %s of %d instances for minutes; "+
		"it was recorded at %s, is tried again, and is abandoned at %s", intent.ID, len(intent.Claims),
		stamp(intent.CreatedUnix),
		stamp(givenUp))
	if intent.Pool == "" {
		for _, claim := range r.claimsOf(*intent) {
			r.warn(kindClaim, claim.Name, claim.ObjectUID, reason, message)
		}
	} else if pool := r.pool(intent.Pool); pool != nil {
		r.warn(kindPool, pool.Name, pool.UID, reason, message)
	}
}

// findOut returns what became of a launch, and nil where that is still not known; asked says whether EC2 was asked for
// its instances again, which it is only where that may be done now. Another call is noted in the ledger before it is
// made.
func (r *recoverer) findOut(
	ctx context.Context, intent *model.Intent, again bool,
) (result *model.LaunchResult, asked bool, err error) {
	found, err := r.fleet.FindInstances(ctx, intent.ID)
	if err != nil {
		return nil, false, fmt.Errorf("find its instances: %w", err)
	}
	claims := r.claimsOf(*intent)
	found = distinct(found)
	tooOld := r.now()-intent.CreatedUnix > int64(r.settings.GiveUpAfter.Seconds())
	if len(found) > 0 && (len(found) >= len(claims) || tooOld) {
		return &model.LaunchResult{Instances: found}, false, nil
	}
	// Fewer than asked for may be a partial fleet, and may be all that EC2 shows yet of a whole one: an instance that
	// was written off for not being shown would run without a claim. Asked again with the same token, EC2 says which.
	refused := func(code, message string) *model.LaunchResult {
		return &model.LaunchResult{Errors: []model.LaunchError{{Code: code, Message: message}}}
	}
	if tooOld {
		const why = "no instance has the launch's tag and its client token may have expired"
		return refused(neverLaunched, why), false, nil
	}
	if len(claims) == 0 {
		return refused("NoClaims", "the launch has no claims left"), false, nil
	}
	if !again {
		return nil, false, nil // as many of its pool as may be launched in this minute are
	}
	intent.Attempt++
	intent.DueUnix = r.due()
	if err := r.effect(ctx, EffectCalling, func() error { return r.store.Calling(ctx, r.fence, *intent) }); err != nil {
		return nil, false, fmt.Errorf("record attempt %d: %w", intent.Attempt, err)
	}
	answer, err := r.settler.callFleet(ctx, *intent)
	switch kind := fault.KindOf(err); {
	case err == nil:
		return &answer, true, nil
	// EC2 knows the token before it looks for capacity: nothing came of it before
	case len(found) == 0 && kind == fault.NoCapacity:
		return refused(codeOr(err, "LaunchRefused"), err.Error()), true, nil
	case len(found) == 0 && (kind == fault.Denied || kind == fault.Invalid) &&
		r.now()-intent.CreatedUnix >= refusedAfter:
		return refused(codeOr(err, "LaunchRefused"), err.Error()), true, nil
	}
	// It stays open and is looked into again when due. That a repeated call is denied or found invalid says nothing of
	// an earlier one, whose instances EC2 may not show yet.
	return nil, true, err
}

// Limits are evaluated by usage, which writes change by what they take and release. Where somebody has deleted a claim
// or a pool's usage by hand, the two differ from then on, and part of a limit can never be bought again. So each run
// compares them, which costs no read, and where they differ counts anew.

// recountEvery is how many seconds lie between two times usage is counted anew.
const recountEvery = 60

// recount corrects the usage of pools whose claims hold something else. The ledger is not read at one instant, so a
// difference alone says nothing: its claims are read once more after the usage was, and the usage is written on
// condition that it is still the one that was read.
func (r *recoverer) recount(ctx context.Context) error {
	notes := &r.ledger.Notes
	if r.recounts == nil || len(lifecycle.Recounts(r.ledger.Usage, &r.ledger)) == 0 ||
		r.now()-notes.RecountUnix < recountEvery && notes.RecountUnix <= r.now() {
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
		err := r.effect(ctx, EffectRecount, func() error { return r.recounts.Recount(ctx, r.fence, next) })
		switch {
		case fault.Is(err, fault.Conflict): // something was launched or ended meanwhile, and may be all there is to it
			continue
		case err != nil:
			r.problem("recount the usage of NodePool %s: %v", off.Pool, err)
			continue
		}
		corrected = true
		r.out.Recounted = append(r.out.Recounted, off)
		r.problem("the usage of NodePool %s is recounted: limits were checked against %s, and its claims use %s",
			off.Pool, amounts(off.Counted), amounts(off.Reserved))
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
