package disruption

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/model"
)

// Consolidation goes by the prices that overlays set: of what a node costs, and of what would take its place.
func TestF092ConsolidationGoesByOverlayPrices(t *testing.T) {
	plan := func(prices map[string]string) model.DisruptPlan {
		w := newWorld().pool("general").node("a", "general").running("web", "a", 6)
		for _, size := range testSizes {
			if price, set := prices[size.name]; set {
				w.in.Snapshot.Overlays = append(w.in.Snapshot.Overlays, model.Overlay{
					Name: size.name, Price: price, Requirements: []model.Requirement{
						{Key: model.LabelInstanceType, Operator: model.In, Values: []string{size.name}},
						{Key: model.LabelNodePool, Operator: model.In, Values: []string{"general"}},
					},
				})
			}
		}
		overlay.AddTo(w.in.Catalogs, w.in.Catalogs, w.in.Snapshot, nil)
		return Plan(w.in)
	}
	wantGiven(t, plan(nil), model.ReasonUnderutilized) // an instance of the size is what the pods need
	got := plan(map[string]string{"m5.2xlarge": "0.05"})
	wantGiven(t, got, model.ReasonUnderutilized, "a")
	if r := got.Commands[0].Replacements[0]; r.Offering.InstanceType != "m5.2xlarge" || r.Price != 50_000 ||
		r.Annotations[model.AnnotationPriceOverlaid] != "true" {
		t.Errorf("replaced by %s at %d, annotations %v", r.Offering.InstanceType, r.Price, r.Annotations)
	}
	wantGiven(t, plan(map[string]string{"m5.2xlarge": "0.05", "m5.xlarge": "0.04"}), model.ReasonUnderutilized)
}
