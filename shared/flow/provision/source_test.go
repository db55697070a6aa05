package provision_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

func TestSnapshotIsReadWhileTheWatcherIsHeardAndListedOtherwise(t *testing.T) {
	cases := []struct {
		name       string
		silence    time.Duration
		epoch, seq int64
		lost       bool
		want       string
	}{
		{name: "a hint that speaks of the snapshot", epoch: 3, seq: 7, want: "snapshot"},
		{name: "a sweep", want: "snapshot"},
		{name: "a hint of an older one", epoch: 2, seq: 90, want: "snapshot"},
		{name: "a hint of a newer one", epoch: 3, seq: 8, want: "list"},
		{name: "a hint of a newer epoch", epoch: 4, seq: 1, want: "list"},
		{name: "a watcher silent for less than the limit", silence: 45 * time.Second, want: "snapshot"},
		{name: "a silent watcher", silence: 46 * time.Second, want: "list"},
		{name: "a snapshot that is lost", epoch: 3, seq: 7, lost: true, want: "list"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			w := start(t, world.Options{})
			if err := w.Publish(t.Context(), 3, 7); err != nil {
				t.Fatal(err)
			}
			if c.lost {
				w.Store.Lose()
			}
			w.Clock.Advance(c.silence)
			outcome, err := w.Process(world.Fault{}).RunRequest(t.Context(), provision.Request{Trigger: provision.TriggerBatch, Epoch: c.epoch, Seq: c.seq})
			if err != nil || outcome.Source != c.want || (len(outcome.Problems) > 0) != c.lost {
				t.Errorf("%+v, %v; want source %s", outcome, err, c.want)
			}
		})
	}
}

// M115: a cluster at zero nodes has no watcher: the resync lists, and the first node comes.
func TestFirstNodeComesWithoutAWatcher(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "watcher", 1, world.Shape(100, gib/8))
	outcome := pass(t, w, provision.TriggerResync)
	if outcome.Source != "list" || outcome.Claims != 1 {
		t.Fatalf("%+v", outcome)
	}
	settle(t, w)
	sound(t, w)
}

// An old snapshot still shows pods as pending that have instances by now: the ledger knows better.
func TestOldSnapshotDoesNotLaunchTwice(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 3, world.Shape(900, 2*gib))
	if err := w.Publish(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	first := pass(t, w, provision.TriggerBatch)
	for range 4 {
		w.Tick(10 * time.Second)
		if _, err := w.Ledger.Heartbeat(t.Context(), world.Name, 1, w.Clock.Now().Unix()); err != nil {
			t.Fatal(err)
		}
		if again := pass(t, w, provision.TriggerResync); again.Source != "snapshot" || again.Claims != 0 {
			t.Fatalf("%+v", again)
		}
	}
	if n := len(w.Fleet.Instances()); n != first.Claims {
		t.Errorf("%d machines, want %d", n, first.Claims)
	}
}

// A hint that outlived its cluster must not come back again and again.
func TestClusterThatIsNotAttachedIsSkipped(t *testing.T) {
	w := start(t, world.Options{})
	outcome, err := w.Process(world.Fault{}).Flow().Run(t.Context(), provision.Request{Cluster: "nobody", Owner: "x", Deadline: w.Clock.Now()})
	if err != nil || outcome.Skipped == "" {
		t.Errorf("%+v, %v", outcome, err)
	}
}

func TestNothingToDoIsNotDecidedAndNotTold(t *testing.T) {
	w := start(t, world.Options{})
	pass(t, w, provision.TriggerConfig)
	if err := w.Publish(t.Context(), 1, 1); err != nil {
		t.Fatal(err)
	}
	process := w.Process(world.Fault{})
	outcome, err := process.Run(t.Context(), provision.TriggerResync)
	if err != nil || outcome.Decision != "" || outcome.Rounds != 0 {
		t.Errorf("%+v, %v", outcome, err)
	}
	if effects := process.Effects(); !slices.Equal(effects, []string{"acquire", "release"}) {
		t.Errorf("effects %v, want the lease's only", effects)
	}
}

// recorder is an Effects that writes down what it sees.
type recorder struct {
	mutex         sync.Mutex
	before, after []string
	refuse        string
}

func (r *recorder) Before(_ context.Context, effect string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.before = append(r.before, effect)
	if effect == r.refuse {
		return fault.New(fault.Internal, "Refused", "the test refuses %s", effect)
	}
	return nil
}

func (r *recorder) After(_ context.Context, effect string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.after = append(r.after, effect)
}

func TestEffectsSeesEveryEffectAndMayStopIt(t *testing.T) {
	w := mixed(t)
	seen := &recorder{}
	launches := func(refuse string) provision.Outcome {
		flow := w.Process(world.Fault{}).Flow()
		seen = &recorder{refuse: refuse}
		flow.Effects = seen
		outcome, _ := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: refuse + "!", Deadline: w.Clock.Now().Add(world.InvocationTimeout)})
		return outcome
	}
	if outcome := launches(provision.EffectRecord); outcome.Claims != 0 || len(load(t, w).Claims) != 0 || slices.Contains(seen.after, provision.EffectRecord) {
		t.Fatalf("%+v; after: %v", outcome, seen.after)
	}
	launches("")
	for _, effect := range []string{
		provision.EffectRecord, provision.EffectLaunch, provision.EffectUnavailable, provision.EffectSettle, provision.EffectPutClaim, provision.EffectNote,
		provision.EffectDecision, provision.EffectReport,
	} {
		if !slices.Contains(seen.before, effect) || !slices.Contains(seen.after, effect) {
			t.Errorf("%s was not seen: before %v, after %v", effect, seen.before, seen.after)
		}
	}
	for _, effect := range seen.before {
		if !slices.Contains(provision.AllEffects, effect) {
			t.Errorf("%s is not among AllEffects", effect)
		}
	}
}

// F4: a run that finds an object of the snapshot gone lists instead, and says so once for a manifest; the watcher hears it with its next
// heartbeat. What is there and cannot be read it does not say.
func TestF4WhoFindsASnapshotGoneSaysSoOnce(t *testing.T) {
	w := start(t, world.Options{})
	if err := w.Publish(t.Context(), 3, 7); err != nil {
		t.Fatal(err)
	}
	heard := func() bool {
		lost, err := w.Ledger.Heartbeat(t.Context(), world.Name, 3, w.Clock.Now().Unix())
		if err != nil {
			t.Fatal(err)
		}
		return lost
	}
	said := func() (n int) {
		process := w.Process(world.Fault{})
		if outcome, err := process.Run(t.Context(), provision.TriggerResync); err != nil || outcome.Source != "list" || len(outcome.Problems) != 1 {
			t.Fatalf("%+v, %v", outcome, err)
		}
		for _, effect := range process.Effects() {
			if effect == "lost" {
				n++
			}
		}
		return n
	}
	w.Store.Unreachable(w.Clock.Now().Add(time.Second))
	if n := said(); n != 0 || heard() {
		t.Errorf("of a store that does not answer it was said %d times", n)
	}
	w.Clock.Advance(2 * time.Second)
	w.Store.Lose()
	if n := said(); n != 1 || !heard() {
		t.Errorf("said %d times", n)
	}
	if n := said(); n != 0 || !heard() {
		t.Errorf("said %d times once it was known", n)
	}
	if err := w.Publish(t.Context(), 3, 8); err != nil || heard() {
		t.Errorf("of the new base: %v", err)
	}
	if outcome := pass(t, w, provision.TriggerResync); outcome.Source != "snapshot" {
		t.Errorf("%+v", outcome)
	}
}

// lied is a ledger whose watcher wrote a manifest that is not to be believed.
type lied struct{ provision.Claims }

func (l lied) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	ledger, err := l.Claims.Load(ctx, reg)
	ledger.Manifest, ledger.ManifestFault = nil, "the snapshot pointer names the cluster victim"
	return ledger, err
}

// W4: where the watcher's manifest is not believed the cluster is listed, as where there is no watcher, and the outcome says why. What the manifest
// names is not read.
func TestW4AClusterWhoseManifestIsNotBelievedIsListed(t *testing.T) {
	w := start(t, world.Options{})
	if err := w.Publish(t.Context(), 3, 7); err != nil {
		t.Fatal(err)
	}
	pending(w, "web", 1, world.Shape(100, gib/8)) // after what the manifest names
	flow := w.Process(world.Fault{}).Flow()
	flow.Claims = lied{flow.Claims}
	outcome, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Owner: "a", Trigger: provision.TriggerResync, Deadline: w.Clock.Now().Add(30 * time.Second)})
	if err != nil || outcome.Source != "list" || outcome.Pending != 1 || outcome.Claims != 1 || !strings.Contains(strings.Join(outcome.Problems, "; "), "names the cluster victim") {
		t.Errorf("%+v, %v", outcome, err)
	}
}
