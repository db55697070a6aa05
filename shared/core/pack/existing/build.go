package existing

import (
	"cmp"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
	"github.com/joiner-sh/joiner/shared/core/pack/offerings"
	"github.com/joiner-sh/joiner/shared/core/pack/vector"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// fewPart says which part of the nodes' number the waiting pods' number is at most where they are few.
	fewPart = 16
	// firstNodes is how many existing nodes are made at first where they are made in turn; then there are twice as many
	// each time.
	firstNodes = 64
)

// Build makes the existing nodes and counts the pods on them. Where few pods wait and no rule is between pods, it makes
// none yet: more does, in the order in which pods look for room.
func (p *Nodes) Build(waiting int, moving map[int]bool, keys []string) {
	nodes := p.In.Snapshot.Nodes
	p.moving, p.keys, p.signs = moving, keys, make(map[string]int)
	p.Few = waiting*fewPart <= len(nodes) && !p.asIs && !p.NeedConflicts && !p.In.Homed
	p.cache = p.cacheFor()
	if p.Few && p.Rules.Empty() && p.ascending() {
		p.Lazily = true
		p.Total = len(nodes) + len(p.coming())
		return
	}
	numbers := make(map[string]int32, len(nodes)) // of duplicates the first counts
	p.List = make([]*Node, 0, len(nodes))
	if p.cache == nil {
		p.noted = make([]byte, 0, 16*len(keys)*len(nodes))
	}
	backing, room := p.space(len(nodes))
	for i := range nodes {
		if _, twice := numbers[nodes[i].Name]; !twice {
			numbers[nodes[i].Name] = int32(len(p.List))
			s := &backing[i]
			s.Free = room[i*len(p.dims) : (i+1)*len(p.dims) : (i+1)*len(p.dims)]
			p.describe(s, &nodes[i], len(p.List))
			p.List = append(p.List, s)
		}
	}
	if !p.Few && p.cache == nil { // else existing nodes are distinguished before pods are looked at, while what they are is at hand
		p.locate(numbers)
		p.readAll()
	}
	drafts := p.inFlightNodes()
	p.settleIn(drafts)
	p.List = append(p.List, drafts...)
	p.Total = len(p.List)
	if !slices.IsSortedFunc(p.List, inLine) {
		slices.SortStableFunc(p.List, inLine)
	}
	p.sign(0)
	for n := range p.BySign {
		if !p.Few {
			p.lineUp(p.BySign[n])
		}
		p.finders[n] = p.finderOf(p.BySign[n])
	}
	if p.Few && p.cache == nil {
		p.locate(numbers)
	}
	p.Counter().countPods()
}

// space returns memory for so many existing nodes and what is free on them, which with a memory a solver of the plan
// before had.
func (p *Nodes) space(count int) ([]Node, vector.Vector) {
	d := p.memory
	if d == nil {
		return make([]Node, count), make(vector.Vector, count*len(p.dims))
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
func inLine(a, b *Node) int {
	return cmp.Or(vector.CompareBools(b.Initialized, a.Initialized), cmp.Compare(a.Name, b.Name))
}

// ascending reports whether the nodes are sorted by name, each there once, as a snapshot's are.
func (p *Nodes) ascending() bool {
	nodes := p.In.Snapshot.Nodes
	for i := 1; i < len(nodes); i++ {
		if nodes[i-1].Name >= nodes[i].Name {
			return false
		}
	}
	return true
}

// describe makes the existing node of a node, whose pods are not looked at yet. s.free may be given to write to.
func (p *Nodes) describe(s *Node, node *model.Node, number int) {
	claim := p.claimAt(number)
	if p.cache != nil {
		p.cache.copyTo(s, p, number)
	} else {
		s.Number, s.unread, s.cache = number, true, -1
		p.fromNode(s, node, claim)
		p.note(s, p.keys)
	}
	s.Churning = p.In.Churning[node.Name]
	s.Closed = !p.asIs && (node.DeletedUnix != 0 || input.Draining(node) || claim != nil && !claim.Live())
}

// settleIn takes off the claims' existing nodes what pods hold that are bound to them.
func (p *Nodes) settleIn(drafts []*Node) {
	if !p.In.Homed {
		return
	}
	named := make(map[string]*Node, len(drafts))
	for _, s := range drafts {
		named[s.Name] = s
	}
	running := make([]bool, len(p.Daemons)) // daemons of theirs are yet to come
	for i := range p.In.Snapshot.Pods {
		if input.OnNode(p.In.Snapshot, i, p.moving) {
			if s := named[p.In.Snapshot.Pods[i].NodeName]; s != nil {
				p.occupy(s, i, running)
				s.homed = append(s.homed, i)
			}
		}
	}
}

// coming returns the claims whose node is not in the snapshot yet.
func (p *Nodes) coming() []*model.Claim {
	var out []*model.Claim
	for i := range p.In.Claims {
		if claim := &p.In.Claims[i]; claim.Live() && !p.claims.joined[i] && !p.asIs {
			out = append(out, claim)
		}
	}
	return out
}

// inFlightNodes makes the existing nodes of claims on their way.
func (p *Nodes) inFlightNodes() []*Node {
	var out []*Node
	for _, claim := range p.coming() {
		s := p.fromClaim(claim)
		s.Churning = p.In.Churning[claim.Name]
		p.note(s, p.keys)
		out = append(out, s)
	}
	return out
}

// More makes the next existing nodes in line where they are made in turn; false where there are no more to make. Nodes
// that are not initialized come after all that are, together with claims on their way.
func (p *Nodes) More() bool {
	nodes, from := p.In.Snapshot.Nodes, len(p.List)
	if !p.Lazily {
		return false
	}
	if p.next < len(nodes) {
		count := min(max(firstNodes, p.next), len(nodes)-p.next)
		backing, room := make([]Node, count), make(vector.Vector, count*len(p.dims))
		for i := range backing {
			s := &backing[i]
			s.Free = room[i*len(p.dims) : (i+1)*len(p.dims) : (i+1)*len(p.dims)]
			p.describe(s, &nodes[p.next], p.next)
			if p.next++; s.Initialized {
				p.List = append(p.List, s)
			} else {
				p.late = append(p.late, s)
			}
		}
	} else {
		p.Lazily = false
		p.late = append(p.late, p.inFlightNodes()...)
		slices.SortStableFunc(p.late, inLine)
		p.List, p.late = append(p.List, p.late...), nil
	}
	for _, n := range p.sign(from) {
		p.finders[n] = p.finderOf(p.BySign[n])
	}
	return true
}

// All makes every existing node that is not made yet. Whoever looks at them in another order than their own calls it
// first.
func (p *Nodes) All() {
	for p.More() {
	}
}

// New describes what exists or is on its way, initialized nodes first, then by name. With a memory the plan must have
// begun there.
func New(in *input.Input, dims vector.Dimensions, markets *offerings.Markets, daemons []offerings.Daemon, asIs bool, memory *Memory) *Nodes {
	p := &Nodes{nodeMaker: nodeMaker{In: in, dims: dims, markets: markets, Daemons: daemons, asIs: asIs, sets: make(map[daemonName]int, len(daemons))}, memory: memory}
	for i := range daemons {
		p.sets[daemonName{daemons[i].Namespace, daemons[i].Name}] = i
	}
	if memory != nil {
		p.requests, p.drafts, p.claims = memory.requests, memory.drafts, memory.claims
	} else {
		p.requests, p.claims = make([]knownRequest, len(in.Snapshot.Shapes)), new(claimIndex)
		p.claims.fill(in)
	}
	return p
}
