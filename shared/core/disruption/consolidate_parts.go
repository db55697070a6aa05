package disruption

import (
	"cmp"
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

// cost is what carrying the part out disturbs.
func (p *part) cost() int64 {
	sum := int64(0)
	for _, a := range p.group {
		sum += a.CostMilli
	}
	return sum
}

// grouped divides candidates into groups of about equal size that one command holds, of one pool, zone and capacity
// type where there are enough: those share what their pods ask for. No group has spot nodes and others.
func grouped(list []*candidate) [][]*candidate {
	list = slices.Clone(list)
	kind := func(a *candidate) string { return a.Claim.CapacityType }
	slices.SortStableFunc(list, func(a, b *candidate) int {
		return cmp.Or(strings.Compare(kind(a), kind(b)), strings.Compare(a.Pool.Name, b.Pool.Name),
			strings.Compare(a.Claim.Zone, b.Claim.Zone))
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

// sets are disjoint sets of numbers from 0 on; each number leads to the least of its set.
type sets []int

func newSets(count int) sets {
	out := make(sets, count)
	for n := range out {
		out[n] = n
	}
	return out
}

// least returns the least number of the set that one is in.
func (s sets) least(n int) int {
	for s[n] != n {
		s[n] = s[s[n]]
		n = s[n]
	}
	return n
}

// join makes the sets of two numbers one.
func (s sets) join(a, b int) {
	if a, b = s.least(a), s.least(b); a != b {
		s[max(a, b)] = min(a, b)
	}
}

// leasts returns the least number of each set.
func (s sets) leasts() []int {
	var out []int
	for n := range s {
		if s.least(n) == n {
			out = append(out, n)
		}
	}
	return out
}

// partsOf divides a group into commands that do not depend on each other, so that what stops one stops no other: nodes
// whose pods share a new node, or the room of one that exists, or have binding rules about each other, go together.
// Where that makes more than most, neighbors are joined.
func partsOf(s *simulation, group []*candidate, out *outcome, most int) []part {
	number, owner := make(map[*candidate]int, len(group)), owners(s.fork.in.Snapshot, group)
	for n, a := range group {
		number[a] = n
	}
	joined := newSets(len(group))
	for i := range out.claims {
		for _, ref := range out.claims[i].Pods[1:] {
			joined.join(number[owner[out.claims[i].Pods[0]]], number[owner[ref]])
		}
	}
	for i := range out.moves {
		for _, ref := range out.moves[i].Pods[1:] {
			joined.join(number[owner[out.moves[i].Pods[0]]], number[owner[ref]])
		}
	}
	if !s.plain {
		on := byShape(s.fork.in.Snapshot, group)
		for _, shapes := range linkedShapes(s.fork.snapshot, slices.Sorted(maps.Keys(on))) {
			for _, shape := range shapes {
				for _, a := range on[shape] {
					joined.join(number[on[shapes[0]][0]], number[a])
				}
			}
		}
	}
	roots := joined.leasts()
	for i := 1; i < len(roots) && len(roots) > most; i++ { // neighbors, so that at most so many are left
		if i*most/len(roots) == (i-1)*most/len(roots) {
			joined.join(roots[i-1], roots[i])
		}
	}
	roots = joined.leasts()
	parts := make([]part, len(roots))
	of := func(a *candidate) int { n, _ := slices.BinarySearch(roots, joined.least(number[a])); return n }
	for _, a := range group {
		parts[of(a)].group = append(parts[of(a)].group, a)
	}
	for i := range out.claims {
		p := &parts[of(owner[out.claims[i].Pods[0]])]
		p.claims = append(p.claims, out.claims[i])
	}
	for _, move := range out.moves {
		p := &parts[of(owner[move.Pods[0]])]
		p.moves = append(p.moves, move)
	}
	return parts
}

// byShape returns the group's nodes by the shapes of the pods that move off them.
func byShape(snapshot *model.Snapshot, group []*candidate) map[int][]*candidate {
	out := make(map[int][]*candidate)
	for _, a := range group {
		for _, i := range a.Pods {
			shape := snapshot.Pods[i].Shape
			if on := out[shape]; len(on) == 0 || on[len(on)-1] != a {
				out[shape] = append(on, a)
			}
		}
	}
	return out
}
