package typed

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// Kind is a resource whose objects are T and whose lists are L, in a namespace or, where that is "", in all of them or
// in none. Errors are those of the REST client.
type Kind[T, L any] struct {
	client    rest.Interface
	resource  string
	namespace string
}

// into decodes an answer.
func into[O any](ctx context.Context, request *rest.Request) (*O, error) {
	object := new(O)
	err := request.Do(ctx).Into(any(object).(runtime.Object))
	return object, err
}

// Resource is the name of the resource.
func (k Kind[T, L]) Resource() string { return k.resource }

func (k Kind[T, L]) of(request *rest.Request) *rest.Request {
	return request.NamespaceIfScoped(k.namespace, k.namespace != "").Resource(k.resource)
}

func (k Kind[T, L]) listing(o *metav1.ListOptions) *rest.Request {
	var timeout time.Duration
	if o.TimeoutSeconds != nil {
		timeout = time.Duration(*o.TimeoutSeconds) * time.Second
	}
	return k.of(k.client.Get()).VersionedParams(o, parameters).Timeout(timeout)
}

// Get reads one object.
func (k Kind[T, L]) Get(ctx context.Context, name string, o metav1.GetOptions) (*T, error) {
	return into[T](ctx, k.of(k.client.Get()).Name(name).VersionedParams(&o, parameters))
}

// List reads objects.
func (k Kind[T, L]) List(ctx context.Context, o metav1.ListOptions) (*L, error) {
	return into[L](ctx, k.listing(&o))
}

// Watch follows objects.
func (k Kind[T, L]) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	return k.listing(&o).Watch(ctx)
}

// Create makes one.
func (k Kind[T, L]) Create(ctx context.Context, object *T, o metav1.CreateOptions) (*T, error) {
	return into[T](ctx, k.of(k.client.Post()).VersionedParams(&o, parameters).Body(any(object)))
}

// Patch changes one.
func (k Kind[T, L]) Patch(ctx context.Context, name string, how types.PatchType, data []byte,
	o metav1.PatchOptions) (*T, error) {
	return into[T](ctx, k.of(k.client.Patch(how)).Name(name).VersionedParams(&o, parameters).Body(data))
}

// Delete deletes one.
func (k Kind[T, L]) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	return k.of(k.client.Delete()).Name(name).Body(&o).Do(ctx).Error()
}
