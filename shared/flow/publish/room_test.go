package publish

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

func bufferChange(replicas int32, change func(*model.Buffer)) wire.Change {
	b := &model.Buffer{Namespace: "default", Name: "spare", UID: "u", Replicas: replicas}
	if change != nil {
		change(b)
	}
	return wire.Change{Buffer: b, Shape: &model.PodShape{Namespace: "default"}}
}

// roomHints returns how many hints about room were sent so far.
func (w *world) roomHints() int {
	n := 0
	for _, hint := range w.hints {
		if hint.Reason == wire.ReasonHeadroom {
			n++
		}
	}
	return n
}

func TestF090ABufferIsPublishedAndHinted(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	want := func(what string, hints int) {
		t.Helper()
		for range 30 {
			w.pass(f, time.Second)
		}
		if got := w.roomHints(); got != hints {
			t.Fatalf("%s: %d hints, want %d", what, got, hints)
		}
	}
	f.Observe(bufferChange(3, nil))
	want("a new buffer", 1)
	if s := w.published(); len(s.Buffers) != 1 || s.Buffers[0].Replicas != 3 || s.Shapes[s.Buffers[0].Shape].Namespace != "default" {
		t.Fatalf("%+v", s.Buffers)
	}
	f.Observe(bufferChange(3, func(b *model.Buffer) { b.Status.Sized = true }))
	want("its status", 1)
	f.Observe(bufferChange(4, func(b *model.Buffer) { b.Status.Sized = true }))
	want("another size", 2)
	f.Observe(wire.Change{Deleted: true, Buffer: &model.Buffer{Namespace: "default", Name: "spare"}})
	want("it is gone", 2)
	if s := w.published(); len(s.Buffers) != 0 {
		t.Errorf("%+v", s.Buffers)
	}
}

// Pods that come to nodes may have taken room: a hint soon, and no more than one each ten seconds.
func TestF090PodsThatTakeRoomAreHintedSoonAndSeldom(t *testing.T) {
	bound := func(name string) wire.Change {
		return podChange(name, func(p *model.Pod) { p.NodeName, p.Unschedulable = "n", false })
	}
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	f.Observe(bound("before"))
	for range 10 {
		w.pass(f, time.Second)
	}
	if w.roomHints() != 0 {
		t.Fatal("a hint about room without a buffer")
	}
	f.Observe(bufferChange(3, nil))
	for range 20 {
		w.pass(f, time.Second)
	}
	before := w.roomHints()
	f.Observe(bound("a"))
	w.pass(f, 301*ms)
	w.pass(f, 1*ms)
	if w.roomHints() != before+1 {
		t.Fatalf("%d hints, want one more than %d", w.roomHints(), before)
	}
	began := w.now
	for i := range 20 {
		f.Observe(bound(string(rune('b' + i))))
		w.pass(f, time.Second)
	}
	if sent, most := w.roomHints()-before-1, 1+int(w.now.Sub(began)/(10*time.Second)); sent < 1 || sent > most {
		t.Errorf("%d hints in %s of pods that come, want 1 to %d", sent, w.now.Sub(began), most)
	}
}

// A pod that was unschedulable for a moment and got room of a buffer leaves a batch without pods, and the room is to be
// made up for.
func TestF090ABatchWhosePodsTookRoomIsStillHinted(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	f.Observe(bufferChange(3, nil))
	for range 20 {
		w.pass(f, time.Second)
	}
	before := len(w.hints)
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 100*ms)
	f.Observe(podChange("a", func(p *model.Pod) { p.NodeName, p.Unschedulable = "n", false }))
	for range 5 {
		w.pass(f, time.Second)
	}
	if len(w.hints) != before+1 || w.hints[before].Reason != wire.ReasonHeadroom {
		t.Errorf("%+v", w.hints[before:])
	}
}
