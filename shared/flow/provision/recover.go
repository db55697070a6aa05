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
// recorded it cannot be calling EC2 any more. Machines are looked for by the intent's tag first. Only where there is none
// the very same bytes are sent again: EC2 answers a repeated client token with the first outcome.
func (r *run) recover(ctx context.Context) error {
	var due []model.Intent
	for _, intent := range r.ledger.Intents {
		if intent.State != model.IntentDone && intent.DueUnix <= r.now() {
			due = append(due, intent)
		}
	}
	if len(due) == 0 {
		return nil
	}
	// Each may take a look and a call.
	got := r.take(ctx, 2*len(due), false, 0)
	if due = due[:got.calls/2]; len(due) == 0 {
		r.problem("unfinished launches wait: EC2's API is used up for now, by all clusters of the region together")
		return nil
	}
	// 1. What became of each, side by side; 2. the outcomes one after the other, because they share counters.
	found, failures := make([]*model.LaunchResult, len(due)), make([]error, len(due))
	r.parallel(len(due), func(i int) {
		found[i], failures[i] = r.findOut(ctx, &due[i])
		if failures[i] != nil {
			r.problem("look into launch %s: %v", due[i].ID, failures[i])
		}
	})
	if slices.ContainsFunc(failures, func(err error) bool { return fault.Is(err, fault.Throttled) }) {
		r.giveBack(ctx, got, 0, true)
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

// findOut returns what became of a launch, and nil where that is still not known. Another call is noted in the ledger
// before it is made.
func (r *run) findOut(ctx context.Context, intent *model.Intent) (*model.LaunchResult, error) {
	found, err := r.site.Fleet.Find(ctx, intent.ID)
	if err != nil {
		return nil, fmt.Errorf("find its machines: %w", err)
	}
	claims := r.claimsOf(*intent)
	found = distinct(found)
	tooOld := r.now()-intent.CreatedUnix > int64(r.settings.GiveUpAfter.Seconds())
	if len(found) > 0 && (len(found) >= len(claims) || tooOld) {
		return &model.LaunchResult{Instances: found}, nil
	}
	// Fewer than asked for may be a partial fleet, and may be all that EC2 shows yet of a whole one: a machine that was
	// written off for not being shown would run without a claim. Asked again with the same token, EC2 says which.
	refused := func(code, message string) *model.LaunchResult {
		return &model.LaunchResult{Errors: []model.LaunchError{{Code: code, Message: message}}}
	}
	if tooOld {
		return refused(neverLaunched, "no machine carries the launch's tag and its client token may have lapsed"), nil
	}
	if len(claims) == 0 {
		return refused("NoClaims", "the launch has no claims left"), nil
	}
	intent.Attempt++
	intent.DueUnix = r.due()
	if err := r.effect(ctx, EffectCalling, func() error { return r.Claims.Calling(ctx, r.fence, *intent) }); err != nil {
		return nil, fmt.Errorf("record attempt %d: %w", intent.Attempt, err)
	}
	result, err := r.callFleet(ctx, *intent)
	switch kind := fault.KindOf(err); {
	case err == nil:
		return &result, nil
	case len(found) == 0 && (kind == fault.Denied || kind == fault.Invalid || kind == fault.NoCapacity):
		return refused(codeOr(err, "LaunchRefused"), err.Error()), nil
	}
	return nil, err // it stays open and is looked into again when due
}

// distinct returns the machines by id, each once and none without an id.
func distinct(machines []model.Instance) []model.Instance {
	sorted := append([]model.Instance{}, machines...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].ID < sorted[j].ID })
	var out []model.Instance
	for _, machine := range sorted {
		if machine.ID != "" && (len(out) == 0 || out[len(out)-1].ID != machine.ID) {
			out = append(out, machine)
		}
	}
	return out
}

// claimsOf returns the intent's claims in the intent's order, as the ledger has them: those that wait for a machine. The
// ledger is not read at one instant, so it may show an intent open and its claims settled already.
func (r *run) claimsOf(intent model.Intent) []model.Claim {
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
