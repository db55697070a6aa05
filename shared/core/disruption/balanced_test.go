package disruption

import (
	"fmt"
	"slices"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func balanced(p *model.Pool) { p.Disruption.Policy = "Balanced" }

// F130: a move is approved of where its share of what is saved is half as large as its share of what is disturbed, at
// least.
func TestF130BalancedApprovesOfWhatIsWorthIt(t *testing.T) {
	// Four nodes of $0.2 with two pods each: $0.8 and 4 × 3 = 12 together. A node is a quarter of what would be
	// disturbed, so that half of it, an eighth of $0.8, is what has to be saved.
	w := newWorld().pool("general", balanced)
	for i := range 4 {
		w.node(fmt.Sprintf("n%d", i), "general").running("web", fmt.Sprintf("n%d", i), 2)
	}
	v := newPlanner(&w.in, nil)
	one := []*poolNode{v.fork.byName["n0"]}
	for savings, approved := range map[model.MicroUSD]bool{200_000: true, 100_000: true, 99_999: false, 1: false, 0: false, -5: false} {
		if reason := v.balanced.approves(one, savings); (reason == nil) != approved || reason != nil && reason.Code != SavingsTooSmall {
			t.Errorf("%d: %+v", savings, reason)
		}
	}
	w.in.Settings.BalancedPercent = 100
	v = newPlanner(&w.in, nil)
	if v.balanced.approves(one, 199_999) == nil || v.balanced.approves(one, 200_000) != nil {
		t.Error("with another threshold")
	}
	w.in.Snapshot.Pools[0].Disruption.Policy = "WhenEmptyOrUnderutilized"
	if v = newPlanner(&w.in, nil); v.balanced.approves(one, 1) != nil {
		t.Error("a pool of another policy has a say")
	}
}

// F130: of a move of several pools every Balanced one has to approve, by its share of the savings.
func TestF130EveryBalancedPoolHasToApprove(t *testing.T) {
	w := newWorld().pool("balanced", balanced).pool("other")
	w.node("a", "balanced").running("web", "a", 2).node("b", "balanced").running("web", "b", 2)
	w.node("c", "other", func(_ *model.Node, c *model.Claim) { c.InstanceType = "m5.2xlarge" }).running("db", "c", 20)
	v := newPlanner(&w.in, nil)
	both := []*poolNode{v.fork.byName["a"], v.fork.byName["c"]}
	// a costs a third of the two, so that a third of the savings is its share; of the pool's $0.4 it has to be a
	// quarter.
	if reason := v.balanced.approves(both, 300_000); reason != nil {
		t.Errorf("%+v", reason)
	}
	if v.balanced.approves(both, 299_997) == nil {
		t.Error("less than its share")
	}
}

// F130: the plan keeps what the pool does not approve of, and says so; empty nodes go in any case.
func TestF130PlansOfBalancedPools(t *testing.T) {
	build := func(change func(*model.Pool)) *world {
		heavy := func(s *model.PodShape) {
			s.Priority = 1 << 30
			s.Requests = model.Resources{model.CPU: 300, model.Memory: 1 << 30, model.Pods: 1}
		}
		w := newWorld().pool("general", change).node("empty", "general").
			node("big", "general", func(n *model.Node, c *model.Claim) {
				n.Labels[model.LabelInstanceType], c.InstanceType = "m5.2xlarge", "m5.2xlarge"
				n.Allocatable = model.Resources{model.CPU: 7900, model.Memory: 30 << 30, model.Pods: 50}
			}).running("web", "big", 12, heavy)
		for i := range 6 {
			w.node(fmt.Sprintf("full%d", i), "general", func(n *model.Node, _ *model.Claim) { n.Labels["disk"] = "local" }).
				running("db", fmt.Sprintf("full%d", i), 7, func(s *model.PodShape) { s.NodeSelector = map[string]string{"disk": "local"} })
		}
		return w
	}
	plan := Plan(build(func(*model.Pool) {}).in)
	wantGiven(t, plan, model.ReasonEmpty, "empty")
	wantGiven(t, plan, model.ReasonUnderutilized, "big")
	plan = Plan(build(balanced).in) // $0.2 of $1.8 saved, and 121 of 178 disturbed
	wantGiven(t, plan, model.ReasonEmpty, "empty")
	wantGiven(t, plan, model.ReasonUnderutilized)
	if got := kept(plan, "big"); !slices.Contains(got, SavingsTooSmall) {
		t.Errorf("kept for %v", got)
	}
}
