package ekscluster

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// buffers joins CapacityBuffers with what they are of. A change of either is a change of the buffer. What they can be
// of is followed from the first buffer on that is of such a kind: few clusters have buffers, and all have Deployments.
type buffers struct {
	observe func(wire.Change)
	follow  func(kind string) // begins to follow a kind, without waiting; called once for each

	mu       sync.Mutex // held while a change is handed on, so that changes of one buffer come in order
	followed []string
	synced   map[string]bool // kinds of which all there is has been seen
	rows     map[objectKey]*followedBuffer
	of       map[translate.ScalableKey]*translate.Scalable // of the kinds that are followed
}

type followedBuffer struct {
	object *autoscalingv1beta1.CapacityBuffer
	last   *wire.Change // as it was handed on last; nil = it was not yet
}

func newBuffers(observe func(wire.Change)) *buffers {
	return &buffers{observe: observe, synced: make(map[string]bool), rows: make(map[objectKey]*followedBuffer),
		of: make(map[translate.ScalableKey]*translate.Scalable)}
}

// changed takes a buffer that is new or changed.
func (b *buffers) changed(object *autoscalingv1beta1.CapacityBuffer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := objectKey{object.Namespace, object.Name}
	row := b.rows[at]
	if row == nil {
		row = &followedBuffer{}
		b.rows[at] = row
	}
	row.object = object
	if key, known := translate.ScalableOf(object); known && !slices.Contains(b.followed, key.Kind) {
		b.followed = append(b.followed, key.Kind)
		b.follow(key.Kind)
	}
	b.notify(row)
}

func (b *buffers) gone(namespace, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.rows, objectKey{namespace, name})
	b.observe(wire.Change{Deleted: true, Buffer: &model.Buffer{Namespace: namespace, Name: name}})
}

// scalable takes what a buffer can be of; nil = it is gone.
func (b *buffers) scalable(key translate.ScalableKey, of *translate.Scalable) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if of == nil {
		delete(b.of, key)
	} else {
		b.of[key] = of
	}
	if b.synced[key.Kind] {
		b.notifyOf(func(k translate.ScalableKey) bool { return k == key })
	}
}

// seen takes note that all there is of a kind has been handed to scalable. What no buffer is of by now is looked for by
// no one.
func (b *buffers) seen(kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.synced[kind] = true
	b.notifyOf(func(k translate.ScalableKey) bool { return k.Kind == kind })
}

// notifyOf hands on the buffers that are of what is meant.
func (b *buffers) notifyOf(meant func(translate.ScalableKey) bool) {
	for _, row := range b.rows {
		if key, known := translate.ScalableOf(row.object); known && meant(key) {
			b.notify(row)
		}
	}
}

// notify hands a buffer on where it is another than before. One of a kind of which not all there is has been seen
// waits: what it is of may be among the rest, and a buffer that is not there is better than one that is said to be of
// nothing.
func (b *buffers) notify(row *followedBuffer) {
	key, known := translate.ScalableOf(row.object)
	if known && !b.synced[key.Kind] {
		return
	}
	buffer, _, shape := translate.Buffer(row.object, b.of[key])
	change := wire.Change{Buffer: &buffer, Shape: shape}
	if row.last != nil && reflect.DeepEqual(*row.last, change) {
		return
	}
	row.last = &wire.Change{Buffer: ref(buffer), Shape: shape}
	b.observe(change)
}

// bufferKinds are CapacityBuffers, and what they can be of, which is followed from the first that is of such a kind on.
func bufferKinds(w *Watch, core *typed.Client, custom dynamic.Interface, o WatchOptions) []kind {
	b := newBuffers(o.Observe)
	of := map[string]kind{
		translate.KindPodTemplate: b.scalables(source(core, core.CoreV1().PodTemplates(""), ""), &corev1.PodTemplate{},
			translate.KindPodTemplate),
		translate.KindDeployment: b.scalables(source(core, core.AppsV1().Deployments(""), ""), &appsv1.Deployment{},
			translate.KindDeployment),
		translate.KindStatefulSet: b.scalables(source(core, core.AppsV1().StatefulSets(""), ""), &appsv1.StatefulSet{},
			translate.KindStatefulSet),
		translate.KindReplicaSet: b.scalables(source(core, core.AppsV1().ReplicaSets(""), ""), &appsv1.ReplicaSet{},
			translate.KindReplicaSet),
	}
	b.follow = func(name string) { w.startLater(of[name], func() { b.seen(name) }) }
	return []kind{{
		source: &optional{customSource(custom, autoscalingv1beta1.CapacityBufferResource, nil), o.Forbidden,
			autoscalingv1beta1.CapacityBufferResource.GroupResource().String(), false},
		object: &unstructured.Unstructured{},
		translate: func(object any) any {
			buffer, err := translate.BufferObject(object.(*unstructured.Unstructured))
			if err != nil || buffer.DeletionTimestamp != nil {
				return nil
			}
			return buffer
		},
		deliver: func(object any) { b.changed(object.(*autoscalingv1beta1.CapacityBuffer)) },
		gone:    b.gone,
	}}
}

// scalables is a kind that buffers can be of.
func (b *buffers) scalables(source cache.ListerWatcher, object runtime.Object, name string) kind {
	type named struct {
		key translate.ScalableKey
		of  *translate.Scalable
	}
	return kind{
		source: source, object: object,
		translate: func(object any) any {
			key, of, _ := translate.ScalableFrom(object)
			return named{key, of}
		},
		deliver: func(object any) { b.scalable(object.(named).key, object.(named).of) },
		gone: func(namespace, called string) {
			b.scalable(translate.ScalableKey{Kind: name, Namespace: namespace, Name: called}, nil)
		},
	}
}

// optional is a source of what not every watcher may look at, such as one whose permissions are older than itself: as
// long as it has never been answered, a refusal means that there are no such objects.
type optional struct {
	cache.ListerWatcher
	forbidden func(resource string) // nil = nobody learns
	resource  string
	answered  bool // of the reflector's goroutine alone
}

// IsWatchListSemanticsUnSupported keeps the reflector from watching first.
func (*optional) IsWatchListSemanticsUnSupported() bool { return true }

// List implements cache.Lister.
func (o *optional) List(options metav1.ListOptions) (runtime.Object, error) {
	//nolint:staticcheck // it is what the interface has that this stands for
	list, err := o.ListerWatcher.List(options)
	if !apierrors.IsForbidden(err) || o.answered {
		o.answered = o.answered || err == nil
		return list, err
	}
	if o.forbidden != nil {
		o.forbidden(o.resource)
	}
	return &unstructured.UnstructuredList{}, nil
}

// laterKind is a kind that is followed from some moment on.
type laterKind struct {
	controller cache.Controller
	ready      func()
	synced     atomic.Bool // told has been called
}

func (k *laterKind) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { k.controller.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), k.controller.HasSynced) {
		k.ready()
		k.synced.Store(true)
	}
	running.Wait()
}

// startLater begins to follow a kind, at once where the watch runs, and calls told when all there is of it has been
// handed on.
func (w *Watch) startLater(k kind, reported func()) {
	one := &laterKind{controller: k.informer(), ready: reported}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.later = append(w.later, one)
	w.running.Go(func() { one.run(w.ctx) }) // who calls is part of it
}
