package provision

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// planner makes the plan of each round of a run.
type planner struct {
	*constraints
	replacements *replacements
	live         *live

	plannerInput *model.PlannerInput // of this round; nil = nothing was planned yet
	question     *replay.Provision   // the same, joined with what it is asked of
	spent        model.PlanBound     // what this run's plans took in all
	later        int                 // pods that the last plan did not take
}

// plan plans for pods and for what else is to be launched, without pools that are set aside.
func (p *planner) plan(ctx context.Context, of round) roundPlan {
	draw := func() model.Plan {
		p.ask(of)
		return p.affordable(p.planned())
	}
	plan := draw()
	if p.live.outdated(ctx, plan) {
		plan = draw()
	}
	whole, beside := p.complete(plan)
	if !p.spentUp() && p.backOff.pressing(p.leavesOut(whole, beside)) {
		whole, beside = p.complete(draw())
	}
	p.portioned(whole)
	p.report(beside)
	return roundPlan{whole, of, p.plannerInput, p.question}
}

// leavesOut reports whether a plan leaves pods waiting, or has fewer nodes than static pools lack, or none for a
// NodeClaim that people made.
func (p *planner) leavesOut(plan model.Plan, beside replay.CompletionIssues) bool {
	if len(plan.Unschedulable) > 0 || len(beside.Denied) > 0 {
		return true
	}
	filled := map[string]int{}
	for i := range plan.Claims {
		filled[plan.Claims[i].Pool]++
	}
	return slices.ContainsFunc(p.plannerInput.Fill, func(fill model.Filling) bool {
		return filled[fill.Pool] < fill.Count
	})
}

// ask puts this round's question: what the ledger knows beyond the snapshot, and what people set.
func (p *planner) ask(of round) {
	q := &model.PlannerInput{
		NowUnix: p.now(), Salt: fmt.Sprintf("%s/%d", of.decision, of.number), Offerings: p.offeringSettings(),
		Claims: p.inFlight(), Usage: p.ledger.Usage, UnavailableOfferings: slices.Clone(p.backOff.unavailableNow()),
		ExcludedPools: slices.Sorted(maps.Keys(of.excluded)), SuspendedPools: p.suspensions.suspendedPools(),
		LeftOut: p.culprits.quarantined(),
		Leaving: p.leaving, SeenUnix: p.seenUnix, Bound: slices.Sorted(maps.Keys(p.live.settled)),
		IgnorePreferences: p.settings.IgnorePreferences, BestEffortMinValues: p.settings.BestEffortMinValues,
		PriceCapFactor: p.settings.PriceCapFactor, PriceCapWaitSeconds: int64(p.settings.PriceCapWait.Seconds()),
	}
	q.Offerings.NowUnix = q.NowUnix
	for _, name := range slices.Sorted(maps.Keys(p.classes.resolved)) {
		class := p.classes.resolved[name]
		q.Classes = append(q.Classes, model.PlannerClass{
			Name: name,
			Status: offering.Less(class.Status, offering.Taken(&class.Status, p.ledger.Claims),
				p.ledger.UnavailableOfferings, q.NowUnix),
			Barred: p.barred(class, of.blocked),
		})
	}
	q.Promised = p.replacements.promised(q.Claims)
	q.Applied = p.live.applied
	most := p.settings.Most
	q.Most, q.PlannedTo = &most, p.ledger.Notes.PlannedTo
	q.Served = replay.ServedNamespaces(p.snapshot, p.pending(), p.ledger.Claims)
	p.plannerInput, p.question = q, replay.New(q, p.snapshot, p.pending(), p.classes.catalog.Types)
	q.Fill = p.fill()
	p.spend()
}

// barred says why nothing may be launched from a class now for a reason that is not its own; empty = something may.
func (p *planner) barred(class model.Class, blocked map[string]string) string {
	return cmp.Or(p.suspensions.classSuspended(class.Name), blocked[class.Name], p.classes.refusedClass(class))
}

// fill returns what static pools lack, no more of a pool than may be launched in this minute.
func (p *planner) fill() []model.Filling {
	var fill []model.Filling
	pools := p.question.Input.Snapshot.Pools
	for i := range pools {
		if n := min(p.missing(&pools[i]), p.pace.launchesLeft(pools[i].Name, 0)); n > 0 {
			fill = append(fill, model.Filling{Pool: pools[i].Name, Count: n})
		}
	}
	return fill
}

// spend counts a plan of what the round takes.
func (p *planner) spend() {
	taken := p.question.Selection()
	p.spent.Pods, p.spent.Sets = p.spent.Pods+len(taken.Pods), p.spent.Sets+taken.Sets
}

// spentUp reports whether another plan like the last would have this run plan more than twice what one plan takes. It
// is a count, so that how far an invocation gets depends on no clock; for small plans MaxRounds is less.
func (p *planner) spentUp() bool {
	taken := p.question.Selection()
	return p.spent.Pods+len(taken.Pods) > 2*p.settings.Most.Pods || p.spent.Sets+taken.Sets > 2*p.settings.Most.Sets
}

// portioned tells what of the pods that wait the plan did not take, and notes where the next goes on.
func (p *planner) portioned(plan model.Plan) {
	p.out.Later, p.later = plan.Later, plan.Later
	if next := p.question.Selection().Next; next != p.ledger.Notes.PlannedTo {
		p.ledger.Notes.PlannedTo, p.noted = next, true
	}
	if plan.Later > 0 {
		p.problem(
			"%d pods are planned next: one plan takes at most %d pods, and rules between pods about %d sets of them",
			plan.Later, p.settings.Most.Pods, p.settings.Most.Sets)
	}
}

// affordable has claims wait that would be far too large; see replay.Provision.
func (p *planner) affordable(plan model.Plan) model.Plan {
	plan, waits := p.question.Affordable(plan)
	if waits > 0 {
		p.problem("%d claims wait: only instances of more than %d times the usual price have capacity for them", waits,
			p.settings.PriceCapFactor)
	}
	return plan
}

// planned is pack.Plan, or whatever takes its place in a test, with what makes it panic left out of this round's
// question.
func (p *planner) planned() model.Plan {
	input := p.question.PlannerInput()
	plan, panicked := p.culprits.try(input)
	for range culpritsAtOnce {
		if panicked == "" || p.timeIsUp() {
			break
		}
		without, what := p.culprits.withoutCulprit(input)
		if what == "" {
			break
		}
		p.culprits.accuse(what, panicked)
		p.plannerInput.LeftOut = append(p.plannerInput.LeftOut, what)
		input = without
		plan, panicked = p.culprits.try(input)
	}
	if panicked == "" {
		return p.question.WithReasons(p.question.Evened(plan, input, func(fair pack.Input) (model.Plan, string) {
			p.spend()
			return p.culprits.try(fair)
		}))
	}
	p.problem("planning panics, and no object was found that could be left out: %s", panicked)
	return model.Plan{}
}

// complete adds to a plan for pods what else is to be launched.
func (p *planner) complete(plan model.Plan) (model.Plan, replay.CompletionIssues) {
	p.plannerInput.PendingReplacements = p.replacements.launchable()
	p.plannerInput.StandaloneClaims = p.standalones.launchable()
	return p.question.Complete(plan)
}

// report notes what is not launched beside pods, and why.
func (p *planner) report(beside replay.CompletionIssues) {
	for _, why := range slices.Sorted(maps.Keys(beside.Waits)) {
		p.problem("%d replacements wait: %s", beside.Waits[why], why)
	}
	for _, culprit := range beside.Culprits {
		if strings.HasPrefix(culprit.What, "NodePool/") {
			p.culprits.accuse(culprit.What, culprit.Panic)
		} else {
			p.problem("%s: planning panicked: %s", culprit.What, culprit.Panic)
		}
	}
	p.replacements.unfit(beside.Unfit)
	p.standalones.denied(beside.Denied)
}
