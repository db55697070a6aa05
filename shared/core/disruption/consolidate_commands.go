package disruption

import (
	"cmp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	mostGroups = 200 // of nodes that are packed anew in one plan
	noWay      = -1  // of opening nodes
)

// optimizer searches for nodes to disrupt for less. It changes nothing of the planner but when that plans again.
type optimizer struct {
	p          *planner
	budgets    *budgetsLeft
	candidates []*candidate // by name
	simulation simulation
	commands   []model.PlannedCommand
	notes      notes
	groups     int // of mostGroups, spent
	drops      int // of mostDrops, spent
}

// mostCommands is how many commands the plan has room for.
func (o *optimizer) mostCommands() int { return max(0, o.p.fork.set.MaxCommands-len(o.p.chosen)) }

// full reports whether the plan takes no more commands.
func (o *optimizer) full() bool { return len(o.commands) >= o.mostCommands() }

// add adds parts as commands, best first, where each saves enough by itself and all that are asked approve. Of a part
// whose pods would wait for each other one node goes now, if it can by itself, and the others another time.
func (o *optimizer) add(parts []part) {
	var waits []part
	kept := parts[:0]
	for i := range parts {
		p := &parts[i]
		if no := o.finish(p); no != nil {
			o.notes.note(*no, p.group...)
			if no.Code == SpreadWaits && len(p.group) > 1 {
				waits = append(waits, *p)
			}
			continue
		}
		kept = append(kept, *p)
	}
	slices.SortStableFunc(kept, func(a, b part) int {
		return cmp.Or(compareProducts(b.command.Savings, a.cost(), a.command.Savings, b.cost()),
			strings.Compare(a.group[0].name(), b.group[0].name()))
	})
	for i := range kept {
		p := &kept[i]
		if o.full() {
			o.notes.note(tooManyCommands, p.group...)
			continue
		}
		for _, a := range p.group {
			a.settled = true
			o.budgets.take(model.ReasonUnderutilized, a.poolNode)
		}
		o.commands = append(o.commands, p.command)
		o.simulation.apply(&p.command, p.group)
		for _, move := range p.command.Moves {
			i, known := slices.BinarySearchFunc(o.candidates, move.Node, func(a *candidate, name string) int {
				return strings.Compare(a.name(), name)
			})
			if known {
				o.candidates[i].host = true
			}
		}
	}
	for i := range waits {
		o.addOne(&waits[i])
	}
}

// addOne adds a command that disrupts the first node of the part that can be disrupted by itself.
func (o *optimizer) addOne(p *part) {
	o.p.replan.soon()
	ways := noWay // none where none is to be opened for the part
	if len(p.claims) > 0 {
		ways = 1
	}
	for _, a := range p.group {
		if o.full() || o.groups >= mostGroups {
			return
		}
		if a.host {
			continue
		}
		o.groups++
		group := []*candidate{a}
		out := o.simulation.without(group, ways)
		if len(out.homeless) > 0 || len(keepers(&o.simulation, o.notes, group, &out)) == 0 {
			continue
		}
		o.add(partsOf(&o.simulation, group, &out, 1))
		if a.settled {
			return
		}
	}
}

// finish makes the part a command; else it says why it is none.
func (o *optimizer) finish(p *part) *model.KeptReason {
	nodes := poolNodesOf(p.group)
	price, planned, percent := priceOf(nodes), model.MicroUSD(0), int64(0)
	for i := range p.claims {
		planned += p.claims[i].Price
		percent = worthwhilePercent
	}
	most := price - o.p.fork.leastSaving(price, percent) // that replacements may cost together
	if planned > most {
		var names []string
		for _, node := range nodes {
			names = append(names, node.name())
		}
		const message = "consolidating %s would save $%.4f of $%.4f per hour, which is too little"
		return because(NoSavings, message, some("node", names), (price - planned).USD(), price.USD())
	}
	for i := range p.claims {
		claim := p.claims[i]
		g := guard{
			spotTypes: o.p.fork.set.SpotTypes, types: o.simulation.supply.types.of(claim.Class, claim.Pool),
			group: p.group, claim: claim, ceiling: ceilingOf(claim.Price, planned, most, len(p.claims)),
		}
		if no := g.narrow(); no != nil {
			return no
		}
		p.claims[i] = g.claim
	}
	if no := o.p.balanced.approves(nodes, price-planned); no != nil {
		return no
	}
	if no := misfits(&o.simulation, p, price-planned); no != nil {
		return no
	}
	become := outcome{claims: p.claims, moves: p.moves, price: planned}
	p.command = o.p.fork.command(model.ReasonUnderutilized, nodes, become)
	return o.p.spread.Alone(&p.command, podsOf(nodes))
}

// ceilingOf returns what a claim may cost at worst, so that all together stay within most: its part of that.
func ceilingOf(price, planned, most model.MicroUSD, claims int) model.MicroUSD {
	if planned <= 0 {
		return most / model.MicroUSD(claims)
	}
	return model.MicroUSD(float64(most) * (float64(price) / float64(planned)))
}
