package disruption

import (
	"fmt"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// M108: a spread over a label of which the on-demand NodePool has one value and the spot NodePool four keeps one pod of
// five on demand, also while nodes are consolidated: the large on-demand node makes way for a small one, although spot
// nodes have room. Pods beside the ratio, such as a base of their own Deployment, do not count.
func TestM108ConsolidationKeepsTheRatioOfSpotToOnDemand(t *testing.T) {
	const key = "example.com/share"
	share := func(capacityType string, values ...string) func(*model.Pool) {
		return func(p *model.Pool) {
			p.Template.Requirements = []model.Requirement{
				{Key: model.LabelCapacityType, Operator: model.In, Values: []string{capacityType}},
				{Key: key, Operator: model.In, Values: values},
			}
		}
	}
	labeled := func(value string) func(*model.Node, *model.Claim) {
		return func(n *model.Node, _ *model.Claim) { n.Labels[key] = value }
	}
	for name, c := range map[string]struct {
		changes []func(*model.PodShape)
		keeps   bool // one pod of five on demand
	}{
		"spread": {[]func(*model.PodShape){spreadOver(key, 1)}, true}, "not spread": {nil, false},
	} {
		w := newWorld().pool("on-demand", share(model.OnDemand, "1"))
		w.pool("spot", share(model.Spot, "2", "3", "4", "5"))
		w.node("od", "on-demand", sized("m5.4xlarge", model.OnDemand), labeled("1"))
		w.running("web", "od", 1, c.changes...)
		for i := range 4 {
			node := fmt.Sprintf("s%d", i)
			w.node(node, "spot", sized("m5.xlarge", model.Spot), labeled(fmt.Sprint(i+2)))
			w.running("web", node, 1, c.changes...)
		}
		w.running("base", "od", 2, func(s *model.PodShape) {
			s.NodeSelector = map[string]string{model.LabelCapacityType: model.OnDemand}
		})
		plan := Plan(w.in)
		if got := w.counts(t, plan, "web", key)["1"]; (got == 1) != c.keeps {
			t.Errorf("%s: %d pods on demand: %+v", name, got, plan.Commands)
		}
		if got := w.counts(t, plan, "base", key)["1"]; got != 2 {
			t.Errorf("%s: %d pods of the base on demand", name, got)
		}
		gone := given(plan, model.ReasonUnderutilized)
		if c.keeps && (len(gone) != 1 || gone[0] != "od" || plan.PriceAfter >= plan.PriceBefore/2) {
			t.Errorf("%s: %v go, at $%.2f of $%.2f", name, gone, plan.PriceAfter.USD(), plan.PriceBefore.USD())
		}
	}
}
