package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// How consolidation works. What each pod is worth at what is sold now is the dual of the linear program of core/pack,
// were nodes sold by the part: the least it can cost on a new node, its part of the daemons and of what stays empty
// included. The room that is free on a node is worth what the cheapest pods that fill it would be. So no set of nodes
// that holds these pods can cost less than they are worth together, and a node wastes what it costs beyond what is on
// it and what could be.
//
//  1. A node that wastes more than worthwhile is not worth keeping even if it were full. It takes no moved pods any
//     more.
//  2. Nodes go whose pods fit the room that others have: those first that save most for what that disturbs. Where rules
//     between pods must hold, those of 1 go by 3 alone.
//  3. What is not worth keeping goes as soon as budgets let it: together with others of its zone, in groups that one
//     command holds, whose pods are packed anew. Then 2 once more, for nodes that are kept for what would have to be
//     bought again.
//  4. What is left and costs more than its pods are worth is too large for them: it is replaced as in 3. Spot nodes,
//     where they are not replaced by spot, make way for reserved capacity alone.
//
// Every group is planned by core/pack on the cluster without its nodes and with what was decided before; the duals only
// say where to look. All bounds are counts.

// consolidate disrupts nodes whose pods fit elsewhere for less. What commands to save money did not get lately is as if
// it could not be had.
func (p *planner) consolidate() {
	nodes := p.candidatesFor(consolidating)
	if len(nodes) == 0 {
		return
	}
	t := triedLately(p.fork.in.Commands, p.fork.in.Claims, p.fork.now, p.fork.set.OppositeSeconds)
	unavailable, again := t.closed(p.fork.now)
	p.replan.at(again)
	commands, why := search(p, nodes, p.fork.supply.less(unavailable))
	away := p.accept(commands, why, &t)
	if len(away) == 0 {
		away = p.fallBack(nodes, &t)
	}
	p.fork.takeAway(away) // at once: of thousands of nodes each time takes as long
	for _, node := range nodes {
		if reason, known := why[node.name()]; known && !node.planned {
			node.keep(reason)
			p.constrained = p.constrained || reason.Code == NodeBudget
		}
	}
}

// fallBack searches once more, where nothing was found to save and all of spot seems to have no capacity (or all on
// demand): nodes whose replacements were not available are replaced by instances of another capacity type meanwhile.
// Else the next try has them wait again, and they cost what they cost for as long as that lasts. It returns the nodes
// of what was accepted.
func (p *planner) fallBack(nodes []*poolNode, t *tried) (away []*poolNode) {
	unavailable, failed := t.kind()
	if !failed {
		return nil
	}
	var spared []*poolNode
	for _, node := range nodes {
		if node.skipReplacement && node.eligible&replacing != 0 && len(reasonsOf(node.blockers, replacing)) == 1 {
			node.permitted |= replacing
			spared = append(spared, node)
		}
	}
	if len(spared) == 0 {
		return nil
	}
	unavailable.UntilUnix = p.fork.now + 1
	commands, why := search(p, nodes, p.fork.supply.less([]model.UnavailableOffering{unavailable}))
	for _, node := range spared {
		node.permitted &^= replacing
	}
	return p.accept(commands, why, t)
}

// accept makes commands to consolidate part of the plan, but those that Balanced pools do not approve of, that would
// revert what was decided lately, or that the plan has no room for. Those after one hold without it too: there is only
// more room then. It returns the nodes of what was accepted: they are yet to be taken away.
func (p *planner) accept(commands []model.PlannedCommand, why notes, t *tried) (away []*poolNode) {
	for i := range commands {
		command := &commands[i]
		var nodes []*poolNode
		for _, name := range command.Nodes {
			nodes = append(nodes, p.fork.byName[name])
		}
		no := p.refuses(command, nodes, t)
		switch {
		case no != nil:
		case !p.budgets.fits(command.Reason, nodes...):
			p.delayed += command.Savings
			for _, node := range nodes {
				p.constrain(node, command.Reason, len(nodes)-1)
			}
			continue
		case p.full():
			p.delayed += command.Savings
			keepAll(nodes, tooManyCommands)
			continue
		default:
			if no = p.unbalanced(command, nodes); no != nil {
				p.delayed += command.Savings
			}
		}
		if no != nil {
			for _, node := range nodes {
				why[node.name()] = *no
			}
			continue
		}
		p.add(*command, nodes)
		away = append(away, nodes...)
	}
	return away
}

// refuses returns why a command to consolidate is not to be part of the plan, budgets and spread aside; nil where it
// may be.
func (p *planner) refuses(command *model.PlannedCommand, nodes []*poolNode, t *tried) *model.KeptReason {
	if no := p.balanced.approves(nodes, command.Savings); no != nil {
		return no
	}
	if no, until := p.history.reverts(command); no != nil {
		p.replan.at(until)
		return no
	}
	if no := t.repeats(command, p.chosen); no != nil {
		return no
	}
	if least := p.fork.leastSaving(priceOf(nodes), 0); command.Savings < least {
		const message = "it would save $%.4f per hour, and a command has to save $%.4f"
		return because(NoSavings, message, command.Savings.USD(), least.USD())
	}
	return nil
}

// search returns commands that disrupt nodes for less than they cost, at a supply, and of nodes that stay why. Each
// command holds after those before it, and saves by itself.
func search(p *planner, nodes []*poolNode, supply *supply) ([]model.PlannedCommand, notes) {
	o := &optimizer{p: p, budgets: p.budgets.clone(), notes: make(notes)}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(node *poolNode) bool { return node.Price <= 0 })
	if len(nodes) == 0 {
		return nil, o.notes
	}
	if o.full() && budgetsLetAll(o.budgets, nodes) { // whatever they are worth, that is all there is to say
		for _, node := range nodes {
			o.notes[node.name()] = tooManyCommands
		}
		return nil, o.notes
	}
	o.candidates = appraise(nodes, supply, p.fork.set.SpotToSpot)
	o.simulation = newSimulation(supply, o.candidates)
	overpriced := func(a *candidate) bool { return a.overpriced }
	if !o.full() && slices.ContainsFunc(o.candidates, overpriced) && !o.simulation.binding {
		// What is overpriced together with others, before its pods go to those. Not where rules between pods must hold:
		// while nodes of several commands drain at once, what moves may find no place that its spread constraint
		// allows.
		o.dropAll(o.candidatesWhere(func(*candidate) bool { return true }))
	}
	o.repack(o.candidatesWhere(overpriced))
	o.dropAll(o.candidatesWhere(func(a *candidate) bool { return !a.overpriced }))
	o.repack(o.candidatesWhere(func(a *candidate) bool {
		return !a.overpriced && a.replaceable(p.fork.set.SpotToSpot) && a.mayPay()
	}))
	o.intoReserved()
	o.explainRest()
	if o.simulation.plain { // in whatever order: no pod's place depends on another's
		slices.SortStableFunc(o.commands, func(a, b model.PlannedCommand) int {
			return cmp.Or(compareProducts(b.Savings, int64(a.PodsMoved), a.Savings, int64(b.PodsMoved)),
				strings.Compare(a.Nodes[0], b.Nodes[0]))
		})
	}
	return o.commands, o.notes
}

// budgetsLetAll reports whether budgets would let all nodes go at once.
func budgetsLetAll(budgets *budgetsLeft, nodes []*poolNode) bool {
	count := make(map[string]int)
	for _, node := range nodes {
		count[node.Node.Pool()]++
	}
	for pool, n := range count { // all must hold: the order does not matter
		if n > budgets.left(pool, model.ReasonUnderutilized) {
			return false
		}
	}
	return true
}
