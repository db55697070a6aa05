package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/image"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// provision plans and launches until every pending pod has a home or a reason. A capacity error marks the offering and
// plans again, in this same run; the number of rounds is bounded.
func (r *pass) provision(ctx context.Context) error {
	pending, places := len(r.pending()), r.headroomPods()
	r.out.Pending, r.out.Headroom = pending-places, places
	r.readStandalone(ctx)
	short := r.short() || len(r.standalone) > 0 || len(r.pendingReplacements()) > 0 || r.replacementsWait
	if pending == places && !short && r.headroomKept() {
		pending = 0
	}
	if pending == 0 && !short {
		r.plannedClaims = r.draining()
	}
	if pending == 0 && !short && !r.configDue() {
		return nil
	}
	r.resolveClasses(ctx)
	if pending == 0 && !short || r.lost() {
		return nil
	}
	catalog, err := r.readCatalog(ctx)
	if err != nil {
		return err
	}
	r.reached("catalog")
	r.openDecision(pending)
	blocked := map[string]string{} // classes that refused a launch in this run, with why
	draw := func() model.Plan {    // for pods, and for what else is to be launched
		r.ask(catalog, blocked)
		plan := r.affordable(r.planned())
		if r.outdated(ctx, plan) {
			r.ask(catalog, blocked)
			plan = r.affordable(r.planned())
		}
		if !r.spentUp() && r.pressing(plan) {
			r.ask(catalog, blocked)
			plan = r.affordable(r.planned())
		}
		r.portioned(plan)
		return r.complete(plan)
	}
	for r.out.Rounds < r.settings.MaxRounds {
		if r.out.Rounds > 0 && r.request.Deadline.Sub(r.Now()) < r.settings.StopBefore {
			r.problem("stopped after %d rounds of planning because time ran out; the next resync continues", r.out.Rounds)
			return nil
		}
		if r.out.Rounds > 0 && r.spentUp() {
			r.problem("stopped after %d rounds: one invocation plans twice what one plan takes; the next continues", r.out.Rounds)
			return nil
		}
		r.out.Rounds++
		r.yieldedCalls = false
		plan := draw()
		if len(plan.Claims) > 0 {
			if r.live.read(ctx, r); r.live.correct(ctx, r) {
				plan = draw()
			}
		}
		r.reached(fmt.Sprintf("plan%d", r.out.Rounds))
		round := model.Round{Plan: plan}
		drains := r.draining()
		r.inputs = append(r.inputs, recordedInput{r.plannerInput, r.snapshot, r.pending()})
		var again bool
		if err = r.live.withhold(r, plan); err == nil {
			again, err = r.launch(ctx, r.round.Input.Catalogs, &round, blocked)
		}
		r.decision.Rounds = append(r.decision.Rounds, round)
		r.countRound(plan, round)
		if again || len(round.Launched) > 0 || len(drains) > 0 {
			err = errors.Join(err, r.reload(ctx))
		}
		if err != nil {
			return err
		}
		r.plannedClaims = r.plannedFor(slices.Clone(drains), plan)
		if next := r.next(again, round); !next && !r.more(drains) && !(r.replacementsWait && len(round.Launched) > 0) {
			return nil
		}
		// Ends that began meanwhile are planned for before anything is shown; those that were need not wait for that.
		r.replaced(ctx)
	}
	r.problem("stopped after %d rounds of planning; the next resync continues", r.out.Rounds)
	return nil
}

// next reports whether another plan may do better than the round. A pool that had no capacity twice, or that others' dry
// launches leave nothing for, is set aside, so that pods another pool can take run there; once those have their instances it
// is tried again.
func (r *pass) next(again bool, round model.Round) bool {
	if len(r.excludedPools) > 0 && !again {
		r.excludedPools, r.triedFallback = nil, true
		return true
	}
	if r.triedFallback || !again && !r.yieldedCalls {
		return again
	}
	if r.yieldedCalls {
		for _, claim := range round.Plan.Claims {
			r.insufficientRounds[claim.Pool] = insufficientTwice
		}
	}
	excluded, others := map[string]bool{}, false
	for i := range r.snapshot.Pools {
		name := r.snapshot.Pools[i].Name
		if r.insufficientRounds[name] >= insufficientTwice {
			excluded[name] = true
		} else {
			others = true
		}
	}
	if len(excluded) > 0 && others {
		r.excludedPools = excluded
		return true
	}
	return again
}

// insufficientTwice is after how many dry rounds a pool is set aside.
const insufficientTwice = 2

// lostFor is how long nothing is launched, in seconds, while NodeClaim objects exist and the ledger knows of no claim at all:
// it was lost, and what is there will be taken into it again.
const lostFor = 180

// lost reports whether the ledger seems to have been lost a moment ago.
func (r *pass) lost() bool {
	strangers := 0
	if len(r.ledger.Claims)+len(r.ledger.Intents)+len(r.ledger.Unread) == 0 {
		known := map[string]bool{}
		for i := range r.ledger.Ended {
			known[r.ledger.Ended[i].Name] = true
		}
		for _, object := range r.snapshot.Claims {
			if object.DeletedUnix == 0 && !object.Manual && !known[object.Name] { // one without an instance says nothing about the ledger
				strangers++
			}
		}
	}
	switch since := r.ledger.Notes.LostUnix; {
	case strangers == 0:
		r.noted = r.noted || since != 0
		r.ledger.Notes.LostUnix = 0
		return false
	case since == 0:
		r.ledger.Notes.LostUnix, r.noted = r.now(), true
	case r.now()-since >= lostFor:
		return false
	}
	r.problem("%d NodeClaims exist and the ledger knows none: nothing is launched before they are adopted, or for %d seconds", strangers, lostFor)
	return true
}

// ask puts this round's question: what the ledger knows beyond the snapshot, and what people set.
func (r *pass) ask(catalog model.InstanceCatalog, blocked map[string]string) {
	q := &model.PlannerInput{
		NowUnix: r.now(), Salt: fmt.Sprintf("%s/%d", r.decision.ID, r.out.Rounds), Offerings: r.offeringSettings(),
		Claims: r.inFlight(), Usage: r.ledger.Usage, UnavailableOfferings: slices.Clone(r.unavailableNow()), ExcludedPools: slices.Sorted(maps.Keys(r.excludedPools)), SuspendedPools: r.suspendedPools(), LeftOut: r.quarantined(),
		Leaving: r.leaving, SeenUnix: r.seenUnix, Bound: slices.Sorted(maps.Keys(r.settled)),
		IgnorePreferences: r.settings.IgnorePreferences, BestEffortMinValues: r.settings.BestEffortMinValues,
		PriceCapFactor: r.settings.PriceCapFactor, PriceCapWaitSeconds: int64(r.settings.PriceCapWait.Seconds()),
	}
	q.Offerings.NowUnix = q.NowUnix
	for _, name := range sortedClasses(r.classes) {
		class := r.classes[name]
		q.Classes = append(q.Classes, model.PlannerClass{
			Name: name, Status: offering.Less(class.Status, offering.Taken(&class.Status, r.ledger.Claims), r.ledger.UnavailableOfferings, q.NowUnix),
			Barred: r.barred(class, blocked),
		})
	}
	q.Promised = r.promised(q.Claims)
	q.Applied = r.live.is
	most := r.settings.Most
	q.Most, q.Served, q.PlannedTo = &most, replay.ServedNamespaces(r.snapshot, r.pending(), r.ledger.Claims), r.ledger.Notes.PlannedTo
	r.plannerInput, r.round = q, replay.New(q, r.snapshot, r.pending(), catalog.Types)
	q.Fill = r.fill()
	r.spend()
}

// spend counts a plan of what the round takes.
func (r *pass) spend() {
	taken := r.round.Selection()
	r.spent.Pods, r.spent.Sets = r.spent.Pods+len(taken.Pods), r.spent.Sets+taken.Sets
}

// spentUp reports whether another plan like the last would have this run plan more than twice what one plan takes. It is a count, so that
// how far an invocation gets depends on no clock; for small plans MaxRounds is less.
func (r *pass) spentUp() bool {
	taken := r.round.Selection()
	return r.spent.Pods+len(taken.Pods) > 2*r.settings.Most.Pods || r.spent.Sets+taken.Sets > 2*r.settings.Most.Sets
}

// portioned tells what of the pods that wait the plan did not take, and notes where the next goes on.
func (r *pass) portioned(plan model.Plan) {
	r.out.Later = plan.Later
	if next := r.round.Selection().Next; next != r.ledger.Notes.PlannedTo {
		r.ledger.Notes.PlannedTo, r.noted = next, true
	}
	if plan.Later > 0 {
		r.problem("%d pods are planned next: one plan takes at most %d pods, and rules between pods about %d sets of them", plan.Later, r.settings.Most.Pods, r.settings.Most.Sets)
	}
}

// barred says why nothing may be launched from a class now for a reason that is not its own; empty = something may.
func (r *pass) barred(class model.Class, blocked map[string]string) string {
	return cmp.Or(r.classSuspended(class.Name), blocked[class.Name], r.refusedClass(class))
}

// affordable has claims wait that would be far too large; see replay.Provision.
func (r *pass) affordable(plan model.Plan) model.Plan {
	plan, waits := r.round.Affordable(plan)
	if waits > 0 {
		r.problem("%d claims wait: only instances of more than %d times the usual price have capacity for them", waits, r.settings.PriceCapFactor)
	}
	return plan
}

// complete adds to a plan for pods what else is to be launched.
func (r *pass) complete(plan model.Plan) model.Plan {
	r.plannerInput.PendingReplacements, r.plannerInput.StandaloneClaims = r.replacements(), r.asking()
	plan, beside := r.round.Complete(plan)
	for _, why := range slices.Sorted(maps.Keys(beside.Waits)) {
		r.problem("%d replacements wait: %s", beside.Waits[why], why)
	}
	for _, culprit := range beside.Culprits {
		if strings.HasPrefix(culprit.What, "NodePool/") {
			r.accuse(culprit.What, culprit.Panic)
		} else {
			r.problem("%s: planning panicked: %s", culprit.What, culprit.Panic)
		}
	}
	r.unfit(beside.Unfit)
	r.denied(beside.Denied)
	return plan
}

// inFlight returns the claims that are, or will be, capacity. An instance that has not joined in time is none any more, nor
// is one whose node was there and has gone, nor one that is to end. Where that still has its node, the claim is handed on as
// gone, so that nothing is planned onto the node.
func (r *pass) inFlight() []model.Claim {
	nodes := r.nodesByProvider()
	var claims []model.Claim
	for _, claim := range r.ledger.Claims {
		joined := claim.ProviderID != "" && len(nodes[claim.ProviderID]) > 0
		switch {
		case !claim.Live(), claim.Ending() && !joined:
			continue
		case claim.Ending():
			claim.State = model.Gone
		case joined, claim.State == model.Intended:
		case claim.State == model.Launched && r.now()-claim.LaunchedUnix <= int64(r.settings.JoinWithin.Seconds()):
		case claim.State == model.Registered && r.now()-claim.RegisteredUnix <= int64(r.settings.SilentAfter.Seconds()):
			// the snapshot may be older than the registration
		default:
			continue
		}
		claims = append(claims, claim)
	}
	return claims
}

func (r *pass) countRound(plan model.Plan, round model.Round) {
	r.out.Failed += len(round.Failed)
	r.out.Claims += len(round.Launched)
	for _, claim := range round.Launched {
		r.out.PricePerHour += claim.Price.USD()
		r.decision.Launched = append(r.decision.Launched, claim.Name)
		r.countBought(claim)
	}
	for _, claim := range round.Failed {
		r.out.Failures[claim.FailureCode]++
	}
	r.out.Unschedulable = len(plan.Unschedulable)
	if r.out.Rounds > 1 {
		return // later rounds find what this run launched itself
	}
	for _, nomination := range plan.Nominations {
		r.out.Nominated += len(nomination.Pods)
	}
}

// countBought adds one to what was launched for the claim's pool as its capacity type, and notes its intent.
func (r *pass) countBought(claim model.Claim) {
	compare := func(b Bought, c model.Claim) int {
		return cmp.Or(strings.Compare(b.Pool, c.Pool), strings.Compare(b.CapacityType, c.CapacityType))
	}
	i, found := slices.BinarySearchFunc(r.out.Bought, claim, compare)
	if !found {
		r.out.Bought = slices.Insert(r.out.Bought, i, Bought{Pool: claim.Pool, CapacityType: claim.CapacityType})
	}
	r.out.Bought[i].Claims++
	if !slices.Contains(r.out.Intents, claim.Intent) {
		r.out.Intents = append(r.out.Intents, claim.Intent)
	}
}

// resolveClasses brings the status of every class a pool uses up to date, unless it was resolved a moment ago. Looking
// at the configuration, it does so for every class there is.
func (r *pass) resolveClasses(ctx context.Context) {
	used := map[string]bool{}
	for _, pool := range r.snapshot.Pools {
		used[pool.Template.ClassName] = true
	}
	for _, w := range r.standalone {
		used[w.Template.ClassName] = true
	}
	if r.classes == nil {
		r.classes = map[string]model.Class{}
	}
	for _, class := range r.snapshot.Classes {
		if _, known := r.classes[class.Name]; known {
			continue // found out in this run
		}
		if class.DeletedUnix != 0 || !used[class.Name] && r.request.Trigger != TriggerConfig {
			continue
		}
		class.Status = r.latest(class)
		if r.stale(class) {
			class.Status = r.resolve(ctx, class)
			if len(r.ledger.Classes) == 0 { // nobody else tells people how classes stand: the catalog function has never run
				r.report.Classes = slices.DeleteFunc(r.report.Classes, func(c model.ClassReport) bool { return c.Class == class.Name })
				r.report.Classes = append(r.report.Classes, model.ClassReport{Class: class.Name, UID: class.UID, Status: class.Status})
			}
		}
		r.classes[class.Name] = class
	}
	r.reached("classes")
}

// latest returns the newest that is known of what a class resolves to.
func (r *pass) latest(class model.Class) model.ClassStatus {
	return offering.Latest(class, r.ledger.Classes)
}

// recorded returns the catalog function's record of a class as it is now, nil where there is none of this generation.
func (r *pass) recorded(class model.Class) *model.ClassRecord {
	return offering.Recorded(class, r.ledger.Classes)
}

// resolve returns what the class means now. Where that cannot be found out, what was known of the same generation stays
// good: absence of an answer is no evidence that anything changed.
func (r *pass) resolve(ctx context.Context, class model.Class) model.ClassStatus {
	status, err := r.resolveClass(ctx, class)
	if err == nil {
		return status
	}
	r.problem("resolve class %s: %v", class.Name, err)
	if class.Status.ObservedGeneration == class.Generation && len(class.Status.Problems) == 0 && !fault.Is(err, fault.Invalid) {
		return class.Status
	}
	problem := model.ClassProblem{Condition: "ValidationSucceeded", Reason: "ResolutionFailed", Message: err.Error(), Unknown: true}
	if fault.Is(err, fault.Invalid) {
		problem = model.ClassProblem{Condition: "AMIsReady", Reason: codeOr(err, "Invalid"), Message: err.Error()}
	}
	return model.ClassStatus{ObservedGeneration: class.Generation, ResolvedUnix: r.now(), Problems: []model.ClassProblem{problem}}
}

func (r *pass) resolveClass(ctx context.Context, class model.Class) (model.ClassStatus, error) {
	queries, err := image.Queries(class, r.reg.Version)
	if err != nil {
		return model.ClassStatus{}, err
	}
	calls := callsPerClass + len(class.Reservations)
	if class.PlacementGroup != nil {
		calls++
	}
	if !r.takeReads(ctx, calls) {
		r.putOffCalls = true
		return model.ClassStatus{}, fault.New(fault.Throttled, "", "all clusters of the region together have used up the EC2 API quota for now")
	}
	status, err := r.clients.Catalog.Resolve(ctx, class, queries)
	if fault.Is(err, fault.Throttled) {
		r.settleCalls(ctx, granted{}, 0, true)
	}
	if err != nil {
		return model.ClassStatus{}, err
	}
	status.Images = image.Choose(status.Images)
	status.ObservedGeneration, status.ResolvedUnix = class.Generation, r.now()
	return status, nil
}

// callsPerClass is how many calls of EC2's API resolving a class takes at least: subnets, security groups and images.
const callsPerClass = 3

// stale reports whether a class must be resolved before it is used.
func (r *pass) stale(class model.Class) bool {
	status := class.Status
	old := r.now()-status.ResolvedUnix > int64(r.settings.ResolveAfter.Seconds())
	if r.recorded(class) != nil && !old {
		return false // the catalog function looks at it again by itself, at what is wrong with it too
	}
	return status.ObservedGeneration != class.Generation || len(status.Problems) > 0 || old
}

// configDue reports whether pools and classes must be looked at although no pod is pending.
func (r *pass) configDue() bool {
	if r.request.Trigger == TriggerConfig || r.out.Source == sourceList {
		return true
	}
	for _, class := range r.snapshot.Classes {
		if r.recorded(class) == nil && (class.Status.ObservedGeneration != class.Generation || len(class.Status.Problems) > 0) {
			return true
		}
	}
	return false
}
