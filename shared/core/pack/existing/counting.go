package existing

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// Counter counts pods on existing nodes in the topology groups of the rules.
type Counter struct{ *Nodes }

// Counter returns what counts the pods on the existing nodes.
func (p *Nodes) Counter() Counter { return Counter{p} }

// countPods counts the pods there are in every topology group.
func (p Counter) countPods() {
	rules := p.Rules
	if rules.Empty() {
		return
	}
	p.countDomains()
	p.countGoing()
	for n, s := range p.List {
		for _, i := range s.homed {
			for _, a := range p.addsOfPod(i) {
				p.Count(a.TopologyGroup, n, a.Weight)
			}
		}
	}
	nodeOf, nodes := make([]int, len(p.List)), make(map[string]*Node) // by node
	for i, s := range p.List {
		if s.Number >= 0 {
			nodeOf[s.Number] = i
			if len(p.In.Expected) > 0 {
				nodes[s.Name] = s
			}
		}
	}
	snapshot := p.In.Snapshot
	for i, number := range p.NodeOf {
		if number < 0 {
			continue
		}
		pod, n := &snapshot.Pods[i], nodeOf[number]
		was, expected := p.In.Expected[i]
		for _, a := range p.addsOfPod(i) {
			switch set := &rules.Sets[rules.TopologyGroups[a.TopologyGroup].Set]; {
			case set.Living && pod.DeletedUnix != 0:
			case set.Arrived && expected:
				p.await(a, pod, nodes[was], p.List[n])
			default:
				p.Count(a.TopologyGroup, n, a.Weight)
			}
		}
	}
	p.linger()
}

// linger counts pods that are yet to leave where they are until then, for those that must be far from them:
// kube-scheduler lets these in once they have left. It is about domains alone, since nodes that are left take no pods.
func (p Counter) linger() {
	if len(p.In.Expected) == 0 || !slices.ContainsFunc(p.Rules.Sets, func(s group.PodSet) bool { return s.Lingers }) {
		return
	}
	nodes := make(map[string]*model.Node)
	for _, list := range [][]model.Node{p.In.Snapshot.Nodes, p.In.Going} {
		for i := range list {
			nodes[list[i].Name] = &list[i]
		}
	}
	for i, was := range p.In.Expected { // sums: the order does not matter
		node := nodes[was]
		if node == nil || i < 0 || i >= len(p.In.Snapshot.Pods) || p.In.Snapshot.Pods[i].Buffer != "" {
			continue
		}
		for _, a := range p.addsOfPod(i) {
			if t := &p.Rules.TopologyGroups[a.TopologyGroup]; !t.Host && p.Rules.Sets[t.Set].Lingers {
				if value, has := requirement.Label(node.Labels, t.Key); has && value != "" {
					t.Count[value] += a.Weight
				}
			}
		}
	}
}

// countDomains notes for each topology group with a filter which domains there are, and on how many existing nodes.
// Tallies that differ only in the pods they count see the same.
func (p Counter) countDomains() {
	type view struct {
		key    string
		host   bool
		filter int
	}
	first, values := make(map[view]*group.TopologyGroup), make(map[view][]string)
	for t := range p.Rules.TopologyGroups {
		topologyGroup := &p.Rules.TopologyGroups[t]
		if topologyGroup.Filter < 0 {
			continue
		}
		name := view{topologyGroup.Key, topologyGroup.Host, topologyGroup.Filter}
		if like := first[name]; like != nil {
			topologyGroup.Nodes, topologyGroup.Eligible, topologyGroup.Having = maps.Clone(like.Nodes), slices.Clip(like.Eligible), slices.Clone(like.Having)
			continue
		}
		first[name] = topologyGroup
		name.filter = -1
		if values[name] == nil {
			list := make([]string, len(p.List))
			for i, s := range p.List {
				value, has := p.valueOf(topologyGroup, s)
				if list[i] = value; !has {
					list[i] = end
				}
			}
			values[name] = list
		}
		for i, s := range p.List {
			if value := values[name][i]; value != end && p.passes(topologyGroup, s) && !s.Blind {
				if topologyGroup.Host {
					topologyGroup.Eligible = append(topologyGroup.Eligible, i)
				} else {
					topologyGroup.Nodes[value]++
				}
			} else if !topologyGroup.Host {
				for _, possible := range s.Possible(topologyGroup.Key) {
					topologyGroup.Nodes[possible]++
				}
			}
		}
		if len(topologyGroup.Eligible) > 0 {
			topologyGroup.Having = []int32{int32(len(topologyGroup.Eligible))}
		}
	}
}

// countGoing has the nodes that are being disrupted count as domains, with the taints they had before.
func (p Counter) countGoing() {
	for i := range p.In.Going {
		node := &p.In.Going[i]
		label := func(key string) (string, bool) { return requirement.Label(node.Labels, key) }
		taints := terms.WithoutDisruptionTaint(node.Taints)
		for t := range p.Rules.TopologyGroups {
			if topologyGroup := &p.Rules.TopologyGroups[t]; topologyGroup.Filter >= 0 && !topologyGroup.Host {
				if value, has := label(topologyGroup.Key); has && value != "" && p.Rules.Filters[topologyGroup.Filter].Passes(label, taints) {
					topologyGroup.Nodes[value]++
				}
			}
		}
	}
}

// addsOfPod returns what a pod that is on an existing node adds to topology groups.
func (p Counter) addsOfPod(i int) []group.Contribution {
	if p.addsOf == nil {
		p.addsOf = make(map[int][]group.Contribution)
	}
	index := p.In.Snapshot.Pods[i].Shape
	contributions, read := p.addsOf[index]
	if !read {
		shape := &p.In.Snapshot.Shapes[index]
		contributions = p.Rules.Memberships(shape, p.Rules.ReadGuards(shape))
		p.addsOf[index] = contributions
	}
	return contributions
}

// await counts a pod that is yet to come from one existing node to another; from is nil where it is nowhere. Where it
// is in the same domain before and after it counts in that; else all that is known is that it is somewhere, and not
// even that of headroom.
func (p Counter) await(a group.Contribution, pod *model.Pod, from, to *Node) {
	t := &p.Rules.TopologyGroups[a.TopologyGroup]
	if from != nil {
		before, had := p.Domain(t, from)
		if after, has := p.Domain(t, to); had && has && before == after {
			t.Count[after] += a.Weight
		}
	}
	if pod.Buffer == "" {
		t.Total += a.Weight
	}
}

// Domain returns the value of the topology group's label on the existing node, and whether the existing node counts at
// all.
func (p Counter) Domain(t *group.TopologyGroup, s *Node) (string, bool) {
	value, has := p.valueOf(t, s)
	if !has {
		return "", false
	}
	return value, p.passes(t, s)
}

// valueOf returns the value of the topology group's label on the existing node, and whether it has one that counts.
func (p Counter) valueOf(t *group.TopologyGroup, s *Node) (string, bool) {
	if t.Host && !p.asIs {
		return s.Name, s.Name != ""
	}
	value, has := s.Label(t.Key)
	if !has || value == "" && !p.asIs {
		return "", false
	}
	return value, true
}

// passes reports whether the topology group's filter lets the existing node count.
func (p Counter) passes(t *group.TopologyGroup, s *Node) bool {
	if t.Filter < 0 {
		return true
	}
	f := &p.Rules.Filters[t.Filter]
	passed, known := f.Passed[s.signature]
	if !known {
		passed = passesNode(f, s)
		f.Passed[s.signature] = passed
	}
	return passed
}

// Count adds to the topology group what is on existing node n.
func (p Counter) Count(t, n int, weight int32) {
	topologyGroup := &p.Rules.TopologyGroups[t]
	value, counts := p.Domain(topologyGroup, p.List[n])
	if !counts {
		if possible := p.List[n].Possible(topologyGroup.Key); len(possible) > 0 && !topologyGroup.Host {
			for _, value := range possible {
				topologyGroup.Maybe[value] += weight
			}
			topologyGroup.Total += weight
		}
		return
	}
	if topologyGroup.Host {
		topologyGroup.ByNode[n] += weight
		topologyGroup.Move(topologyGroup.ByNode[n]-weight, topologyGroup.ByNode[n])
	} else {
		topologyGroup.Count[value] += weight
	}
	topologyGroup.Total += weight
}

// passesNode reports whether the existing node is sure to count, whatever it may become.
func passesNode(f *group.Filter, s *Node) bool {
	if s.Market == nil {
		return f.Passes(s.Label, s.Taints)
	}
	if slices.ContainsFunc(f.Keys, func(key string) bool { value, _ := s.Label(key); return value == "" && len(s.Possible(key)) == 0 }) {
		return false
	}
	if f.Terms != nil && !MeetsAny(f.Terms, s) {
		return false
	}
	return !slices.ContainsFunc(f.Tolerations, func(list []model.Toleration) bool {
		hard, _ := terms.Untolerated(list, s.Taints)
		return hard != nil
	})
}

// Free releases the capacity and the host ports that a pod of the pod group took of existing node n, and no longer
// counts it.
func (p *Nodes) Free(n int, c *group.PodGroup) {
	p.Take(n, c.Request, -1)
	for _, a := range c.Contributions {
		p.Counter().Count(a.TopologyGroup, n, -a.Weight)
	}
	s := p.List[n]
	for _, port := range c.Ports {
		if at := slices.Index(s.Ports, port); at >= 0 {
			s.Ports = slices.Delete(s.Ports, at, at+1)
		}
	}
}
