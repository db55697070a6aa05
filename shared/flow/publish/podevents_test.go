package publish

import (
	"context"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

var pooled = map[string]string{model.LabelNodePool: "general", model.LabelRegistered: "true", model.LabelInitialized: "true"}

func daemon(c wire.Change) wire.Change {
	c.Shape.OwnerKind = "DaemonSet"
	return c
}

func gone(name string) wire.Change {
	return wire.Change{Deleted: true, Pod: &model.Pod{Namespace: "default", Name: name}}
}

func ended(node string) func(*model.Pod) {
	return func(p *model.Pod) { p.NodeName, p.Phase = node, model.Succeeded }
}

func unbound(*model.Pod) {}

// eventOn is what is published of a node's pods, in seconds after a time; -1 = nothing.
func (w *world) eventOn(name string, since time.Time) int64 {
	w.t.Helper()
	for _, node := range w.published().Nodes {
		if node.Name == name {
			if node.PodEventUnix == 0 {
				return -1
			}
			return node.PodEventUnix - since.Unix()
		}
	}
	w.t.Fatalf("node %s is not published", name)
	return 0
}

// F155: the pods that would have to leave a node are counted as they come and leave.
func TestF155PodsOnANodeAreCounted(t *testing.T) {
	f := newWorld(t).publisher(Settings{})
	for _, step := range []struct {
		change wire.Change
		want   int
	}{
		{nodeChange("a", pooled, true), 0}, {podChange("one", bound("a")), 1}, {podChange("two", bound("a")), 2},
		{podChange("one", bound("a")), 2}, {daemon(podChange("agent", bound("a"))), 2},
		{podChange("elsewhere", bound("b")), 2}, {podChange("waits", unbound), 2}, {podChange("one", ended("a")), 1},
		{gone("two"), 0},
	} {
		f.Observe(step.change)
		if got := f.PodsOn("a"); got != step.want {
			t.Errorf("after %+v: %d pods, want %d", step.change, got, step.want)
		}
	}
	if got := f.PodsOn("") + f.PodsOn("no-such-node"); got != 0 {
		t.Errorf("%d pods on no node", got)
	}
}

func TestNodesSayWhenPodsCameAndLeft(t *testing.T) {
	w := newWorld(t)
	f := w.publisher(Settings{})
	began := w.now
	for _, c := range []wire.Change{
		nodeChange("a", pooled, true), podChange("first", bound("a")), podChange("job", bound("a")), podChange("waits", nil), daemon(podChange("agent", unbound)),
	} {
		f.Observe(c)
	}
	f.assume()
	steps := []struct {
		what   string
		change wire.Change
		want   int64
	}{
		{"whatever was there before anybody looked", podChange("waits", unschedulable), -1},
		{"20: a daemon came", daemon(podChange("agent", bound("a"))), -1},
		{"40: a pod came", podChange("waits", bound("a")), 40},
		{"60: a pod is as it was", podChange("waits", bound("a")), 40},
		{"80: a pod ended", podChange("job", ended("a")), 80},
		{"100: one that had ended was deleted", gone("job"), 80},
		{"120: the node changed", nodeChange("a", pooled, false), 80},
		{"140: a daemon left", gone("agent"), 80},
		{"160: a pod left", gone("first"), 160},
		{"180: a pod came that nobody saw before", podChange("new", bound("a")), 180},
		{"200: another node of the name", wire.Change{Node: &model.Node{Name: "a", UID: "other", Labels: pooled}}, -1},
	}
	for _, s := range steps {
		f.Observe(s.change)
		w.pass(f, 20*time.Second)
		if got := w.eventOn("a", began); got != s.want {
			t.Errorf("%s: %d, want %d", s.what, got, s.want)
		}
	}
}

// A burst of pods publishes a node once in ten seconds.
func TestPodEventsOfAMomentAreOne(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	began := w.now
	f.Observe(nodeChange("a", pooled, true))
	for i, want := range []int64{0, 0, 0, 12} {
		w.now = began.Add(time.Duration(4*i) * time.Second)
		f.Observe(podChange(string(rune('p'+i)), bound("a")))
		w.pass(f, time.Millisecond)
		if got := f.state.nodes.rows["a"].PodEventUnix - began.Unix(); got != want {
			t.Errorf("after %d s it is %d, want %d", 4*i, got, want)
		}
	}
}

// formerly is what was published before.
type formerly struct {
	snapshot *model.Snapshot
	err      error
}

func (f formerly) Previous(context.Context, string) (*model.Snapshot, error) {
	return f.snapshot, f.err
}

func TestNewLeaderTakesOverWhatWasPublishedOfPods(t *testing.T) {
	began := newWorld(t).now
	of := func(name, uid string, after int64) model.Node {
		return model.Node{Name: name, UID: uid, PodEventUnix: began.Unix() + after}
	}
	before := &model.Snapshot{Nodes: []model.Node{of("a", "uid-a", -300), of("b", "uid-earlier", -300), of("c", "uid-c", -300), of("gone", "uid-gone", -300)}}
	for what, c := range map[string]struct {
		former Previous
		want   map[string]int64
	}{
		"it is there":       {formerly{snapshot: before}, map[string]int64{"a": -300, "b": -1, "c": 0}},
		"there is none":     {formerly{err: fault.New(fault.NotFound, "", "none")}, map[string]int64{"a": -1, "b": -1, "c": 0}},
		"it cannot be read": {formerly{err: fault.New(fault.Throttled, "", "slow down")}, map[string]int64{"a": -1, "b": -1, "c": 0}},
		"nobody reads it":   {nil, map[string]int64{"a": -1, "b": -1, "c": 0}},
	} {
		w := newWorld(t)
		f := w.publisher(Settings{})
		f.config.Previous = c.former
		for _, name := range []string{"a", "b", "c"} {
			f.Observe(nodeChange(name, pooled, true))
		}
		f.Observe(podChange("waits", nil))
		f.Observe(podChange("waits", bound("c"))) // seen while another led
		f.assume()
		w.pass(f, 10*time.Second)
		for name, want := range c.want {
			if got := w.eventOn(name, began); got != want {
				t.Errorf("%s: node %s says %d, want %d", what, name, got, want)
			}
		}
	}
}

// F120: the disruption function is notified once the state that shows it is published, and not for each node.
func TestF120NodesThatBecomeEmptyAreToldOf(t *testing.T) {
	w, q := newWorld(t), &endQueue{}
	f := w.publisher(Settings{})
	f.config.EmptyNodes = q
	for _, name := range []string{"a", "b", "c"} {
		f.Observe(nodeChange(name, pooled, true))
		f.Observe(podChange("of-"+name, bound(name)))
		f.Observe(daemon(podChange("agent-"+name, bound(name))))
	}
	f.Observe(nodeChange("foreign", nil, true))
	f.Observe(podChange("more", bound("c")))
	f.Observe(podChange("of-foreign", bound("foreign")))
	f.assume()
	w.pass(f, 9*time.Second)

	f.Observe(gone("of-c")) // another is there
	f.Observe(gone("of-foreign"))
	w.pass(f, time.Minute)
	if len(q.hints) != 0 {
		t.Fatalf("told %+v of nodes that are not empty or not ours", q.hints)
	}
	began := w.now
	f.Observe(gone("of-a"))
	f.Observe(gone("of-b"))
	w.pass(f, 8*time.Second)
	if len(q.hints) != 1 || q.hints[0].Reason != wire.ReasonDisrupt || time.UnixMilli(q.hints[0].SentAtMillis).Sub(began) > 6*time.Second {
		t.Fatalf("told %+v", q.hints)
	}
	for _, pod := range w.published().Pods {
		if pod.Name == "of-a" || pod.Name == "of-b" || q.hints[0].Seq < w.manifest.HeadSeq {
			t.Errorf("told of %d before the state that shows it: %+v at %d", q.hints[0].Seq, pod, w.manifest.HeadSeq)
		}
	}
	q.fail = fault.New(fault.Throttled, "", "slow down")
	f.Observe(gone("more"))
	w.pass(f, time.Minute)
	if len(q.tries) != 2 || len(q.hints) != 1 {
		t.Errorf("tried %d times", len(q.tries))
	}
}
