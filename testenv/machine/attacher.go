package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/rest"
)

// EBSDriver is the CSI driver of EBS volumes.
const EBSDriver = "ebs.csi.aws.com"

// Never is how long something takes that does not come about.
const Never time.Duration = math.MaxInt64

// AttacherOptions say whose volumes an Attacher attaches.
type AttacherOptions struct {
	// Config is a client configuration that may do everything, impersonation
	// included.
	Config *rest.Config
	// Driver is the CSI driver; empty means EBSDriver.
	Driver string
	// Attach and Detach are how long these take: see SetDelays.
	Attach, Detach time.Duration
}

// Attacher attaches and detaches the volumes of one CSI driver, as the driver's
// controller does with its sidecar external-attacher, and says on Nodes which
// volumes are in use, as their kubelets do. VolumeAttachments are made and
// deleted by others: by kube-controller-manager for pods with volumes, or by a
// test. Its methods may be called from any goroutine.
type Attacher struct {
	driver string
	client kubernetes.Interface
	cancel context.CancelFunc
	live   sync.WaitGroup

	attachments storagelisters.VolumeAttachmentLister
	pods        corelisters.PodLister
	claims      corelisters.PersistentVolumeClaimLister
	volumes     corelisters.PersistentVolumeLister
	nodes       corelisters.NodeLister

	mu             sync.Mutex
	attach, detach time.Duration

	began map[move]time.Time // when it was first seen to be due; only of the loop
}

// move is what is done with a VolumeAttachment.
type move struct {
	uid  types.UID
	away bool // detach, not attach
}

// StartAttacher returns an attacher at work. ctx bounds the start only.
func StartAttacher(ctx context.Context, o AttacherOptions) (*Attacher, error) {
	if o.Driver == "" {
		o.Driver = EBSDriver
	}
	config := rest.CopyConfig(o.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:ebs-csi-controller-sa", Groups: []string{"system:masters"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make client of the attacher: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	core := factory.Core().V1()
	a := &Attacher{
		driver: o.Driver, client: client, attach: o.Attach, detach: o.Detach, began: map[move]time.Time{},
		attachments: factory.Storage().V1().VolumeAttachments().Lister(), pods: core.Pods().Lister(),
		claims: core.PersistentVolumeClaims().Lister(), volumes: core.PersistentVolumes().Lister(), nodes: core.Nodes().Lister(),
	}
	running, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	factory.StartWithContext(running)
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			cancel()
			factory.Shutdown()
			return nil, fmt.Errorf("start the attacher: %s is not known: %w", kind, ctx.Err())
		}
	}
	a.live.Go(func() {
		defer factory.Shutdown()
		a.loop(running)
	})
	return a, nil
}

// SetDelays says how long attaching and detaching take from now on, also of
// what has begun; Never, and nothing is attached or detached until the next
// call.
func (a *Attacher) SetDelays(attach, detach time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attach, a.detach = attach, detach
}

// Stop ends the attacher; everything stays as it is. It may be called more than
// once.
func (a *Attacher) Stop() {
	a.cancel()
	a.live.Wait()
}

// loop does what is due every few milliseconds; what fails is due again.
func (a *Attacher) loop(ctx context.Context) {
	for sleep(ctx, 50*time.Millisecond) {
		all, err := a.attachments.List(labels.Everything())
		if err != nil {
			continue
		}
		a.mu.Lock()
		attach, detach := a.attach, a.detach
		a.mu.Unlock()
		seen, used := map[types.UID]bool{}, map[string]bool{}
		for _, o := range all {
			if o.Spec.Attacher != a.driver {
				continue
			}
			seen[o.UID], used[o.Spec.NodeName] = true, true
			if o.DeletionTimestamp == nil {
				a.attached(ctx, o, attach)
			} else {
				a.detached(ctx, o, detach)
			}
		}
		maps.DeleteFunc(a.began, func(m move, _ time.Time) bool { return !seen[m.uid] })
		for node := range used {
			a.sayInUse(ctx, node)
		}
	}
}

// finalizer holds a VolumeAttachment until its volume is detached. Source:
// external-attacher, pkg/controller, GetFinalizerName.
func (a *Attacher) finalizer() string {
	return "external-attacher/" + strings.ReplaceAll(a.driver, ".", "-")
}

// due reports whether a move that was first seen some time ago, now where it is
// new, takes no longer.
func (a *Attacher) due(m move, takes time.Duration) bool {
	at, ok := a.began[m]
	if !ok {
		at = time.Now()
		a.began[m] = at
	}
	return time.Since(at) >= takes
}

func (a *Attacher) attached(ctx context.Context, o *storagev1.VolumeAttachment, takes time.Duration) {
	if o.Status.Attached {
		return
	}
	if !slices.Contains(o.Finalizers, a.finalizer()) {
		a.patch(ctx, o, map[string]any{"metadata": map[string]any{
			"uid": o.UID, "resourceVersion": o.ResourceVersion, "finalizers": append(slices.Clone(o.Finalizers), a.finalizer()),
		}})
		return // it comes again as it is then
	}
	if a.due(move{uid: o.UID}, takes) {
		a.patch(ctx, o, map[string]any{"metadata": map[string]any{"uid": o.UID}, "status": map[string]any{"attached": true}}, "status")
	}
}

func (a *Attacher) detached(ctx context.Context, o *storagev1.VolumeAttachment, takes time.Duration) {
	if slices.Contains(o.Finalizers, a.finalizer()) && a.due(move{o.UID, true}, takes) {
		left := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == a.finalizer() })
		a.patch(ctx, o, map[string]any{"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion, "finalizers": left}})
	}
}

func (a *Attacher) patch(ctx context.Context, o *storagev1.VolumeAttachment, patch map[string]any, subresources ...string) {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(err) // maps of strings
	}
	// Whatever is wrong with it, it is tried again.
	_, _ = a.client.StorageV1().VolumeAttachments().Patch(ctx, o.Name, types.MergePatchType, data, metav1.PatchOptions{}, subresources...)
}

// sayInUse writes on a Node which of the driver's volumes its pods use. Without
// it kube-controller-manager takes a volume to be mounted, and does not have it
// detached. A kubelet that is silent says nothing.
func (a *Attacher) sayInUse(ctx context.Context, name string) {
	node, err := a.nodes.Get(name)
	if err != nil || node.Labels[livingLabel] != livingValue {
		return
	}
	pods, err := a.pods.List(labels.Everything())
	if err != nil {
		return
	}
	want := []corev1.UniqueVolumeName{}
	for _, pod := range pods {
		if pod.Spec.NodeName == name && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			want = append(want, a.volumesOf(pod)...)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	if slices.Equal(want, node.Status.VolumesInUse) {
		return
	}
	data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": node.UID}, "status": map[string]any{"volumesInUse": want}})
	if err != nil {
		panic(err) // a list of strings
	}
	_, _ = a.client.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, data, metav1.PatchOptions{}, "status") // tried again
}

// volumesOf returns the driver's volumes of a pod by the names kubelets give them.
func (a *Attacher) volumesOf(pod *corev1.Pod) []corev1.UniqueVolumeName {
	var out []corev1.UniqueVolumeName
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		name := ""
		switch {
		case v.PersistentVolumeClaim != nil:
			name = v.PersistentVolumeClaim.ClaimName
		case v.Ephemeral != nil:
			name = pod.Name + "-" + v.Name
		default:
			continue
		}
		claim, err := a.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
		if err != nil {
			continue
		}
		volume, err := a.volumes.Get(claim.Spec.VolumeName)
		if err != nil || volume.Spec.CSI == nil || volume.Spec.CSI.Driver != a.driver {
			continue
		}
		out = append(out, corev1.UniqueVolumeName("kubernetes.io/csi/"+a.driver+"^"+volume.Spec.CSI.VolumeHandle))
	}
	return out
}
