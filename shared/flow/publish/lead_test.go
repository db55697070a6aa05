package publish

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"pgregory.net/rapid"
)

// Whatever happens in the cluster and whatever fails for a while, once all is well again a function reads the cluster
// as it is, and every pod that waits was hinted with a state that shows it.
func TestPublishedStateIsTheClusterAfterAnyFailures(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		w.fail = func(call string) (error, error) {
			switch rapid.IntRange(0, 9).Draw(r, "outcome of "+call) {
			case 0:
				return errDown, nil
			case 1:
				return nil, errDown
			}
			return nil, nil
		}
		f := w.publisher(Settings{MaxDeltas: 3, HintRetryMax: 20 * time.Second})
		f.assume()
		pods, waits := map[string]string{}, map[string]string{} // key → node; key → UID
		for i := range rapid.IntRange(1, 30).Draw(r, "events") {
			name := fmt.Sprintf("p%d", rapid.IntRange(0, 4).Draw(r, "pod"))
			key := "default/" + name
			switch rapid.IntRange(0, 3).Draw(r, "kind") {
			case 0:
				f.Observe(wire.Change{Deleted: true, Pod: &model.Pod{Namespace: "default", Name: name}})
				delete(pods, key)
				delete(waits, key)
			case 1:
				uid := fmt.Sprintf("%s-%d", name, i)
				c := podChange(name, func(p *model.Pod) { unschedulable(p); p.UID = uid })
				c.Shape.Priority = int32(rapid.IntRange(0, 3).Draw(r, "shape"))
				f.Observe(c)
				pods[key], waits[key] = "", uid
			default:
				f.Observe(podChange(name, bound("n")))
				pods[key] = "n"
				delete(waits, key)
			}
			w.pass(f, time.Duration(rapid.IntRange(0, 3000).Draw(r, "pause"))*ms)
		}
		w.fail = func(string) (error, error) { return nil, nil }
		w.pass(f, 90*time.Second)

		var want []string
		for key, node := range pods {
			want = append(want, key+"@"+node)
		}
		slices.Sort(want)
		if got := podsOf(w.published()); !slices.Equal(got, want) {
			r.Fatalf("published %q, the cluster is %q", got, want)
		}
		for key, uid := range waits {
			hinted := func(h wire.Hint) bool {
				return slices.ContainsFunc(h.Pods, func(p model.PodRef) bool { return p.Key() == key && p.UID == uid })
			}
			if !slices.ContainsFunc(w.hints, hinted) {
				r.Fatalf("%s of UID %s waits and was never hinted: %+v", key, uid, w.hints)
			}
		}
	})
}

func TestTwoReplicasThatBothThinkTheyLeadConverge(t *testing.T) {
	w := newWorld(t)
	one, two := w.leader(Settings{}), w.leader(Settings{})
	both := func(c wire.Change) { one.Observe(c); two.Observe(c) }
	both(podChange("a", unschedulable))
	w.now = w.now.Add(6 * time.Second)
	if _, err := one.step(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Fatalf("got %v, want Conflict", err)
	}
	w.pass(two, 10*time.Second)
	if w.manifest.Epoch != 2 || len(w.hints) == 0 || w.hints[len(w.hints)-1].Epoch != 2 || len(w.published().Pods) != 1 {
		t.Errorf("pointer %+v, hints %+v", w.manifest, w.hints)
	}
}

// locked guards a world for the one test that runs Lead as a goroutine of its own.
type locked struct {
	mu sync.Mutex
	*world
	hinted chan wire.Hint
}

func (l *locked) PutSnapshot(ctx context.Context, cluster string, epoch, seq int64, data []byte) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.world.PutSnapshot(ctx, cluster, epoch, seq, data)
}

func (l *locked) PutDelta(ctx context.Context, cluster string, epoch, seq int64, data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.world.PutDelta(ctx, cluster, epoch, seq, data)
}

func (l *locked) Kept(ctx context.Context, key string) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.world.Kept(ctx, key)
}

func (l *locked) AdvanceManifest(ctx context.Context, p model.Manifest) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.world.AdvanceManifest(ctx, p)
}

func (l *locked) Send(ctx context.Context, hint wire.Hint) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hinted <- hint
	return l.world.Send(ctx, hint)
}

func TestLeadHintsWhatManyGoroutinesObserve(t *testing.T) {
	l := &locked{world: newWorld(t), hinted: make(chan wire.Hint, 100)}
	f := New(Config{
		Cluster: "prod", Owner: "watcher-0", Publisher: l, Manifests: l, Queue: l,
		Now: time.Now, Wait: wait, Settings: Settings{QuietWindow: 5 * ms, IdleWindow: 10 * ms},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- f.Lead(ctx) }()
	var observers sync.WaitGroup
	for i := range 8 {
		observers.Go(func() {
			for j := range 50 {
				f.Observe(podChange(fmt.Sprintf("p-%d-%d", i, j), unschedulable))
			}
		})
	}
	seen := map[string]bool{}
	for len(seen) < 400 {
		hint := <-l.hinted
		for _, p := range hint.Pods {
			seen[p.Name] = true
		}
	}
	observers.Wait()
	stop()
	if err := <-done; err != nil {
		t.Errorf("being told to stop is no error: %v", err)
	}
	if got := len(l.published().Pods); got != 400 {
		t.Errorf("%d pods are published", got)
	}
}

func TestLeadReturnsWhenAnotherLeads(t *testing.T) {
	w := newWorld(t)
	w.manifest = &model.Manifest{Cluster: "prod", Epoch: 9}
	f := w.publisher(Settings{})
	if err := f.Lead(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Errorf("got %v, want Conflict", err)
	}
}
