package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/local/machine"
)

func startAttacher(t *testing.T, o machine.AttacherOptions) *machine.Attacher {
	t.Helper()
	o.Config = plane.Config()
	a, err := machine.StartAttacher(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	return a
}

// volume makes a PersistentVolume of a driver and a claim of the same name that it is bound to.
func volume(t *testing.T, name, driver string) {
	t.Helper()
	core, none := client(t).CoreV1(), ""
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	if _, err := core.PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: once, ClaimRef: &corev1.ObjectReference{Namespace: "default", Name: name},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "vol-" + name}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := core.PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: once, VolumeName: name, StorageClassName: &none, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// attachmentOf returns the VolumeAttachment of a volume; nil where there is none.
func attachmentOf(t *testing.T, volume string) *storagev1.VolumeAttachment {
	t.Helper()
	all, err := client(t).StorageV1().VolumeAttachments().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		if name := all.Items[i].Spec.Source.PersistentVolumeName; name != nil && *name == volume {
			return &all.Items[i]
		}
	}
	return nil
}

// The volume of a pod is attached where that runs, and leaves the node some time after it.
func TestVolumeOfAPodIsAttachedAndDetachedByTheRealController(t *testing.T) {
	t.Parallel()
	const driver = "slow.example.com"
	a := startAttacher(t, machine.AttacherOptions{Driver: driver, Detach: machine.Never})
	i := instance(40)
	node := boot(t, fleet, events, i, machine.Ready).NodeName
	volume(t, "slow", driver)
	pod := createPod(t, i.ID, func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "slow"},
		}}}
	})
	awaitPod(t, pod.Name, isRunning)
	eventually(t, "the volume is attached", func() (bool, string) {
		o := attachmentOf(t, "slow")
		return o != nil && o.Status.Attached && o.Spec.NodeName == node && len(o.Finalizers) == 1, fmt.Sprintf("%+v", o)
	})
	stop(t, pod.Name, 30)
	eventually(t, "the volume is being detached", func() (bool, string) {
		o := attachmentOf(t, "slow")
		return o != nil && o.DeletionTimestamp != nil, fmt.Sprintf("%+v", o)
	})
	time.Sleep(500 * time.Millisecond)
	if o := attachmentOf(t, "slow"); o == nil || !o.Status.Attached {
		t.Errorf("it was detached though that takes for ever: %+v", o)
	}
	a.SetDelays(0, time.Second)
	eventually(t, "the volume is detached", func() (bool, string) { return attachmentOf(t, "slow") == nil, "attached" })
}

func TestAttachmentMadeByATestTakesItsTime(t *testing.T) {
	t.Parallel()
	const driver = "made.example.com"
	startAttacher(t, machine.AttacherOptions{Driver: driver, Attach: 600 * time.Millisecond, Detach: 900 * time.Millisecond})
	attachments, volume := client(t).StorageV1().VolumeAttachments(), "made"
	for _, attacher := range []string{driver, "other.example.com"} {
		if _, err := attachments.Create(t.Context(), &storagev1.VolumeAttachment{
			ObjectMeta: metav1.ObjectMeta{Name: "made-by-" + attacher},
			Spec:       storagev1.VolumeAttachmentSpec{Attacher: attacher, NodeName: "nobody", Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	name := "made-by-" + driver
	get := func() (*storagev1.VolumeAttachment, error) {
		return attachments.Get(t.Context(), name, metav1.GetOptions{})
	}
	begun := time.Now()
	eventually(t, "it is attached", func() (bool, string) {
		o, err := get()
		return err == nil && o.Status.Attached, fmt.Sprint(o.Status, err)
	})
	if took := time.Since(begun); took < 500*time.Millisecond {
		t.Errorf("attached after %s", took)
	}
	if err := attachments.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	begun = time.Now()
	eventually(t, "it is gone", func() (bool, string) {
		_, err := get()
		return apierrors.IsNotFound(err), fmt.Sprint(err)
	})
	if took := time.Since(begun); took < 800*time.Millisecond {
		t.Errorf("detached after %s", took)
	}
	if o, err := attachments.Get(t.Context(), "made-by-other.example.com", metav1.GetOptions{}); err == nil && (o.Status.Attached || len(o.Finalizers) > 0) {
		t.Errorf("another driver's: %+v", o)
	}
}

// service keeps what it was asked for. It refuses the first of each, as EC2 does when a volume is not ready.
type service struct {
	mu    sync.Mutex
	calls []string
}

func (s *service) Attach(_ context.Context, volume, instance string) error {
	return s.called("attach " + volume + " " + instance)
}

func (s *service) Detach(_ context.Context, volume, instance string) error {
	return s.called("detach " + volume + " " + instance)
}

func (s *service) called(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
	if slices.Index(s.calls, what) == len(s.calls)-1 {
		return errors.New("not ready")
	}
	return nil
}

func (s *service) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func TestVolumesAreAttachedToInstancesAndDetachedOnceTheNodeIsGone(t *testing.T) {
	t.Parallel()
	const driver = "service.example.com"
	s := &service{}
	startAttacher(t, machine.AttacherOptions{Driver: driver, Volumes: s})
	i := instance(41)
	node := boot(t, fleet, events, i, machine.Ready).NodeName
	volume(t, "served", driver)
	name := "served"
	made, err := client(t).StorageV1().VolumeAttachments().Create(t.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: "served"},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume is attached", func() (bool, string) {
		o := attachmentOf(t, name)
		return o != nil && o.Status.Attached, fmt.Sprintf("%+v", o)
	})
	if err := client(t).CoreV1().Nodes().Delete(t.Context(), node, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	_ = client(t).StorageV1().VolumeAttachments().Delete(t.Context(), made.Name, metav1.DeleteOptions{}) // unless it is deleted already
	eventually(t, "the volume is detached", func() (bool, string) { return attachmentOf(t, name) == nil, fmt.Sprint(s.all()) })
	want := []string{"attach vol-served " + i.ID, "attach vol-served " + i.ID, "detach vol-served " + i.ID, "detach vol-served " + i.ID}
	if got := s.all(); !slices.Equal(got, want) {
		t.Errorf("the service was called with %q, want %q", got, want)
	}
}
