package replay

import (
	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/model"
)

// OverlayReports returns what the object of each NodeOverlay of the snapshot is to say, in their order; catalogs are what
// can be bought, by class name.
func OverlayReports(snapshot *model.Snapshot, catalogs map[string][]model.InstanceType) []model.OverlayReport {
	problems := overlay.Apply(snapshot.Overlays, snapshot.Pools, catalogs).Problems
	out := make([]model.OverlayReport, 0, len(snapshot.Overlays))
	for i := range snapshot.Overlays {
		o := &snapshot.Overlays[i]
		report := model.OverlayReport{Name: o.Name, UID: o.UID, Status: overlay.Status(o, nil)}
		if problem, is := problems[o.Name]; is {
			report.Status = overlay.Status(o, &problem)
		}
		out = append(out, report)
	}
	return out
}
