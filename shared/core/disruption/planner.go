package disruption

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/disruption/spread"
	"github.com/joiner-sh/joiner/shared/model"
)

// planner is a plan in the making: the cluster as what is decided so far leaves it, and what it was decided by.
type planner struct {
	fork        *fork
	history     *history
	balanced    balancedPools
	surplus     map[string]int // of static pools
	budgets     *budgetsLeft
	spread      *spread.Balance        // of the commands so far
	chosen      []model.PlannedCommand // so far
	constrained bool                   // budgets alone kept something back
	delayed     model.MicroUSD         // per hour, that commands to consolidate would save which have to wait
	replan      replan
}

// newPlanner evaluates every node of the cluster. Where a command is revalidated its nodes are evaluated as if it were
// not there, and the fork is without them and with its replacements.
func newPlanner(in *Input, evaluated *model.Command) *planner {
	c := newCluster(in, evaluated)
	p := &planner{
		fork: newFork(c), history: newHistory(c), balanced: newBalanced(c), surplus: surplusOf(c),
		spread: spread.NewBalance(c.in.Snapshot), replan: replan{now: c.now},
	}
	p.budgets = newBudgetsLeft(c, &p.replan)
	e := newEvaluator(c, p.history, p.surplus, &p.replan)
	for _, node := range p.fork.poolNodes {
		e.evaluate(node)
	}
	return p
}

// candidatesFor returns the nodes that may be disrupted by the method now, by name.
func (p *planner) candidatesFor(by method) []*poolNode {
	var out []*poolNode
	for _, node := range p.fork.poolNodes {
		if node.mayDisrupt(by) {
			out = append(out, node)
		}
	}
	return out
}

// full reports whether the plan has as many commands as it may have; then it is to be looked at again soon.
func (p *planner) full() bool {
	if len(p.chosen) < p.fork.set.MaxCommands {
		return false
	}
	p.replan.soon()
	return true
}

// choose makes a command part of the plan.
func (p *planner) choose(command model.PlannedCommand, nodes []*poolNode) {
	p.fork.takeAway(nodes)
	p.add(command, nodes)
}

// chooseEach makes commands that move nothing of nodes, as many as there is room for, and returns how many nodes are in
// them.
func (p *planner) chooseEach(reason string, nodes []*poolNode) (chosen int) {
	for chunk := range slices.Chunk(nodes, model.MaxCommandNodes) {
		if p.full() {
			keepAll(chunk, tooManyCommands)
			continue
		}
		p.choose(p.fork.command(reason, chunk, outcome{}), chunk)
		chosen += len(chunk)
	}
	return chosen
}

// add makes a command part of the plan whose nodes are taken away before or after.
func (p *planner) add(command model.PlannedCommand, nodes []*poolNode) {
	p.budgets.take(command.Reason, nodes...)
	p.fork.follow(&command, nodes)
	for _, move := range command.Moves {
		if node := p.fork.byName[move.Node]; node != nil {
			node.blockByExpected()
		}
	}
	p.chosen = append(p.chosen, command)
}

func keepAll(nodes []*poolNode, reason model.KeptReason) {
	for _, node := range nodes {
		node.keep(reason)
	}
}

// constrain notes that budgets alone keep a node, when so many others that are not taken yet come first.
func (p *planner) constrain(node *poolNode, reason string, first int) {
	p.constrained = true
	node.keep(p.budgets.full(node.Node.Pool(), reason, first))
}

// unbalanced returns why the command may not be carried out beside those before it, as far as pods are spread; nil
// where it may, and then it is one of them. What waits for others to be carried out is looked at again soon.
func (p *planner) unbalanced(command *model.PlannedCommand, nodes []*poolNode) *model.KeptReason {
	no := p.spread.Add(command, podsOf(nodes))
	if no != nil && no.Code == SpreadBusy {
		p.replan.soon()
	}
	return no
}
