package ekscluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// kind is one kind of object as the watch follows it.
type kind struct {
	source cache.ListerWatcher
	object runtime.Object
	// translate returns what is to be handed on of an object; nil where it is not ours to look at.
	translate func(object any) any
	deliver   func(translated any)
	gone      func(namespace, name string)
}

// row is all that is kept of an object: who it is. What was translated of it is handed on once and then let go, so that
// neither the object nor a second copy of its row stays in memory.
type row struct {
	*metav1.ObjectMeta // shared and empty: nobody asks for more than what follows
	namespace, name    string
	version            string
	translated         any
}

var noMeta metav1.ObjectMeta

// GetNamespace implements metav1.Object.
func (r *row) GetNamespace() string { return r.namespace }

// GetName implements metav1.Object.
func (r *row) GetName() string { return r.name }

// GetResourceVersion implements metav1.Object.
func (r *row) GetResourceVersion() string { return r.version }

// strip turns an object into its row before it is stored anywhere. It may be given a row again.
func (k kind) strip(object any) (any, error) {
	if r, ok := object.(*row); ok {
		return r, nil
	}
	meta, ok := object.(metav1.Object)
	if !ok {
		return object, nil // a tombstone, which holds a row or nothing
	}
	return &row{
		ObjectMeta: &noMeta, namespace: meta.GetNamespace(), name: meta.GetName(), version: meta.GetResourceVersion(),
		translated: k.translate(object),
	}, nil
}

// OnAdd implements cache.ResourceEventHandler.
func (k kind) OnAdd(object any, _ bool) { k.handOn(object) }

// OnUpdate implements cache.ResourceEventHandler.
func (k kind) OnUpdate(_, object any) { k.handOn(object) }

func (k kind) handOn(object any) {
	r, ok := object.(*row)
	if !ok {
		return
	}
	translated := r.translated
	r.translated = nil
	if translated == nil {
		k.gone(r.namespace, r.name)
		return
	}
	k.deliver(translated)
}

// OnDelete implements cache.ResourceEventHandler.
func (k kind) OnDelete(object any) {
	if unseen, ok := object.(cache.DeletedFinalStateUnknown); ok {
		namespace, name, err := cache.SplitMetaNamespaceKey(unseen.Key)
		if err == nil {
			k.gone(namespace, name)
		}
		return
	}
	if r, ok := object.(*row); ok {
		k.gone(r.namespace, r.name)
	}
}

// objectKey names an object of a kind.
type objectKey struct{ namespace, name string }

func ref[T any](v T) *T { return &v }

// WatchOptions say whom a Watch tells.
type WatchOptions struct {
	// Observe gets every object once after the start and then every change, deletions included. It is called from
	// several goroutines, in order for one object.
	Observe func(wire.Change)
	// Undefined is called with the name of a resource whose definition is not in the cluster, each time that is found;
	// nil = nobody. The watch goes on looking for it.
	Undefined func(resource string)
	// Forbidden is called with the name of an optional resource that this client may not look at, each time that is
	// found; nil = nobody. The watch goes on as if there were no such objects.
	Forbidden func(resource string)
	// DefaultSpread is what kube-scheduler is configured to do with pods that declare no spread, see
	// translate.ParseDefaultSpread. Only where it is set are Services, ReplicationControllers, ReplicaSets and
	// StatefulSets watched, which takes the permission to.
	DefaultSpread []model.Spread
}
