package ekscluster

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/adapter/ekscluster/translate"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const generation = "pod-template-generation"

func TestDaemonSetsFollowTheirNewestPods(t *testing.T) {
	var got []string
	d := newDaemons(func(c wire.Change) {
		if c.Deleted {
			got = append(got, "gone")
			return
		}
		got = append(got, fmt.Sprintf("%d at %v", c.Shape.Requests[model.CPU], c.Shape.RequiredNodeAffinity))
	})
	shape := func(cpu int64, version string, affinity ...model.NodeTerm) model.PodShape {
		return model.PodShape{
			Labels: map[string]string{generation: version}, OwnerKind: "DaemonSet", OwnerName: "agent",
			Requests: model.Resources{model.CPU: cpu}, RequiredNodeAffinity: affinity,
		}
	}
	pod := func(created, deleted int64, phase model.Phase) *model.Pod {
		return &model.Pod{Namespace: "a", Name: fmt.Sprint("agent-", created), CreatedUnix: created, DeletedUnix: deleted, Phase: phase}
	}
	set := func(version string) wire.Change {
		return wire.Change{DaemonSet: &model.DaemonSet{Namespace: "a", Name: "agent", UID: "u"}, Shape: ref(shape(100, version))}
	}
	onNode := model.NodeTerm{Fields: []model.Requirement{{Key: "metadata.name", Operator: model.In, Values: []string{"n"}}}}

	d.changed(set("1"))                                           // 100: the template
	d.pod(pod(5, 0, model.Running), ref(shape(200, "1", onNode))) // 200, anywhere
	d.pod(pod(5, 0, model.Running), ref(shape(200, "1", onNode))) // the same again is no news
	d.pod(pod(4, 0, model.Running), ref(shape(900, "1")))         // older
	d.pod(pod(6, 1, model.Running), ref(shape(900, "1")))         // on its way out
	d.pod(pod(6, 0, model.Failed), ref(shape(900, "1")))          // ended
	d.pod(pod(7, 0, model.Running), &model.PodShape{OwnerKind: "ReplicaSet", OwnerName: "agent"})
	d.changed(set("1"))                                   // nothing changed
	d.changed(set("2"))                                   // 100: no pod of the new template yet
	d.pod(pod(8, 0, model.Pending), ref(shape(300, "2"))) // 300
	d.gone("a", "agent")
	if want := []string{"100 at []", "200 at []", "100 at []", "300 at []", "gone"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(d.sets) != 0 {
		t.Errorf("left behind: %v", d.sets)
	}

	got = nil // a pod that is seen before its DaemonSet
	d.pod(pod(9, 0, model.Running), ref(shape(400, "1")))
	d.changed(set("1"))
	if want := []string{"400 at []"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func zoneSpread() []model.Spread {
	return []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1}}
}

func TestPodsFollowWhatSelectsThem(t *testing.T) {
	var got []string
	s := newSpreader(zoneSpread(), func(c wire.Change) {
		switch {
		case c.Deleted:
			got = append(got, c.Pod.Name+" gone")
		case len(c.Shape.Spread) == 0:
			got = append(got, c.Pod.Name+" alone")
		case c.Shape.Spread[0].Selector == nil:
			got = append(got, c.Pod.Name+" itself")
		default:
			got = append(got, fmt.Sprintf("%s %v", c.Pod.Name, c.Shape.Spread[0].Selector.MatchLabels))
		}
	})
	shape := model.PodShape{Namespace: "shop", Labels: map[string]string{"app": "web"}, OwnerKind: "ReplicaSet", OwnerName: "web-1"}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	service := func(labels map[string]string) *corev1.Service {
		return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels}}
	}
	set := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}, Spec: appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"hash": "1"}}}}

	s.pod(&model.Pod{Namespace: "shop", Name: "a"}, &shape, nil)
	s.pod(&model.Pod{Namespace: "other", Name: "b"}, &model.PodShape{Namespace: "other", Labels: shape.Labels}, nil)
	s.selects("shop", service(map[string]string{"app": "web"}), false)
	s.selects("shop", service(map[string]string{"app": "web"}), false) // its status changed
	s.selects("shop", set, false)
	s.selects("shop", set.DeepCopy(), false)
	s.pod(&model.Pod{Namespace: "shop", Name: "a", NodeName: "n"}, &shape, nil) // bound: handed on whatever it has
	s.selects("shop", service(map[string]string{"app": "db"}), false)
	s.selects("shop", set, true)
	s.selects("shop", service(nil), false)
	s.podGone("shop", "a")
	s.podGone("other", "b")
	s.selects("shop", service(map[string]string{"app": "web"}), false) // nobody's
	s.pod(&model.Pod{Namespace: "shop", Name: "c"}, &shape, nil)
	s.selects("shop", service(map[string]string{translatePodName: "c"}), false)
	s.pod(&model.Pod{Namespace: "shop", Name: "c"}, &shape, map[string]string{translatePodName: "c"})
	want := []string{
		"a alone", "b alone", "a map[app:web]", "a map[app:web hash:1]", "a map[app:web hash:1]", "a map[hash:1]", "a alone", "a gone", "b gone",
		"c map[app:web]", "c alone", "c itself",
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if s.count != 1 || len(s.pods) != 1 {
		t.Errorf("left behind: %d, %v", s.count, s.pods)
	}
	if shape.Spread != nil {
		t.Error("a shape was written to")
	}
}

const translatePodName = "statefulset.kubernetes.io/pod-name"

func TestTheSpreaderForgetsShapesNobodyHas(t *testing.T) {
	s := newSpreader(zoneSpread(), func(wire.Change) {})
	for i := range 5000 {
		s.pod(&model.Pod{Namespace: "a", Name: "b"}, &model.PodShape{Namespace: "a", OwnerName: fmt.Sprint(i)}, nil)
	}
	if n := s.shapes.Len(); n > 1100 {
		t.Errorf("one pod keeps %d shapes", n)
	}
	if got := s.pods["a"]["b"].shape.OwnerName; got != "4999" {
		t.Errorf("the pod has the shape of %s", got)
	}
}

// With the permissions we ship, as the watcher and as the functions.
func TestWatchAndListGiveTheDefaultSpread(t *testing.T) {
	constraints, err := translate.ParseDefaultSpread(`[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]`)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, everything)
	name := unique("spread")
	o := newObserver()
	config, err := plane(t).ServiceAccount(t.Context(), "joiner", "joiner-watcher")
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWatch(config, WatchOptions{Observe: o.observe, DefaultSpread: constraints})
	if err != nil {
		t.Fatal(err)
	}
	run(t, w)
	_, err = admin(t).CoreV1().Pods("everything").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"spread": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "x"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	key := "pod everything/" + name
	o.until(t, "the pod, alone", func(objects map[string]wire.Change) bool {
		return objects[key].Shape != nil && objects[key].Shape.Spread == nil
	})
	services := admin(t).CoreV1().Services("everything")
	_, err = services.Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"spread": name}, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Spread{{TopologyKey: model.LabelZone, MaxSkew: 1, Selector: &model.Selector{MatchLabels: map[string]string{"spread": name}}}}
	o.until(t, "the pod with its like", func(objects map[string]wire.Change) bool {
		return objects[key].Shape != nil && reflect.DeepEqual(objects[key].Shape.Spread, want)
	})

	client := connect(t)
	client.SpreadByDefault(constraints)
	snapshot, err := client.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(snapshot.Pods, func(p model.Pod) bool { return p.Name == name })
	if at < 0 || !reflect.DeepEqual(snapshot.ShapeOf(&snapshot.Pods[at]).Spread, want) {
		t.Errorf("listed: %d", at)
	}

	if err := services.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	o.until(t, "the pod, alone again", func(objects map[string]wire.Change) bool {
		return objects[key].Shape != nil && objects[key].Shape.Spread == nil
	})
}
