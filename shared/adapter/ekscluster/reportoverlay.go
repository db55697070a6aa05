package ekscluster

import (
	"context"

	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/model"
)

// reportOverlay writes whether a NodeOverlay is applied. One that changed after it was looked at is left alone: it is
// being looked at again.
func (c Reporter) reportOverlay(ctx context.Context, r *model.OverlayReport) error {
	return (&status[v1alpha1.NodeOverlay]{
		resource: v1alpha1.NodeOverlayResource, name: r.Name, uid: r.UID,
		change: func(overlay *v1alpha1.NodeOverlay) error {
			if r.Status.Generation != overlay.Generation {
				return nil
			}
			return say(v1alpha1.Conditions.For(overlay, c.now()), &model.Condition{
				Object: r.Name, Type: v1alpha1.ConditionValidationSucceeded, Status: r.Status.Status,
				Reason: r.Status.Reason, Message: cut(r.Status.Message, maxConditionMessage),
			})
		},
		of: func(overlay *v1alpha1.NodeOverlay) any { return &overlay.Status },
	}).write(ctx, c.api)
}
