package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func TestPoolsThePodWouldRatherAvoidComeLast(t *testing.T) {
	w := newWorld(32)
	w.pool("avoided", func(p *model.Pool) {
		p.Weight = 100
		p.Template.Taints = []model.Taint{{Key: "old", Effect: model.PreferNoSchedule}}
	})
	w.pool("liked", func(p *model.Pool) { p.Limits = model.Resources{model.Nodes: 1} })
	w.pods("web", 2, cpu(40_000))
	pools := map[string]int{}
	plan := w.plan()
	for _, claim := range plan.Claims {
		pools[claim.Pool] += len(claim.Pods)
	}
	if len(plan.Unschedulable) != 0 || pools["liked"] == 0 {
		t.Errorf("pods by pool = %v, unschedulable %v; want the liked pool first", pools, plan.Unschedulable)
	}
}
