package audit

import (
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// command is a decision to disrupt nodes, as recorded.
type command struct {
	model.Command
	at      time.Time // of the last change
	since   time.Time // when it was recorded
	heldAt  time.Time // when it was found to hold; zero = it was not
	endedAt time.Time
}

// byChoice are the reasons for which nodes are disrupted by commands.
var byChoice = []string{model.ReasonEmpty, model.ReasonUnderutilized, model.ReasonDrifted, model.ReasonExpired, model.ReasonReplicas}

// toSave are those whose aim is money: they leave alone what is new or busy.
var toSave = []string{model.ReasonEmpty, model.ReasonUnderutilized}

// heard is the world's word of what the watcher published, and when it was last confirmed.
type heard struct {
	epoch, seq int64
	at         time.Time
	by         string // process
}

// followed is how far a replica of the watcher had followed the API server at a time.
type followed struct {
	at      time.Time
	version int64
}

// follow takes in how far a replica of the watcher has come.
func (b *accounts) follow(e world.Entry, fact world.WatchFollowed) {
	list := b.followed[e.Actor]
	if n := len(list); n > 0 && list[n-1].version == fact.Version {
		return
	}
	if len(list) > 400 {
		list = slices.Clone(list[200:])
	}
	b.followed[e.Actor] = append(list, followed{e.At, fact.Version})
}

// shown returns the version up to which a snapshot shows every change for certain: what whoever published or confirmed it had
// been told so long before.
func (b *accounts) shown(epoch, seq int64, before time.Duration) int64 {
	version := int64(0)
	for _, h := range b.published {
		if h.epoch != epoch || h.seq != seq {
			continue
		}
		for _, f := range b.followed[h.by] {
			if !f.at.After(h.at.Add(-before)) {
				version = max(version, f.version)
			}
		}
	}
	return version
}

// commanded takes in what was written of commands.
func (b *accounts) commanded(at time.Time, changes []world.CommandChange) {
	for _, change := range changes {
		c := b.commands[change.After.ID]
		if c == nil {
			c = &command{since: at}
			b.commands[change.After.ID] = c
		}
		c.Command, c.at = *change.After, at
		switch {
		case c.State == model.CommandReplacing && c.heldAt.IsZero():
			c.heldAt = at
		case !c.State.Open() && c.endedAt.IsZero():
			c.endedAt = at
		}
		for i := range c.Replacements {
			if b.replacement[c.Replacements[i].Name] == "" {
				b.replacement[c.Replacements[i].Name] = c.ID
			}
		}
	}
}

// commandOf returns the open command that gives a claim back; nil where there is none.
func (b *accounts) commandOf(c *claim) *command {
	if c == nil {
		return nil
	}
	if k := b.commands[c.Command]; k != nil && k.State.Open() {
		return k
	}
	return nil
}

// target returns what a command says of a claim's node; nil where it is not about it.
func (k *command) target(claim string) *model.Target {
	i := slices.IndexFunc(k.Targets, func(t model.Target) bool { return t.Claim == claim })
	if i < 0 {
		return nil
	}
	return &k.Targets[i]
}

// committed holds what must be so when a command is recorded: B3, B9, B10 as far as it is foretold, B12, R38 and D9.
func (a *Auditor) committed(k *model.Command) {
	a.freshly(k)
	pools := map[string]bool{}
	for i := range k.Targets {
		t := &k.Targets[i]
		pools[t.Pool] = true
		c := a.accounts.claims[t.Claim]
		switch {
		case c == nil || !c.Live():
			a.broken("B6", k.ID, "it gives back claim %s, which is not live", t.Claim)
		case ends(c.State):
			a.broken("B6", k.ID, "it gives back claim %s, which is %s", t.Claim, c.State)
		case c.Command != k.ID:
			a.broken("B3", k.ID, "claim %s does not say that it is of it", t.Claim)
		default:
			a.oldEnough(k, c)
			a.notTurnedRound(k, c)
		}
	}
	for _, pool := range sorted(pools) {
		a.withinBudget(k, pool)
	}
	a.mayChoose(k, pools)
	noAlarm(a, k, pools)
	if k.Reason == model.ReasonUnderutilized {
		a.saves(k)
	}
}

// noAlarm is D9 for alarms: a while after one went on, nothing new is decided about the NodePools that name it.
func noAlarm(a *Auditor, k *model.Command, pools map[string]bool) {
	for _, name := range sorted(pools) {
		pool := a.accounts.pools[name]
		if pool == nil {
			continue
		}
		for _, alarm := range pool.StopAlarms() {
			since, on := a.accounts.alarms[alarm]
			if on && a.entry.At.Sub(since) > a.rules.Invocation {
				a.broken("D9", k.ID, "alarm %s of NodePool %s went on %s before", alarm, name,
					a.entry.At.Sub(since).Round(time.Second))
			}
		}
	}
}

// mayChoose is D9: nothing new is decided where people have stopped it, a while after they did.
func (a *Auditor) mayChoose(k *model.Command, pools map[string]bool) {
	for about, since := range a.accounts.stops {
		if a.entry.At.Sub(since) > a.rules.Invocation && (about.scope != model.StopPool || pools[about.pool]) {
			a.broken("D9", k.ID, "disruption was stopped %s before (%s %s)", a.entry.At.Sub(since).Round(time.Second), about.scope, about.pool)
		}
	}
}

// notStopped is D9 for what was decided before: where people have stopped it, nothing is disrupted a while after they did.
func (a *Auditor) notStopped(k *model.Command) {
	pools := map[string]bool{}
	for i := range k.Targets {
		pools[k.Targets[i].Pool] = true
	}
	a.mayChoose(k, pools)
}

// freshly is B9: what is decided by was published or confirmed a moment ago, and none is older than one that was decided by.
func (a *Auditor) freshly(k *model.Command) {
	last := a.accounts.decided
	if k.Epoch < last.epoch || k.Epoch == last.epoch && k.Seq < last.seq {
		a.broken("B9", k.ID, "it was decided by snapshot %d/%d after one was by %d/%d", k.Epoch, k.Seq, last.epoch, last.seq)
		return
	}
	a.accounts.decided = heard{epoch: k.Epoch, seq: k.Seq}
	most := a.decidesWithin()
	var confirmed time.Time
	for _, h := range a.accounts.published {
		if h.epoch == k.Epoch && h.seq >= k.Seq && h.at.After(confirmed) {
			confirmed = h.at
		}
	}
	if age := a.entry.At.Sub(confirmed); age > most {
		a.broken("B9", k.ID, "it was decided by snapshot %d/%d, last confirmed %s before", k.Epoch, k.Seq, age.Round(time.Second))
	}
}

// oldEnough is B12: to save money no node goes that is younger than consolidateAfter, or that is about to take pods that wait.
func (a *Auditor) oldEnough(k *model.Command, c *claim) {
	pool := a.accounts.pools[c.Pool]
	if !slices.Contains(toSave, k.Reason) || pool == nil || !a.knowsPool(c.Pool, a.accounts.shown(k.Epoch, k.Seq, a.decidesWithin())) {
		return
	}
	after := pool.Disruption.ConsolidateAfterSeconds
	if after == nil {
		a.broken("B12", c.Name, "its pool never consolidates, and it is given back as %s", k.Reason)
		return
	}
	if age := a.entry.At.Unix() - c.InitializedUnix; age < *after-1 {
		a.broken("B12", c.Name, "it was initialised %d s ago, and consolidateAfter is %d s", age, *after)
	}
	if a.entry.At.Unix()-c.InitializedUnix > 30 {
		return
	}
	for _, ref := range c.Pods {
		if p := a.accounts.pods[ref.UID]; p != nil && p.needs() && a.entry.At.Sub(p.createdAt) > a.rules.Invocation+a.rules.Fresh {
			a.broken("B12", c.Name, "it was made for pod %s, which waits, and was initialised %d s ago", ref.Key(), a.entry.At.Unix()-c.InitializedUnix)
		}
	}
}

// notTurnedRound is R38: what took a node's place is not disrupted to save money within half an hour, where nothing that is
// decided by is another: no pool was written since, no offering marked or tried out, and nothing went wrong. Prices stay here.
func (a *Auditor) notTurnedRound(k *model.Command, c *claim) {
	before := a.accounts.commands[a.accounts.replacement[c.Name]]
	if before == nil || k.Reason != model.ReasonUnderutilized || before.State != model.CommandDone {
		return // where nothing was disrupted what was launched for it may go
	}
	if a.accounts.unavailableAt.After(before.since) || a.accounts.disturbed.After(before.since) || a.accounts.poolAt[c.Pool].After(before.since) {
		return
	}
	for _, pool := range poolsOf(before) {
		if a.accounts.poolAt[pool].After(before.since) {
			return
		}
	}
	if age := a.entry.At.Sub(before.endedAt); age < 30*time.Minute-a.rules.Grace {
		a.broken("R38", c.Name, "it took the place of what command %s gave back %s before, and is given back", before.ID, age.Round(time.Second))
	}
}

// poolsOf returns the names of the pools that a command was decided by: those of what it disrupts and of what comes instead.
func poolsOf(k *command) []string {
	var names []string
	for i := range k.Targets {
		names = append(names, k.Targets[i].Pool)
	}
	for i := range k.Replacements {
		names = append(names, k.Replacements[i].Pool)
	}
	return names
}

// saves is B10 as it is foretold: by prices of the instances that go, and what those that come may cost.
func (a *Auditor) saves(k *model.Command) {
	was, will := model.MicroUSD(0), model.MicroUSD(0)
	for i := range k.Targets {
		m := a.accounts.instanceOf(a.accounts.claims[k.Targets[i].Claim])
		if m == nil {
			return
		}
		was += m.price
	}
	for i := range k.Replacements {
		will += k.Replacements[i].Price
	}
	if least := max(was/100, 1000); was-will < least {
		a.broken("B10", k.ID, "what it gives back costs %d µ$ an hour, and what comes instead %d", was, will)
	}
}

// stepped holds what must be so when a command moves on.
func (a *Auditor) stepped(change world.CommandChange, claims []world.ClaimChange) {
	k, before := change.After, change.Before
	if before == nil || before.State == k.State {
		return
	}
	allowed := map[model.CommandState][]model.CommandState{
		model.CommandCommitted: {model.CommandReplacing, model.CommandUndoing, model.CommandDone},
		model.CommandReplacing: {model.CommandUndoing, model.CommandDone},
		model.CommandUndoing:   {model.CommandUndone},
	}
	if !slices.Contains(allowed[before.State], k.State) {
		a.broken("C6", k.ID, "it went from %s to %s", before.State, k.State)
	}
	a.heldFreshly(k, before)
	switch k.State {
	case model.CommandDone:
		a.notStopped(k)
		a.replaced(k)
		for _, c := range claims {
			if c.After != nil && ends(c.After.State) {
				a.undisturbed(k, c.After)
			}
		}
	case model.CommandUndone:
		a.untainted(k)
	}
}

// heldFreshly is B9 for the second look at a command that saves money: it is found to hold by what the watcher said a moment ago.
func (a *Auditor) heldFreshly(k, before *model.Command) {
	holds := before.State == model.CommandCommitted && (k.State == model.CommandReplacing || k.State == model.CommandDone)
	if !holds || k.Reason != model.ReasonUnderutilized || len(a.accounts.published) == 0 {
		return
	}
	last := a.accounts.published[len(a.accounts.published)-1].at
	if age := a.entry.At.Sub(last); age > a.decidesWithin() {
		a.broken("B9", k.ID, "it was found to hold %s after the watcher's last word", age.Round(time.Second))
	}
}

// movesOn is C4 for commands: one that waits for nothing but another check goes on or is undone.
func (a *Auditor) movesOn(id string) {
	k := a.accounts.commands[id]
	state, version := k.State, k.Version
	if state != model.CommandCommitted && state != model.CommandUndoing {
		return
	}
	a.within("C4", id, a.entry.At, a.rules.Stalled, func() (string, bool) {
		stays := k.State == state && (k.Version == version || state == model.CommandCommitted)
		return "command " + id + " (" + k.Reason + ") stays " + string(state), stays
	})
}

// replaced is B4 and what came of B10: before a node is emptied voluntarily all that takes its place is initialized, and where money
// was to be saved it was. Where somebody has deleted the claim of a target from the ledger, what that cost is not known.
func (a *Auditor) replaced(k *model.Command) {
	was, is := model.MicroUSD(0), model.MicroUSD(0)
	deleted := false
	for i := range k.Targets {
		c := a.accounts.claims[k.Targets[i].Claim]
		deleted = deleted || c == nil
		if m := a.accounts.instanceOf(c); m != nil {
			was += m.price
		}
	}
	for i := range k.Replacements {
		c := a.accounts.claims[k.Replacements[i].Name]
		if c == nil || c.InitializedUnix == 0 {
			a.broken("B4", k.ID, "its nodes are emptied and replacement %s is not initialised", k.Replacements[i].Name)
			return
		}
		if m := a.accounts.instanceOf(c); m != nil {
			is += m.price
		}
	}
	if k.Reason == model.ReasonUnderutilized && !deleted && is >= was {
		a.broken("B10", k.ID, "what it gave back cost %d µ$ an hour, and what came instead costs %d", was, is)
	}
}

// undisturbed is B2: no node is disrupted voluntarily while a pod runs there that is not to be disturbed, as far as that was so
// when the node had been tainted and was read.
func (a *Auditor) undisturbed(k *model.Command, c *model.Claim) {
	eventually := (k.Reason == model.ReasonDrifted || k.Reason == model.ReasonExpired) && c.GraceSeconds != nil
	t := k.Targets[slices.IndexFunc(k.Targets, func(t model.Target) bool { return t.Claim == c.Name })]
	n := a.accounts.nodes[t.Node]
	switch {
	case n == nil || n.UID != t.NodeUID:
		return
	case n.taintedAt.IsZero() && !a.calm() && !n.hadTaint.Before(a.accounts.commands[k.ID].since):
		return // a patch that came late, of a command before it, has taken the taint off between the look and this
	case n.taintedAt.IsZero():
		a.broken("B2", c.Name, "its node %s was never tainted", n.Name)
		return
	case eventually || k.Reason == model.ReasonReplicas:
		return
	}
	for _, uid := range sorted(a.accounts.onNode[n.Name]) {
		p := a.accounts.onNode[n.Name][uid]
		late := p.changedAt.After(n.taintedAt) && a.entry.At.Sub(p.changedAt) < a.rules.Invocation
		if p.DeletedUnix == 0 && !p.Terminal() && !late && p.StartedUnix != 0 && a.shielded(p) {
			a.broken("B2", c.Name, "it is given back (%s) while pod %s runs there, which is not to be disrupted (%s)", k.Reason, p.Key(), p.shape.DoNotDisrupt)
		}
		if p.DeletedUnix != 0 || p.Terminal() || !a.leaves(p) || !p.changedAt.Before(n.taintedAt) {
			continue
		}
		for _, b := range a.accounts.budgetsOf(p) {
			if b.MaxUnavailable == "0" && a.accounts.budgetAt[b.Namespace+"/"+b.Name].Before(n.taintedAt) {
				a.broken("B2", c.Name, "it is given back (%s) while pod %s runs there, which PodDisruptionBudget %s keeps", k.Reason, p.Key(), b.Name)
			}
		}
		if slices.Contains(toSave, k.Reason) && p.shape.OwnerKind != world.KindDaemons && !slices.Contains(t.Pods, model.PodDigest(p.UID)) {
			a.broken("B2", c.Name, "it is given back (%s) while pod %s runs there, which came after that was judged", k.Reason, p.Key())
		}
	}
}

// untainted is B4: what is not disrupted after all has no taint once that is said.
func (a *Auditor) untainted(k *model.Command) {
	for i := range k.Targets {
		t := &k.Targets[i]
		c := a.accounts.claims[t.Claim]
		n := a.accounts.nodes[t.Node]
		if n == nil || n.UID != t.NodeUID || c == nil || ends(c.State) || c.State == model.Gone || n.DeletedUnix != 0 {
			continue
		}
		limit := time.Duration(0)
		m, age := a.accounts.instanceOf(c), a.entry.At.Sub(n.taintedAt)
		switch {
		case m != nil && m.disowned.After(a.accounts.commands[k.ID].since):
			// Somebody deleted the claim meanwhile. What was adopted for it is not the command's, and its taint is
			// removed as an orphaned one.
			limit = a.rules.Untainted
		case tainted(n.Node) && (a.calm() || age > 2*a.rules.Invocation):
			// Nobody says so before each node is read to be free of it; but a patch of a process that died may come
			// about later.
			a.broken("B4", t.Node, "command %s is undone and the node has the taint, for %s", k.ID, age.Round(time.Second))
		}
		a.within("B4", t.Node, a.entry.At, limit, func() (string, bool) { return a.stillTainted(t, k.ID) })
	}
}

// failing is B4: where a replacement failed, the nodes it was for are untainted within a minute.
func (a *Auditor) failing(change world.ClaimChange) {
	c := change.After
	if c == nil || change.Before == nil || change.Before.State == c.State || !ends(c.State) && c.State != model.Gone || ends(change.Before.State) {
		return
	}
	k := a.accounts.commands[a.accounts.replacement[c.Name]]
	if k == nil || k.State != model.CommandReplacing {
		return
	}
	for i := range k.Targets {
		t := &k.Targets[i]
		a.within("B4", t.Node, a.entry.At, a.rules.Untainted, func() (string, bool) {
			if k.State == model.CommandDone {
				return "", false
			}
			return a.stillTainted(t, k.ID)
		})
	}
}

// stillTainted reports whether a node that a command has to let go is there, tainted, and neither to end nor in another open command,
// which may be older than that: how long one may stay open is another rule.
func (a *Auditor) stillTainted(t *model.Target, letGo string) (string, bool) {
	n, c := a.accounts.nodes[t.Node], a.accounts.claims[t.Claim]
	if n == nil || n.UID != t.NodeUID || !tainted(n.Node) || n.DeletedUnix != 0 || c == nil || !c.Live() || ends(c.State) {
		return "", false
	}
	if k := a.accounts.commandOf(c); k != nil && k.ID != letGo {
		return "", false // another command's
	}
	return "its node " + t.Node + " is tainted and is not given back", true
}

// mayTaint reports whether a command answers for a taint on the node of a claim: an open one, of that very node. What a process
// that died had under way may come about a little later.
func (a *Auditor) mayTaint(c *claim, n *node) bool {
	if k := a.accounts.commandOf(c); k != nil {
		t := k.target(c.Name)
		return t != nil && t.NodeUID == n.UID
	}
	if a.calm() {
		return false
	}
	for _, k := range a.accounts.commands {
		if t := k.target(c.Name); t != nil && t.NodeUID == n.UID && a.entry.At.Sub(k.at) < 2*a.rules.Invocation {
			return true
		}
	}
	return false
}

// choice says what speaks against a claim's ending voluntarily: no command that is done says so; empty = nothing does.
func (a *Auditor) choice(c *model.Claim, changes []world.CommandChange) string {
	for _, change := range changes {
		if k := change.After; k.State == model.CommandDone && k.ID == c.Command && k.Reason == c.FailureCode {
			return ""
		}
	}
	return "no command says so"
}

// takesPlace reports whether a claim is recorded as the replacement of what a command disrupts, which is for no pod that waits.
// B4: it is asked for once the command was found to hold, and not after that has come to nothing.
func (a *Auditor) takesPlace(c *model.Claim) bool {
	k := a.accounts.commands[a.accounts.replacement[c.Name]]
	if k == nil {
		return false
	}
	if k.State != model.CommandReplacing && a.entry.At.Sub(k.at) > a.rules.Invocation {
		a.broken("B4", c.Name, "it is to take the place of what command %s gives back, which is %s", k.ID, k.State)
	}
	for i := range k.Replacements {
		other := a.accounts.claims[k.Replacements[i].Name]
		if other != nil && other.State == model.Gone && other.InitializedUnix == 0 && a.entry.At.Sub(other.at) > a.rules.Invocation {
			a.broken("B4", c.Name, "it is to take the place of what command %s gives back, which lacks %s", k.ID, other.Name)
		}
	}
	return true
}
