package disrupt

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// commit records the plan's commands one after another: each takes the next turn of its pools, so that of two runs that went
// by the same budget one is refused. It stops at the first that is refused, since what the rest goes by is not so any more.
func (r *proposer) commit(ctx context.Context, id string) {
	if err := r.forget(ctx); err != nil {
		r.Problem("remove the conditions and events of an earlier run: %v", err)
		r.soon(retryAfter)
		return
	}
	d := drafts{
		state: &r.state, view: &r.view, names: r.state.namesTaken(r.snapshot), decision: r.out.Decision,
		nodes: map[string]*model.Node{}, pods: map[string][]string{},
	}
	for i := range r.snapshot.Nodes {
		d.nodes[r.snapshot.Nodes[i].Name] = &r.snapshot.Nodes[i]
	}
	for i := range r.snapshot.Pods {
		if pod := &r.snapshot.Pods[i]; d.nodes[pod.NodeName] != nil && !pod.Terminal() {
			d.pods[pod.NodeName] = append(d.pods[pod.NodeName], model.PodDigest(pod.UID))
		}
	}
	for i := range r.plan.Commands {
		if !r.HasTime() {
			r.soon(1)
			return
		}
		if r.NowUnix()-r.heartbeatUnix > seconds(r.settings.FreshFor) {
			r.Problem("the snapshot became too old during the run; %d of %d commands are left", len(r.plan.Commands)-i, len(r.plan.Commands))
			r.soon(missedHeartbeat)
			return
		}
		planned := &r.plan.Commands[i]
		command, claims, err := d.draft(fmt.Sprintf("%s-%d", id, i), planned, r.NowUnix())
		if err != nil {
			r.Problem("command %d of decision %s: %v", i, id, err)
			continue
		}
		if !r.commitOne(ctx, command, claims) {
			return
		}
		for j := range command.Replacements {
			r.named[planned.Replacements[j].Name] = command.Replacements[j].Name
		}
		replay.Rename(r.plan, i, r.named)
		r.out.Savings += command.Savings.USD()
	}
}

// commitOne records one command. Where it is unknown whether it was, it is said once more, which changes nothing if it was.
func (r *proposer) commitOne(ctx context.Context, command model.Command, claims []*model.Claim) bool {
	given := make([]model.Claim, len(claims))
	for i, claim := range claims {
		given[i] = *claim
		given[i].Command = "" // of a command that is not open
	}
	budgetVersions := r.state.budgetVersionsOf(&command)
	try := func() error {
		return r.Effect(ctx, EffectCommit, func() error { return r.flow.Commands.Commit(ctx, r.fence, command, given, budgetVersions) })
	}
	err := try()
	if err != nil && !fault.Is(err, fault.Conflict) && !fault.Is(err, fault.Invalid) {
		err = try()
	}
	switch {
	case fault.Is(err, fault.Conflict):
		r.out.Conflicts++
		r.soon(cameTooLate)
		return false
	case err != nil:
		r.Problem("commit command %s: %v", command.ID, err)
		r.soon(retryAfter)
		return false
	}
	for i, claim := range claims {
		*claim = given[i]
		claim.Command = command.ID
		claim.Version++
	}
	for _, budgetVersion := range budgetVersions {
		r.state.nextBudgetVersion(budgetVersion)
	}
	r.state.Commands = append(r.state.Commands, command)
	r.out.Committed = append(r.out.Committed, command.ID)
	r.out.countDecided(&command)
	r.out.countMoved(&command, r.snapshot.Pools)
	r.fresh = append(r.fresh, command)
	return true
}

// countMoved adds the pods that the command moves, by what the NodePool of its first node says.
func (o *Outcome) countMoved(command *model.Command, pools []model.Pool) {
	i := slices.IndexFunc(pools, func(p model.Pool) bool { return p.Name == command.Targets[0].Pool })
	if i < 0 || command.PodsMoved == 0 {
		return
	}
	moved := Moved{Reason: command.Reason, Mode: "graceful"}
	if command.Reason == model.ReasonEmpty || command.Reason == model.ReasonUnderutilized {
		moved.Policy = pools[i].Disruption.Policy
	}
	if grace := pools[i].Template.GraceSeconds; grace != nil {
		if moved.Mode = "eventual"; *grace <= 0 {
			moved.Mode = "forceful"
		}
	}
	n := slices.IndexFunc(o.Moved, func(m Moved) bool {
		return m.Reason == moved.Reason && m.Policy == moved.Policy && m.Mode == moved.Mode
	})
	if n < 0 {
		n, o.Moved = len(o.Moved), append(o.Moved, moved)
	}
	o.Moved[n].Pods += command.PodsMoved
}

// countDecided adds one to the commands of its reason that do what it does.
func (o *Outcome) countDecided(command *model.Command) {
	kind := Decided{Reason: command.Reason, Replaces: len(command.Replacements) > 0}
	i := slices.IndexFunc(o.Decided, func(d Decided) bool { return d.Reason == kind.Reason && d.Replaces == kind.Replaces })
	if i < 0 {
		i, o.Decided = len(o.Decided), append(o.Decided, kind)
	}
	o.Decided[i].Commands++
}

// drafts makes commands of what was planned.
type drafts struct {
	*state
	*view
	decision string
	nodes    map[string]*model.Node
	pods     map[string][]string // digests of UIDs, by node
	names    map[string]bool     // that are taken
}

// draft makes a command of what was planned, with the claims of its nodes. Each is named as it was evaluated.
func (d *drafts) draft(id string, planned *model.PlannedCommand, nowUnix int64) (model.Command, []*model.Claim, error) {
	c := model.Command{
		ID: id, Version: 1, State: model.CommandCommitted, Reason: planned.Reason, Decision: d.decision,
		PodsMoved: planned.PodsMoved, Savings: planned.Savings, Epoch: d.snapshot.Epoch, Seq: d.snapshot.Seq,
		Inputs: planned.Inputs, Workloads: planned.Workloads, SinceUnix: nowUnix,
		TerminateFirst: planned.TerminateFirst,
	}
	byProvider := d.byProvider()
	var claims []*model.Claim
	for _, name := range planned.Nodes {
		node := d.nodes[name]
		if node == nil || node.ProviderID == "" || byProvider[node.ProviderID] == nil {
			return c, nil, fault.New(fault.Internal, "NoClaim", "node %s was planned to be disrupted and has no claim", name)
		}
		claim := byProvider[node.ProviderID]
		claims = append(claims, claim)
		pods := slices.Clone(d.pods[name])
		slices.Sort(pods)
		c.Targets = append(c.Targets, model.Target{
			Claim: claim.Name, Pool: claim.Pool, Class: claim.Class, Node: name, NodeUID: node.UID, Price: claim.Price,
			InstanceType: claim.InstanceType, Zone: claim.Zone, CapacityType: claim.CapacityType, Pods: pods,
		})
	}
	slices.SortFunc(c.Targets, func(a, b model.Target) int { return strings.Compare(a.Claim, b.Claim) })
	slices.SortFunc(claims, func(a, b *model.Claim) int { return strings.Compare(a.Name, b.Name) })
	c.Replacements = slices.Clone(planned.Replacements)
	for i := range c.Replacements {
		c.Replacements[i].Name = nameOf(c.Replacements[i].Pool, id, i, d.names)
	}
	return c, claims, nil
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
