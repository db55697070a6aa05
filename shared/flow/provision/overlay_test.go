package provision_test

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const fuse = "smarter-devices/fuse"

// overlaid returns a world that sells two instance types on demand, with overlays.
func overlaid(t *testing.T, overlays ...model.Overlay) *world.World {
	t.Helper()
	w := world.New(world.Options{Types: []string{"m5.large", "m5.xlarge"}})
	w.Cluster.AddClass(world.Class("default"))
	w.Cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand)))
	for _, o := range overlays {
		world.AddOverlay(w.Cluster, o)
	}
	return w
}

// discount is an overlay by which an instance type costs so many dollars per hour.
func discount(name, instanceType, price string) model.Overlay {
	return model.Overlay{
		Name: name, Weight: 10, Price: price,
		Requirements: []model.Requirement{world.Need(model.LabelInstanceType, instanceType)},
	}
}

func overlayStatus(w *world.World, name string) model.OverlayStatus {
	for _, o := range world.Overlays(w.Cluster) {
		if o.Name == name {
			return o.Status
		}
	}
	return model.OverlayStatus{}
}

// M17, M75: the instance type that an overlay makes the cheapest is launched, by its prices, and the claim says
// so.
func TestF092OverlayDecidesWhatIsLaunched(t *testing.T) {
	w := overlaid(t, discount("a", "m5.xlarge", "0.001"))
	pending(w, "web", 1, world.Shape(500, gib))
	if out := pass(t, w, provision.TriggerBatch); out.Claims != 1 {
		t.Fatalf("%+v", out)
	}
	if got := types(w); len(got) != 1 || got[0] != "m5.xlarge" {
		t.Errorf("launched %v, want the instance type that an overlay makes the cheapest", got)
	}
	claim := load(t, w).Claims[0]
	if claim.Price != 1000 || claim.Annotations[model.AnnotationPriceOverlaid] != "true" ||
		claim.Annotations[model.AnnotationCapacityOverlaid] != "" {
		t.Errorf("price %d, annotations %v", claim.Price, claim.Annotations)
	}
	if got := overlayStatus(w, "a"); got.Status != "True" || got.Generation != 1 {
		t.Errorf("status %+v", got)
	}
	sound(t, w)
}

// Without an overlay nothing about the launch changes.
func TestF092WithoutOverlaysEC2GoesByItsOwnPrices(t *testing.T) {
	w := overlaid(t)
	pending(w, "web", 1, world.Shape(500, gib))
	pass(t, w, provision.TriggerBatch)
	claim := load(t, w).Claims[0]
	if got := types(w); len(got) != 1 || got[0] != "m5.large" ||
		claim.Annotations[model.AnnotationPriceOverlaid] != "" {
		t.Errorf("launched %v, annotations %v", got, claim.Annotations)
	}
}

// A pod that asks for a resource gets an instance of the type that an overlay says has it, and none without the
// overlay.
func TestF092OverlayAddsAnExtendedResource(t *testing.T) {
	shape := world.Shape(500, gib)
	shape.Requests[fuse] = 1
	w := overlaid(t)
	pending(w, "web", 1, shape)
	if out := pass(t, w, provision.TriggerBatch); out.Claims != 0 {
		t.Fatalf("%+v", out)
	}
	o := discount("a", "m5.xlarge", "")
	o.Capacity = model.Resources{fuse: 2}
	world.AddOverlay(w.Cluster, o)
	if out := pass(t, w, provision.TriggerConfig); out.Claims != 1 {
		t.Fatalf("%+v", out)
	}
	claim := load(t, w).Claims[0]
	if got := types(w); got[0] != "m5.xlarge" || claim.Capacity[fuse] != 2 ||
		claim.Annotations[model.AnnotationCapacityOverlaid] != "true" ||
		claim.Annotations[model.AnnotationPriceOverlaid] != "" {
		t.Errorf("launched %v, capacity %v, annotations %v", got, claim.Capacity, claim.Annotations)
	}
}

// M17: of two overlays of one weight one is ignored and says why, until it is changed.
func TestF093OverlayConflictIsSaidAndEnds(t *testing.T) {
	w := overlaid(t, discount("a", "m5.xlarge", "0.001"), discount("b", "m5.xlarge", "5"))
	pass(t, w, provision.TriggerConfig)
	if a, b := overlayStatus(w, "a"), overlayStatus(w, "b"); a.Reason != model.OverlayConflict || b.Status != "True" ||
		!strings.Contains(a.Message, "NodeOverlay b") {
		t.Fatalf("a %+v, b %+v", a, b)
	}
	if w.Cluster.EventCount("NodeOverlay", "a", "NodeOverlayValidationFailed") == 0 {
		t.Error("no event says it")
	}
	heavier := discount("a", "m5.xlarge", "0.001")
	heavier.Weight = 11
	world.AddOverlay(w.Cluster, heavier)
	pass(t, w, provision.TriggerResync) // also without a hint: what is said is of an earlier generation
	if a := overlayStatus(w, "a"); a.Status != "True" || a.Generation != 2 {
		t.Errorf("%+v", a)
	}
}
