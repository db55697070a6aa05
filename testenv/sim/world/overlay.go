package world

import (
	"github.com/joiner-sh/joiner/shared/model"
)

// AddOverlay applies a NodeOverlay; one of that name is replaced and keeps its UID and status.
func (c *Cluster) AddOverlay(o model.Overlay) {
	c.mu.Lock()
	defer c.mu.Unlock()
	verb := "create"
	if before := c.overlays.get(o.Name); before != nil {
		o.UID, o.Generation, o.Status, verb = before.UID, before.Generation+1, before.Status, "update"
	} else {
		o.UID, o.Generation = c.uid("overlay"), 1
	}
	put(c, &c.overlays, KindOverlay, o.Name, o.UID, verb, &o)
}

// DeleteOverlay takes a NodeOverlay away.
func (c *Cluster) DeleteOverlay(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.overlays.get(name); o != nil {
		drop(c, &c.overlays, KindOverlay, name, o.UID)
	}
}

// Overlays returns the NodeOverlays, by name.
func (c *Cluster) Overlays() []model.Overlay {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overlays.all()
}

// showOverlays writes what the status of overlays is to say, unless an overlay has changed since.
func (c *Cluster) showOverlays(reports []model.OverlayReport) {
	for _, r := range reports {
		stored := c.overlays.get(r.Name)
		if stored == nil || stored.UID != r.UID || stored.Status == r.Status ||
			r.Status.Generation != stored.Generation {
			continue
		}
		next := *stored
		next.Status = r.Status
		put(c, &c.overlays, KindOverlay, r.Name, next.UID, "status", &next)
	}
}
