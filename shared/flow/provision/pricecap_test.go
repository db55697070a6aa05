package provision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// R15: what suits the pods gives no capacity for a moment, and an instance twelve times as large does. The pods wait for
// what suits them; only when they have waited for minutes is the large one bought.
func TestR15HugeInstanceIsNotBoughtForAMomentaryStockOut(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.24xlarge"}})
	for _, capacity := range []string{model.Spot, model.OnDemand} {
		w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large", CapacityType: capacity}, "InsufficientInstanceCapacity")
	}
	pending(w, "web", 1, world.Shape(1000, gib))
	for range 4 {
		w.Tick(30 * time.Second)
		pass(t, w, provision.TriggerResync)
	}
	if instances := w.Fleet.Instances(); len(instances) != 0 {
		t.Fatalf("after two minutes there is %+v", instances)
	}
	reported := ""
	for _, event := range w.Cluster.Events("Pod", "web-0") {
		reported += event.Message + "\n"
	}
	if !strings.Contains(reported, "m5.24xlarge") {
		t.Errorf("nobody was told why: %s", reported)
	}
	for range 20 {
		w.Tick(30 * time.Second)
		pass(t, w, provision.TriggerResync)
	}
	settle(t, w)
	if instances := w.Fleet.Instances(); len(instances) != 1 || instances[0].Type != "m5.24xlarge" {
		t.Errorf("after all that waiting there is %+v", instances)
	}
}

// The same moment, and the capacity comes back: the small instance it is.
func TestR15CapacityThatComesBackIsWaitedFor(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.24xlarge"}})
	for _, capacity := range []string{model.Spot, model.OnDemand} {
		w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large", CapacityType: capacity}, "InsufficientInstanceCapacity")
	}
	pending(w, "web", 1, world.Shape(1000, gib))
	pass(t, w, provision.TriggerResync)
	for _, capacity := range []string{model.Spot, model.OnDemand} {
		w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large", CapacityType: capacity}, "")
	}
	settle(t, w)
	for _, m := range w.Fleet.Instances() {
		if m.Type != "m5.large" {
			t.Errorf("there is a %s", m.Type)
		}
	}
}

// A pool or a pod that names its instance types gets those at once: nothing else is usual for it.
func TestR15NamedTypesAreNotTooExpensive(t *testing.T) {
	for name, named := range map[string]func(*model.Pool, *model.PodShape){
		"by the pool": func(p *model.Pool, _ *model.PodShape) {
			p.Template.Requirements = append(p.Template.Requirements, world.Need(model.LabelInstanceType, "m5.24xlarge", "m6g.large"))
		},
		"by the pod": func(_ *model.Pool, s *model.PodShape) {
			s.NodeSelector = map[string]string{model.LabelInstanceType: "m5.24xlarge"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large", "m5.24xlarge"}})
			w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large"}, "InsufficientInstanceCapacity")
			pending(w, "first", 1, world.Shape(1000, gib))
			pass(t, w, provision.TriggerResync)
			pool, shape := world.Pool("default", "default"), world.Shape(1000, gib)
			named(&pool, &shape)
			w.Cluster.AddPool(pool)
			pending(w, "named", 1, shape)
			pass(t, w, provision.TriggerResync)
			if instances := w.Fleet.Instances(); len(instances) != 1 || instances[0].Type != "m5.24xlarge" {
				t.Errorf("there is %+v", instances)
			}
		})
	}
}
