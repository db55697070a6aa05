package ekscluster

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Configuration reads every NodePool and EC2NodeClass as they are now, the two kinds side by side. An object that cannot be read is left
// out: it has passed a definition this build does not know. Kinds that are not defined are Undefined, and have no objects.
func (c *Client) Configuration(ctx context.Context) (model.Configuration, error) {
	var out model.Configuration
	undefined, errs := [2][]string{}, [2]error{}
	var both sync.WaitGroup
	both.Go(func() {
		errs[0] = listAll(ctx, c.noting(apiv1.NodePoolResource, &undefined[0]), func(object any) {
			if pool, err := toTyped[apiv1.NodePool](object.(*unstructured.Unstructured)); err == nil {
				out.Pools = append(out.Pools, translate.Pool(pool))
			}
		})
	})
	both.Go(func() {
		errs[1] = listAll(ctx, c.noting(awsv1.EC2NodeClassResource, &undefined[1]), func(object any) {
			if class, err := toTyped[awsv1.EC2NodeClass](object.(*unstructured.Unstructured)); err == nil {
				out.Classes = append(out.Classes, model.ClassObject{
					Class: translate.Class(class), Annotations: class.Annotations,
					Finalized: slices.Contains(class.Finalizers, wellknown.FinalizerEC2NodeClass),
				})
			}
		})
	})
	both.Wait()
	out.Undefined = slices.Concat(undefined[0], undefined[1])
	err := cmp.Or(errs[0], errs[1])
	slices.SortFunc(out.Pools, func(a, b model.Pool) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(out.Classes, func(a, b model.ClassObject) int { return strings.Compare(a.Class.Name, b.Class.Name) })
	return out, err
}

// noting is the lister of a kind of our definitions, which adds the kind to undefined where the cluster does not define it.
func (c *Client) noting(resource schema.GroupVersionResource, undefined *[]string) lister {
	l := c.customLister(resource)
	each := l.each
	l.each = func(list runtime.Object, add func(any)) {
		if _, none := list.(*metav1.PartialObjectMetadataList); none {
			*undefined = append(*undefined, resource.Resource)
		}
		each(list, add)
	}
	return l
}

// PatchClass puts our finalizer on an EC2NodeClass or takes it off, and sets annotations, on condition that it is the
// object that was evaluated and that nobody wrote in between; then it starts again, a few times. Nothing is written where
// nothing differs. NotFound where the object is gone or another.
func (c *Client) PatchClass(ctx context.Context, mark model.ClassPatch) error {
	var err error
	for range attempts {
		if err = c.patchClass(ctx, &mark); !fault.Is(err, fault.Conflict) {
			return err
		}
	}
	return err
}

func (c *Client) patchClass(ctx context.Context, mark *model.ClassPatch) error {
	classes := c.custom.Resource(awsv1.EC2NodeClassResource)
	object, err := classes.Get(ctx, mark.Name, metav1.GetOptions{})
	if err != nil {
		return translateError(err, "read EC2NodeClass %s", mark.Name)
	}
	if string(object.GetUID()) != mark.UID {
		return fault.New(fault.NotFound, "", "EC2NodeClass %s of UID %s is gone; there is another of UID %s", mark.Name, mark.UID, object.GetUID())
	}
	meta := map[string]any{}
	if annotations := missing(object.GetAnnotations(), mark.Annotations); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	finalizers := slices.Clone(object.GetFinalizers())
	// The API server refuses a new finalizer on an object that is being deleted.
	switch has := slices.Contains(finalizers, wellknown.FinalizerEC2NodeClass); {
	case has && !mark.Finalized:
		meta["finalizers"] = slices.DeleteFunc(finalizers, func(f string) bool { return f == wellknown.FinalizerEC2NodeClass })
	case !has && mark.Finalized && object.GetDeletionTimestamp() == nil:
		meta["finalizers"] = append(finalizers, wellknown.FinalizerEC2NodeClass)
	}
	if len(meta) == 0 {
		return nil
	}
	meta["uid"], meta["resourceVersion"] = object.GetUID(), object.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return fault.Wrap(fault.Internal, "", err, "add the finalizer of EC2NodeClass %s", mark.Name)
	}
	_, err = classes.Patch(ctx, mark.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return translateError(err, "add the finalizer of EC2NodeClass %s", mark.Name)
}
