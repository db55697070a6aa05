package provision_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/world"
)

// R15: what suits the pods gives no capacity for a moment, and a machine twelve times as large does. The pods wait for
// what suits them; only when they have waited for minutes is the large one bought.
func TestR15HugeMachineIsNotBoughtForAMomentaryStockOut(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.24xlarge"}})
	for _, capacity := range []string{model.Spot, model.OnDemand} {
		w.Fleet.Break(model.OfferKey{InstanceType: "m5.large", CapacityType: capacity}, "InsufficientInstanceCapacity")
	}
	pending(w, "web", 1, world.Shape(1000, gib))
	for range 4 {
		w.Tick(30 * time.Second)
		run(t, w, provision.TriggerSweep)
	}
	if machines := w.Fleet.Machines(); len(machines) != 0 {
		t.Fatalf("after two minutes there is %+v", machines)
	}
	told := ""
	for _, event := range w.Cluster.Events("Pod", "web-0") {
		told += event.Message + "\n"
	}
	if !strings.Contains(told, "m5.24xlarge") {
		t.Errorf("nobody was told why: %s", told)
	}
	for range 20 {
		w.Tick(30 * time.Second)
		run(t, w, provision.TriggerSweep)
	}
	settle(t, w)
	if machines := w.Fleet.Machines(); len(machines) != 1 || machines[0].Type != "m5.24xlarge" {
		t.Errorf("after all that waiting there is %+v", machines)
	}
}

// The same moment, and the capacity comes back: the small machine it is.
func TestR15CapacityThatComesBackIsWaitedFor(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.24xlarge"}})
	for _, capacity := range []string{model.Spot, model.OnDemand} {
		w.Fleet.Break(model.OfferKey{InstanceType: "m5.large", CapacityType: capacity}, "InsufficientInstanceCapacity")
	}
	pending(w, "web", 1, world.Shape(1000, gib))
	run(t, w, provision.TriggerSweep)
	for _, capacity := range []string{model.Spot, model.OnDemand} {
		w.Fleet.Break(model.OfferKey{InstanceType: "m5.large", CapacityType: capacity}, "")
	}
	settle(t, w)
	for _, m := range w.Fleet.Machines() {
		if m.Type != "m5.large" {
			t.Errorf("there is a %s", m.Type)
		}
	}
}

// A pool or a pod that names its instance types gets those at once: nothing else is usual for it.
func TestR15NamedTypesAreNotTooDear(t *testing.T) {
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
			w.Fleet.Break(model.OfferKey{InstanceType: "m5.large"}, "InsufficientInstanceCapacity")
			pending(w, "first", 1, world.Shape(1000, gib))
			run(t, w, provision.TriggerSweep)
			pool, shape := world.Pool("default", "default"), world.Shape(1000, gib)
			named(&pool, &shape)
			w.Cluster.AddPool(pool)
			pending(w, "named", 1, shape)
			run(t, w, provision.TriggerSweep)
			if machines := w.Fleet.Machines(); len(machines) != 1 || machines[0].Type != "m5.24xlarge" {
				t.Errorf("there is %+v", machines)
			}
		})
	}
}
