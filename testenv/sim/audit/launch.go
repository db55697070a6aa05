package audit

import (
	"bytes"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// oneInstance is A1: a launch runs at most as many instances as it has claims. What EC2 gave beyond what it was asked for is
// not the launch's doing.
func (a *Auditor) oneInstance(id string) {
	if i := a.accounts.intents[id]; i != nil && i.running > len(i.Claims)+i.surplus {
		a.broken("A1", id, "%d machines run for %d claims", i.running, len(i.Claims))
	}
}

// oneClaim is A1 from the ledger's side: an instance has one claim for life.
func (a *Auditor) oneClaim(after *model.Claim) {
	if after == nil || after.InstanceID == "" {
		return
	}
	if m := a.accounts.instances[after.InstanceID]; m != nil && m.claim != "" && m.claim != after.Name {
		a.broken("A1", after.Name, "machine %s is claim %s's", after.InstanceID, m.claim)
	}
}

// bytesStay is A2: what was recorded is never changed.
func (a *Auditor) bytesStay(next model.Intent) {
	if i := a.accounts.intents[next.ID]; i != nil && (!bytes.Equal(i.Request, next.Request) || i.Token != next.Token) {
		a.broken("A2", next.ID, "the recorded request of a launch was changed")
	}
}

// bounded is C10: no launch is larger than was declared: 25 claims, and a request that fits one item of the ledger.
func (a *Auditor) bounded(i model.Intent) {
	if len(i.Claims) > 25 || len(i.Request) > 300_000 {
		a.broken("C10", i.ID, "it has %d claims and a request of %d bytes", len(i.Claims), len(i.Request))
	}
}

// recordedFirst is A2: before EC2 is asked, the ledger has the very bytes.
func (a *Auditor) recordedFirst(fact world.FleetCalled) {
	i := a.accounts.intents[fact.Intent]
	if i != nil {
		defer func() { i.callers[a.entry.Actor]++ }()
	}
	switch {
	case i == nil:
		a.broken("A2", fact.Intent, "EC2 was asked for %d machines and no record says so", fact.Wanted)
	case !bytes.Equal(i.Request, fact.Request):
		a.broken("A2", fact.Intent, "EC2 was asked with other bytes than were recorded")
	case i.Token != fact.Token:
		a.broken("A2", fact.Intent, "EC2 was asked with the token %q, recorded is %q", fact.Token, i.Token)
	case i.callers[a.entry.Actor] == 0 && len(i.callers) >= i.Attempt && a.entry.Actor != "":
		a.broken("A2", fact.Intent, "EC2 is asked by the %d. process, and the record says of %d attempts", len(i.callers)+1, i.Attempt)
	case fact.Refused == "IdempotentParameterMismatch":
		a.broken("A2", fact.Intent, "a token was used for two requests")
	}
}

// dealtInOrder is A5: which instance is which claim's follows from their names alone.
func (a *Auditor) dealtInOrder(fact world.LedgerWritten) {
	byIntent := map[string][]*model.Claim{}
	for _, change := range fact.Claims {
		if c := change.After; c != nil && c.InstanceID != "" {
			byIntent[c.Intent] = append(byIntent[c.Intent], c)
		}
	}
	for _, id := range sorted(byIntent) {
		claims := byIntent[id]
		sort.Slice(claims, func(i, j int) bool { return claims[i].Name < claims[j].Name })
		for n, c := range claims {
			if n > 0 && claims[n-1].InstanceID >= c.InstanceID {
				a.broken("A5", id, "claim %s has machine %s and %s has %s", claims[n-1].Name, claims[n-1].InstanceID, c.Name, c.InstanceID)
			}
			if m := a.accounts.instances[c.InstanceID]; m == nil || m.intent != id {
				a.broken("A5", id, "claim %s was given machine %s, which is not the launch's", c.Name, c.InstanceID)
			}
		}
	}
}

// withinLimits is A6: whatever is recorded anew fits the pool's limits together with all its claims hold.
func (a *Auditor) withinLimits(pool string) {
	p := a.accounts.pools[pool]
	if p == nil {
		return
	}
	for _, name := range sorted(p.Limits) {
		limit, limited := a.accounts.limitSince(pool, name, a.entry.At.Add(-a.unaware()))
		if limited && a.accounts.held[pool][name] > limit {
			a.broken("A6", pool, "its claims hold %d of %s, the limit is %d", a.accounts.held[pool][name], name, limit)
		}
	}
}

// unaware is for how long a planner may not know what people have written: what it reads may be as old as the API server's and the
// watcher's faults have it.
func (a *Auditor) unaware() time.Duration {
	if a.accounts.disturbed.IsZero() {
		return a.rules.Invocation + a.rules.Patience
	}
	return 15 * time.Minute
}

// recounts is how long it may take until usage is counted anew that people made wrong: a cluster that sleeps is swept each fifth minute.
const recounts = 7 * time.Minute

// meddledWith is A3 and A6 after people have changed the ledger by hand: an instance without a claim has one soon, or ends, and usage
// becomes what claims hold.
func (a *Auditor) meddledWith(fact world.LedgerMeddled) {
	pool := ""
	if fact.Usage != nil {
		pool = fact.Usage.Pool
	}
	if c := fact.Claim; c != nil {
		pool = c.Pool
		if m := a.accounts.instances[c.InstanceID]; m != nil && m.ours() {
			a.within("A3", m.ID, a.entry.At, a.rules.Orphan, func() (string, bool) { return a.orphan(m.ID) })
		}
	}
	a.within("A6", pool, a.entry.At, recounts, func() (string, bool) { return a.miscounted(pool) })
}

// counted is A6: what the ledger counts is what the claims hold, but for what people did by hand a moment ago.
func (a *Auditor) counted(pool string) {
	if _, wrong := a.accounts.meddled[pool]; wrong {
		return
	}
	if text, wrong := a.miscounted(pool); wrong {
		a.broken("A6", pool, "%s", text)
	}
}

// miscounted reports whether a pool's counter is not what its claims hold.
func (a *Auditor) miscounted(pool string) (string, bool) {
	usage, reported := a.accounts.usage[pool]
	if !reported {
		return "", false
	}
	for _, name := range sorted(a.accounts.held[pool]) {
		if usage[name] != a.accounts.held[pool][name] {
			return fmt.Sprintf("its counter says %d of %s, its claims hold %d", usage[name], name, a.accounts.held[pool][name]), true
		}
	}
	return "", false
}

// actualNodes is A6 as people see it: the instances that run are no more than the limit was since the launch was recorded, but for those
// EC2 gave unasked.
func (a *Auditor) actualNodes(pool, launch string) {
	p, i := a.accounts.pools[pool], a.accounts.intents[launch]
	if p == nil || pool == "" || i == nil {
		return
	}
	limit, limited := a.accounts.limitSince(pool, model.Nodes, i.recordedAt.Add(-a.unaware()))
	if !limited {
		return
	}
	running, surplus := int64(0), int64(0)
	for _, m := range a.accounts.instances {
		if m.pool == pool && m.endedAt.IsZero() && m.disowned.IsZero() {
			running++
		}
	}
	for _, i := range a.accounts.intents {
		if i.Pool == pool {
			surplus += int64(i.surplus)
		}
	}
	if running > limit+surplus {
		a.broken("A6", pool, "%d machines run, the limit is %d", running, limit)
	}
}

// rate is A7: launches in any minute stay under what is promised, and those that give nothing under far less.
func (a *Auditor) rate(fact world.FleetCalled) {
	if fact.Refused != "" && !withoutCapacity(fact.Refused) {
		return
	}
	minute := func(calls []time.Time) []time.Time {
		calls = append(calls, a.entry.At)
		for len(calls) > 0 && a.entry.At.Sub(calls[0]) > time.Minute {
			calls = calls[1:]
		}
		return calls
	}
	a.calls = minute(a.calls)
	if len(a.calls) > a.rules.Calls {
		a.broken("A7", "CreateFleet", "%d launches in a minute", len(a.calls))
	}
	if len(fact.Instances) > 0 || fact.Repeat || !slices.ContainsFunc(fact.Errors, func(e model.LaunchError) bool { return withoutCapacity(e.Code) }) && !withoutCapacity(fact.Refused) {
		return
	}
	if a.failed = minute(a.failed); len(a.failed) >= a.rules.FailedCalls {
		a.broken("A7", "CreateFleet", "%d launches in a minute gave nothing for want of capacity", len(a.failed))
	}
}

// triedAgain is A8 by the calls themselves, whether or not anybody wrote down what they found: once an offering gave nothing,
// and everybody could know, it is tried at most once in a while.
func (a *Auditor) triedAgain(fact world.FleetCalled) {
	if fact.Repeat || fact.Refused != "" {
		return
	}
	for _, p := range fact.Pools {
		d, was := a.dried[p]
		if !was || a.entry.At.Sub(d.at) > a.rules.ProbeEvery || a.accounts.intents[fact.Intent] == nil || a.accounts.intents[fact.Intent].recordedAt.Sub(d.at) < unknowing {
			continue
		}
		d.tries++
		a.dried[p] = d
		if d.tries > 1 && a.calm() {
			a.broken("A8", p.InstanceType+"/"+p.Zone+"/"+p.CapacityType, "EC2 was asked for it %d times within %s of its giving no capacity", d.tries, a.entry.At.Sub(d.at).Round(time.Second))
		}
	}
	for _, e := range fact.Errors {
		if withoutCapacity(e.Code) && e.SubnetID == "" || e.Code == "InsufficientInstanceCapacity" {
			a.dried[e.Offering] = tried{at: a.entry.At}
		}
	}
	for _, id := range fact.Instances {
		if m := a.accounts.instances[id]; m != nil {
			delete(a.dried, model.OfferingKey{InstanceType: m.Type, Zone: m.Zone, CapacityType: m.CapacityType})
		}
	}
}

// tried is an offering that gave nothing, and how often it was asked for since.
type tried struct {
	at    time.Time
	tries int
}

// noneForgotten is A5: what a launch is said to have come to has every instance of it that could be seen and was not ending.
func (a *Auditor) noneForgotten(fact world.LedgerWritten) {
	for _, stored := range fact.Intents {
		i := a.accounts.intents[stored.ID]
		seen, dealt := 0, 0
		for _, m := range a.accounts.instances {
			if m.intent == stored.ID && m.endingAt.IsZero() && m.endedAt.IsZero() && a.entry.At.Sub(m.visibleAt) > 10*time.Second {
				seen++
			}
		}
		for _, change := range fact.Claims {
			if c := change.After; c != nil && c.Intent == stored.ID && c.InstanceID != "" {
				dealt++
			}
		}
		if seen > dealt+i.surplus {
			a.broken("A5", stored.ID, "its outcome has %d machines, and %d can be seen", dealt, seen)
		}
	}
}

// withoutCapacity reports whether a code says that there is no capacity.
func withoutCapacity(code string) bool {
	switch code {
	case "InsufficientInstanceCapacity", "UnfulfillableCapacity", "SpotMaxPriceTooLow", "ReservationCapacityExceeded", "MaxSpotInstanceCountExceeded",
		"VcpuLimitExceeded", "InstanceLimitExceeded", "MaxFleetCountExceeded", "Unsupported", "InsufficientFreeAddressesInSubnet":
		return true
	}
	return false
}

// throttled reports whether a code says to ask less often.
func throttled(code string) bool {
	switch code {
	case "RequestLimitExceeded", "Throttling", "ThrottlingException", "EC2ThrottledException":
		return true
	}
	return false
}

// unknowing is how long after an offering had no capacity a launch may be recorded whose run had read the ledger before: of one run there are
// several, which it planned at once. Of a run that takes longer it is known when it began.
const unknowing = 10 * time.Second

// probes is A8: what is marked as without capacity is tried at most once in a while, and being told to ask less often
// marks nothing.
func (a *Auditor) probes(id string) {
	i := a.accounts.intents[id]
	pools := requestPools(i.Request)
	for _, p := range pools {
		about := model.UnavailableOffering{OfferingKey: p}
		m, marked := a.accounts.unavailable[about]
		since := i.recordedAt.Sub(m.at)
		if !marked || since > a.rules.ProbeEvery || (since < unknowing || !a.accounts.planningAt.IsZero() && !m.at.Before(a.accounts.planningAt)) && m.tries > 0 {
			continue
		}
		if i.recordedAt.Unix() >= m.ForgetUnix && m.ForgetUnix-m.AtUnix >= 600 {
			continue // what was known of the offering is too old to say anything, and was tried out a moment before that
		}
		m.tries++
		a.accounts.unavailable[about] = m
		if m.tries > 1 {
			a.broken("A8", p.InstanceType+"/"+p.Zone+"/"+p.CapacityType, "it was tried %d times within %s of giving no capacity", m.tries, i.recordedAt.Sub(m.at).Round(time.Second))
		}
	}
	for _, m := range a.accounts.unavailable {
		if throttled(m.Reason) {
			a.broken("A8", m.InstanceType, "%s was taken for a lack of capacity", m.Reason)
		}
	}
}

// needed is A9: instances are asked for only for pods that need one, and not twice for the same.
func (a *Auditor) needed(fact world.LedgerWritten) {
	asked := map[int]bool{}
	for _, change := range fact.Claims {
		if change.Before != nil || change.After == nil || a.takesPlace(change.After) || len(change.After.Pods) == 0 {
			continue
		}
		useful := false
		for _, ref := range change.After.Pods {
			p := a.accounts.pods[ref.UID]
			if at := strings.LastIndex(ref.UID, "-"); p == nil && at > 0 {
				if room, known := a.accounts.room[ref.UID[:at]]; known {
					useful = useful || room.goneAt.IsZero() || a.entry.At.Sub(room.goneAt) <= a.rules.Patience
					continue
				}
			}
			if p == nil {
				a.broken("A9", change.After.Name, "it is for pod %s of UID %s, which never was", ref.Key(), ref.UID)
				continue
			}
			asked[p.Shape] = true
			useful = useful || p.needs() || a.accounts.displaced(p) || a.entry.At.Sub(p.changedAt) <= a.rules.Patience
			if p.shape.Gated || p.shape.OwnerKind == world.KindDaemons || p.shape.OwnerKind == "Node" {
				a.broken("A9", change.After.Name, "it is for pod %s, which is gated or its owner's to place", ref.Key())
			}
		}
		if !useful && a.calm() {
			a.broken("A9", change.After.Name, "none of its %d pods has needed a node for %s", len(change.After.Pods), a.rules.Patience)
		}
	}
	if !a.calm() {
		return
	}
	for shape := range asked {
		a.notTwice(shape)
	}
}

// calm reports whether nothing has gone wrong for a while, so that everybody may be expected to know what is.
func (a *Auditor) calm() bool {
	return a.accounts.disturbed.IsZero() || a.entry.At.Sub(a.accounts.disturbed) > a.rules.Settled+a.rules.Patience
}

// notTwice compares what claims without a finished node were made for with the pods there are for them: those that wait, those
// bound to such claims' nodes, and those of which something changed too lately for everybody to know. It evaluates nothing
// where kube-scheduler has since put a pod on a node that was not made for it: another lost its place by that, and needs
// one more.
func (a *Auditor) notTwice(shape int) {
	promised, most := 0, 1     // pods of the shape that these claims are for, and that one of them is for, at most
	fresh := map[string]bool{} // nodes of unfinished claims
	for _, c := range a.accounts.claims {
		if !underWay(c.State) || a.accounts.replacement[c.Name] != "" {
			continue
		}
		if m := a.accounts.instanceOf(c); m != nil && !m.endedAt.IsZero() || a.entry.At.Sub(c.createdAt) > 5*time.Minute {
			continue
		}
		if n := a.accounts.nodes[c.NodeName]; c.NodeUID != "" && (n == nil || n.UID != c.NodeUID || n.DeletedUnix != 0) {
			continue // somebody has deleted its node: nothing runs there any more
		}
		if n := a.accounts.nodes[c.NodeName]; n != nil &&
			(a.accounts.spoilt(c, n) || a.entry.At.Sub(n.mendedAt) <= a.rules.Patience) {
			continue // what it was made for cannot run there, or could not a moment ago
		}
		if !a.accounts.elsewhere.Before(c.createdAt) || !a.accounts.roomAt.Before(c.createdAt) { // what was asked for since may be planned there
			return
		}
		if c.createdAt.Sub(a.accounts.daemonAt) < a.rules.Invocation+a.rules.Fresh { // its daemons may leave less of it than was reckoned with
			return
		}
		if since := a.accounts.unavailableAt.Sub(c.createdAt); a.balances(shape) && (since > launching || since > 0 && a.accounts.unavailableBy != c.createdBy || a.accounts.probedAt.After(c.createdAt)) {
			return
		}
		if c.NodeName != "" {
			fresh[c.NodeName] = true
		}
		of := 0
		for _, ref := range c.Pods {
			if p := a.accounts.pods[ref.UID]; p != nil && p.Shape == shape {
				of++
			}
		}
		promised, most = promised+of, max(most, of)
	}
	there := 0
	for _, p := range a.accounts.byShape[shape] {
		if p.needs() || fresh[p.NodeName] || a.entry.At.Sub(p.changedAt) <= a.rules.Patience {
			there++
		}
	}
	// A pod that is about to lose its node may take what was made for another, which needs one more then.
	for _, p := range a.accounts.pods {
		if a.accounts.displaced(p) || p.Shape != shape && !p.goneAt.IsZero() && a.entry.At.Sub(p.goneAt) <= a.rules.Patience {
			there++
		}
	}
	// So may a pod that waits and has no claim under way: it came since, or its claim ended before its node joined.
	// It may be as large as all pods that one of the claims is for.
	claimed := map[string]bool{}
	for _, c := range a.accounts.claims {
		if underWay(c.State) {
			for _, ref := range c.Pods {
				claimed[ref.UID] = true
			}
		}
	}
	for uid, p := range a.accounts.pods {
		if p.Shape != shape && p.needs() && !claimed[uid] {
			there += most
		}
	}
	if promised > there {
		a.broken("A9", "shape of "+a.anyOf(shape), "claims under way are for %d of its pods, and there are %d", promised, there)
	}
}

// underWay reports whether a claim's node is still to come.
func underWay(state model.ClaimState) bool {
	return state == model.Intended || state == model.Launched || state == model.Registered
}

// launching is how long a launch takes at most that meets nothing odd: by then the process that made a claim has stored the marks of its launch.
const launching = 10 * time.Second

// balances reports whether pods of the shape keep a balance between zones or the like. A zone that had no capacity when a claim was made and
// may have some now counts among those: what the claim was for may have to go there.
func (a *Auditor) balances(shape int) bool {
	for _, p := range a.accounts.byShape[shape] {
		return slices.ContainsFunc(p.shape.Spread, func(s model.Spread) bool { return !s.Anyway && s.TopologyKey != model.LabelHostname })
	}
	return false
}

func (a *Auditor) anyOf(shape int) string {
	for _, uid := range sorted(a.accounts.byShape[shape]) {
		return a.accounts.byShape[shape][uid].Key()
	}
	return "nobody"
}
