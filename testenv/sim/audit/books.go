package audit

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// accounts are what an auditor knows of a world by its log: nobody else's state is looked at.
type accounts struct {
	now         time.Time
	disturbed   time.Time // when something was made to go wrong last
	ranAt       time.Time // when the function that drains was invoked last
	idleUntil   time.Time // see notRunUntil
	daemonAt    time.Time // when a DaemonSet came or changed last
	roomAt      time.Time // when people asked for room by a CapacityBuffer, or for more, last
	unlistedAt  time.Time // when EC2 failed to list the instances, or missed some, last
	undefinedAt time.Time // when the definitions were deleted; zero = they stand

	intents       map[string]*intent
	claims        map[string]*claim
	instances     map[string]*instance
	leases        map[string]model.Fence // newest, by cluster and lease
	held          map[string]model.Resources
	full          map[string]bool            // pools that are at their limits
	freedAt       map[string]time.Time       // when a pool that was at its limits was below them again
	usage         map[string]model.Resources // as the ledger says, by pool
	pools         map[string]*model.Pool
	unavailable   map[model.UnavailableOffering]mark // by what they are about
	unavailableAt time.Time                          // when one was stored or cleared last
	unavailableBy string                             // the process that did
	probedAt      time.Time                          // when one was changed last so that its offering is tried again

	planningAt time.Time // when a planner began last, which reads marks a moment later

	nodes       map[string]*node  // by name
	objects     map[string]object // NodeClaim objects, by name
	unwanted    map[string]bool   // names of claims whose objects were deleted by somebody
	pods        map[string]*pod   // by UID
	room        map[string]*room  // CapacityBuffers that are or were there, by UID
	byShape     map[int]map[string]*pod
	onNode      map[string]map[string]*pod // pods that are there, by node and UID
	budgets     map[string]*model.PDB      // by namespace and name
	attached    map[string]attachment      // volumes, by name of their attachment
	replaced    map[string]bool            // claims whose pods were planned for elsewhere, at some time
	ending      map[string]bool            // names of claims that are Draining or Terminating
	elsewhere   time.Time                  // when a pod was last bound to a node that was not made for it: others lost their place then
	commands    map[string]*command
	replacement map[string]string      // the command that a claim takes the place of something of, by the claim's name
	meddled     map[string]time.Time   // when people changed what a pool holds, or is counted to hold, and nobody has counted it anew since
	stops       map[stop]time.Time     // since when disruption voluntarily is stopped
	alarms      map[string]time.Time   // since when alarms are on
	published   []heard                // what the watcher published or confirmed lately
	followed    map[string][]followed  // how far replicas of the watcher had come lately, by process
	decided     heard                  // the newest that a command was decided by
	poolAt      map[string]time.Time   // when pools were written last
	poolAs      map[string]int64       // and as which version of the API server
	limits      map[string][]limited   // of pools, from the first on
	budgetAt    map[string]time.Time   // when PodDisruptionBudgets were written last
	goneLately  map[string][]time.Time // when nodes that were initialized went, by pool
	messages    map[string]int         // in queues, by queue
	processes   map[string]string
}

// intent is a launch as recorded.
type intent struct {
	model.Intent
	recordedAt time.Time
	surplus    int             // instances EC2 gave beyond what it was asked for
	running    int             // instances of it that have not ended
	answered   map[string]bool // instances EC2 said it launched
	callers    map[string]int  // how often each process asked EC2
}

// stop is where disruption voluntarily is stopped.
type stop struct {
	scope model.StopScope
	pool  string
}

// claim is a claim as recorded.
type claim struct {
	model.Claim
	at        time.Time // of the last change
	createdAt time.Time
	createdBy string // process
}

// instance is an instance.
type instance struct {
	model.Instance
	intent    string
	pool      string
	price     model.MicroUSD // per hour
	startedAt time.Time
	visibleAt time.Time
	endedAt   time.Time // zero while it runs
	cause     string
	claim     string // that was ever said to have it

	warnedAt  time.Time // of a spot instance: that it will be taken away
	due       time.Time // when it is
	reported  bool      // the warning was sent on its way, in time
	announced bool      // AWS said that it will be changed
	endingAt  time.Time // when it was told to end, by anybody
	stoppedAt time.Time
	disowned  time.Time            // when somebody deleted its claim from the ledger; zero = at no time
	nodeTaken bool                 // somebody else deleted its Node
	nodeGone  time.Time            // when a Node of it was gone that finalizers of others had kept; zero = at no time
	impaired  map[string]time.Time // since when, by kind; what is mended stays
	mendedAt  time.Time
}

// object is a NodeClaim object.
type object struct {
	uid       string
	finalizer bool
	deleted   bool
}

// attachment is a volume that is attached, or was a moment ago.
type attachment struct {
	*world.VolumeAttachment
	at time.Time // of the last change
}

// ours reports whether the instance's tags say that it is the cluster's, a pool's and a launch's.
func (m *instance) ours() bool {
	return m.Tags["kubernetes.io/cluster/"+world.Name] == "owned" && m.pool != "" && m.intent != ""
}

// provider returns the instance's provider id.
func (m *instance) provider() string { return "aws:///" + m.Zone + "/" + m.ID }

// node is a Node object.
type node struct {
	*model.Node
	at        time.Time            // since when it is ready, or not
	seen      time.Time            // since when it is there
	readyAs   int64                // the version it became ready with, or not
	deletedAs int64                // the version it was deleted with; 0 = it is not being deleted
	bad       map[string]time.Time // since when, by condition
	mended    map[string]spell     // when a condition was bad last, of those that are not
	taintedAt time.Time            // when the taint of what is disrupted was put on it; zero = it does not have it
	hadTaint  time.Time            // when it was last seen to have it
	freedAt   time.Time            // since when it is being deleted and finalizers of others alone keep it, if any do
	mendedAt  time.Time            // when a taint of which its claim says nothing was taken off it; zero = at no time
	movedAt   time.Time            // when a pod on it last went or was asked to, or anything else came about with it
}

// spell is a time in which something was so.
type spell struct{ since, until time.Time }

// pod is a pod, also for a while after it is gone.
type pod struct {
	*model.Pod
	shape     *model.PodShape
	createdAt time.Time
	changedAt time.Time // when it was bound, began to go, or ended; zero = none of it
	goneAt    time.Time
}

// mark is an offering without capacity as stored.
type mark struct {
	model.UnavailableOffering
	at    time.Time // when it was stored, or its probe taken
	tries int       // launches recorded since that may use the offering
}

func newAccounts() *accounts {
	return &accounts{
		intents: map[string]*intent{}, claims: map[string]*claim{}, instances: map[string]*instance{}, leases: map[string]model.Fence{},
		held: map[string]model.Resources{}, full: map[string]bool{}, freedAt: map[string]time.Time{}, usage: map[string]model.Resources{}, pools: map[string]*model.Pool{}, unavailable: map[model.UnavailableOffering]mark{},
		nodes: map[string]*node{}, objects: map[string]object{}, unwanted: map[string]bool{}, pods: map[string]*pod{}, room: map[string]*room{},
		byShape: map[int]map[string]*pod{}, messages: map[string]int{}, processes: map[string]string{},
		onNode: map[string]map[string]*pod{}, budgets: map[string]*model.PDB{}, attached: map[string]attachment{}, replaced: map[string]bool{},
		ending: map[string]bool{}, meddled: map[string]time.Time{}, commands: map[string]*command{}, replacement: map[string]string{}, stops: map[stop]time.Time{},
		alarms: map[string]time.Time{},
		poolAt: map[string]time.Time{}, poolAs: map[string]int64{}, limits: map[string][]limited{}, budgetAt: map[string]time.Time{}, goneLately: map[string][]time.Time{}, followed: map[string][]followed{},
	}
}

// enter takes a fact into the books. Rules look at them before and after.
func (b *accounts) enter(e world.Entry) {
	b.now = e.At
	switch fact := e.Fact.(type) {
	case world.FaultInjected:
		b.disturbed = e.At
	case world.ListFailed:
		b.unlistedAt = e.At
	case world.DefinitionsWritten:
		if b.undefinedAt = e.At; fact.Established {
			b.undefinedAt = time.Time{}
		}
	case world.LeaseTaken:
		b.leases[fact.Fence.Cluster+"/"+fact.Fence.Lease] = fact.Fence
		if fact.Fence.Lease == model.LeasePlanner {
			b.planningAt = e.At
		}
	case world.LedgerWritten:
		b.written(e, fact)
	case world.LedgerMeddled:
		b.meddle(e, fact)
	case world.StopMoved:
		about := stop{fact.Stop.Scope, fact.Stop.Pool}
		if b.stops[about] = e.At; fact.Over {
			delete(b.stops, about)
		}
	case world.AlarmMoved:
		if b.alarms[fact.Name] = e.At; !fact.On {
			delete(b.alarms, fact.Name)
		}
	case world.WatchFollowed:
		b.follow(e, fact)
	case world.ManifestMoved:
		b.published = append(b.published, heard{fact.Epoch, fact.Seq, e.At, e.Actor})
		if len(b.published) > 200 {
			b.published = slices.Clone(b.published[100:])
		}
	case world.FleetCalled:
		if i := b.intents[fact.Intent]; i != nil && fact.Refused == "" {
			if !fact.Repeat {
				i.surplus += max(0, len(fact.Instances)-fact.Wanted)
			}
			for _, id := range fact.Instances {
				i.answered[id] = true
			}
		}
	case world.InstanceStarted:
		m := &instance{Instance: fact.Instance, price: fact.Price, startedAt: e.At, visibleAt: fact.VisibleAt, impaired: map[string]time.Time{}}
		m.intent, m.pool = fact.Instance.Tags[tagIntent], fact.Instance.Tags[tagPool]
		b.instances[fact.Instance.ID] = m
		if i := b.intents[m.intent]; i != nil {
			i.running++
		}
	case world.InstanceEnded:
		if m := b.instances[fact.ID]; m != nil && m.endedAt.IsZero() {
			m.endedAt, m.cause = e.At, fact.Cause
			if i := b.intents[m.intent]; i != nil {
				i.running--
			}
		}
	case world.InstanceWarned, world.EventMoved, world.InstanceEnding, world.InstanceStopped, world.InstanceImpaired:
		b.trouble(e)
	case world.EvictionRequested:
		if n := b.nodes[fact.Node]; n != nil {
			n.movedAt = e.At
		}
	case world.ObjectWritten:
		b.object(e, fact)
	case world.MessageMoved:
		switch fact.Verb {
		case "send":
			b.messages[fact.Queue]++
		case "delete", "dead", "lost":
			b.messages[fact.Queue]--
		}
	case world.ProcessMoved:
		if fact.Verb == "start" {
			b.processes[fact.Process] = fact.Program
			if fact.Program == "interruption" {
				b.ranAt, b.idleUntil = e.At, b.notRunUntil(e.At)
			}
		} else {
			delete(b.processes, fact.Process)
		}
	}
}

// notRunUntil is until when the function that drains was not invoked for longer than a tick and a half, as far as is known now: ticks of
// EventBridge, and messages, may be lost.
func (b *accounts) notRunUntil(now time.Time) time.Time {
	if !b.ranAt.IsZero() && now.Sub(b.ranAt) > 90*time.Second {
		return now
	}
	return b.idleUntil
}

// meddle takes in what people did to the ledger by hand. A claim that they deleted is nobody's: its instance is adopted or ended, and may run
// beside what is bought in its place.
func (b *accounts) meddle(e world.Entry, fact world.LedgerMeddled) {
	if c := fact.Claim; c != nil {
		b.hold(c, -1)
		delete(b.claims, c.Name)
		delete(b.ending, c.Name)
		if m := b.instances[c.InstanceID]; m != nil {
			m.claim, m.disowned = "", e.At
		}
		b.meddled[c.Pool] = e.At
	}
	if fact.Usage != nil {
		b.usage[fact.Usage.Pool] = fact.Usage.Reserved
		b.meddled[fact.Usage.Pool] = e.At
	}
}

// trouble takes in what AWS does with instances, and says of them.
func (b *accounts) trouble(e world.Entry) {
	of := func(id string, note func(m *instance)) {
		if m := b.instances[id]; m != nil {
			note(m)
		}
	}
	switch fact := e.Fact.(type) {
	case world.InstanceWarned:
		of(fact.ID, func(m *instance) { m.warnedAt, m.due = e.At, fact.Due })
	case world.EventMoved:
		for _, id := range fact.IDs {
			of(id, func(m *instance) {
				switch model.NoticeKind(fact.Kind) {
				case model.NoticeSpotInterrupted:
					m.reported = fact.Verb == "send" || fact.Verb == "doubled"
				case model.NoticeScheduledChange:
					m.announced = true
				}
			})
		}
	case world.InstanceEnding:
		of(fact.ID, func(m *instance) { m.endingAt = e.At })
	case world.InstanceStopped:
		of(fact.ID, func(m *instance) { m.stoppedAt = e.At })
	case world.InstanceImpaired:
		of(fact.ID, func(m *instance) {
			if fact.Kind == "" {
				m.mendedAt = e.At
			} else if was, known := m.impaired[fact.Kind]; !known || m.mendedAt.After(was) {
				m.impaired[fact.Kind] = e.At
			}
		})
	}
}

// The tags of an instance.
const (
	tagIntent = "joiner.sh/intent"
	tagPool   = "karpenter.sh/nodepool"
)

func (b *accounts) written(e world.Entry, fact world.LedgerWritten) {
	for _, stored := range fact.Intents {
		i := b.intents[stored.ID]
		if i == nil {
			i = &intent{recordedAt: e.At, answered: map[string]bool{}, callers: map[string]int{}}
			b.intents[stored.ID] = i
		}
		i.Intent = stored
	}
	if fact.Op == "remember" {
		for _, name := range fact.Replaced {
			b.replaced[name] = true
		}
	}
	for _, change := range fact.Claims {
		if change.After != nil {
			if delete(b.ending, change.After.Name); ends(change.After.State) {
				b.ending[change.After.Name] = true
			}
		}
		if change.Before != nil {
			b.hold(change.Before, -1)
		}
		switch {
		case change.After == nil:
			delete(b.claims, change.Before.Name)
		default:
			b.hold(change.After, 1)
			c := b.claims[change.After.Name]
			if c == nil {
				c = &claim{createdAt: e.At, createdBy: e.Actor}
				b.claims[change.After.Name] = c
			}
			c.Claim, c.at = *change.After, e.At
			if m := b.instances[c.InstanceID]; m != nil {
				m.claim = c.Name
			}
		}
	}
	for _, change := range fact.Claims {
		b.freed(e.At, cmp.Or(change.After, change.Before).Pool)
	}
	b.commanded(e.At, fact.Commands)
	for _, usage := range fact.Usage {
		if b.usage[usage.Pool] = usage.Reserved; fact.Op == "recount" {
			delete(b.meddled, usage.Pool)
		}
	}
	if len(fact.Unavailable)+len(fact.Cleared) > 0 {
		b.unavailableAt, b.unavailableBy = e.At, e.Actor
		if fact.Op == "probe" {
			b.probedAt = e.At
		}
	}
	for _, stored := range fact.Unavailable {
		b.unavailable[stored.About()] = mark{UnavailableOffering: stored, at: e.At}
	}
	for _, cleared := range fact.Cleared {
		delete(b.unavailable, cleared.About())
	}
}

// hold counts what a claim holds of its pool's limits.
func (b *accounts) hold(c *model.Claim, sign int64) {
	if b.held[c.Pool] == nil {
		b.held[c.Pool] = model.Resources{}
	}
	for name, amount := range c.Reserved {
		b.held[c.Pool][name] += sign * amount
	}
}

// freed notes when a pool that was at its limits is below them again.
func (b *accounts) freed(at time.Time, pool string) {
	if b.pools[pool] == nil {
		return // deleted by people
	}
	full := !b.hasRoom(pool)
	if b.full[pool] && !full {
		b.freedAt[pool] = at
	}
	b.full[pool] = full
}

// hasRoom reports whether a pool is clearly below each of its limits: what is left is more than any one instance takes. One of a
// fixed size takes no instance more, whoever waits.
func (b *accounts) hasRoom(pool string) bool {
	return b.pools[pool].Replicas == nil && belowLimits(b.pools[pool], b.held[pool])
}

// belowLimits reports whether what a pool holds is clearly below each of its limits.
func belowLimits(pool *model.Pool, held model.Resources) bool {
	for name, limit := range pool.Limits {
		left := limit - held[name]
		if name == model.Nodes && left < 1 || name != model.Nodes && left < limit/2 {
			return false
		}
	}
	return true
}

func (b *accounts) object(e world.Entry, fact world.ObjectWritten) {
	gone := fact.Verb == "gone"
	switch fact.Kind {
	case world.KindPool:
		b.poolAt[fact.Name], b.poolAs[fact.Name] = e.At, fact.Version
		if delete(b.pools, fact.Name); !gone {
			b.pools[fact.Name] = fact.Pool
			b.limits[fact.Name] = append(b.limits[fact.Name], limited{e.At, fact.Pool.Limits})
		}
	case world.KindNodeClaim:
		if delete(b.objects, fact.Name); !gone {
			b.objects[fact.Name] = object{fact.UID, fact.Finalizer, fact.DeletedUnix != 0}
		}
		if (gone || fact.Verb == "delete") && e.Actor == "" {
			b.unwanted[fact.Name] = true
		}
	case world.KindNode:
		b.node(e, fact, gone)
	case world.KindBuffer:
		if gone {
			if r := b.room[fact.UID]; r != nil {
				r.goneAt = e.At
			}
		} else {
			b.room[fact.UID] = &room{}
			if fact.Verb != "status" {
				b.roomAt = e.At
			}
		}
	case world.KindDaemons:
		b.daemonAt = e.At
	case world.KindBudget:
		if delete(b.budgets, fact.Name); !gone {
			if b.budgets[fact.Name] = fact.Budget; fact.Verb != "status" {
				b.budgetAt[fact.Name] = e.At
			}
		}
	case world.KindVolume:
		if delete(b.attached, fact.Name); !gone {
			b.attached[fact.Name] = attachment{fact.Volume, e.At}
		}
		if n := b.nodes[fact.Volume.Node]; n != nil {
			n.movedAt = e.At
		}
	case world.KindPod:
		b.pod(e, fact, gone)
	}
}

func (b *accounts) node(e world.Entry, fact world.ObjectWritten, gone bool) {
	before := b.nodes[fact.Name]
	if delete(b.nodes, fact.Name); gone {
		if pool := fact.Node.Labels[model.LabelNodePool]; fact.Node.Initialized() {
			b.goneLately[pool] = append(b.goneLately[pool], e.At)
		}
		for _, m := range b.instances {
			if m.provider() == fact.Node.ProviderID {
				m.lost(before, e)
			}
		}
		return
	}
	n := &node{Node: fact.Node, at: e.At, readyAs: fact.Version, seen: e.At, bad: map[string]time.Time{}, movedAt: e.At}
	if n.DeletedUnix != 0 {
		n.deletedAs = fact.Version
		if !n.Finalizer {
			n.freedAt = e.At
		}
	}
	if tainted(n.Node) {
		n.taintedAt, n.hadTaint = e.At, e.At
	}
	if before != nil && before.UID == n.UID {
		n.follow(before, e.At)
		if c := b.claimOn(before); c != nil && b.spoilt(c, before) && !b.spoilt(c, n) {
			n.mendedAt = e.At
		}
	} else {
		for _, c := range n.Conditions {
			n.bad[c.Type] = e.At
		}
	}
	b.nodes[fact.Name] = n
}

// follow takes over what is known of a node since before it was written.
func (n *node) follow(before *node, at time.Time) {
	if !n.taintedAt.IsZero() && !before.taintedAt.IsZero() {
		n.taintedAt = before.taintedAt
	}
	if n.hadTaint.IsZero() {
		n.hadTaint = before.hadTaint
	}
	if before.Ready == n.Ready {
		n.at, n.readyAs = before.at, before.readyAs
	}
	if before.DeletedUnix != 0 {
		n.deletedAs = before.deletedAs
	}
	if !before.freedAt.IsZero() {
		n.freedAt = before.freedAt
	}
	n.mendedAt = before.mendedAt
	n.seen = before.seen
	for _, c := range n.Conditions {
		since, known := before.bad[c.Type]
		if !known {
			since = at
		}
		n.bad[c.Type] = since
	}
	n.mended = map[string]spell{}
	maps.Copy(n.mended, before.mended)
	for name, since := range before.bad {
		if _, still := n.bad[name]; !still {
			n.mended[name] = spell{since, at}
		}
	}
}

// lost notes that a Node of an instance is gone.
func (m *instance) lost(n *node, e world.Entry) {
	m.nodeTaken = m.nodeTaken || e.Actor == ""
	if n != nil && !n.freedAt.IsZero() && n.freedAt.Before(e.At) {
		m.nodeGone = e.At
	}
}

func (b *accounts) pod(e world.Entry, fact world.ObjectWritten, gone bool) {
	p := b.pods[fact.UID]
	if p == nil {
		p = &pod{createdAt: e.At}
		b.pods[fact.UID] = p
		if b.byShape[fact.Pod.Shape] == nil {
			b.byShape[fact.Pod.Shape] = map[string]*pod{}
		}
		b.byShape[fact.Pod.Shape][fact.UID] = p
	}
	before := p.Pod
	p.Pod, p.shape = fact.Pod, fact.Shape
	moved := before != nil && (before.NodeName != p.NodeName || before.DeletedUnix != p.DeletedUnix || before.Terminal() != p.Terminal())
	if moved || gone {
		p.changedAt = e.At
	}
	b.place(e.At, p, before, gone)
	if p.NodeName != "" && (before == nil || before.NodeName == "") && !b.plannedThere(p) {
		b.elsewhere = e.At
	}
	if gone {
		p.goneAt = e.At
		b.forget(e.At)
	}
}

// place keeps the index of pods by node.
func (b *accounts) place(at time.Time, p *pod, before *model.Pod, gone bool) {
	move := func(name string, there bool) {
		if n := b.nodes[name]; n != nil {
			n.movedAt = at
		}
		if !there {
			delete(b.onNode[name], p.UID)
			return
		}
		if b.onNode[name] == nil {
			b.onNode[name] = map[string]*pod{}
		}
		b.onNode[name][p.UID] = p
	}
	if before != nil && before.NodeName != "" && (gone || before.NodeName != p.NodeName) {
		move(before.NodeName, false)
	}
	if !gone && p.NodeName != "" {
		move(p.NodeName, true)
	}
}

// plannedThere reports whether the node a pod was bound to was made for it.
func (b *accounts) plannedThere(p *pod) bool {
	n := b.nodes[p.NodeName]
	if n == nil {
		return false
	}
	for _, c := range b.claims {
		if c.ProviderID == n.ProviderID {
			return slices.ContainsFunc(c.Pods, func(ref model.PodRef) bool { return ref.UID == p.UID })
		}
	}
	return false
}

// forget drops pods that have been gone for so long that nobody can be blamed for not knowing.
func (b *accounts) forget(now time.Time) {
	if len(b.pods) < 4096 {
		return
	}
	for uid, p := range b.pods {
		if !p.goneAt.IsZero() && now.Sub(p.goneAt) > time.Hour {
			delete(b.pods, uid)
			delete(b.byShape[p.Shape], uid)
		}
	}
}

// needs reports whether a pod waits for a node.
func (p *pod) needs() bool {
	return p.goneAt.IsZero() && p.NodeName == "" && p.DeletedUnix == 0 && !p.Terminal() && !p.shape.Gated && p.shape.OwnerKind != world.KindDaemons
}

// instanceOf returns the claim's instance; nil where it has none, and where the claim is nil.
func (b *accounts) instanceOf(c *claim) *instance {
	if c == nil || c.InstanceID == "" {
		return nil
	}
	return b.instances[c.InstanceID]
}

// nodeOf returns the Node of an instance by its provider id; nil where there is none.
func (b *accounts) nodeOf(m *instance) *node {
	for _, n := range b.nodes {
		if n.ProviderID == m.provider() {
			return n
		}
	}
	return nil
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// limited is a pool's limits from a time on.
type limited struct {
	at     time.Time
	limits model.Resources
}

// limitSince returns the highest limit a pool had at any time from then on; false where it had none at a time.
func (b *accounts) limitSince(pool, name string, then time.Time) (int64, bool) {
	most, list := int64(-1), b.limits[pool]
	for i := len(list) - 1; i >= 0; i-- {
		limit, has := list[i].limits[name]
		if !has {
			return 0, false
		}
		if most = max(most, limit); !list[i].at.After(then) {
			break
		}
	}
	return most, most >= 0
}

// room is a CapacityBuffer; goneAt is zero while it is there.
type room struct{ goneAt time.Time }
