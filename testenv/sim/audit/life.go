package audit

import (
	"fmt"
	"maps"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// rank of a claim's states: it only ever grows.
var rank = map[model.ClaimState]int{
	model.Intended: 1, model.Launched: 2, model.Registered: 3, model.Initialized: 4, model.Draining: 5, model.Terminating: 6,
	model.Gone: 7,
}

// moves is C6: each write of a claim follows the one before it, by version and by state, and a claim keeps its instance.
func (a *Auditor) moves(change world.ClaimChange) {
	if change.After == nil {
		return
	}
	after := change.After
	known := a.accounts.claims[after.Name]
	switch {
	case change.Before == nil && known != nil:
		a.broken("C6", after.Name, "it was recorded twice")
		return
	case change.Before == nil:
		return
	case known == nil:
		return // it was there before anybody looked
	case change.Before.Version != known.Version:
		a.broken("C6", after.Name, "version %d was written over version %d", change.Before.Version, known.Version)
	case after.Version != known.Version+1:
		a.broken("C6", after.Name, "version %d follows %d", after.Version, known.Version)
	case rank[after.State] < rank[known.State]:
		a.broken("C6", after.Name, "it went back from %s to %s", known.State, after.State)
	case known.State == model.Gone && known.FailureCode != after.FailureCode:
		a.broken("C6", after.Name, "it changed after it was gone")
	}
	if before := change.Before; before.InstanceID != "" && before.InstanceID != after.InstanceID {
		a.broken("A1", after.Name, "its machine was %s and is %s", before.InstanceID, after.InstanceID)
	}
}

// leaseGrows is C6: tokens of a lease only grow.
func (a *Auditor) leaseGrows(fact world.LeaseTaken) {
	key := fact.Fence.Cluster + "/" + fact.Fence.Lease
	if before, ok := a.accounts.leases[key]; ok && fact.Fence.Token <= before.Token {
		a.broken("C6", key, "token %d was given out after %d", fact.Fence.Token, before.Token)
	}
}

// fenced is C6: whoever was deposed writes nothing any more.
func (a *Auditor) fenced(fact world.LedgerWritten) {
	if fact.Fence == nil {
		return
	}
	key := fact.Fence.Cluster + "/" + fact.Fence.Lease
	if newest, ok := a.accounts.leases[key]; ok && newest.Token != fact.Fence.Token {
		a.broken("C6", key, "%s wrote with token %d, the newest is %d", fact.Op, fact.Fence.Token, newest.Token)
	}
}

// mayTerminate is C11 and B7: no instance is ended that is not ours, and none that has a claim nobody wants to end, or a ready
// node with pods on it.
func (a *Auditor) mayTerminate(id string) {
	m := a.accounts.instances[id]
	if m == nil || !m.endedAt.IsZero() {
		return
	}
	if !m.ours() {
		a.broken("B7", id, "a machine that is not ours was to be ended: tags %v", m.Tags)
		return
	}
	c := a.accounts.claims[m.claim]
	if i := a.accounts.intents[m.intent]; c == nil && i != nil && i.State != model.IntentDone && i.answered[id] {
		a.broken("C11", id, "it was to be ended while launch %s, which asked for it, is open", m.intent)
	}
	if c != nil && c.InstanceID == id && c.State != "Terminating" && c.State != model.Gone {
		a.broken("C11", id, "it was to be ended while claim %s is %s", c.Name, c.State)
	}
	n := a.accounts.nodeOf(m)
	if n == nil || a.overdue(c) || !m.due.IsZero() && !a.entry.At.Before(m.due) {
		return
	}
	pods := a.waitedFor(n)
	if c == nil { // an instance that no claim has is looked at for what others run there, and is not drained
		for _, p := range a.accounts.onNode[n.Name] {
			if a.leaves(p) && p.shape.OwnerKind == world.KindDaemons {
				pods--
			}
		}
	}
	if pods > 0 && n.Ready && n.Registered() {
		a.broken("C11", id, "it was to be ended while its node %s is ready and runs %d pods", n.Name, pods)
	}
	a.detached(c, m, n)
}

// mayAdvance is C4: a claim is called initialized only when its node is ready, and gone only when its instance is.
func (a *Auditor) mayAdvance(change world.ClaimChange) {
	after := change.After
	if after == nil || change.Before == nil || change.Before.State == after.State {
		return
	}
	m := a.accounts.instances[after.InstanceID]
	if m == nil {
		return
	}
	switch after.State {
	case model.Initialized:
		if n := a.accounts.nodeOf(m); n != nil && !n.Ready && a.calm() && a.entry.At.Sub(n.at) > a.rules.Patience {
			a.broken("C4", after.Name, "it is called initialised, and its node %s has not been ready for %s", n.Name, a.entry.At.Sub(n.at).Round(time.Second))
		}
	case model.Gone:
		if m.endedAt.IsZero() {
			a.broken("A4", after.Name, "it was closed (%s) while its machine %s runs", after.FailureCode, m.ID)
		}
	}
}

// mustBeOwned is A3: an instance of ours gets a claim, or an end.
func (a *Auditor) mustBeOwned(fact world.InstanceStarted) {
	id := fact.Instance.ID
	if !a.accounts.instances[id].ours() {
		return
	}
	a.within("A3", id, fact.VisibleAt, a.rules.Orphan, func() (string, bool) { return a.orphan(id) })
}

// orphan reports whether an instance runs and neither a live claim nor an open launch is its own.
func (a *Auditor) orphan(id string) (string, bool) {
	m := a.accounts.instances[id]
	if !m.endedAt.IsZero() {
		return "", false
	}
	if c := a.accounts.claims[m.claim]; c != nil && c.Live() && c.InstanceID == id {
		return "", false
	}
	if i := a.accounts.intents[m.intent]; i != nil && i.State != model.IntentDone {
		return "", false
	}
	return fmt.Sprintf("%s of launch %s runs and no live claim has it", m.Type, m.intent), true
}

// mustBeClosed is A4: the claim of an instance that ended is closed.
func (a *Auditor) mustBeClosed(id string) {
	m := a.accounts.instances[id]
	if m == nil || m.claim == "" {
		return
	}
	name := m.claim
	a.within("A4", id, a.entry.At.Add(time.Minute), a.rules.Ghost, func() (string, bool) { return a.leftOver(m) })
	// Two looks half a minute apart, and a node that is seen not to be ready, come first.
	a.within("A4", name, a.entry.At.Add(time.Minute), a.rules.Ghost, func() (string, bool) { return a.ghost(name) })
}

// ghost reports whether a claim lives whose instance does not.
func (a *Auditor) ghost(name string) (string, bool) {
	c := a.accounts.claims[name]
	if c == nil || !c.Live() || c.InstanceID == "" {
		return "", false
	}
	m := a.accounts.instances[c.InstanceID]
	if m == nil || m.endedAt.IsZero() {
		return "", false
	}
	return fmt.Sprintf("it is %s and its machine %s has ended (%s)", c.State, m.ID, m.cause), true
}

// Quiet is C4: with nothing wrong for long enough everything is in order.
func (a *Auditor) Quiet(now time.Time) []Violation {
	a.found = nil
	a.accounts.now = now
	a.entry = world.Entry{Seq: a.entry.Seq, At: now}
	b := a.accounts
	for _, id := range sorted(b.intents) {
		if i := b.intents[id]; i.State != model.IntentDone && now.Sub(i.recordedAt) > 2*time.Minute {
			a.broken("C4", id, "its outcome is not known, %s after it was recorded", now.Sub(i.recordedAt).Round(time.Second))
		}
	}
	for _, id := range sorted(b.instances) {
		if m := b.instances[id]; m.ours() && now.Sub(m.visibleAt) > a.rules.Orphan+a.rules.Grace {
			if text, open := a.orphan(id); open {
				a.broken("A3", id, "%s", text)
			}
		}
	}
	for _, name := range sorted(b.claims) {
		a.atRest(b.claims[name])
	}
	for _, id := range sorted(b.instances) {
		if m := b.instances[id]; !m.endedAt.IsZero() && now.Sub(m.endedAt) > time.Minute+a.rules.Ghost+a.rules.Grace {
			if text, left := a.leftOver(m); left {
				a.broken("A4", id, "%s", text)
			}
		}
	}
	a.drains(0)
	for _, name := range sorted(b.held) {
		if text, wrong := a.miscounted(name); wrong {
			a.broken("A6", name, "%s", text)
		}
	}
	for _, uid := range sorted(b.pods) {
		a.bound(b.pods[uid])
	}
	for _, name := range sorted(b.pools) {
		if text := lacking(b, b.pools[name], a.rules.Bound); text != "" {
			a.broken("C3", name, "%s", text)
		}
	}
	most := a.rules.Messages + b.underWay()
	for _, queue := range sorted(b.messages) {
		if n := b.messages[queue]; n > most {
			a.broken("C4", queue, "%d messages are in it, of at most %d", n, most)
		}
	}
	return a.found
}

// underWay counts the live claims that end or are in a command: consolidation goes on in a world at rest, and each of its steps sends
// a message.
func (b *accounts) underWay() int {
	n := 0
	for _, c := range b.claims {
		if c.Live() && (ends(c.State) || c.Command != "") {
			n++
		}
	}
	return n
}

// joins is how long an instance may take to join, and to be given up where it does not.
const joins = 20 * time.Minute

// atRest is C4 for one claim.
func (a *Auditor) atRest(c *claim) {
	if !c.Live() {
		return
	}
	if m := a.accounts.instanceOf(c); m != nil && !m.endedAt.IsZero() && a.accounts.now.Sub(m.endedAt) > time.Minute+a.rules.Ghost+a.rules.Grace {
		text, _ := a.ghost(c.Name)
		a.broken("A4", c.Name, "%s", text)
		return
	}
	m := a.accounts.instanceOf(c)
	if m == nil {
		return
	}
	n := a.accounts.nodeOf(m)
	if age := a.accounts.now.Sub(m.startedAt); n == nil && c.State == model.Launched && age > joins {
		a.broken("C4", c.Name, "its machine %s was launched %s ago, has no node, and is kept", m.ID, age.Round(time.Second))
	}
	if n == nil || !n.Ready || a.accounts.now.Sub(n.at) < 2*time.Minute {
		return
	}
	if c.Vanished && !a.accounts.undefinedAt.IsZero() { // without its NodePool nobody knows what its node is to bear
		return
	}
	if c.State == model.Launched || c.State == model.Registered {
		a.broken("C4", c.Name, "its node %s has been ready for %s and it is %s", n.Name, a.accounts.now.Sub(n.at).Round(time.Second), c.State)
	}
	if ends(c.State) { // it stays tainted; a Node that the kubelet made anew while it drains is not registered any more
		return
	}
	for _, t := range n.Taints {
		if t.Key == model.TaintUnregistered || t.Key == model.TaintDisrupted && !a.mayTaint(c, n) {
			a.broken("C4", c.Name, "its node %s still has the taint %s", n.Name, t.Key)
		}
	}
}

// bound is C3: a pod that waits for longer than that waits only because of a limit, or for an instance to boot.
func (a *Auditor) bound(p *pod) {
	since := p.createdAt
	if a.accounts.disturbed.After(since) {
		since = a.accounts.disturbed
	}
	if until := a.accounts.scarce(); until.After(since) {
		since = until
	}
	if !p.needs() || a.accounts.now.Sub(since) <= a.rules.Bound {
		return
	}
	if a.underWay(p) || a.accounts.now.Sub(a.accounts.unseen()) <= a.rules.Bound {
		return
	}
	for _, name := range sorted(a.accounts.pools) {
		if a.accounts.hasRoom(name) && a.accounts.now.Sub(a.accounts.freedAt[name]) > a.rules.Bound {
			a.broken("C3", p.Key(), "it has waited since %s though pool %s is not at its limits", since.Format("15:04:05"), name)
			return
		}
	}
}

// lacking is C3 for the nodes of a pool of a fixed size: those that it lacks for longer than that are beyond its
// limits. An offering that had no capacity while things went wrong is no excuse, however long it is left alone where
// nothing waits for it. Empty = none lacks.
func lacking(b *accounts, pool *model.Pool, bound time.Duration) string {
	since := b.poolAt[pool.Name]
	for _, at := range []time.Time{b.disturbed, b.freedAt[pool.Name], b.unseen()} {
		if at.After(since) {
			since = at
		}
	}
	wants := pool.Replicas != nil && pool.DeletedUnix == 0 && belowLimits(pool, b.held[pool.Name])
	if !wants || !b.undefinedAt.IsZero() || b.now.Sub(since) <= bound {
		return ""
	}
	have := int64(0)
	for _, c := range b.claims {
		if c.Pool == pool.Name && c.Live() && !ends(c.State) {
			have++
		}
	}
	if have >= *pool.Replicas {
		return ""
	}
	return fmt.Sprintf("it has had %d of %d nodes since %s though it is not at its limits", have, *pool.Replicas,
		since.Format("15:04:05"))
}

// scarce is until when the last of the offerings is kept from launches that had no capacity while things went wrong. What is marked later is not
// counted: there is capacity then.
func (b *accounts) scarce() time.Time {
	var out time.Time
	for _, m := range b.unavailable {
		if until := time.Unix(m.UntilUnix, 0); !m.at.After(b.disturbed) && until.After(out) {
			out = until
		}
	}
	return out
}

// unseen is until when the last of our instances that began to end before EC2 showed it was not shown: until then it is capacity as far as
// anybody can tell.
func (b *accounts) unseen() time.Time {
	var out time.Time
	for _, m := range b.instances {
		if !m.endingAt.IsZero() && m.endingAt.Before(m.visibleAt) && m.visibleAt.After(out) && m.ours() {
			out = m.visibleAt
		}
	}
	return out
}

// underWay reports whether an instance made for the pod a moment ago is still booting, or has lost its Node to somebody else while it
// was: how long that takes is not ours. So it is of a pod that may be bound only once others of its workload are.
func (a *Auditor) underWay(p *pod) bool {
	for _, c := range a.accounts.claims {
		if !c.Live() || a.accounts.now.Sub(c.createdAt) > 3*time.Minute && !a.robbed(c) {
			continue
		}
		for _, ref := range c.Pods {
			if ref.UID == p.UID || waitsFor(p, a.accounts.pods[ref.UID]) {
				return true
			}
		}
		if a.robbed(c) && a.mayHold(c, p) {
			return true
		}
	}
	return false
}

// robbed reports whether somebody else deleted the Node of a claim's instance before it was registered, and the time in which the instance
// has to join is not over: its kubelet may make the Node again.
func (a *Auditor) robbed(c *claim) bool {
	m := a.accounts.instanceOf(c)
	return m != nil && c.State == model.Launched && m.nodeTaken && m.endedAt.IsZero() && a.accounts.now.Sub(m.startedAt) <= joins
}

// waitsFor reports whether a pod of a spread or an affinity may have to wait for another of its workload to be bound.
func waitsFor(p, other *pod) bool {
	rules := len(p.shape.Spread) + len(p.shape.PodAffinity) + len(p.shape.PodAntiAffinity)
	return rules > 0 && other != nil && other.needs() && p.shape.OwnerName != "" &&
		other.shape.OwnerName == p.shape.OwnerName && other.shape.Namespace == p.shape.Namespace
}

// mayHold reports whether a claim's instance has room for a pod beside those it was made for that are yet to be bound: the pod may be
// nominated to it, though it came later.
func (a *Auditor) mayHold(c *claim, p *pod) bool {
	left := maps.Clone(c.Allocatable)
	for _, ref := range c.Pods {
		if other := a.accounts.pods[ref.UID]; other != nil && other.needs() && ref.UID != p.UID {
			for name, amount := range other.shape.Requests {
				left[name] -= amount
			}
		}
	}
	for name, amount := range p.shape.Requests {
		if left[name] < amount {
			return false
		}
	}
	return true
}
