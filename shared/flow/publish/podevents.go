package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// podEventSeconds is how exactly a node's PodEventUnix is kept: one that is younger is left as it is, so that a burst of pods
// publishes a node once.
const podEventSeconds = 10

// homed reports whether the pod is one that makes a node worth keeping: on it, not ended, and put there by kube-scheduler.
func homed(pod *model.Pod, shape *model.PodShape) bool {
	return pod.NodeName != "" && !pod.Terminal() && shape.OwnerKind != "DaemonSet" && shape.OwnerKind != "Node"
}

// podEvents keeps on the nodes when pods came and left, by a change of a pod from its row before (nil = there was none) to
// its row now (nil = there is none any more), and returns the name of a node of a pool that has no pod any more. A pod that was
// never seen before and is on a node already was there before anybody looked, where filling says so.
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

// podBefore returns the row of the pod a change is about, as it was before; nil where there was none, or for other kinds.
func (s *state) podBefore(c *wire.Change) *model.Pod {
	if c.Pod != nil {
		if pod, known := s.pods.rows[c.Pod.Key()]; known {
			return &pod
		}
	}
	return nil
}

// notePods takes note of pods that come to nodes and leave them, and of nodes that become empty by that.
func (f *Publisher) notePods(c *wire.Change, before *model.Pod, now time.Time) {
	if c.Pod == nil {
		return
	}
	var after *model.Pod
	if row, there := f.state.pods.rows[c.Pod.Key()]; there {
		after = &row
	}
	emptied := f.state.podEvents(before, after, !f.seen, now.Unix())
	f.noteFreed(f.state.requestsOn(before), f.state.requestsOn(after), now)
	if emptied != "" && f.config.EmptyNodes != nil && f.emptied.first.IsZero() {
		f.emptied.first = now
	}
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

// node takes in a node. What was seen of its pods stays with it; another node of its name begins anew.
func (s *state) node(c wire.Change) bool {
	if old, known := s.nodes.rows[c.Node.Name]; known && !c.Deleted && old.UID == c.Node.UID {
		c.Node.PodEventUnix = old.PodEventUnix
	}
	return change(&s.nodes, c.Deleted, c.Node.Name, c.Node)
}

// inherit takes over what an earlier leader has published of when pods came to nodes and left them: this replica may not have
// been there. Where that cannot be read, what it has seen itself has to do.
func (f *Publisher) inherit(ctx context.Context) {
	if f.config.Previous == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	former, err := f.config.Previous.Previous(ctx, f.config.Cluster)
	if fault.Is(err, fault.NotFound) {
		return
	}
	if err != nil {
		f.problem("read what was published before", fmt.Errorf("the times at which pods were bound to nodes and left them are known from now on only: %w", err))
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range former.Nodes {
		before := &former.Nodes[i]
		if node, known := f.state.nodes.rows[before.Name]; known && node.UID == before.UID && before.PodEventUnix > node.PodEventUnix {
			node.PodEventUnix = before.PodEventUnix
			f.state.nodes.put(node.Name, node)
		}
	}
}

// emptiedNodes gathers nodes that have become empty, so that the disruption function is notified soon, and not too often.
type emptiedNodes struct {
	first  time.Time // since when somebody is to learn of it; zero = nobody
	sentAt time.Time
}

// disruptionDue returns when the next hint to the disruption function is due, zero where none is.
func (f *Publisher) disruptionDue() time.Time {
	empty, freed := f.emptyDue(), f.freedDue()
	if empty.IsZero() {
		return freed
	}
	return earlier(empty, freed)
}

// emptyDue returns when the hint is due that nodes have become empty, zero where there are none: once the state that shows it has been
// published, and a while after the hint before.
func (f *Publisher) emptyDue() time.Time {
	if f.emptied.first.IsZero() {
		return time.Time{}
	}
	due, again := f.emptied.first.Add(f.settings.IdleWindow+f.settings.QuietWindow), f.emptied.sentAt.Add(f.settings.EmptyEvery)
	if due.Before(again) {
		return again
	}
	return due
}

// sendEmpty sends the hint that nodes have become empty, or that so many pods have left that others may become so. A hint that is lost is made
// up for by the disruption function's next tick.
func (f *Publisher) sendEmpty(ctx context.Context) {
	now := f.config.Now()
	f.mu.Lock()
	due := f.disruptionDue()
	if due.IsZero() || now.Before(due) {
		f.mu.Unlock()
		return
	}
	first := f.emptied.first
	if first.IsZero() {
		first = f.freed.first
	}
	f.emptied, f.freed = emptiedNodes{sentAt: now}, freedCapacity{}
	f.number++
	hint := wire.Hint{
		Cluster: f.config.Cluster, Epoch: f.epoch, Seq: f.head, Number: f.number, Reason: wire.ReasonDisrupt, Tick: fmt.Sprintf("empty/%d-%d", f.epoch, f.number),
		SentAtMillis: now.UnixMilli(), FirstSeenMillis: first.UnixMilli(), ClosedMillis: now.UnixMilli(),
	}
	waiting := len(f.pods)
	f.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	if err := f.config.EmptyNodes.Send(ctx, hint); err != nil {
		f.problem("send a hint about nodes that have become empty or lost pods; the next scheduled run finds them", err)
		return
	}
	f.log(Note{What: "hint", Epoch: f.epoch, Seq: hint.Seq, Reason: string(hint.Reason), Waiting: waiting})
}
