package publish

import (
	"fmt"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// sized is a node of a pool with so many millicores, and as many MiB.
func sized(name string, cpu int64, edit func(*model.Node)) wire.Change {
	c := nodeChange(name, pooled, true)
	c.Node.Allocatable = model.Resources{"cpu": cpu, "memory": cpu << 20}
	if edit != nil {
		edit(c.Node)
	}
	return c
}

func requesting(cpu int64, c wire.Change) wire.Change {
	c.Shape.Requests = model.Resources{"cpu": cpu, "memory": cpu << 10, model.Pods: 1}
	return c
}

func drains(n *model.Node) {
	n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: "NoSchedule"}}
}

// full observes nodes of four CPUs, each with four pods of one: p0 to p3 on n0, and so on.
func full(f *Publisher, nodes int) {
	for n := range nodes {
		node := fmt.Sprintf("n%d", n)
		f.Observe(sized(node, 4000, nil))
		for p := range 4 {
			f.Observe(requesting(1000, podChange(fmt.Sprintf("p%d", 4*n+p), bound(node))))
		}
	}
}

// The disruption function gets a hint soon where as much has become free as a node has: it need not wait for its tick.
func TestPodsThatLeaveAskForConsolidation(t *testing.T) {
	seen := func(f *Publisher, pods ...int) {
		for _, i := range pods {
			f.Observe(gone(fmt.Sprintf("p%d", i)))
		}
	}
	for what, c := range map[string]struct {
		nodes int // of four CPUs, each with four pods of one
		do    func(w *world, f *Publisher)
		want  int // hints after a minute
	}{
		"less than a node": {3, func(_ *world, f *Publisher) { seen(f, 0, 4, 8) }, 0},
		"a node":           {3, func(_ *world, f *Publisher) { seen(f, 0, 4, 8, 1) }, 1},
		"a node, and others came": {3, func(_ *world, f *Publisher) {
			seen(f, 0, 4, 8)
			f.Observe(requesting(1000, podChange("new", bound("n0"))))
			seen(f, 1)
		}, 0},
		"a node, little by little":  {3, func(w *world, f *Publisher) { seen(f, 0, 4); w.pass(f, 2*time.Minute); seen(f, 8, 1) }, 1},
		"of a node that is drained": {3, func(_ *world, f *Publisher) { f.Observe(sized("n0", 4000, drains)); seen(f, 0, 1, 2, 4) }, 0},
		"of a node that is no pool's": {3, func(_ *world, f *Publisher) {
			f.Observe(sized("n0", 4000, func(n *model.Node) { n.Labels = nil }))
			seen(f, 0, 1, 2, 4)
		}, 0},
		"a node of a smaller one's": {3, func(_ *world, f *Publisher) { f.Observe(sized("small", 1000, nil)); seen(f, 0) }, 1},
		"a node of hundreds":        {300, func(_ *world, f *Publisher) { seen(f, 0, 4, 8, 1) }, 0},
		"a hundredth of hundreds":   {300, func(_ *world, f *Publisher) { seen(f, 0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44) }, 1},
		"again, and again at once": {3, func(w *world, f *Publisher) {
			seen(f, 0, 4, 8, 1)
			w.pass(f, 6*time.Second)
			seen(f, 2, 5, 9, 6)
		}, 2},
	} {
		w, q := newWorld(t), &endQueue{}
		f := w.publisher(Settings{})
		f.config.EmptyNodes = q
		full(f, c.nodes)
		f.assume()
		w.pass(f, 10*time.Second)
		if len(q.hints) != 0 {
			t.Fatalf("%s: told %+v before anything happened", what, q.hints)
		}
		c.do(w, f)
		w.pass(f, time.Minute)
		if len(q.hints) != c.want {
			t.Errorf("%s: told %d times, want %d", what, len(q.hints), c.want)
		}
		for i, hint := range q.hints {
			if hint.Reason != wire.ReasonDisrupt || i > 0 && hint.SentAtMillis-q.hints[i-1].SentAtMillis < 20_000 {
				t.Errorf("%s: hint %d is %+v after %+v", what, i, hint, q.hints[max(0, i-1)])
			}
		}
	}
}

// Where pods go on leaving the hint comes once they have stopped for a while, and at the latest after the time between
// two hints.
func TestPodsThatGoOnLeaving(t *testing.T) {
	w, q := newWorld(t), &endQueue{}
	f := w.publisher(Settings{})
	f.config.EmptyNodes = q
	full(f, 30)
	f.assume()
	w.pass(f, 10*time.Second)
	began := w.now
	for n := range 30 { // a pod of each node, one each two seconds
		f.Observe(gone(fmt.Sprintf("p%d", 4*n)))
		w.pass(f, 2*time.Second)
	}
	w.pass(f, time.Minute)
	if len(q.hints) < 2 || len(q.hints) > 4 {
		t.Fatalf("told %d times", len(q.hints))
	}
	if first := time.UnixMilli(q.hints[0].SentAtMillis).Sub(began); first > 30*time.Second {
		t.Errorf("told first after %s", first)
	}
}
