package publish

import (
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// waiting is something that a hint was or will be sent for, until it waits no more.
type waiting struct {
	ref     model.PodRef // of a pod
	retryAt time.Time    // when to send another hint for it; zero while it is in a batch or in a hint that is not sent yet
	pause   time.Duration
}

func (w *waiting) due(now time.Time) bool { return !w.retryAt.IsZero() && !now.Before(w.retryAt) }

// needsCapacity reports whether nothing can hold the pod and a node could help: not one that waits for a preemption, or
// whose owner places it. What the pod asks for is not looked at: also people learn of a pod that cannot be helped.
func needsCapacity(pod *model.Pod, shape *model.PodShape) bool {
	return pod.Unschedulable && pod.NodeName == "" && pod.NominatedNode == "" && !pod.Terminal() && pod.DeletedUnix == 0 &&
		!shape.Gated && shape.KeepsNode()
}

// starting reports whether the node is one of ours that has still to be registered or initialized.
func starting(node *model.Node) bool {
	if node.Initialized() || node.DeletedUnix != 0 {
		return false
	}
	if node.Pool() != "" || node.Registered() { // of a NodeClaim made by hand it has no pool
		return true
	}
	for _, t := range node.Taints {
		if t.Key == model.TaintUnregistered {
			return true
		}
	}
	return false
}

// version is what of a pool, class or overlay says that people changed it; a status that was written is no such change,
// else the functions' own writes would wake them again.
type version struct {
	uid        string
	generation int64
	deleted    int64
}

func (v *version) differs(deleted bool, uid string, generation, deletedUnix int64) bool {
	return v == nil || deleted || *v != version{uid, generation, deletedUnix}
}

// versionOf returns the version of the pool, class or overlay a change is about, as it was before; nil where there was
// none, or for other kinds.
func (s *state) versionOf(c *wire.Change) *version {
	if c.Pool != nil {
		if p, ok := s.pools.rows[c.Pool.Name]; ok {
			return &version{p.UID, p.Generation, p.DeletedUnix}
		}
	}
	if c.Class != nil {
		if k, ok := s.classes.rows[c.Class.Name]; ok {
			return &version{k.UID, k.Generation, k.DeletedUnix}
		}
	}
	if c.Overlay != nil {
		if o, ok := s.overlays.rows[c.Overlay.Name]; ok {
			return &version{uid: o.UID, generation: o.Generation}
		}
	}
	return nil
}
