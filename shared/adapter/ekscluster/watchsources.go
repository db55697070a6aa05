package ekscluster

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
)

// sources are the lists and watches of the typed client.
type sources struct{ core *typed.Client }

// source makes one of a client's List and Watch; selector narrows which objects are looked at, empty meaning all.
func source[L runtime.Object](core *typed.Client, list func(context.Context, metav1.ListOptions) (L, error),
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

func (s sources) services() cache.ListerWatcher {
	c := s.core.CoreV1().Services("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) replicationControllers() cache.ListerWatcher {
	c := s.core.CoreV1().ReplicationControllers("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) replicaSets() cache.ListerWatcher {
	c := s.core.AppsV1().ReplicaSets("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) podTemplates() cache.ListerWatcher {
	c := s.core.CoreV1().PodTemplates("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) deployments() cache.ListerWatcher {
	c := s.core.AppsV1().Deployments("")
	return source(s.core, c.List, c.Watch, "")
}

func (s sources) statefulSets() cache.ListerWatcher {
	c := s.core.AppsV1().StatefulSets("")
	return source(s.core, c.List, c.Watch, "")
}
