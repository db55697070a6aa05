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

// source lists and watches a kind; selector narrows which objects are looked at, empty meaning all.
func source[L runtime.Object](core *typed.Client, kind listed[L], selector string) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return kind.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return kind.Watch(ctx, o)
		},
	}, core)
}

func (s sources) pods() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().Pods(""), livePods)
}

func (s sources) nodes() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().Nodes(), "")
}

func (s sources) namespaces() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().Namespaces(), "")
}

func (s sources) daemonSets() cache.ListerWatcher {
	return source(s.core, s.core.AppsV1().DaemonSets(""), "")
}

func (s sources) budgets() cache.ListerWatcher {
	return source(s.core, s.core.PolicyV1().PodDisruptionBudgets(""), "")
}

func (s sources) claims() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().PersistentVolumeClaims(""), "")
}

func (s sources) volumes() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().PersistentVolumes(), "")
}

func (s sources) storageClasses() cache.ListerWatcher {
	return source(s.core, s.core.StorageV1().StorageClasses(), "")
}

func (s sources) csiNodes() cache.ListerWatcher {
	return source(s.core, s.core.StorageV1().CSINodes(), "")
}

func (s sources) services() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().Services(""), "")
}

func (s sources) replicationControllers() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().ReplicationControllers(""), "")
}

func (s sources) replicaSets() cache.ListerWatcher {
	return source(s.core, s.core.AppsV1().ReplicaSets(""), "")
}

func (s sources) podTemplates() cache.ListerWatcher {
	return source(s.core, s.core.CoreV1().PodTemplates(""), "")
}

func (s sources) deployments() cache.ListerWatcher {
	return source(s.core, s.core.AppsV1().Deployments(""), "")
}

func (s sources) statefulSets() cache.ListerWatcher {
	return source(s.core, s.core.AppsV1().StatefulSets(""), "")
}
