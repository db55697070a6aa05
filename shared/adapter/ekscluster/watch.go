package ekscluster

import (
	"context"
	"slices"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
)

// Watch follows a cluster and hands each change on.
type Watch struct {
	controllers []cache.Controller

	ctx     context.Context // of Run
	running sync.WaitGroup  // of what Run began
	mu      sync.Mutex      // guards later
	later   []*laterKind
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
	core, err := typed.NewForConfig(config)
	if err != nil {
		return nil, translateError(err, "connect to the cluster")
	}
	w := &Watch{}
	for _, k := range slices.Concat(coreKinds(core, o), customKinds(custom, o), deviceKinds(custom, o),
		bufferKinds(w, core, custom, o)) {
		w.add(k)
	}
	return w, nil
}

func (w *Watch) add(k kind) { w.controllers = append(w.controllers, k.informer()) }

func (k kind) informer() cache.Controller {
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: k.source, ObjectType: k.object, Transform: k.strip, Handler: k,
	})
	return controller
}

// Run follows the cluster until ctx is done.
func (w *Watch) Run(ctx context.Context) {
	w.ctx = ctx
	for _, c := range w.controllers {
		w.running.Go(func() { c.RunWithContext(ctx) })
	}
	w.running.Wait()
}

// Synced reports whether everything that was there at the start has been handed on.
func (w *Watch) Synced() bool {
	for _, c := range w.controllers {
		if !c.HasSynced() {
			return false
		}
	}
	w.mu.Lock() // whatever was to be followed later, for what was there at the start, is in the list by now
	defer w.mu.Unlock()
	return !slices.ContainsFunc(w.later, func(k *laterKind) bool { return !k.synced.Load() })
}

// WaitForSync blocks until Synced, and reports false where ctx is done first.
func (w *Watch) WaitForSync(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), w.Synced)
}
