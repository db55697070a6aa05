package ekscluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// StandaloneClaim returns what a NodeClaim asks for that people made by hand, as the API server has it now. NotFound
// where it is gone, another, being deleted, or has an instance.
func (c Claims) StandaloneClaim(ctx context.Context, wanted model.Object) (model.StandaloneClaim, error) {
	untyped, err := c.custom.Resource(apiv1.NodeClaimResource).Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return model.StandaloneClaim{}, translateError(err, "read NodeClaim %s", wanted.Name)
	}
	shown, managed := translate.ClaimOf(untyped)
	if shown.UID != wanted.UID || !shown.Manual || !managed || shown.DeletedUnix != 0 {
		return model.StandaloneClaim{}, fault.New(fault.NotFound, "",
			"NodeClaim %s of UID %s is not to be launched any more", wanted.Name, wanted.UID)
	}
	return translate.StandaloneClaimOf(untyped), nil
}
