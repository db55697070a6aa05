package ekscluster

import (
	"context"
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Free takes our finalizer, and no other, off the object of a kind, Node or NodeClaim, on condition of its UID and that nobody
// wrote in between; then it starts again, a few times. NotFound where the object is gone; Conflict where another has its name,
// or others kept writing. One without our finalizer is left as it is.
func (c *Client) Free(ctx context.Context, kind string, object model.Object) error {
	if object.UID == "" {
		return fault.New(fault.Invalid, "", "%s %s: its finalizer is not removed without the UID that was evaluated", kind, object.Name)
	}
	var resource schema.GroupVersionResource
	switch kind {
	case "Node":
		resource = corev1.SchemeGroupVersion.WithResource("nodes")
	case apiv1.KindNodeClaim:
		resource = apiv1.NodeClaimResource
	default:
		return fault.New(fault.Invalid, "", "objects of kind %s have no finalizer of Joiner", kind)
	}
	var err error
	for range attempts {
		var another bool
		if another, err = c.free(ctx, resource, object); another || !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return err
}

// free tries once; another says that the Conflict is about an object of the name that is not the one evaluated.
func (c *Client) free(ctx context.Context, resource schema.GroupVersionResource, object model.Object) (another bool, err error) {
	objects := c.custom.Resource(resource)
	found, err := objects.Get(ctx, object.Name, metav1.GetOptions{})
	if err != nil {
		return false, translateError(err, "read %s %s", resource.Resource, object.Name)
	}
	if string(found.GetUID()) != object.UID {
		return true, fault.New(fault.Conflict, "", "%s %s of UID %s is gone; there is another of UID %s", resource.Resource, object.Name, object.UID, found.GetUID())
	}
	if !slices.Contains(found.GetFinalizers(), model.Finalizer) {
		return false, nil
	}
	left := slices.DeleteFunc(slices.Clone(found.GetFinalizers()), func(f string) bool { return f == model.Finalizer })
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": found.GetUID(), "resourceVersion": found.GetResourceVersion(), "finalizers": left,
	}})
	if err != nil {
		return false, fault.Wrap(fault.Internal, "", err, "remove the finalizer of %s %s", resource.Resource, object.Name)
	}
	_, err = objects.Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return false, translateError(err, "remove the finalizer of %s %s", resource.Resource, object.Name)
}
