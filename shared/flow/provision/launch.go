package provision

import (
	"context"
	"errors"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// launcher launches what was planned.
type launcher struct {
	*constraints
	quota        *quota
	replacements *replacements
	templates    *templateCollector
	recorder     *recorder
	drafter      *drafter
	settler      *settler
	fleet        Fleet

	remade map[string]int // by class, the round in which its launch templates were made again; see madeAgain
}

// waveSize is how many launches are under way at most before their outcomes are looked at.
const waveSize = 8

// launch records and carries out a plan, and leaves so many launches without capacity for pools that may have some. An
// error means that the ledger could not be written; what was recorded before is carried out all the same.
func (l *launcher) launch(
	ctx context.Context, plan roundPlan, keep int, all *launches,
) (made roundLaunches, err error) {
	made = roundLaunches{Round: model.Round{Plan: plan.Plan}, insufficient: map[string]bool{}, gave: map[string]bool{}}
	refusedBefore := len(all.blocked)
	attempts, again := l.drafter.group(ctx, plan, all)
	made.again = again || len(all.blocked) > refusedBefore
	l.start(attempts, 1)
	for first := true; len(attempts) > 0 && err == nil; first = false {
		if !first && l.timeIsUp() {
			l.problem("%d launches wait because time ran out; the next resync continues", len(attempts))
			break
		}
		if err = l.remember(ctx); err != nil {
			break
		}
		var wave []*attempt
		if wave, attempts = l.wave(attempts, &made); len(wave) == 0 {
			made.again = true
			break
		}
		got := l.takeFor(ctx, wave, first, plan.Plan, keep)
		if got.calls == 0 {
			l.problem("%d launches wait: %s", len(wave)+len(attempts), quotaUsedUp)
			made.yielded, l.quota.putOff = got.kept, l.quota.putOff || !got.kept
			attempts = append(wave, attempts...)
			break
		}
		attempts = append(wave[got.calls:], attempts...)
		err = l.launchAll(ctx, wave[:got.calls], got, plan, &made, all)
	}
	l.start(attempts, -1)
	return made, err
}

// start counts the claims of launches as started, or no more where sign is -1.
func (l *launcher) start(attempts []*attempt, sign int) {
	for _, a := range attempts {
		l.pace.start(a.launch.Pool, sign*len(a.claims))
	}
}

// takeFor takes the calls of a wave of launches, and beside that has the plan kept that the first of them are of.
func (l *launcher) takeFor(ctx context.Context, wave []*attempt, first bool, plan model.Plan, keep int) (got granted) {
	if !first {
		return l.quota.take(ctx, len(wave), true, keep)
	}
	l.parallel(2, func(i int) {
		if i == 0 {
			got = l.quota.take(ctx, len(wave), true, keep)
		} else {
			l.recorder.keepPlan(ctx, plan)
		}
	})
	return got
}

// wave returns the next launches, and those that come later, without those of pools that had no capacity in this round.
// Where launches of this cluster had no capacity lately, a pool's first launch goes alone: what it meets the others
// would meet too.
func (l *launcher) wave(attempts []*attempt, made *roundLaunches) (wave, later []*attempt) {
	alone := map[string]bool{}
	for i, a := range attempts {
		pool := a.launch.Pool
		switch {
		case made.insufficient[pool]:
			l.start(attempts[i:i+1], -1)
		case len(wave) == waveSize, alone[pool]:
			later = append(later, a)
		default:
			alone[pool] = !made.gave[pool] && l.quota.insufficientLately()
			wave = append(wave, a)
		}
	}
	return wave, later
}

// launchAll records launches, calls EC2 for those that are recorded, and settles what came of it.
func (l *launcher) launchAll(
	ctx context.Context, wave []*attempt, got granted, plan roundPlan, made *roundLaunches, all *launches,
) error {
	// 1. The exact bytes, then the record of them; only what is recorded is called.
	var recorded []*attempt
	var err error
	for i, a := range wave {
		ok, again, recordErr := l.record(ctx, a, all)
		made.again = made.again || again
		if recordErr != nil {
			err = recordErr
			l.start(wave[i:], -1)
			break
		}
		if !ok {
			l.start(wave[i:i+1], -1)
			continue
		}
		recorded = append(recorded, a)
	}
	l.reached("recorded")

	// 2. Calls that do not depend on each other, side by side.
	l.parallel(len(recorded), func(i int) { l.settler.call(ctx, recorded[i]) })
	l.reached("fleet")

	// 3. Outcomes, in plan order.
	cameInsufficient, throttled := 0, false
	for _, a := range recorded {
		again, settleErr := l.conclude(ctx, a, plan, all)
		made.again = made.again || again
		err = errors.Join(err, settleErr)
		made.Launched = append(made.Launched, a.settled...)
		made.Failed = append(made.Failed, a.failed...)
		made.UnavailableOfferings = append(made.UnavailableOfferings, a.unavailable...)
		l.pace.start(a.launch.Pool, -len(a.failed))
		if len(a.result.Instances) == 0 && len(a.unavailable) > 0 {
			cameInsufficient, made.insufficient[a.launch.Pool] = cameInsufficient+1, true
		}
		throttled = throttled || a.throttled()
	}
	for _, claim := range made.Launched {
		made.gave[claim.Pool] = true
	}
	l.quota.settleCalls(ctx, got, cameInsufficient, throttled)
	return err
}

// record writes down what is about to be asked of EC2. ok says that it may be asked; again that another plan may get
// round what was in the way; an error that the ledger could not be written.
func (l *launcher) record(ctx context.Context, a *attempt, all *launches) (ok, again bool, err error) {
	if _, refused := all.blocked[a.launch.Class.Name]; refused {
		return false, true, nil
	}
	request, err := l.fleet.PrepareRequest(ctx, a.launch)
	if err != nil {
		return false, l.classes.refused(all, a.launch.Class, a.launch.Pool, fmt.Errorf("prepare launch: %w", err)), nil
	}
	a.intent.Request = request
	l.templates.uses(request)
	err = l.effect(ctx, EffectRecord, func() error {
		return l.store.Record(ctx, l.fence, a.intent, a.claims, a.limits)
	})
	if fault.CodeOf(err) == ClaimExists {
		l.standalones.nameTaken(a)
		for i := range a.claims {
			l.replacements.nameUsed[a.claims[i].Name] = true
		}
		return false, true, nil // a claim of that name ended lately; the next plan's names are others
	}
	if fault.Is(err, fault.Exhausted) {
		return false, true, nil // somebody else took the room; the reloaded usage says how much is left
	}
	if err != nil {
		return false, false, fmt.Errorf("record launch of %d claims of NodePool %s: %w", len(a.claims), a.launch.Pool,
			err)
	}
	for i := range a.claims {
		all.recorded[a.claims[i].Name] = true
		if w := l.standalones.named(a.claims[i].Name); w != nil {
			w.tries++
		}
	}
	return true, false, nil
}

// conclude turns the answer of one call into an outcome. again says that another plan may do better.
func (l *launcher) conclude(ctx context.Context, a *attempt, plan roundPlan, all *launches) (again bool, err error) {
	if a.err == nil {
		again = l.weigh(a, plan.of.number, all)
	} else if code := fault.CodeOf(a.err); capacityCode(code) {
		a.result.Errors = []model.LaunchError{{Code: code, Message: a.err.Error(),
			Offering: model.OfferingKey{CapacityType: a.launch.CapacityType}}}
		a.unavailable = l.backOff.counted(unavailableOf(a.launch, everyPool(a.launch, code, a.err.Error())))
	} else if templateGone(fault.CodeOf(a.err)) && l.madeAgain(a.launch.Class.Name, plan.of.number) {
		// Made again by now; only the token of this launch may be used up. It says nothing of the class.
		a.result.Errors = []model.LaunchError{{Code: fault.CodeOf(a.err), Message: a.err.Error()}}
		again = true
	} else if kind := fault.KindOf(a.err); kind == fault.Throttled || kind == fault.Denied || kind == fault.Invalid ||
		kind == fault.NoCapacity {
		a.result.Errors = []model.LaunchError{{Code: codeOr(a.err, "LaunchRefused"), Message: a.err.Error()}}
		again = l.classes.refused(all, a.launch.Class, a.launch.Pool, a.err)
	} else {
		// It is unknown whether EC2 did it. The intent stays open and is looked into when it is due.
		l.pace.discountUnknown(a.launch.Pool, len(a.claims))
		l.problem("launch %s of NodePool %s, outcome unknown: %v", a.intent.ID, a.launch.Pool, a.err)
		return false, nil
	}
	l.accountLimits(a)
	missing := len(a.result.Instances) < len(a.claims)
	l.backOff.probed(ctx, a)
	if l.backOff.markUnavailable(ctx, a.unavailable) && missing {
		again = true
	}
	outcome := l.settler.outcome(a.intent, a.claims, a.result, a.launch.Class,
		model.CatalogOf(plan.question.Input.Catalogs, a.launch.Class.Name, a.launch.Pool))
	if err := l.settler.writeOutcome(ctx, outcome); err != nil {
		return again, err
	}
	a.settled, a.failed = outcome.Launched, outcome.Failed
	if len(a.settled) > 0 {
		l.classes.accepted(a.launch.Class.Name)
	}
	return again, nil
}

// accountLimits tells the class that the account may have no more of something, or no spot at all, which only people
// can change.
func (l *launcher) accountLimits(a *attempt) {
	class := a.launch.Class
	for _, unavailable := range a.unavailable {
		if scopes[unavailable.Reason] == scopeSpot {
			l.warn(kindClass, class.Name, class.UID, reasonOf(unavailable.Reason, ""),
				"the account has no service-linked role for EC2 Spot and may not create it, so no spot instance can "+
					"be launched; create it once: "+
					"aws iam create-service-linked-role --aws-service-name spot.amazonaws.com")
		}
		if !accountLimit(unavailable.Reason) {
			continue
		}
		what := unavailable.CapacityType + " instances"
		if unavailable.Group != "" {
			what += " of quota group " + unavailable.Group
		}
		l.warn(kindClass, class.Name, class.UID, "AccountLimit",
			fmt.Sprintf("the account may have no more %s: %s; raise its limit", what, unavailable.Reason))
	}
}

// weigh looks at the errors that came with an answer: pools of capacity that gave nothing are marked, and a request
// that is wrong concerns its class, but only where it cost an instance.
func (l *launcher) weigh(a *attempt, round int, all *launches) (again bool) {
	a.unavailable = l.backOff.counted(unavailableOf(a.launch, a.result.Errors))
	if len(a.result.Instances) >= len(a.claims) {
		return false
	}
	class := a.launch.Class
	for _, e := range a.result.Errors {
		switch {
		case capacityCode(e.Code):
		case templateGone(e.Code) && l.madeAgain(class.Name, round):
			again = true // the adapter makes it again for the next request
		case refusalCode(e.Code):
			again = l.classes.refused(all, class, a.launch.Pool, fault.New(fault.Invalid, e.Code, "%s", e.Message))
		default:
			l.problem("launch of NodePool %s: %s: %s", a.launch.Pool, e.Code, e.Message)
		}
	}
	return again
}

// madeAgain reports whether launch templates of a class that EC2 did not know were made again, so that the next round
// may find them: that is once in a run, for all launches of one round.
func (l *launcher) madeAgain(class string, round int) bool {
	if after, before := l.remade[class]; before {
		return after == round
	}
	l.remade[class] = round
	return true
}
