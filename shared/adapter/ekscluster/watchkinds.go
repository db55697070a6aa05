package ekscluster

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// coreKinds are the kinds of Kubernetes itself that decisions look at.
func coreKinds(core *typed.Client, o WatchOptions) []kind {
	observe := o.Observe
	volumes, daemons := newVolumes(observe), newDaemons(observe)
	kinds := []kind{
		podKind(core, observe, daemons),
		{
			source: source(core, core.AppsV1().DaemonSets(""), ""), object: &appsv1.DaemonSet{},
			translate: func(o any) any {
				set, shape := translate.DaemonSet(o.(*appsv1.DaemonSet))
				return wire.Change{DaemonSet: &set, Shape: &shape}
			},
			deliver: func(c any) { daemons.changed(c.(wire.Change)) },
			gone:    daemons.gone,
		},
		changes(source(core, core.CoreV1().Nodes(), ""), observe,
			func(o *corev1.Node) wire.Change { return wire.Change{Node: ref(translate.Node(o))} },
			func(_, name string) wire.Change { return wire.Change{Node: &model.Node{Name: name}} }),
		changes(source(core, core.CoreV1().Namespaces(), ""), observe, func(o *corev1.Namespace) wire.Change {
			return wire.Change{Namespace: ref(translate.Namespace(o))}
		}, func(_, name string) wire.Change { return wire.Change{Namespace: &model.Namespace{Name: name}} }),
		changes(source(core, core.PolicyV1().PodDisruptionBudgets(""), ""), observe,
			func(o *policyv1.PodDisruptionBudget) wire.Change {
				return wire.Change{Budget: ref(translate.PDB(o))}
			}, func(namespace, name string) wire.Change {
				return wire.Change{Budget: &model.PDB{Namespace: namespace, Name: name}}
			}),
		changes(source(core, core.StorageV1().StorageClasses(), ""), observe,
			func(o *storagev1.StorageClass) wire.Change {
				return wire.Change{Storage: ref(translate.StorageClass(o))}
			}, func(_, name string) wire.Change { return wire.Change{Storage: &model.Storage{Name: name}} }),
		changes(source(core, core.StorageV1().CSINodes(), ""), observe,
			func(o *storagev1.CSINode) wire.Change { return wire.Change{CSINode: ref(translate.CSINode(o))} },
			func(_, name string) wire.Change { return wire.Change{CSINode: &model.CSINode{Node: name}} }),
		{
			source: source(core, core.CoreV1().PersistentVolumeClaims(""), ""), object: &corev1.PersistentVolumeClaim{},
			translate: func(o any) any { return translate.StripClaim(o.(*corev1.PersistentVolumeClaim)) },
			deliver:   func(o any) { volumes.claim(o.(*corev1.PersistentVolumeClaim)) },
			gone:      volumes.claimGone,
		},
		{
			source: source(core, core.CoreV1().PersistentVolumes(), ""), object: &corev1.PersistentVolume{},
			translate: func(o any) any { return translate.StripVolume(o.(*corev1.PersistentVolume)) },
			deliver:   func(o any) { volumes.volume(o.(*corev1.PersistentVolume)) },
			gone:      volumes.volumeGone,
		},
	}
	if len(o.DefaultSpread) > 0 {
		spreader := newSpreader(o.DefaultSpread, observe)
		kinds[0] = spreadPodKind(core, spreader, daemons)
		kinds = append(kinds, selectorKinds(core, spreader)...)
	}
	return kinds
}

// podKind hands pods on as they are.
func podKind(core *typed.Client, observe func(wire.Change), daemons *daemons) kind {
	k := changes(source(core, core.CoreV1().Pods(""), livePods), observe, func(o *corev1.Pod) wire.Change {
		pod, shape := translate.Pod(o)
		return wire.Change{Pod: &pod, Shape: &shape}
	}, func(namespace, name string) wire.Change {
		return wire.Change{Pod: &model.Pod{Namespace: namespace, Name: name}}
	})
	deliver := k.deliver
	k.deliver = func(o any) {
		c := o.(wire.Change)
		daemons.pod(c.Pod, c.Shape)
		deliver(o)
	}
	return k
}

// spreadPodKind hands pods on with the cluster's default spread.
func spreadPodKind(core *typed.Client, spreader *spreader, daemons *daemons) kind {
	type seen struct {
		pod   model.Pod
		shape model.PodShape
		own   map[string]string
	}
	return kind{
		source: source(core, core.CoreV1().Pods(""), livePods), object: &corev1.Pod{},
		translate: func(o any) any {
			pod, shape := translate.Pod(o.(*corev1.Pod))
			return &seen{pod, shape, translate.OwnLabels(o.(*corev1.Pod))}
		},
		deliver: func(o any) {
			s := o.(*seen)
			daemons.pod(&s.pod, &s.shape)
			spreader.pod(&s.pod, &s.shape, s.own)
		},
		gone: spreader.podGone,
	}
}

// selectorKinds are the kinds that select pods.
func selectorKinds(core *typed.Client, spreader *spreader) []kind {
	selects := func(source cache.ListerWatcher, object runtime.Object, named func(metav1.ObjectMeta) any) kind {
		return kind{
			source: source, object: object, translate: translate.StripSelector,
			deliver: func(o any) { spreader.selects(o.(metav1.Object).GetNamespace(), o, false) },
			gone: func(namespace, name string) {
				spreader.selects(namespace, named(metav1.ObjectMeta{Namespace: namespace, Name: name}), true)
			},
		}
	}
	return []kind{
		selects(source(core, core.CoreV1().Services(""), ""), &corev1.Service{},
			func(m metav1.ObjectMeta) any { return &corev1.Service{ObjectMeta: m} }),
		selects(source(core, core.CoreV1().ReplicationControllers(""), ""), &corev1.ReplicationController{},
			func(m metav1.ObjectMeta) any { return &corev1.ReplicationController{ObjectMeta: m} }),
		selects(source(core, core.AppsV1().ReplicaSets(""), ""), &appsv1.ReplicaSet{},
			func(m metav1.ObjectMeta) any { return &appsv1.ReplicaSet{ObjectMeta: m} }),
		selects(source(core, core.AppsV1().StatefulSets(""), ""), &appsv1.StatefulSet{},
			func(m metav1.ObjectMeta) any { return &appsv1.StatefulSet{ObjectMeta: m} }),
	}
}

// changes makes a kind whose objects become one change each.
func changes[T runtime.Object](source cache.ListerWatcher, observe func(wire.Change), translate func(T) wire.Change,
	gone func(namespace, name string) wire.Change) kind {
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
