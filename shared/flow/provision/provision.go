package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// provisioner plans and launches in rounds.
type provisioner struct {
	*constraints
	replacements *replacements
	live         *live
	buffers      *buffers
	planner      *planner
	launcher     *launcher
	recorder     *recorder

	rounds             int
	excludedPools      map[string]bool // pools left out of this round because they had no capacity
	insufficientRounds map[string]int  // rounds of this run in which a pool had no capacity, by pool
	triedFallback      bool            // pods that other pools can take have been taken care of
}

// provision plans and launches until every pending pod has a home or a reason. A capacity error marks the offering and
// plans again, in this same run; the number of rounds is bounded.
func (p *provisioner) provision(ctx context.Context) (all *launches, err error) {
	all = newLaunches()
	pending, places := len(p.pending()), p.buffers.places()
	p.out.Pending, p.out.Headroom = pending-places, places
	p.standalones.read(ctx)
	for _, w := range p.standalones.asked {
		p.classes.byHand = append(p.classes.byHand, w.Template.ClassName)
	}
	short := p.short() || len(p.standalones.asked) > 0 || len(p.replacements.waiting()) > 0 || p.replacements.wait
	if pending == places && !short && p.buffers.kept() {
		pending = 0
	}
	if pending == 0 && !short {
		all.planned = p.draining()
	}
	if pending == 0 && !short && !p.classes.configDue() {
		return all, nil
	}
	p.classes.resolveClasses(ctx)
	if pending == 0 && !short || p.lost() {
		return all, nil
	}
	if _, err = p.classes.readCatalog(ctx); err != nil {
		return all, err
	}
	p.reached("catalog")
	p.recorder.open(pending)
	for p.rounds < p.settings.MaxRounds {
		if p.rounds > 0 && p.timeIsUp() {
			p.problem("stopped after %d rounds of planning because time ran out; the next resync continues", p.rounds)
			return all, nil
		}
		if p.rounds > 0 && p.planner.spentUp() {
			p.problem("stopped after %d rounds: one invocation plans twice what one plan takes; the next continues",
				p.rounds)
			return all, nil
		}
		if again, err := p.round(ctx, all); err != nil || !again {
			return all, err
		}
		// Ends that began meanwhile are planned for before anything is shown; those that were need not wait for that.
		p.replaced(ctx, all.planned)
	}
	p.problem("stopped after %d rounds of planning; the next resync continues", p.rounds)
	return all, nil
}

// round plans once and launches the plan. It reports whether another round is to follow.
func (p *provisioner) round(ctx context.Context, all *launches) (another bool, err error) {
	p.rounds++
	p.out.Rounds = p.rounds
	of := round{decision: p.recorder.decision.ID, number: p.rounds, excluded: p.excludedPools, blocked: all.blocked}
	plan := p.planner.plan(ctx, of)
	if len(plan.Claims) > 0 {
		if p.live.read(ctx); p.live.correct(ctx) {
			plan = p.planner.plan(ctx, of)
		}
	}
	p.reached(fmt.Sprintf("plan%d", p.rounds))
	drains := p.draining()
	p.recorder.inputs = append(p.recorder.inputs, recordedInput{plan.input, p.snapshot, p.pending()})
	made := roundLaunches{Round: model.Round{Plan: plan.Plan}}
	if err = p.live.withhold(plan.Plan, all.putOff); err == nil {
		keep := insufficientKept
		if len(p.excludedPools) > 0 {
			keep = 0
		}
		made, err = p.launcher.launch(ctx, plan, keep, all)
	}
	p.recorder.decision.Rounds = append(p.recorder.decision.Rounds, made.Round)
	p.countRound(made.Round)
	if made.again || len(made.Launched) > 0 || len(drains) > 0 {
		err = errors.Join(err, p.reload(ctx))
	}
	if err != nil {
		return false, err
	}
	all.planned = p.plannedFor(slices.Clone(drains), plan, all)
	return p.next(made) || p.more(drains) || p.replacements.wait && len(made.Launched) > 0, nil
}

// next reports whether another plan may do better than the round. A pool that had no capacity twice, or that others'
// dry launches leave nothing for, is set aside, so that pods another pool can take run there; once those have their
// instances it is tried again.
func (p *provisioner) next(made roundLaunches) bool {
	for pool := range made.insufficient {
		p.insufficientRounds[pool]++
	}
	if len(p.excludedPools) > 0 && !made.again {
		p.excludedPools, p.triedFallback = nil, true
		return true
	}
	if p.triedFallback || !made.again && !made.yielded {
		return made.again
	}
	if made.yielded {
		for _, claim := range made.Plan.Claims {
			p.insufficientRounds[claim.Pool] = insufficientTwice
		}
	}
	excluded, others := map[string]bool{}, false
	for i := range p.snapshot.Pools {
		name := p.snapshot.Pools[i].Name
		if p.insufficientRounds[name] >= insufficientTwice {
			excluded[name] = true
		} else {
			others = true
		}
	}
	if len(excluded) > 0 && others {
		p.excludedPools = excluded
		return true
	}
	return made.again
}

// insufficientTwice is after how many dry rounds a pool is set aside.
const insufficientTwice = 2

// lostFor is how long nothing is launched, in seconds, while NodeClaim objects exist and the ledger knows of no claim
// at all: it was lost, and what is there will be taken into it again.
const lostFor = 180

// lost reports whether the ledger seems to have been lost a moment ago.
func (p *provisioner) lost() bool {
	strangers := 0
	if len(p.ledger.Claims)+len(p.ledger.Intents)+len(p.ledger.Unread) == 0 {
		known := map[string]bool{}
		for i := range p.ledger.Ended {
			known[p.ledger.Ended[i].Name] = true
		}
		for _, object := range p.snapshot.Claims {
			// one without an instance says nothing about the ledger
			if object.DeletedUnix == 0 && !object.Manual && !known[object.Name] {
				strangers++
			}
		}
	}
	switch since := p.ledger.Notes.LostUnix; {
	case strangers == 0:
		p.noted = p.noted || since != 0
		p.ledger.Notes.LostUnix = 0
		return false
	case since == 0:
		p.ledger.Notes.LostUnix, p.noted = p.now(), true
	case p.now()-since >= lostFor:
		return false
	}
	p.problem(
		"%d NodeClaims exist and the ledger knows none: nothing is launched before they are adopted, or for %d seconds",
		strangers, lostFor)
	return true
}

// plannedFor returns those of the draining claims all of whose pods have a place by the plan, or had one asked of EC2,
// or can have none: not those with pods whose launches were put off.
func (p *provisioner) plannedFor(drains []string, plan roundPlan, all *launches) []string {
	if len(drains) == 0 {
		return drains
	}
	late := map[string]bool{} // pods by UID
	for _, planned := range plan.Claims {
		for _, pod := range planned.Pods {
			if !all.recorded[planned.Name] {
				late[pod.UID] = true
			}
		}
	}
	waits := map[string]bool{} // nodes by name
	for _, i := range p.pending() {
		if pod := &p.snapshot.Pods[i]; late[pod.UID] && pod.NodeName != "" {
			waits[pod.NodeName] = true
		}
	}
	for _, i := range plan.question.Input.Later {
		waits[p.snapshot.Pods[i].NodeName] = true
	}
	delete(waits, "")
	unmet := map[string]bool{}
	for i := range p.ledger.Claims {
		if claim := &p.ledger.Claims[i]; waits[claim.NodeName] {
			unmet[claim.Name] = true
		}
	}
	return slices.DeleteFunc(drains, func(name string) bool { return unmet[name] })
}

// more reports whether nodes are being emptied that were not yet when there were those named. A run that has probed an
// offering leaves them to the next: it would ask for that offering once more.
func (p *provisioner) more(drains []string) bool {
	return !p.backOff.early && len(p.backOff.probes) == 0 && slices.ContainsFunc(p.draining(), func(name string) bool {
		_, known := slices.BinarySearch(drains, name)
		return !known
	})
}

// replaced notes the claims whose nodes are being emptied and whose pods were planned for: their drains need wait no
// longer. It is written at once, before what else this run does.
func (p *provisioner) replaced(ctx context.Context, drains []string) {
	if drains == nil || slices.Equal(drains, p.ledger.Notes.Replaced) {
		return
	}
	p.ledger.Notes.Replaced, p.noted = drains, true
	if err := p.remember(ctx); err != nil {
		p.problem("record that drains need not wait: %v", err)
	}
}

func (p *provisioner) countRound(round model.Round) {
	p.out.Failed += len(round.Failed)
	p.out.Claims += len(round.Launched)
	for _, claim := range round.Launched {
		p.out.PricePerHour += claim.Price.USD()
		p.recorder.decision.Launched = append(p.recorder.decision.Launched, claim.Name)
		p.countBought(claim)
	}
	for _, claim := range round.Failed {
		p.out.Failures[claim.FailureCode]++
	}
	p.out.Unschedulable = len(round.Plan.Unschedulable)
	if p.rounds > 1 {
		return // later rounds find what this run launched itself
	}
	for _, nomination := range round.Plan.Nominations {
		p.out.Nominated += len(nomination.Pods)
	}
}

// countBought adds one to what was launched for the claim's pool as its capacity type, and notes its intent.
func (p *provisioner) countBought(claim model.Claim) {
	compare := func(b Bought, c model.Claim) int {
		return cmp.Or(strings.Compare(b.Pool, c.Pool), strings.Compare(b.CapacityType, c.CapacityType))
	}
	i, found := slices.BinarySearchFunc(p.out.Bought, claim, compare)
	if !found {
		p.out.Bought = slices.Insert(p.out.Bought, i, Bought{Pool: claim.Pool, CapacityType: claim.CapacityType})
	}
	p.out.Bought[i].Claims++
	if !slices.Contains(p.out.Intents, claim.Intent) {
		p.out.Intents = append(p.out.Intents, claim.Intent)
	}
}
