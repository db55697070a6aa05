package publish

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const ms = time.Millisecond

// F077, M36: a batch closes 300 ms after the last new pod.
func TestABatchClosesWhenNothingNewComes(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	opened := w.now
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 200*ms)
	f.Observe(podChange("b", unschedulable))
	w.pass(f, 299*ms)
	if len(w.hints) != 0 {
		t.Fatalf("a hint before the quiet window is over: %+v", w.hints)
	}
	w.pass(f, 1*ms)
	w.pass(f, 1*ms)
	if len(w.hints) != 1 || !slices.Equal(names(w.hints[0].Pods), []string{"a", "b"}) || w.hints[0].Reason != wire.ReasonBatch {
		t.Fatalf("got %+v", w.hints)
	}
	hint := w.hints[0]
	if hint.FirstSeenMillis != opened.UnixMilli() || hint.ClosedMillis != opened.Add(500*ms).UnixMilli() || hint.Pods[0].UID != "uid-a" {
		t.Errorf("got %+v", hint)
	}
	if s := w.published(); s.Seq != hint.Seq || !slices.Equal(podsOf(s), []string{"default/a@", "default/b@"}) || !s.Pods[0].Unschedulable {
		t.Errorf("the hint speaks of %d, published is %d with %q", hint.Seq, s.Seq, podsOf(s))
	}
	if w.calls["segment"] != 1 || w.calls["pointer"] != 1 {
		t.Errorf("one batch made %v calls", w.calls)
	}
}

// F077, M36: a batch that never falls quiet closes after five seconds.
func TestABatchClosesAtItsCap(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	opened := w.now
	for i := 0; len(w.hints) == 0 && i < 100; i++ {
		f.Observe(podChange(fmt.Sprintf("p%02d", i), unschedulable))
		w.pass(f, 200*ms)
	}
	if took := time.UnixMilli(w.hints[0].ClosedMillis).Sub(opened); took != 5*time.Second {
		t.Errorf("the batch closed after %s, want 5s", took)
	}
}

func TestTheSamePodDoesNotExtendABatch(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	opened := w.now
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 200*ms)
	f.Observe(podChange("a", func(p *model.Pod) { unschedulable(p); p.CreatedUnix = 7 }))
	w.pass(f, 200*ms)
	if len(w.hints) != 1 || time.UnixMilli(w.hints[0].ClosedMillis).Sub(opened) != 300*ms {
		t.Fatalf("got %+v", w.hints)
	}
	f.Observe(podChange("a", func(p *model.Pod) { unschedulable(p); p.UID = "recreated" }))
	w.pass(f, 301*ms)
	if len(w.hints) != 2 || w.hints[1].Pods[0].UID != "recreated" {
		t.Fatalf("a pod of the same name is another pod: got %+v", w.hints)
	}
}

func TestOnlyPodsThatANodeCouldHelpOpenABatch(t *testing.T) {
	daemon := podChange("daemon", unschedulable)
	daemon.Shape = &model.PodShape{OwnerKind: "DaemonSet"}
	static := podChange("static", unschedulable)
	static.Shape = &model.PodShape{OwnerKind: "Node"}
	gated := podChange("gated", unschedulable)
	gated.Shape = &model.PodShape{Gated: true}
	unsupported := podChange("unsupported", unschedulable)
	unsupported.Shape = &model.PodShape{Unsupported: []string{"why"}}
	cases := map[string]struct {
		change wire.Change
		hints  int
	}{
		"unschedulable":              {podChange("a", unschedulable), 1},
		"what cannot be expressed":   {unsupported, 1}, // people are to learn
		"pending, not yet looked at": {podChange("a", nil), 0},
		"bound":                      {podChange("a", bound("n")), 0},
		"waiting for a preemption":   {podChange("a", func(p *model.Pod) { unschedulable(p); p.NominatedNode = "n" }), 0},
		"being deleted":              {podChange("a", func(p *model.Pod) { unschedulable(p); p.DeletedUnix = 1 }), 0},
		"ended":                      {podChange("a", func(p *model.Pod) { unschedulable(p); p.Phase = model.Failed }), 0},
		"of a daemon set":            {daemon, 0},
		"static":                     {static, 0},
		"gated":                      {gated, 0},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.leader(Settings{})
			w.settle(f)
			f.Observe(tt.change)
			w.pass(f, time.Second)
			if len(w.hints) != tt.hints {
				t.Errorf("got %+v, want %d hints", w.hints, tt.hints)
			}
		})
	}
}

func TestAPodThatIsBoundBeforeTheBatchClosesNeedsNoHint(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	f.Observe(podChange("a", unschedulable))
	f.Observe(podChange("a", bound("n")))
	w.pass(f, 8*time.Second)
	if len(w.hints) != 0 || f.PendingPods() != 0 {
		t.Errorf("got %+v, %d waiting", w.hints, f.PendingPods())
	}
	if got := podsOf(w.published()); !slices.Equal(got, []string{"default/a@n"}) {
		t.Errorf("published %q", got)
	}
}

func TestWhatStillWaitsIsRemindedOfMoreAndMoreSeldom(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{HintRetryMax: 30 * time.Second})
	w.settle(f)
	start := w.now
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 2*time.Minute)
	var at []int
	for _, hint := range w.hints {
		at = append(at, int(time.UnixMilli(hint.ClosedMillis).Sub(start).Round(time.Second).Seconds()))
	}
	if want := []int{0, 11, 31, 61, 92}; !slices.Equal(at, want) {
		t.Errorf("hints after %v seconds, want %v", at, want)
	}
	if w.calls["segment"] != 1 {
		t.Errorf("%d segments for one change", w.calls["segment"])
	}
	f.Observe(wire.Change{Deleted: true, Pod: &model.Pod{Namespace: "default", Name: "a"}})
	w.settle(f)
	w.pass(f, 5*time.Minute)
	if len(w.hints) != 0 {
		t.Errorf("a deleted pod is reminded of: %+v", w.hints)
	}
}

func TestANodeOfOursThatStartsOpensABatch(t *testing.T) {
	ours := map[string]string{model.LabelNodePool: "general"}
	registered := map[string]string{model.LabelNodePool: "general", model.LabelRegistered: "true"}
	initialized := map[string]string{model.LabelNodePool: "general", model.LabelRegistered: "true", model.LabelInitialized: "true"}
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	expect := func(what string, change wire.Change, hints int) {
		t.Helper()
		w.hints = nil
		f.Observe(change)
		w.pass(f, time.Second)
		if len(w.hints) != hints || hints == 1 && w.hints[0].Reason != wire.ReasonNode {
			t.Errorf("%s: got %+v, want %d hints", what, w.hints, hints)
		}
	}
	expect("somebody else's node", nodeChange("other", nil, true), 0)
	expect("a node with the unregistered taint", wire.Change{Node: &model.Node{Name: "new", Taints: []model.Taint{{Key: model.TaintUnregistered, Effect: model.NoExecute}}}}, 1)
	expect("a node of a NodeClaim made by hand becomes ready (F107)", nodeChange("hand", map[string]string{model.LabelRegistered: "true"}, true), 1)
	expect("a node that joins", nodeChange("n", ours, false), 1)
	expect("the same again", nodeChange("n", ours, false), 0)
	expect("it becomes ready", nodeChange("n", ours, true), 1)
	expect("it is registered", nodeChange("n", registered, true), 1)
	expect("it is initialised", nodeChange("n", initialized, true), 0)
	expect("it breaks later", nodeChange("n", initialized, false), 0)
	expect("it goes", wire.Change{Deleted: true, Node: &model.Node{Name: "n"}}, 0)
	w.hints = nil
	w.pass(f, 15*time.Second)
	if len(w.hints) == 0 {
		t.Error("a node that never starts is not reminded of")
	}
}

func TestPeoplesChangesOfPoolsAndClassesOpenABatch(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	pool := func(generation int64, edit func(*model.Pool)) wire.Change {
		p := &model.Pool{Name: "general", UID: "u", Generation: generation}
		if edit != nil {
			edit(p)
		}
		return wire.Change{Pool: p}
	}
	class := func(generation int64, status string) wire.Change {
		return wire.Change{Class: &model.Class{Name: "default", UID: "u", Generation: generation, Status: model.ClassStatus{InstanceProfile: status}}}
	}
	overlay := func(generation int64, status string) wire.Change {
		return wire.Change{Overlay: &model.Overlay{Name: "discount", UID: "u", Generation: generation,
			Status: model.OverlayStatus{Status: status}}}
	}
	for _, step := range []struct {
		what   string
		change wire.Change
		hints  int
	}{
		{"a new pool", pool(1, nil), 1},
		{"a new generation", pool(2, nil), 1},
		{"nothing people wrote", pool(2, func(p *model.Pool) { p.Hash = "x" }), 0},
		{"deletion begins", pool(2, func(p *model.Pool) { p.DeletedUnix = 1 }), 1},
		{"deletion", wire.Change{Deleted: true, Pool: &model.Pool{Name: "general"}}, 1},
		{"a new class", class(1, ""), 1},
		{"its status is written", class(1, "p"), 0},
		{"a new generation of it", class(2, "p"), 1},
		{"F092 a new overlay", overlay(1, ""), 1},
		{"F092 its status is written", overlay(1, "True"), 0},
		{"F092 a new generation of it", overlay(2, "True"), 1},
		{"F092 it goes", wire.Change{Deleted: true, Overlay: &model.Overlay{Name: "discount"}}, 1},
	} {
		w.hints = nil
		f.Observe(step.change)
		w.pass(f, time.Second)
		if len(w.hints) != step.hints || step.hints == 1 && w.hints[0].Reason != wire.ReasonConfig {
			t.Errorf("%s: got %+v, want %d hints", step.what, w.hints, step.hints)
		}
	}
}

func TestAHintCarriesTheReasonThatAsksForMost(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	f.Observe(wire.Change{Pool: &model.Pool{Name: "general", UID: "u"}})
	f.Observe(podChange("a", unschedulable))
	f.Observe(nodeChange("n", map[string]string{model.LabelNodePool: "general"}, false))
	w.pass(f, time.Second)
	if len(w.hints) != 1 || w.hints[0].Reason != wire.ReasonConfig || len(w.hints[0].Pods) != 1 {
		t.Errorf("got %+v", w.hints)
	}
}
