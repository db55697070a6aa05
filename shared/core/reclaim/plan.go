package reclaim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Plan says which nodes to give back now, in which commands, and why each of the others stays. Empty nodes go first, then those a
// static pool has beyond its size, those that drifted or are too old, and last those whose pods fit elsewhere for less. Each
// command is planned on the cluster as it will be after those before it, and all share the budgets.
func Plan(in Input) model.DisruptPlan {
	v := newView(&in, nil)
	before := v.price()
	v.empty()
	v.shrink()
	v.renewStatic()
	v.renew()
	v.consolidate()
	out := model.DisruptPlan{
		Commands: append([]model.PlannedCommand{}, v.chosen...), Kept: []model.KeptNode{}, PriceBefore: before, PriceAfter: before,
		Constrained: v.constrained, AgainUnix: v.again,
	}
	tellGivenUp(v.in.Snapshot, out.Commands)
	for i := range out.Commands {
		out.PriceAfter -= out.Commands[i].Savings
	}
	for _, m := range v.members {
		if m.consolidatable() {
			out.Quiet = append(out.Quiet, m.Claim.Name)
		}
		if !m.planned {
			out.Kept = append(out.Kept, model.KeptNode{Node: m.name(), Reasons: v.explain(m)})
		}
	}
	return out
}

// consolidatable reports whether the node serves pods and has been left in peace for as long as its pool asks for. Pools of a fixed size
// ask for nothing.
func (m *member) consolidatable() bool {
	return m.Quiet && m.Claim != nil && m.Pool.Replicas == nil && m.Claim.State == model.Initialized && m.Node.Initialized() &&
		!slices.ContainsFunc(m.holds, func(h hold) bool { return h.Code == Young || h.Code == NotQuiet })
}

// price returns what the nodes of pools cost per hour.
func (v *view) price() model.MicroUSD {
	sum := model.MicroUSD(0)
	for _, m := range v.members {
		sum += m.Price
	}
	return sum
}

// those returns the members that may be given back by the method now, by name.
func (v *view) those(by method) []*member {
	var out []*member
	for _, m := range v.members {
		if m.may(by) {
			out = append(out, m)
		}
	}
	return out
}

// full reports whether the plan has as many commands as it may have; then it is to be looked at again soon.
func (v *view) full() bool {
	if len(v.chosen) < v.set.MaxCommands {
		return false
	}
	v.lookAgain(v.now + soonSeconds)
	return true
}

// soonSeconds is how soon a plan that was cut short is made again.
const soonSeconds = 30

// command puts into words that nodes are given back together.
func (v *view) command(reason string, members []*member, o outcome) model.PlannedCommand {
	out := model.PlannedCommand{
		Reason: reason, Replacements: append([]model.PlannedClaim{}, o.claims...), Moves: append([]model.Nomination{}, o.moves...),
		PodsMoved: v.real(podsOf(members)), Savings: -o.price, Workloads: v.workloads(members),
	}
	for i := range out.Replacements { // launched later: should the pool be changed in between, they will have drifted
		if pool := v.pools[out.Replacements[i].Pool]; pool != nil {
			out.Replacements[i].PoolHash = pool.Hash
		}
	}
	for _, m := range members {
		out.Nodes = append(out.Nodes, m.name())
		out.Savings += m.Price
	}
	slices.Sort(out.Nodes)
	out.Inputs = v.inputs(members, out.Replacements)
	return out
}

// choose makes a command part of the plan.
func (v *view) choose(command model.PlannedCommand, members []*member) {
	v.room.take(members...)
	v.carryOut(&command, members)
	v.chosen = append(v.chosen, command)
}

// keep notes why the plan does not choose a member.
func (m *member) keep(reasons ...model.KeptReason) {
	for _, reason := range reasons {
		if !slices.Contains(m.why, reason) {
			m.why = append(m.why, reason)
		}
	}
}

// constrain notes that budgets alone keep a member.
func (v *view) constrain(m *member, reason string) {
	v.constrained = true
	m.keep(v.room.full(m.Node.Pool(), reason))
}

// cut notes that a member stays because a plan has only so many commands.
func (v *view) cut(m *member) {
	m.keep(model.KeptReason{Code: TooManyCommands, Message: "this plan has as many commands as one may have; the next has more"})
}

// consolidate looks for nodes whose pods fit elsewhere for less.
func (v *view) consolidate() {
	members := v.those(consolidating)
	if len(members) == 0 {
		return
	}
	candidates := make([]Candidate, 0, len(members))
	for _, m := range members {
		candidates = append(candidates, m.Candidate)
	}
	v.tried = v.triedLately()
	var commands []model.PlannedCommand
	var why map[string]model.KeptReason
	v.saving(func() { commands, why = consolidate(v, candidates, v.room.clone()) })
	var away []*member // at once: of thousands of nodes each time takes as long
	for i := range commands {
		away = append(away, v.accept(commands[i], why)...)
	}
	if len(away) == 0 {
		away = v.surely(candidates)
	}
	v.takeAway(away)
	for _, m := range members {
		if reason, known := why[m.name()]; known && !m.planned {
			m.keep(reason)
			v.constrained = v.constrained || reason.Code == NodeBudget
		}
	}
}

// accept makes a command to consolidate part of the plan, unless Balanced pools do not approve of it, it would turn round what was
// decided lately, or the plan is full. Those after it hold without it too: there is only more room then. It returns the nodes of one that
// was accepted: they are yet to be taken away.
func (v *view) accept(command model.PlannedCommand, why map[string]model.KeptReason) (away []*member) {
	var members []*member
	price := model.MicroUSD(0)
	for _, name := range command.Nodes {
		m := v.byName[name]
		members, price = append(members, m), price+m.Price
	}
	no := v.approves(members, command.Savings)
	if no == nil {
		no = v.turnsRound(&command)
	}
	if no == nil {
		no = v.triesTwice(&command)
	}
	if no == nil && command.Savings < v.leastSaving(price) {
		no = &model.KeptReason{Code: NothingToGain, Message: fmt.Sprintf("it would save $%.4f per hour, and a command has to save $%.4f", command.Savings.USD(), v.leastSaving(price).USD())}
	}
	switch {
	case no != nil:
		for _, m := range members {
			why[m.name()] = *no
		}
	case !v.room.fits(command.Reason, members...):
		for _, m := range members {
			v.constrain(m, command.Reason)
		}
	case v.full():
		for _, m := range members {
			v.cut(m)
		}
	default:
		if no := v.unbalanced(&command, members); no != nil {
			for _, m := range members {
				why[m.name()] = *no
			}
			v.awaitBalance(no)
			return nil
		}
		v.room.take(members...)
		v.follow(&command, members)
		v.chosen = append(v.chosen, command)
		return members
	}
	return nil
}

// awaitBalance has the plan made again soon where a command waits for others to be carried out.
func (v *view) awaitBalance(no *model.KeptReason) {
	if no.Code == SpreadBusy {
		v.lookAgain(v.now + soonSeconds)
	}
}

// describe says of pods that have no place, or need something, who they are and why the first of them does.
func describe(pods []model.Unschedulable) model.KeptReason {
	var names []string
	for i := range pods {
		names = append(names, pods[i].Pod.Key())
	}
	out := model.KeptReason{Code: Unplaceable, Message: some("pod", names) + " would have no place"}
	if len(pods) > 0 && len(pods[0].Reasons) > 0 {
		var reasons []string
		for _, r := range pods[0].Reasons[:min(2, len(pods[0].Reasons))] {
			text := r.Message
			if r.Pool != "" {
				text = "NodePool " + r.Pool + ": " + text
			}
			reasons = append(reasons, text)
		}
		out.Message += ": " + strings.Join(reasons, "; ")
	}
	return out
}
