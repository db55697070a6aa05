package ekscluster

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Definitions reads the definitions of NodePools, NodeClaims and EC2NodeClasses as they are now. One that is not there
// neither stands nor goes.
func (c Reader) Definitions(ctx context.Context) (model.Definitions, error) {
	var found [3]model.Definition
	var errs [3]error
	var group sync.WaitGroup
	for i, resource := range customResources {
		group.Go(func() { found[i], errs[i] = c.definition(ctx, resource.Resource+"."+resource.Group) })
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return model.Definitions{}, err
		}
	}
	return model.Definitions{Pools: found[0], Claims: found[1], Classes: found[2]}, nil
}

func (c Reader) definition(ctx context.Context, name string) (model.Definition, error) {
	object, err := c.custom.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return model.Definition{Name: name}, nil
	}
	if err != nil {
		return model.Definition{}, translateError(err, "read definition %s", name)
	}
	going := object.GetDeletionTimestamp() != nil
	return model.Definition{Name: name, Established: !going, Going: going,
		CreatedUnix: object.GetCreationTimestamp().Unix()}, nil
}

// undefined gives the answer to a list of a kind that is not defined its code.
func undefined(err error, kind string) error {
	if apierrors.IsNotFound(err) {
		return fault.Wrap(fault.NotFound, model.CodeUndefined, err,
			"list %s, whose CustomResourceDefinition is missing in the cluster", kind)
	}
	return err
}
