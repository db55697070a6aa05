package disruption

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

func nightly(s *model.PodShape) {
	s.Window = &model.PodWindow{Schedule: "0 2 * * *", Duration: "2h", TimeZone: "Europe/Berlin"}
}

// M86, M106: a node that drifted stays as it is while the window of a pod of it is closed, whatever
// terminationGracePeriod says, and the plan says when to look again. Within the window it goes.
func TestM86NodesStayOutsideTheWindowsOfTheirPods(t *testing.T) {
	opens := time.Date(2026, 5, 29, 0, 0, 0, 0, time.UTC).Unix() // 02:00 in Berlin
	w := newWorld().pool("general").node("n", "general", drifted(testNow-60), grace(60)).running("db", "n", 2, nightly)
	plan := Plan(w.in)
	wantGiven(t, plan, model.ReasonDrifted)
	if got := kept(plan, "n"); !slices.Contains(got, PodWindow) || plan.ReplanUnix != opens {
		t.Fatalf("kept for %v, again at %d; want %d", got, plan.ReplanUnix, opens)
	}
	const says = "the disruption window of pods default/db-n-0, default/db-n-1 is closed: " +
		"its next window opens at 2026-05-29T00:00:00Z"
	if message := plan.Kept[0].Reasons[0].Message; message != says {
		t.Errorf("it says %q", message)
	}
	w.in.NowUnix = opens
	plan = Plan(w.in)
	wantGiven(t, plan, model.ReasonDrifted, "n")
	w.in.NowUnix = opens + 2*3600
	wantGiven(t, Plan(w.in), model.ReasonDrifted)
}

// M86: a command whose window closes before its nodes drain does not hold any more, on a snapshot and live. What a
// static NodePool has too many of goes at any time.
func TestM86CommandsEndWithTheWindow(t *testing.T) {
	w := newWorld().pool("general").node("n", "general", drifted(testNow-60)).running("db", "n", 1, nightly).
		command("c", model.ReasonDrifted, model.CommandCommitted, []string{"n"})
	if got := codesOf(Revalidate(w.in, &w.in.Commands[0])); !slices.Contains(got, PodWindow) {
		t.Errorf("revalidated: %v", got)
	}
	node := model.Occupied{ReadUnix: testNow, Pods: []model.Occupant{{
		PodRef: model.PodRef{Namespace: "default", Name: "db"}, Phase: model.Running,
		Window: &model.PodWindow{Schedule: "0 2 * * *", Duration: "2h"},
	}}}
	live := func(reason string) []string {
		return codesOf(Live(Sighting{Reason: reason, Target: &model.Target{}, Claim: &model.Claim{}, Node: &node}))
	}
	if got := live(model.ReasonDrifted); !slices.Equal(got, []string{PodWindow}) {
		t.Errorf("live: %v", got)
	}
	if got := live(model.ReasonReplicas); got != nil {
		t.Errorf("live, of a static pool: %v", got)
	}
	node.ReadUnix = time.Date(2026, 5, 28, 3, 0, 0, 0, time.UTC).Unix()
	if got := live(model.ReasonDrifted); got != nil {
		t.Errorf("live, within it: %v", got)
	}
}

// M86: a window that nobody can read protects its pod at all times, and says which annotation it is.
func TestM86WindowsThatCannotBeReadAreClosed(t *testing.T) {
	for _, c := range []struct {
		window model.PodWindow
		says   string
	}{
		{model.PodWindow{Schedule: "0 2 * * *"}, "there is no annotation " + model.AnnotationWindowDuration},
		{model.PodWindow{Duration: "2h"}, "there is no annotation " + model.AnnotationWindowSchedule},
		{model.PodWindow{Schedule: "0 2 * *", Duration: "2h"}, model.AnnotationWindowSchedule + ": \"0 2 * *\""},
		{model.PodWindow{Schedule: "@daily", Duration: "2 hours"}, model.AnnotationWindowDuration + ": \"2 hours\""},
		{model.PodWindow{Schedule: "@daily", Duration: "0s"}, model.AnnotationWindowDuration + ": \"0s\""},
		{model.PodWindow{Schedule: "@daily", Duration: "2h", TimeZone: "Mars"},
			model.AnnotationWindowTimeZone + ": \"Mars\""},
		{model.PodWindow{Schedule: "0 0 31 2 *", Duration: "2h"}, "never comes"},
	} {
		w := newWorld().pool("general").node("n", "general", drifted(testNow-60)).
			running("db", "n", 1, func(s *model.PodShape) { s.Window = &c.window })
		plan := Plan(w.in)
		wantGiven(t, plan, model.ReasonDrifted)
		if len(plan.Kept) != 1 || !strings.Contains(plan.Kept[0].Reasons[0].Message, c.says) {
			t.Errorf("%+v: %+v", c.window, plan.Kept)
		}
	}
}
