package provision

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// overlays says of every NodeOverlay whether it is applied, where this run resolved the classes whose instance types
// overlays change. An overlay whose object says so already is left alone.
func (r *reporter) overlays(ctx context.Context) {
	if len(r.snapshot.Overlays) == 0 || r.classes.resolved == nil {
		return
	}
	catalog, err := r.classes.readCatalog(ctx)
	if err != nil {
		r.problem("evaluate NodeOverlays: %v", err)
		return
	}
	catalogs := map[string][]model.InstanceType{}
	for name, class := range r.classes.resolved { // each on its own: the order does not matter
		if offering.ClassProblem(class) == "" {
			catalogs[name] = offering.Catalog(catalog.Types, class, r.offeringSettings())
		}
	}
	for i, report := range replay.OverlayReports(r.snapshot, catalogs) {
		if report.Status.Status == "False" {
			r.warn(kindOverlay, report.Name, report.UID, "NodeOverlayValidationFailed", report.Status.Message)
		}
		if report.Status != r.snapshot.Overlays[i].Status {
			r.report.Overlays = append(r.report.Overlays, report)
		}
	}
}

// overlaysDue reports whether a NodeOverlay was changed since it was said whether it is applied.
func (c *classes) overlaysDue() bool {
	return slices.ContainsFunc(c.snapshot.Overlays,
		func(o model.Overlay) bool { return o.Status.Generation != o.Generation })
}
