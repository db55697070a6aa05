package drain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/model"
)

func (w *world) wantDone() {
	w.t.Helper()
	if w.claim.State != model.Gone {
		w.t.Fatalf("the drain does not end: %s, pods %d, waits %q, log %q", w.claim.State, len(w.pods), w.claim.Drain.Waits, w.log)
	}
}

func (w *world) want(lines ...string) {
	w.t.Helper()
	if got := strings.Join(w.log, "\n"); got != strings.Join(lines, "\n") {
		w.t.Fatalf("done:\n%s\n\nwant:\n%s", got, strings.Join(lines, "\n"))
	}
}

// The plain walk: taint, evict, settle, terminate, done.
func TestADrainFromTaintToDone(t *testing.T) {
	w := newWorld(t)
	w.pod("a")
	w.pod("b", grace(0))
	w.run(600)
	w.want("0 cordon", "0 evict a", "0 evict b", "35 terminate", "95 done")
	d := w.claim.Drain
	if d.CordonUnix != start || d.TaintedUnix != start || d.EmptyUnix != start+30 || d.DetachedUnix != start+30 || d.EndUnix != start+35 {
		t.Errorf("record %+v", *d)
	}
}

// F109: the taint and the label are there before anything else happens, and are put back where somebody takes them off.
func TestF109TaintAndBalancersComeFirst(t *testing.T) {
	w := newWorld(t)
	w.pod("a")
	for name, change := range map[string]func(n *model.Node){
		"nothing":        func(n *model.Node) {},
		"the label only": func(n *model.Node) { n.Labels[model.LabelExcludeBalancers] = "karpenter" },
		"the taint only": func(n *model.Node) {
			n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}
		},
		"another effect": func(n *model.Node) {
			n.Labels[model.LabelExcludeBalancers] = "mine"
			n.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoExecute}}
		},
	} {
		node := model.Node{Name: "node-1", Ready: true, Labels: map[string]string{}}
		change(&node)
		w.node = &node
		if step := w.next(); step.Kind != drain.Cordon || len(step.Evictions) > 0 {
			t.Errorf("with %s: %+v", name, step)
		}
	}
	w.node.Labels[model.LabelExcludeBalancers] = "people's own value"
	w.node.Taints = []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule, Value: "x"}}
	if step := w.next(); step.Kind != drain.Evict {
		t.Errorf("with both: %+v", step)
	}
}

// A node that cannot be tainted is asked again and again; only a deadline has it emptied all the same.
func TestANodeThatCannotBeTainted(t *testing.T) {
	w := newWorld(t)
	w.pod("a")
	var kinds []drain.Kind
	for range 20 {
		step := w.next()
		w.record(step)
		kinds = append(kinds, step.Kind)
		w.pass(max(1, step.DueUnix-w.now))
	}
	if slices.ContainsFunc(kinds, func(k drain.Kind) bool { return k != drain.Cordon }) {
		t.Errorf("without a deadline: %v", kinds)
	}
	w.claim.Drain = &model.Drain{SinceUnix: w.now, DeadlineUnix: w.now + 115}
	for w.claim.State == model.Draining && w.now < start+2000 {
		step := w.next()
		w.record(step)
		if step.Kind != drain.Cordon {
			w.act(step)
		}
		w.pass(max(1, step.DueUnix-w.now))
	}
	if w.claim.State != model.Terminating || len(w.pods) > 0 {
		t.Errorf("with a deadline: %s, log %v", w.claim.State, w.log)
	}
}

// F110: a pod whose budget forbids its eviction stays, is asked again, and goes when the budget allows it.
func TestF110ABlockingBudgetStallsTheDrain(t *testing.T) {
	w := newWorld(t)
	w.pod("a")
	w.budget["a"] = drain.CodeDisruptionBudget
	w.run(3600)
	if w.claim.State != model.Draining || len(w.pods) != 1 {
		t.Fatalf("%s with %d pods", w.claim.State, len(w.pods))
	}
	step := w.next()
	if got := codes(step); step.Kind == drain.Wait && got["a"] != drain.CodeDisruptionBudget {
		t.Errorf("obstacles %v", got)
	}
	delete(w.budget, "a")
	w.run(300)
	w.wantDone()
}

// F111, R34, B14: four tiers, each when the one before is empty.
func TestF111CriticalDaemonsLeaveLast(t *testing.T) {
	w := newWorld(t)
	w.pod("d-critical-daemon", critical, daemon, grace(5))
	w.pod("c-critical", func(p *model.Occupant) { p.PriorityClass = "system-node-critical" }, grace(5))
	w.pod("b-daemon", daemon, grace(5))
	w.pod("a", grace(5))
	w.run(600)
	w.want("0 cordon", "0 evict a", "5 evict b-daemon", "10 evict c-critical", "15 evict d-critical-daemon", "25 terminate", "85 done")
}

// F112: a pod with do-not-disrupt is not evicted before the deadline presses it; a duration counts from its start.
func TestF112DoNotDisruptUntilTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.pod("a", shield("true"))
	w.run(7200)
	if len(w.evicted) > 0 {
		t.Fatalf("evicted without a deadline: %v", w.log)
	}
	if step := w.next(); codes(step)["a"] != drain.CodeDoNotDisrupt {
		t.Errorf("obstacles %v", codes(step))
	}

	w = newWorld(t)
	w.deadline(600)
	w.pod("a", shield("true"))
	w.run(1200)
	w.wantDone()
	if at := w.when("delete a 30"); at != 570 {
		t.Errorf("deleted at %d: %v", at, w.log)
	}
}

func TestF143DurationsOfDoNotDisrupt(t *testing.T) {
	for value, want := range map[string]int64{"30m": 1200, "10m1s": 1, "600s": 0, "5m": 0, "-5m": 0, "0s": 0, "soon": 0, "True": 0, "1.5h": 4800, "600500ms": 1} {
		w := newWorld(t)
		w.pod("a", shield(value)) // it started 600 s ago
		w.run(9000)
		w.wantDone()
		if at := w.when("evict a"); at != want {
			t.Errorf("with %q evicted at %d, want %d", value, at, want)
		}
	}
}

// F113, R25: at the deadline all pods are gone, whatever forbids it, and the instance ends.
func TestF113AtTheDeadlineAllIsGone(t *testing.T) {
	w := newWorld(t)
	w.deadline(600)
	w.pod("budget")
	w.budget["budget"] = drain.CodeDisruptionBudget
	w.pod("shielded", shield("true"))
	w.pod("critical-daemon", critical, daemon)
	w.run(1200)
	w.wantDone()
	for _, pod := range []string{"budget", "shielded", "critical-daemon"} {
		if at := w.when("delete " + pod + " 30"); at != 570 {
			t.Errorf("%s was deleted at %d: %v", pod, at, w.log)
		}
	}
	if at := w.when("terminate"); at < 600 || at > 602 {
		t.Errorf("terminated at %d", at)
	}
}

func TestR25ABlockingBudgetDoesNotSurviveTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.deadline(120)
	w.pod("a", grace(10))
	w.budget["a"] = drain.CodeTooManyBudgets
	w.run(300)
	w.wantDone()
	if at := w.when("terminate"); at < 110 || at > 122 {
		t.Errorf("terminated at %d: %v", at, w.log)
	}
}

// F114: a pod with 300 s of grace and an hour until the deadline is deleted at minute 55, not before and not after.
func TestF114PodsAreDeletedTheirGraceBeforeTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.deadline(3600)
	w.pod("a", grace(300))
	w.budget["a"] = drain.CodeDisruptionBudget
	w.run(5000)
	w.wantDone()
	if at := w.when("delete a 300"); at != 3300 {
		t.Errorf("deleted at %d: %v", at, w.log)
	}
}

// F115, S15: a pod with more grace than there is until the deadline is deleted at once, with what there is.
func TestF115OverlongGraceIsCutToTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.deadline(600)
	w.pod("a", grace(86_400))
	w.run(1200)
	w.wantDone()
	if at := w.when("delete a 600"); at != 0 {
		t.Errorf("%v", w.log)
	}
	if at := w.when("terminate"); at > 606 {
		t.Errorf("terminated at %d", at)
	}
}

func TestS15APodThatIsEndingWithADaysGraceIsCutToo(t *testing.T) {
	w := newWorld(t)
	w.deadline(600)
	p := w.pod("a", grace(86_400))
	p.DeletedUnix = w.now + 80_000 // somebody deleted it before
	w.run(1200)
	w.wantDone()
	if at := w.when("delete a 600"); at != 0 {
		t.Errorf("%v", w.log)
	}

	// Where its own grace is short and somebody gave it a long one, it keeps that until its own would do.
	w = newWorld(t)
	w.deadline(600)
	p = w.pod("a", grace(30))
	p.DeletedUnix = w.now + 80_000
	w.run(1200)
	w.wantDone()
	if at := w.when("delete a 30"); at != 570 {
		t.Errorf("%v", w.log)
	}
}

// S14, R33: a deadline long past never makes a grace of less than a second.
func TestS14AGraceIsNeverBelowOneSecond(t *testing.T) {
	for _, seconds := range []int64{-3600, -1, 0, 1} {
		for _, own := range []int64{0, 1, 30, 86_400, -5} {
			w := newWorld(t)
			w.deadline(seconds)
			w.pod("a", grace(own))
			w.run(600)
			w.wantDone()
			for _, e := range w.evicted {
				if e.Force && e.GraceSeconds < 1 {
					t.Errorf("deadline in %d s, own grace %d: %+v", seconds, own, e)
				}
			}
			if at := w.when("terminate"); at > 5 {
				t.Errorf("deadline in %d s, own grace %d: terminated at %d: %v", seconds, own, at, w.log)
			}
		}
	}
}

func TestR33ARepairThatStartsLateForcesNothingBelowZero(t *testing.T) {
	w := newWorld(t)
	w.claim.Drain.DeadlineUnix = -1
	w.pod("a")
	w.run(100)
	w.wantDone()
	if w.evicted[0].GraceSeconds != 1 || !w.evicted[0].Force {
		t.Errorf("%+v", w.evicted)
	}
}

// F117: pods that tolerate the taint, that the kubelet runs by itself, or that have ended, delay nothing and are left alone.
func TestF117PodsNobodyWaitsFor(t *testing.T) {
	w := newWorld(t)
	tolerating := func(tolerations ...model.Toleration) func(*model.Occupant) {
		return func(p *model.Occupant) { p.Tolerations = tolerations }
	}
	w.pod("everything", tolerating(model.Toleration{Operator: "Exists"}))
	w.pod("key", tolerating(model.Toleration{Key: model.TaintDisrupted, Operator: "Exists"}))
	w.pod("equal", tolerating(model.Toleration{Key: model.TaintDisrupted, Effect: model.NoSchedule}))
	w.pod("static", func(p *model.Occupant) { p.Static = true })
	w.pod("mirror", func(p *model.Occupant) { p.OwnerKind = "Node" })
	w.pod("done", func(p *model.Occupant) { p.Phase = model.Succeeded })
	w.pod("failed", func(p *model.Occupant) { p.Phase = model.Failed })
	w.run(300)
	w.want("0 cordon", "5 terminate", "65 done")

	w = newWorld(t)
	w.pod("value", tolerating(model.Toleration{Key: model.TaintDisrupted, Value: "x"}))
	w.pod("effect", tolerating(model.Toleration{Key: model.TaintDisrupted, Operator: "Exists", Effect: model.NoExecute}))
	w.pod("other", tolerating(model.Toleration{Key: "other", Operator: "Exists"}))
	w.pod("number", tolerating(model.Toleration{Key: model.TaintDisrupted, Operator: "Gt", Value: "1"}))
	w.pod("keyless", tolerating(model.Toleration{Operator: "Equal"}))
	w.run(300)
	w.wantDone()
	if len(w.evicted) != 5 {
		t.Errorf("evicted %v", w.log)
	}
}

// A pod whose kubelet does not say that it has ended is not waited for longer than a minute after its grace.
func TestStuckPodsAreWaitedForAMinute(t *testing.T) {
	w := newWorld(t)
	w.silent = true
	w.pod("a")
	w.run(600)
	w.wantDone()
	if at := w.when("terminate"); at != 96 { // 30 of grace, 60, and then it has settled for 5
		t.Errorf("terminated at %d: %v", at, w.log)
	}
}

// C12: the API server's clock may be five minutes off the ledger's: no grace is cut short by that and no shield ends early.
func TestClocksThatDisagreeCutNoGraceShort(t *testing.T) {
	for _, skew := range []int64{-300, 300} {
		w := newWorld(t)
		w.skew = skew
		w.pod("a", grace(120))
		w.pod("b", shield("20m"))
		w.run(3600)
		w.wantDone()
		if at := w.when("evict b"); at != 600 {
			t.Errorf("skew %d: b was evicted at %d", skew, at)
		}
		if at := w.when("terminate"); at != 635 {
			t.Errorf("skew %d: terminated at %d: %v", skew, at, w.log)
		}

		w = newWorld(t)
		w.skew = skew
		w.deadline(600)
		w.pod("a", grace(86_400))
		w.run(1200)
		w.wantDone()
		if len(w.evicted) != 1 || w.evicted[0].GraceSeconds != 600 {
			t.Errorf("skew %d: %v", skew, w.log)
		}
	}
}

// F116, S33, R31, B13: the instance outlives its volumes' detachment, but neither for ever nor beyond the deadline.
func TestF116TheInstanceOutlivesItsVolumes(t *testing.T) {
	w := newWorld(t)
	w.detach = 120
	w.pod("a", grace(10), volume("pv-1"))
	w.attach("pv-1")
	w.run(600)
	w.wantDone()
	if at := w.when("terminate"); at < 130 || at > 145 {
		t.Errorf("terminated at %d: %v", at, w.log)
	}

	w = newWorld(t)
	w.attach("pv-1")
	w.volumes = append(w.volumes, model.Attachment{Name: "inline"}) // of no PersistentVolume
	step := w.next()
	w.act(step)
	step = w.next()
	if step.Kind != drain.Wait || codes(step)["att-pv-1"] != drain.CodeVolume || len(codes(step)) != 2 {
		t.Errorf("%+v", step)
	}
}

func TestS33TheWaitForVolumesEndsWithTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.deadline(90)
	w.detach = 3600
	w.pod("a", grace(10), volume("pv-1"))
	w.attach("pv-1")
	w.run(600)
	w.wantDone()
	if at := w.when("terminate"); at != 90 {
		t.Errorf("terminated at %d: %v", at, w.log)
	}
}

func TestR31TheWaitForVolumesIsBoundedWithoutADeadline(t *testing.T) {
	w := newWorld(t)
	w.detach = 360_000
	w.pod("a", grace(10), volume("pv-1"))
	w.attach("pv-1")
	w.run(3600)
	w.wantDone()
	if at := w.when("terminate"); at != 610 {
		t.Errorf("terminated at %d: %v", at, w.log)
	}
}

// Volumes of pods that stay are not waited for.
func TestVolumesOfPodsThatStayAreNotWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.pod("agent", volume("pv-agent"), func(p *model.Occupant) { p.Tolerations = []model.Toleration{{Operator: "Exists"}} })
	w.attach("pv-agent")
	w.run(300)
	w.want("0 cordon", "5 terminate", "65 done")
}

// The first eviction waits for replacements to be asked for, at most five seconds, and only where pods are displaced.
func TestEvictionsWaitForReplacements(t *testing.T) {
	w := newWorld(t)
	w.replaced = false
	w.pod("a")
	w.run(3)
	if len(w.evicted) > 0 {
		t.Fatalf("%v", w.log)
	}
	w.replaced = true
	w.run(1)
	if at := w.when("evict a"); at != 3 {
		t.Errorf("%v", w.log)
	}

	w = newWorld(t)
	w.replaced = false
	w.pod("a")
	w.run(60)
	if at := w.when("evict a"); at != 5 {
		t.Errorf("%v", w.log)
	}

	w = newWorld(t)
	w.replaced = false
	w.pod("daemon", daemon)
	w.run(60)
	if at := w.when("evict daemon"); at != 0 {
		t.Errorf("%v", w.log)
	}

	w = newWorld(t)
	w.replaced = false
	w.deadline(10)
	w.pod("pressed", grace(30))
	w.run(60)
	if at := w.when("delete pressed 10"); at != 0 {
		t.Errorf("%v", w.log)
	}
}

// R32: a node that has not been Ready for the time that is tolerated has its deadline then: what forbids evictions there
// holds nothing up for hours.
func TestR32AnUnreachableNodeIsEndedWithinTheRepairTime(t *testing.T) {
	w := newWorld(t)
	w.silent = true
	w.node.Ready, w.node.ReadyUnix = false, w.now-600
	w.pod("budget")
	w.budget["budget"] = drain.CodeDisruptionBudget
	w.pod("shielded", shield("true"))
	w.run(7200)
	w.wantDone()
	if at := w.when("delete budget 1"); at != 1200 {
		t.Errorf("deleted at %d: %v", at, w.log)
	}
	if at := w.when("terminate"); at < 1200 || at > 1205 {
		t.Errorf("terminated at %d: %v", at, w.log)
	}
	if w.claim.Drain.DeadlineUnix != start+1200 {
		t.Errorf("deadline %d", w.claim.Drain.DeadlineUnix-start)
	}

	// One that is Ready, or of which it is unknown since when it is not, is left in peace.
	for name, node := range map[string]model.Node{"Ready": {Ready: true, ReadyUnix: start - 9999}, "not known": {}} {
		w := newWorld(t)
		node.Name, node.Labels = "node-1", map[string]string{}
		w.node = &node
		w.pod("a", shield("true"))
		w.run(7200)
		if len(w.evicted) > 0 || w.claim.Drain.DeadlineUnix != 0 {
			t.Errorf("%s: %v", name, w.log)
		}
	}
}

// R26: after ten minutes the obstacle says for how long, and names the budget in the API server's own words.
func TestR26ABudgetThatBlocksForLongIsNamed(t *testing.T) {
	w := newWorld(t)
	w.pod("a")
	w.budget["a"] = drain.CodeDisruptionBudget
	w.run(590)
	if text := strings.Join(w.claim.Drain.Waits, "\n"); strings.Contains(text, "minutes") || !strings.Contains(text, "budget pdb-a needs 1 healthy pod") {
		t.Errorf("before ten minutes: %q", text)
	}
	w.run(140)
	step := w.next()
	if step.Kind != drain.Wait || len(step.Obstacles) != 1 {
		t.Fatalf("%+v", step)
	}
	o := step.Obstacles[0]
	if o.SinceUnix != start || !strings.Contains(o.Message, "pod shop/a cannot be evicted for 12 minutes") || !strings.Contains(o.Message, "budget pdb-a needs 1 healthy pod") {
		t.Errorf("%+v", o)
	}
}

// R27, S34: two budgets on one pod are reported as what they are, and the deadline ends it.
func TestR27TwoBudgetsAreReportedAndEndAtTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.deadline(600)
	w.pod("a")
	w.pod("b")
	w.budget["a"] = drain.CodeTooManyBudgets
	w.run(300)
	if len(w.pods) != 1 {
		t.Fatalf("%d pods are left", len(w.pods))
	}
	if text := strings.Join(w.claim.Drain.Waits, "\n"); !strings.Contains(text, "one PodDisruptionBudget at most may select a pod") {
		t.Errorf("%q", text)
	}
	w.run(900)
	w.wantDone()
}

// R28, S34: what is refused is asked for ever more seldom: 1, 2, 4, 8, 10 s, and after minutes up to 30.
func TestR28RefusedEvictionsBackOff(t *testing.T) {
	w := newWorld(t)
	w.pod("a")
	w.budget["a"] = drain.CodeDisruptionBudget
	w.run(3600)
	var at []int64
	for _, line := range w.log {
		var second int64
		if n, _ := fmt.Sscanf(line, "%d refused a", &second); n == 1 && strings.HasSuffix(line, "refused a") {
			at = append(at, second)
		}
	}
	if !slices.Equal(at[:7], []int64{0, 1, 3, 7, 15, 25, 35}) {
		t.Errorf("asked at %v", at[:7])
	}
	if len(at) > 160 || at[len(at)-1]-at[len(at)-2] != 30 {
		t.Errorf("asked %d times in an hour, lastly after %d s", len(at), at[len(at)-1]-at[len(at)-2])
	}
	if w.steps > 400 {
		t.Errorf("%d steps in an hour", w.steps)
	}
}

func TestS34TwoBudgetsMakeNoTightLoop(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		name := fmt.Sprintf("p%02d", i)
		w.pod(name)
		w.budget[name] = drain.CodeTooManyBudgets
	}
	w.run(600)
	if n := len(w.evicted); n > 50*50 {
		t.Errorf("%d evictions of 50 pods in ten minutes", n)
	}
}

// R29, B6: what is evicted carries the UID that was seen: a pod of the same name that came after is another.
func TestR29TheUIDOfAPodIsItsIdentity(t *testing.T) {
	w := newWorld(t)
	w.act(w.next())
	w.pod("web-0", func(p *model.Occupant) { p.OwnerKind = "StatefulSet"; p.UID = "first" })
	w.claim.Drain.Refused = []model.Refusal{{UID: "before", Tries: 9, NextUnix: start + 9, FirstUnix: start, Code: drain.CodeDisruptionBudget}}
	step := w.next()
	if len(step.Evictions) != 1 || step.Evictions[0].Pod.UID != "first" {
		t.Errorf("%+v", step.Evictions)
	}
	if len(step.Drain.Refused) > 0 {
		t.Errorf("a refusal of a pod that is gone is kept: %+v", step.Drain.Refused)
	}
	w.pods[0].UID = ""
	if step := w.next(); step.Kind != drain.Wait || len(step.Evictions) > 0 {
		t.Errorf("without a UID: %+v", step)
	}
}

// S10, R35: a pod that is bound after the node was found empty is evicted like every other, and the node settles anew.
func TestS10PodsBoundLaterAreEvictedToo(t *testing.T) {
	w := newWorld(t)
	w.run(4)
	if w.claim.Drain.EmptyUnix != start {
		t.Fatalf("%+v", *w.claim.Drain)
	}
	w.pod("late", grace(20))
	w.run(1)
	if w.claim.Drain.EmptyUnix != 0 || w.claim.Drain.DetachedUnix != 0 {
		t.Errorf("%+v", *w.claim.Drain)
	}
	w.run(600)
	w.wantDone()
	if at, end := w.when("evict late"), w.when("terminate"); at < 4 || end != at+25 {
		t.Errorf("%v", w.log)
	}
}

// A node that is gone has nothing to evict.
func TestANodeThatIsGone(t *testing.T) {
	w := newWorld(t)
	w.node = nil
	w.run(300)
	w.want("5 terminate", "65 done")
}

// F119: nothing but EC2's word that the instance was terminated is the end.
func TestF119OnlyEC2SaysWhenItIsDone(t *testing.T) {
	w := newWorld(t)
	w.claim.State = model.Terminating
	other := model.Instance{ID: "i-2", State: "terminated"}
	for name, c := range map[string]struct {
		instance *model.Instance
		want     drain.Kind
	}{
		"not shown":     {nil, drain.Terminate},
		"another":       {&other, drain.Terminate},
		"running":       {&model.Instance{ID: "i-1", State: "running"}, drain.Terminate},
		"stopped":       {&model.Instance{ID: "i-1", State: "stopped"}, drain.Terminate},
		"shutting down": {&model.Instance{ID: "i-1", State: "shutting-down"}, drain.Wait},
		"terminated":    {&model.Instance{ID: "i-1", State: "terminated"}, drain.Done},
	} {
		view := w.view()
		view.Instance = c.instance
		step := drain.Next(view, drain.Settings{})
		if step.Kind != c.want || step.Kind != drain.Done && (step.DueUnix != w.now+5 || step.Drain.EndUnix != w.now) {
			t.Errorf("%s: %+v", name, step)
		}
		view.Claim.Drain.EndUnix = w.now - 600
		if step := drain.Next(view, drain.Settings{}); step.Kind != drain.Done && step.DueUnix != w.now+30 {
			t.Errorf("%s, ten minutes on: again at %d", name, step.DueUnix-w.now)
		}
		view.Claim.Drain.EndUnix = 0
	}
}

// A claim that is not ending, or has no instance, is left alone.
func TestClaimsThatDoNotEndAreLeftAlone(t *testing.T) {
	for _, state := range []model.ClaimState{model.Intended, model.Launched, model.Registered, model.Initialized, model.Gone, ""} {
		w := newWorld(t)
		w.pod("a")
		w.claim.State = state
		if step := w.next(); step.Kind != drain.Wait || step.DueUnix != w.now+30 {
			t.Errorf("%s: %+v", state, step)
		}
	}
	for _, state := range []model.ClaimState{model.Draining, model.Terminating} {
		w := newWorld(t)
		w.claim.State, w.claim.InstanceID, w.instance = state, "", model.Instance{State: "terminated"}
		if step := w.next(); step.Kind != drain.Wait {
			t.Errorf("%s without a machine: %+v", state, step)
		}
	}
	w := newWorld(t)
	w.claim.Drain = nil
	w.pod("a")
	if step := w.next(); step.Kind != drain.Cordon || step.Drain.SinceUnix != w.now {
		t.Errorf("without a record: %+v", step)
	}
}

// At most MaxEvictions are asked for in one step, those that are pressed first, and the rest at once after.
func TestEvictionsOfOneStepAreBounded(t *testing.T) {
	w := newWorld(t)
	w.deadline(60)
	for i := range 250 {
		w.pod(fmt.Sprintf("p%03d", i))
	}
	w.pod("z-pressed", critical, daemon, grace(300))
	w.act(w.next())
	step := w.next()
	if len(step.Evictions) != 100 || step.DueUnix != 0 {
		t.Fatalf("%d evictions, again at %d", len(step.Evictions), step.DueUnix)
	}
	if last := step.Evictions[99]; last.Pod.Name != "z-pressed" || !last.Force {
		t.Errorf("%+v", last)
	}
	w.run(600)
	w.wantDone()
}

// Where one step cannot ask for all, nobody waits behind a pod that is refused again and again.
func TestNobodyWaitsBehindAPodThatIsRefused(t *testing.T) {
	w := newWorld(t)
	w.settings = drain.Settings{MaxEvictions: 1, BackoffSeconds: 1}
	for _, name := range []string{"a", "b"} {
		w.pod(name)
		w.budget[name] = drain.CodeDisruptionBudget
	}
	w.pod("c")
	w.run(10)
	if at := w.when("evict c"); at < 0 || at > 3 {
		t.Errorf("evicted at %d: %v", at, w.log)
	}
}

// A deletion that fails is tried again, ever more seldom, until the deadline and a minute more; then the instance ends.
func TestDeletionsThatFailDoNotSurviveTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.mute = true
	w.deadline(300)
	w.pod("a", grace(300))
	w.run(200)
	if text := strings.Join(w.claim.Drain.Waits, "\n"); !strings.Contains(text, "pod shop/a cannot be deleted (DeleteFailed): a webhook says no") {
		t.Errorf("%q", text)
	}
	w.run(600)
	w.wantDone()
	if at := w.when("terminate"); at != 360 {
		t.Errorf("terminated at %d", at)
	}
	if len(w.evicted) > 60 {
		t.Errorf("%d deletions", len(w.evicted))
	}
}

// R72: a drain of six hours is many steps, and ends.
func TestR72ASixHourDrainEnds(t *testing.T) {
	w := newWorld(t)
	w.pod("a", grace(6*3600))
	w.pod("b")
	w.run(7 * 3600)
	w.wantDone()
	if at := w.when("terminate"); at != 6*3600+5 {
		t.Errorf("terminated at %d", at)
	}
	if w.steps > 1200 {
		t.Errorf("%d steps", w.steps)
	}
}

// The claim's record is not written to.
func TestNextDoesNotWriteToItsView(t *testing.T) {
	w := newWorld(t)
	w.pod("a")
	w.claim.Drain.Refused = []model.Refusal{{UID: "z"}, {UID: "u-a", NextUnix: start + 99999, FirstUnix: start + 50, Code: drain.CodeDisruptionBudget}}
	before := fmt.Sprintf("%+v %+v", w.claim, *w.claim.Drain)
	w.next()
	if after := fmt.Sprintf("%+v %+v", w.claim, *w.claim.Drain); after != before {
		t.Errorf("was %s, is %s", before, after)
	}
}

func TestRefuseKeepsWhatWasSaidShort(t *testing.T) {
	e := drain.Eviction{Pod: model.PodRef{UID: "u"}}
	record := drain.Refuse(model.Drain{}, e, "", strings.Repeat("ü", 500)+"\xff", start, drain.Settings{})
	r := record.Refused[0]
	if len(r.Message) > 300 || !strings.HasSuffix(r.Message, "ü…") || r.Code != drain.CodeRefused || r.Tries != 1 || r.NextUnix != start+1 {
		t.Errorf("%+v", r)
	}
	record = drain.Refuse(record, e, drain.CodeDisruptionBudget, "x", start+5, drain.Settings{})
	if r := record.Refused[0]; len(record.Refused) != 1 || r.Tries != 2 || r.FirstUnix != start || r.NextUnix != start+7 {
		t.Errorf("%+v", record.Refused)
	}
	e.Force = true // another matter: it begins anew
	record = drain.Refuse(record, e, drain.CodeDisruptionBudget, "x", start+9, drain.Settings{})
	if r := record.Refused[0]; r.Tries != 1 || r.FirstUnix != start+9 || r.Code != drain.CodeDeleteFailed {
		t.Errorf("%+v", record.Refused)
	}
}

// After pods were asked to leave the node is looked at again when the settings say, or sooner where a deadline presses.
func TestLeaveSecondsAfterAnEviction(t *testing.T) {
	for _, c := range []struct{ leave, deadline, want int64 }{{0, 0, 1}, {6, 0, 6}, {6, 33, 3}} {
		w := newWorld(t)
		if c.deadline != 0 {
			w.deadline(c.deadline)
		}
		w.pod("a") // with a grace of 30 s
		w.record(w.next())
		w.act(drain.Step{Kind: drain.Cordon})
		step := drain.Next(w.view(), drain.Settings{LeaveSeconds: c.leave})
		if step.Kind != drain.Evict || step.DueUnix != w.now+c.want {
			t.Errorf("%+v: %s, again after %d s", c, step.Kind, step.DueUnix-w.now)
		}
	}
}

// A node that is not Ready when its drain begins is tainted and looked at again at once, not when its time to become Ready is over.
func TestR32ADrainOfASilentNodeGoesOnAtOnce(t *testing.T) {
	w := newWorld(t)
	w.node.Ready, w.node.ReadyUnix = false, w.now-60
	if step := w.next(); step.Kind != drain.Cordon || step.DueUnix != 0 {
		t.Errorf("%s, and again at %d, want at once", step.Kind, step.DueUnix)
	}
}

// K5: a pod that tolerates another taint, such as the one kubectl drain puts on a node, is evicted like any other.
func TestK5APodThatToleratesUnschedulableIsEvicted(t *testing.T) {
	for name, toleration := range map[string]model.Toleration{
		"key alone":  {Key: "node.kubernetes.io/unschedulable", Effect: model.NoSchedule},
		"equal":      {Key: "node.kubernetes.io/unschedulable", Operator: "Equal", Effect: model.NoSchedule},
		"exists":     {Key: "node.kubernetes.io/unschedulable", Operator: "Exists", Effect: model.NoSchedule},
		"any effect": {Key: "node.kubernetes.io/unschedulable", Operator: "Exists"},
	} {
		w := newWorld(t)
		w.pod("web", func(p *model.Occupant) { p.Tolerations = []model.Toleration{toleration} })
		w.run(300)
		w.wantDone()
		if len(w.evicted) != 1 {
			t.Errorf("%s: evicted %v", name, w.log)
		}
	}
}
