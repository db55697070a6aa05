package ekscluster

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/typed"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// observer keeps what a watch handed on, as a snapshot would.
type observer struct {
	mu      sync.Mutex
	changed *sync.Cond
	objects map[string]wire.Change // by kind and key; absent once deleted
	all     int
}

func newObserver() *observer {
	o := &observer{objects: map[string]wire.Change{}}
	o.changed = sync.NewCond(&o.mu)
	return o
}

func (o *observer) observe(c wire.Change) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all++
	if key := keyOf(c); c.Deleted {
		delete(o.objects, key)
	} else {
		o.objects[key] = c
	}
	o.changed.Broadcast()
}

func keyOf(c wire.Change) string {
	switch {
	case c.Pod != nil:
		return "pod " + c.Pod.Key()
	case c.DaemonSet != nil:
		return "daemonset " + c.DaemonSet.Namespace + "/" + c.DaemonSet.Name
	case c.Node != nil:
		return "node " + c.Node.Name
	case c.Pool != nil:
		return "pool " + c.Pool.Name
	case c.Class != nil:
		return "class " + c.Class.Name
	case c.Claim != nil:
		return "claim " + c.Claim.Name
	case c.Namespace != nil:
		return "namespace " + c.Namespace.Name
	case c.Budget != nil:
		return "budget " + c.Budget.Namespace + "/" + c.Budget.Name
	case c.Volume != nil:
		return "volume " + c.Volume.Namespace + "/" + c.Volume.Name
	case c.Storage != nil:
		return "storage " + c.Storage.Name
	case c.CSINode != nil:
		return "csinode " + c.CSINode.Node
	}
	return "nothing"
}

// until blocks until the objects satisfy ok, or fails the test after a time no healthy server takes.
func (o *observer) until(t *testing.T, what string, ok func(map[string]wire.Change) bool) {
	t.Helper()
	late := false
	timer := time.AfterFunc(30*time.Second, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		late = true
		o.changed.Broadcast()
	})
	defer timer.Stop()
	o.mu.Lock()
	defer o.mu.Unlock()
	for !ok(o.objects) {
		if late {
			t.Fatalf("never came: %s; seen are %d objects", what, len(o.objects))
		}
		o.changed.Wait()
	}
}

// follow runs a watch with the permissions we ship until the test ends.
func follow(t *testing.T, o *observer) *Watch {
	t.Helper()
	config, err := plane(t).ServiceAccount(t.Context(), "joiner", "joiner-watcher")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(config, WatchOptions{Observe: o.observe})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w)
	return w
}

func run(t *testing.T, w *Watch) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { w.Run(ctx); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	if !w.WaitForSync(t.Context()) {
		t.Fatal("the watch never caught up")
	}
}

func TestWatchHandsOnWhatIsThereAndWhatChanges(t *testing.T) {
	apply(t, everything)
	c, name := connect(t), unique("watched")
	put(t, c, launched(name))
	o := newObserver()
	follow(t, o)
	o.until(t, "every kind at the start", func(objects map[string]wire.Change) bool {
		for _, key := range []string{
			"pod everything/web", "daemonset everything/proxy", "pool everything", "class everything", "claim " + name,
			"namespace everything", "budget everything/web", "volume everything/data", "storage everything", "csinode everything",
		} {
			if _, ok := objects[key]; !ok {
				return false
			}
		}
		return true
	})
	o.mu.Lock()
	if v := o.objects["volume everything/data"].Volume; v.Driver != "ebs.csi.aws.com" || v.Missing {
		t.Errorf("the claim is not joined with its volume: %+v", v)
	}
	if s := o.objects["pod everything/web"].Shape; s.Requests[model.CPU] != 250 {
		t.Errorf("shape %+v", s)
	}
	if _, ok := o.objects["pool elsewhere"]; ok {
		t.Error("a pool of another provider is handed on")
	}
	o.mu.Unlock()

	createNode(t, name)
	o.until(t, "a node", func(objects map[string]wire.Change) bool { return objects["node "+name].Node != nil })
	if err := c.PatchNode(t.Context(), model.NodePatch{Name: name, UID: o.objects["node "+name].Node.UID, Labels: map[string]string{"team": "b"}}); err != nil {
		t.Fatal(err)
	}
	o.until(t, "its label", func(objects map[string]wire.Change) bool { return objects["node "+name].Node.Labels["team"] == "b" })
	if err := admin(t).CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o.until(t, "its deletion", func(objects map[string]wire.Change) bool { _, there := objects["node "+name]; return !there })
}

func TestWatchForgetsPodsThatHaveEnded(t *testing.T) {
	apply(t, everything)
	o, name := newObserver(), unique("job")
	follow(t, o)
	pods := admin(t).CoreV1().Pods("everything")
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "x"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// kube-scheduler finds no node for it, and says so.
	o.until(t, "that nothing can hold it", func(objects map[string]wire.Change) bool {
		p := objects["pod everything/"+name].Pod
		return p != nil && p.Unschedulable
	})
	pod.Status.Phase = corev1.PodSucceeded
	for {
		if _, err = pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err == nil {
			break
		}
		if pod, err = pods.Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		pod.Status.Phase = corev1.PodSucceeded
	}
	o.until(t, "its end", func(objects map[string]wire.Change) bool { _, there := objects["pod everything/"+name]; return !there })
}

const lateDefinition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.%[1]s}
spec:
  group: %[1]s
  scope: Cluster
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

func TestWatchWaitsForADefinitionThatIsMissing(t *testing.T) {
	client, err := dynamic.NewForConfig(plane(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	missing := make(chan string, 100)
	o := newObserver()
	group := unique("late") + ".joiner.sh"
	resource := schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	w := &Watch{}
	w.add(customKind(client, resource, WatchOptions{Observe: o.observe, Undefined: func(r string) { missing <- r }},
		func(u *unstructured.Unstructured) (wire.Change, bool) {
			return wire.Change{Claim: &model.Object{Name: u.GetName()}}, true
		}, func(name string) wire.Change { return wire.Change{Claim: &model.Object{Name: name}} }))
	run(t, w) // and is in sync: what is not defined has no objects
	if got := <-missing; got != "things."+group {
		t.Errorf("told of %q", got)
	}
	apply(t, lateDefinition, group)
	apply(t, "apiVersion: %s/v1\nkind: Thing\nmetadata: {name: late}", group)
	o.until(t, "an object of it", func(objects map[string]wire.Change) bool { _, there := objects["claim late"]; return there })
}

func TestNothingOfAnObjectIsKeptButItsName(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "b", ResourceVersion: "7", Labels: map[string]string{"app": "x"}}}
	o := newObserver()
	client, err := typed.NewForConfig(&rest.Config{Host: "https://127.0.0.1:1"}) // nothing is asked of it
	if err != nil {
		t.Fatal(err)
	}
	k := coreKinds(client, WatchOptions{Observe: o.observe})[0]
	stored, err := k.strip(pod)
	if err != nil {
		t.Fatal(err)
	}
	again, err := k.strip(stored)
	if err != nil || again != stored {
		t.Fatalf("stripping a row again: %v, %v", again, err)
	}
	if key, err := cache.MetaNamespaceKeyFunc(stored); err != nil || key != "a/b" {
		t.Fatalf("key %q, %v", key, err)
	}
	k.OnAdd(stored, true)
	if r := stored.(*row); r.translated != nil || r.version != "7" {
		t.Errorf("still kept: %+v", r)
	}
	if c := o.objects["pod a/b"]; c.Shape.Labels["app"] != "x" {
		t.Errorf("handed on: %+v", c)
	}
	k.OnDelete(cache.DeletedFinalStateUnknown{Key: "a/b"})
	if len(o.objects) != 0 {
		t.Errorf("a deletion that was missed: %v", o.objects)
	}
}

func TestVolumesFollowBothTheirHalves(t *testing.T) {
	var got []model.Volume
	v := newVolumes(func(c wire.Change) {
		if c.Deleted {
			got = append(got, model.Volume{Name: "gone"})
			return
		}
		got = append(got, *c.Volume)
	})
	claim := func(volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	local := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}}}
	v.claim(claim(""))
	v.claim(claim("pv"))
	v.volume(local)
	v.volumeGone("", "pv")
	v.volume(local)
	v.claim(claim("other"))
	v.volume(local) // nobody's any more
	v.claimGone("a", "data")
	v.volume(local)
	var text []string
	for _, volume := range got {
		switch {
		case volume.Name == "gone":
			text = append(text, "gone")
		case volume.Missing:
			text = append(text, "missing")
		case volume.Local:
			text = append(text, "local")
		default:
			text = append(text, "unbound")
		}
	}
	if want := []string{"unbound", "missing", "local", "missing", "local", "missing", "gone"}; !slices.Equal(text, want) {
		t.Errorf("got %q, want %q", text, want)
	}
	if len(v.claims) != 0 || len(v.users) != 0 {
		t.Errorf("left behind: %v %v", v.claims, v.users)
	}
}
