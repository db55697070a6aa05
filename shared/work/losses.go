package work

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// LossReporter tells the watcher that something of what it published is gone.
type LossReporter interface {
	// Lost flags the manifest as one that names an object which is not there; the watcher then publishes the state
	// whole. A manifest that has moved on, or is flagged already, is left alone, which is no error.
	Lost(ctx context.Context, manifest model.Manifest) error
}

// EffectReportLost is the name of what ReportLost does.
const EffectReportLost = "lost"

// ReportLost tells the watcher, once for a manifest as it was read, where failure says that an object is gone which the
// manifest names. Whatever else cannot be read would be the same in the next snapshot. Nobody learns where losses is
// nil.
func ReportLost(ctx context.Context, losses LossReporter, effects EffectHook, manifest model.Manifest, failure error) error {
	if losses == nil || manifest.Lost || !fault.Is(failure, fault.NotFound) {
		return nil
	}
	return RunEffect(ctx, effects, EffectReportLost, func() error { return losses.Lost(ctx, manifest) })
}

// ReportLost tells the watcher as the function of that name does; what goes wrong with that is a problem.
func (i *Invocation) ReportLost(ctx context.Context, losses LossReporter, manifest model.Manifest, failure error) {
	if err := ReportLost(ctx, losses, i.Hook, manifest, failure); err != nil {
		i.Problem("%v", err)
	}
}
