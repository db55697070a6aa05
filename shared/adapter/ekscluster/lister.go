package ekscluster

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/joiner-sh/joiner/shared/api/awsv1"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
)

const pageSize = 500

// livePods leaves out pods that have ended: they hold nothing, and a cluster of jobs is full of them.
const livePods = "status.phase!=Succeeded,status.phase!=Failed"

// lister reads one page of a kind.
type lister struct {
	kind string
	page func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error)
	each func(list runtime.Object, add func(any)) // nil = each of its items
}

// items calls add for each item of a page.
func (l *lister) items(list runtime.Object, add func(any)) error {
	if l.each != nil {
		l.each(list, add)
		return nil
	}
	return meta.EachListItem(list, func(object runtime.Object) error { add(object); return nil })
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
		if err := l.items(list, count); err != nil {
			return fault.Wrap(fault.Internal, "", err, "read a list of %s", l.kind)
		}
		if listed > maxListed {
			return fault.New(fault.Invalid, "TooLarge", "list %s: there are %d and more, at most %d are read", l.kind,
				listed, maxListed)
		}
		if err := short(l.kind, listed); err != nil {
			return err
		}
		more, ok := list.(metav1.ListInterface)
		if !ok || more.GetContinue() == "" {
			return nil
		}
		options.Continue = more.GetContinue()
	}
}

// listed is a kind whose lists are L.
type listed[L runtime.Object] interface {
	Resource() string
	List(ctx context.Context, o metav1.ListOptions) (L, error)
	Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error)
}

// of makes a lister of a kind of Kubernetes itself.
func of[L runtime.Object](kind listed[L], narrow ...func(*metav1.ListOptions)) lister {
	return lister{kind: kind.Resource(), page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		for _, by := range narrow {
			by(&o)
		}
		return kind.List(ctx, o)
	}}
}

// nodes makes a lister of nodes.
func (a *api) nodes() lister { return of(a.core.CoreV1().Nodes()) }

// pods makes a lister of the pods that a field selector picks out.
func (a *api) pods(selector string) lister {
	return of(a.core.CoreV1().Pods(""), func(o *metav1.ListOptions) { o.FieldSelector = selector })
}

// customLister makes a lister of a kind of our definitions.
func (a *api) customLister(resource schema.GroupVersionResource) lister {
	return lister{kind: resource.Resource, page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		list, err := a.custom.Resource(resource).List(ctx, o)
		if fault.Is(translateError(err, "list %s", resource.Resource), fault.NotFound) {
			return &metav1.PartialObjectMetadataList{}, nil // not defined in this cluster
		}
		return list, err
	}}
}

var customResources = []schema.GroupVersionResource{apiv1.NodePoolResource, apiv1.NodeClaimResource,
	awsv1.EC2NodeClassResource}

// Reader lists and reads, and writes nothing.
type Reader struct{ *api }
