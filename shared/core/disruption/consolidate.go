package disruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack"
	"github.com/joiner-sh/joiner/shared/model"
)

// How consolidation works. What each pod is worth at what is sold now is the dual of the linear program of core/pack, were
// nodes sold by the part: the least it can cost on a new node, its part of the daemons and of what stays empty included. The room
// that is free on a node is worth what the cheapest pods that fill it would be. So no set of nodes that holds these pods can cost
// less than they are worth together, and a node wastes what it costs beyond what is on it and what could be.
//
//  1. A node that wastes more than worthwhile is not worth keeping even if it were full. It takes no moved pods any more.
//  2. Nodes go whose pods fit the room that others have: those first that save most for what that disturbs. Where rules between pods must
//     hold, those of 1 go by 3 alone.
//  3. What is not worth keeping goes as soon as budgets let it: together with others of its zone, in groups that one command holds, whose
//     pods are packed anew. Then 2 once more, for nodes that are kept for what would have to be bought again.
//  4. What is left and costs more than its pods are worth is too large for them: it is replaced as in 3. Spot nodes, where they are
//     not replaced by spot, make way for reserved capacity alone.
//
// Every group is planned by core/pack on the cluster without its nodes and with what was decided before; the duals only say where
// to look. All bounds are counts.
const (
	worthwhilePercent = 5   // of what is disrupted, that packing pods anew must save, and that an expensive node wastes even if it were full
	mayPayPercent     = 10  // of its price, that a node must cost beyond what its pods are worth: no plan meets the bound
	mostGroups        = 200 // of nodes that are packed anew in one plan
	mostTries         = 5   // for one group, each with fewer nodes than the one before
	mostDrops         = 200 // times it is looked whether nodes fit into the others
	manyWays          = 40  // of opening nodes, for all groups together
	noWay             = -1
)

// candidate is a candidate with what it is worth.
type candidate struct {
	*poolNode
	value       model.MicroUSD // of its pods, per hour, at what is sold now
	spareValue  model.MicroUSD // of the room that is free on it
	unplaceable bool           // some of its pods no new node could hold
	overpriced  bool           // it is not worth keeping, however full
	settled     bool           // it is in a command
	host        bool           // pods of nodes in commands go there
}

// savings is what packing its pods anew saves at best.
func (a *candidate) savings() model.MicroUSD { return a.Price - a.value }

// savingsIfFilled is what packing its pods anew would save at best, were its free room filled by others.
func (a *candidate) savingsIfFilled() model.MicroUSD { return a.Price - a.value - a.spareValue }

// mayPay reports whether the candidate costs so much beyond what its pods are worth that packing them anew may pay.
func (a *candidate) mayPay() bool { return a.savings() >= a.Price/100*mayPayPercent }

// optimizer searches for nodes to disrupt for less.
type optimizer struct {
	v          *planner
	budgets    *budgetsLeft
	simulator  *pack.Simulator
	candidates []*candidate // by name
	simulation simulation
	commands   []model.PlannedCommand
	why        map[string]model.KeptReason
	types      map[string]map[string]*model.InstanceType // by class and name
	groups     int                                       // of mostGroups, spent
	drops      int                                       // of mostDrops, spent
}

// consolidate returns commands that disrupt candidates for less than they cost, and of candidates that stay why. Each command
// holds after those before it, and saves by itself. It takes what it uses of room.
func consolidate(v *planner, candidates []Candidate, budgets *budgetsLeft) (commands []model.PlannedCommand, why map[string]model.KeptReason) {
	o := &optimizer{v: v, budgets: budgets, why: make(map[string]model.KeptReason), types: make(map[string]map[string]*model.InstanceType)}
	for i := range candidates {
		if node := v.byName[candidates[i].Node.Name]; node != nil && node.Price > 0 {
			o.candidates = append(o.candidates, &candidate{poolNode: node})
		}
	}
	if len(o.candidates) == 0 {
		return nil, o.why
	}
	slices.SortFunc(o.candidates, func(a, b *candidate) int { return strings.Compare(a.name(), b.name()) })
	if o.full() && o.budgetsLetAll() { // whatever they are worth, that is all there is to say
		o.cut(o.candidates)
		return nil, o.why
	}
	o.appraise()
	o.simulation = newSimulation(v, o.simulator, o.candidates)
	expensive := func(a *candidate) bool { return a.overpriced }
	if !o.full() && slices.ContainsFunc(o.candidates, expensive) && !bound(v.snapshot.Shapes) {
		// What is expensive together with others, before its pods go to those. Not where rules between pods must hold: while nodes of several
		// commands drain at once, what moves may find no place that its spread constraint allows.
		o.dropAll(o.candidatesWhere(func(*candidate) bool { return true }))
	}
	o.repack(o.candidatesWhere(expensive))
	o.dropAll(o.candidatesWhere(func(a *candidate) bool { return !a.overpriced }))
	o.repack(o.candidatesWhere(func(a *candidate) bool { return !a.overpriced && o.replaceable(a) && a.mayPay() }))
	o.intoReserved()
	o.explainRest()
	if o.simulation.plain { // in whatever order: no pod's place depends on another's
		slices.SortStableFunc(o.commands, func(a, b model.PlannedCommand) int {
			return cmp.Or(compareProducts(b.Savings, int64(a.PodsMoved), a.Savings, int64(b.PodsMoved)), strings.Compare(a.Nodes[0], b.Nodes[0]))
		})
	}
	return o.commands, o.why
}

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

// appraise works out what the candidates are worth.
func (o *optimizer) appraise() {
	var pods []int
	for _, a := range o.candidates {
		pods = append(pods, a.Pods...)
	}
	in := o.v.input(nil, pods, nil)
	o.simulator = o.v.plans()
	rates := o.simulator.NewRates(in)
	for _, a := range o.candidates {
		for _, i := range a.Pods {
			worth, known := rates.Pod(i)
			a.value, a.unplaceable = a.value+worth, a.unplaceable || !known
		}
		a.spareValue = rates.FreeValue(a.Node.Allocatable, o.v.shapesOn(a.poolNode))
		a.overpriced = o.replaceable(a) && a.mayPay() && a.savingsIfFilled() >= a.Price/100*worthwhilePercent
	}
}

// shapesOn returns the shapes of what is on a node, one for each pod.
func (v *planner) shapesOn(node *poolNode) []int {
	pods := v.on(node)
	out := make([]int, len(pods))
	for n, i := range pods {
		out[n] = v.in.Snapshot.Pods[i].Shape
	}
	return out
}

// replaceable reports whether new nodes may take the candidate's place.
func (o *optimizer) replaceable(a *candidate) bool {
	return !a.unplaceable && a.mayDisrupt(replacing) && a.Claim.CapacityType != model.Reserved && (a.Claim.CapacityType != model.Spot || o.v.set.SpotToSpot)
}

// byMerit orders candidates: those first that save most, at best, for what it disturbs.
func byMerit(list []*candidate, saving func(*candidate) model.MicroUSD) {
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(compareProducts(saving(b), a.CostMilli, saving(a), b.CostMilli), strings.Compare(a.name(), b.name()))
	})
}

// compareProducts compares a·b with c·d, which are below 2⁵³.
func compareProducts(a model.MicroUSD, b int64, c model.MicroUSD, d int64) int {
	return cmp.Compare(float64(a)*float64(b), float64(c)*float64(d))
}

// allowance is what budgets leave, by pool, while nodes are picked.
type allowance struct {
	*optimizer
	left map[string]int
}

func (o *optimizer) allowance() allowance { return allowance{o, make(map[string]int)} }

// lets reports whether budgets let the candidate go too, and notes it if they do not.
func (l allowance) lets(a *candidate) bool {
	pool := a.Node.Pool()
	n, asked := l.left[pool]
	if !asked {
		n = l.budgets.left(pool, model.ReasonUnderutilized)
	}
	l.left[pool] = n - 1
	if n <= 0 {
		l.note(a, l.budgets.full(pool, model.ReasonUnderutilized, l.budgets.left(pool, model.ReasonUnderutilized)))
	}
	return n > 0
}

// budgetsLetAll reports whether budgets would let all candidates go at once.
func (o *optimizer) budgetsLetAll() bool {
	count := make(map[string]int)
	for _, a := range o.candidates {
		count[a.Node.Pool()]++
	}
	for pool, n := range count { // all must hold: the order does not matter
		if n > o.budgets.left(pool, model.ReasonUnderutilized) {
			return false
		}
	}
	return true
}

// note notes why a candidate stays, if nothing is noted yet.
func (o *optimizer) note(a *candidate, reason model.KeptReason) {
	if _, known := o.why[a.name()]; !known {
		o.why[a.name()] = reason
	}
}

// keep is note in words.
func (o *optimizer) keep(a *candidate, code, format string, values ...any) {
	o.note(a, model.KeptReason{Code: code, Message: fmt.Sprintf(format, values...)})
}

// mostCommands is how many commands the plan has room for.
func (o *optimizer) mostCommands() int { return max(0, o.v.set.MaxCommands-len(o.v.chosen)) }

// full reports whether the plan takes no more commands.
func (o *optimizer) full() bool { return len(o.commands) >= o.mostCommands() }

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
			o.cut(group)
			continue
		}
		o.groups++
		o.try(group, ways, o.share(len(groups)-n))
	}
}

// cut notes that nodes stay because a plan has only so many commands.
func (o *optimizer) cut(group []*candidate) {
	for _, a := range group {
		o.keep(a, TooManyCommands, "this plan has the most commands a plan may have; the next plan has more")
	}
}

// grouped divides candidates into groups of about equal size that one command holds, of one pool, zone and capacity type where there
// are enough: those share what their pods ask for. No group has spot nodes and others.
func grouped(list []*candidate) [][]*candidate {
	list = slices.Clone(list)
	kind := func(a *candidate) string { return a.Claim.CapacityType }
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(strings.Compare(kind(a), kind(b)), strings.Compare(a.Pool.Name, b.Pool.Name), strings.Compare(a.Claim.Zone, b.Claim.Zone))
	})
	var out [][]*candidate
	for len(list) > 0 {
		end := 1
		for end < len(list) && (kind(list[end]) == model.Spot) == (kind(list[0]) == model.Spot) {
			end++
		}
		count := (end + model.MaxCommandNodes - 1) / model.MaxCommandNodes
		for n := range count {
			out = append(out, list[n*end/count:(n+1)*end/count])
		}
		list = list[end:]
	}
	return out
}

// try plans a group without its nodes, and without those that turn out to be better kept, and adds what came of it as at most so
// many commands. Which nodes are kept is found out in one way of opening nodes, and only then looked for cheaper ones.
func (o *optimizer) try(group []*candidate, ways, most int) {
	group = slices.DeleteFunc(slices.Clone(group), func(a *candidate) bool { return a.host }) // another group's pods go there
	for range mostTries {
		if len(group) == 0 {
			return
		}
		out := o.simulation.without(group, 1)
		kept := o.keepers(group, &out)
		if len(kept) == len(group) {
			if ways > 1 {
				out = o.cheaper(group, ways, out)
			}
			o.add(o.split(group, &out, most))
			return
		}
		group = kept
	}
}

// keepers returns the group without the nodes that are better kept by what would become of their pods.
func (o *optimizer) keepers(group []*candidate, out *outcome) []*candidate {
	if len(out.homeless) > 0 {
		return o.withoutHomeless(group, out.homeless)
	}
	if kept := o.payers(group, out); len(kept) < len(group) {
		return kept
	}
	return o.withoutRivals(group, out)
}

// cheaper returns what becomes of the group's pods where new nodes are opened in so many ways, if that is cheaper and all of the
// group is as well disrupted then.
func (o *optimizer) cheaper(group []*candidate, ways int, out outcome) outcome {
	other := o.simulation.without(group, ways)
	if len(other.homeless) > 0 || other.price >= out.price || slices.ContainsFunc(other.claims, func(claim model.PlannedClaim) bool {
		return slices.ContainsFunc(group, func(a *candidate) bool { return rivals(a, &claim, claim.Offering.InstanceType) })
	}) {
		return out
	}
	return other
}

// withoutHomeless returns the group without the nodes of pods that find no place, which stay; nothing where pods of others would
// lose theirs.
func (o *optimizer) withoutHomeless(group []*candidate, homeless []model.Unschedulable) []*candidate {
	owner := o.owners(group)
	lost := make(map[*candidate][]model.Unschedulable)
	for _, h := range homeless {
		lost[owner[h.Pod]] = append(lost[owner[h.Pod]], h)
	}
	if foreign := lost[nil]; len(foreign) > 0 {
		for _, a := range group {
			o.note(a, describe(foreign))
		}
		return nil
	}
	return slices.DeleteFunc(slices.Clone(group), func(a *candidate) bool {
		if len(lost[a]) > 0 {
			o.note(a, describe(lost[a]))
		}
		return len(lost[a]) > 0
	})
}

// owners returns the group's nodes by pod.
func (o *optimizer) owners(group []*candidate) map[model.PodRef]*candidate {
	count := 0
	for _, a := range group {
		count += len(a.Pods)
	}
	out := make(map[model.PodRef]*candidate, count)
	for _, a := range group {
		for _, i := range a.Pods {
			out[o.v.in.Snapshot.Pods[i].Ref()] = a
		}
	}
	return out
}

// payers returns the group without the nodes whose pods would cost as much as the nodes do, each new node's price shared out by
// what pods of the nodes are worth on average.
func (o *optimizer) payers(group []*candidate, out *outcome) []*candidate {
	owner := o.owners(group)
	charged := make(map[*candidate]float64)
	for i := range out.claims {
		claim := &out.claims[i]
		total := 0.0
		for _, ref := range claim.Pods {
			total += owner[ref].average()
		}
		for _, ref := range claim.Pods {
			if a := owner[ref]; a != nil && total > 0 {
				charged[a] += float64(claim.Price) * a.average() / total
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(group), func(a *candidate) bool {
		if charged[a] < float64(a.Price) {
			return false
		}
		o.keep(a, NoSavings, "its pods would cost $%.4f per hour elsewhere, and it costs $%.4f", charged[a]/1e6, a.Price.USD())
		return true
	})
}

// withoutRivals returns the group without nodes that could as well be kept as bought again, one for each new node that is like
// one of them. They take moved pods from now on.
func (o *optimizer) withoutRivals(group []*candidate, out *outcome) []*candidate {
	group = slices.Clone(group)
	for i := range out.claims {
		claim := &out.claims[i]
		n := slices.IndexFunc(group, func(a *candidate) bool { return rivals(a, claim, claim.Offering.InstanceType) })
		if n < 0 {
			continue
		}
		o.keep(group[n], NoSavings, "one like it would have to be launched")
		o.simulation.open(group[n])
		group = slices.Delete(group, n, n+1)
	}
	return group
}

// average is what a pod of the candidate is worth on average.
func (a *candidate) average() float64 {
	if a == nil || len(a.Pods) == 0 {
		return 0
	}
	return float64(max(1, a.value)) / float64(len(a.Pods))
}

// dropAll disrupts nodes whose pods fit the others, best first: as many at a time as fit together.
func (o *optimizer) dropAll(list []*candidate) {
	byMerit(list, func(a *candidate) model.MicroUSD { return a.Price })
	for size := model.MaxCommandNodes; len(list) > 0 && o.drops < mostDrops; {
		if o.full() {
			o.cut(list)
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
			o.add(o.split(chunk, &out, o.share(1+len(list)/model.MaxCommandNodes)))
		case len(chunk) > 1:
			size = len(chunk) / 2
		default:
			if chunk[0].unplaceable { // what no new node holds either, and why
				if lost := o.simulation.without(chunk, 1).homeless; len(lost) > 0 {
					o.note(chunk[0], describe(lost))
				}
			}
			list = list[1:]
		}
	}
}

// nextToDrop returns the first nodes of the list that budgets let go and whose pods may fit the others, at most size; what cannot
// go is taken off the list before them.
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
	for _, a := range o.candidates {
		switch {
		case a.settled:
			delete(o.why, a.name())
		case a.host:
			o.keep(a, NoSavings, "it takes pods of nodes that are disrupted")
		case a.unplaceable:
			o.keep(a, Unplaceable, "its pods fit no other node, and no new node could hold all of them")
		case !a.mayDisrupt(replacing): // what holds that back is known
		case a.Claim.CapacityType == model.Spot && !o.v.set.SpotToSpot && a.mayPay():
			o.keep(a, SpotToSpot, "its pods fit no other node, and spot nodes are not to be replaced by spot nodes")
		default:
			o.keep(a, NoSavings, "it costs $%.4f per hour, and its pods would cost $%.4f at best", a.Price.USD(), a.value.USD())
		}
	}
}

// SpotToSpot is the code of spot nodes that only other spot nodes could take the place of.
const SpotToSpot = "SpotToSpot"
