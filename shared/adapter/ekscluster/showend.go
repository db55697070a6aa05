package ekscluster

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// UpdateTermination brings the conditions of a claim's NodeClaim object up to how far its end has come, and its
// deadline annotation where it has none or a later one; an earlier one is respected. While the claim is Draining the
// object gets our finalizer where it has none and nobody has deleted it. NotFound where the object of that UID is gone.
func (c Claims) UpdateTermination(ctx context.Context, claim model.Claim) error {
	if claim.ObjectUID == "" {
		return fault.New(fault.NotFound, "", "claim %s has no NodeClaim object", claim.Name)
	}
	var object *apiv1.NodeClaim
	err := again(func() (err error) { object, err = c.writeEnd(ctx, &claim); return err })
	if err != nil {
		return err
	}
	return claimStatus(claim.Name, claim.ObjectUID, object, func(o *apiv1.NodeClaim) error {
		showEnd(o, &claim)
		return nil
	}).write(ctx, c.api)
}

// writeEnd writes deadline and finalizer, and returns the object as it is then.
func (c Claims) writeEnd(ctx context.Context, claim *model.Claim) (*apiv1.NodeClaim, error) {
	claims := c.custom.Resource(apiv1.NodeClaimResource)
	untyped, err := claims.Get(ctx, claim.Name, metav1.GetOptions{})
	if err != nil {
		return nil, translateError(err, "read NodeClaim %s", claim.Name)
	}
	if err := isAnother(apiv1.KindNodeClaim, claim.Name, claim.ObjectUID, untyped.GetUID()); err != nil {
		return nil, err
	}
	meta := map[string]any{}
	if drain := claim.Drain; drain != nil && drain.DeadlineUnix != 0 {
		if shown := translate.Deadline(untyped.GetAnnotations()); shown == 0 || shown > drain.DeadlineUnix {
			meta["annotations"] = map[string]any{model.AnnotationDeadline: time.Unix(drain.DeadlineUnix,
				0).UTC().Format(time.RFC3339)}
		}
	}
	finalizers := untyped.GetFinalizers()
	if claim.State == model.Draining && untyped.GetDeletionTimestamp() == nil && !slices.Contains(finalizers,
		model.Finalizer) {
		meta["finalizers"] = append(slices.Clone(finalizers), model.Finalizer)
	}
	if len(meta) > 0 {
		untyped, err = c.patchMeta(ctx, apiv1.NodeClaimResource, untyped, meta, "write the deadline of NodeClaim %s",
			claim.Name)
		if err != nil {
			return nil, err
		}
	}
	return toTyped[apiv1.NodeClaim](untyped)
}
