package pack

import (
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/pack/existing"
	"github.com/joiner-sh/joiner/shared/core/pack/group"
	"github.com/joiner-sh/joiner/shared/core/pack/newnodes"
	"github.com/joiner-sh/joiner/shared/core/pack/placing"
	"github.com/joiner-sh/joiner/shared/core/topology"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	// shiftFew is how many pods may be left over for it to be worth making room for them on what exists: of more, some
	// need new nodes whatever is done.
	shiftFew = 16
	// shiftPods is how many pods of one pod group are moved at most to make room for one unit.
	shiftPods = 3
)

// makeSpace puts pods that are left over, or for which a rule does not hold where they are, onto what exists: beside
// what is there, or where one that was placed there goes elsewhere for it.
func (b *solver) makeSpace() {
	if b.left() > shiftFew {
		return
	}
	b.mend()
	if n := b.left(); n == 0 || n > shiftFew {
		return
	}
	r := b.repair()
	order := group.InOrder(b.podGroups)
	for progress := true; progress; {
		progress = false
		for _, c := range order {
			for c.Units() > 0 && r.budget > 0 && (r.retryOnExisting(c) || r.shift(c)) {
				progress = true
			}
		}
	}
}

// makeSpaceFor does the same for pods that are about to get new nodes.
func (b *solver) makeSpaceFor(podBatches []*newnodes.PodBatch) {
	left := 0
	for _, podBatch := range podBatches {
		left += len(podBatch.Pods)
	}
	if left > shiftFew {
		return
	}
	r := b.repair()
	for _, podBatch := range podBatches {
		c, rest := podBatch.PodGroup, podBatch.PodGroup.Pods
		c.Pods = podBatch.Pods
		for c.Units() > 0 && r.budget > 0 && (r.retryOnExisting(c) || r.shift(c)) {
			b.forgetUnits(podBatch, 1)
		}
		podBatch.Pods, c.Pods = c.Pods, rest
	}
}

// shift puts a unit of the pod group onto an existing node from which pods of another pod group, placed by this plan,
// move to other existing nodes.
func (b *repair) shift(c *group.PodGroup) bool {
	a := placing.Assigner{Planner: b.planner, Existing: b.existing, Rules: b.rules}
	for from, s := range b.existing.List {
		if len(s.Pods) == 0 || s.Closed || s.Blind || existing.Evaluate(c, s) == existing.Refused {
			continue
		}
		for _, d := range b.movable(s, c) {
			if !fitsWithout(c, d, s, shiftPods) {
				continue
			}
			if b.budget--; b.budget < 0 {
				return false
			}
			targets := b.targets(&a, d, from)
			for count := 1; count <= shiftPods && len(targets) > 0; count++ {
				if !fitsWithout(c, d, s, count) {
					continue
				}
				for t := range targets {
					if b.budget--; b.budget < 0 {
						return false
					}
					if b.shiftTo(c, d, from, targets[t:], count) {
						return true
					}
				}
				if !c.Attaches {
					break
				}
			}
		}
	}
	return c.Blocked != nil && b.shiftPeer(c)
}

// shiftPeer puts a unit of the pod group onto an existing node once a pod that its rules count has moved from one
// existing node to another.
func (b *repair) shiftPeer(c *group.PodGroup) bool {
	a := placing.Assigner{Planner: b.planner, Existing: b.existing, Rules: b.rules}
	for from, s := range b.existing.List {
		for _, d := range b.movable(s, c) {
			if !slices.ContainsFunc(c.Constraints, func(u group.Constraint) bool { return group.WeightIn(d.Contributions, u.TopologyGroup) > 0 }) {
				continue
			}
			if b.budget--; b.budget < 0 {
				return false
			}
			for _, to := range b.targets(&a, d, from) {
				if b.budget <= 0 {
					return false
				}
				if undo, moved := b.moveSome(d, from, []int{to}, 1); moved {
					if b.retryOnExisting(c) {
						return true
					}
					undo()
				}
			}
		}
	}
	return false
}

// movable returns the pod groups other than c whose pods this plan put on the existing node and may as well put
// elsewhere.
func (b *repair) movable(s *existing.Node, c *group.PodGroup) []*group.PodGroup {
	var out []*group.PodGroup
	for _, i := range s.Pods {
		promised := slices.ContainsFunc(s.Promised, func(pod model.PodRef) bool { return pod.UID == b.in.Snapshot.Pods[i].UID })
		if d := b.podGroupOf[i]; d != c && !promised && !slices.Contains(out, d) {
			out = append(out, d)
		}
	}
	return out
}

// fitsWithout reports whether the existing node has room for a unit of c once so many pods of d are gone.
func fitsWithout(c, d *group.PodGroup, s *existing.Node, count int) bool {
	free := slices.Clone(s.Free)
	for range count {
		free.AddSaturating(d.Request)
	}
	return c.Request.Fits(free)
}

// targets returns existing nodes with room for a pod of d, other than the one it is on, a few of each kind.
func (b *repair) targets(a *placing.Assigner, d *group.PodGroup, from int) []int {
	var out []int
	for _, g := range a.NodeSets(d) {
		for _, n := range b.nodesWithSpace(d, &g) {
			if n != from {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

// shiftTo moves pods of d from one existing node to the first of others that have room and puts a unit of c in their
// place; false, and nothing is changed, where there is no room or a rule would not hold.
func (b *repair) shiftTo(c, d *group.PodGroup, from int, targets []int, count int) bool {
	undo, moved := b.moveSome(d, from, targets, count)
	if moved && c.Request.Fits(b.existing.List[from].Free) && b.admits(c, from) && b.tryExisting(c, from) {
		return true
	}
	if moved {
		undo()
	}
	return false
}

// shifted is a pod that was moved, and the lists of both existing nodes as they were before.
type shifted struct {
	pod, from, to int
	pods          [2][]int
	ports         [2][]model.HostPort
	attached      [2]map[string]map[string]bool
}

// moveSome moves so many pods of d from one existing node to the first of others that have room; false, and nothing is
// changed, where not all fit there. undo moves them back to where they were in every list.
func (b *repair) moveSome(d *group.PodGroup, from int, targets []int, count int) (undo func(), ok bool) {
	source := b.existing.List[from]
	var moved []shifted
	undo = func() {
		for _, m := range slices.Backward(moved) {
			target := b.existing.List[m.to]
			b.move(d, m.pod, m.to, m.from)
			source.Pods, target.Pods, source.Ports, target.Ports = m.pods[0], m.pods[1], m.ports[0], m.ports[1]
			source.Attached, target.Attached = m.attached[0], m.attached[1]
		}
	}
	for _, i := range source.Pods {
		if len(moved) == count || b.podGroupOf[i] != d {
			continue
		}
		at := slices.IndexFunc(targets, func(n int) bool {
			s := b.existing.List[n]
			return b.admits(d, n) && d.Request.Fits(s.Free) && (!d.Attaches || b.existing.Attachable(s, []int{i})) &&
				b.existing.Devices(s, d)
		})
		if at < 0 {
			break
		}
		target := b.existing.List[targets[at]]
		moved = append(moved, shifted{i, from, targets[at], [2][]int{source.Pods, target.Pods}, [2][]model.HostPort{source.Ports, target.Ports},
			[2]map[string]map[string]bool{source.Attached, target.Attached}})
		b.move(d, i, from, targets[at])
		if d.Attaches {
			b.attach(target, []int{i})
			source.Attached = b.attachedOn(source)
		}
	}
	if len(moved) < count {
		undo()
		return nil, false
	}
	return undo, true
}

// attach notes the volumes of pods on the existing node, in a list of its own.
func (b *repair) attach(s *existing.Node, pods []int) {
	attached := make(map[string]map[string]bool, len(s.Attached))
	for driver, handles := range s.Attached { // each driver on its own: the order does not matter
		attached[driver] = maps.Clone(handles)
	}
	s.Attached = attached
	for _, i := range pods {
		pod := &b.in.Snapshot.Pods[i]
		s.AttachAll(b.classifier.Volumes.Attachments(pod, b.in.Snapshot.ShapeOf(pod)))
	}
}

// attachedOn returns the volumes of all pods of the existing node, those of the plan included.
func (b *repair) attachedOn(s *existing.Node) map[string]map[string]bool {
	was := s.Attached
	defer func() { s.Attached = was }()
	s.Attached = nil
	pods := slices.Clone(s.Pods)
	for i, number := range b.existing.NodeOf {
		if number >= 0 && int(number) == s.Number {
			pods = append(pods, i)
		}
	}
	b.attach(s, pods)
	return s.Attached
}

// admits reports whether no port of the pod group is taken on the existing node.
func (b *repair) admits(c *group.PodGroup, n int) bool {
	_, clash := topology.PortConflict(c.Ports, b.existing.List[n].Ports)
	return !clash
}

// move takes pod i of pod group d from one existing node to another, in what is free and in what rules count.
func (b *repair) move(d *group.PodGroup, i, from, to int) {
	source, target := b.existing.List[from], b.existing.List[to]
	b.existing.Take(from, d.Request, -1)
	b.existing.Take(to, d.Request, 1)
	for _, a := range d.Contributions {
		b.existing.Counter().Count(a.TopologyGroup, from, -a.Weight)
		b.existing.Counter().Count(a.TopologyGroup, to, a.Weight)
	}
	source.Pods = slices.DeleteFunc(slices.Clone(source.Pods), func(other int) bool { return other == i })
	source.Ports = slices.Clone(source.Ports)
	for _, port := range d.Ports {
		at := slices.Index(source.Ports, port)
		source.Ports = slices.Delete(source.Ports, at, at+1)
	}
	target.Pods, target.Ports = append(slices.Clone(target.Pods), i), append(slices.Clone(target.Ports), d.Ports...)
}
