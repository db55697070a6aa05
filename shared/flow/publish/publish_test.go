package publish

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

func TestALeaderBeginsWithABaseOfEverything(t *testing.T) {
	w := newWorld(t)
	f := w.publisher(Settings{})
	f.Observe(podChange("a", bound("n")))
	f.Observe(podChange("b", unschedulable))
	f.Observe(nodeChange("n", nil, true))
	if len(w.calls) != 0 {
		t.Fatalf("a follower made calls: %v", w.calls)
	}
	f.assume()
	w.pass(f, time.Second)
	s := w.published()
	if w.manifest.Epoch != 1 || w.manifest.WatcherOwner != "watcher-0" || s.Seq != 1 || len(s.Nodes) != 1 || !slices.Equal(podsOf(s), []string{"default/a@n", "default/b@"}) {
		t.Errorf("pointer %+v, pods %q", w.manifest, podsOf(s))
	}
	if len(w.hints) != 1 || !slices.Equal(names(w.hints[0].Pods), []string{"b"}) {
		t.Errorf("what waited before is hinted once: %+v", w.hints)
	}
}

func TestAnIdleClusterCausesOnlyHeartbeats(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	f.Observe(nodeChange("n", nil, true))
	w.settle(f)
	for range 100 { // what kubelets report all day and nobody looks at
		f.Observe(nodeChange("n", nil, true))
		w.pass(f, 6*time.Second)
	}
	if w.calls["heartbeat"] != 20 || w.calls["kept"] != 2 || len(w.calls) != 2 {
		t.Errorf("600 idle seconds made %v calls, want 20 heartbeats and 2 looks for the base", w.calls)
	}
	if age := w.now.Unix() - w.manifest.HeartbeatAt; age > 30 {
		t.Errorf("the last sign of life is %d s old", age)
	}
}

// The disruption function goes by what was confirmed ten seconds ago: as soon as there is something to disrupt, or
// somebody waits, it is.
func TestAClusterWithInstancesOfOursHasAHeartbeatEachTenSeconds(t *testing.T) {
	for name, change := range map[string]wire.Change{
		"a node of ours": nodeChange("mine", map[string]string{model.LabelNodePool: "default"}, true), "a pod that waits": podChange("waits", unschedulable),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			f := w.leader(Settings{})
			f.Observe(nodeChange("n", nil, true))
			w.settle(f)
			w.pass(f, 25*time.Second)
			f.Observe(change)
			w.settle(f)
			clear(w.calls)
			for range 10 {
				w.pass(f, 10*time.Second)
				if age := w.now.Unix() - w.manifest.HeartbeatAt; age > 10 {
					t.Fatalf("the last sign of life is %d s old", age)
				}
			}
		})
	}
}

// Where somebody emptied the bucket the state is published whole again, within minutes; a store that does not answer
// empties nothing.
func TestASnapshotThatIsGoneIsPublishedAgain(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	f.Observe(nodeChange("mine", map[string]string{model.LabelNodePool: "default"}, true))
	w.settle(f)
	first := w.manifest.SnapshotKey
	w.fail = func(call string) (error, error) {
		if call == "kept" {
			return fault.New(fault.Internal, "", "no answer"), nil
		}
		return nil, nil
	}
	w.pass(f, 5*time.Minute)
	if w.manifest.SnapshotKey != first {
		t.Fatalf("without an answer %s is published", w.manifest.SnapshotKey)
	}
	w.fail = func(string) (error, error) { return nil, nil }
	w.pass(f, 5*time.Minute)
	if w.manifest.SnapshotKey != first || w.calls["base"] != 0 {
		t.Fatalf("%s is published: %v", w.manifest.SnapshotKey, w.calls)
	}
	clear(w.objects)
	w.pass(f, 90*time.Second)
	if w.manifest.SnapshotKey == first || len(w.published().Nodes) != 1 || w.calls["base"] != 1 {
		t.Errorf("%s is published, %v", w.manifest.SnapshotKey, w.calls)
	}
	w.pass(f, 10*time.Minute)
	if w.calls["base"] != 1 {
		t.Errorf("%d bases", w.calls["base"])
	}
}

func TestAFullSnapshotIsMadeEachDayOfAQuietCluster(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{MaxAge: time.Hour})
	f.Observe(nodeChange("n", nil, true))
	w.settle(f)
	first := w.manifest.SnapshotKey
	w.pass(f, 59*time.Minute)
	if w.calls["base"] != 0 || w.manifest.SnapshotKey != first {
		t.Fatalf("before its time: %v, %+v", w.calls, w.manifest)
	}
	w.pass(f, 3*time.Hour)
	if w.calls["base"] != 3 || w.calls["segment"] != 0 || len(w.hints) != 0 || w.manifest.SnapshotKey == first || w.manifest.SnapshotSeq != w.manifest.HeadSeq {
		t.Errorf("after three hours more: %v, %d hints, pointer %+v", w.calls, len(w.hints), w.manifest)
	}
	if got := len(w.published().Nodes); got != 1 {
		t.Errorf("%d nodes are published", got)
	}
}

func TestChangesNobodyWaitsForAreGathered(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	for i := range 100 {
		f.Observe(podChange(fmt.Sprintf("p%d", i), bound("n")))
		w.pass(f, 100*ms)
	}
	w.pass(f, 5*time.Second)
	if n := w.calls["segment"]; n < 2 || n > 3 || len(w.hints) != 0 {
		t.Errorf("10 s of changes made %d segments and %d hints", n, len(w.hints))
	}
	if got := len(w.published().Pods); got != 100 {
		t.Errorf("%d pods are published", got)
	}
}

func TestANewSnapshotComesWhenDeltasAreManyAndNobodyWaits(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{MaxDeltas: 3, HintRetryFirst: time.Hour, HintRetryMax: time.Hour})
	w.settle(f)
	for i := range 6 {
		f.Observe(podChange(fmt.Sprintf("p%d", i), unschedulable))
		w.pass(f, time.Second)
	}
	if w.calls["base"] != 0 || w.calls["segment"] != 6 {
		t.Fatalf("while pods wait: %v", w.calls)
	}
	f.Observe(podChange("q", bound("n")))
	w.pass(f, 6*time.Second)
	if w.calls["base"] != 1 || w.calls["segment"] != 6 || w.manifest.SnapshotSeq != w.manifest.HeadSeq {
		t.Errorf("afterwards: %v, pointer %+v", w.calls, w.manifest)
	}
	if got := len(w.published().Pods); got != 7 {
		t.Errorf("%d pods are published", got)
	}
}

func TestABaseForgetsShapesThatNobodyUses(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{MaxDeltas: 2})
	w.settle(f)
	for i := range 10 {
		c := podChange("a", bound("n"))
		c.Shape = &model.PodShape{Namespace: "default", Priority: int32(i)}
		f.Observe(c)
		f.Observe(wire.Change{DaemonSet: &model.DaemonSet{Namespace: "default", Name: "d"}, Shape: &model.PodShape{OwnerKind: "DaemonSet", Priority: int32(i)}})
		w.pass(f, 6*time.Second)
	}
	s := w.published()
	if s.Shapes[s.Pods[0].Shape].Priority != 9 || s.Shapes[s.DaemonSets[0].Shape].Priority != 9 {
		t.Errorf("got shapes %+v", s.Shapes)
	}
	if len(s.Shapes) > 8 {
		t.Errorf("%d shapes are published for two users", len(s.Shapes))
	}
}

var errDown = errors.New("down")

func TestNothingIsLostWhileADependencyIsDown(t *testing.T) {
	for _, down := range []string{"base", "segment", "pointer", "hint", "epoch", "heartbeat"} {
		for name, failure := range map[string]func(string) (error, error){
			"refusing":         func(call string) (error, error) { return errorIf(call == down), nil },
			"answers are lost": func(call string) (error, error) { return nil, errorIf(call == down) },
		} {
			t.Run(down+" "+name, func(t *testing.T) {
				w := newWorld(t)
				var f *Publisher
				if down == "base" || down == "epoch" {
					w.fail = failure
					f = w.leader(Settings{})
				} else {
					f = w.leader(Settings{})
					w.settle(f)
					w.fail = failure
				}
				f.Observe(podChange("a", unschedulable))
				w.pass(f, time.Minute)
				f.Observe(podChange("b", unschedulable))
				f.Observe(podChange("c", bound("n")))
				w.pass(f, time.Minute)
				calls := w.calls[down]
				w.fail = func(string) (error, error) { return nil, nil }
				w.pass(f, 40*time.Second)
				if calls > 20 {
					t.Errorf("%s was called %d times in two minutes of failure", down, calls)
				}
				if got := podsOf(w.published()); !slices.Equal(got, []string{"default/a@", "default/b@", "default/c@n"}) {
					t.Errorf("published %q", got)
				}
				hinted := map[string]bool{}
				for _, hint := range w.hints {
					for _, p := range hint.Pods {
						hinted[p.Name] = true
					}
				}
				if !hinted["a"] || !hinted["b"] {
					t.Errorf("hinted %v", hinted)
				}
			})
		}
	}
}

func errorIf(fails bool) error {
	if fails {
		return errDown
	}
	return nil
}

func TestHintsGoOnWhileOnlyTheQueueRecovers(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	w.fail = func(call string) (error, error) { return errorIf(call == "hint"), nil }
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 2*time.Second)
	w.fail = func(call string) (error, error) { return errorIf(call == "segment"), nil } // now the store is down, and the queue is back
	f.Observe(podChange("b", unschedulable))
	w.pass(f, 10*time.Second)
	if len(w.hints) != 1 || !slices.Equal(names(w.hints[0].Pods), []string{"a"}) {
		t.Errorf("got %+v", w.hints)
	}
}

func TestAHintSentAgainIsTheSameHint(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	lost := 2
	w.fail = func(call string) (error, error) {
		if call == "hint" && lost > 0 {
			lost--
			return nil, errDown
		}
		return nil, nil
	}
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 8*time.Second)
	if w.calls["hint"] != 3 || len(w.hints) != 1 {
		t.Errorf("%d sends made %d hints", w.calls["hint"], len(w.hints))
	}
}

func TestAWatcherWhoseStateReachesNobodyGivesNoSignOfLife(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	w.fail = func(call string) (error, error) { return errorIf(call == "segment"), nil }
	f.Observe(podChange("a", unschedulable))
	w.pass(f, time.Minute)
	if w.calls["heartbeat"] != 0 {
		t.Errorf("%d heartbeats", w.calls["heartbeat"])
	}
}

// F15: a state that could not be stored for minutes says with its manifest how old it is: functions that disrupt nodes
// go by no older state than the last seconds', and what has changed since is not in it.
func TestF15AStateThatTookMinutesToStoreIsAsOldAsItIs(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	w.fail = func(call string) (error, error) { return errorIf(call == "segment"), nil }
	f.Observe(podChange("a", bound("n")))
	begun := w.now
	w.pass(f, 7*time.Minute)
	f.Observe(podChange("b", bound("n")))
	stored := 0
	w.fail = func(call string) (error, error) { // the state of seven minutes ago is stored, and the next is not
		if call == "segment" {
			stored++
		}
		return errorIf(call == "segment" && stored > 1), nil
	}
	head := w.manifest.HeadSeq
	for w.manifest.HeadSeq == head {
		w.pass(f, time.Second)
	}
	if late := w.manifest.HeartbeatAt - begun.Unix(); late > 60 {
		t.Errorf("its sign of life is %d s younger than the state", late)
	}
	w.fail = func(string) (error, error) { return nil, nil }
	w.pass(f, time.Minute)
	if age := w.now.Unix() - w.manifest.HeartbeatAt; age > 31 || len(w.published().Pods) != 2 {
		t.Errorf("afterwards: %d s old, %d pods", age, len(w.published().Pods))
	}
}

func TestALeaderThatLostItsLeaseStopsAndMayLeadAgain(t *testing.T) {
	w := newWorld(t)
	old, new := w.leader(Settings{}), w.publisher(Settings{})
	w.settle(old)
	new.assume()
	w.pass(new, time.Second)
	old.Observe(podChange("a", bound("n")))
	w.now = w.now.Add(6 * time.Second)
	if _, err := old.step(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Fatalf("publishing under an old epoch: got %v, want Conflict", err)
	}
	if w.manifest.Epoch != 2 || len(w.published().Pods) != 0 {
		t.Errorf("the deposed leader moved the pointer: %+v", w.manifest)
	}
	old.assume()
	w.pass(old, time.Second)
	if w.manifest.Epoch != 3 || len(w.published().Pods) != 1 {
		t.Errorf("leading again: pointer %+v", w.manifest)
	}
	w.now = w.now.Add(31 * time.Second)
	if _, err := new.step(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Errorf("beating under an old epoch: got %v, want Conflict", err)
	}
}

func TestAManifestThatWasDeletedIsWrittenAgain(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	w.manifest = nil
	w.pass(f, 31*time.Second)
	if w.manifest == nil || w.manifest.HeadSeq != f.head {
		t.Errorf("pointer %+v", w.manifest)
	}
}

func TestAnObjectThatCannotBeEncodedHoldsUpOnlyUntilItIsGone(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	w.settle(f)
	bad := strings.Repeat("x", 300)
	f.Observe(podChange(bad, bound("n")))
	f.Observe(podChange("a", unschedulable))
	w.pass(f, 20*time.Second)
	if len(w.published().Pods) != 0 {
		t.Fatal("what cannot be encoded was published")
	}
	f.Observe(wire.Change{Deleted: true, Pod: &model.Pod{Namespace: "default", Name: bad}})
	w.pass(f, 40*time.Second)
	if got := podsOf(w.published()); !slices.Equal(got, []string{"default/a@"}) || len(w.hints) == 0 {
		t.Errorf("published %q, %d hints", got, len(w.hints))
	}
}

func TestWhatIsObservedDoesNotShortenThePauseAfterAFailure(t *testing.T) {
	for _, down := range []string{"epoch", "base", "segment", "hint"} {
		t.Run(down, func(t *testing.T) {
			w := newWorld(t)
			fail := func(call string) (error, error) { return errorIf(call == down), nil }
			if down == "epoch" || down == "base" {
				w.fail = fail
			}
			f := w.leader(Settings{})
			if w.calls[down] == 0 {
				w.settle(f)
				w.fail = fail
			}
			for i := range 100 {
				f.Observe(podChange(fmt.Sprintf("p%d", i), unschedulable))
				w.step(f)
				w.now = w.now.Add(10 * ms)
			}
			if w.calls[down] > 2 {
				t.Errorf("%d calls within a second of failure", w.calls[down])
			}
		})
	}
}

// lose deletes the objects whose keys hold a word, and has functions say so of the manifest.
func (w *world) lose(word string) {
	for key := range w.objects {
		if strings.Contains(key, word) {
			delete(w.objects, key)
		}
	}
	w.torn, w.lost = true, true
}

// F4: a delta is gone, and a function has said so: the state is published whole with the next heartbeat, and costs no
// call but the two that publish it. Whoever says nothing causes nothing.
func TestF4WhatAFunctionFindsGoneIsPublishedAnew(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	f.Observe(nodeChange("mine", map[string]string{model.LabelNodePool: "default"}, true))
	w.settle(f)
	f.Observe(podChange("a", bound("mine")))
	w.settle(f)
	if w.manifest.HeadSeq == w.manifest.SnapshotSeq {
		t.Fatalf("there is no segment: %+v", w.manifest)
	}
	first := w.manifest.SnapshotKey
	w.pass(f, 5*time.Minute)
	if w.manifest.SnapshotKey != first {
		t.Fatalf("nobody said anything, and %s is published", w.manifest.SnapshotKey)
	}
	w.lose("/seg-")
	clear(w.calls)
	w.pass(f, 10*time.Second)
	if w.manifest.SnapshotKey == first || w.calls["base"] != 1 || w.calls["segment"] != 0 || w.calls["heartbeat"] != 1 || w.calls["pointer"] != 1 {
		t.Fatalf("%s is published, %v", w.manifest.SnapshotKey, w.calls)
	}
	if got := podsOf(w.published()); !slices.Equal(got, []string{"default/a@mine"}) {
		t.Errorf("published %q", got)
	}
	w.pass(f, 10*time.Minute)
	if w.calls["base"] != 1 {
		t.Errorf("%d bases", w.calls["base"])
	}
}

// F4: in a cluster that always changes the watcher sends no heartbeat, and hears it with the manifest's next move.
func TestF4WhatIsGoneIsHeardWithTheManifestToo(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	f.Observe(nodeChange("mine", map[string]string{model.LabelNodePool: "default"}, true))
	w.settle(f)
	first := w.manifest.SnapshotKey
	for i := range 20 {
		if i == 10 {
			clear(w.calls)
		}
		f.Observe(podChange(fmt.Sprintf("p%d", i), bound("mine")))
		w.pass(f, 3*time.Second)
	}
	if w.manifest.SnapshotKey != first || w.calls["heartbeat"] != 0 {
		t.Fatalf("%s is published, %v", w.manifest.SnapshotKey, w.calls)
	}
	w.lose("/seg-")
	for i := range 2 {
		f.Observe(podChange(fmt.Sprintf("q%d", i), bound("mine")))
		w.pass(f, 5*time.Second)
	}
	if w.manifest.SnapshotKey == first || w.calls["base"] != 1 || w.calls["heartbeat"] != 0 || len(w.published().Pods) < 21 {
		t.Errorf("%s is published, %v", w.manifest.SnapshotKey, w.calls)
	}
}

// F4: whoever says again and again that something is gone has at most one full snapshot a minute published.
func TestF4BasesThatOthersAskForAreAMinuteApart(t *testing.T) {
	w := newWorld(t)
	f := w.leader(Settings{})
	f.Observe(nodeChange("mine", map[string]string{model.LabelNodePool: "default"}, true))
	w.settle(f)
	for range 600 {
		w.lost = true
		w.pass(f, time.Second)
	}
	if n := w.calls["base"]; n < 9 || n > 11 {
		t.Errorf("%d bases in ten minutes", n)
	}
}

// F4: what was said of an earlier leader's snapshot is no news to the next one, who publishes everything anyway.
func TestF4ANewLeaderPublishesOneBase(t *testing.T) {
	w := newWorld(t)
	w.settle(w.leader(Settings{}))
	w.lost = true
	f := w.leader(Settings{})
	w.settle(f)
	w.pass(f, 5*time.Minute)
	if w.calls["base"] != 0 || w.manifest.Epoch != 2 || w.manifest.SnapshotSeq != 1 {
		t.Errorf("%v, %+v", w.calls, w.manifest)
	}
}
