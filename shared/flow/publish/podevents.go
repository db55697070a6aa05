package publish

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// podEventSeconds is how exactly a node's PodEventUnix is kept: one that is younger is left as it is, so that a burst
// of pods publishes a node once.
const podEventSeconds = 10

// homed reports whether the pod is one that makes a node worth keeping: on it, not ended, and put there by
// kube-scheduler.
func homed(pod *model.Pod, shape *model.PodShape) bool {
	return pod.NodeName != "" && !pod.Terminal() && shape.KeepsNode()
}

// podEvents keeps on the nodes when pods came and left, by a change of a pod from its row before (nil = there was none)
// to its row now (nil = there is none any more), and returns the name of a node of a pool that has no pod any more. A
// pod that was never seen before and is on a node already was there before anybody looked, where filling says so.
func (s *state) podEvents(old, now *model.Pod, filling bool, at int64) (emptied string) {
	from, to := "", ""
	if old != nil && homed(old, s.shapes.At(old.Shape)) {
		from = old.NodeName
	}
	if now != nil && homed(now, s.shapes.At(now.Shape)) {
		to = now.NodeName
	}
	if from == to {
		return ""
	}
	if s.homed == nil {
		s.homed = make(map[string]int)
	}
	if to != "" {
		s.homed[to]++
		if old != nil || !filling {
			s.stamp(to, at)
		}
	}
	if from == "" {
		return ""
	}
	s.stamp(from, at)
	if s.homed[from]--; s.homed[from] > 0 {
		return ""
	}
	delete(s.homed, from)
	if node, known := s.nodes.rows[from]; known && node.Pool() != "" && node.DeletedUnix == 0 {
		return from
	}
	return ""
}

// podBefore returns the row of the pod a change is about, as it was before; nil where there was none, or for other
// kinds.
func (s *state) podBefore(c *wire.Change) *model.Pod {
	if c.Pod != nil {
		if pod, known := s.pods.rows[c.Pod.Key()]; known {
			return &pod
		}
	}
	return nil
}

// stamp notes a pod event on a node that is known.
func (s *state) stamp(name string, at int64) {
	node, known := s.nodes.rows[name]
	if !known || at-node.PodEventUnix < podEventSeconds {
		return
	}
	node.PodEventUnix = at
	s.nodes.put(name, node)
}

// inherit takes over what an earlier leader has published of when pods came to nodes and left them: this replica may
// not have been there.
func (s *state) inherit(former *model.Snapshot) {
	for i := range former.Nodes {
		before := &former.Nodes[i]
		if node, known := s.nodes.rows[before.Name]; known && node.UID == before.UID && before.PodEventUnix > node.PodEventUnix {
			node.PodEventUnix = before.PodEventUnix
			s.nodes.put(node.Name, node)
		}
	}
}

// emptiedNodes gathers nodes that have become empty, so that the disruption function is notified soon, and not too
// often.
type emptiedNodes struct {
	first  time.Time // since when somebody is to learn of it; zero = nobody
	sentAt time.Time
}
