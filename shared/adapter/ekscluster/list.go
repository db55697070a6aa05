package ekscluster

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
)

// List builds a snapshot by listing every kind; Epoch and Seq are 0. Pods come last, so that no pod is seen on a node
// that is not. Kinds whose definition is not in the cluster have no objects.
func (c Reader) List(ctx context.Context) (*model.Snapshot, error) {
	at := c.now().Unix()
	builder := &translate.Builder{DefaultSpread: c.spread, Headroom: true}
	var mu sync.Mutex // guards builder
	add := func(object any) {
		mu.Lock()
		defer mu.Unlock()
		builder.Add(object)
	}
	listers, err := c.listersWithBuffers(ctx)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(listers))
	var some errgroup.Group
	some.SetLimit(listersAtOnce)
	for i := range listers {
		some.Go(func() error { errs[i] = listAll(ctx, listers[i], add); return nil })
	}
	_ = some.Wait() // errors are by lister
	for _, err := range append(errs, listAll(ctx, c.pods(livePods), add)) {
		if err != nil {
			return nil, err
		}
	}
	return builder.Snapshot(c.cluster, at), nil
}
