package ekscluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// attach makes a PersistentVolume, bound to a claim of namespace default where that is not empty, and a VolumeAttachment of it
// to a node. It returns the names of both.
func attach(t *testing.T, node, claim string) (volume, attachment string) {
	t.Helper()
	core, volume := admin(t).CoreV1(), unique("pv")
	object := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{"storage": *quantityOf(1)}, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: volume}},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		},
	}
	if claim != "" {
		none := ""
		made, err := core.PersistentVolumeClaims("default").Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: claim},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: volume, StorageClassName: &none,
				Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": *quantityOf(1)}},
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		object.Spec.ClaimRef = &corev1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: claim, UID: made.UID}
	}
	if _, err := core.PersistentVolumes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if claim != "" {
		eventually(t, "volume "+volume+" is bound", func() error {
			got, err := core.PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{})
			if err == nil && got.Status.Phase != corev1.VolumeBound {
				err = fmt.Errorf("it is %s", got.Status.Phase)
			}
			return err
		})
	}
	return volume, attachVolume(t, node, volume)
}

func attachVolume(t *testing.T, node, volume string) string {
	t.Helper()
	attachment := unique("csi")
	_, err := admin(t).StorageV1().VolumeAttachments().Create(t.Context(), &storagev1.VolumeAttachment{
		ObjectMeta: metav1.ObjectMeta{Name: attachment, Finalizers: []string{"external-attacher/ebs-csi-aws-com"}},
		Spec:       storagev1.VolumeAttachmentSpec{Attacher: "ebs.csi.aws.com", NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return attachment
}

func uses(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}
}

func occupied(t *testing.T, c *Client, node model.Object) model.Occupied {
	t.Helper()
	out, err := c.ReadNode(t.Context(), node)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestF116OccupiedShowsANodeWithItsPodsAndVolumes(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("occupied")
	made, elsewhere := createNode(t, name), unique("elsewhere")
	createNode(t, elsewhere)
	node := model.Object{Name: name, UID: string(made.UID)}
	if got := occupied(t, c, node); got.Node.Name != name || got.Node.UID != node.UID || len(got.Pods)+len(got.Volumes) != 0 {
		t.Errorf("an empty node: %+v", got)
	}

	claim := unique("data")
	db := podOn(t, name, "db", func(p *corev1.Pod) {
		uses(claim)(p)
		p.Spec.TerminationGracePeriodSeconds = ptr(int64(120))
		p.Annotations = map[string]string{model.AnnotationNotDisrupt: "1h"}
		p.Spec.PriorityClassName = "system-cluster-critical"
	})
	yes := true
	daemon := podOn(t, name, "daemon", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "33333333-0000-4000-8000-000000000000", Controller: &yes}}
	})
	ended := setPhase(t, podOn(t, name, "job", nil), corev1.PodFailed)
	podOn(t, elsewhere, "other", nil)
	volume, attachment := attach(t, name, claim)
	foreign, orphan := attach(t, name, "")
	attach(t, elsewhere, unique("data"))

	got := occupied(t, c, node)
	names := []string{}
	for _, p := range got.Pods {
		names = append(names, p.Name)
	}
	want := []string{db.Name, daemon.Name, ended.Name}
	slices.Sort(want)
	if !slices.Equal(names, want) {
		t.Fatalf("pods %v, want %v", names, want)
	}
	for _, p := range got.Pods {
		switch p.Name {
		case db.Name:
			if p.UID != string(db.UID) || p.GraceSeconds != 120 || p.DoNotDisrupt != "1h" || p.PriorityClass != "system-cluster-critical" || p.Priority != 2_000_000_000 ||
				!slices.Equal(p.Volumes, []string{volume}) || p.Phase != model.Running || p.StartedUnix == 0 || p.DeletedUnix != 0 || p.OwnerKind != "" || p.Static {
				t.Errorf("%+v", p)
			}
		case daemon.Name:
			if p.OwnerKind != "DaemonSet" || p.GraceSeconds != 30 || len(p.Volumes) != 0 || len(p.Tolerations) == 0 || p.Tolerations[0].Operator != "Exists" {
				t.Errorf("%+v", p)
			}
		case ended.Name:
			if p.Phase != model.Failed {
				t.Errorf("%+v", p)
			}
		}
	}
	wantVolumes := []model.Attachment{{Name: attachment, Volume: volume}, {Name: orphan, Volume: foreign}}
	slices.SortFunc(wantVolumes, func(a, b model.Attachment) int { return strings.Compare(a.Name, b.Name) })
	if !slices.Equal(got.Volumes, wantVolumes) {
		t.Errorf("volumes %+v, want %+v", got.Volumes, wantVolumes)
	}

	// A pod being deleted says when its grace ends; a volume being detached says that it is.
	before := time.Now().Unix()
	if err := c.Delete(t.Context(), refOf(db), 60); err != nil {
		t.Fatal(err)
	}
	if err := admin(t).StorageV1().VolumeAttachments().Delete(t.Context(), attachment, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got = occupied(t, c, node)
	if late := got.ReadUnix - before; late < 0 || late > 10 { // the API server's clock is ours here
		t.Errorf("read at %d, want %d", got.ReadUnix, before)
	}
	for _, p := range got.Pods {
		if late := p.DeletedUnix - before; p.Name == db.Name && (late < 60 || late > 70) {
			t.Errorf("%s ends %d s on, want 60", p.Name, late)
		}
	}
	for _, v := range got.Volumes {
		if (v.DeletedUnix != 0) != (v.Name == attachment) {
			t.Errorf("volumes %+v", got.Volumes)
		}
	}
}

func TestOccupiedIsAboutTheNodeOfThatUID(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("judged")
	createNode(t, name)
	for what, node := range map[string]model.Object{
		"another of the name": {Name: name, UID: "00000000-0000-4000-8000-000000000000"}, "none": {Name: unique("absent"), UID: "x"},
	} {
		if got, err := c.ReadNode(t.Context(), node); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	if got, err := c.ReadNode(t.Context(), model.Object{Name: name}); err != nil || got.Node.Name != name || got.Node.UID == "" {
		t.Errorf("whichever has the name: %+v, %v", got, err)
	}
	if got, err := c.ReadNode(t.Context(), model.Object{Name: unique("absent")}); !fault.Is(err, fault.NotFound) {
		t.Errorf("none of the name: %+v, %v", got, err)
	}
}

// M55: twenty nodes that are emptied side by side, each with volumes.
func TestOccupiedOfManyNodesSideBySideIsRight(t *testing.T) {
	c := connectAs(t, collectorRole)
	type mine struct {
		node        model.Object
		volume, pod string
	}
	nodes := make([]mine, 20)
	for i := range nodes {
		name, claim := unique("many"), unique("data")
		made := createNode(t, name)
		volume, _ := attach(t, name, claim)
		nodes[i] = mine{model.Object{Name: name, UID: string(made.UID)}, volume, podOn(t, name, "db", uses(claim)).Name}
	}
	began := time.Now()
	var all sync.WaitGroup
	for _, m := range nodes {
		all.Go(func() {
			got, err := c.ReadNode(t.Context(), m.node)
			if err != nil || got.Node.UID != m.node.UID || len(got.Pods) != 1 || got.Pods[0].Name != m.pod ||
				!slices.Equal(got.Pods[0].Volumes, []string{m.volume}) || len(got.Volumes) != 1 || got.Volumes[0].Volume != m.volume {
				t.Errorf("%s: %+v, %v", m.node.Name, got, err)
			}
		})
	}
	all.Wait()
	timed.Within(t, "twenty nodes side by side", time.Since(began), 5*time.Second)
}

// Many nodes read together are what each of them is by itself, whether pods are listed for all nodes at once or for each.
func TestOccupiedAllIsWhatEachNodeIsByItself(t *testing.T) {
	c := connectAs(t, collectorRole)
	var nodes []model.Object
	for i := range 3 {
		name, claim := unique("crowd"), unique("data")
		made := createNode(t, name)
		attach(t, name, claim)
		for range i {
			podOn(t, name, unique("db"), uses(claim))
		}
		nodes = append(nodes, model.Object{Name: name, UID: string(made.UID)})
	}
	list, err := admin(t).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for len(list.Items) <= oneOf*len(nodes) { // so that those three are too few for a list of all bound pods
		list.Items = append(list.Items, *createNode(t, unique("others")))
	}
	gone := model.Object{Name: nodes[0].Name, UID: "00000000-0000-4000-8000-000000000000"}
	everybody := slices.Clone(nodes)
	for i := range list.Items {
		if o := (model.Object{Name: list.Items[i].Name, UID: string(list.Items[i].UID)}); !slices.Contains(nodes, o) {
			everybody = append(everybody, o)
		}
	}
	for what, asked := range map[string][]model.Object{"few": append(slices.Clone(nodes), model.Object{Name: unique("absent"), UID: "x"}), "all": everybody} {
		began := time.Now().Add(-time.Minute)
		got, err := c.ReadNodes(t.Context(), asked)
		if err != nil {
			t.Fatal(err)
		}
		for _, node := range nodes {
			want := occupied(t, c, node)
			if late := want.ReadUnix - got[node.UID].ReadUnix; late < 0 || late > 60 || got[node.UID].ReadUnix < began.Unix() {
				t.Errorf("%s: read at %d, and by itself at %d", what, got[node.UID].ReadUnix, want.ReadUnix)
			}
			want.ReadUnix, want.Node = got[node.UID].ReadUnix, got[node.UID].Node // controllers write to nodes meanwhile
			if o := (model.Object{Name: want.Node.Name, UID: want.Node.UID}); o != node || !reflect.DeepEqual(got[node.UID], want) {
				t.Errorf("%s: node %s is %+v, want %+v", what, node.Name, got[node.UID], want)
			}
		}
		if what == "few" && len(got) != len(nodes) {
			t.Errorf("%d nodes, want %d", len(got), len(nodes))
		}
	}
	if got, err := c.ReadNodes(t.Context(), []model.Object{gone}); err != nil || len(got) != 0 {
		t.Errorf("of another node of the name: %+v, %v", got, err)
	}
}

// The times of pods are by the API server's clock, which may be another than ours.
func TestTheTimeOfAReadIsTheAPIServersOwn(t *testing.T) {
	at := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC)
	for date, want := range map[string]int64{at.Format(http.TimeFormat): at.Unix(), "yesterday": 0, "": 0} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Date"] = []string{date}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"kind":"PodList","apiVersion":"v1","items":[]}`)
		}))
		defer server.Close()
		c, err := New(&rest.Config{Host: server.URL}, "c", "r")
		if err != nil {
			t.Fatal(err)
		}
		ctx, noted := withDate(t.Context())
		if _, err := c.podsOn(ctx, "n"); err != nil || noted.Load() != want {
			t.Errorf("an answer of %q is of %d, want %d; %v", date, noted.Load(), want, err)
		}
	}
}

func TestTogetherAnswersNobodyWithWhatWasAskedBefore(t *testing.T) {
	var group together[int]
	var calls atomic.Int64
	release := make(chan struct{})
	ask := func(context.Context) (int, error) {
		n := int(calls.Add(1))
		<-release
		return n, nil
	}
	answers := make(chan int, 21)
	get := func() {
		n, err := group.get(t.Context(), ask)
		if err != nil {
			t.Error(err)
		}
		answers <- n
	}
	go get()
	for calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 20 {
		go get()
	}
	// One of them gives up before there is an answer, which is nobody else's business.
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := group.get(impatient, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	time.Sleep(20 * time.Millisecond) // until all of them wait
	close(release)
	count := map[int]int{}
	for range 21 {
		count[<-answers]++
	}
	if count[1] != 1 || count[2] != 20 || calls.Load() != 2 {
		t.Errorf("answers %v by %d calls, want one of the first and 20 of the second", count, calls.Load())
	}
}

func TestTogetherHandsItsErrorToAllAndGoesOn(t *testing.T) {
	var group together[int]
	broken := errors.New("broken")
	if _, err := group.get(t.Context(), func(context.Context) (int, error) { return 0, broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if n, err := group.get(t.Context(), func(context.Context) (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
}
