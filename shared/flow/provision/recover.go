package provision

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// recover settles the launches an earlier run recorded and did not finish.
//
// The planner lease outlives its holder's hard timeout and an intent is due only some time after that, so whoever
// recorded it cannot be calling EC2 any more. Machines are looked for by the intent's tag first. Only where there is none
// the very same bytes are sent again: EC2 answers a repeated client token with the first outcome.
func (r *run) recover(ctx context.Context) error {
	var changed bool
	for _, intent := range r.ledger.Intents {
		if intent.State == model.IntentDone || intent.DueUnix > r.now() {
			continue
		}
		settled, err := r.recoverIntent(ctx, intent)
		if err != nil && !passing(err) {
			r.problem("recover launch %s: %v", intent.ID, err)
		}
		if settled {
			r.out.Recovered++
			changed = true
		}
	}
	if !changed {
		return nil
	}
	return r.reload(ctx)
}

func (r *run) recoverIntent(ctx context.Context, intent model.Intent) (settled bool, err error) {
	claims := r.claimsOf(intent)
	found, err := r.site.Fleet.Find(ctx, intent.ID)
	if err != nil {
		return false, fmt.Errorf("look for its machines: %w", err)
	}
	if len(found) > 0 {
		// Fewer than asked for is a partial fleet: the pods of the others are still pending and are planned again.
		result := model.LaunchResult{Instances: found}
		return true, r.settle(ctx, intent, claims, result)
	}
	if r.now()-intent.CreatedUnix > int64(r.settings.GiveUpAfter.Seconds()) {
		gone := model.LaunchError{Code: "NeverLaunched", Message: "no machine carries the launch's tag and its client token may have lapsed"}
		return true, r.settle(ctx, intent, claims, model.LaunchResult{Errors: []model.LaunchError{gone}})
	}
	intent.Attempt++
	intent.DueUnix = r.due()
	if err := r.Claims.Calling(ctx, r.fence, intent); err != nil {
		return false, fmt.Errorf("record attempt %d: %w", intent.Attempt, err)
	}
	result, err := r.callFleet(ctx, intent)
	switch fault.KindOf(err) {
	case fault.Denied, fault.Invalid, fault.NoCapacity:
		if err != nil {
			refused := model.LaunchError{Code: codeOr(err, "LaunchRefused"), Message: err.Error()}
			return true, r.settle(ctx, intent, claims, model.LaunchResult{Errors: []model.LaunchError{refused}})
		}
	}
	if err != nil {
		return false, err // Throttled, mismatch or unknown: it stays open and is looked into again when due
	}
	return true, r.settle(ctx, intent, claims, result)
}

// claimsOf returns the intent's claims in the intent's order, as the ledger has them.
func (r *run) claimsOf(intent model.Intent) []model.Claim {
	byName := make(map[string]model.Claim, len(r.ledger.Claims))
	for _, claim := range r.ledger.Claims {
		byName[claim.Name] = claim
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
