package existing

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/model"
)

// NewMemory returns the memory for plans of a cluster with so many shapes of pods.
func NewMemory(shapes int) *Memory {
	return &Memory{requests: make([]knownRequest, shapes), drafts: make(map[draftKey]*Node), caches: make(map[cacheKey]*nodeCache), claims: new(claimIndex)}
}

// Begin begins the next plan.
func (d *Memory) Begin(in *input.Input) {
	d.plans, d.solvers = d.plans+1, 0
	d.claims.fill(in)
}

// is reports whether it was that pod, on the same node.
func (k *cachedPod) is(pod *model.Pod) bool {
	return pod.NodeName == k.node && int(k.shape) == pod.Shape && (pod.UID != "" && pod.UID == k.key || pod.UID == "" && pod.Key() == k.key)
}

// cacheFor returns what is known of the existing nodes there are; nil where there is no cache, or it is of no use:
// where two nodes have one name, and where pods name the node they are to be on.
func (p *Nodes) cacheFor() *nodeCache {
	if p.memory == nil || p.asIs || len(p.Classifier.Names) > 0 {
		return nil
	}
	key := cacheKey{p.NeedPorts, p.NeedConflicts, p.NeedDisks}
	c := p.memory.caches[key]
	if c == nil {
		c = &nodeCache{index: make(map[string]int32), signs: make(map[string]*cachedSigns)}
		p.memory.caches[key] = c
	}
	if c.plan != p.memory.plans { // else it was another solver of the same plan
		if c.plan, c.unique = p.memory.plans, c.findNodes(p); c.unique {
			c.findPods(p)
			c.makeNodes(p)
		}
	}
	if !c.unique {
		return nil
	}
	p.NodeOf, p.cached = c.nodeOf, c.cached
	return c
}

// findNodes finds the existing nodes of the nodes there are; false where one is there twice.
func (c *nodeCache) findNodes(p *Nodes) bool {
	nodes, known := p.In.Snapshot.Nodes, len(c.nodes)
	for n := range c.at {
		c.at[n] = -1
	}
	c.cached = slices.Grow(c.cached[:0], len(nodes))[:len(nodes)]
	for i := range nodes {
		n, is := c.index[nodes[i].Name]
		if !is {
			n = int32(len(c.nodes))
			c.index[nodes[i].Name] = n
			c.nodes, c.at = append(c.nodes, cachedNode{}), append(c.at, -1)
		}
		if c.at[n] >= 0 {
			return false
		}
		c.at[n], c.cached[i] = int32(i), n
	}
	if len(c.nodes) > known { // there may be pods on the new ones
		for i := range c.pods {
			if pod := &c.pods[i]; pod.on < 0 && pod.node != "" {
				pod.on = c.cachedNodeOf(pod.node)
			}
		}
	}
	return true
}

// cachedNodeOf returns the existing node of a node, −1 where none is known.
func (c *nodeCache) cachedNodeOf(node string) int32 {
	if n, is := c.index[node]; is {
		return n
	}
	return -1
}

// findPods notes of which node each pod holds something, and which existing nodes it makes others than they were.
func (c *nodeCache) findPods(p *Nodes) {
	pods := p.In.Snapshot.Pods
	for len(c.pods) < len(pods) {
		c.pods, c.moving = append(c.pods, cachedPod{on: -1, occupies: -1}), append(c.moving, false)
	}
	for i := len(pods); i < len(c.pods); i++ {
		c.noteNode(&c.pods[i], -1)
	}
	for i := range p.moving { // each on its own: the order does not matter
		c.moving[i] = true
	}
	c.nodeOf = slices.Grow(c.nodeOf[:0], len(pods))[:len(pods)]
	for i := range pods {
		pod, known := &pods[i], &c.pods[i]
		if !known.is(pod) {
			c.noteNode(known, -1)
			*known = cachedPod{key: cmp.Or(pod.UID, pod.Key()), node: pod.NodeName, shape: int32(pod.Shape), on: c.cachedNodeOf(pod.NodeName), occupies: -1}
		}
		holds := int32(-1)
		if known.on >= 0 && !c.moving[i] && input.OnNode(p.In.Snapshot, i, nil) {
			holds = known.on
		}
		if c.noteNode(known, holds); holds >= 0 {
			c.nodeOf[i] = c.at[holds]
		} else {
			c.nodeOf[i] = -1
		}
	}
	for i := range p.moving {
		c.moving[i] = false
	}
}

// noteNode notes that a pod holds something of an existing node, and of none it held something of before.
func (c *nodeCache) noteNode(pod *cachedPod, node int32) {
	if pod.occupies == node {
		return
	}
	for _, n := range []int32{pod.occupies, node} {
		if n >= 0 {
			c.nodes[n].made = false
		}
	}
	pod.occupies = node
}

// makeNodes makes those of the existing nodes there are that are not what they were.
func (c *nodeCache) makeNodes(p *Nodes) {
	nodes := p.In.Snapshot.Nodes
	var list []int32 // nodes
	for i := range nodes {
		claim, known := p.claimAt(i), &c.nodes[c.cached[i]]
		if known.made && (known.claimed == (claim != nil) || nodes[i].Initialized()) {
			continue
		}
		*known = cachedNode{made: true, claimed: claim != nil}
		p.fromNode(&known.Node, &nodes[i], claim)
		known.cache = c.cached[i]
		known.unread, list = true, append(list, int32(i))
	}
	if len(list) == 0 {
		return
	}
	running, place := make([]bool, len(list)*len(p.Daemons)), make([]int32, len(nodes))
	for n, i := range list {
		place[i] = int32(n)
	}
	for i, n := range c.nodeOf {
		if n >= 0 && c.nodes[c.cached[n]].unread {
			p.occupy(&c.nodes[c.cached[n]].Node, i, running[int(place[n])*len(p.Daemons):][:len(p.Daemons)])
		}
	}
	for n, i := range list {
		s := &c.nodes[c.cached[i]].Node
		p.reserveDaemons(s, running[n*len(p.Daemons):][:len(p.Daemons)])
		s.unread = false
	}
}

// copyTo makes s the existing node of a node, to plan on. What it has for its room it keeps.
func (c *nodeCache) copyTo(s *Node, p *Nodes, number int) {
	known, room := &c.nodes[p.cached[number]].Node, s.Free
	*s = *known
	copy(room, known.Free)
	s.Free, s.Number, s.Ports, s.coming, s.Promised = room, number, slices.Clip(s.Ports), slices.Clip(s.coming), nil
	s.claiming = slices.Clip(s.claiming)
	if claim := p.claimAt(number); claim != nil {
		s.Promised = claim.Pods
	}
	if known.Attached != nil {
		s.Attached = make(map[string]map[string]bool, len(known.Attached))
		for driver, volumes := range known.Attached { // each on its own: the order does not matter
			s.Attached[driver] = maps.Clone(volumes)
		}
	}
}

// signsOf returns what is known of what pod groups can see of existing nodes, if these are the keys of labels they ask
// about.
func (c *nodeCache) signsOf(keys []string) *cachedSigns {
	text := strings.Join(keys, end)
	known := c.signs[text]
	if known == nil {
		known = &cachedSigns{numbers: make(map[string]int32)}
		c.signs[text] = known
	}
	for len(known.of) < len(c.nodes) {
		known.of = append(known.of, -1)
	}
	return known
}

// text returns the number of what pod groups can see of the existing node.
func (k *cachedSigns) text(p *Nodes, s *Node) int32 {
	n := k.of[s.cache]
	if n >= 0 {
		return n
	}
	p.noted = p.noted[:0]
	p.note(s, p.keys)
	text := string(p.appendSign(nil, s))
	n, known := k.numbers[text]
	if !known {
		n = int32(len(k.texts))
		k.numbers[text], k.texts = n, append(k.texts, text)
	}
	k.of[s.cache] = n
	return n
}
