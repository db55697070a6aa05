package ekscluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// StandaloneClaim returns what a NodeClaim asks for that people made by hand, as the API server has it now. NotFound where it is gone,
// another, being deleted, or has an instance.
func (c *Client) StandaloneClaim(ctx context.Context, wanted model.Object) (model.StandaloneClaim, error) {
	untyped, err := c.custom.Resource(apiv1.NodeClaimResource).Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return model.StandaloneClaim{}, translateError(err, "read NodeClaim %s", wanted.Name)
	}
	shown, managed := translate.ClaimOf(untyped)
	if shown.UID != wanted.UID || !shown.Manual || !managed || shown.DeletedUnix != 0 {
		return model.StandaloneClaim{}, fault.New(fault.NotFound, "", "NodeClaim %s of UID %s is not to be launched any more", wanted.Name, wanted.UID)
	}
	return translate.StandaloneClaimOf(untyped), nil
}

// reportClaim writes a condition of a NodeClaim that has no instance yet, or of any whether and why it is disrupted voluntarily.
func (c *Client) reportClaim(ctx context.Context, said *model.Condition) error {
	return c.writeStatus(ctx, &status[apiv1.NodeClaim]{
		resource: apiv1.NodeClaimResource, name: said.Object, uid: said.UID,
		change: func(o *apiv1.NodeClaim) error {
			set := apiv1.NodeClaimConditions.For(o, c.now())
			choice := said.Type == apiv1.ConditionDisruptionReason || said.Type == apiv1.ConditionConsolidatable
			switch {
			case choice && said.Status == "":
				set.Remove(said.Type)
				return nil
			case o.Status.ProviderID != "" && !choice:
				return nil
			}
			return say(set, said)
		},
		of: func(o *apiv1.NodeClaim) any { return &o.Status },
	})
}
