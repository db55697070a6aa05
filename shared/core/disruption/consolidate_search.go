package disruption

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/model"
)

const (
	mostTries = 5   // for one group, each with fewer nodes than the one before
	mostDrops = 200 // times it is asked whether nodes fit into the others
	manyWays  = 40  // of opening nodes, for all groups together
)

// candidatesWhere returns the candidates in no command that a test holds of, by name.
func (o *optimizer) candidatesWhere(test func(*candidate) bool) []*candidate {
	var out []*candidate
	for _, a := range o.candidates {
		if !a.settled && !a.host && test(a) {
			out = append(out, a)
		}
	}
	return out
}

func (o *optimizer) allowance() allowance { return allowance{o.budgets, o.notes, make(map[string]int)} }

// share returns how many commands each of so many groups may become.
func (o *optimizer) share(groups int) int {
	return max(1, (o.mostCommands()-len(o.commands))/max(1, groups))
}

// repack disrupts nodes whose pods are packed anew, in groups.
func (o *optimizer) repack(list []*candidate) {
	byMerit(list, (*candidate).savings)
	let := o.allowance()
	groups := grouped(slices.DeleteFunc(list, func(a *candidate) bool { return !let.lets(a) }))
	ways := max(1, manyWays/max(1, len(groups)))
	for n, group := range groups {
		if o.full() || o.groups >= mostGroups {
			o.notes.note(tooManyCommands, group...)
			continue
		}
		o.groups++
		o.try(group, ways, o.share(len(groups)-n))
	}
}

// try plans a group without its nodes, and without those that turn out to be better kept, and adds what came of it as
// at most so many commands. Which nodes are kept is found out in one way of opening nodes, and only then looked for
// cheaper ones.
func (o *optimizer) try(group []*candidate, ways, most int) {
	s := &o.simulation
	group = slices.DeleteFunc(slices.Clone(group), func(a *candidate) bool { return a.host }) // of another group's pods
	for range mostTries {
		if len(group) == 0 {
			return
		}
		out := s.without(group, 1)
		kept := keepers(s, o.notes, group, &out)
		if len(kept) == len(group) {
			if ways > 1 {
				out = cheaper(s, group, ways, out)
			}
			o.add(partsOf(s, group, &out, most))
			return
		}
		group = kept
	}
}

// dropAll disrupts nodes whose pods fit the others, best first: as many at a time as fit together.
func (o *optimizer) dropAll(list []*candidate) {
	byMerit(list, (*candidate).price)
	for size := model.MaxCommandNodes; len(list) > 0 && o.drops < mostDrops; {
		if o.full() {
			o.notes.note(tooManyCommands, list...)
			return
		}
		chunk := o.nextToDrop(&list, size)
		if len(chunk) == 0 {
			return
		}
		o.drops++
		out := o.simulation.without(chunk, noWay)
		switch fit := len(out.homeless)+len(out.claims) == 0; {
		case fit:
			list, size = list[len(chunk):], min(model.MaxCommandNodes, 2*size)
			o.add(partsOf(&o.simulation, chunk, &out, o.share(1+len(list)/model.MaxCommandNodes)))
		case len(chunk) > 1:
			size = len(chunk) / 2
		default:
			if chunk[0].unplaceable { // what no new node holds either, and why
				if lost := o.simulation.without(chunk, 1).homeless; len(lost) > 0 {
					o.notes.note(describe(lost), chunk[0])
				}
			}
			list = list[1:]
		}
	}
}

// nextToDrop returns the first nodes of the list that budgets let go and whose pods may fit the others, at most size;
// what cannot go is taken off the list before them.
func (o *optimizer) nextToDrop(list *[]*candidate, size int) []*candidate {
	let, trial, hosts := o.allowance(), o.simulation.fit.trial(), make(map[string]bool)
	var chunk []*candidate
	rest := *list
	for len(rest) > 0 && len(chunk) < size {
		if a := rest[0]; !a.host && !hosts[a.name()] && trial.move(a.name(), a.Pods, hosts) && let.lets(a) {
			chunk = append(chunk, a)
		}
		rest = rest[1:]
	}
	*list = slices.Concat(chunk, rest)
	return chunk
}

// explainRest notes why what is left stays.
func (o *optimizer) explainRest() {
	spotToSpot := o.p.fork.set.SpotToSpot
	for _, a := range o.candidates {
		switch {
		case a.settled:
			delete(o.notes, a.name())
		case a.host:
			o.notes.keep(a, NoSavings, "it takes pods of nodes that are disrupted")
		case a.unplaceable:
			o.notes.keep(a, Unplaceable, "its pods fit no other node, and no new node could hold all of them")
		case !a.mayDisrupt(replacing): // what holds that back is known
		case a.Claim.CapacityType == model.Spot && !spotToSpot && a.mayPay():
			const message = "its pods fit no other node, and spot nodes are not to be replaced by spot nodes"
			o.notes.keep(a, SpotToSpot, message)
		default:
			const message = "it costs $%.4f per hour, and its pods would cost $%.4f at best"
			o.notes.keep(a, NoSavings, message, a.Price.USD(), a.value.USD())
		}
	}
}
