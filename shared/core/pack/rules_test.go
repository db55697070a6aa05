package pack

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

func byField(operator model.Operator, name string) func(*model.PodShape) {
	return func(s *model.PodShape) {
		s.RequiredNodeAffinity = []model.NodeTerm{{Fields: []model.Requirement{{Key: "metadata.name", Operator: operator, Values: []string{name}}}}}
	}
}

func TestAPodThatNamesANodeGetsThatOne(t *testing.T) {
	w := newWorld(32).pool("general", nil).node("n1", nil).node("n2", nil).pods("web", 1, byField(model.In, "n2"))
	if plan := w.plan(); nodeOf(plan, "web-00000") != "n2" || len(plan.Claims) != 0 {
		t.Errorf("nominations %+v, %d claims", plan.Nominations, len(plan.Claims))
	}
}

func TestAPodThatRefusesANodeGetsAnyOther(t *testing.T) {
	w := newWorld(32).pool("general", nil).node("n1", nil).pods("web", 1, byField(model.NotIn, "n1"))
	if plan := w.plan(); len(plan.Claims) != 1 {
		t.Errorf("nominations %+v, %d claims, want one", plan.Nominations, len(plan.Claims))
	}
	w.node("n2", nil)
	if plan := w.plan(); nodeOf(plan, "web-00000") != "n2" {
		t.Errorf("nominations %+v", plan.Nominations)
	}
}

func TestNothingIsMadeForAClaimNobodyMakesAVolumeFor(t *testing.T) {
	w := newWorld(32).pool("general", nil).node("n1", nil).storage("local", func(s *model.Storage) { s.Provisioner = "kubernetes.io/no-provisioner" })
	w.pods("db", 1, nil).withClaim("db", func(_ int, v *model.Volume) { v.Class = "local" })
	plan := w.sound(t)
	if placed(plan) != 0 {
		t.Errorf("placed: %+v", plan)
	}
	refusedWith(t, plan, "db-00000", VolumeConflict)
}

// The volume of a claim is made where the first of its pods goes, and the others must go there too.
func TestPodsThatShareAClaimYetToBeMadeStayInOneZone(t *testing.T) {
	w := newWorld(64).pool("general", nil).zoned(2500, "a", "b").storage("standard", func(s *model.Storage) { s.Default = true })
	w.pods("web", 6, cpu(1000)).withClaim("web", func(_ int, v *model.Volume) {})
	for i := range w.in.Snapshot.Pods {
		w.in.Snapshot.Pods[i].Claims = w.in.Snapshot.Pods[0].Claims
	}
	plan := w.complete(t)
	seen := make(map[string]bool)
	for _, zone := range w.domainOf(plan, model.LabelZone) {
		seen[zone] = true
	}
	if len(seen) != 1 {
		t.Errorf("pods in the zones %v, want one zone", seen)
	}
}

// A spread counts domains that nodes are in: where no on-demand node comes of the plan, spot alone is in balance.
func TestARuleIsHeldAgainstThePlanThatCameOfIt(t *testing.T) {
	ofCache := func(s *model.Spread) { s.Selector = ofApp("cache") }
	w := newWorld(64).pool("general", nil).pods("cache", 3, asPod(appPod("cache"), selecting(model.LabelCapacityType, model.Spot)))
	w.pods("web", 1, asPod(appPod("web"), spreadBy(model.LabelCapacityType, 1, ofCache), nearApp(model.LabelCapacityType, "cache")))
	if plan := w.complete(t); placed(plan) != 4 {
		t.Errorf("%d of 4 pods placed", placed(plan))
	}
}
