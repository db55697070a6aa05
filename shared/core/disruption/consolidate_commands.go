package disruption

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/model"
)

// part is nodes of a group that share what takes their pods with none of the others.
type part struct {
	group   []*candidate
	claims  []model.PlannedClaim
	moves   []model.Nomination
	command model.PlannedCommand
}

// price returns what the part's nodes cost per hour.
func (p *part) price() model.MicroUSD {
	sum := model.MicroUSD(0)
	for _, a := range p.group {
		sum += a.Price
	}
	return sum
}

// split divides a group into commands that do not depend on each other, so that what stops one stops no other: nodes whose pods share
// a new node, or the room of one that exists, or have binding rules about each other, go together. Where that makes more than most,
// neighbors are joined.
func (o *optimizer) split(group []*candidate, out *outcome, most int) []part {
	number := make(map[*candidate]int, len(group))
	root := make([]int, len(group))
	for n, a := range group {
		number[a], root[n] = n, n
	}
	find := func(n int) int {
		for root[n] != n {
			root[n] = root[root[n]]
			n = root[n]
		}
		return n
	}
	join := func(a, b int) {
		if a, b = find(a), find(b); a != b {
			root[max(a, b)] = min(a, b)
		}
	}
	owner := o.owners(group)
	together := func(pods []model.PodRef) {
		for _, ref := range pods[1:] {
			join(number[owner[pods[0]]], number[owner[ref]])
		}
	}
	for i := range out.claims {
		together(out.claims[i].Pods)
	}
	for i := range out.moves {
		together(out.moves[i].Pods)
	}
	on := o.byShape(group)
	for _, shapes := range o.simulation.linkedShapes(slices.Sorted(maps.Keys(on))) {
		first := on[shapes[0]][0]
		for _, shape := range shapes {
			for _, a := range on[shape] {
				join(number[first], number[a])
			}
		}
	}
	var roots []int
	for n := range root {
		if find(n) == n {
			roots = append(roots, n)
		}
	}
	for i := 1; i < len(roots) && len(roots) > most; i++ { // neighbors, so that at most so many are left
		if i*most/len(roots) == (i-1)*most/len(roots) {
			join(roots[i-1], roots[i])
		}
	}
	partOf := make(map[int]int)
	var parts []part
	for n, a := range group {
		r := find(n)
		p, known := partOf[r]
		if !known {
			p = len(parts)
			partOf[r] = p
			parts = append(parts, part{})
		}
		parts[p].group = append(parts[p].group, a)
	}
	of := func(ref model.PodRef) int { return partOf[find(number[owner[ref]])] }
	for i := range out.claims {
		p := &parts[of(out.claims[i].Pods[0])]
		p.claims = append(p.claims, out.claims[i])
	}
	for _, move := range out.moves {
		byPart := make(map[int][]model.PodRef)
		for _, ref := range move.Pods {
			byPart[of(ref)] = append(byPart[of(ref)], ref)
		}
		for p := range parts {
			if len(byPart[p]) > 0 {
				parts[p].moves = append(parts[p].moves, model.Nomination{Node: move.Node, Pods: byPart[p]})
			}
		}
	}
	return parts
}

// byShape returns the group's nodes by the shapes of the pods that move off them.
func (o *optimizer) byShape(group []*candidate) map[int][]*candidate {
	out := make(map[int][]*candidate)
	for _, a := range group {
		for _, i := range a.Pods {
			shape := o.v.in.Snapshot.Pods[i].Shape
			if on := out[shape]; len(on) == 0 || on[len(on)-1] != a {
				out[shape] = append(on, a)
			}
		}
	}
	return out
}

// add adds parts as commands, best first, where each saves enough by itself and all that are asked approve. Of a part whose pods would
// wait for each other one node goes now, if it can by itself, and the others another time.
func (o *optimizer) add(parts []part) {
	var waits []part
	kept := parts[:0]
	for i := range parts {
		p := &parts[i]
		if no := o.finish(p); no != nil {
			for _, a := range p.group {
				o.note(a, *no)
			}
			if no.Code == SpreadWaits && len(p.group) > 1 {
				waits = append(waits, *p)
			}
			continue
		}
		kept = append(kept, *p)
	}
	slices.SortStableFunc(kept, func(a, b part) int {
		return cmp.Or(compareProducts(b.command.Savings, a.cost(), a.command.Savings, b.cost()), strings.Compare(a.group[0].name(), b.group[0].name()))
	})
	for i := range kept {
		p := &kept[i]
		if o.full() {
			o.cut(p.group)
			continue
		}
		for _, a := range p.group {
			a.settled = true
			o.budgets.take(a.poolNode)
		}
		o.commands = append(o.commands, p.command)
		o.simulation.apply(&p.command, p.group)
		for _, move := range p.command.Moves {
			if i, known := slices.BinarySearchFunc(o.candidates, move.Node, func(a *candidate, name string) int { return strings.Compare(a.name(), name) }); known {
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
	o.v.replanAt(o.v.now + soonSeconds)
	ways := noWay // of opening nodes: none where none is to be opened for the part
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
		if len(out.homeless) > 0 || len(o.keepers(group, &out)) == 0 {
			continue
		}
		o.add(o.split(group, &out, 1))
		if a.settled {
			return
		}
	}
}

// cost is what carrying the part out disturbs.
func (p *part) cost() int64 {
	sum := int64(0)
	for _, a := range p.group {
		sum += a.CostMilli
	}
	return sum
}

// finish makes the part a command; else it says why it is none.
func (o *optimizer) finish(p *part) *model.KeptReason {
	price, planned := p.price(), model.MicroUSD(0)
	for i := range p.claims {
		planned += p.claims[i].Price
	}
	most := price - o.least(p, price) // that replacements may cost together
	if planned > most {
		return &model.KeptReason{Code: NoSavings, Message: fmt.Sprintf("consolidating %s would save $%.4f of $%.4f per hour, which is too little",
			some("node", namesOf(p.group)), (price - planned).USD(), price.USD())}
	}
	for i := range p.claims {
		g := guard{v: o.v, types: o.typesOf(p.claims[i].Class), group: p.group, claim: p.claims[i], ceiling: ceilingOf(p.claims[i].Price, planned, most, len(p.claims))}
		if code, why := g.narrow(); code != "" {
			return &model.KeptReason{Code: code, Message: why}
		}
		p.claims[i] = g.claim
	}
	if no := o.v.approves(poolNodesOf(p.group), price-planned); no != nil {
		return no
	}
	if no := o.misfits(p, price-planned); no != nil {
		return no
	}
	p.command = o.v.command(model.ReasonUnderutilized, poolNodesOf(p.group), outcome{claims: p.claims, moves: p.moves, price: planned})
	return o.v.unbalancedAlone(&p.command, poolNodesOf(p.group))
}

// typesOf returns what a class can buy, by name.
func (o *optimizer) typesOf(class string) map[string]*model.InstanceType {
	known := o.types[class]
	if known == nil {
		known = make(map[string]*model.InstanceType)
		for i := range o.v.in.Catalogs[class] {
			t := &o.v.in.Catalogs[class][i]
			known[t.Name] = t
		}
		o.types[class] = known
	}
	return known
}

func namesOf(group []*candidate) []string {
	var names []string
	for _, a := range group {
		names = append(names, a.name())
	}
	return names
}

// least returns what disruption the part's nodes must save, which cost so much.
func (o *optimizer) least(p *part, price model.MicroUSD) model.MicroUSD {
	percent := o.v.set.MinSavingPercent
	if len(p.claims) > 0 {
		percent = max(percent, worthwhilePercent)
	}
	return max(o.v.set.MinSaving, (price*model.MicroUSD(percent)+99)/100)
}

// ceilingOf returns what a claim may cost at worst, so that all together stay within most: its part of that.
func ceilingOf(price, planned, most model.MicroUSD, claims int) model.MicroUSD {
	if planned <= 0 {
		return most / model.MicroUSD(claims)
	}
	return model.MicroUSD(float64(most) * (float64(price) / float64(planned)))
}
