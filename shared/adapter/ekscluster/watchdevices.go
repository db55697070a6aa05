package ekscluster

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// deviceKinds are those of dynamic resource allocation. Clusters before Kubernetes 1.34 have none of them, and a
// watcher whose permissions are older than it is may not look at them.
func deviceKinds(client dynamic.Interface, o WatchOptions) []kind {
	return []kind{
		deviceKind(client, translate.ResourceClaims, o, func(u *unstructured.Unstructured) wire.Change {
			return wire.Change{ResourceClaim: ref(translate.ResourceClaim(u))}
		}, func(namespace, name string) wire.Change {
			return wire.Change{ResourceClaim: &model.ResourceClaim{Namespace: namespace, Name: name}}
		}),
		deviceKind(client, translate.ResourceClaimTemplates, o, func(u *unstructured.Unstructured) wire.Change {
			return wire.Change{ResourceClaimTemplate: ref(translate.ResourceClaimTemplate(u))}
		}, func(namespace, name string) wire.Change {
			return wire.Change{ResourceClaimTemplate: &model.ResourceClaimTemplate{Namespace: namespace, Name: name}}
		}),
		deviceKind(client, translate.DeviceClasses, o, func(u *unstructured.Unstructured) wire.Change {
			return wire.Change{DeviceClass: ref(translate.DeviceClass(u))}
		}, func(_, name string) wire.Change {
			return wire.Change{DeviceClass: &model.DeviceClass{Name: name}}
		}),
		deviceKind(client, translate.ResourceSlices, o, func(u *unstructured.Unstructured) wire.Change {
			return wire.Change{ResourceSlice: ref(translate.ResourceSlice(u))}
		}, func(_, name string) wire.Change {
			return wire.Change{ResourceSlice: &model.ResourceSlice{Name: name}}
		}),
	}
}

func deviceKind(client dynamic.Interface, resource schema.GroupVersionResource, o WatchOptions,
	translate func(*unstructured.Unstructured) wire.Change, gone func(namespace, name string) wire.Change) kind {
	source := &optional{customSource(client, resource, nil), o.Forbidden, resource.GroupResource().String(), false}
	k := changes(source, o.Observe, translate, gone)
	k.object = &unstructured.Unstructured{}
	return k
}

// deviceResources are those of dynamic resource allocation.
var deviceResources = []schema.GroupVersionResource{translate.ResourceClaims, translate.ResourceClaimTemplates,
	translate.DeviceClasses, translate.ResourceSlices}

// deviceListers read the kinds of dynamic resource allocation, where they are defined and may be looked at.
func (c Reader) deviceListers() []lister {
	var out []lister
	for _, resource := range deviceResources {
		out = append(out, c.permitted(c.customLister(resource)))
	}
	return out
}
