package ekscluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Objects are nodes, NodeClaims and EC2NodeClasses with their finalizers.
type Objects struct{ *api }

// Free takes our finalizer, and no other, off the object of a kind, Node or NodeClaim, on condition of its UID and that
// nobody wrote in between; then it starts again, a few times. NotFound where the object is gone; Conflict where another
// has its name, or others kept writing. One without our finalizer is left as it is. Kept says that the object is being
// deleted and that finalizers of others keep it.
func (c Objects) Free(ctx context.Context, kind string, object model.Object) (kept bool, err error) {
	if object.UID == "" {
		return false, fault.New(fault.Invalid, "",
			"%s %s: its finalizer is not removed without the UID that was evaluated", kind, object.Name)
	}
	var resource schema.GroupVersionResource
	switch kind {
	case "Node":
		resource = corev1.SchemeGroupVersion.WithResource("nodes")
	case apiv1.KindNodeClaim:
		resource = apiv1.NodeClaimResource
	default:
		return false, fault.New(fault.Invalid, "", "objects of kind %s have no finalizer of Joiner", kind)
	}
	for range attempts {
		var another bool
		if kept, another, err = c.free(ctx, resource, object); another || !fault.Is(err, fault.Conflict) {
			return kept, err
		}
	}
	return false, err
}

// free tries once; another says that the Conflict is about an object of the name that is not the one evaluated.
func (c Objects) free(ctx context.Context, resource schema.GroupVersionResource, object model.Object) (kept,
	another bool, err error) {
	objects := c.custom.Resource(resource)
	found, err := objects.Get(ctx, object.Name, metav1.GetOptions{})
	if err != nil {
		return false, false, translateError(err, "read %s %s", resource.Resource, object.Name)
	}
	if string(found.GetUID()) != object.UID {
		return false, true, fault.New(fault.Conflict, "", "%s %s of UID %s is gone; there is another of UID %s",
			resource.Resource, object.Name, object.UID, found.GetUID())
	}
	left := slices.DeleteFunc(slices.Clone(found.GetFinalizers()), func(f string) bool { return f == model.Finalizer })
	kept = len(left) > 0 && found.GetDeletionTimestamp() != nil
	if len(left) == len(found.GetFinalizers()) {
		return kept, false, nil
	}
	_, err = c.patchMeta(ctx, resource, found, map[string]any{"finalizers": left},
		"remove the finalizer of %s %s", resource.Resource, object.Name)
	return kept, false, err
}

// Remove deletes the object of a kind, Node or NodeClaim, on condition of its UID. NotFound where it is gone; Conflict
// where another has its name.
func (c Objects) Remove(ctx context.Context, kind string, object model.Object) error {
	if object.UID == "" {
		return fault.New(fault.Invalid, "", "%s %s: it is not deleted without the UID that was evaluated", kind,
			object.Name)
	}
	id := uid(object.UID)
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &id}}
	var err error
	switch kind {
	case "Node":
		err = c.core.CoreV1().Nodes().Delete(ctx, object.Name, options)
	case apiv1.KindNodeClaim:
		err = c.custom.Resource(apiv1.NodeClaimResource).Delete(ctx, object.Name, options)
	default:
		return fault.New(fault.Invalid, "", "objects of kind %s are not removed", kind)
	}
	return translateError(err, "delete %s %s of UID %s", kind, object.Name, object.UID)
}

// PatchClass puts our finalizer on an EC2NodeClass or takes it off, and sets annotations, on condition that it is the
// object that was evaluated and that nobody wrote in between; then it starts again, a few times. Nothing is written
// where nothing differs. NotFound where the object is gone or another.
func (c Objects) PatchClass(ctx context.Context, mark model.ClassPatch) error {
	return again(func() error { return c.patchClass(ctx, &mark) })
}

func (c Objects) patchClass(ctx context.Context, mark *model.ClassPatch) error {
	object, err := c.custom.Resource(awsv1.EC2NodeClassResource).Get(ctx, mark.Name, metav1.GetOptions{})
	if err != nil {
		return translateError(err, "read EC2NodeClass %s", mark.Name)
	}
	if err := isAnother(awsv1.KindEC2NodeClass, mark.Name, mark.UID, object.GetUID()); err != nil {
		return err
	}
	meta := map[string]any{}
	if annotations := missing(object.GetAnnotations(), mark.Annotations); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	finalizers := slices.Clone(object.GetFinalizers())
	// The API server refuses a new finalizer on an object that is being deleted.
	switch has := slices.Contains(finalizers, wellknown.FinalizerEC2NodeClass); {
	case has && !mark.Finalized:
		meta["finalizers"] = slices.DeleteFunc(finalizers,
			func(f string) bool { return f == wellknown.FinalizerEC2NodeClass })
	case !has && mark.Finalized && object.GetDeletionTimestamp() == nil:
		meta["finalizers"] = append(finalizers, wellknown.FinalizerEC2NodeClass)
	}
	if len(meta) == 0 {
		return nil
	}
	_, err = c.patchMeta(ctx, awsv1.EC2NodeClassResource, object, meta, "add the finalizer of EC2NodeClass %s",
		mark.Name)
	return err
}
