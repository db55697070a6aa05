package ekscluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

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
	each func(list runtime.Object, add func(any))
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
			return fault.New(fault.Invalid, "TooLarge", "list %s: there are %d and more, at most %d are read", l.kind,
				listed, maxListed)
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
func of[L runtime.Object, T any](kind string, list func(context.Context, metav1.ListOptions) (L, error),
	items func(L) []T) lister {
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

// nodes makes a lister of nodes.
func (a *api) nodes() lister {
	return of("nodes", a.core.CoreV1().Nodes().List, func(l *corev1.NodeList) []corev1.Node { return l.Items })
}

// pods makes a lister of the pods that a field selector picks out.
func (a *api) pods(selector string) lister {
	return of("pods", func(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
		o.FieldSelector = selector
		return a.core.CoreV1().Pods("").List(ctx, o)
	}, func(l *corev1.PodList) []corev1.Pod { return l.Items })
}

// customLister makes a lister of a kind of our definitions.
func (a *api) customLister(resource schema.GroupVersionResource) lister {
	return lister{
		kind: resource.Resource,
		page: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			list, err := a.custom.Resource(resource).List(ctx, o)
			if fault.Is(translateError(err, "list %s", resource.Resource), fault.NotFound) {
				return &metav1.PartialObjectMetadataList{}, nil // not defined in this cluster
			}
			return list, err
		},
		each: eachUntyped,
	}
}

var customResources = []schema.GroupVersionResource{apiv1.NodePoolResource, apiv1.NodeClaimResource,
	awsv1.EC2NodeClassResource}

func eachUntyped(list runtime.Object, add func(any)) {
	if page, ok := list.(*unstructured.UnstructuredList); ok {
		for i := range page.Items {
			add(&page.Items[i])
		}
	}
}

// Reader lists and reads, and writes nothing.
type Reader struct{ *api }
