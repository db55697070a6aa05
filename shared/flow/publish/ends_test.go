package publish

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// endQueue is the queue of those who empty nodes.
type endQueue struct {
	hints []wire.Hint
	fail  error
	tries []wire.Hint
}

func (q *endQueue) Send(_ context.Context, hint wire.Hint) error {
	q.tries = append(q.tries, hint)
	if _, err := wire.EncodeHint(hint); err != nil {
		return err
	}
	if q.fail != nil {
		return q.fail
	}
	q.hints = append(q.hints, hint)
	return nil
}

func (w *world) leaderWithEnds(q *endQueue) *Publisher {
	f := w.publisher(Settings{})
	f.config.Ends = q
	f.assume()
	w.step(f)
	w.settle(f)
	return f
}

func deletedNode(name string, edit func(*model.Node)) wire.Change {
	c := nodeChange(name, map[string]string{model.LabelNodePool: "general", model.LabelRegistered: "true", model.LabelInitialized: "true"}, true)
	c.Node.DeletedUnix = 1
	if edit != nil {
		edit(c.Node)
	}
	return c
}

func deletedClaim(name string) wire.Change {
	return wire.Change{Claim: &model.Object{Name: name, UID: "uid-" + name, DeletedUnix: 1}}
}

// Somebody deletes a pool of two hundred: the collector goes through its claims and nodes for a second.
func TestWhatIsDeletedIsToldOnceForAllOfAMoment(t *testing.T) {
	w, q := newWorld(t), &endQueue{}
	f := w.leaderWithEnds(q)
	began := w.now
	for i := range 200 {
		f.Observe(deletedClaim(fmt.Sprint("c", i)))
		f.Observe(deletedNode(fmt.Sprint("n", i), nil))
		w.pass(f, 5*ms)
	}
	w.pass(f, 2*time.Second)
	if len(q.hints) != 1 {
		t.Fatalf("%d hints: %+v", len(q.hints), q.hints)
	}
	h := q.hints[0]
	if h.Reason != wire.ReasonEnd || h.Cluster != "prod" || h.FirstSeenMillis != began.UnixMilli() || h.SentAtMillis-began.UnixMilli() < 1200 || len(h.Pods) != 0 {
		t.Errorf("%+v", h)
	}
	if len(w.hints) != 0 {
		t.Errorf("whoever plans was told: %+v", w.hints)
	}
	// What of them changes after is no news; once they are gone the next of the name is.
	label := deletedNode("n7", func(n *model.Node) { n.Ready = false })
	f.Observe(label)
	w.pass(f, 10*time.Second)
	if len(q.hints) != 1 {
		t.Errorf("told again: %+v", q.hints)
	}
	f.Observe(wire.Change{Deleted: true, Node: &model.Node{Name: "n7"}})
	f.Observe(deletedNode("n7", func(n *model.Node) { n.UID = "next" }))
	w.pass(f, 10*time.Second)
	if len(q.hints) != 2 {
		t.Errorf("of the next node of the name: %+v", q.hints)
	}
}

func TestADeletionThatGoesOnIsToldWithinFiveSeconds(t *testing.T) {
	w, q := newWorld(t), &endQueue{}
	f := w.leaderWithEnds(q)
	for i := range 80 {
		f.Observe(deletedClaim(fmt.Sprint("c", i)))
		w.pass(f, 100*ms)
		if i == 60 && len(q.hints) != 1 {
			t.Errorf("after six seconds: %d hints", len(q.hints))
		}
	}
	w.pass(f, 2*time.Second)
	if len(q.hints) != 2 {
		t.Errorf("%d hints", len(q.hints))
	}
}

func TestNobodyIsToldOfDeletionsThatAreNotTheirs(t *testing.T) {
	for name, c := range map[string]wire.Change{
		"a node of others":                  deletedNode("n", func(n *model.Node) { n.Labels = nil }),
		"a node that is being drained":      deletedNode("n", func(n *model.Node) { n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}} }),
		"a node that nobody deletes":        deletedNode("n", func(n *model.Node) { n.DeletedUnix = 0 }),
		"a node that is gone":               {Deleted: true, Node: &model.Node{Name: "n"}},
		"a claim that nobody deletes":       {Claim: &model.Object{Name: "c", UID: "u"}},
		"a claim that is gone without that": {Deleted: true, Claim: &model.Object{Name: "c"}},
	} {
		w, q := newWorld(t), &endQueue{}
		f := w.leaderWithEnds(q)
		f.Observe(c)
		w.pass(f, 10*time.Second)
		if len(q.tries) != 0 {
			t.Errorf("%s: %+v", name, q.tries)
		}
	}
	w, q := newWorld(t), &endQueue{}
	f := w.leaderWithEnds(q)
	f.Observe(deletedNode("n", func(n *model.Node) { n.Labels, n.Finalizer = nil, true }))
	w.pass(f, 10*time.Second)
	if len(q.hints) != 1 {
		t.Errorf("a node with our finalizer and no label: %+v", q.hints)
	}
}

func TestADeletionIsToldThoughNothingCanBePublished(t *testing.T) {
	w, q := newWorld(t), &endQueue{}
	f := w.leaderWithEnds(q)
	w.fail = func(string) (error, error) { return errDown, nil }
	f.Observe(deletedNode("n1", nil))
	w.pass(f, time.Minute) // the pauses of publishing have grown
	f.Observe(deletedNode("n2", nil))
	w.pass(f, time.Second)
	if len(q.hints) != 2 {
		t.Errorf("%+v", q.hints)
	}
}

func TestAnEndHintIsRepeatedAsItWasUntilItIsTaken(t *testing.T) {
	w, q := newWorld(t), &endQueue{fail: errDown}
	f := w.leaderWithEnds(q)
	f.Observe(deletedNode("n1", nil))
	w.pass(f, 10*time.Second)
	f.Observe(podChange("p", unschedulable))
	w.pass(f, time.Second)
	if len(w.hints) != 1 {
		t.Errorf("pods wait for the other queue: %+v", w.hints)
	}
	if n := len(q.tries); n < 2 || n > 6 {
		t.Errorf("%d tries in 11 s", n)
	}
	f.Observe(deletedNode("n2", nil))
	q.fail = nil
	w.pass(f, time.Minute)
	if len(q.hints) != 2 || q.hints[0].DedupID() != q.tries[0].DedupID() || q.hints[0].DedupID() == q.hints[1].DedupID() {
		t.Errorf("%+v", q.hints)
	}
}

// A leader that died may have told nobody.
func TestANewLeaderTellsOfWhatIsBeingDeleted(t *testing.T) {
	w, q := newWorld(t), &endQueue{}
	f := w.publisher(Settings{})
	f.config.Ends = q
	f.Observe(deletedClaim("c"))
	f.assume()
	w.pass(f, 10*time.Second)
	if len(q.hints) != 1 || q.hints[0].Epoch != 1 {
		t.Errorf("%+v", q.hints)
	}
	f.Observe(wire.Change{Deleted: true, Claim: &model.Object{Name: "c"}})
	f.assume()
	w.pass(f, 10*time.Second)
	if len(q.hints) != 1 {
		t.Errorf("of what is gone: %+v", q.hints)
	}
}

func TestAClaimMadeByHandIsAHintToPlan(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	f.Observe(wire.Change{Claim: &model.Object{Name: "c", UID: "u"}})
	w.pass(f, 10*time.Second)
	if len(w.hints) != 0 {
		t.Errorf("of a claim of ours: %+v", w.hints)
	}
	f.Observe(wire.Change{Claim: &model.Object{Name: "m", UID: "u", Manual: true, Bare: true}})
	w.pass(f, 10*time.Second)
	if len(w.hints) != 1 || w.hints[0].Reason != wire.ReasonConfig {
		t.Errorf("%+v", w.hints)
	}
}

// slowQueue takes a while for each message.
type slowQueue struct {
	w     *world
	takes time.Duration
	sent  int
}

func (q *slowQueue) Send(context.Context, wire.Hint) error {
	q.w.now = q.w.now.Add(q.takes)
	q.sent++
	return nil
}

// F15, X8: while something is unpublished there is no heartbeat, also where a slow queue has the pause of publishing
// end before one is due: functions would take the state that is published for the cluster's.
func TestF15NoSignOfLifeWhileSomethingIsUnpublished(t *testing.T) {
	w := newWorld(t)
	f := w.leaderWithEnds(&endQueue{})
	slow := &slowQueue{w: w, takes: 5 * time.Minute}
	f.config.Ends = slow
	w.fail = func(call string) (error, error) { return errorIf(call == "segment"), nil }
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 5*time.Second)
	before := w.calls["heartbeat"]
	f.Observe(deletedNode("n1", nil))
	w.pass(f, time.Minute)
	if slow.sent == 0 || w.calls["segment"] == 0 || w.calls["heartbeat"] != before {
		t.Errorf("%d end hints, %d tries to publish, %d heartbeats", slow.sent, w.calls["segment"], w.calls["heartbeat"]-before)
	}
}
