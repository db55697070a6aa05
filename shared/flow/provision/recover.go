package provision

import (
	"context"
	"fmt"
	"slices"
	"sort"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// recover settles the launches an earlier run recorded and did not finish.
//
// The planner lease outlives its holder's hard timeout and an intent is due only some time after that, so whoever
// recorded it cannot be calling EC2 any more. Instances are looked for by the intent's tag first. Only where there is none
// the very same bytes are sent again: EC2 answers a repeated client token with the first outcome.
func (r *pass) recover(ctx context.Context) error {
	var due []model.Intent
	for _, intent := range r.ledger.Intents {
		if intent.State == model.IntentDone || intent.DueUnix > r.now() {
			continue
		}
		if claim := r.ledger.Unread.First(model.UnreadClaim, intent.Claims...); claim != "" {
			r.problem("launch %s waits: its claim %s cannot be read, so it is unknown which claims its instances belong to", intent.ID, claim)
			continue
		}
		due = append(due, intent)
	}
	if len(due) == 0 {
		return nil
	}
	// Each may take a look and a call.
	got := r.take(ctx, 2*len(due), false, 0)
	if due = due[:got.calls/2]; len(due) == 0 {
		r.problem("unfinished launches wait: all clusters of the region together have used up the EC2 API quota for now")
		return nil
	}
	// 1. What became of each, side by side; 2. the outcomes one after the other, because they share counters. Where instances
	// must be asked for again, no more are than the pace of their pool allows: an outage leaves many.
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
			r.start(due[i].Pool, -n)
		case asked[i] && found[i] == nil:
			r.discountUnknown(due[i].Pool, n)
		}
		r.reportOpenLaunch(&due[i], found[i] == nil)
	}
	if slices.ContainsFunc(failures, func(err error) bool { return fault.Is(err, fault.Throttled) }) {
		r.settleCalls(ctx, got, 0, true)
	}
	for i, result := range found {
		if result == nil {
			continue
		}
		if err := r.settle(ctx, due[i], r.claimsOf(due[i]), *result); err != nil {
			r.problem("recover launch %s: %v", due[i].ID, err)
			continue
		}
		r.out.Recovered++
	}
	return r.reload(ctx)
}

// mayRepeat says of each launch whether EC2 may be asked for its instances again now, and counts those as started.
func (r *pass) mayRepeat(due []model.Intent) []bool {
	may := make([]bool, len(due))
	begun := map[string]bool{} // pools
	for i := range due {
		pool, n := due[i].Pool, len(due[i].Claims)
		room := r.launchesLeft(pool)
		if n <= room || !begun[pool] && room > 0 { // one that is larger than any minute's room must not wait for ever
			may[i], begun[pool] = true, true
			r.start(pool, n)
		}
	}
	return may
}

// reportAfter is the age, in seconds, from which people learn of a launch of unknown outcome.
const reportAfter = 240

// refusedAfter is the age, in seconds, from which a launch is over whose repeated call is denied or found invalid, and of which no look has
// shown an instance: whatever an earlier call launched can be seen by then, and its pods are not to wait longer. Repeated calls come at ticks, 63 s
// apart at least, so that the second comes 180 s after the launch was recorded or later.
const refusedAfter = 180

// reportOpenLaunch tells a pool of a launch that has been without a known outcome for minutes: its pods wait for it.
func (r *pass) reportOpenLaunch(intent *model.Intent, open bool) {
	age := r.now() - intent.CreatedUnix
	if !open || age < reportAfter {
		return
	}
	event := model.Event{
		Kind: "NodePool", Name: intent.Pool, Warning: true, Reason: "LaunchOutcomeUnknown",
		Message: fmt.Sprintf("EC2 has not returned the result of launch %s of %d instances for minutes; it was recorded at %s, is tried again, and is abandoned at %s",
			intent.ID, len(intent.Claims), stamp(intent.CreatedUnix), stamp(intent.CreatedUnix+int64(r.settings.GiveUpAfter.Seconds()))),
	}
	if intent.Pool == "" {
		for _, claim := range r.claimsOf(*intent) {
			event.Kind, event.Name, event.UID = "NodeClaim", claim.Name, claim.ObjectUID
			r.event(event)
		}
		return
	}
	for i := range r.snapshot.Pools {
		if pool := &r.snapshot.Pools[i]; pool.Name == intent.Pool {
			event.UID = pool.UID
			r.event(event)
		}
	}
}

// findOut returns what became of a launch, and nil where that is still not known; asked says whether EC2 was asked for its
// instances again, which it is only where that may be done now. Another call is noted in the ledger before it is made.
func (r *pass) findOut(ctx context.Context, intent *model.Intent, again bool) (result *model.LaunchResult, asked bool, err error) {
	found, err := r.clients.Fleet.FindInstances(ctx, intent.ID)
	if err != nil {
		return nil, false, fmt.Errorf("find its instances: %w", err)
	}
	claims := r.claimsOf(*intent)
	found = distinct(found)
	tooOld := r.now()-intent.CreatedUnix > int64(r.settings.GiveUpAfter.Seconds())
	if len(found) > 0 && (len(found) >= len(claims) || tooOld) {
		return &model.LaunchResult{Instances: found}, false, nil
	}
	// Fewer than asked for may be a partial fleet, and may be all that EC2 shows yet of a whole one: an instance that was
	// written off for not being shown would run without a claim. Asked again with the same token, EC2 says which.
	refused := func(code, message string) *model.LaunchResult {
		return &model.LaunchResult{Errors: []model.LaunchError{{Code: code, Message: message}}}
	}
	if tooOld {
		return refused(neverLaunched, "no instance has the launch's tag and its client token may have expired"), false, nil
	}
	if len(claims) == 0 {
		return refused("NoClaims", "the launch has no claims left"), false, nil
	}
	if !again {
		return nil, false, nil // as many of its pool as may be launched in this minute are
	}
	intent.Attempt++
	intent.DueUnix = r.due()
	if err := r.effect(ctx, EffectCalling, func() error { return r.Claims.Calling(ctx, r.fence, *intent) }); err != nil {
		return nil, false, fmt.Errorf("record attempt %d: %w", intent.Attempt, err)
	}
	answer, err := r.callFleet(ctx, *intent)
	switch kind := fault.KindOf(err); {
	case err == nil:
		return &answer, true, nil
	case len(found) == 0 && kind == fault.NoCapacity: // EC2 knows the token before it looks for capacity: nothing came of it before
		return refused(codeOr(err, "LaunchRefused"), err.Error()), true, nil
	case len(found) == 0 && (kind == fault.Denied || kind == fault.Invalid) && r.now()-intent.CreatedUnix >= refusedAfter:
		return refused(codeOr(err, "LaunchRefused"), err.Error()), true, nil
	}
	// It stays open and is looked into again when due. That a repeated call is denied or found invalid says nothing of an earlier one, whose
	// instances EC2 may not show yet.
	return nil, true, err
}

// distinct returns the instances by id, each once and none without an id.
func distinct(instances []model.Instance) []model.Instance {
	sorted := append([]model.Instance{}, instances...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].ID < sorted[j].ID })
	var out []model.Instance
	for _, instance := range sorted {
		if instance.ID != "" && (len(out) == 0 || out[len(out)-1].ID != instance.ID) {
			out = append(out, instance)
		}
	}
	return out
}

// claimsOf returns the intent's claims in the intent's order, as the ledger has them: those that wait for an instance. The
// ledger is not read at one instant, so it may show an intent open and its claims settled already.
func (r *pass) claimsOf(intent model.Intent) []model.Claim {
	byName := make(map[string]model.Claim, len(r.ledger.Claims))
	for _, claim := range r.ledger.Claims {
		if claim.State == model.Intended {
			byName[claim.Name] = claim
		}
	}
	claims := make([]model.Claim, 0, len(intent.Claims))
	for _, name := range intent.Claims {
		if claim, ok := byName[name]; ok {
			claims = append(claims, claim)
		}
	}
	return claims
}

func codeOr(err error, code string) string {
	if c := fault.CodeOf(err); c != "" {
		return c
	}
	return code
}
