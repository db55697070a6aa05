package existing

import (
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/input"
)

// locate notes which node each pod holds something of. numbers are the nodes' by name; nil where they are as the nodes
// lie.
func (p *Nodes) locate(numbers map[string]int32) {
	snapshot := p.In.Snapshot
	if numbers == nil {
		numbers = make(map[string]int32, len(snapshot.Nodes))
		for i := range snapshot.Nodes {
			numbers[snapshot.Nodes[i].Name] = int32(i)
		}
	}
	p.NodeOf = make([]int32, len(snapshot.Pods))
	for i := range snapshot.Pods {
		p.NodeOf[i] = -1
		if input.OnNode(snapshot, i, p.moving) {
			if n, known := numbers[snapshot.Pods[i].NodeName]; known {
				p.NodeOf[i] = n
			}
		}
	}
	if p.Few {
		p.on = podsByNode(p.NodeOf, len(snapshot.Nodes))
	}
}

// podsOf returns the pods that hold something of the node of the number, where few pods wait.
func (p *Nodes) podsOf(number int) []int32 {
	if p.NodeOf == nil {
		p.locate(nil)
	}
	return p.on.of(number)
}

func podsByNode(nodeOf []int32, nodes int) podsOn {
	on := podsOn{first: make([]int32, nodes+1)}
	for _, n := range nodeOf {
		if n >= 0 {
			on.first[n+1]++
		}
	}
	for n := range nodes {
		on.first[n+1] += on.first[n]
	}
	on.pods = make([]int32, on.first[nodes])
	next := slices.Clone(on.first)
	for i, n := range nodeOf {
		if n >= 0 {
			on.pods[next[n]] = int32(i)
			next[n]++
		}
	}
	return on
}

// of returns the pods of a node.
func (on *podsOn) of(number int) []int32 { return on.pods[on.first[number]:on.first[number+1]] }

// readAll reads every existing node.
func (p *Nodes) readAll() {
	running := make([]bool, len(p.List)*len(p.Daemons))
	daemonsOf := func(number int) []bool { return running[number*len(p.Daemons) : (number+1)*len(p.Daemons)] }
	for i, n := range p.NodeOf {
		if n >= 0 {
			p.occupy(p.List[n], i, daemonsOf(int(n)))
		}
	}
	for _, s := range p.List {
		p.reserveDaemons(s, daemonsOf(s.Number))
		s.unread = false
	}
}

// Node returns existing node n with what runs there, and what will, taken off its room.
func (p *Nodes) Node(n int) *Node {
	s := p.List[n]
	if s.unread {
		s.unread = false
		running := make([]bool, len(p.Daemons))
		for _, i := range p.podsOf(s.Number) {
			p.occupy(s, int(i), running)
		}
		p.reserveDaemons(s, running)
		if !s.Closed {
			p.finders[s.signature].Update(s.slot, s.Free)
		}
	}
	return s
}
