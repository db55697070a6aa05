package scheduler

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// Cluster is a cluster in memory under the default profile of kube-scheduler. It is used from one goroutine.
type Cluster struct {
	ctx      context.Context
	cancel   context.CancelFunc
	logger   klog.Logger
	objects  *factory
	cache    cache.Cache
	snapshot *cache.Snapshot
	stale    bool // snapshot is older than cache
	all      framework.Framework
	plugins  map[string]fwk.Plugin
	version  int64 // of the last object
}

// New returns a cluster of the objects, which it does not write to. Close it.
func New(objects ...runtime.Object) (*Cluster, error) {
	metrics.Register()
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), logr.Discard()))
	c := &Cluster{
		ctx: ctx, cancel: cancel, logger: logr.Discard(), objects: newFactory(),
		cache: cache.New(ctx, nil, false), snapshot: cache.NewEmptySnapshot(), plugins: make(map[string]fwk.Plugin),
	}
	if err := c.assemble(); err != nil {
		cancel()
		return nil, fmt.Errorf("assemble the scheduler: %w", err)
	}
	if err := c.Add(objects...); err != nil {
		cancel()
		return nil, err
	}
	return c, nil
}

// Close ends what runs in the background.
func (c *Cluster) Close() { c.cancel() }

// assemble makes the framework as kube-scheduler does when it is given no configuration.
func (c *Cluster) assemble() error {
	profile, err := defaultProfile()
	if err != nil {
		return err
	}
	slices, err := tracker.StartTracker(c.ctx, tracker.Options{SliceInformer: c.objects.Resource().V1().ResourceSlices(), KubeClient: client})
	if err != nil {
		return fmt.Errorf("track resource slices: %w", err)
	}
	claims := assumecache.NewAssumeCache(c.logger, c.objects.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	devices := dynamicresources.NewDRAManager(c.ctx, claims, slices, c.objects)
	if classes, ok := devices.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache); ok {
		// Which class stands for an extended resource is known by events alone.
		informer := c.objects.Resource().V1().DeviceClasses().Informer()
		if _, err := informer.AddEventHandler(classes); err != nil {
			return fmt.Errorf("learn of device classes: %w", err)
		}
	}
	c.all, err = frameworkruntime.NewFramework(c.ctx, c.registry(), profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(c.objects),
		frameworkruntime.WithSnapshotSharedLister(c.snapshot),
		frameworkruntime.WithSharedDRAManager(devices),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(c.objects.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodGroupManager(c.cache),
		frameworkruntime.WithParallelism(1),
	)
	return err
}

// registry returns the in-tree plugins. Each is noted when it is made, so that it can be asked on its own.
func (c *Cluster) registry() frameworkruntime.Registry {
	registry := plugins.NewInTreeRegistry()
	for name, build := range registry {
		registry[name] = func(ctx context.Context, args runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
			plugin, err := build(ctx, args, handle)
			c.plugins[name] = plugin
			return plugin, err
		}
	}
	return registry
}

func defaultProfile() (*config.KubeSchedulerProfile, error) {
	var versioned configv1.KubeSchedulerConfiguration
	scheme.Scheme.Default(&versioned)
	var out config.KubeSchedulerConfiguration
	if err := scheme.Scheme.Convert(&versioned, &out, nil); err != nil {
		return nil, fmt.Errorf("read the default configuration: %w", err)
	}
	return &out.Profiles[0], nil
}

// Add puts objects into the cluster; one of the same kind and name is replaced. A pod with a node name is bound, one
// without waits; one that has ended is left out.
func (c *Cluster) Add(objects ...runtime.Object) error {
	for _, object := range objects {
		if err := c.add(object.DeepCopyObject()); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) add(object runtime.Object) error {
	if o, ok := object.(metav1.Object); ok {
		c.version++
		o.SetResourceVersion(strconv.FormatInt(c.version, 10))
	}
	switch o := object.(type) {
	case *corev1.Node:
		c.cache.AddNode(c.logger, o)
		c.stale = true
	case *corev1.Pod:
		if o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed {
			return nil
		}
		if err := c.addEphemeralClaims(o); err != nil {
			return err
		}
		if o.Spec.NodeName != "" {
			if err := c.cache.AddPod(c.logger, o); err != nil {
				return fmt.Errorf("add pod %s/%s: %w", o.Namespace, o.Name, err)
			}
			c.stale = true
		}
	}
	return c.objects.put(object)
}

// refresh brings the snapshot up to date.
func (c *Cluster) refresh() error {
	if !c.stale {
		return nil
	}
	c.stale = false
	return c.cache.UpdateSnapshot(c.logger, c.snapshot)
}

// node returns what the scheduler knows of a node.
func (c *Cluster) node(name string) (fwk.NodeInfo, error) {
	if err := c.refresh(); err != nil {
		return nil, err
	}
	return c.snapshot.NodeInfos().Get(name)
}
