package pack

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

// nodeMemory is what plans of one cluster keep of its existing nodes from one to the next. The plans are as a Simulator's.
type nodeMemory struct {
	requests []knownRequest             // by shape, as far as looked up
	drafts   map[draftKey]*existingNode // of claims on their way; nothing of them is written to
	caches   map[cacheKey]*nodeCache
	claims   *claimIndex // of the plan that is being made
	plans    int         // begun so far
	solvers  int         // of this plan, so far
	spaces   []nodeSpace // by solver of a plan
}

// nodeSpace is memory for existing nodes, which are over when their plan is made.
type nodeSpace struct {
	nodes []existingNode
	free  vector.Vector
}

// newNodeMemory returns the memory for plans of a cluster with so many shapes of pods.
func newNodeMemory(shapes int) *nodeMemory {
	return &nodeMemory{requests: make([]knownRequest, shapes), drafts: make(map[draftKey]*existingNode), caches: make(map[cacheKey]*nodeCache), claims: new(claimIndex)}
}

// begin begins the next plan.
func (d *nodeMemory) begin(in *input.Input) {
	d.plans, d.solvers = d.plans+1, 0
	d.claims.fill(in)
}

// nodeCache keeps the existing nodes of nodes from one plan of a simulator to the next, with what runs on them taken off: only those whose pods
// have changed are made anew. Nodes of one name are the same in all plans of a simulator, and so are their claims, but for their pods.
type nodeCache struct {
	index map[string]int32 // existing nodes, by node name
	nodes []cachedNode
	pods  []cachedPod             // by index into the snapshot's pods, as they were last
	signs map[string]*cachedSigns // by the keys of labels they are of

	at     []int32 // by existing node: which of the snapshot's nodes it is of; −1 = none
	nodeOf []int32 // by pod: of which of the snapshot's nodes it holds something; −1 = none
	cached []int32 // by node of the snapshot: its existing node
	moving []bool  // scratch: by pod
	plan   int     // the simulator's plan that the above is of
	unique bool    // no two of its nodes have one name
}

// cacheKey says what existing nodes are made for: of what nobody asks for they say nothing.
type cacheKey struct{ ports, conflicts, disks bool }

// cachedNode is an existing node on which nothing is planned.
type cachedNode struct {
	existingNode
	made    bool // and what runs there is what ran there then
	claimed bool // its node has a claim
}

// cachedPod is a pod as it was last. Pods of one index need not be one pod.
type cachedPod struct {
	key      string // its UID; its namespace and name where it has none
	node     string
	shape    int32
	on       int32 // the existing node of its node; −1 = there is none
	occupies int32 // the existing node it holds something of; −1 = none
}

// is reports whether it was that pod, on the same node.
func (k *cachedPod) is(pod *model.Pod) bool {
	return pod.NodeName == k.node && int(k.shape) == pod.Shape && (pod.UID != "" && pod.UID == k.key || pod.UID == "" && pod.Key() == k.key)
}

// cachedSigns are what pod groups can see of existing nodes, but for whether they are churning, which each plan says anew.
type cachedSigns struct {
	texts   []string
	numbers map[string]int32 // of texts
	of      []int32          // by existing node: its text; −1 = not looked up
}

// cacheFor returns what is known of the existing nodes there are; nil where there is no cache, or it is of no use: where two nodes have one name,
// and where pods name the node they are to be on.
func (p *existingNodes) cacheFor() *nodeCache {
	if p.memory == nil || p.asIs || len(p.classifier.Names) > 0 {
		return nil
	}
	key := cacheKey{p.needPorts, p.needConflicts, p.needDisks}
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
	p.nodeOf, p.cached = c.nodeOf, c.cached
	return c
}

// findNodes finds the existing nodes of the nodes there are; false where one is there twice.
func (c *nodeCache) findNodes(p *existingNodes) bool {
	nodes, known := p.in.Snapshot.Nodes, len(c.nodes)
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
func (c *nodeCache) findPods(p *existingNodes) {
	pods := p.in.Snapshot.Pods
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
		if known.on >= 0 && !c.moving[i] && input.OnNode(p.in.Snapshot, i, nil) {
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
func (c *nodeCache) makeNodes(p *existingNodes) {
	nodes := p.in.Snapshot.Nodes
	var list []int32 // nodes
	for i := range nodes {
		claim, known := p.claimAt(i), &c.nodes[c.cached[i]]
		if known.made && (known.claimed == (claim != nil) || nodes[i].Initialized()) {
			continue
		}
		*known = cachedNode{made: true, claimed: claim != nil}
		p.fromNode(&known.existingNode, &nodes[i], claim)
		known.cache = c.cached[i]
		known.unread, list = true, append(list, int32(i))
	}
	if len(list) == 0 {
		return
	}
	running, place := make([]bool, len(list)*len(p.daemons)), make([]int32, len(nodes))
	for n, i := range list {
		place[i] = int32(n)
	}
	for i, n := range c.nodeOf {
		if n >= 0 && c.nodes[c.cached[n]].unread {
			p.occupy(&c.nodes[c.cached[n]].existingNode, i, running[int(place[n])*len(p.daemons):][:len(p.daemons)])
		}
	}
	for n, i := range list {
		s := &c.nodes[c.cached[i]].existingNode
		p.reserveDaemons(s, running[n*len(p.daemons):][:len(p.daemons)])
		s.unread = false
	}
}

// copyTo makes s the existing node of a node, to plan on. What it has for its room it keeps.
func (c *nodeCache) copyTo(s *existingNode, p *existingNodes, number int) {
	known, room := &c.nodes[p.cached[number]].existingNode, s.free
	*s = *known
	copy(room, known.free)
	s.free, s.number, s.ports, s.coming, s.promised = room, number, slices.Clip(s.ports), slices.Clip(s.coming), nil
	if claim := p.claimAt(number); claim != nil {
		s.promised = claim.Pods
	}
	if known.attached != nil {
		s.attached = make(map[string]map[string]bool, len(known.attached))
		for driver, volumes := range known.attached { // each on its own: the order does not matter
			s.attached[driver] = maps.Clone(volumes)
		}
	}
}

// signsOf returns what is known of what pod groups can see of existing nodes, if these are the keys of labels they ask about.
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
func (k *cachedSigns) text(p *existingNodes, s *existingNode) int32 {
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
