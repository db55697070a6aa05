package world

import (
	"github.com/joiner-sh/joiner/shared/model"
)

// AddOverlay applies a NodeOverlay in a cluster; one of that name is replaced and keeps its UID and status.
func AddOverlay(c *Cluster, o model.Overlay) {
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

// Overlays returns the NodeOverlays of a cluster, by name.
func Overlays(c *Cluster) []model.Overlay {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.overlays.all()
}
