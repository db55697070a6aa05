package pack

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// fewPart says which part of the nodes' number the waiting pods' number is at most where they are few.
	fewPart = 16
	// firstNodes is how many existing nodes are made at first where they are made in turn; then there are twice as many each time.
	firstNodes = 64
)

// build makes the existing nodes and counts the pods on them. Where few pods wait and no rule is between pods, it makes none yet:
// more does, in the order in which pods look for room.
func (p *existingNodes) build(waiting int, moving map[int]bool, keys []string) {
	nodes := p.in.Snapshot.Nodes
	p.moving, p.keys, p.signs = moving, keys, make(map[string]int)
	p.few = waiting*fewPart <= len(nodes) && !p.asIs && !p.needConflicts && !p.in.Homed
	p.cache = p.cacheFor()
	if p.few && p.rules.Empty() && p.ascending() {
		p.lazily = true
		p.total = len(nodes) + len(p.coming())
		return
	}
	numbers := make(map[string]int32, len(nodes)) // of duplicates the first counts
	p.nodes = make([]*existingNode, 0, len(nodes))
	if p.cache == nil {
		p.noted = make([]byte, 0, 16*len(keys)*len(nodes))
	}
	backing, room := p.space(len(nodes))
	for i := range nodes {
		if _, twice := numbers[nodes[i].Name]; !twice {
			numbers[nodes[i].Name] = int32(len(p.nodes))
			s := &backing[i]
			s.free = room[i*len(p.dims) : (i+1)*len(p.dims) : (i+1)*len(p.dims)]
			p.describe(s, &nodes[i], len(p.nodes))
			p.nodes = append(p.nodes, s)
		}
	}
	if !p.few && p.cache == nil { // else existing nodes are distinguished before pods are looked at, while what they are is at hand
		p.locate(numbers)
		p.readAll()
	}
	drafts := p.inFlightNodes()
	p.settleIn(drafts)
	p.nodes = append(p.nodes, drafts...)
	p.total = len(p.nodes)
	if !slices.IsSortedFunc(p.nodes, inLine) {
		slices.SortStableFunc(p.nodes, inLine)
	}
	p.sign(0)
	for n := range p.bySign {
		if !p.few {
			p.lineUp(p.bySign[n])
		}
		p.finders[n] = p.finderOf(p.bySign[n])
	}
	if p.few && p.cache == nil {
		p.locate(numbers)
	}
	p.counter().countPods()
}

// space returns memory for so many existing nodes and what is free on them, which with a memory a solver of the plan before had.
func (p *existingNodes) space(count int) ([]existingNode, vector.Vector) {
	d := p.memory
	if d == nil {
		return make([]existingNode, count), make(vector.Vector, count*len(p.dims))
	}
	if d.solvers++; d.solvers > len(d.spaces) {
		d.spaces = append(d.spaces, nodeSpace{})
	}
	s := &d.spaces[d.solvers-1]
	s.nodes, s.free = slices.Grow(s.nodes[:0], count)[:count], slices.Grow(s.free[:0], count*len(p.dims))[:count*len(p.dims)]
	clear(s.nodes)
	clear(s.free)
	return s.nodes, s.free
}

// inLine compares existing nodes by their place among all: initialized ones first, then by name.
func inLine(a, b *existingNode) int {
	return cmp.Or(vector.CompareBools(b.initialized, a.initialized), cmp.Compare(a.name, b.name))
}

// ascending reports whether the nodes are sorted by name, each there once, as a snapshot's are.
func (p *existingNodes) ascending() bool {
	nodes := p.in.Snapshot.Nodes
	for i := 1; i < len(nodes); i++ {
		if nodes[i-1].Name >= nodes[i].Name {
			return false
		}
	}
	return true
}

// describe makes the existing node of a node, whose pods are not looked at yet. s.free may be given to write to.
func (p *existingNodes) describe(s *existingNode, node *model.Node, number int) {
	claim := p.claimAt(number)
	if p.cache != nil {
		p.cache.copyTo(s, p, number)
	} else {
		s.number, s.unread, s.cache = number, true, -1
		p.fromNode(s, node, claim)
		p.note(s, p.keys)
	}
	s.churning = p.in.Churning[node.Name]
	s.closed = !p.asIs && (node.DeletedUnix != 0 || input.Draining(node) || claim != nil && !claim.Live())
}

// settleIn takes off the claims' existing nodes what pods hold that are bound to them.
func (p *existingNodes) settleIn(drafts []*existingNode) {
	if !p.in.Homed {
		return
	}
	named := make(map[string]*existingNode, len(drafts))
	for _, s := range drafts {
		named[s.name] = s
	}
	running := make([]bool, len(p.daemons)) // daemons of theirs are yet to come
	for i := range p.in.Snapshot.Pods {
		if input.OnNode(p.in.Snapshot, i, p.moving) {
			if s := named[p.in.Snapshot.Pods[i].NodeName]; s != nil {
				p.occupy(s, i, running)
				s.homed = append(s.homed, i)
			}
		}
	}
}

// coming returns the claims whose node is not in the snapshot yet.
func (p *existingNodes) coming() []*model.Claim {
	var out []*model.Claim
	for i := range p.in.Claims {
		if claim := &p.in.Claims[i]; claim.Live() && !p.claims.joined[i] && !p.asIs {
			out = append(out, claim)
		}
	}
	return out
}

// inFlightNodes makes the existing nodes of claims on their way.
func (p *existingNodes) inFlightNodes() []*existingNode {
	var out []*existingNode
	for _, claim := range p.coming() {
		s := p.fromClaim(claim)
		s.churning = p.in.Churning[claim.Name]
		p.note(s, p.keys)
		out = append(out, s)
	}
	return out
}

// more makes the next existing nodes in line where they are made in turn; false where there are no more to make. Nodes that are not
// initialized come after all that are, together with claims on their way.
func (p *existingNodes) more() bool {
	nodes, from := p.in.Snapshot.Nodes, len(p.nodes)
	if !p.lazily {
		return false
	}
	if p.next < len(nodes) {
		count := min(max(firstNodes, p.next), len(nodes)-p.next)
		backing, room := make([]existingNode, count), make(vector.Vector, count*len(p.dims))
		for i := range backing {
			s := &backing[i]
			s.free = room[i*len(p.dims) : (i+1)*len(p.dims) : (i+1)*len(p.dims)]
			p.describe(s, &nodes[p.next], p.next)
			if p.next++; s.initialized {
				p.nodes = append(p.nodes, s)
			} else {
				p.late = append(p.late, s)
			}
		}
	} else {
		p.lazily = false
		p.late = append(p.late, p.inFlightNodes()...)
		slices.SortStableFunc(p.late, inLine)
		p.nodes, p.late = append(p.nodes, p.late...), nil
	}
	for _, n := range p.sign(from) {
		p.finders[n] = p.finderOf(p.bySign[n])
	}
	return true
}

// finderOf returns what finds room on the existing nodes of the list.
func (p *existingNodes) finderOf(list []int) vector.Finder {
	return vector.NewFinder(len(p.dims), len(list), func(slot int) vector.Vector { return p.nodes[list[slot]].free })
}

// all makes every existing node that is not made yet. Whoever looks at them in another order than their own calls it first.
func (p *existingNodes) all() {
	for p.more() {
	}
}

// sign numbers what of each existing node from the given one on the pod groups can see, so that like existing nodes are evaluated once. It returns
// the numbers that existing nodes were added to.
func (p *existingNodes) sign(from int) []int {
	var grown []int
	b := make([]byte, 0, 256)
	for i := from; i < len(p.nodes); i++ {
		s, n := p.nodes[i], 0
		if s.cache >= 0 {
			n = p.knownSign(s)
		} else {
			b = p.appendSign(b[:0], s)
			n = p.signOf(b, s.churning)
		}
		s.signature = n
		if s.closed || s.blind {
			continue
		}
		s.slot = len(p.bySign[n])
		if s.slot == p.finders[n].Count {
			grown = append(grown, n)
		}
		p.bySign[n] = append(p.bySign[n], i)
	}
	return grown
}

// appendSign writes down what of the existing node the pod groups can see, but for whether it is churning.
func (p *existingNodes) appendSign(b []byte, s *existingNode) []byte {
	b = append(b, s.noted...)
	for _, t := range s.taints {
		b = append(append(append(append(append(append(b, end...), t.Key...), end...), t.Value...), end...), t.Effect...)
	}
	for _, set := range s.coming {
		b = strconv.AppendInt(append(append(b, end...), "daemon"+end...), int64(set), 10)
	}
	if s.market != nil {
		b = append(append(append(b, end...), "claim"+end...), s.name...)
	}
	if !s.initialized {
		b = append(append(b, end...), "coming"+end...)
	}
	return b
}

// signOf numbers a text and whether the existing node is churning.
func (p *existingNodes) signOf(text []byte, churning bool) int {
	if churning {
		text = append(append(text, end...), "churning"+end...)
	}
	n, known := p.signs[string(text)]
	if !known {
		n = len(p.signs)
		p.signs[string(text)] = n
		p.bySign, p.finders = append(p.bySign, nil), append(p.finders, vector.Finder{})
	}
	return n
}

// knownSign is signOf what the cache knows of the existing node.
func (p *existingNodes) knownSign(s *existingNode) int {
	if p.known == nil {
		p.known = p.cache.signsOf(p.keys)
	}
	text := p.known.text(p, s)
	for len(p.byText) < len(p.known.texts) {
		p.byText = append(p.byText, [2]int{-1, -1})
	}
	n := &p.byText[text][0]
	if s.churning {
		n = &p.byText[text][1]
	}
	if *n < 0 {
		*n = p.signOf([]byte(p.known.texts[text]), s.churning)
	}
	return *n
}

// locate notes which node each pod holds something of. numbers are the nodes' by name; nil where they are as the nodes lie.
func (p *existingNodes) locate(numbers map[string]int32) {
	snapshot := p.in.Snapshot
	if numbers == nil {
		numbers = make(map[string]int32, len(snapshot.Nodes))
		for i := range snapshot.Nodes {
			numbers[snapshot.Nodes[i].Name] = int32(i)
		}
	}
	p.nodeOf = make([]int32, len(snapshot.Pods))
	for i := range snapshot.Pods {
		p.nodeOf[i] = -1
		if input.OnNode(snapshot, i, p.moving) {
			if n, known := numbers[snapshot.Pods[i].NodeName]; known {
				p.nodeOf[i] = n
			}
		}
	}
	if p.few {
		p.on = podsByNode(p.nodeOf, len(snapshot.Nodes))
	}
}

// podsOf returns the pods that hold something of the node of the number, where few pods wait.
func (p *existingNodes) podsOf(number int) []int32 {
	if p.nodeOf == nil {
		p.locate(nil)
	}
	return p.on.of(number)
}
