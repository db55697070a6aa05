package ekscluster

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

const pageSize = 500

// livePods leaves out pods that have ended: they hold nothing, and a cluster of jobs is full of them.
const livePods = "status.phase!=Succeeded,status.phase!=Failed"

// lister reads one page of a kind.
type lister struct {
	kind string
	page func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error)
	each func(list runtime.Object, add func(any))
}

// List builds a snapshot by listing every kind; Epoch and Seq are 0. Pods come last, so that no pod is seen on a node
// that is not. Kinds whose definition is not in the cluster have no objects.
func (c *Client) List(ctx context.Context) (*model.Snapshot, error) {
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
	for _, err := range append(errs, listAll(ctx, c.podLister(), add)) {
		if err != nil {
			return nil, err
		}
	}
	return builder.Snapshot(c.cluster, at), nil
}

// listAll reads a kind page by page.
func listAll(ctx context.Context, l lister, add func(any)) error {
	options := metav1.ListOptions{Limit: pageSize}
	listed := 0
	count := func(object any) { listed++; add(object) }
	for {
		list, err := l.page(ctx, options)
		if err != nil {
			return translateError(err, "list %s", l.kind)
		}
		l.each(list, count)
		if listed > maxListed {
			return fault.New(fault.Invalid, "TooLarge", "list %s: there are %d and more, at most %d are read", l.kind, listed, maxListed)
		}
		if err := short(l.kind, listed); err != nil {
			return err
		}
		meta, ok := list.(metav1.ListInterface)
		if !ok || meta.GetContinue() == "" {
			return nil
		}
		options.Continue = meta.GetContinue()
	}
}

// of makes a lister from a typed client's List and the items of what it returns.
func of[L runtime.Object, T any](kind string, list func(context.Context, metav1.ListOptions) (L, error), items func(L) []T) lister {
	return lister{
		kind: kind,
		page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return list(ctx, o) },
		each: func(list runtime.Object, add func(any)) {
			page := items(list.(L))
			for i := range page {
				add(&page[i])
			}
		},
	}
}

// custom makes a lister of a kind of our definitions.
func (c *Client) customLister(resource schema.GroupVersionResource) lister {
	return lister{
		kind: resource.Resource,
		page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := c.custom.Resource(resource).List(ctx, o)
			if fault.Is(translateError(err, "list %s", resource.Resource), fault.NotFound) {
				return &metav1.PartialObjectMetadataList{}, nil // not defined in this cluster
			}
			return list, err
		},
		each: eachUntyped,
	}
}

var customResources = []schema.GroupVersionResource{apiv1.NodePoolResource, apiv1.NodeClaimResource, awsv1.EC2NodeClassResource}
