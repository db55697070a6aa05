package disruption

import (
	"github.com/joiner-sh/joiner/shared/core/disruption/spread"
	"github.com/joiner-sh/joiner/shared/model"
)

// Plan says which nodes to disrupt now, in which commands, and why each of the others stays. Empty nodes go first, then
// those a static pool has beyond its size, those that drifted or are too old, and last those whose pods fit elsewhere
// for less. Each command is planned on the cluster as it will be after those before it, and all share the budgets.
func Plan(in Input) model.DisruptPlan {
	p := newPlanner(&in, nil)
	before := priceOf(p.fork.poolNodes)
	p.disruptEmpty()
	p.shrinkStatic()
	p.renewStatic()
	p.renew()
	p.consolidate()
	out := model.DisruptPlan{
		Commands: append([]model.PlannedCommand{}, p.chosen...), Kept: []model.KeptNode{},
		PriceBefore: before, PriceAfter: before, Constrained: p.constrained, ReplanUnix: p.replan.unix,
	}
	spread.NoteGivenUp(p.fork.in.Snapshot, out.Commands)
	for i := range out.Commands {
		out.PriceAfter -= out.Commands[i].Savings
	}
	out.Waiting, out.Delayed = p.waiting()
	for _, node := range p.fork.poolNodes {
		if node.consolidatable() {
			out.Quiet = append(out.Quiet, node.Claim.Name)
		}
		if !node.planned {
			out.Kept = append(out.Kept, model.KeptNode{Node: node.name(), Reasons: node.explain()})
		}
	}
	return out
}
