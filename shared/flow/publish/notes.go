package publish

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// observe takes in a change and notes what follows from it. It reports whether Lead should look again.
func (g *gathered) observe(c wire.Change, now time.Time) (check bool) {
	before, pod, buffer := g.state.versionOf(&c), g.state.podBefore(&c), g.state.bufferBefore(&c)
	quiet := g.batch.open() || !g.dirtySince.IsZero()
	if !g.state.apply(c) {
		return false
	}
	if g.dirtySince.IsZero() {
		g.dirtySince = now
	}
	open := func() [4]bool {
		return [4]bool{g.batch.open(), g.ends.batch.open(), !g.disruptionDue().IsZero(), !g.headroom.due(g.settings).IsZero()}
	}
	was := open()
	g.updateWaiting(&c, before, now)
	g.noteEnds(&c, now)
	g.notePods(&c, pod, now)
	g.noteHeadroom(&c, pod, buffer, now)
	check = !quiet
	for i, is := range open() {
		check = check || is && !was[i]
	}
	return check
}

// updateWaiting updates what waits by a change that made a difference, and opens a batch where something new does.
func (g *gathered) updateWaiting(c *wire.Change, before *version, now time.Time) {
	switch {
	case c.Pod != nil:
		key := c.Pod.Key()
		if c.Deleted || !needsCapacity(c.Pod, c.Shape) {
			delete(g.pods, key)
			return
		}
		if w := g.pods[key]; w != nil && w.ref.UID == c.Pod.UID {
			return
		}
		g.pods[key] = &waiting{ref: c.Pod.Ref()}
		g.batch.add(now, wire.ReasonBatch, key, "")
	case c.Node != nil:
		if c.Deleted || !starting(c.Node) {
			delete(g.nodes, c.Node.Name)
			return
		}
		g.nodes[c.Node.Name] = &waiting{}
		g.batch.add(now, wire.ReasonNode, "", c.Node.Name)
	case c.Pool != nil && before.differs(c.Deleted, c.Pool.UID, c.Pool.Generation, c.Pool.DeletedUnix),
		c.Class != nil && before.differs(c.Deleted, c.Class.UID, c.Class.Generation, c.Class.DeletedUnix),
		c.Overlay != nil && before.differs(c.Deleted, c.Overlay.UID, c.Overlay.Generation, 0):
		g.batch.add(now, wire.ReasonConfig, "", "")
	case c.Claim != nil && !c.Deleted && c.Claim.Manual && c.Claim.DeletedUnix == 0:
		g.batch.add(now, wire.ReasonConfig, "", "")
	}
}

// noteEnds takes note of a change, and opens the batch where something is being deleted that was not before.
func (g *gathered) noteEnds(c *wire.Change, now time.Time) {
	key, uid := ending(c)
	switch {
	case key == "" || g.config.Ends == nil:
	case uid == "":
		delete(g.ends.going, key)
	case g.ends.going[key] != uid:
		if g.ends.going == nil {
			g.ends.going = make(map[string]string)
		}
		g.ends.going[key] = uid
		g.ends.batch.add(now, wire.ReasonEnd, "", "")
	}
}

// notePods takes note of pods that come to nodes and leave them, and of nodes that become empty by that.
func (g *gathered) notePods(c *wire.Change, before *model.Pod, now time.Time) {
	if c.Pod == nil {
		return
	}
	var after *model.Pod
	if row, there := g.state.pods.rows[c.Pod.Key()]; there {
		after = &row
	}
	emptied := g.state.podEvents(before, after, !g.seen, now.Unix())
	g.noteFreed(g.state.requestsOn(before), g.state.requestsOn(after), now)
	if emptied != "" && g.config.EmptyNodes != nil && g.emptied.first.IsZero() {
		g.emptied.first = now
	}
}

// noteFreed takes note of what a pod frees, or takes.
func (g *gathered) noteFreed(before, after model.Resources, now time.Time) {
	if g.config.EmptyNodes == nil || !g.seen {
		return
	}
	g.freed.note(before, after, now)
	if g.freed.cpu+g.freed.memory > 0 && (g.freed.enough == nil || now.Sub(g.freed.enoughAt) >= enoughFor) {
		g.freed.enough, g.freed.enoughAt = g.state.worthIt(), now
	}
	switch worth := g.freed.worth(); {
	case !worth:
		g.freed.first = time.Time{}
	case g.freed.first.IsZero():
		g.freed.first = now
	}
}

// noteHeadroom takes note of what may have changed about the room of buffers, where there are any: what buffers ask
// for, pods that came to nodes, and nodes that went. What a buffer's status says is not such a change, or the
// functions' own writes would wake them.
func (g *gathered) noteHeadroom(c *wire.Change, pod *model.Pod, buffer *model.Buffer, now time.Time) {
	switch {
	case c.Buffer != nil:
		if c.Deleted { // nodes may be empty now
			if g.config.EmptyNodes != nil && g.emptied.first.IsZero() {
				g.emptied.first = now
			}
			return
		}
		row := g.state.buffers.rows[c.Buffer.Key()]
		if buffer != nil {
			row.Status = buffer.Status
			if row == *buffer {
				return
			}
		}
	case len(g.state.buffers.rows) == 0:
		return
	case c.Pod != nil:
		if pod != nil && pod.NodeName != "" || c.Deleted || c.Pod.NodeName == "" || c.Pod.Terminal() {
			return
		}
	case c.Node != nil:
		if !c.Deleted {
			return
		}
	default:
		return
	}
	if g.headroom.first.IsZero() {
		g.headroom.first = now
	}
}
