package disruption

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// near has a pod run only where pods of an app are.
func near(key, app string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.PodAffinity = []model.PodTerm{{TopologyKey: key, Selector: &model.Selector{MatchLabels: map[string]string{"app": app}}}}
	}
}

// endingIn makes a node of the zone that is being deleted.
func endingIn(zone string) func(*model.Node, *model.Claim) {
	return func(n *model.Node, c *model.Claim) {
		n.DeletedUnix, n.Labels[model.LabelZone], c.Zone, c.State = testNow-30, zone, zone, model.Draining
	}
}

// A pod that must be near others is moved only to where those are, not to where they are yet to come: kube-scheduler
// would let it in nowhere, and where they wait for it in turn none of them ever again.
func TestPodsAreMovedOnlyNearPodsThatAreThere(t *testing.T) {
	build := func() *world {
		return newWorld().pool("general").node("a", "general", sized("m5.2xlarge", model.OnDemand)).running("web", "a", 8).node("give", "general")
	}
	zoned, hosted := near(model.LabelZone, "cache"), near(model.LabelHostname, "cache")
	for name, c := range map[string]struct {
		w     *world
		given bool
	}{
		"they come from another zone":     {build().running("cache", "give", 1, zoned).node("ends", "general", endingIn("b")).running("cache", "ends", 1, zoned), false},
		"they come from the same zone":    {build().running("cache", "give", 1, zoned).node("ends", "general", endingIn("a")).running("cache", "ends", 1, zoned), true},
		"they wait":                       {build().running("cache", "give", 1, zoned).pending("cache", 1, zoned), false},
		"others of them are there":        {build().running("cache", "give", 1, zoned).running("cache", "a", 1, zoned).pending("cache", 1, zoned), true},
		"they come to the node":           {build().running("api", "give", 1, hosted).running("cache", "give", 1).node("ends", "general", endingIn("a")).running("cache", "ends", 1), true},
		"they alone come to the node":     {build().running("api", "give", 1, hosted).node("ends", "general", endingIn("a")).running("cache", "ends", 1), false},
		"they are on the node":            {build().running("api", "give", 1, hosted).running("cache", "a", 1), true},
		"nobody else is there or to come": {build().running("cache", "give", 2, zoned), true},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Plan(c.w.in)
			if c.given {
				wantGiven(t, plan, model.ReasonUnderutilized, "give")
			} else {
				wantGiven(t, plan, model.ReasonUnderutilized)
			}
		})
	}
}

// A node that has drifted waits for such pods, too.
func TestPodsOfDriftedNodesAreMovedOnlyNearPodsThatAreThere(t *testing.T) {
	for zone, want := range map[string][]string{"a": {"give"}, "b": nil} {
		w := newWorld().pool("general", never).node("a", "general", sized("m5.2xlarge", model.OnDemand)).running("web", "a", 8)
		w.node("give", "general", drifted(testNow-60)).running("cache", "give", 1, near(model.LabelZone, "cache"))
		w.node("ends", "general", endingIn(zone)).running("cache", "ends", 1, near(model.LabelZone, "cache"))
		wantGiven(t, Plan(w.in), model.ReasonDrifted, want...)
	}
}

// Pods may be the first where only headroom is yet to come: that is no pod.
func TestPodsAreMovedWhereOnlyHeadroomIsToCome(t *testing.T) {
	w := newWorld().pool("general").node("a", "general", sized("m5.2xlarge", model.OnDemand)).running("web", "a", 8).node("give", "general")
	w.running("cache", "give", 1, near(model.LabelZone, "cache")).pending("cache", 1, cpu(2500), near(model.LabelZone, "cache"))
	w.in.Snapshot.Pods[len(w.in.Snapshot.Pods)-1].Buffer = "room"
	wantGiven(t, Plan(w.in), model.ReasonUnderutilized, "give")
}

// Pods that wait for an instance stay near pods that are yet to come: nothing moved takes their place or keeps nodes for them.
func TestPodsThatWaitGoOnWaitingNearPodsToCome(t *testing.T) {
	w := newWorld().pool("general").node("a", "general", sized("m5.2xlarge", model.OnDemand)).running("web", "a", 8).node("give", "general").running("plain", "give", 1)
	w.node("ends", "general", endingIn("b")).running("cache", "ends", 1).pending("near", 1, cpu(12_000), near(model.LabelZone, "cache"))
	w.in.Claims = append(w.in.Claims, model.Claim{Name: "coming", Pool: "general", Class: "default", State: model.Launched, InstanceType: "m5.4xlarge", Zone: "a", CapacityType: model.OnDemand,
		Allocatable: model.Resources{model.CPU: 15_000, model.Memory: 60 << 30, model.Pods: 50}, Pods: []model.PodRef{{Namespace: "default", Name: "near-0", UID: "uid-near-0"}}})
	wantGiven(t, Plan(w.in), model.ReasonUnderutilized, "give")
}

// far keeps a pod out of the zones of pods of an app.
func far(app string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.PodAntiAffinity = []model.PodTerm{{TopologyKey: model.LabelZone, Selector: &model.Selector{MatchLabels: map[string]string{"app": app}}}}
	}
}

// A pod that must be far from others is not moved to where those still are, though they are about to leave: kube-scheduler
// does not let it in before they have, and a node that ends may take hours. It makes no difference whose rule it is.
func TestK1PodsAreNotMovedWhereOthersAreYetToLeave(t *testing.T) {
	inA := func(s *model.PodShape) { s.NodeSelector = map[string]string{model.LabelZone: "a"} }
	build := func(ends string, own, foreign func(*model.PodShape)) *world {
		w := zoned().pool("general")
		for _, zone := range []string{"a", "b"} {
			w.node(zone, "general", sized("m5.2xlarge", model.OnDemand), inZone(zone), stays).running("web", zone, 6, cpu(650))
		}
		w.node("give", "general", inZone("c")).running("api", "give", 1, cpu(3500), own)
		return w.node("ends", "general", endingIn(ends)).running("cache", "ends", 1, inA, foreign)
	}
	waiting := func(ends string) *world { // theirs is on its way
		w := build(ends, far("cache"), cpu(12_000))
		w.in.Claims = append(w.in.Claims, model.Claim{Name: "coming", Pool: "general", Class: "default", State: model.Launched, InstanceType: "m5.4xlarge", Zone: "a", CapacityType: model.OnDemand,
			Allocatable: model.Resources{model.CPU: 15_000, model.Memory: 60 << 30, model.Pods: 50}, Pods: []model.PodRef{{Namespace: "default", Name: "cache-ends-0", UID: "uid-cache-ends-0"}}})
		return w
	}
	none := func(*model.PodShape) {}
	for name, c := range map[string]struct {
		w     *world
		given bool
	}{
		"it must be far from them, and they leave its zone":   {build("b", far("cache"), none), false},
		"it must be far from them, and they never were there": {build("a", far("cache"), none), true},
		"they must be far from it, and leave its zone":        {build("b", none, far("api")), false},
		"they must be far from it, and never were there":      {build("a", none, far("api")), true},
		"nobody must be far":                                  {build("b", none, none), true},
		"they wait on nodes of its zone for a machine":        {waiting("b"), false},
		"they wait elsewhere for a machine":                   {waiting("a"), true},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Plan(c.w.in)
			if c.given {
				wantGiven(t, plan, model.ReasonUnderutilized, "give")
			} else {
				wantGiven(t, plan, model.ReasonUnderutilized)
			}
		})
	}
}
