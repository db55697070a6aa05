package drain_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/model"
)

// tierOf is a second opinion on tiers.
func tierOf(p *model.Occupant) int {
	return map[[2]bool]int{{false, false}: 0, {false, true}: 1, {true, false}: 2, {true, true}: 3}[[2]bool{p.PriorityClass != "", p.OwnerKind == "DaemonSet"}]
}

// binding reports whether a pod has to be waited for, as a second opinion, by the API server's clock.
func (w *world) binding(p *model.Occupant) bool {
	return p.Phase != model.Succeeded && p.Phase != model.Failed && !p.Static && len(p.Tolerations) == 0 &&
		(p.DeletedUnix == 0 || w.now+w.skew-p.DeletedUnix <= 60)
}

// evaluate checks a step against what may never be.
func (w *world) evaluate(t *rapid.T, step drain.Step) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Fatalf("at %d: %s\nstep %+v\nlog %v", w.now-start, fmt.Sprintf(format, args...), step, w.log)
	}
	deadline := step.Drain.DeadlineUnix
	due := deadline != 0 && w.now >= deadline
	if was := w.claim.Drain.DeadlineUnix; was != 0 && (deadline == 0 || deadline > was) {
		fail("the deadline went from %d to %d", was, deadline)
	}
	if len(step.Evictions) > 0 && step.Kind != drain.Evict || step.Kind == drain.Evict && len(step.Evictions) == 0 {
		fail("evictions do not go with the step")
	}
	for _, e := range step.Evictions {
		i := slices.IndexFunc(w.pods, func(p *model.Occupant) bool { return p.UID == e.Pod.UID })
		if i < 0 {
			fail("evicts %s, which is not there", e.Pod.Key())
		}
		p := w.pods[i]
		switch {
		case !w.binding(p):
			fail("evicts %s, which nobody waits for", p.Name)
		case e.Force && (deadline == 0 || w.now < deadline-p.GraceSeconds || e.GraceSeconds < 1 || w.now+e.GraceSeconds > max(deadline, w.now+1)):
			fail("B1: deletes %s with %d s of its %d, %d s before the deadline", p.Name, e.GraceSeconds, p.GraceSeconds, deadline-w.now)
		case e.Force:
		case p.DeletedUnix != 0:
			fail("evicts %s, which is leaving", p.Name)
		case model.ReadDoNotDisrupt(p.DoNotDisrupt, p.StartedUnix).Active(w.now + w.skew):
			fail("B2: evicts %s, which must not be disrupted", p.Name)
		case slices.ContainsFunc(w.pods, func(q *model.Occupant) bool { return w.binding(q) && tierOf(q) < tierOf(p) }) && !due:
			fail("B14: evicts %s of tier %d before its turn", p.Name, tierOf(p))
		}
	}
	if step.Kind == drain.Terminate && w.claim.State == model.Draining && !due {
		if i := slices.IndexFunc(w.pods, w.binding); i >= 0 {
			fail("terminates while %s is there", w.pods[i].Name)
		}
		for _, v := range w.volumes {
			held := slices.ContainsFunc(w.pods, func(p *model.Occupant) bool { return slices.Contains(p.Volumes, v.Volume) }) // by a pod that got stuck
			if !held && w.now-step.Drain.EmptyUnix < 600 {
				fail("B13: terminates while %s is attached", v.Volume)
			}
		}
		if w.now-step.Drain.EmptyUnix < 5 {
			fail("terminates before it has settled")
		}
	}
	if step.DueUnix != 0 && step.DueUnix <= w.now || step.DueUnix > w.now+30 && step.Kind != drain.Done {
		fail("looks again at %d", step.DueUnix-w.now)
	}
	if step.Kind == drain.Wait && (step.DueUnix == 0 || len(step.Obstacles) == 0) {
		fail("waits without saying for what or until when")
	}
	if len(step.Drain.Waits) > model.MaxDrainWaits {
		fail("%d waits", len(step.Drain.Waits))
	}
}

// A drain played with refused evictions, late pods, slow volumes, clocks that disagree, and a function that dies between record and
// act: nothing that may never be is, and it ends by its deadline, or once nothing forbids it.
func TestPropertyDrainsAreSafeAndEnd(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		w.skew = rapid.Int64Range(-300, 300).Draw(r, "skew")
		w.detach = rapid.SampledFrom([]int64{0, 5, 90}).Draw(r, "detach")
		w.silent = rapid.IntRange(0, 9).Draw(r, "silent") == 0
		w.mute = rapid.IntRange(0, 9).Draw(r, "mute") == 0
		w.replaced = rapid.Bool().Draw(r, "replaced")
		w.settings.MaxEvictions = rapid.SampledFrom([]int{0, 1, 3}).Draw(r, "most")
		names := 0
		add := func() {
			names++
			p := w.pod(fmt.Sprintf("p%d", names), grace(rapid.SampledFrom([]int64{0, 1, 30, 120, 900}).Draw(r, "grace")))
			p.StartedUnix = w.now + w.skew
			switch rapid.IntRange(0, 7).Draw(r, "kind") {
			case 0:
				daemon(p)
			case 1:
				critical(p)
			case 2:
				critical(p)
				daemon(p)
			case 3:
				p.DoNotDisrupt = rapid.SampledFrom([]string{"true", "2m", "junk"}).Draw(r, "shield")
			case 4:
				w.budget[p.Name] = rapid.SampledFrom([]string{drain.CodeDisruptionBudget, drain.CodeTooManyBudgets}).Draw(r, "budget")
			case 5:
				p.Volumes = []string{"pv-" + p.Name}
				w.attach("pv-" + p.Name)
			case 6:
				p.Tolerations = []model.Toleration{{Operator: "Exists"}}
			case 7:
				w.stubborn[p.Name] = rapid.SampledFrom([]int64{20, 500}).Draw(r, "stubborn")
			}
		}
		for range rapid.IntRange(0, 6).Draw(r, "pods") {
			add()
		}
		var deadline int64
		if rapid.Bool().Draw(r, "bounded") {
			deadline = w.now + rapid.SampledFrom([]int64{-600, 0, 1, 115, 600, 3600}).Draw(r, "deadline")
			w.claim.Drain.DeadlineUnix = deadline
		}
		free := w.now + rapid.Int64Range(0, 4000).Draw(r, "free") // from then on nothing forbids anything, and nobody dies
		for w.claim.State != model.Gone {
			if w.now >= free {
				w.budget = map[string]string{}
				for _, p := range w.pods {
					p.DoNotDisrupt = ""
				}
			}
			step := w.next()
			w.evaluate(r, step)
			again := w.next()
			if !reflect.DeepEqual(step, again) {
				r.Fatalf("%+v, then %+v", step, again)
			}
			death := 0
			if w.now < free {
				death = rapid.IntRange(0, 9).Draw(r, "death")
			}
			if death != 1 { // dies before anything is written
				w.record(step)
				if death != 2 { // dies between record and act
					w.act(step)
				}
			}
			if w.claim.State == model.Draining && deadline != 0 && w.now > max(deadline, free)+85 {
				r.Fatalf("it does not end by its deadline: %v %v", w.claim.Drain.Waits, w.log)
			}
			if w.now > max(free, deadline)+4000 {
				r.Fatalf("it does not end: %v %v", w.claim.Drain.Waits, w.log)
			}
			if w.now < free && names < 9 && rapid.IntRange(0, 20).Draw(r, "late") == 0 {
				add()
			}
			w.pass(max(1, step.DueUnix-w.now))
			if rapid.IntRange(0, 30).Draw(r, "pause") == 0 && w.now < free {
				w.pass(min(rapid.Int64Range(1, 300).Draw(r, "paused"), free-w.now)) // a message is lost
			}
		}
		if len(w.pods) > 0 && w.instance.State != "terminated" {
			r.Fatalf("done with a machine that is %s", w.instance.State)
		}
	})
}

// R72: a drain of six hours whose function dies at random a thousand times ends, and does everything in order.
func TestR72SixHoursAndAThousandDeaths(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		w := newWorld(t)
		w.pod("long", grace(6*3600))
		w.pod("critical", critical)
		deaths := 0
		for w.claim.State != model.Gone {
			step := w.next()
			w.evaluate(r, step)
			if deaths < 1000 && rapid.IntRange(0, 2).Draw(r, "death") > 0 {
				deaths++
				if rapid.Bool().Draw(r, "recorded") {
					w.record(step)
				}
				w.pass(rapid.Int64Range(1, 60).Draw(r, "pause"))
				continue
			}
			w.record(step)
			w.act(step)
			w.pass(max(1, step.DueUnix-w.now))
			if w.now > start+40*3600 {
				r.Fatalf("it does not end: %v", w.log)
			}
		}
		if end := w.when("terminate"); end < 6*3600 || end < w.when("evict critical")+30 {
			r.Fatalf("%v", w.log)
		}
	})
}

// FuzzNext feeds Next with whatever a view may look like: it does not panic, does not loop, and never breaks B1.
func FuzzNext(f *testing.F) {
	w := newWorld(nil)
	w.pod("a", shield("5m"), volume("pv"))
	w.attach("pv")
	w.claim.Drain.Refused = []model.Refusal{{UID: "u-a", Tries: -1, FirstUnix: -5, NextUnix: 1 << 62}}
	seed, _ := json.Marshal(w.view())
	f.Add(seed)
	f.Add([]byte(`{"Claim":{"state":"Draining","instanceId":"i","drain":{"since":-9223372036854775808,"deadline":9223372036854775807}},"NowUnix":-9223372036854775808,
		"Node":{"ReadUnix":9223372036854775807,"Node":{"name":"n","readySince":-1,"taints":[{"key":"karpenter.sh/disrupted","effect":"NoSchedule"}],"labels":{"node.kubernetes.io/exclude-from-external-load-balancers":""}},
		"Pods":[{"uid":"a","GraceSeconds":9223372036854775807,"DeletedUnix":-9223372036854775808},{"uid":"b","GraceSeconds":-9223372036854775808,"StartedUnix":9223372036854775807,"DoNotDisrupt":"2562047h47m16.854775807s"},{"uid":""}]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var view drain.View
		if json.Unmarshal(data, &view) != nil {
			return
		}
		step := drain.Next(view, drain.Settings{})
		if again := drain.Next(view, drain.Settings{}); !reflect.DeepEqual(step, again) {
			t.Fatalf("%+v, then %+v", step, again)
		}
		if step.Kind == "" || step.Kind == drain.Wait && step.DueUnix == 0 || len(step.Evictions) > 100 {
			t.Fatalf("%+v", step)
		}
		if now := max(0, min(view.NowUnix, 1<<40)); step.DueUnix != 0 && (step.DueUnix <= now || step.DueUnix > now+1<<41) {
			t.Fatalf("at %d again at %d", now, step.DueUnix)
		}
		for _, e := range step.Evictions {
			if e.Pod.UID == "" || e.Force && (e.GraceSeconds < 1 || step.Drain.DeadlineUnix == 0) {
				t.Fatalf("%+v", e)
			}
		}
		if len(step.Drain.Waits) > model.MaxDrainWaits {
			t.Fatalf("%d waits", len(step.Drain.Waits))
		}
	})
}
