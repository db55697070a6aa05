package placing

import (
	"math"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/topology"
)

// hostLow returns the count of the emptiest node a spread by host looks at: none, where new ones may come, and for
// existing node n where that is on its way: until it is there another one may be.
func (l *Placement) hostLow(i, n int) int32 {
	if n >= 0 && l.Existing.List[n].Number < 0 {
		return 0
	}
	u := &l.podGroup.Constraints[i]
	t := &l.Rules.TopologyGroups[u.TopologyGroup]
	if !l.exact[i] || len(t.Eligible) == 0 || len(t.Eligible) < int(u.MinDomains) {
		return 0
	}
	return t.Least
}

// hostLows sums up the emptiest nodes of all spreads by host that the pod group keeps, or that pods it is counted by
// keep. They only grow.
func (l *Placement) hostLows() int32 {
	sum := int32(0)
	for i := range l.exact {
		if l.exact[i] {
			sum += l.hostLow(i, -1)
		}
	}
	for _, a := range l.podGroup.Contributions {
		if t := &l.Rules.TopologyGroups[a.TopologyGroup]; len(t.Beyond) > 0 {
			sum += t.Least
		}
	}
	return sum
}

// refuses returns the rule that keeps the pod group out of the domain, hosts aside; nil where none does. open says what
// labels of a claim on its way may still become.
func (l *Placement) refuses(values []string, open [][]string) *group.Constraint {
	for i := range l.podGroup.Constraints {
		u := &l.podGroup.Constraints[i]
		t := &l.Rules.TopologyGroups[u.TopologyGroup]
		if t.Host {
			continue
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		there := values[k] != ""
		switch u.Kind {
		case group.Affinity:
			if !there || t.Count[values[k]] == 0 && !l.mayStart(u) {
				return u
			}
		case group.AntiAffinity:
			if there && t.Count[values[k]]+t.Maybe[values[k]] > 0 {
				return u
			}
			if !there && open != nil && slices.ContainsFunc(open[k], func(value string) bool { return t.Count[value]+t.Maybe[value] > 0 }) {
				return u
			}
		case group.Spread:
			if !there || t.Count[values[k]]+t.Maybe[values[k]]+u.Self-l.lowest(t, l.universe[i], u.MinDomains) > u.MaxSkew {
				return u
			}
		}
	}
	return nil
}

// lowest returns the count of the emptiest domain: none, where there are fewer domains than are asked for.
func (l *Placement) lowest(t *group.TopologyGroup, universe []string, minDomains int32) int32 {
	if len(universe) == 0 || len(universe) < int(minDomains) {
		return 0
	}
	low := int32(math.MaxInt32)
	for _, value := range universe {
		low = min(low, t.Count[value])
	}
	return low
}

// mayStart reports whether the pod group may be the first of the pods the rule looks for.
func (l *Placement) mayStart(u *group.Constraint) bool {
	if u.Claim {
		return l.Rules.TopologyGroups[u.TopologyGroup].Total == 0
	}
	return l.bootstraps()
}

// bootstraps reports whether the pod group may be the first of the pods its affinity looks for.
func (l *Placement) bootstraps() bool {
	for _, u := range l.podGroup.Constraints {
		if u.Kind == group.Affinity && !u.Claim && (u.Self == 0 || l.Rules.TopologyGroups[u.TopologyGroup].Total > 0) {
			return false
		}
	}
	return true
}

// hostRefuses returns the code of the rule that keeps a unit off existing node n, domains aside; empty where none does.
func (l *Placement) hostRefuses(n int) string {
	s := l.Existing.List[n]
	for i := range l.podGroup.Constraints {
		u := &l.podGroup.Constraints[i]
		t := &l.Rules.TopologyGroups[u.TopologyGroup]
		if !t.Host {
			continue
		}
		count := t.ByNode[n]
		switch {
		case u.Kind == group.Affinity && count == 0 && !l.bootstraps():
			return input.PodAffinity
		case u.Kind == group.AntiAffinity && count > 0:
			return input.PodAntiAffinity
		case u.Kind == group.Spread && count+u.Self-l.hostLow(i, n) > u.MaxSkew:
			return input.TopologySpread
		}
	}
	for _, contribution := range l.podGroup.Contributions {
		t := &l.Rules.TopologyGroups[contribution.TopologyGroup]
		if most, bound := t.Limit[n]; bound && t.ByNode[n]+contribution.Weight > most {
			return input.TopologySpread
		}
		if most, bound := t.Beyond[n]; bound && t.ByNode[n]+contribution.Weight-t.Least > most {
			return input.TopologySpread
		}
	}
	if _, clash := topology.PortConflict(l.podGroup.Ports, s.Ports); clash {
		return input.HostPortTaken
	}
	if l.podGroup.Attaches && !l.Existing.Attachable(s, l.podGroup.Pods[:l.podGroup.Stride]) {
		return input.VolumeLimit
	}
	if !l.Existing.Devices(s, l.podGroup) {
		return input.DevicesUnavailable
	}
	return ""
}

// strayed is how much it counts that a pod goes where the pods that wait for its like are not.
const strayed = 1_000_000

// unbalance returns by how much a unit in the domain would break the balance pods that spread ask of those they count.
// Where nodes of the domain exist, the domains of all that exist count too, and pods that could make up for it are not
// relied on.
func (l *Placement) unbalance(values []string, exists bool) int64 {
	sum := int64(0)
	for _, contribution := range l.podGroup.Contributions {
		t := &l.Rules.TopologyGroups[contribution.TopologyGroup]
		if t.Host {
			continue
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		if values[k] == "" {
			continue
		}
		if t.Followed && t.Total > 0 && t.Count[values[k]] == 0 && !l.podGroup.Follows(contribution.TopologyGroup) {
			sum += strayed
		}
		if !t.Wanted || !exists && l.MayOpen && !l.spreads && l.adapts(contribution.TopologyGroup) {
			continue
		}
		low := int32(math.MaxInt32)
		if exists {
			for value := range t.Nodes { // a minimum does not depend on the order
				low = min(low, t.Count[value])
			}
		}
		for c := range l.cells {
			low = min(low, t.Count[l.cells[c].Values[k]])
		}
		sum += int64(max(0, t.Count[values[k]]+contribution.Weight-low-t.Tightest))
	}
	return sum
}

// adapts reports whether every pod that is spread by the topology group may go wherever any of them may, so that they
// can make up for others that go where it is cheapest.
func (l *Placement) adapts(topologyGroup int) bool {
	t := &l.Rules.TopologyGroups[topologyGroup]
	if l.Strict {
		return false
	}
	if t.Adapts == 0 {
		t.Adapts = 1
		all := make(map[string]bool)
		var domains []map[string]bool
		for _, c := range l.Planner.Owners[topologyGroup] {
			k, own := slices.Index(c.Keys, t.Key), make(map[string]bool)
			for _, cell := range l.Planner.Cells(c) {
				own[cell.Values[k]], all[cell.Values[k]] = true, true
			}
			domains = append(domains, own)
		}
		for value := range t.Nodes { // whether any is missing does not depend on the order
			all[value] = true
		}
		if len(all) < 2 || slices.ContainsFunc(domains, func(own map[string]bool) bool { return len(own) < len(all) }) {
			t.Adapts = -1
		}
	}
	return t.Adapts > 0
}

// penalty returns how much the pod group's preferences between pods speak against the domain.
func (l *Placement) penalty(values []string) int64 {
	sum := int64(0)
	for i := range l.podGroup.Soft {
		u := &l.podGroup.Soft[i]
		t := &l.Rules.TopologyGroups[u.TopologyGroup]
		if t.Host {
			continue
		}
		k := slices.Index(l.podGroup.Keys, t.Key)
		count := int64(t.Count[values[k]]) // none where the label is not there
		switch u.Kind {
		case group.Affinity:
			if count == 0 && t.Total > 0 {
				sum += int64(u.Weight)
			}
		case group.AntiAffinity:
			sum += int64(u.Weight) * count
		case group.Spread:
			sum += int64(u.Weight) * max(0, count+int64(u.Self)-int64(l.lowest(t, l.softs[i], 0))-int64(u.MaxSkew))
		}
	}
	return sum
}
