package disrupt

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// propose decides what else to disrupt, and commits it.
func (r *pass) propose(ctx context.Context) {
	switch {
	case r.reg.Paused:
		r.out.Undecided = "the cluster is paused"
	case r.snapshot == nil:
		r.out.Undecided = r.unseen
	case r.ledger.Unread.Any(model.UnreadCommand):
		r.out.Undecided = "a command of the ledger cannot be read, and it is unknown which nodes it disrupts"
	case !r.hasTime():
		r.out.Undecided = "no time was left"
		r.soon(1)
	}
	if r.out.Undecided != "" {
		return
	}
	if err := r.readCatalog(ctx); err != nil {
		r.undecided(err)
		return
	}
	idle := len(r.openIDs()) == 0
	if idle && r.unchanged(r.catalog.Version) {
		r.out.Undecided = "nothing has changed since a run that found nothing to do"
		r.found(r.catalog.Version, r.notes.DueUnix, r.notes.Constrained)
		r.later(r.notes.DueUnix)
		return
	}
	input, question, err := r.inputNow(ctx)
	if err != nil {
		r.undecided(err)
		return
	}
	id := r.NewID()
	input.Salt, question.Salt = id, id
	r.plannedInput, r.named = &question, map[string]string{}
	plan, ok := r.planned(input)
	if !ok {
		return
	}
	r.plan = &plan
	r.reached("planned")
	r.measure(&plan)
	// Sooner than it may come a look is neither asked for nor due.
	again := plan.ReplanUnix
	if again != 0 {
		again = max(again, r.now()+seconds(r.settings.PassEvery))
		r.later(again)
	}
	if len(plan.Commands) > 0 {
		r.out.Decision, r.record = id, id
		r.commit(ctx, id, &plan)
		return
	}
	if len(plan.Kept) > 0 && r.now()-r.notes.KeptUnix >= quietEvery {
		r.record, r.notes.KeptUnix, r.renoted = id, r.now(), true
	}
	if idle && (!plan.Constrained || again != 0) {
		r.found(r.catalog.Version, again, plan.Constrained)
	}
}

func (r *pass) undecided(err error) {
	r.out.Undecided = err.Error()
	if !fault.Is(err, fault.NotFound) { // then the catalog function has to come first, and the tick is soon enough
		r.soon(retryAfter)
	}
}

// planned is disruption.Plan, or whatever takes its place in a test; false where it panics.
func (r *pass) planned(input disruption.Input) (plan model.DisruptPlan, ok bool) {
	defer r.contain("planning: ")
	if r.Plan != nil {
		return r.Plan(input), true
	}
	return disruption.Plan(input), true
}

// measure notes what the plan says.
func (r *pass) measure(plan *model.DisruptPlan) {
	r.out.Planned, r.out.Constrained = len(plan.Commands), plan.Constrained
	r.out.PriceBefore, r.out.PriceAfter = plan.PriceBefore.USD(), plan.PriceAfter.USD()
	r.out.Kept = map[string]int{}
	r.out.Nodes = len(plan.Kept)
	for i := range plan.Kept {
		if reasons := plan.Kept[i].Reasons; len(reasons) > 0 {
			r.out.Kept[reasons[0].Code]++
		}
	}
	for i := range plan.Commands {
		r.out.Nodes += len(plan.Commands[i].Nodes)
	}
}

// commit records the plan's commands one after another: each takes the next turn of its pools, so that of two runs that went
// by the same budget one is refused. It stops at the first that is refused, since what the rest goes by is not so any more.
func (r *pass) commit(ctx context.Context, id string, plan *model.DisruptPlan) {
	if err := r.forget(ctx); err != nil {
		r.problem("remove the conditions and events of an earlier run: %v", err)
		r.soon(retryAfter)
		return
	}
	names := r.namesTaken()
	nodes := map[string]*model.Node{}
	for i := range r.snapshot.Nodes {
		nodes[r.snapshot.Nodes[i].Name] = &r.snapshot.Nodes[i]
	}
	pods := map[string][]string{} // marks by node
	for i := range r.snapshot.Pods {
		if pod := &r.snapshot.Pods[i]; nodes[pod.NodeName] != nil && !pod.Terminal() {
			pods[pod.NodeName] = append(pods[pod.NodeName], model.PodDigest(pod.UID))
		}
	}
	for i := range plan.Commands {
		if !r.hasTime() {
			r.soon(1)
			return
		}
		if !r.isFresh() {
			r.problem("the snapshot became too old during the run; %d of %d commands are left", len(plan.Commands)-i, len(plan.Commands))
			r.soon(missedHeartbeat)
			return
		}
		command, claims, err := r.draft(fmt.Sprintf("%s-%d", id, i), &plan.Commands[i], nodes, pods, names)
		if err != nil {
			r.problem("command %d of decision %s: %v", i, id, err)
			continue
		}
		if !r.commitOne(ctx, command, claims) {
			return
		}
		for j := range command.Replacements {
			r.named[plan.Commands[i].Replacements[j].Name] = command.Replacements[j].Name
		}
		replay.Rename(plan, i, r.named)
		r.out.Savings += command.Savings.USD()
	}
}

// commitOne records one command. Where it is unknown whether it was, it is said once more, which changes nothing if it was.
func (r *pass) commitOne(ctx context.Context, command model.Command, claims []*model.Claim) bool {
	given := make([]model.Claim, len(claims))
	for i, claim := range claims {
		given[i] = *claim
		given[i].Command = "" // of a command that is not open
	}
	budgetVersions := r.budgetVersionsOf(&command)
	try := func() error {
		return r.effect(ctx, EffectCommit, func() error { return r.Commands.Commit(ctx, r.fence, command, given, budgetVersions) })
	}
	err := try()
	if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) {
		err = try()
	}
	if err != nil {
		if fault.Is(err, fault.Conflict) {
			r.out.Conflicts++
			r.soon(cameTooLate)
			return false
		}
		r.problem("commit command %s: %v", command.ID, err)
		r.soon(retryAfter)
		return false
	}
	for i, claim := range claims {
		*claim = given[i]
		claim.Command = command.ID
		claim.Version++
	}
	for _, budgetVersion := range budgetVersions {
		r.nextBudgetVersion(budgetVersion)
	}
	r.ledger.Commands = append(r.ledger.Commands, command)
	r.out.Committed = append(r.out.Committed, command.ID)
	r.countDecided(&command)
	r.fresh = append(r.fresh, &step{pass: r, command: command})
	return true
}

// countDecided adds one to the commands of its reason that do what it does.
func (r *pass) countDecided(command *model.Command) {
	kind := Decided{Reason: command.Reason, Replaces: len(command.Replacements) > 0}
	i := slices.IndexFunc(r.out.Decided, func(d Decided) bool { return d.Reason == kind.Reason && d.Replaces == kind.Replaces })
	if i < 0 {
		i, r.out.Decided = len(r.out.Decided), append(r.out.Decided, kind)
	}
	r.out.Decided[i].Commands++
}

// draft makes a command of what was planned, with the claims of its nodes. Each is named as it was evaluated.
func (r *pass) draft(id string, planned *model.PlannedCommand, nodes map[string]*model.Node, pods map[string][]string, names map[string]bool) (model.Command, []*model.Claim, error) {
	c := model.Command{
		ID: id, Version: 1, State: model.CommandCommitted, Reason: planned.Reason, Decision: r.out.Decision,
		PodsMoved: planned.PodsMoved, Savings: planned.Savings, Epoch: r.snapshot.Epoch, Seq: r.snapshot.Seq,
		Inputs: planned.Inputs, Workloads: planned.Workloads, SinceUnix: r.now(),
	}
	byNode := map[string]*model.Claim{}
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() {
			byNode[claim.ProviderID] = claim
		}
	}
	var claims []*model.Claim
	for _, name := range planned.Nodes {
		node := nodes[name]
		if node == nil || node.ProviderID == "" || byNode[node.ProviderID] == nil {
			return c, nil, fault.New(fault.Internal, "NoClaim", "node %s was planned to be disrupted and has no claim", name)
		}
		claim := byNode[node.ProviderID]
		claims = append(claims, claim)
		unavailable := slices.Clone(pods[name])
		slices.Sort(unavailable)
		c.Targets = append(c.Targets, model.Target{
			Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: name, NodeUID: node.UID, Price: claim.Price,
			InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType, Pods: unavailable,
		})
	}
	slices.SortFunc(c.Targets, func(a, b model.Target) int { return strings.Compare(a.Claim, b.Claim) })
	slices.SortFunc(claims, func(a, b *model.Claim) int { return strings.Compare(a.Name, b.Name) })
	c.Replacements = slices.Clone(planned.Replacements)
	for i := range c.Replacements {
		c.Replacements[i].Name = nameOf(c.Replacements[i].Pool, id, i, names)
	}
	return c, claims, nil
}

// namesTaken are the names of claims, nodes and replacements there are.
func (r *pass) namesTaken() map[string]bool {
	names := map[string]bool{}
	for name := range r.claims {
		names[name] = true
	}
	for i := range r.snapshot.Nodes {
		names[r.snapshot.Nodes[i].Name] = true
	}
	for i := range r.snapshot.Claims {
		names[r.snapshot.Claims[i].Name] = true
	}
	for i := range r.ledger.Commands {
		for j := range r.ledger.Commands[i].Replacements {
			names[r.ledger.Commands[i].Replacements[j].Name] = true
		}
	}
	return names
}

// nameOf returns the name of a command's replacement: the pool's, as far as 63 characters go, and a digest of command and
// number. It is taken from then on.
func nameOf(pool, command string, number int, taken map[string]bool) string {
	const most, digits = 57, 5
	prefix := strings.TrimRight(pool[:min(len(pool), most)], "-.")
	for attempt := 0; ; attempt++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", command, number, attempt))
		name := prefix + "-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:digits]
		if !taken[name] {
			taken[name] = true
			return name
		}
	}
}

// budgetVersionsOf returns the turns of the command's pools, by pool.
func (r *pass) budgetVersionsOf(command *model.Command) []model.BudgetVersion {
	versions := map[string]int64{}
	for _, budgetVersion := range r.ledger.BudgetVersions {
		versions[budgetVersion.Pool] = budgetVersion.Version
	}
	seen := map[string]bool{}
	var budgetVersions []model.BudgetVersion
	for i := range command.Targets {
		if pool := command.Targets[i].Pool; !seen[pool] {
			seen[pool] = true
			budgetVersions = append(budgetVersions, model.BudgetVersion{Pool: pool, Version: versions[pool]})
		}
	}
	slices.SortFunc(budgetVersions, func(a, b model.BudgetVersion) int { return strings.Compare(a.Pool, b.Pool) })
	return budgetVersions
}

// nextBudgetVersion notes that a turn was taken.
func (r *pass) nextBudgetVersion(budgetVersion model.BudgetVersion) {
	budgetVersion.Version++
	for i := range r.ledger.BudgetVersions {
		if r.ledger.BudgetVersions[i].Pool == budgetVersion.Pool {
			r.ledger.BudgetVersions[i] = budgetVersion
			return
		}
	}
	r.ledger.BudgetVersions = append(r.ledger.BudgetVersions, budgetVersion)
}

// announce asks provision for replacements and for places of pods that leave, and for the first step of drains. Each may be
// lost: the tick of the function that is asked does it too.
func (r *pass) announce(ctx context.Context) {
	slices.Sort(r.replace)
	slices.Sort(r.drained)
	if len(r.drained) > 0 {
		key := "done/" + digestOf(r.drained)
		if err := r.effect(ctx, EffectDrain, func() error { return r.Drains.Drain(ctx, r.reg.Cluster, key, 0) }); err != nil {
			r.problem("send hints for the drains of %d commands; the next scheduled run does: %v", len(r.drained), err)
		}
	}
	if len(r.drained)+len(r.replace) > 0 {
		key := "commands/" + digestOf(append(slices.Clone(r.replace), r.drained...))
		if err := r.effect(ctx, EffectReplace, func() error { return r.Plans.Replace(ctx, r.reg.Cluster, key) }); err != nil {
			r.problem("send provision hints about %d commands; its next scheduled run finds them: %v", len(r.drained)+len(r.replace), err)
		}
	}
}

// digestOf stands for a list of ids.
func digestOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:16]
}

// quietEvery is after how many seconds a look that disrupts nothing is kept, though it leads to nothing: a version that would give
// more back can be asked the same.
const quietEvery = 3600

// keepDecision keeps the record of a decision that led to anything, and each hour of one that did not.
func (r *pass) keepDecision(ctx context.Context) {
	if r.record == "" {
		return
	}
	committed := r.out.Committed
	if committed == nil {
		committed = []string{}
	}
	decision := model.Disrupted{
		ID: r.record, Cluster: r.reg.Cluster, AtUnix: r.now(), Epoch: r.snapshot.Epoch, Seq: r.snapshot.Seq, Build: r.settings.Build,
		Plan: *r.plan, Committed: committed, Catalog: *r.out.Catalog, Named: r.named,
		Recorded: &model.DecisionInput{Account: r.reg.Account, Region: r.reg.Region, Snapshot: &r.manifest},
		Input:    replay.TrimDisruption(r.plannedInput, r.snapshot),
	}
	if err := r.effect(ctx, EffectDecision, func() error { return r.Decisions.PutDisruption(ctx, decision) }); err != nil {
		r.problem("store the record of decision %s: %v", decision.ID, err)
	}
}
