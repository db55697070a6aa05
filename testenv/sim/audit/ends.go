package audit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// ends reports whether a claim in that state is on its way out, and its instance with it.
func ends(state model.ClaimState) bool { return state == model.Draining || state == model.Terminating }

// claimOn returns the claim whose instance a node is; nil where it is nobody's.
func (b *accounts) claimOn(n *node) *claim {
	if m := b.instanceOn(n); m != nil {
		return b.claims[m.claim]
	}
	return nil
}

func (b *accounts) instanceOn(n *node) *instance {
	if n == nil {
		return nil
	}
	return b.instances[n.ProviderID[strings.LastIndexByte(n.ProviderID, '/')+1:]]
}

// displaced reports whether a pod is bound to a node that is being emptied, or that has gone: the pod goes, too, and its owner makes another.
func (b *accounts) displaced(p *pod) bool {
	if !p.goneAt.IsZero() || p.NodeName == "" || p.Terminal() {
		return false
	}
	n := b.nodes[p.NodeName]
	if n == nil {
		return true
	}
	c := b.claimOn(n)
	return c != nil && (ends(c.State) || n.DeletedUnix != 0)
}

// overdue reports whether the time is over by which no pod was to be left on a claim's node.
func (a *Auditor) overdue(c *claim) bool {
	return c != nil && c.Drain != nil && c.Drain.DeadlineUnix != 0 && a.entry.At.Unix() >= c.Drain.DeadlineUnix
}

// tierOf returns the tier of a pod: those of a lower one leave first.
func tierOf(shape *model.PodShape) int {
	tier := 0
	if shape.PriorityClass == "system-cluster-critical" || shape.PriorityClass == "system-node-critical" {
		tier = 2
	}
	if shape.OwnerKind == world.KindDaemons {
		tier++
	}
	return tier
}

// stuck is how long after its grace a pod that is still there is waited for.
const stuck = time.Minute

// leaves reports whether a drain waits for a pod to leave its node.
func (a *Auditor) leaves(p *pod) bool {
	if !p.goneAt.IsZero() || p.Terminal() || p.shape.OwnerKind == world.KindNode {
		return false
	}
	if p.DeletedUnix != 0 && a.accounts.now.Sub(time.Unix(p.DeletedUnix, 0)) > stuck {
		return false
	}
	return !slices.ContainsFunc(p.shape.Tolerations, func(t model.Toleration) bool {
		key := t.Key == "" && t.Operator == "Exists" || t.Key == model.TaintDisrupted
		return key && (t.Effect == "" || t.Effect == model.NoSchedule) && (t.Operator == "Exists" || t.Value == "")
	})
}

// waitedFor counts the pods on a node that a drain waits for.
func (a *Auditor) waitedFor(n *node) int {
	count := 0
	for _, p := range a.accounts.onNode[n.Name] {
		if a.leaves(p) {
			count++
		}
	}
	return count
}

// graceOf is how many seconds a pod has to end.
func graceOf(p *pod) int64 {
	if p.shape.GraceSeconds > 0 {
		return p.shape.GraceSeconds
	}
	return 30
}

// budgetsOf returns the budgets that name a pod.
func (b *accounts) budgetsOf(p *pod) []*model.PDB {
	var out []*model.PDB
	for _, name := range sorted(b.budgets) {
		if budget := b.budgets[name]; budget.Namespace == p.Namespace && selects(budget.Selector, p.shape.Labels) {
			out = append(out, budget)
		}
	}
	return out
}

func selects(s *model.Selector, labels map[string]string) bool {
	if s == nil {
		return false
	}
	for key, value := range s.MatchLabels {
		if have, has := labels[key]; !has || have != value {
			return false
		}
	}
	return len(s.Expressions) == 0 // nobody here writes any
}

// allows counts how many more pods a budget lets go now, but for the pod that goes (nil: none). It is the auditor's own sum.
func (b *accounts) allows(budget *model.PDB) int {
	all, healthy := 0, 0
	for _, p := range b.pods {
		if !p.goneAt.IsZero() || p.Terminal() || p.Namespace != budget.Namespace || !selects(budget.Selector, p.shape.Labels) {
			continue
		}
		all++
		if p.Ready && p.DeletedUnix == 0 {
			healthy++
		}
	}
	share := func(text string) int {
		if percent, ok := strings.CutSuffix(text, "%"); ok {
			n, _ := strconv.Atoi(percent)
			return int(math.Ceil(float64(n*all) / 100))
		}
		n, _ := strconv.Atoi(text)
		return n
	}
	if budget.MaxUnavailable != "" {
		return share(budget.MaxUnavailable) - (all - healthy)
	}
	return healthy - share(budget.MinAvailable)
}

// mayLeave is B1, B6, B7 and B14: pods are asked to leave only from a node that ends, the pod that was evaluated, those of earlier
// tiers before, by the Eviction API where their budgets allow it, and by force only for the deadline's sake.
func (a *Auditor) mayLeave(fact world.EvictionRequested) {
	p := a.accounts.pods[fact.UID]
	if p == nil || fact.Refused != "" && fact.UID != fact.Pod.UID {
		return // it is gone, or the API server said that it is another
	}
	n := a.accounts.nodes[p.NodeName]
	c := a.accounts.claimOn(n)
	who := fact.Pod.Key()
	switch {
	case fact.UID != fact.Pod.UID:
		a.broken("B6", who, "pod %s was meant and %s was asked to leave", fact.Pod.UID, fact.UID)
		return
	case n == nil:
		return // the node went while its pods were asked
	case c == nil:
		a.broken("B7", who, "it was asked to leave node %s, which no claim has", n.Name)
		return
	case !ends(c.State) && c.State != model.Gone:
		a.broken("B6", who, "it was asked to leave node %s, whose claim %s is %s", n.Name, c.Name, c.State)
		return
	}
	if m := a.accounts.instanceOn(n); !m.warnedAt.IsZero() && m.reported && a.calm() && !a.reported["first/"+c.Name] && n.seen.Before(m.warnedAt) {
		late := a.entry.At.Sub(latestOf(m.warnedAt, shieldEnds(p)))
		if late > a.rules.Evicted && c.FailureCode == model.EndedSpotInterrupted && p.changedAt.Before(m.warnedAt) && tierOf(p.shape) == 0 {
			a.broken("C1", m.ID, "the first pod was asked to leave %s after the warning, and after it could be", late.Round(time.Millisecond))
		}
	}
	a.replacedFirst(c, p, fact)
	a.reported["first/"+c.Name] = true
	if fact.Forced {
		a.mayForce(c, p, fact)
		return
	}
	for _, other := range a.accounts.onNode[n.Name] {
		if a.leaves(other) && tierOf(other.shape) < tierOf(p.shape) {
			a.broken("B14", who, "it was asked to leave before %s, which is of an earlier tier", other.Key())
			return
		}
	}
	if shield := p.shape.DoNotDisrupt; shield != "" && a.shielded(p) {
		a.broken("B2", who, "it was evicted though it is not to be disrupted (%s)", shield)
	}
}

// shielded reports whether a pod's annotation keeps it from being evicted now, to the second.
func (a *Auditor) shielded(p *pod) bool {
	return a.entry.At.Before(shieldEnds(p).Add(-time.Second))
}

// shieldEnds returns until when a pod's annotation keeps it from being evicted: long after every run where it says no time, zero
// where it says nothing that is understood.
func shieldEnds(p *pod) time.Time {
	if p.shape.DoNotDisrupt == "true" {
		return world.Start.AddDate(1, 0, 0)
	}
	d, err := time.ParseDuration(p.shape.DoNotDisrupt)
	if err != nil || d <= 0 {
		return time.Time{}
	}
	return time.Unix(p.StartedUnix, 0).Add(d)
}

func latestOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// replacedFirst is B4: before the first pod is evicted, what the pods need elsewhere was asked for, or that took too long.
func (a *Auditor) replacedFirst(c *claim, p *pod, fact world.EvictionRequested) {
	const most = 4 // seconds
	if a.reported["first/"+c.Name] || fact.Forced || p.shape.OwnerKind == world.KindDaemons || c.Drain == nil || a.accounts.replaced[c.Name] {
		return
	}
	if waited := a.entry.At.Unix() - c.Drain.SinceUnix; waited < most {
		a.broken("B4", c.Name, "pod %s was evicted %d s after its end was decided, and nothing was planned in its place", p.Key(), waited)
	}
}

// mayForce is B1 for a pod that is deleted whatever forbids its eviction.
func (a *Auditor) mayForce(c *claim, p *pod, fact world.EvictionRequested) {
	switch d := c.Drain; {
	case fact.GraceSeconds < 1:
		a.broken("B1", fact.Pod.Key(), "it was deleted with a grace of %d s", fact.GraceSeconds)
	case d == nil || d.DeadlineUnix == 0:
		a.broken("B1", fact.Pod.Key(), "it was deleted by force and nothing says by when node %s has to be empty", p.NodeName)
	case a.entry.At.Unix() < d.DeadlineUnix-graceOf(p):
		a.broken("B1", fact.Pod.Key(), "it was deleted by force %d s before the deadline, and its grace is %d s", d.DeadlineUnix-a.entry.At.Unix(), graceOf(p))
	case fact.GraceSeconds > max(1, graceOf(p)):
		a.broken("B1", fact.Pod.Key(), "it was given %d s and its own grace is %d s", fact.GraceSeconds, graceOf(p))
	}
}

// evicted is B1 for an eviction the API server granted: no budget forbade it. It is evaluated by the books as they were before.
func (a *Auditor) evicted(fact world.ObjectWritten) {
	p := a.accounts.pods[fact.UID]
	if p == nil || p.NodeName == "" || p.Terminal() || p.DeletedUnix != 0 {
		return
	}
	budgets := a.accounts.budgetsOf(p)
	if len(budgets) > 1 {
		a.broken("B1", p.Key(), "it was evicted though several budgets speak of it")
	}
	if len(budgets) == 1 && p.Ready && a.accounts.allows(budgets[0]) < 1 {
		a.broken("B1", p.Key(), "it was evicted and budget %s allowed nothing", budgets[0].Name)
	}
}

// mayChange is what our programs may do to objects: taint nodes that end (C4), delete Nodes that end (B6), and take our
// finalizer off what has no instance any more (B7).
func (a *Auditor) mayChange(fact world.ObjectWritten) {
	switch fact.Kind {
	case world.KindPod:
		if fact.Verb == "evict" {
			a.evicted(fact)
		}
	case world.KindNodeClaim:
		before, c := a.accounts.objects[fact.Name], a.accounts.claims[fact.Name]
		if before.uid == fact.UID && before.finalizer && (!fact.Finalizer || fact.Verb == "gone") && c != nil {
			vanishes := c.Vanished && !a.accounts.undefinedAt.IsZero() // with its definition, as is recorded
			if m := a.accounts.instanceOf(c); m != nil && m.endedAt.IsZero() && !vanishes {
				a.broken("B7", fact.Name, "our finalizer was taken off its NodeClaim while machine %s runs", m.ID)
			}
		}
		if (fact.Verb == "delete" || fact.Verb == "gone") && c != nil && c.Live() && !ends(c.State) && !before.deleted {
			a.broken("B6", fact.Name, "its NodeClaim was deleted while it is %s", c.State)
		}
	case world.KindNode:
		a.mayChangeNode(fact)
	}
}

func (a *Auditor) mayChangeNode(fact world.ObjectWritten) {
	before := a.accounts.nodes[fact.Name]
	if before == nil || before.UID != fact.UID {
		return
	}
	m, c := a.accounts.instanceOn(before), a.accounts.claimOn(before)
	lives := m != nil && m.endedAt.IsZero()
	gone := fact.Verb == "gone"
	if before.Finalizer && (gone || !fact.Finalizer) && lives {
		a.broken("B7", fact.Name, "our finalizer was taken off the node while machine %s runs", m.ID)
	}
	if gone && !before.Finalizer && lives && a.waitedFor(before) > 0 {
		a.broken("B6", fact.Name, "the node was removed while machine %s runs, with %d pods on it", m.ID, a.waitedFor(before))
	}
	if (gone || fact.Verb == "delete") && before.DeletedUnix == 0 && lives {
		switch {
		case !m.ours():
			a.broken("B7", fact.Name, "the node of a machine that is not ours was deleted")
		case c != nil && c.Live() && !ends(c.State):
			a.broken("B6", fact.Name, "the node was deleted while claim %s is %s", c.Name, c.State)
		}
	}
	if gone || !tainted(fact.Node) || tainted(before.Node) {
		return
	}
	if c == nil && m != nil && m.ours() && a.entry.At.Sub(m.disowned) <= a.rules.Invocation {
		return // somebody deleted its claim a moment ago, and whoever taints it has read that before
	}
	if m == nil || !m.ours() || c == nil {
		a.broken("B7", fact.Name, "the node was tainted and it is none of ours")
		return
	}
	if !ends(c.State) && c.State != model.Gone && !a.mayTaint(c, before) {
		a.broken("C4", fact.Name, "the node was tainted while claim %s is %s", c.Name, c.State)
	}
	if m.warnedAt.IsZero() || !before.seen.Before(m.warnedAt) || !a.calm() || c.FailureCode != model.EndedSpotInterrupted {
		return
	}
	limit, rule := a.rules.Warned, "C1"
	if !m.reported {
		limit, rule = a.rules.Found, "C2"
	}
	if late := a.entry.At.Sub(m.warnedAt); late > limit && c.RegisteredUnix != 0 && c.RegisteredUnix < m.warnedAt.Unix() {
		a.broken(rule, m.ID, "its node was tainted %s after the warning", late.Round(time.Millisecond))
	}
}

func tainted(n *model.Node) bool {
	return slices.ContainsFunc(n.Taints, func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}

// mayEnd is C11 and B8: a claim ends for a reason that is true, and not too many at once for repair.
func (a *Auditor) mayEnd(change world.ClaimChange, commands []world.CommandChange) {
	after := change.After
	if after == nil || change.Before == nil || ends(change.Before.State) || !ends(after.State) && after.State != model.Gone {
		return
	}
	m := a.accounts.instances[after.InstanceID]
	if m == nil || !m.endedAt.IsZero() {
		return
	}
	if after.FailureCode == "" {
		a.broken("D5", after.Name, "it is to end and nothing says why")
	}
	if slices.Contains(byChoice, after.FailureCode) {
		why := a.choice(after, commands)
		if why != "" && after.FailureCode != model.EndedExpired {
			a.broken("D5", after.Name, "it is to end as %s, and %s", after.FailureCode, why)
		}
		if why == "" || after.FailureCode != model.EndedExpired {
			return
		}
	}
	if why := a.untrue(after, m); why != "" {
		a.broken("C11", after.Name, "it is to end as %s, and %s", after.FailureCode, why)
	}
	switch after.FailureCode {
	case model.EndedUnhealthy, model.EndedStatusFailed, model.EndedNodeGone, model.EndedMissing:
		a.removalLimit(change.Before.State)
	}
	switch after.FailureCode {
	case model.EndedUnhealthy:
		a.fewUnhealthy(after)
	case model.EndedExpired:
		a.fewExpire(after)
	}
}

// fewUnhealthy is CT08: no node is repaired while more than a fifth of its pool's nodes have been unhealthy for a while.
func (a *Auditor) fewUnhealthy(c *model.Claim) {
	known := 5 * time.Minute
	if !a.calm() {
		known = 15 * time.Minute
	}
	nodes, sick := 0, 0
	for _, n := range a.accounts.nodes {
		if n.Labels[model.LabelNodePool] != c.Pool {
			continue
		}
		nodes++
		for _, since := range n.bad {
			if a.entry.At.Sub(since) > known {
				sick++
				break
			}
		}
	}
	for _, at := range a.accounts.goneLately[c.Pool] {
		if a.entry.At.Sub(at) <= known {
			nodes++
		}
	}
	if sick > (nodes+4)/5 {
		a.broken("B8", c.Name, "it is given up for repair while %d of the %d nodes of pool %s are unhealthy", sick, nodes, c.Pool)
	}
}

// fewExpire is S32: of a pool's nodes a tenth, and one at least, ends for its age at a time, but for drains that have been stuck for long.
func (a *Auditor) fewExpire(c *model.Claim) {
	nodes, expire := 0, 0
	for _, other := range a.accounts.claims {
		if other.Pool != c.Pool || !other.Live() {
			continue
		}
		switch {
		case other.State == model.Registered || other.State == model.Initialized:
			nodes++
		case ends(other.State) && other.FailureCode == model.EndedExpired && other.Command == "" && other.Drain != nil && a.entry.At.Unix()-other.Drain.SinceUnix < 240:
			nodes++
			expire++
		case ends(other.State) && other.Drain != nil && a.entry.At.Sub(time.Unix(other.Drain.SinceUnix, 0)) <= a.rules.Invocation:
			nodes++ // whoever decided may have read it before
		}
	}
	// The books have the claim as it was: it is one of the nodes.
	if c.Command == "" && expire+1 > max(1, nodes/10) {
		a.broken("S32", c.Name, "it is to end for its age beside %d others of the %d nodes of pool %s", expire, nodes, c.Pool)
	}
}

// asksSeldom is R26: a pod whose eviction is refused is asked again a while later each time.
func (a *Auditor) asksSeldom(fact world.EvictionRequested) {
	if fact.Refused == "" || fact.Forced || fact.UID == "" || fact.UID != fact.Pod.UID {
		return
	}
	lately := slices.DeleteFunc(append(a.refusals[fact.UID], a.entry.At), func(at time.Time) bool { return a.entry.At.Sub(at) > time.Minute })
	if a.refusals[fact.UID] = lately; len(lately) > a.rules.Refusals {
		a.broken("R26", fact.Pod.Key(), "its eviction was refused %d times in a minute", len(lately))
	}
}

// removalLimit is B8: in five minutes at most max(5, 10 %) of the nodes are given up for repair.
func (a *Auditor) removalLimit(was model.ClaimState) {
	if was != model.Registered && was != model.Initialized {
		return // it never was a node
	}
	a.repairs = append(a.repairs, a.entry.At)
	for a.entry.At.Sub(a.repairs[0]) > a.rules.RemovalLimit {
		a.repairs = a.repairs[1:]
	}
	nodes := len(a.repairs) // as many as there were, those that are given up included
	for _, c := range a.accounts.claims {
		if c.State == model.Registered || c.State == model.Initialized {
			nodes++
		}
	}
	if most := max(5, (nodes+9)/10); len(a.repairs) > most {
		a.broken("B8", after5, "%d of %d nodes were given up for repair in %s", len(a.repairs), nodes, a.rules.RemovalLimit)
	}
}

const after5 = "the brake"

// untrue says what speaks against a claim's reason to end; empty = nothing does. What was so a moment ago is taken for true:
// whoever acts looked before.
func (a *Auditor) untrue(c *model.Claim, m *instance) string {
	at := a.entry.At
	n := a.accounts.nodeOf(m)
	switch c.FailureCode {
	case model.EndedSpotInterrupted:
		if m.warnedAt.IsZero() {
			return "AWS never said so of " + m.ID
		}
	case model.EndedScheduledChange:
		if m.impaired[model.ImpairedEvent].IsZero() && !m.announced {
			return "AWS never said so of " + m.ID
		}
	case model.EndedStatusFailed:
		for _, kind := range []string{model.ImpairedInstance, model.ImpairedSystem} {
			since := m.impaired[kind]
			mended := m.mendedAt.After(since) && at.Sub(m.mendedAt) > time.Minute
			if !since.IsZero() && at.Sub(since) >= 2*time.Minute-time.Second && !mended {
				return ""
			}
		}
		return "its checks did not fail for two minutes until a moment ago"
	case model.EndedInstanceStopping:
		if m.stoppedAt.IsZero() && m.endingAt.IsZero() {
			return "it runs"
		}
	case model.EndedObjectDeleted:
		if !a.accounts.undefinedAt.IsZero() && at.Sub(a.accounts.undefinedAt) > 30*time.Second {
			return "NodeClaims are deleted because their definition is"
		}
		if o, there := a.accounts.objects[c.Name]; there && !o.deleted && o.uid == c.ObjectUID {
			return "its NodeClaim is there"
		}
	case model.EndedNodeDeleted:
		if n != nil && n.DeletedUnix == 0 && n.UID == c.NodeUID {
			return "its node is there"
		}
	case model.EndedNodeGone:
		if n != nil && at.Sub(n.seen) > 2*time.Minute && a.calm() {
			return "its node " + n.Name + " is there"
		}
	case model.EndedExpired:
		if c.ExpireSeconds == nil || at.Unix() < c.CreatedUnix+*c.ExpireSeconds {
			return "it is not that old"
		}
	case model.EndedMissing:
		if n != nil && n.Ready && a.calm() && at.Sub(n.at) > 2*time.Minute {
			return "its node " + n.Name + " is Ready"
		}
	case model.EndedUnhealthy:
		return a.healthy(n)
	case model.EndedNeverRegistered:
		if at.Sub(m.startedAt) < 14*time.Minute || c.RegisteredUnix != 0 {
			return fmt.Sprintf("it was launched %s ago", at.Sub(m.startedAt).Round(time.Second))
		}
	}
	return ""
}

// healthy says that nothing of a node was wrong for as long as is tolerated at least, until a moment ago: whoever decides has looked at it by then.
func (a *Auditor) healthy(n *node) string {
	if n == nil {
		return ""
	}
	tolerated := func(name string) time.Duration {
		if name == "AcceleratedHardwareReady" {
			return 10*time.Minute - time.Second
		}
		return 30*time.Minute - time.Second
	}
	for _, name := range sorted(n.bad) {
		if a.entry.At.Sub(n.bad[name]) >= tolerated(name) {
			return ""
		}
	}
	for _, name := range sorted(n.mended) {
		if was := n.mended[name]; was.until.Sub(was.since) >= tolerated(name) && a.entry.At.Sub(was.until) <= a.rules.Invocation {
			return ""
		}
	}
	return "nothing of its node was wrong for that long"
}

// detached is B13: an instance is not ended while a volume of a pod that left is attached to it, unless its time is over.
func (a *Auditor) detached(c *claim, m *instance, n *node) {
	if c == nil || c.Drain == nil || !m.stoppedAt.IsZero() || !m.endingAt.IsZero() || !n.Ready {
		return
	}
	for _, name := range sorted(a.accounts.attached) {
		v := a.accounts.attached[name]
		if v.Node != n.Name || v.DeletedUnix == 0 || a.entry.At.Sub(v.at) >= a.rules.Detach-a.rules.Grace {
			continue
		}
		// One that began to detach after the last look is not to be known: a moment ago, or while the decision was written slowly.
		if a.entry.At.Sub(v.at) > 10*time.Second+a.slowly() {
			a.broken("B13", m.ID, "it was to be ended while volume %s, whose pod left %s ago, is attached", v.Volume, a.entry.At.Sub(v.at).Round(time.Second))
		}
	}
}

// leftOver reports whether an object with our finalizer is there of an instance that ended. Where somebody deleted its claim from the ledger
// EC2 alone can say that it was ours and has ended, and does so for an hour: an API server that is away for longer comes back too late.
func (a *Auditor) leftOver(m *instance) (string, bool) {
	if !m.disowned.IsZero() && a.accounts.now.Sub(m.endedAt) >= a.rules.Listed {
		return "", false
	}
	if n := a.accounts.nodeOf(m); n != nil && n.Finalizer {
		return "the machine has ended and its node " + n.Name + " is held by our finalizer", true
	}
	c := a.accounts.claims[m.claim]
	if c == nil || c.ObjectUID == "" || c.InstanceID != m.ID {
		return "", false
	}
	// Finalizers of others may keep its Node, and its NodeClaim with it until the next check, which needs a tick.
	now := a.accounts.now
	checked := latestOf(m.nodeGone, a.accounts.notRunUntil(now))
	if n := a.accounts.nodeOf(m); n != nil && n.DeletedUnix != 0 ||
		!m.nodeGone.IsZero() && now.Sub(checked) <= a.rules.Ghost {
		return "", false
	}
	if o := a.accounts.objects[c.Name]; o.uid == c.ObjectUID && o.finalizer {
		return "the machine has ended and NodeClaim " + c.Name + " is held by our finalizer", true
	}
	return "", false
}

// drains is C4 for claims that end: where nothing is in the way, something comes about. They are looked at every so often.
func (a *Auditor) drains(every time.Duration) {
	now := a.accounts.now
	if now.Sub(a.drainsAt) < every {
		return
	}
	a.drainsAt = now
	for name := range a.open {
		if !a.accounts.ending[name] {
			delete(a.open, name)
		}
	}
	for _, name := range sorted(a.accounts.ending) {
		c := a.accounts.claims[name]
		m := a.accounts.instanceOf(c)
		if m == nil {
			continue
		}
		n := a.accounts.nodeOf(m)
		a.unreachable(c, m, n)
		if a.inTheWay(c, n) {
			delete(a.open, name)
			continue
		}
		since, known := a.open[name]
		if !known {
			since = now
			a.open[name] = now
		}
		for _, moved := range []time.Time{c.at, m.endingAt, m.endedAt, a.accounts.disturbed.Add(a.rules.Settled), a.accounts.notRunUntil(now)} {
			if moved.After(since) {
				since = moved
			}
		}
		if n != nil && n.movedAt.After(since) {
			since = n.movedAt
		}
		if idle := now.Sub(since); idle > a.rules.Stalled {
			a.broken("C4", name, "it is %s (%s) and nothing has come about for %s, though nothing is in the way", c.State, c.FailureCode, idle.Round(time.Second))
		}
	}
}

// hastened is C1 for a drain that was under way: once AWS has warned of an instance, it is over by the time the instance is taken away.
func (a *Auditor) hastened(fact world.EventMoved) {
	if model.NoticeKind(fact.Kind) != model.NoticeSpotInterrupted {
		return
	}
	for _, id := range fact.IDs {
		m := a.accounts.instances[id]
		if m == nil || !m.reported || m.warnedAt.IsZero() {
			continue
		}
		a.within("C1", id, a.entry.At, a.rules.Found, func() (string, bool) {
			c := a.accounts.claims[m.claim]
			open := c != nil && c.InstanceID == id && c.State == model.Draining && c.Drain != nil && m.endingAt.IsZero() && m.endedAt.IsZero() &&
				(c.Drain.DeadlineUnix == 0 || c.Drain.DeadlineUnix > m.due.Unix())
			return "AWS takes it away at " + m.due.Format("15:04:05") + ", and its drain has no deadline before that", open
		})
	}
}

// unreachable is R32: a drain whose node has not been Ready for half an hour is over by then, whatever is left on it.
func (a *Auditor) unreachable(c *claim, m *instance, n *node) {
	const most = 40 * time.Minute
	if n == nil || n.Ready || c.State != model.Draining || c.Drain == nil || !m.endingAt.IsZero() || !m.endedAt.IsZero() {
		return
	}
	if since := a.accounts.now.Sub(n.at); since > most && a.accounts.now.Sub(time.Unix(c.Drain.SinceUnix, 0)) > most-30*time.Minute && a.accounts.now.Sub(a.accounts.disturbed) > a.rules.Settled {
		a.broken("R32", c.Name, "it is emptied still, and its node %s has not been Ready for %s", n.Name, since.Round(time.Second))
	}
}

// inTheWay reports whether something keeps a claim's node from being emptied now: pods that are ending, that may not be
// disrupted, or whose budgets allow nothing, volumes that are still attached.
func (a *Auditor) inTheWay(c *claim, n *node) bool {
	if n == nil || c.State == model.Terminating || c.Drain != nil && c.Drain.DeadlineUnix != 0 && a.accounts.now.Unix() >= c.Drain.DeadlineUnix {
		return false
	}
	first, blocked := math.MaxInt, true
	for _, p := range a.accounts.onNode[n.Name] {
		if a.leaves(p) {
			first = min(first, tierOf(p.shape))
		}
	}
	for _, p := range a.accounts.onNode[n.Name] {
		if a.leaves(p) && tierOf(p.shape) == first && !a.heldBack(p) {
			blocked = false
		}
	}
	if first != math.MaxInt {
		return blocked
	}
	for _, v := range a.accounts.attached {
		if v.Node == n.Name && v.Attached {
			return true
		}
	}
	return false
}

// heldBack reports whether a pod cannot be asked to leave now.
func (a *Auditor) heldBack(p *pod) bool {
	if p.DeletedUnix != 0 || p.shape.DoNotDisrupt == "true" {
		return true
	}
	if d, err := time.ParseDuration(p.shape.DoNotDisrupt); err == nil && a.accounts.now.Before(time.Unix(p.StartedUnix, 0).Add(d)) {
		return true
	}
	budgets := a.accounts.budgetsOf(p)
	return len(budgets) > 1 || len(budgets) == 1 && a.accounts.allows(budgets[0]) < 1
}
