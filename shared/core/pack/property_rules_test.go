package pack

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
)

// What single claims must be is TestPlanIsSound's; here it is who is put beside whom.
func TestPlansKeepRulesBetweenPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		plan := w.plan()
		c := newChecker(w.in)
		c.everyPodOnce(plan)
		c.nominations(plan)
		c.limits(plan)
		c.together(plan)
		for _, problem := range c.found {
			t.Error(problem)
		}
		if len(c.found) > 0 {
			t.Log(w.describe(plan))
		}
	})
}

func TestPlansWithRulesAreTheSameOnAnyNumberOfProcessors(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		want := encoded(t, w.plan())
		for _, processors := range []int{1, 4, 4} {
			runtime.GOMAXPROCS(processors)
			if got := encoded(t, w.plan()); got != want {
				t.Errorf("with %d processors %s\nwant %s", processors, got, want)
			}
		}
	})
}

func TestPlansWithRulesDoNotDependOnTheOrderOfLists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		want := encoded(t, w.plan())
		if got := encoded(t, w.shuffled(t).plan()); got != want {
			t.Errorf("shuffled %s\nwant     %s", got, want)
		}
	})
}

// Names of pods break ties and nothing else: other names cost the same.
func TestNamesOfPodsDoNotChangeThePrice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		s := w.in.Snapshot
		s.Volumes = nil
		for i := range s.Shapes {
			s.Shapes[i].Ephemeral = nil
		}
		for i := range s.Pods {
			s.Pods[i].Claims = nil
		}
		want := w.plan()
		for i := range s.Pods {
			name := []byte(s.Pods[i].Name)
			slices.Reverse(name)
			s.Pods[i].Name, s.Pods[i].UID = string(name), "uid-"+string(name)
		}
		if got := w.plan(); got.Price != want.Price || len(got.Unschedulable) != len(want.Unschedulable) {
			t.Errorf("price %d and %d left out, by other names %d and %d", want.Price, len(want.Unschedulable), got.Price, len(got.Unschedulable))
		}
	})
}

// Values the API server would refuse, and some it would not, must not stop the planner.
func TestHostileRulesAreAnsweredForEveryPod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		for i := range w.in.Snapshot.Shapes {
			drawHostile(t, &w.in.Snapshot.Shapes[i])
		}
		for i := range w.in.Snapshot.Volumes {
			if v := &w.in.Snapshot.Volumes[i]; oneIn(t, 4, "hostile volume") {
				v.Affinity = append(v.Affinity, model.NodeTerm{}, model.NodeTerm{Requirements: []model.Requirement{{Key: drawHostileKey(t), Operator: "Near", Values: []string{""}}}})
				if i == 0 {
					v.Name = ""
				}
			}
		}
		for i := range w.in.Snapshot.Pods {
			if pod := &w.in.Snapshot.Pods[i]; oneIn(t, 6, "hostile pod") {
				pod.Claims = append(pod.Claims, "", "x", "x")
			}
		}
		plan := w.plan()
		c := checker{in: w.in, moving: make(map[int]bool)}
		for _, i := range w.in.Pending {
			c.moving[i] = true
		}
		c.everyPodOnce(plan)
		for _, problem := range c.found {
			t.Error(problem)
		}
		if first, second := encoded(t, plan), encoded(t, w.shuffled(t).plan()); first != second {
			t.Errorf("first  %s\nsecond %s", first, second)
		}
	})
}

func drawHostileKey(t *rapid.T) string {
	return pick(t, "hostile key", "", " ", "a b", "/", model.LabelZone, model.LabelHostname, "karpenter.sh/nodepool", "é")
}

func drawHostileSelector(t *rapid.T) *model.Selector {
	key := drawHostileKey(t)
	return pick(t, "hostile selector", nil, &model.Selector{}, &model.Selector{MatchLabels: map[string]string{key: key}},
		exprSelector("Near", key, "x"), exprSelector(model.In, key), exprSelector(model.Exists, "app"), ofApp("a"))
}

func drawHostile(t *rapid.T, s *model.PodShape) {
	number := func(what string) int32 {
		return pick(t, what, int32(0), 1, -1, 101, math.MaxInt32, math.MinInt32)
	}
	if oneIn(t, 3, "hostile spread") {
		bad := model.Spread{TopologyKey: drawHostileKey(t), MaxSkew: number("hostile maxSkew"), MinDomains: number("hostile minDomains"),
			Anyway: rapid.Bool().Draw(t, "hostile anyway"), Selector: drawHostileSelector(t), MatchLabelKeys: []string{"", "app", "app"}}
		s.Spread = append(s.Spread, bad, bad)
	}
	if oneIn(t, 3, "hostile term") {
		bad := model.PodTerm{TopologyKey: drawHostileKey(t), Selector: drawHostileSelector(t), Namespaces: []string{"", "no such"}, NamespaceSelector: drawHostileSelector(t),
			MatchLabelKeys: []string{"app"}, MismatchLabelKeys: []string{"app"}}
		s.PodAffinity = append(s.PodAffinity, bad)
		s.PodAntiAffinity = append(s.PodAntiAffinity, bad, bad) // which contradicts the affinity
		s.PreferredPodAffinity = append(s.PreferredPodAffinity, model.WeightedPodTerm{Weight: number("hostile weight"), Term: bad})
		s.PreferredPodAntiAffinity = append(s.PreferredPodAntiAffinity, model.WeightedPodTerm{Weight: number("hostile weight"), Term: bad})
	}
	if oneIn(t, 4, "hostile preference") {
		s.PreferredNodeAffinity = append(s.PreferredNodeAffinity, model.WeightedTerm{Weight: number("hostile weight")},
			model.WeightedTerm{Weight: number("hostile weight"), Term: model.NodeTerm{Requirements: []model.Requirement{{Key: drawHostileKey(t), Operator: "Near"}}}})
	}
	if oneIn(t, 5, "hostile port") {
		s.HostPorts = append(s.HostPorts, model.HostPort{Port: number("hostile port number"), IP: "::", Protocol: "x"}, model.HostPort{Port: 80}, model.HostPort{Port: 80})
	}
	if oneIn(t, 6, "hostile ephemeral") {
		s.Ephemeral = append(s.Ephemeral, model.EphemeralClaim{}, model.EphemeralClaim{Volume: "tmp"}, model.EphemeralClaim{Volume: "tmp", Class: "zonal"})
	}
	s.Priority = number("hostile priority")
}

// Every reason is of a pool or of all of them, and true.
func TestReasonsAreTrue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRules(t)
		plan := w.plan()
		for _, problem := range reasonProblems(w.in, plan, 10) {
			t.Error(problem)
		}
		if t.Failed() {
			t.Log(w.describe(plan))
		}
	})
}
