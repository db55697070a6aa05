package world

import (
	"github.com/joiner-sh/joiner/shared/model"
)

// AddBuffer applies a CapacityBuffer that keeps room for so many pods of a shape; one of that name is replaced and keeps its UID and
// status. With no pods it is one that is of nothing there is.
func (c *Cluster) AddBuffer(name string, pods int32, shape model.PodShape) {
	c.mu.Lock()
	defer c.mu.Unlock()
	shape.Priority, shape.OwnerKind, shape.OwnerName = -1<<31, "", ""
	b := model.Buffer{
		Namespace: namespaceOf(&shape), Name: name, Generation: 1, CreatedUnix: c.now().Unix(), Strategy: "buffer.x-k8s.io/active-capacity",
		Of: "PodTemplate " + name, Template: name, TemplateGeneration: 1, Shape: -1, Replicas: pods,
	}
	if pods > 0 {
		b.Shape = c.intern(shape)
	} else {
		b.Problem, b.Reason = "there is no such PodTemplate", model.PodTemplateNotFound
	}
	verb := "create"
	if before := c.buffers.get(b.Key()); before != nil {
		b.UID, b.Generation, b.CreatedUnix, b.Status, verb = before.UID, before.Generation+1, before.CreatedUnix, before.Status, "update"
	} else {
		b.UID = c.uid("buffer")
	}
	put(c, &c.buffers, KindBuffer, b.Key(), b.UID, verb, &b)
}

// DeleteBuffer takes a CapacityBuffer away.
func (c *Cluster) DeleteBuffer(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.buffers.get(key); b != nil {
		drop(c, &c.buffers, KindBuffer, key, b.UID)
	}
}

// Buffers returns the CapacityBuffers, by namespace and name.
func (c *Cluster) Buffers() []model.Buffer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buffers.all()
}

// showBuffer writes what a buffer's status is to say, unless the buffer has changed since.
func (c *Cluster) showBuffer(r *model.BufferReport) {
	key := r.Namespace + "/" + r.Name
	stored := c.buffers.get(key)
	if stored == nil || stored.UID != r.UID || stored.Status == r.Status || r.Status.Ready.Generation != stored.Generation {
		return
	}
	next := *stored
	next.Status = r.Status
	put(c, &c.buffers, KindBuffer, key, next.UID, "status", &next)
}
