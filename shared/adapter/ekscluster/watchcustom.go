package ekscluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/api/v1alpha1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// customKinds are the kinds of our definitions.
func customKinds(client dynamic.Interface, o WatchOptions) []kind {
	return []kind{
		customKind(client, apiv1.NodePoolResource, o, func(u *unstructured.Unstructured) (wire.Change, bool) {
			pool, managed := translate.PoolOf(u)
			return wire.Change{Pool: &pool, Conditions: translate.Conditions(u)}, managed
		}, func(name string) wire.Change { return wire.Change{Pool: &model.Pool{Name: name}} }),
		customKind(client, apiv1.NodeClaimResource, o, func(u *unstructured.Unstructured) (wire.Change, bool) {
			claim, managed := translate.ClaimOf(u)
			shown, conditions := translate.ClaimShown(u), translate.Conditions(u)
			return wire.Change{Claim: &claim, Shown: &shown, Conditions: conditions}, managed
		}, func(name string) wire.Change { return wire.Change{Claim: &model.Object{Name: name}} }),
		customKind(client, awsv1.EC2NodeClassResource, o, func(u *unstructured.Unstructured) (wire.Change, bool) {
			return wire.Change{Class: ref(translate.ClassOf(u)), Conditions: translate.Conditions(u)}, true
		}, func(name string) wire.Change { return wire.Change{Class: &model.Class{Name: name}} }),
		overlayKind(client, o),
	}
}

// overlayKind are NodeOverlays. Where they are not defined, or the watcher may not look at them as its permissions are
// older than itself, there are none.
func overlayKind(client dynamic.Interface, o WatchOptions) kind {
	k := customKind(client, v1alpha1.NodeOverlayResource, o, func(u *unstructured.Unstructured) (wire.Change, bool) {
		return wire.Change{Overlay: ref(translate.OverlayOf(u))}, u.GetDeletionTimestamp() == nil
	}, func(name string) wire.Change { return wire.Change{Overlay: &model.Overlay{Name: name}} })
	k.source = &optional{customSource(client, v1alpha1.NodeOverlayResource, nil), o.Forbidden,
		v1alpha1.NodeOverlayResource.GroupResource().String(), false}
	return k
}

func customKind(client dynamic.Interface, resource schema.GroupVersionResource, o WatchOptions,
	translate func(*unstructured.Unstructured) (wire.Change, bool), gone func(name string) wire.Change) kind {
	return kind{
		source: customSource(client, resource, o.Undefined), object: &unstructured.Unstructured{},
		translate: func(object any) any {
			change, ours := translate(object.(*unstructured.Unstructured))
			if !ours {
				return nil
			}
			return change
		},
		deliver: func(c any) { o.Observe(c.(wire.Change)) },
		gone: func(_, name string) {
			c := gone(name)
			c.Deleted = true
			o.Observe(c)
		},
	}
}

// listWatch is a source that lists before it watches, as there are few such objects and a missing definition shows best
// in the answer to a list.
type listWatch struct{ cache.ListWatch }

// IsWatchListSemanticsUnSupported keeps the reflector from watching first.
func (*listWatch) IsWatchListSemanticsUnSupported() bool { return true }

// customSource lists and watches a resource. As long as it is not defined in the cluster it has no objects; the
// reflector comes back to it with growing pauses of at most half a minute.
func customSource(client dynamic.Interface, resource schema.GroupVersionResource,
	undefined func(string)) cache.ListerWatcher {
	return &listWatch{cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := client.Resource(resource).List(ctx, o)
			if apierrors.IsNotFound(err) {
				if undefined != nil {
					undefined(resource.GroupResource().String())
				}
				return &unstructured.UnstructuredList{}, nil
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return client.Resource(resource).Watch(ctx, o)
		},
	}}
}
