package ekscluster

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// coreKinds are the kinds of Kubernetes itself that decisions look at.
func coreKinds(core kubernetes.Interface, observe func(wire.Change)) []kind {
	from := sources{core}
	volumes := newVolumes(observe)
	return []kind{
		changes(from.pods(), observe, func(o *corev1.Pod) wire.Change {
			pod, shape := translate.Pod(o)
			return wire.Change{Pod: &pod, Shape: &shape}
		}, func(namespace, name string) wire.Change {
			return wire.Change{Pod: &model.Pod{Namespace: namespace, Name: name}}
		}),
		changes(from.daemonSets(), observe, func(o *appsv1.DaemonSet) wire.Change {
			set, shape := translate.DaemonSet(o)
			return wire.Change{DaemonSet: &set, Shape: &shape}
		}, func(namespace, name string) wire.Change {
			return wire.Change{DaemonSet: &model.DaemonSet{Namespace: namespace, Name: name}}
		}),
		changes(from.nodes(), observe, func(o *corev1.Node) wire.Change { return wire.Change{Node: ref(translate.Node(o))} },
			func(_, name string) wire.Change { return wire.Change{Node: &model.Node{Name: name}} }),
		changes(from.namespaces(), observe, func(o *corev1.Namespace) wire.Change {
			return wire.Change{Namespace: ref(translate.Namespace(o))}
		}, func(_, name string) wire.Change { return wire.Change{Namespace: &model.Namespace{Name: name}} }),
		changes(from.budgets(), observe, func(o *policyv1.PodDisruptionBudget) wire.Change {
			return wire.Change{Budget: ref(translate.PDB(o))}
		}, func(namespace, name string) wire.Change {
			return wire.Change{Budget: &model.PDB{Namespace: namespace, Name: name}}
		}),
		changes(from.storageClasses(), observe, func(o *storagev1.StorageClass) wire.Change {
			return wire.Change{Storage: ref(translate.StorageClass(o))}
		}, func(_, name string) wire.Change { return wire.Change{Storage: &model.Storage{Name: name}} }),
		changes(from.csiNodes(), observe, func(o *storagev1.CSINode) wire.Change { return wire.Change{CSINode: ref(translate.CSINode(o))} },
			func(_, name string) wire.Change { return wire.Change{CSINode: &model.CSINode{Node: name}} }),
		{
			source: from.claims(), object: &corev1.PersistentVolumeClaim{},
			translate: func(o any) any { return translate.StripClaim(o.(*corev1.PersistentVolumeClaim)) },
			deliver:   func(o any) { volumes.claim(o.(*corev1.PersistentVolumeClaim)) },
			gone:      volumes.claimGone,
		},
		{
			source: from.volumes(), object: &corev1.PersistentVolume{},
			translate: func(o any) any { return translate.StripVolume(o.(*corev1.PersistentVolume)) },
			deliver:   func(o any) { volumes.volume(o.(*corev1.PersistentVolume)) },
			gone:      volumes.volumeGone,
		},
	}
}

func ref[T any](v T) *T { return &v }

// changes makes a kind whose objects become one change each.
func changes[T runtime.Object](source cache.ListerWatcher, observe func(wire.Change), translate func(T) wire.Change, gone func(namespace, name string) wire.Change) kind {
	var object T
	return kind{
		source: source, object: object,
		translate: func(o any) any { return translate(o.(T)) },
		deliver:   func(c any) { observe(c.(wire.Change)) },
		gone: func(namespace, name string) {
			c := gone(namespace, name)
			c.Deleted = true
			observe(c)
		},
	}
}

// sources are the lists and watches of the typed client.
type sources struct{ core kubernetes.Interface }

// source makes one of a client's List and Watch; selector narrows which objects are looked at, empty meaning all.
func source[L runtime.Object](core kubernetes.Interface, list func(context.Context, metav1.ListOptions) (L, error),
	follow func(context.Context, metav1.ListOptions) (watch.Interface, error), selector string) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return list(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return follow(ctx, o)
		},
	}, core)
}

func (s sources) pods() cache.ListerWatcher {
	c := s.core.CoreV1().Pods("")
	return source(s.core, c.List, c.Watch, livePods)
}

func (s sources) nodes() cache.ListerWatcher {
	c := s.core.CoreV1().Nodes()
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) namespaces() cache.ListerWatcher {
	c := s.core.CoreV1().Namespaces()
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) daemonSets() cache.ListerWatcher {
	c := s.core.AppsV1().DaemonSets("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) budgets() cache.ListerWatcher {
	c := s.core.PolicyV1().PodDisruptionBudgets("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) claims() cache.ListerWatcher {
	c := s.core.CoreV1().PersistentVolumeClaims("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) volumes() cache.ListerWatcher {
	c := s.core.CoreV1().PersistentVolumes()
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) storageClasses() cache.ListerWatcher {
	c := s.core.StorageV1().StorageClasses()
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) csiNodes() cache.ListerWatcher {
	c := s.core.StorageV1().CSINodes()
	return source(s.core, c.List, c.Watch, "")
}
