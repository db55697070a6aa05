package catalog

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// launched gives the world a claim that is just what would be launched now, with its instance.
func (w *world) launched() {
	w.pass(0, nil)
	class := w.config.Classes[0].Class
	w.ledger.Claims = []model.Claim{{
		Name: "a", Pool: "pool", Class: "default", State: model.Initialized, Version: 1, InstanceID: "i-1", InstanceType: "m5.large", ImageID: "ami-1-amd64",
		CapacityType: model.OnDemand, ObjectUID: "o-1", NodeName: "node-a", NodeUID: "n-1",
		Annotations: map[string]string{
			model.AnnotationPoolHash: "11", model.AnnotationPoolHashVersion: model.PoolHashVersion,
			model.AnnotationClassHash: class.HashFor(w.reg.CA), model.AnnotationClassHashVersion: model.ClassHashVersion,
		},
	}}
	w.instances = []model.Instance{{ID: "i-1", State: "running", SubnetID: "subnet-a", SecurityGroups: []string{"sg-1"}}}
}

func (w *world) drifted() string { return w.ledger.Claims[0].Drift }

func TestNC28AMIDriftIsRecordedShownAndTakenBack(t *testing.T) {
	w := newWorld(t)
	w.launched()
	if w.pass(5*time.Minute, nil); w.drifted() != "" || w.asked("Describe 1") != 1 || len(w.shown) != 0 {
		t.Fatalf("%q %v", w.drifted(), w.aws)
	}
	w.class().Images = []model.SelectorTerm{{ID: "ami-2"}}
	w.class().Generation++
	out := w.pass(time.Minute, nil)
	claim := w.ledger.Claims[0]
	if claim.Drift != "AMIDrift" || claim.DriftUnix != w.now || out.Drifted["AMIDrift"] != 1 || len(w.shown) != 1 || w.shown[0].Drift != "AMIDrift" {
		t.Errorf("%+v, shown %+v", claim, w.shown)
	}
	since := w.now
	if w.pass(5*time.Minute, nil); w.ledger.Claims[0].DriftUnix != since || w.ledger.Claims[0].Version != 2 {
		t.Error("the same drift is written again")
	}
	w.class().Images = []model.SelectorTerm{{ID: "ami-1"}}
	w.class().Generation++
	if w.pass(time.Minute, nil); w.drifted() != "" || len(w.shown) != 1 || w.shown[0].Drift != "" {
		t.Errorf("%+v", w.ledger.Claims[0])
	}
}

func TestWhatCannotBeJudgedStaysAsItWas(t *testing.T) {
	w := newWorld(t)
	w.launched()
	w.fail["Describe"] = fault.New(fault.Internal, "", "down")
	w.class().Images = []model.SelectorTerm{{ID: "ami-2"}}
	w.class().Generation++
	if w.pass(time.Minute, nil); w.drifted() != "" {
		t.Error("drift without a look at EC2")
	}
	delete(w.fail, "Describe")
	if w.pass(5*time.Minute, nil); w.drifted() != "AMIDrift" {
		t.Errorf("%q", w.drifted())
	}
	w.instances = nil
	w.class().Images = []model.SelectorTerm{{ID: "ami-1"}}
	w.class().Generation++
	if w.pass(time.Minute, nil); w.drifted() != "AMIDrift" {
		t.Error("an instance EC2 does not show says nothing")
	}
}

func TestCT05ClaimAndNodeFallBackToOnDemandWithTheirReservation(t *testing.T) {
	w := newWorld(t)
	w.launched()
	claim := &w.ledger.Claims[0]
	claim.CapacityType, claim.Reservation = model.Reserved, "cr-1"
	claim.Labels = map[string]string{model.LabelReservationID: "cr-1", model.LabelReservationType: "default", model.LabelInterruptible: "false", "team": "a"}
	w.instances[0].Reservation = "cr-1"
	w.examined = func(_ model.Class, s *model.ClassStatus) error {
		s.Reservations = []model.Reservation{{ID: "cr-1"}}
		return nil
	}
	if w.pass(5*time.Minute, nil); w.ledger.Claims[0].CapacityType != model.Reserved || len(w.patched) != 0 || w.drifted() != "" {
		t.Fatalf("%+v", w.ledger.Claims[0])
	}
	w.examined, w.instances[0].Reservation = nil, "" // it ended
	w.pass(5*time.Minute, nil)
	got := w.ledger.Claims[0]
	if got.CapacityType != model.OnDemand || got.Reservation != "" || len(got.Labels) != 1 || got.Drift != "" {
		t.Errorf("%+v", got)
	}
	if len(w.patched) != 1 || w.patched[0].Labels[model.LabelCapacityType] != model.OnDemand || len(w.patched[0].RemoveLabels) != 3 || len(w.shown) != 1 {
		t.Errorf("%+v, %+v", w.patched, w.shown)
	}
}

func TestNC27HashesOfOtherRulesAreWrittenAnew(t *testing.T) {
	w := newWorld(t)
	w.launched()
	w.ledger.Claims[0].Annotations[model.AnnotationClassHash], w.ledger.Claims[0].Annotations[model.AnnotationClassHashVersion] = "old", "v5"
	if w.pass(5*time.Minute, nil); w.drifted() != "" || w.ledger.Claims[0].Annotations[model.AnnotationClassHashVersion] != model.ClassHashVersion ||
		w.ledger.Claims[0].Annotations[model.AnnotationClassHash] != w.class().HashFor(w.reg.CA) || len(w.shown) != 1 {
		t.Errorf("%+v", w.ledger.Claims[0])
	}
}
