package publish

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// world is an object store, a ledger and a queue in memory, under one clock.
type world struct {
	t        testing.TB
	now      time.Time
	objects  map[string][]byte
	epoch    int64
	manifest *model.Manifest
	beats    int
	lost     bool // somebody found an object gone which the manifest names
	torn     bool // somebody deletes objects
	hints    []wire.Hint
	seen     map[string]bool // deduplication ids
	fail     func(call string) (before, after error)
	calls    map[string]int
}

func newWorld(t testing.TB) *world {
	return &world{
		t: t, now: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), objects: map[string][]byte{}, seen: map[string]bool{}, calls: map[string]int{},
		fail: func(string) (error, error) { return nil, nil },
	}
}

// do runs an effect unless a failure comes before it; a failure after it hides that it happened.
func (w *world) do(call string, effect func() error) error {
	w.calls[call]++
	before, after := w.fail(call)
	if before != nil {
		return before
	}
	if err := effect(); err != nil {
		return err
	}
	return after
}

func (w *world) put(key string, data []byte) error {
	if old, ok := w.objects[key]; ok && !slices.Equal(old, data) {
		w.t.Errorf("%s was written over with other bytes", key)
		return fault.New(fault.Conflict, "", "%s exists", key)
	}
	w.objects[key] = data
	return nil
}

func (w *world) PutSnapshot(_ context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	key := fmt.Sprintf("%s/%d/base-%d", cluster, epoch, seq)
	return key, w.do("base", func() error { return w.put(key, data) })
}

func (w *world) PutDelta(_ context.Context, cluster string, epoch, seq int64, data []byte) error {
	return w.do("segment", func() error { return w.put(fmt.Sprintf("%s/%d/seg-%d", cluster, epoch, seq), data) })
}

func (w *world) Kept(_ context.Context, key string) (kept bool, err error) {
	err = w.do("kept", func() error { _, kept = w.objects[key]; return nil })
	return kept, err
}

func (w *world) NextEpoch(context.Context, string, string) (int64, error) {
	err := w.do("epoch", func() error { w.epoch++; return nil })
	return w.epoch, err
}

func (w *world) AdvanceManifest(_ context.Context, p model.Manifest) (lost bool, err error) {
	err = w.do("pointer", func() error {
		if old := w.manifest; old != nil && (old.Epoch > p.Epoch || old.Epoch == p.Epoch && old.HeadSeq > p.HeadSeq) {
			return fault.New(fault.Conflict, "", "pointer is at %d/%d", old.Epoch, old.HeadSeq)
		}
		lost, w.lost = w.lost, false
		w.manifest = &p
		if !w.torn {
			w.published() // whatever the manifest names must be there
		}
		return nil
	})
	return lost && err == nil, err
}

func (w *world) Heartbeat(_ context.Context, _ string, epoch, unix int64) (bool, error) {
	err := w.do("heartbeat", func() error {
		switch {
		case w.manifest == nil:
			return fault.New(fault.NotFound, "", "no pointer")
		case w.manifest.Epoch != epoch:
			return fault.New(fault.Conflict, "", "pointer is of epoch %d", w.manifest.Epoch)
		}
		w.beats++
		w.manifest.HeartbeatAt = unix
		return nil
	})
	return w.lost && err == nil, err
}

func (w *world) Send(_ context.Context, hint wire.Hint) error {
	return w.do("hint", func() error {
		if _, err := wire.EncodeHint(hint); err != nil {
			w.t.Errorf("hint %+v: %v", hint, err)
		}
		if w.manifest == nil || w.manifest.Epoch == hint.Epoch && w.manifest.HeadSeq < hint.Seq {
			w.t.Errorf("a hint speaks of %d/%d before it is published", hint.Epoch, hint.Seq)
		}
		if id := hint.DedupID(); !w.seen[id] {
			w.seen[id] = true
			w.hints = append(w.hints, hint)
		}
		return nil
	})
}

// published returns the state a function would read.
func (w *world) published() *model.Snapshot {
	w.t.Helper()
	p := w.manifest
	if p == nil {
		return nil
	}
	s, err := wire.DecodeSnapshot(w.objects[p.SnapshotKey])
	if err != nil {
		w.t.Fatalf("base %s: %v", p.SnapshotKey, err)
	}
	for seq := p.SnapshotSeq + 1; seq <= p.HeadSeq; seq++ {
		d, err := wire.DecodeDelta(w.objects[fmt.Sprintf("%s/%d/seg-%d", p.Cluster, p.Epoch, seq)])
		if err != nil {
			w.t.Fatalf("segment %d: %v", seq, err)
		}
		if s, err = wire.Apply(s, d); err != nil {
			w.t.Fatalf("apply segment %d: %v", seq, err)
		}
	}
	return s
}

// podsOf names the pods of a snapshot with their nodes.
func podsOf(s *model.Snapshot) []string {
	var out []string
	for i := range s.Pods {
		out = append(out, s.Pods[i].Key()+"@"+s.Pods[i].NodeName)
	}
	return out
}

func (w *world) publisher(settings Settings) *Publisher {
	return New(Config{
		Cluster: "prod", Owner: "watcher-0", Publisher: w, Manifests: w, Queue: w, Settings: settings,
		Now: func() time.Time { return w.now }, Wait: wait,
	})
}

// leader returns a forwarder that leads and has got through its first step.
func (w *world) leader(settings Settings) *Publisher {
	w.t.Helper()
	f := w.publisher(settings)
	f.assume()
	w.step(f)
	return f
}

// step lets the forwarder do what is due now, and returns when it next has something to do.
func (w *world) step(f *Publisher) time.Duration {
	w.t.Helper()
	wait, err := f.step(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return wait
}

// pass lets time pass, stopping whenever the forwarder wants to look.
func (w *world) pass(f *Publisher, d time.Duration) {
	w.t.Helper()
	end := w.now.Add(d)
	for {
		wait := w.step(f)
		if w.now.Add(wait).After(end) {
			w.now = end
			return
		}
		w.now = w.now.Add(wait)
	}
}

// settle lets everything that is under way come to an end.
func (w *world) settle(f *Publisher) {
	w.t.Helper()
	w.pass(f, 9*time.Second)
	w.hints = nil
	clear(w.calls)
}

// wait waits as the watcher does.
func wait(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-wake:
	case <-time.After(d):
	}
}

func podChange(name string, edit func(*model.Pod)) wire.Change {
	p := &model.Pod{Namespace: "default", Name: name, UID: "uid-" + name}
	if edit != nil {
		edit(p)
	}
	return wire.Change{Pod: p, Shape: &model.PodShape{Namespace: "default", Requests: model.Resources{model.Pods: 1}}}
}

func unschedulable(p *model.Pod) { p.Unschedulable = true }

func bound(node string) func(*model.Pod) { return func(p *model.Pod) { p.NodeName = node } }

func nodeChange(name string, labels map[string]string, ready bool) wire.Change {
	return wire.Change{Node: &model.Node{Name: name, UID: "uid-" + name, Labels: labels, Ready: ready}}
}

func names(pods []model.PodRef) []string {
	var out []string
	for _, p := range pods {
		out = append(out, p.Name)
	}
	return out
}
