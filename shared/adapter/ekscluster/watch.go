package ekscluster

import (
	"context"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Watch follows a cluster and hands each change on.
type Watch struct {
	controllers []cache.Controller
}

// WatchOptions say whom a Watch tells.
type WatchOptions struct {
	// Observe gets every object once after the start and then every change, deletions included. It is called from several
	// goroutines, in order for one object.
	Observe func(wire.Change)
	// Undefined is called with the name of a resource whose definition is not in the cluster, each time that is found; nil =
	// nobody. The watch goes on looking for it.
	Undefined func(resource string)
	// DefaultSpread is what kube-scheduler is configured to do with pods that declare no spread, see
	// translate.ParseDefaultSpread. Only where it is set are Services, ReplicationControllers, ReplicaSets and StatefulSets
	// watched, which takes the right to.
	DefaultSpread []model.Spread
}

// NewWatch returns a watch that has not begun.
func NewWatch(config *rest.Config, o WatchOptions) (*Watch, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "joiner-watcher"
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, translateError(err, "connect to the cluster")
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, translateError(err, "connect to the cluster")
	}
	w := &Watch{}
	for _, k := range append(coreKinds(core, o), customKinds(custom, o)...) {
		w.add(k)
	}
	return w, nil
}

func (w *Watch) add(k kind) {
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: k.source, ObjectType: k.object, Transform: k.strip, Handler: k,
	})
	w.controllers = append(w.controllers, controller)
}

// Run follows the cluster until ctx is done.
func (w *Watch) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, c := range w.controllers {
		running.Go(func() { c.RunWithContext(ctx) })
	}
	running.Wait()
}

// Synced reports whether everything that was there at the start has been handed on.
func (w *Watch) Synced() bool {
	for _, c := range w.controllers {
		if !c.HasSynced() {
			return false
		}
	}
	return true
}

// WaitForSync blocks until Synced, and reports false where ctx is done first.
func (w *Watch) WaitForSync(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), w.Synced)
}
