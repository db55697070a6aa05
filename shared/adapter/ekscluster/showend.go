package ekscluster

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/condition"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// UpdateTermination brings the conditions of a claim's NodeClaim object up to how far its end has come, and its deadline annotation where
// it has none or a later one; an earlier one is respected. While the claim is Draining the object gets our finalizer where it
// has none and nobody has deleted it. NotFound where the object of that UID is gone.
func (c *Client) UpdateTermination(ctx context.Context, claim model.Claim) error {
	if claim.ObjectUID == "" {
		return fault.New(fault.NotFound, "", "claim %s has no NodeClaim object", claim.Name)
	}
	var err error
	for range attempts {
		var object *apiv1.NodeClaim
		if object, err = c.writeEnd(ctx, &claim); err == nil {
			return c.writeStatus(ctx, &status[apiv1.NodeClaim]{
				resource: apiv1.NodeClaimResource, name: claim.Name, uid: claim.ObjectUID, object: object,
				change: func(o *apiv1.NodeClaim) error {
					showEnd(o, &claim)
					return nil
				},
				of: func(o *apiv1.NodeClaim) any { return &o.Status },
			})
		}
		if !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return err
}

// writeEnd writes deadline and finalizer, and returns the object as it is then.
func (c *Client) writeEnd(ctx context.Context, claim *model.Claim) (*apiv1.NodeClaim, error) {
	claims := c.custom.Resource(apiv1.NodeClaimResource)
	untyped, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil {
		return nil, translateError(err, "read NodeClaim %s", claim.Name)
	}
	if string(untyped.GetUID()) != claim.ObjectUID {
		return nil, fault.New(fault.NotFound, "", "NodeClaim %s of UID %s is gone; there is another of UID %s", claim.Name, claim.ObjectUID, untyped.GetUID())
	}
	meta := map[string]any{}
	if drain := claim.Drain; drain != nil && drain.DeadlineUnix != 0 {
		if shown := translate.Deadline(untyped.GetAnnotations()); shown == 0 || shown > drain.DeadlineUnix {
			meta["annotations"] = map[string]any{model.AnnotationDeadline: time.Unix(drain.DeadlineUnix, 0).UTC().Format(time.RFC3339)}
		}
	}
	finalizers := untyped.GetFinalizers()
	if claim.State == model.Draining && untyped.GetDeletionTimestamp() == nil && !slices.Contains(finalizers, model.Finalizer) {
		meta["finalizers"] = append(slices.Clone(finalizers), model.Finalizer)
	}
	if len(meta) > 0 {
		meta["uid"], meta["resourceVersion"] = untyped.GetUID(), untyped.GetResourceVersion()
		patch, err := json.Marshal(map[string]any{"metadata": meta})
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "", err, "write the deadline of NodeClaim %s", claim.Name)
		}
		if untyped, err = claims.Patch(ctx, claim.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return nil, translateError(err, "write the deadline of NodeClaim %s", claim.Name)
		}
	}
	return toTyped[apiv1.NodeClaim](untyped)
}

// showEnd brings the conditions of a claim's end up to its Drain: why it ends, whether its node is empty, whether its volumes
// are detached, whether its instance is ending. Times of transitions are the drain's own.
func showEnd(object *apiv1.NodeClaim, claim *model.Claim) {
	drain := claim.Drain
	if drain == nil {
		return
	}
	on := func(unix int64) *condition.Set { return apiv1.NodeClaimConditions.For(object, time.Unix(unix, 0)) }
	if claim.FailureCode != "" {
		on(drain.SinceUnix).SetTrueWithReason(apiv1.ConditionDisruptionReason, claim.FailureCode, claim.FailureMessage)
	}
	late := drain.DeadlineUnix != 0 && drain.DetachedUnix >= drain.DeadlineUnix // nobody waits for volumes any more
	switch {
	case drain.EmptyUnix == 0:
		on(drain.SinceUnix).SetUnknown(apiv1.ConditionDrained, apiv1.ReasonDraining, strings.Join(drain.Waits, "; "))
	case drain.DetachedUnix == 0:
		on(drain.EmptyUnix).SetTrue(apiv1.ConditionDrained)
		on(drain.EmptyUnix).SetUnknown(apiv1.ConditionVolumesDetached, apiv1.ReasonAwaitingVolumeDetachment, strings.Join(drain.Waits, "; "))
	case late:
		on(drain.EmptyUnix).SetTrue(apiv1.ConditionDrained)
		on(drain.DetachedUnix).SetFalse(apiv1.ConditionVolumesDetached, apiv1.ReasonTerminationGracePeriodElapsed, strings.Join(drain.Waits, "; "))
	default:
		on(drain.EmptyUnix).SetTrue(apiv1.ConditionDrained)
		on(drain.DetachedUnix).SetTrue(apiv1.ConditionVolumesDetached)
	}
	if drain.EndUnix != 0 {
		on(drain.EndUnix).SetTrue(apiv1.ConditionInstanceTerminating)
	}
}
