package fairshare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// C8, M22, M97: within a priority namespaces take turns, so that the backlog of one starves no other.
func TestC8NamespacesTakeTurnsWithinAPriority(t *testing.T) {
	items := []Item{{0, 0, "a"}, {1, 0, "a"}, {2, 0, "a"}, {3, 0, "b"}, {4, 0, "c"}, {5, 0, "c"}, {6, 7, "a"}, {7, -1, "d"}}
	for _, test := range []struct {
		served []string
		want   []int
	}{
		{nil, []int{6, 0, 3, 4, 1, 5, 2, 7}},
		{[]string{"c", "a"}, []int{6, 3, 4, 0, 5, 1, 2, 7}},
	} {
		var got []int
		for _, item := range RoundRobin(items, test.served) {
			got = append(got, item.Index)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("served %v: order %v, want %v", test.served, got, test.want)
		}
	}
}

func TestC8SharesAreDealtOneInTurn(t *testing.T) {
	for _, test := range []struct {
		total  int
		served []string
		want   map[string]int
	}{
		{300, nil, map[string]int{"hostile": 297, "normal": 3}},
		{1, []string{"hostile"}, map[string]int{"normal": 1}},
		{1, []string{"normal", "hostile"}, map[string]int{"normal": 1}},
		{1, []string{"hostile", "normal"}, map[string]int{"hostile": 1}},
		{5, nil, map[string]int{"hostile": 3, "normal": 2}},
	} {
		got := Shares(test.total, map[string]int{"hostile": 1500, "normal": 3}, test.served)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%d of %v: %v, want %v", test.total, test.served, got, test.want)
		}
	}
}

// backlog is so many workloads of five pods, each with a spread of its own.
func backlog(workloads int, namespace func(w int) string) *model.Snapshot {
	s := &model.Snapshot{}
	for w := range workloads {
		labels := map[string]string{"app": fmt.Sprint(w)}
		s.Shapes = append(s.Shapes, model.PodShape{Namespace: namespace(w), Labels: labels,
			Spread: []model.Spread{{MaxSkew: 1, TopologyKey: model.LabelZone, Selector: &model.Selector{MatchLabels: labels}}}})
		for n := range 5 {
			s.Pods = append(s.Pods, model.Pod{Namespace: namespace(w), Name: fmt.Sprintf("p%05d-%d", w, n), UID: fmt.Sprintf("%05d-%d-%d", (w*7919)%100_000, w, n), Shape: w, CreatedUnix: int64(w / 100)})
		}
	}
	return s
}

func all(s *model.Snapshot) []int {
	out := make([]int, len(s.Pods))
	for i := range out {
		out[i] = i
	}
	return out
}

// F088, M3, M18: what one plan takes stays within the bound, however large the backlog; what it took is out of the way
// of the next; five plans take all.
func TestF088FivePlansTake60000PodsOf12000Shapes(t *testing.T) {
	s := backlog(12_000, func(int) string { return "shop" })
	most, after, left, seen := DefaultPlanBound(), "", all(s), map[int]bool{}
	for plan := 1; len(left) > 0; plan++ {
		if plan > 5 {
			t.Fatalf("%d pods are left after five plans", len(left))
		}
		taken := Select(s, left, &most, nil, after)
		if len(taken.Pods) > most.Pods || taken.Sets > most.Sets {
			t.Errorf("plan %d takes %d pods and %d sets, at most %+v", plan, len(taken.Pods), taken.Sets, most)
		}
		if len(taken.Pods)+len(taken.Later) != len(left) {
			t.Fatalf("plan %d: %d taken and %d left of %d", plan, len(taken.Pods), len(taken.Later), len(left))
		}
		for _, i := range taken.Pods {
			if seen[i] {
				t.Errorf("pod %d is planned twice", i)
			}
			seen[i] = true
		}
		left, after = taken.Later, taken.Next
	}
}

func TestF088WhatFitsIsTakenWhole(t *testing.T) {
	s := backlog(3_000, func(int) string { return "shop" })
	most := DefaultPlanBound()
	if taken := Select(s, all(s), &most, nil, ""); len(taken.Later) > 0 || len(taken.Pods) != 15_000 || taken.Next != "" {
		t.Errorf("%d taken, %d left, next %q", len(taken.Pods), len(taken.Later), taken.Next)
	}
	if taken := Select(s, all(s), &model.PlanBound{Pods: 10, Sets: 0, Rules: 0}, nil, ""); len(taken.Pods) == 0 {
		t.Error("a pod beyond the bound is never taken")
	}
	if taken := Select(s, all(s), nil, nil, ""); len(taken.Pods) != 15_000 {
		t.Error("without a bound not all are taken")
	}
}

// Scenario 20: another namespace's few pods are in the first plan, beside 50,000 tiny ones that came before.
func TestScenario20ANormalTeamIsInTheFirstPlan(t *testing.T) {
	s := backlog(10_000, func(int) string { return "hostile" })
	for n := range 3 {
		s.Pods = append(s.Pods, model.Pod{Namespace: "normal", Name: fmt.Sprint(n), UID: fmt.Sprintf("x%d", n), Shape: 0, CreatedUnix: 1 << 40})
	}
	s.Shapes = append(s.Shapes, model.PodShape{Namespace: "normal"})
	for i := 50_000; i < 50_003; i++ {
		s.Pods[i].Shape = 10_000
	}
	most := DefaultPlanBound()
	taken := Select(s, all(s), &most, []string{"normal", "hostile"}, "")
	for i := 50_000; i < 50_003; i++ {
		if !slices.Contains(taken.Pods, i) {
			t.Errorf("pod %s is planned later", s.Pods[i].Key())
		}
	}
	if len(taken.Later) == 0 {
		t.Error("all is planned at once, so that this shows nothing")
	}
}
