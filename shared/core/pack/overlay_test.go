package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/overlay"
	"github.com/joiner-sh/joiner/shared/model"
)

// overlaid applies overlays to the world's catalogs.
func (w *world) overlaid(overlays ...model.Overlay) *world {
	w.in.Snapshot.Overlays = overlays
	overlay.AddTo(w.in.Catalogs, w.in.Catalogs, w.in.Snapshot, nil)
	return w
}

// Each NodePool plans by what overlays make of its own instance types, and its claims say so.
func TestF092EachNodePoolPlansByItsOverlays(t *testing.T) {
	plain, err := onlyClaim(newWorld(16).pool("pool", nil).pods("web", 1, nil).plan())
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(16)
	expensive := w.in.Catalogs["default"][len(w.in.Catalogs["default"])-1].Name
	cheap := model.Overlay{Name: "cheap", Price: "0.000001", Requirements: []model.Requirement{
		{Key: model.LabelInstanceType, Operator: model.In, Values: []string{expensive}},
		{Key: model.LabelNodePool, Operator: model.In, Values: []string{"pool"}},
	}}
	claim, err := onlyClaim(w.pool("pool", nil).pods("web", 1, nil).overlaid(cheap).plan())
	if err != nil {
		t.Fatal(err)
	}
	if expensive == plain.Offering.InstanceType || claim.Offering.InstanceType != expensive || claim.Price != 1 ||
		claim.Annotations[model.AnnotationPriceOverlaid] != "true" {
		t.Errorf("%s at %d, annotations %v; want %s", claim.Offering.InstanceType, claim.Price, claim.Annotations,
			expensive)
	}
	other, err := onlyClaim(newWorld(16).pool("other", nil).pods("web", 1, nil).overlaid(cheap).plan())
	if err != nil || other.Offering != plain.Offering || len(other.Annotations) > 0 {
		t.Errorf("another NodePool plans %+v, %v", other.Offering, err)
	}
}

// F057, M17: a pod fits by what the NodePool's own nodes would have.
func TestF057PodsFitByTheCapacityOfTheirNodePool(t *testing.T) {
	const fuse = "smarter-devices/fuse"
	asks := func(s *model.PodShape) { s.Requests[fuse] = 1 }
	adds := model.Overlay{Name: "adds", Capacity: model.Resources{fuse: 1}, Requirements: []model.Requirement{
		{Key: model.LabelNodePool, Operator: model.In, Values: []string{"with"}},
	}}
	plan := newWorld(16).pool("with", nil).pool("without", nil).pods("web", 3, asks).overlaid(adds).plan()
	if len(plan.Unschedulable) > 0 || len(plan.Claims) != 3 {
		t.Fatalf("%d claims, unschedulable %+v", len(plan.Claims), plan.Unschedulable)
	}
	for i := range plan.Claims {
		if c := &plan.Claims[i]; c.Pool != "with" || c.Annotations[model.AnnotationCapacityOverlaid] != "true" {
			t.Errorf("NodePool %s, annotations %v", c.Pool, c.Annotations)
		}
	}
}
