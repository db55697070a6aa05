package placing

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
)

// Place puts as many units of the pod group as possible and returns the pod batches that need new nodes.
func (a *Assigner) Place(c *group.PodGroup) []*newnodes.PodBatch {
	if c.Units() == 0 {
		return nil
	}
	if c.Plain() {
		a.placePlain(c)
		if !a.MayOpen || c.Units() == 0 {
			return nil
		}
		return []*newnodes.PodBatch{{PodGroup: c, Pods: c.TakeUnits(c.Units()), Pools: a.Planner.CandidatePools(c)}}
	}
	l := a.NewPlacement(c)
	l.start = l.roomiest()
	for c.Units() > 0 && l.placeUnit() {
		l.start = nil
	}
	var out []*newnodes.PodBatch
	for i := range l.cells {
		if cell := &l.cells[i]; len(cell.Pods) > 0 {
			out = append(out, &newnodes.PodBatch{PodGroup: c, Pods: cell.Pods, Values: cell.Values, Pools: cell.Pools})
		}
	}
	return out
}

// placePlain puts units of a pod group no rule is about on the first existing nodes that hold them, those with a taint
// it would rather avoid last.
func (a *Assigner) placePlain(c *group.PodGroup) {
	p := a.Existing
	if p.Total == 0 {
		return
	}
	nodeSets := a.builtNodeSets(c)
	for i := range nodeSets {
		nodeSets[i].cursor = p.Like(nodeSets[i].Sign, c.Request)
		nodeSets[i].wrapped = nodeSets[i].cursor == 0
	}
	for _, soft := range []bool{false, true} {
		for c.Units() > 0 {
			best, bestGroup := -1, -1
			for i := range nodeSets {
				g := &nodeSets[i]
				if g.settled || g.Soft != soft {
					continue
				}
				slot := p.FirstWith(g.Sign, c.Request, g.cursor)
				if slot < 0 && !g.wrapped { // round once, from where existing nodes are free as the pod group asks
					g.wrapped, g.cursor = true, 0
					slot = p.FirstWith(g.Sign, c.Request, 0)
				}
				if slot < 0 {
					g.settled, g.cursor = true, len(p.BySign[g.Sign])
					continue
				}
				g.cursor = slot
				if n := p.BySign[g.Sign][slot]; best < 0 || n < best {
					best, bestGroup = n, i
				}
			}
			if best < 0 && p.More() {
				nodeSets = a.grown(c, nodeSets)
				continue
			}
			if best < 0 {
				break
			}
			s := p.List[best]
			n := c.Request.Copies(s.Free, c.Units())
			p.Take(best, c.Request, n)
			s.Pods = append(s.Pods, c.TakeUnits(n)...)
			nodeSets[bestGroup].cursor++
		}
	}
}

// grown returns the pod group's groups once more existing nodes are made. Where one was searched before, the search
// goes on.
func (a *Assigner) grown(c *group.PodGroup, before []NodeSet) []NodeSet {
	cursors := make(map[int]int, len(before))
	for i := range before {
		cursors[before[i].Sign] = before[i].cursor
	}
	nodeSets := a.builtNodeSets(c)
	for i := range nodeSets {
		nodeSets[i].cursor, nodeSets[i].wrapped = cursors[nodeSets[i].Sign], true
	}
	return nodeSets
}

// NodeSets returns the existing nodes that may hold the pod group as far as labels and taints go.
func (a *Assigner) NodeSets(c *group.PodGroup) []NodeSet {
	a.Existing.All()
	return a.builtNodeSets(c)
}

// builtNodeSets is groups of the existing nodes that are made.
func (a *Assigner) builtNodeSets(c *group.PodGroup) []NodeSet {
	p := a.Existing
	var out []NodeSet
	for sign, list := range p.BySign {
		if len(list) == 0 {
			continue
		}
		s := p.List[list[0]]
		verdict := existing.Evaluate(c, s)
		if verdict == existing.Refused {
			continue
		}
		g := NodeSet{Sign: sign, Soft: verdict == existing.Reluctant, coming: !s.Initialized, values: s.Values(c.Keys)}
		if s.Market != nil {
			g.open = s.Possibles(c.Keys)
			g.vague = slices.ContainsFunc(c.Contributions, func(contribution group.Contribution) bool {
				return len(s.Possible(a.Rules.TopologyGroups[contribution.TopologyGroup].Key)) > 0
			})
		}
		out = append(out, g)
	}
	return out
}

// NewPlacement returns the pod group's placement on all that exists and on new nodes.
func (a *Assigner) NewPlacement(c *group.PodGroup) *Placement { return a.PlacementOn(c, a.NodeSets(c)) }

// PlacementOn is NewPlacement where the existing nodes to search are known; none where it is only asked about single
// existing nodes.
func (a *Assigner) PlacementOn(c *group.PodGroup, nodeSets []NodeSet) *Placement {
	l := &Placement{Assigner: a, podGroup: c, nodeSets: nodeSets}
	for _, u := range c.Constraints {
		l.hostAffinity = l.hostAffinity || u.Kind == group.Affinity && u.ByHost
		l.spreads = l.spreads || u.Kind == group.Spread && !u.ByHost
	}
	if a.MayOpen && !l.hostAffinity {
		l.cells = a.Planner.Cells(c)
		if len(c.Shut) > 0 {
			l.cells = slices.DeleteFunc(l.cells, func(x newnodes.Cell) bool {
				return slices.ContainsFunc(c.Shut, func(values []string) bool { return slices.Equal(values, x.Values) })
			})
		}
	}
	wide := c.Settled || a.MayOpen && (a.Wide == nil || a.Wide[c])
	l.universe, l.softs = l.universes(c.Constraints, wide), l.universes(c.Soft, wide)
	l.exact = make([]bool, len(c.Constraints))
	for u := range c.Constraints {
		l.exact[u] = c.Constraints[u].ByHost && c.Constraints[u].Kind == group.Spread && !wide
	}
	return l
}

// universes returns, for each spread, the domains it counts: those of nodes that exist and, where wide, of new ones.
func (l *Placement) universes(constraints []group.Constraint, wide bool) [][]string {
	out := make([][]string, len(constraints))
	for i, u := range constraints {
		t := &l.Rules.TopologyGroups[u.TopologyGroup]
		if u.Kind != group.Spread || t.Host {
			continue
		}
		seen := make(map[string]bool, len(t.Nodes))
		for value := range t.Nodes {
			seen[value] = true
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		if wide {
			for c := range l.cells {
				if value := l.cells[c].Values[k]; value != "" {
					seen[value] = true
				}
			}
		}
		if l.podGroup.Settled && u.Weight == 0 {
			for _, value := range l.Planner.Offered(l.podGroup, k) {
				seen[value] = true
			}
		}
		out[i] = slices.Sorted(maps.Keys(seen))
	}
	return out
}
