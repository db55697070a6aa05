package interruption_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// burdened is a world of two nodes, one of which is to end: it has a pod of a Deployment with a budget, one with a volume, a
// daemon, and one that only the deadline moves.
func burdened(t *testing.T) (*world.World, model.Claim) {
	t.Helper()
	w := house(t, 2, world.Options{Fleet: world.FleetOptions{ShuttingDown: world.Span{Min: 12 * time.Second, Max: 12 * time.Second}}}, labeled)
	budget(w, "web", "1")
	claim := load(t, w).Claims[0]
	daemon := world.Shape(10, 1<<20)
	daemon.OwnerKind, daemon.GraceSeconds = "DaemonSet", 5
	w.Cluster.CreatePodOn("daemon", claim.NodeName, daemon)
	stays := world.Shape(10, 1<<20)
	stays.DoNotDisrupt, stays.GraceSeconds = "true", 10
	w.Cluster.CreatePodOn("stays", claim.NodeName, stays)
	stores := world.Shape(10, 1<<20)
	stores.GraceSeconds = 8
	w.Cluster.Store(stores)
	w.Cluster.CreatePodOn("stores", claim.NodeName, stores)
	w.Tick(15 * time.Second)
	return w, end(t, w, claim, model.EndedExpired, 50*time.Second)
}

// killable runs drains and looks as they are asked for, in processes that fault may say something about. It returns the
// effects of each drain run.
func killable(t *testing.T, w *world.World, d time.Duration, fault func(run int) world.Fault) [][]string {
	t.Helper()
	var processes []*world.Process
	for second := range int(d / time.Second) {
		var sum totals
		sum.receive(t, w, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
			p := w.Process(fault(len(processes)))
			*flow = *w.Ports(p, fmt.Sprintf("drain %d", len(processes))).Interruption(w.Clock.Now, interruption.Settings{Parallel: 1})
			processes = append(processes, p)
		})
		if second%60 == 30 {
			_, _ = w.Process(world.Fault{}).Collect(t.Context())
		}
		w.Tick(time.Second)
	}
	var effects [][]string
	for _, p := range processes {
		effects = append(effects, p.Effects())
	}
	return effects
}

// lawful fails where a drain broke one of its promises: nobody with a budget in the way was made to leave, nobody without
// grace, nothing ended while somebody was still there before the deadline.
func lawful(t *testing.T, w *world.World, claim model.Claim) {
	t.Helper()
	deadline := time.Unix(claim.Drain.DeadlineUnix, 0)
	for _, l := range leaves(w) {
		if l.grace < time.Second || l.verb == "delete" && l.at.Before(deadline.Add(-30*time.Second)) {
			t.Errorf("%+v, the deadline is %s", l, deadline)
		}
	}
	if at := terminated(w, claim.InstanceID); !at.IsZero() && at.Before(deadline) && !gone(w, "default/stays").Before(at) {
		t.Errorf("its machine was told to end at %s while a pod was there", at)
	}
}

// R72, C5, R70: a drain run that dies, fails or does not hear the answer at any of its effects is taken up where it was, by
// whoever comes next: the end is the same, and nothing is done that must not be.
func TestR72_EveryEffectOfADrainMayGoWrong(t *testing.T) {
	calm, claim := burdened(t)
	effects := killable(t, calm, 3*time.Minute, func(int) world.Fault { return world.Fault{} })
	ended(t, calm, claim)
	lawful(t, calm, claim)
	tried := map[string]int{}
	for run, names := range effects {
		for i, effect := range names {
			if tried[effect]++; tried[effect] > 12 {
				continue // in a later step it means nothing new
			}
			for _, mode := range world.Modes {
				w, claim := burdened(t)
				killable(t, w, 6*time.Minute, func(n int) world.Fault {
					if n != run {
						return world.Fault{}
					}
					return world.Fault{At: i + 1, Mode: mode}
				})
				ended(t, w, claim)
				lawful(t, w, claim)
				if t.Failed() {
					t.Fatalf("run %d, effect %d: %s %s", run+1, i+1, effect, mode)
				}
			}
		}
	}
	for _, effect := range []string{"hold", "advance", "showend", "remove", "evict", "delete", "tell", "terminate", "free", "close", "drain", "release"} {
		if tried[effect] == 0 {
			t.Errorf("the runs never came to %q: %v", effect, effects)
		}
	}
}

// R72: a drain that a budget holds up for six hours lives through a thousand kills at random effects, and ends within a minute
// or two of being let.
func TestR72_SixHourDrainSurvivesAThousandKills(t *testing.T) {
	w := house(t, 2, world.Options{}, labeled)
	budget(w, "web-all", "0")
	claim := load(t, w).Claims[0]
	end(t, w, claim, model.EndedExpired, 0)
	random := rand.New(rand.NewPCG(7, 72))
	kills := 0
	for halves := 0; kills < 1000 || halves < 12; halves++ {
		var at []int
		effects := killable(t, w, 30*time.Minute, func(int) world.Fault {
			at = append(at, 1+random.IntN(5))
			return world.Fault{At: at[len(at)-1], Mode: world.Modes[random.IntN(2)]} // dies before, dies after
		})
		for i := range effects {
			if len(effects[i]) >= at[i] {
				kills++
			}
		}
		if len(leaves(w)) > 0 || claimOf(t, w, claim.Name).State != model.Draining || len(w.Cluster.Nodes()) != 2 {
			t.Fatalf("after %d half hours: %+v\n%s", halves+1, leaves(w), claimsText(t, w))
		}
	}
	budget(w, "web-all", "1")
	killable(t, w, 6*time.Minute, func(int) world.Fault { return world.Fault{} })
	ended(t, w, claim)
	settle(t, w)
	sound(t, w)
	t.Logf("%d processes were killed", kills)
}

// C6: two drain runs at once, of which neither knows of the other, do no more than one.
func TestC6_TwoDrainRunsAtOnce(t *testing.T) {
	for at := range 40 {
		w, claim := burdened(t)
		n := 0
		killable(t, w, 4*time.Minute, func(int) world.Fault { return world.Fault{} })
		ended(t, w, claim)
		w, claim = burdened(t)
		var inside bool
		playWith(t, w, 4*time.Minute, func(_ context.Context, _ *world.Process, flow *interruption.Flow) {
			// One call after another: the model's calls take no time, and the clock must not be moved in the middle of one.
			flow.Parallel = work.Sequential
			flow.Effects = everyEffect{func() {
				if n++; n != at+3 || inside {
					return
				}
				inside = true
				// The first is frozen here for longer than its lease, and another does all there is to do.
				w.Clock.Advance(40 * time.Second)
				w.Run()
				_, _ = drainOnce(t, w, w.Process(world.Fault{}))
			}}
		})
		ended(t, w, claim)
		lawful(t, w, claim)
		if t.Failed() {
			t.Fatalf("frozen at effect %d", at+3)
		}
	}
}

type everyEffect struct{ do func() }

func (e everyEffect) Before(context.Context, string) error {
	e.do()
	return nil
}

func (e everyEffect) After(context.Context, string) {}
