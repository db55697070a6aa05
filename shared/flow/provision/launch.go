package provision

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// attempt is one launch under way: what is asked for and what came of it.
type attempt struct {
	launch      model.Launch
	claims      []model.Claim // by name
	intent      model.Intent
	limits      model.Resources
	result      model.LaunchResult
	err         error
	unavailable []model.UnavailableOffering
	failed      []model.Claim
	settled     []model.Claim
	probes      int // half-open unavailable offerings it tries

	reservations []string         // it goes into; nil unless reserved capacity is bought
	addresses    map[string]int64 // by subnet: what one instance of it takes at the least
}

// waveSize is how many launches are under way at most before their outcomes are looked at.
const waveSize = 8

// launch records and carries out a plan. again says that something failed in a way another plan may get round. An error
// means that the ledger could not be written; what was recorded before is carried out all the same.
func (r *pass) launch(ctx context.Context, catalogs map[string][]model.InstanceType, round *model.Round, blocked map[string]string) (again bool, err error) {
	refusedBefore := len(blocked)
	attempts, again := r.group(ctx, round.Plan, catalogs, blocked)
	again = again || len(blocked) > refusedBefore
	for _, a := range attempts {
		r.start(a.launch.Pool, len(a.claims))
	}
	insufficient, gave := map[string]bool{}, map[string]bool{} // pools one of whose launches came back without an instance, and with one
	for first := true; len(attempts) > 0 && err == nil; first = false {
		if !first && r.request.Deadline.Sub(r.Now()) < r.settings.StopBefore {
			r.problem("%d launches wait because time ran out; the next resync continues", len(attempts))
			break
		}
		if err = r.remember(ctx); err != nil {
			break
		}
		wave := r.wave(&attempts, insufficient, gave)
		if len(wave) == 0 {
			again = true
			break
		}
		got := r.takeFor(ctx, wave, first, round.Plan)
		if got.calls == 0 {
			r.problem("%d launches wait: all clusters of the region together have used up the EC2 API quota for now", len(wave)+len(attempts))
			r.yieldedCalls, r.putOffCalls = got.kept, r.putOffCalls || !got.kept
			attempts = append(wave, attempts...)
			break
		}
		attempts = append(wave[got.calls:], attempts...)
		retry, waveErr := r.launchAll(ctx, wave[:got.calls], got, catalogs, round, blocked, insufficient)
		again, err = again || retry, waveErr
		for _, claim := range round.Launched {
			gave[claim.Pool] = true
		}
	}
	for _, a := range attempts {
		r.start(a.launch.Pool, -len(a.claims))
	}
	for pool := range insufficient {
		r.insufficientRounds[pool]++
	}
	return again, err
}

// takeFor takes the calls of a wave of launches, and beside that has the plan kept that the first of them are of.
func (r *pass) takeFor(ctx context.Context, wave []*attempt, first bool, plan model.Plan) (got granted) {
	if !first {
		return r.take(ctx, len(wave), true, r.keep())
	}
	r.parallel(2, func(i int) {
		if i == 0 {
			got = r.take(ctx, len(wave), true, r.keep())
		} else {
			r.keepPlan(ctx, plan)
		}
	})
	return got
}

// wave takes the next launches off the list, without those of pools that had no capacity in this round. Where launches of this cluster
// had no capacity lately, a pool's first launch goes alone: what it meets the others would meet too.
func (r *pass) wave(attempts *[]*attempt, insufficient, gave map[string]bool) []*attempt {
	var wave, later []*attempt
	alone := map[string]bool{}
	for _, a := range *attempts {
		pool := a.launch.Pool
		switch {
		case insufficient[pool]:
			r.start(pool, -len(a.claims))
		case len(wave) == waveSize, alone[pool]:
			later = append(later, a)
		default:
			alone[pool] = !gave[pool] && r.insufficientLately()
			wave = append(wave, a)
		}
	}
	*attempts = later
	return wave
}

// keep is how many dry launches this round leaves for pools that may have capacity.
func (r *pass) keep() int {
	if len(r.excludedPools) > 0 {
		return 0
	}
	return insufficientKept
}

// launchAll records launches, calls EC2 for those that are recorded, and settles what came of it.
func (r *pass) launchAll(ctx context.Context, wave []*attempt, got granted, catalogs map[string][]model.InstanceType, round *model.Round,
	blocked map[string]string, insufficient map[string]bool) (again bool, err error) {
	// 1. The exact bytes, then the record of them; only what is recorded is called.
	var recorded []*attempt
	for i, a := range wave {
		ok, retry, recordErr := r.record(ctx, a, blocked)
		again = again || retry
		if recordErr != nil {
			err = recordErr
			for _, rest := range wave[i:] {
				r.start(rest.launch.Pool, -len(rest.claims))
			}
			break
		}
		if !ok {
			r.start(a.launch.Pool, -len(a.claims))
			continue
		}
		recorded = append(recorded, a)
	}
	r.reached("recorded")

	// 2. Calls that do not depend on each other, side by side.
	r.parallel(len(recorded), func(i int) { r.call(ctx, recorded[i]) })
	r.reached("fleet")

	// 3. Outcomes, in plan order.
	cameInsufficient, throttled := 0, false
	for _, a := range recorded {
		retry, settleErr := r.conclude(ctx, a, catalogs[a.launch.Class.Name], blocked)
		again = again || retry
		err = errors.Join(err, settleErr)
		round.Launched = append(round.Launched, a.settled...)
		round.Failed = append(round.Failed, a.failed...)
		round.UnavailableOfferings = append(round.UnavailableOfferings, a.unavailable...)
		r.start(a.launch.Pool, -len(a.failed))
		if len(a.result.Instances) == 0 && len(a.unavailable) > 0 {
			cameInsufficient, insufficient[a.launch.Pool] = cameInsufficient+1, true
		}
		throttled = throttled || a.throttled()
	}
	r.settleCalls(ctx, got, cameInsufficient, throttled)
	return again, err
}

// throttled reports whether EC2 asked for fewer calls.
func (a *attempt) throttled() bool {
	if fault.Is(a.err, fault.Throttled) {
		return true
	}
	for _, e := range a.result.Errors {
		if throttleCode(e.Code) {
			return true
		}
	}
	return false
}

// group puts like claims into one launch: same pool, class, capacity type, instances and user data. It leaves out what the
// pace of a pool, the trial of a class or the probe of an offering does not allow now; again says that another plan may do
// better.
func (r *pass) group(ctx context.Context, plan model.Plan, catalogs map[string][]model.InstanceType, blocked map[string]string) (list []*attempt, again bool) {
	pools := map[string]model.Pool{}
	for _, pool := range r.snapshot.Pools {
		pools[pool.Name] = pool
	}
	g := &grouping{byKey: map[string]*attempt{}, alike: map[string]*attempt{}, gone: map[string]int64{}}
	taken, waiting := map[string]int{}, 0
	r.tight = tightOf(plan)
	launched := r.launchedFor()
	late := func(planned *model.PlannedClaim) bool {
		return len(planned.Pods) > 0 && !slices.ContainsFunc(planned.Pods, func(pod model.PodRef) bool { return launched[[2]string{planned.Pool, pod.Namespace}] })
	}
	for _, planned := range r.fairOrder(plan.Claims) {
		if n := taken[planned.Pool]; n >= r.launchesLeft(planned.Pool) && !(late(&planned) && n < r.launchesLeftLate(planned.Pool)) {
			waiting++
			continue
		}
		if r.suspensionOf(planned.Class) != nil && taken["class "+planned.Class] > 0 {
			waiting++ // one instance shows whether they join
			continue
		}
		if r.poolSuspension(planned.Pool) != nil && taken[planned.Pool] > 0 {
			waiting++ // one instance shows whether its node takes its pods
			continue
		}
		pool, class := r.poolFor(&planned, pools), r.round.Usable[planned.Class]
		a, err := r.attemptFor(g, planned, pool, class, catalogs[planned.Class])
		if fault.Is(err, fault.NoCapacity) {
			r.problem("claim %s of NodePool %s waits: %v", planned.Name, planned.Pool, err)
			again = true // what this round's other launches leave is known to the next
			continue
		}
		if w := r.standaloneNamed(planned.Name); err != nil && planned.Pool == "" && w != nil { // what one person asks for says nothing about the class
			w.deny(codeOr(err, "LaunchFailed"), err.Error())
			continue
		}
		if err != nil {
			r.refused(class, planned.Pool, fmt.Errorf("prepare claim %s: %w", planned.Name, err), blocked)
			continue
		}
		a.claims = append(a.claims, r.asStandalone(r.claimOf(planned, a.launch, pool, class)))
		taken[planned.Pool]++
		taken["class "+planned.Class]++
	}
	if waiting > 0 {
		r.problem("%d claims wait: their NodePools or EC2NodeClasses may launch no more at this moment", waiting)
	}
	for _, a := range g.order {
		ok, retry := r.admit(ctx, a)
		again = again || retry && !ok
		if ok {
			r.seal(a)
			list = append(list, a)
		}
	}
	return list, again
}

// groupKey is equal for claims whose instances may be dealt out among them.
func groupKey(launch model.Launch, planned model.PlannedClaim) string {
	key, err := json.Marshal([]any{
		laneOf(&planned), launch.Class.Name, launch.CapacityType, launch.Templates,
		planned.Labels, planned.Annotations, planned.Taints, planned.StartupTaints,
	})
	if err != nil {
		panic(fmt.Sprintf("launch of claim %s cannot be encoded: %v", planned.Name, err)) // plain data always can
	}
	return string(key)
}

// claimOf is the ledger's claim for a planned one. Of the pool's dollars it holds no more than the launch can cost.
func (r *pass) claimOf(planned model.PlannedClaim, launch model.Launch, pool model.Pool, class model.Class) model.Claim {
	held := maps.Clone(planned.Reserve)
	highest := model.MicroUSD(0)
	for _, template := range launch.Templates {
		for _, o := range template.Overrides {
			highest = max(highest, o.Price)
		}
	}
	held[model.Dollars] = min(held[model.Dollars], int64(highest))
	return model.Claim{
		Name: planned.Name, Pool: pool.Name, PoolUID: pool.UID, Class: planned.Class, State: model.Intended, Version: 1,
		Requirements: planned.Requirements, Requests: planned.Requests, InstanceTypes: planned.InstanceTypes,
		Labels: planned.Labels, Annotations: annotations(planned, pool, class, r.reg.CA), Taints: planned.Taints, StartupTaints: planned.StartupTaints,
		GraceSeconds: pool.Template.GraceSeconds, ExpireSeconds: pool.Template.ExpireAfterSeconds,
		Pods: planned.Pods, Reserved: held, Decision: r.decision.ID, CreatedUnix: r.now(),
	}
}

// annotations are the template's, with the hashes of pool and class as they were in the snapshot the plan was made from:
// an edit between plan and launch shows as drift, and never hides (S31).
func annotations(planned model.PlannedClaim, pool model.Pool, class model.Class, ca []byte) map[string]string {
	out := map[string]string{}
	for key, value := range planned.Annotations {
		out[key] = value
	}
	if planned.PoolHash != "" { // planned by a pool as it was some minutes ago
		pool.Hash = planned.PoolHash
	}
	if pool.Hash != "" {
		out[model.AnnotationPoolHash], out[model.AnnotationPoolHashVersion] = pool.Hash, model.PoolHashVersion
	}
	if hash := class.HashFor(ca); hash != "" {
		out[model.AnnotationClassHash], out[model.AnnotationClassHashVersion] = hash, model.ClassHashVersion
	}
	if class.Status.InstanceProfile != "" {
		out[model.AnnotationInstanceProfile] = class.Status.InstanceProfile
	}
	return out
}

// seal fixes the names, the identity and the client token of an attempt.
func (r *pass) seal(a *attempt) {
	sort.Slice(a.claims, func(i, j int) bool { return a.claims[i].Name < a.claims[j].Name })
	id := r.NewID()
	a.launch.Intent, a.launch.Claims = id, nil
	for i := range a.claims {
		a.claims[i].Intent = id
		a.launch.Claims = append(a.launch.Claims, a.claims[i].Name)
	}
	a.launch.Token = token(r.reg.Cluster, a.launch)
	a.intent = model.Intent{
		ID: id, Cluster: r.reg.Cluster, Pool: a.launch.Pool, Claims: a.launch.Claims, State: model.IntentCalling,
		Token: a.launch.Token, Attempt: 1, CreatedUnix: r.now(), DueUnix: r.due(),
	}
}

// token derives an intent's client token: at most 64 ASCII characters, the same whoever computes it, and another one for
// anything else that is asked for.
func token(cluster string, launch model.Launch) string {
	content, err := json.Marshal(launch)
	if err != nil {
		panic(fmt.Sprintf("launch %s cannot be encoded: %v", launch.Intent, err)) // plain data always can
	}
	digest := sha256.Sum256(content)
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s/%s/%x", cluster, launch.Intent, digest)))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// due is when a launch recorded now may be looked into by another run: this one is dead by then, and EC2 shows what it did.
func (r *pass) due() int64 {
	return r.fence.UntilUnix + r.clockOffset + int64(r.settings.RecoverAfter.Seconds())
}

// record writes down what is about to be asked of EC2. ok says that it may be asked; again that another plan may get
// round what was in the way; an error that the ledger could not be written.
func (r *pass) record(ctx context.Context, a *attempt, blocked map[string]string) (ok, again bool, err error) {
	if _, refused := blocked[a.launch.Class.Name]; refused {
		return false, true, nil
	}
	request, err := r.clients.Fleet.PrepareRequest(ctx, a.launch)
	if err != nil {
		return false, r.refused(a.launch.Class, a.launch.Pool, fmt.Errorf("prepare launch: %w", err), blocked), nil
	}
	a.intent.Request = request
	r.uses(request)
	err = r.effect(ctx, EffectRecord, func() error { return r.Claims.Record(ctx, r.fence, a.intent, a.claims, a.limits) })
	if fault.CodeOf(err) == ClaimExists {
		r.nameTaken(a)
		for i := range a.claims {
			r.nameUsed[a.claims[i].Name] = true
		}
		return false, true, nil // a claim of that name ended lately; the next plan's names are others
	}
	if fault.Is(err, fault.Exhausted) {
		return false, true, nil // somebody else took the room; the reloaded usage says how much is left
	}
	if err != nil {
		return false, false, fmt.Errorf("record launch of %d claims of NodePool %s: %w", len(a.claims), a.launch.Pool, err)
	}
	for i := range a.claims {
		r.recordedNow[a.claims[i].Name] = true
		if w := r.standaloneNamed(a.claims[i].Name); w != nil {
			w.tries++
		}
	}
	return true, false, nil
}

// call asks EC2 for the instances. A launch template that has been deleted is made again, once: its name is a digest of
// its content, so the recorded bytes stay what they are.
func (r *pass) call(ctx context.Context, a *attempt) {
	a.result, a.err = r.callFleet(ctx, a.intent)
	if a.err == nil || !templateGone(fault.CodeOf(a.err)) {
		return
	}
	request, err := r.clients.Fleet.PrepareRequest(ctx, a.launch)
	if err != nil || !bytes.Equal(request, a.intent.Request) {
		return
	}
	a.result, a.err = r.callFleet(ctx, a.intent)
}

func (r *pass) callFleet(ctx context.Context, intent model.Intent) (result model.LaunchResult, err error) {
	if r.Now().Unix() >= r.fence.UntilUnix {
		// Another planner may hold the lease by now and look into this launch.
		return result, fault.New(fault.Internal, "LeaseOver", "the planner lease ended before EC2 was called")
	}
	err = r.effect(ctx, EffectLaunch, func() (err error) {
		result, err = r.clients.Fleet.Launch(ctx, intent.Request)
		return err
	})
	return result, err
}

// conclude turns the answer of one call into an outcome. again says that another plan may do better.
func (r *pass) conclude(ctx context.Context, a *attempt, types []model.InstanceType, blocked map[string]string) (again bool, err error) {
	if a.err == nil {
		again = r.weigh(a, blocked)
	} else if code := fault.CodeOf(a.err); capacityCode(code) {
		a.result.Errors = []model.LaunchError{{Code: code, Message: a.err.Error(), Offering: model.OfferingKey{CapacityType: a.launch.CapacityType}}}
		a.unavailable = r.counted(unavailableOf(a.launch, everyPool(a.launch, code, a.err.Error())))
	} else if templateGone(fault.CodeOf(a.err)) && r.madeAgain(a.launch.Class.Name) {
		// Made again by now; only the token of this launch may be used up. It says nothing of the class.
		a.result.Errors = []model.LaunchError{{Code: fault.CodeOf(a.err), Message: a.err.Error()}}
		again = true
	} else if kind := fault.KindOf(a.err); kind == fault.Throttled || kind == fault.Denied || kind == fault.Invalid || kind == fault.NoCapacity {
		a.result.Errors = []model.LaunchError{{Code: codeOr(a.err, "LaunchRefused"), Message: a.err.Error()}}
		again = r.refused(a.launch.Class, a.launch.Pool, a.err, blocked)
	} else {
		// It is unknown whether EC2 did it. The intent stays open and is looked into when it is due.
		r.discountUnknown(a.launch.Pool, len(a.claims))
		r.problem("launch %s of NodePool %s, outcome unknown: %v", a.intent.ID, a.launch.Pool, a.err)
		return false, nil
	}
	r.accountLimits(a)
	missing := len(a.result.Instances) < len(a.claims)
	r.probed(ctx, a)
	if r.markUnavailable(ctx, a.unavailable) && missing {
		again = true
	}
	outcome := r.outcome(a.intent, a.claims, a.result, a.launch.Class, types)
	if err := r.writeOutcome(ctx, outcome); err != nil {
		return again, err
	}
	a.settled, a.failed = outcome.Launched, outcome.Failed
	if len(a.settled) > 0 {
		r.accepted(a.launch.Class.Name)
	}
	return again, nil
}

// accountLimits tells the class that the account may have no more of something, or no spot at all, which only people can
// change.
func (r *pass) accountLimits(a *attempt) {
	for _, unavailable := range a.unavailable {
		if scopes[unavailable.Reason] == scopeSpot {
			r.event(model.Event{
				Kind: "EC2NodeClass", Name: a.launch.Class.Name, UID: a.launch.Class.UID, Warning: true, Reason: reasonOf(unavailable.Reason, ""),
				Message: "the account has no service-linked role for EC2 Spot and may not create it, so no spot instance can be launched; " +
					"create it once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
			})
		}
		if !accountLimit(unavailable.Reason) {
			continue
		}
		what := unavailable.CapacityType + " instances"
		if unavailable.Group != "" {
			what += " of quota group " + unavailable.Group
		}
		class := a.launch.Class
		r.event(model.Event{
			Kind: "EC2NodeClass", Name: class.Name, UID: class.UID, Warning: true, Reason: "AccountLimit",
			Message: fmt.Sprintf("the account may have no more %s: %s; raise its limit", what, unavailable.Reason),
		})
	}
}

// weigh looks at the errors that came with an answer: pools of capacity that gave nothing are marked, and a request that
// is wrong concerns its class, but only where it cost an instance.
func (r *pass) weigh(a *attempt, blocked map[string]string) (again bool) {
	a.unavailable = r.counted(unavailableOf(a.launch, a.result.Errors))
	if len(a.result.Instances) >= len(a.claims) {
		return false
	}
	class := a.launch.Class
	for _, e := range a.result.Errors {
		switch {
		case capacityCode(e.Code):
		case templateGone(e.Code) && r.madeAgain(class.Name):
			again = true // the adapter makes it again for the next request
		case refusalCode(e.Code):
			again = r.refused(class, a.launch.Pool, fault.New(fault.Invalid, e.Code, "%s", e.Message), blocked)
		default:
			r.problem("launch of NodePool %s: %s: %s", a.launch.Pool, e.Code, e.Message)
		}
	}
	return again
}

// madeAgain reports whether launch templates of a class that EC2 did not know were made again, so that the next round may find them: that
// is once in a run, for all launches of one round.
func (r *pass) madeAgain(class string) bool {
	if after, before := r.remade[class]; before {
		return after == len(r.decision.Rounds)
	}
	r.remade[class] = len(r.decision.Rounds)
	return true
}

// markUnavailable writes down offerings without capacity and reports whether there are any now that another plan will avoid. An unavailable offering
// that cannot be written stops nothing: it is advice.
func (r *pass) markUnavailable(ctx context.Context, unavailableOfferings []model.UnavailableOffering) bool {
	if len(unavailableOfferings) == 0 {
		return false
	}
	err := r.effect(ctx, EffectUnavailable, func() error { return r.Unavailable.MarkUnavailable(ctx, r.reg, unavailableOfferings) })
	if err != nil {
		r.problem("record %d unavailable offerings: %v", len(unavailableOfferings), err)
	}
	return err == nil
}

// settle records an outcome found out by recovery.
func (r *pass) settle(ctx context.Context, intent model.Intent, claims []model.Claim, result model.LaunchResult) error {
	r.markUnavailable(ctx, r.counted(unavailableOf(model.Launch{}, result.Errors)))
	var class model.Class
	var types []model.InstanceType
	if len(result.Instances) > 0 && len(claims) > 0 {
		var err error
		if class, types, err = r.typesOf(ctx, claims[0].Class); err != nil {
			return err
		}
	}
	return r.writeOutcome(ctx, r.outcome(intent, claims, result, class, types))
}

func (r *pass) writeOutcome(ctx context.Context, outcome model.Settlement) error {
	err := r.effect(ctx, EffectSettle, func() error { return r.Claims.Settle(ctx, r.fence, outcome) })
	if err != nil {
		return fmt.Errorf("record outcome of launch %s: %w", outcome.Intent.ID, err)
	}
	for i := range outcome.Failed {
		r.moved(outcome.Failed[i].Name)
	}
	return nil
}

// typesOf returns a class as it stands now and its instance types, for a claim launched earlier.
func (r *pass) typesOf(ctx context.Context, className string) (model.Class, []model.InstanceType, error) {
	catalog, err := r.readCatalog(ctx)
	if err != nil {
		return model.Class{}, nil, err
	}
	for _, class := range r.snapshot.Classes {
		if class.Name == className {
			class.Status = r.latest(class)
			return class, offering.Catalog(catalog.Types, class, r.offeringSettings()), nil
		}
	}
	return model.Class{}, nil, nil
}

// outcome deals instances to claims: the i-th id in order is the i-th claim's by name, so every retry deals alike.
func (r *pass) outcome(intent model.Intent, claims []model.Claim, result model.LaunchResult, class model.Class, types []model.InstanceType) model.Settlement {
	instances := distinct(result.Instances)
	claims = append([]model.Claim{}, claims...)
	sort.Slice(claims, func(i, j int) bool { return claims[i].Name < claims[j].Name })
	settlement := model.Settlement{Intent: intent, AtUnix: r.now()}
	if len(instances) > len(claims) {
		r.problem("launch %s of NodePool %s returned %d instances for %d claims; the others have no claim", intent.ID, intent.Pool, len(instances), len(claims))
	}
	for i, claim := range claims {
		if i < len(instances) {
			settlement.Launched = append(settlement.Launched, r.launched(claim, instances[i], class, types))
			continue
		}
		claim.State, _ = lifecycle.Next(claim.State, lifecycle.LaunchFailed)
		claim.GoneUnix = r.now()
		claim.FailureCode, claim.FailureMessage = failure(result.Errors)
		settlement.Failed = append(settlement.Failed, claim)
	}
	return settlement
}

// failure sums up why a claim got no instance: the first error, and how many more there were.
func failure(errors []model.LaunchError) (code, message string) {
	if len(errors) == 0 {
		return "Unfulfilled", "EC2 launched fewer instances than requested and gave no reason"
	}
	message = errors[0].Message
	if len(errors) > 1 {
		message = fmt.Sprintf("%s (and %d more errors)", message, len(errors)-1)
	}
	return errors[0].Code, message
}

// launched fills in a claim from its instance.
func (r *pass) launched(claim model.Claim, instance model.Instance, class model.Class, types []model.InstanceType) model.Claim {
	claim.State, _ = lifecycle.Next(claim.State, lifecycle.InstanceLaunched)
	claim.LaunchedUnix = r.now()
	claim.InstanceID, claim.ProviderID = instance.ID, instance.ProviderID()
	claim.InstanceType, claim.Zone, claim.CapacityType = instance.Type, instance.Zone, instance.CapacityType
	claim.ImageID, claim.SubnetID = instance.ImageID, instance.SubnetID
	claim.Reservation = ""
	if instance.CapacityType == model.Reserved { // one that is in an open reservation by chance may leave it again
		claim.Reservation = instance.Reservation
		claim.BlockEndsUnix = blockEnds(class, claim.Reservation)
	}
	labels := map[string]string{}
	for i := range types {
		t := &types[i]
		if t.Name != instance.Type {
			continue
		}
		claim.Capacity, claim.Allocatable = shownOf(t.Capacity, &claim, class), shownOf(t.Allocatable(), &claim, class)
		for key, values := range t.Labels {
			if len(values) == 1 {
				labels[key] = values[0]
			}
		}
		for _, o := range t.Offerings {
			if o.Zone == instance.Zone && o.CapacityType == instance.CapacityType && o.ReservationID == claim.Reservation {
				claim.Price, claim.ZoneID = o.Price, o.ZoneID
			}
		}
	}
	maps.Copy(labels, r.boughtLabels(&claim, instance, class))
	maps.Copy(labels, claim.Labels) // what was planned wins
	dropForeign(labels, &claim)
	claim.Labels = labels
	return claim
}

// blockEnds returns when the capacity block of that reservation id ends; 0 where it is none.
func blockEnds(class model.Class, id string) int64 {
	for i := range class.Status.Reservations {
		if r := &class.Status.Reservations[i]; r.ID == id && r.Block {
			return r.EndUnix
		}
	}
	return 0
}

// shownOf leaves EFA interfaces out of what an instance has where it was launched without any.
func shownOf(amounts model.Resources, claim *model.Claim, class model.Class) model.Resources {
	if claim.Requests[efa] > 0 || len(class.NetworkInterfaces) > 0 || amounts[efa] == 0 {
		return amounts
	}
	amounts = maps.Clone(amounts)
	delete(amounts, efa)
	return amounts
}

// boughtLabels are what the purchase decided about an instance.
func (r *pass) boughtLabels(claim *model.Claim, instance model.Instance, class model.Class) map[string]string {
	labels := map[string]string{
		model.LabelInstanceType: instance.Type, model.LabelZone: instance.Zone, model.LabelCapacityType: instance.CapacityType,
		model.LabelRegion: r.reg.Region, model.LabelTenancy: "default",
	}
	if claim.ZoneID != "" {
		labels[model.LabelZoneID] = claim.ZoneID
	}
	group := class.Status.PlacementGroup
	partitions := int64(0)
	if group != nil {
		labels[model.LabelPlacementGroup], partitions = group.ID, group.Partitions
	}
	forced := offering.LaunchConstraintsOf(claim.Requirements, claim.Requests, partitions)
	if forced.Dedicated {
		labels[model.LabelTenancy] = "dedicated"
	}
	if group != nil && group.Strategy == strategyPartition {
		labels[model.LabelPartition] = "" // until EC2 says which it chose
		if n := max(instance.Partition, forced.Partition); n > 0 {
			labels[model.LabelPartition] = strconv.FormatInt(n, 10)
		}
	}
	for _, reservation := range class.Status.Reservations {
		if reservation.ID == claim.Reservation {
			labels[model.LabelReservationType] = offering.ReservationType(reservation.Block)
			labels[model.LabelInterruptible] = strconv.FormatBool(reservation.Interruptible)
		}
	}
	if claim.Reservation != "" {
		labels[model.LabelReservationID] = claim.Reservation
	}
	return labels
}

// dropForeign takes labels of a reservation off an instance that is in none.
func dropForeign(labels map[string]string, claim *model.Claim) {
	if claim.Reservation != "" {
		return
	}
	for _, key := range []string{model.LabelReservationID, model.LabelReservationType, model.LabelInterruptible} {
		delete(labels, key)
	}
}
