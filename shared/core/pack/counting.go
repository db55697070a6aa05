package pack

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/terms"
	"github.com/joiner-sh/joiner/shared/core/requirement"
	"github.com/joiner-sh/joiner/shared/model"
)

// topologyCounter counts pods on existing nodes in the topology groups of the rules.
type topologyCounter struct{ *existingNodes }

// counter returns what counts the pods on the existing nodes.
func (p *existingNodes) counter() topologyCounter { return topologyCounter{p} }

// countPods counts the pods there are in every topology group.
func (p topologyCounter) countPods() {
	rules := p.rules
	if rules.empty() {
		return
	}
	p.countDomains()
	p.countGoing()
	for n, s := range p.nodes {
		for _, i := range s.homed {
			for _, a := range p.addsOfPod(i) {
				p.count(a.topologyGroup, n, a.weight)
			}
		}
	}
	nodeOf, nodes := make([]int, len(p.nodes)), make(map[string]*existingNode) // by node
	for i, s := range p.nodes {
		if s.number >= 0 {
			nodeOf[s.number] = i
			if len(p.in.Expected) > 0 {
				nodes[s.name] = s
			}
		}
	}
	snapshot := p.in.Snapshot
	for i, number := range p.nodeOf {
		if number < 0 {
			continue
		}
		pod, n := &snapshot.Pods[i], nodeOf[number]
		was, expected := p.in.Expected[i]
		for _, a := range p.addsOfPod(i) {
			switch set := &rules.sets[rules.topologyGroups[a.topologyGroup].set]; {
			case set.living && pod.DeletedUnix != 0:
			case set.arrived && expected:
				p.await(a, pod, nodes[was], p.nodes[n])
			default:
				p.count(a.topologyGroup, n, a.weight)
			}
		}
	}
	p.linger()
}

// linger counts pods that are yet to leave where they are until then, for those that must be far from them: kube-scheduler lets these in
// once they have left. It is about domains alone, since nodes that are left take no pods.
func (p topologyCounter) linger() {
	if len(p.in.Expected) == 0 || !slices.ContainsFunc(p.rules.sets, func(s podSet) bool { return s.lingers }) {
		return
	}
	nodes := make(map[string]*model.Node)
	for _, list := range [][]model.Node{p.in.Snapshot.Nodes, p.in.Going} {
		for i := range list {
			nodes[list[i].Name] = &list[i]
		}
	}
	for i, was := range p.in.Expected { // sums: the order does not matter
		node := nodes[was]
		if node == nil || i < 0 || i >= len(p.in.Snapshot.Pods) || p.in.Snapshot.Pods[i].Buffer != "" {
			continue
		}
		for _, a := range p.addsOfPod(i) {
			if t := &p.rules.topologyGroups[a.topologyGroup]; !t.host && p.rules.sets[t.set].lingers {
				if value, has := requirement.Label(node.Labels, t.key); has && value != "" {
					t.count[value] += a.weight
				}
			}
		}
	}
}

// countDomains notes for each topology group with a filter which domains there are, and on how many existing nodes. Tallies that differ only in the pods
// they count see the same.
func (p topologyCounter) countDomains() {
	type view struct {
		key    string
		host   bool
		filter int
	}
	first, values := make(map[view]*topologyGroup), make(map[view][]string)
	for t := range p.rules.topologyGroups {
		topologyGroup := &p.rules.topologyGroups[t]
		if topologyGroup.filter < 0 {
			continue
		}
		name := view{topologyGroup.key, topologyGroup.host, topologyGroup.filter}
		if like := first[name]; like != nil {
			topologyGroup.nodes, topologyGroup.eligible, topologyGroup.having = maps.Clone(like.nodes), slices.Clip(like.eligible), slices.Clone(like.having)
			continue
		}
		first[name] = topologyGroup
		name.filter = -1
		if values[name] == nil {
			list := make([]string, len(p.nodes))
			for i, s := range p.nodes {
				value, has := p.valueOf(topologyGroup, s)
				if list[i] = value; !has {
					list[i] = end
				}
			}
			values[name] = list
		}
		for i, s := range p.nodes {
			if value := values[name][i]; value != end && p.passes(topologyGroup, s) && !s.blind {
				if topologyGroup.host {
					topologyGroup.eligible = append(topologyGroup.eligible, i)
				} else {
					topologyGroup.nodes[value]++
				}
			} else if !topologyGroup.host {
				for _, possible := range s.possible(topologyGroup.key) {
					topologyGroup.nodes[possible]++
				}
			}
		}
		if len(topologyGroup.eligible) > 0 {
			topologyGroup.having = []int32{int32(len(topologyGroup.eligible))}
		}
	}
}

// countGoing has the nodes that are being disrupted count as domains, with the taints they had before.
func (p topologyCounter) countGoing() {
	for i := range p.in.Going {
		node := &p.in.Going[i]
		label := func(key string) (string, bool) { return requirement.Label(node.Labels, key) }
		taints := terms.WithoutDisruptionTaint(node.Taints)
		for t := range p.rules.topologyGroups {
			if topologyGroup := &p.rules.topologyGroups[t]; topologyGroup.filter >= 0 && !topologyGroup.host {
				if value, has := label(topologyGroup.key); has && value != "" && p.rules.filters[topologyGroup.filter].passes(label, taints) {
					topologyGroup.nodes[value]++
				}
			}
		}
	}
}

// addsOfPod returns what a pod that is on an existing node adds to topology groups.
func (p topologyCounter) addsOfPod(i int) []contribution {
	if p.addsOf == nil {
		p.addsOf = make(map[int][]contribution)
	}
	index := p.in.Snapshot.Pods[i].Shape
	contributions, read := p.addsOf[index]
	if !read {
		shape := &p.in.Snapshot.Shapes[index]
		contributions = p.rules.memberships(shape, p.rules.readGuards(shape))
		p.addsOf[index] = contributions
	}
	return contributions
}

// await counts a pod that is yet to come from one existing node to another; from is nil where it is nowhere. Where it is in the same domain
// before and after it counts in that; else all that is known is that it is somewhere, and not even that of headroom.
func (p topologyCounter) await(a contribution, pod *model.Pod, from, to *existingNode) {
	t := &p.rules.topologyGroups[a.topologyGroup]
	if from != nil {
		before, had := p.domain(t, from)
		if after, has := p.domain(t, to); had && has && before == after {
			t.count[after] += a.weight
		}
	}
	if pod.Buffer == "" {
		t.total += a.weight
	}
}

// domain returns the value of the topology group's label on the existing node, and whether the existing node counts at all.
func (p topologyCounter) domain(t *topologyGroup, s *existingNode) (string, bool) {
	value, has := p.valueOf(t, s)
	if !has {
		return "", false
	}
	return value, p.passes(t, s)
}

// valueOf returns the value of the topology group's label on the existing node, and whether it has one that counts.
func (p topologyCounter) valueOf(t *topologyGroup, s *existingNode) (string, bool) {
	if t.host && !p.asIs {
		return s.name, s.name != ""
	}
	value, has := s.label(t.key)
	if !has || value == "" && !p.asIs {
		return "", false
	}
	return value, true
}

// passes reports whether the topology group's filter lets the existing node count.
func (p topologyCounter) passes(t *topologyGroup, s *existingNode) bool {
	if t.filter < 0 {
		return true
	}
	f := &p.rules.filters[t.filter]
	passed, known := f.passed[s.signature]
	if !known {
		passed = f.passesNode(s)
		f.passed[s.signature] = passed
	}
	return passed
}

// count adds to the topology group what is on existing node n.
func (p topologyCounter) count(t, n int, weight int32) {
	topologyGroup := &p.rules.topologyGroups[t]
	value, counts := p.domain(topologyGroup, p.nodes[n])
	if !counts {
		if possible := p.nodes[n].possible(topologyGroup.key); len(possible) > 0 && !topologyGroup.host {
			for _, value := range possible {
				topologyGroup.maybe[value] += weight
			}
			topologyGroup.total += weight
		}
		return
	}
	if topologyGroup.host {
		topologyGroup.byNode[n] += weight
		topologyGroup.move(topologyGroup.byNode[n]-weight, topologyGroup.byNode[n])
	} else {
		topologyGroup.count[value] += weight
	}
	topologyGroup.total += weight
}
