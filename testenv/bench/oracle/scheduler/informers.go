package scheduler

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/informers/resource"
	"k8s.io/client-go/informers/scheduling"
	"k8s.io/client-go/informers/storage"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
)

// client is what informers and plugins are made with. Nobody lists, watches or writes anything through it.
var client = fake.NewSimpleClientset()

// factory makes informers that learn of objects from put, at once, and from nowhere else.
type factory struct {
	informers.SharedInformerFactory
	made map[reflect.Type]*informer
}

func newFactory() *factory {
	return &factory{
		SharedInformerFactory: informers.NewSharedInformerFactory(client, 0),
		made:                  make(map[reflect.Type]*informer),
	}
}

// InformerFor returns the one informer of the object's type.
func (f *factory) InformerFor(object runtime.Object, newInformer internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	kind := reflect.TypeOf(object)
	if f.made[kind] == nil {
		f.made[kind] = &informer{SharedIndexInformer: newInformer(client, 0)}
	}
	return f.made[kind]
}

// The groups whose objects the plugins of the default profile read.

func (f *factory) Core() core.Interface             { return core.New(f, "", nil) }
func (f *factory) Resource() resource.Interface     { return resource.New(f, "", nil) }
func (f *factory) Scheduling() scheduling.Interface { return scheduling.New(f, "", nil) }
func (f *factory) Storage() storage.Interface       { return storage.New(f, "", nil) }

// put adds an object or replaces the one of its name.
func (f *factory) put(object runtime.Object) error {
	i := f.made[reflect.TypeOf(object)]
	if i == nil {
		return nil // nobody reads objects of this kind
	}
	before, exists, err := i.GetStore().Get(object)
	if err != nil {
		return fmt.Errorf("look up %T: %w", object, err)
	}
	if err := i.GetStore().Update(object); err != nil {
		return fmt.Errorf("store %T: %w", object, err)
	}
	for _, handler := range i.handlers {
		if exists {
			handler.OnUpdate(before, object)
		} else {
			handler.OnAdd(object, true)
		}
	}
	return nil
}

// informer is a real one that is never run; its handlers are called by put.
type informer struct {
	cache.SharedIndexInformer
	handlers []cache.ResourceEventHandler
}

// AddEventHandler takes a handler, which gets the objects that are there before it returns.
func (i *informer) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	i.handlers = append(i.handlers, handler)
	for _, object := range i.GetStore().List() {
		handler.OnAdd(object, true)
	}
	return registration{}, nil
}

// AddEventHandlerWithOptions is AddEventHandler: nothing is resynced.
func (i *informer) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandler(handler)
}

// HasSynced is true: what was put is there.
func (i *informer) HasSynced() bool { return true }

// registration is of a handler that has got everything there is.
type registration struct{}

func (registration) HasSynced() bool                     { return true }
func (registration) HasSyncedChecker() cache.DoneChecker { return registration{} }
func (registration) Name() string                        { return "put" }

func (registration) Done() <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}
