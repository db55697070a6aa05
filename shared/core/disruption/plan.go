package disruption

import (
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// Plan says which nodes to disrupt now, in which commands, and why each of the others stays. Empty nodes go first, then those a
// static pool has beyond its size, those that drifted or are too old, and last those whose pods fit elsewhere for less. Each
// command is planned on the cluster as it will be after those before it, and all share the budgets.
func Plan(in Input) model.DisruptPlan {
	v := newPlanner(&in, nil)
	before := v.price()
	v.empty()
	v.shrink()
	v.renewStatic()
	v.renew()
	v.consolidate()
	out := model.DisruptPlan{
		Commands: append([]model.PlannedCommand{}, v.chosen...), Kept: []model.KeptNode{}, PriceBefore: before, PriceAfter: before,
		Constrained: v.constrained, ReplanUnix: v.replanUnix,
	}
	noteGivenUp(v.in.Snapshot, out.Commands)
	for i := range out.Commands {
		out.PriceAfter -= out.Commands[i].Savings
	}
	for _, node := range v.poolNodes {
		if node.consolidatable() {
			out.Quiet = append(out.Quiet, node.Claim.Name)
		}
		if !node.planned {
			out.Kept = append(out.Kept, model.KeptNode{Node: node.name(), Reasons: v.explain(node)})
		}
	}
	return out
}

// consolidatable reports whether the node serves pods and has been left in peace for as long as its pool asks for. Pools of a fixed size
// ask for nothing.
func (node *poolNode) consolidatable() bool {
	return node.Quiet && node.Claim != nil && node.Pool.Replicas == nil && node.Claim.State == model.Initialized && node.Node.Initialized() &&
		!slices.ContainsFunc(node.blockers, func(h blocker) bool { return h.Code == Young || h.Code == NotQuiet })
}

// price returns what the nodes of pools cost per hour.
func (v *planner) price() model.MicroUSD {
	sum := model.MicroUSD(0)
	for _, node := range v.poolNodes {
		sum += node.Price
	}
	return sum
}

// candidatesFor returns the nodes that may be disrupted by the method now, by name.
func (v *planner) candidatesFor(by method) []*poolNode {
	var out []*poolNode
	for _, node := range v.poolNodes {
		if node.mayDisrupt(by) {
			out = append(out, node)
		}
	}
	return out
}

// full reports whether the plan has as many commands as it may have; then it is to be looked at again soon.
func (v *planner) full() bool {
	if len(v.chosen) < v.set.MaxCommands {
		return false
	}
	v.replanAt(v.now + soonSeconds)
	return true
}

// soonSeconds is how soon a plan that was cut short is made again.
const soonSeconds = 30

// command puts into words that nodes are disrupted together.
func (v *planner) command(reason string, nodes []*poolNode, o outcome) model.PlannedCommand {
	out := model.PlannedCommand{
		Reason: reason, Replacements: append([]model.PlannedClaim{}, o.claims...), Moves: append([]model.Nomination{}, o.moves...),
		PodsMoved: v.real(podsOf(nodes)), Savings: -o.price, Workloads: v.workloads(nodes),
	}
	for i := range out.Replacements { // launched later: should the pool be changed in between, they will have drifted
		if pool := v.pools[out.Replacements[i].Pool]; pool != nil {
			out.Replacements[i].PoolHash = pool.Hash
		}
	}
	for _, node := range nodes {
		out.Nodes = append(out.Nodes, node.name())
		out.Savings += node.Price
	}
	slices.Sort(out.Nodes)
	out.Inputs = v.inputs(nodes, out.Replacements)
	return out
}

// choose makes a command part of the plan.
func (v *planner) choose(command model.PlannedCommand, nodes []*poolNode) {
	v.budgets.take(nodes...)
	v.apply(&command, nodes)
	v.chosen = append(v.chosen, command)
}

// keep notes why the plan does not choose a node.
func (node *poolNode) keep(reasons ...model.KeptReason) {
	for _, reason := range reasons {
		if !slices.Contains(node.why, reason) {
			node.why = append(node.why, reason)
		}
	}
}

// constrain notes that budgets alone keep a node, when so many others that are not taken yet come first.
func (v *planner) constrain(node *poolNode, reason string, first int) {
	v.constrained = true
	node.keep(v.budgets.full(node.Node.Pool(), reason, first))
}

// cut notes that a node stays because a plan has only so many commands.
func (v *planner) cut(node *poolNode) {
	node.keep(model.KeptReason{Code: TooManyCommands, Message: "this plan has the most commands a plan may have; the next plan has more"})
}

// consolidate looks for nodes whose pods fit elsewhere for less.
func (v *planner) consolidate() {
	nodes := v.candidatesFor(consolidating)
	if len(nodes) == 0 {
		return
	}
	candidates := make([]Candidate, 0, len(nodes))
	for _, node := range nodes {
		candidates = append(candidates, node.Candidate)
	}
	v.tried = v.triedLately()
	var commands []model.PlannedCommand
	var why map[string]model.KeptReason
	v.saving(func() { commands, why = consolidate(v, candidates, v.budgets.clone()) })
	var away []*poolNode // at once: of thousands of nodes each time takes as long
	for i := range commands {
		away = append(away, v.accept(commands[i], why)...)
	}
	if len(away) == 0 {
		away = v.fallbackCandidates(candidates)
	}
	v.takeAway(away)
	for _, node := range nodes {
		if reason, known := why[node.name()]; known && !node.planned {
			node.keep(reason)
			v.constrained = v.constrained || reason.Code == NodeBudget
		}
	}
}

// accept makes a command to consolidate part of the plan, unless Balanced pools do not approve of it, it would revert what was
// decided lately, or the plan is full. Those after it hold without it too: there is only more room then. It returns the nodes of one that
// was accepted: they are yet to be taken away.
func (v *planner) accept(command model.PlannedCommand, why map[string]model.KeptReason) (away []*poolNode) {
	var nodes []*poolNode
	price := model.MicroUSD(0)
	for _, name := range command.Nodes {
		node := v.byName[name]
		nodes, price = append(nodes, node), price+node.Price
	}
	no := v.approves(nodes, command.Savings)
	if no == nil {
		no = v.revertsRecent(&command)
	}
	if no == nil {
		no = v.repeatsFailed(&command)
	}
	if no == nil && command.Savings < v.leastSaving(price) {
		no = &model.KeptReason{Code: NoSavings, Message: fmt.Sprintf("it would save $%.4f per hour, and a command has to save $%.4f", command.Savings.USD(), v.leastSaving(price).USD())}
	}
	switch {
	case no != nil:
		for _, node := range nodes {
			why[node.name()] = *no
		}
	case !v.budgets.fits(command.Reason, nodes...):
		for _, node := range nodes {
			v.constrain(node, command.Reason, len(nodes)-1)
		}
	case v.full():
		for _, node := range nodes {
			v.cut(node)
		}
	default:
		if no := v.unbalanced(&command, nodes); no != nil {
			for _, node := range nodes {
				why[node.name()] = *no
			}
			v.awaitBalance(no)
			return nil
		}
		v.budgets.take(nodes...)
		v.follow(&command, nodes)
		v.chosen = append(v.chosen, command)
		return nodes
	}
	return nil
}

// awaitBalance has the plan made again soon where a command waits for others to be carried out.
func (v *planner) awaitBalance(no *model.KeptReason) {
	if no.Code == SpreadBusy {
		v.replanAt(v.now + soonSeconds)
	}
}

// describe says of pods that have no place, or need something, who they are and why the first of them does.
func describe(pods []model.Unschedulable) model.KeptReason {
	var names []string
	for i := range pods {
		names = append(names, pods[i].Pod.Key())
	}
	out := model.KeptReason{Code: Unplaceable, Message: some("pod", names) + " could not be scheduled"}
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
