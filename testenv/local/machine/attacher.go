package machine

import (
	"cmp"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// nodeIDAnnotation is where external-attacher keeps the driver's id of a node.
const nodeIDAnnotation = "csi.alpha.kubernetes.io/node-id"

// volumesAttachedAnnotation is "true" on a pod whose volumes are attached.
// kwok starts pods with claims by it, where they wait for their volumes.
const volumesAttachedAnnotation = "testenv.joiner.sh/volumes-attached"

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
	// Volumes are where volumes are attached and detached; nil means nowhere
	// but in the cluster.
	Volumes Volumes
	// StartPods lets pods start once their volumes are attached: see
	// Options.AwaitVolumes.
	StartPods bool
}

// Volumes attaches volumes to instances and detaches them, as the service does
// that they are of. Both may be repeated. An error means that it is tried again.
type Volumes interface {
	Attach(ctx context.Context, volumeHandle, instanceID string) error
	Detach(ctx context.Context, volumeHandle, instanceID string) error
}

// Attacher attaches and detaches the volumes of one CSI driver, as the driver's
// controller does with its sidecar external-attacher, and says on Nodes which
// volumes are in use, as their kubelets do. VolumeAttachments are made and
// deleted by others: by kube-controller-manager for pods with volumes, or by a
// test. Its methods may be called from any goroutine.
type Attacher struct {
	driver    string
	client    kubernetes.Interface
	service   Volumes // may be nil
	startPods bool
	cancel    context.CancelFunc
	live      sync.WaitGroup

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
		driver: o.Driver, client: client, service: o.Volumes, startPods: o.StartPods, attach: o.Attach, detach: o.Detach, began: map[move]time.Time{},
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
		all = slices.DeleteFunc(all, func(o *storagev1.VolumeAttachment) bool {
			return o.Spec.Attacher != a.driver || o.Spec.Source.PersistentVolumeName == nil
		})
		seen, used := map[types.UID]bool{}, map[string]bool{}
		for _, o := range all {
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
		if a.startPods {
			a.letPodsStart(ctx, all)
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
		// As external-attacher does, it notes the instance: the Node may be gone when the volume is to be detached.
		a.patch(ctx, o, map[string]any{"metadata": map[string]any{
			"uid": o.UID, "resourceVersion": o.ResourceVersion, "finalizers": append(slices.Clone(o.Finalizers), a.finalizer()),
			"annotations": map[string]string{nodeIDAnnotation: a.instanceOf(o.Spec.NodeName)},
		}})
		return // it comes again as it is then
	}
	if m := (move{uid: o.UID}); a.due(m, takes) && a.serve(ctx, o, m, takes) {
		a.patch(ctx, o, map[string]any{"metadata": map[string]any{"uid": o.UID}, "status": map[string]any{"attached": true}}, "status")
	}
}

func (a *Attacher) detached(ctx context.Context, o *storagev1.VolumeAttachment, takes time.Duration) {
	if m := (move{o.UID, true}); slices.Contains(o.Finalizers, a.finalizer()) && a.due(m, takes) && a.serve(ctx, o, m, takes) {
		left := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == a.finalizer() })
		a.patch(ctx, o, map[string]any{"metadata": map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion, "finalizers": left}})
	}
}

// instanceOf returns the id of a Node's instance; "" where there is no such Node.
func (a *Attacher) instanceOf(node string) string {
	found, err := a.nodes.Get(node)
	if err != nil {
		return ""
	}
	return found.Spec.ProviderID[strings.LastIndexByte(found.Spec.ProviderID, '/')+1:]
}

// serve has the service do what is due, and reports whether that is done. What
// fails is tried again a second later.
func (a *Attacher) serve(ctx context.Context, o *storagev1.VolumeAttachment, m move, takes time.Duration) bool {
	if a.service == nil {
		return true
	}
	volume, err := a.volumes.Get(*o.Spec.Source.PersistentVolumeName)
	if m.away && apierrors.IsNotFound(err) {
		return true // its volume is unknown: there is nothing to detach
	}
	if err == nil {
		do := a.service.Attach
		if m.away {
			do = a.service.Detach
		}
		attempt, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		err = do(attempt, volume.Spec.CSI.VolumeHandle, cmp.Or(o.Annotations[nodeIDAnnotation], a.instanceOf(o.Spec.NodeName)))
	}
	if err != nil {
		a.began[m] = time.Now().Add(time.Second - takes)
	}
	return err == nil
}

// letPodsStart notes on pods that all volumes which their containers mount are
// attached, as a kubelet finds before it starts them.
func (a *Attacher) letPodsStart(ctx context.Context, all []*storagev1.VolumeAttachment) {
	pods, err := a.pods.List(labels.Everything())
	if err != nil {
		return
	}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending || pod.DeletionTimestamp != nil || pod.Annotations[volumesAttachedAnnotation] != "" || !hasClaims(pod) {
			continue
		}
		names, known := a.mounted(pod)
		if !known || slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(all, func(o *storagev1.VolumeAttachment) bool {
				return o.Status.Attached && o.DeletionTimestamp == nil && o.Spec.NodeName == pod.Spec.NodeName && *o.Spec.Source.PersistentVolumeName == name
			})
		}) {
			continue
		}
		data, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": map[string]string{volumesAttachedAnnotation: "true"}}})
		if err != nil {
			panic(err) // maps of strings
		}
		_, _ = a.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, data, metav1.PatchOptions{}) // tried again
	}
}

func hasClaims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil })
}

// mounted returns the PersistentVolumes of the driver that containers of a pod
// mount; known is false where a claim or its volume is not there yet.
func (a *Attacher) mounted(pod *corev1.Pod) (names []string, known bool) {
	mounts := map[string]bool{}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, m := range c.VolumeMounts {
			mounts[m.Name] = true
		}
		for _, device := range c.VolumeDevices {
			mounts[device.Name] = true
		}
	}
	for i := range pod.Spec.Volumes {
		name := claimOf(pod, &pod.Spec.Volumes[i])
		if name == "" || !mounts[pod.Spec.Volumes[i].Name] {
			continue
		}
		claim, err := a.claims.PersistentVolumeClaims(pod.Namespace).Get(name)
		if err != nil || claim.Spec.VolumeName == "" {
			return nil, false
		}
		volume, err := a.volumes.Get(claim.Spec.VolumeName)
		if err != nil {
			return nil, false
		}
		if volume.Spec.CSI != nil && volume.Spec.CSI.Driver == a.driver {
			names = append(names, volume.Name)
		}
	}
	return names, true
}

// claimOf returns the name of the claim of a pod's volume; "" where it has none.
func claimOf(pod *corev1.Pod, v *corev1.Volume) string {
	switch {
	case v.PersistentVolumeClaim != nil:
		return v.PersistentVolumeClaim.ClaimName
	case v.Ephemeral != nil:
		return pod.Name + "-" + v.Name
	}
	return ""
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
		name := claimOf(pod, &pod.Spec.Volumes[i])
		if name == "" {
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
