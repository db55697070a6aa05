package ekscluster

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/wellknown"
	"github.com/joiner-sh/joiner/shared/model"
)

// Configuration reads every NodePool and EC2NodeClass as they are now, the two kinds side by side. An object that
// cannot be read is left out: it has passed a definition this build does not know. Kinds that are not defined are
// Undefined, and have no objects.
func (c Reader) Configuration(ctx context.Context) (model.Configuration, error) {
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
	slices.SortFunc(out.Classes,
		func(a, b model.ClassObject) int { return strings.Compare(a.Class.Name, b.Class.Name) })
	return out, err
}

// noting is the lister of a kind of our definitions, which adds the kind to undefined where the cluster does not define
// it.
func (c Reader) noting(resource schema.GroupVersionResource, undefined *[]string) lister {
	l := c.customLister(resource)
	page := l.page
	l.page = func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := page(ctx, o)
		if _, none := list.(*metav1.PartialObjectMetadataList); none {
			*undefined = append(*undefined, resource.Resource)
		}
		return list, err
	}
	return l
}
