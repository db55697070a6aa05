package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
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

func TestWhatCannotBeValidatedStaysAsItWas(t *testing.T) {
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

// reported records who was notified that nodes may be disrupted.
type reported struct{ keys []string }

func (j *reported) RequestDisruption(_ context.Context, cluster, key string) error {
	j.keys = append(j.keys, cluster+" "+key)
	return nil
}

// F132: kubectl apply of a NodePool sends a config hint within seconds, and the pass it causes finds the drift although the class
// was looked up a moment ago and is left alone. The disruption function is notified once.
func TestF132AChangedNodePoolIsNoticedAtOnce(t *testing.T) {
	w := newWorld(t)
	w.launched()
	evaluate := &reported{}
	config := func(f *Flow, r *Request) { r.Config, f.RequestDisruption = true, evaluate.RequestDisruption }
	w.pass(5*time.Minute, config)
	if w.drifted() != "" || len(evaluate.keys) != 0 {
		t.Fatalf("%q, told %v", w.drifted(), evaluate.keys)
	}
	w.config.Pools[0].Hash = "12"
	out := w.pass(time.Second, config)
	if w.drifted() != "NodePoolDrifted" || out.Resolved != 0 || out.Drifted["NodePoolDrifted"] != 1 || len(w.shown) != 1 || len(evaluate.keys) != 1 {
		t.Errorf("%q: %+v, shown %d, told %v", w.drifted(), out, len(w.shown), evaluate.keys)
	}
	w.pass(time.Second, config)
	if len(evaluate.keys) != 1 || w.asked("Describe") != 0 || len(w.shown) != 0 {
		t.Errorf("no news, and told %v, asked %v", evaluate.keys, w.aws)
	}
	w.config.Pools[0].Hash = "11" // taken back
	if w.pass(time.Second, config); w.drifted() != "" || w.asked("Describe 1") != 1 {
		t.Errorf("%q, asked %v", w.drifted(), w.aws)
	}
}

// F133: requirements that are narrowed drift the claims that do not meet them at once, those and no other; widened again they are
// as before.
func TestF133NarrowedRequirementsDriftIncompatibleClaimsOnly(t *testing.T) {
	w := newWorld(t)
	w.launched()
	other := w.ledger.Claims[0]
	other.Name, other.InstanceID, other.Zone = "b", "i-2", "us-west-2b"
	w.ledger.Claims[0].Zone = "us-west-2a"
	w.ledger.Claims = append(w.ledger.Claims, other)
	w.instances = append(w.instances, w.instances[0])
	w.instances[1].ID = "i-2"
	w.pass(5*time.Minute, nil)
	w.config.Pools[0].Template.Requirements = []model.Requirement{{Key: model.LabelZone, Operator: model.In, Values: []string{"us-west-2a"}}}
	w.pass(time.Second, nil)
	if a, b := w.ledger.Claims[0].Drift, w.ledger.Claims[1].Drift; a != "" || b != "RequirementsDrifted" {
		t.Errorf("%q and %q", a, b)
	}
	w.config.Pools[0].Template.Requirements = nil
	if w.pass(time.Second, nil); w.ledger.Claims[1].Drift != "" {
		t.Errorf("%q", w.ledger.Claims[1].Drift)
	}
}

// What needs no look at the instance does not wait for EC2.
func TestF132ByTheNodePoolWhileEC2IsDown(t *testing.T) {
	w := newWorld(t)
	w.launched()
	w.fail["Describe"] = fault.New(fault.Internal, "", "down")
	w.config.Pools[0].Hash = "12"
	if w.pass(5*time.Minute, nil); w.drifted() != "NodePoolDrifted" {
		t.Errorf("%q", w.drifted())
	}
	w.config.Pools[0].Hash = "11"
	if w.pass(time.Second, nil); w.drifted() != "NodePoolDrifted" {
		t.Errorf("taken back without a look: %q", w.drifted())
	}
}

// F134: a type that is sold no more drifts its instances an hour after they were made; a catalog that cannot be read, or has nothing
// at all, drifts nobody.
func TestF134DriftByMissingType(t *testing.T) {
	w := newWorld(t)
	w.launched()
	claim := &w.ledger.Claims[0]
	claim.CreatedUnix, claim.Zone = w.now, "us-west-2a"
	all := w.instanceTypes
	w.instanceTypes = slices.DeleteFunc(slices.Clone(all), func(m model.InstanceTypeInfo) bool { return m.Name == "m5.large" })
	if w.pass(50*time.Minute, nil); w.drifted() != "" {
		t.Fatalf("a young machine: %q", w.drifted())
	}
	without := w.instanceTypes
	w.instanceTypes = nil
	if w.pass(20*time.Minute, nil); w.drifted() != "" {
		t.Fatalf("an empty catalogue: %q", w.drifted())
	}
	w.instanceTypes = without
	w.fail["Types"] = fault.New(fault.Internal, "", "down")
	if w.pass(5*time.Minute, nil); w.drifted() != "" {
		t.Fatalf("no catalogue: %q", w.drifted())
	}
	delete(w.fail, "Types")
	if w.pass(5*time.Minute, nil); w.drifted() != "InstanceTypeNotFound" {
		t.Errorf("%q", w.drifted())
	}
	w.instanceTypes = all
	if w.pass(5*time.Minute, nil); w.drifted() != "" {
		t.Errorf("sold again: %q", w.drifted())
	}
}

// F135: what says how nodes behave is no drift.
func TestF135BehavioralFieldsLeaveClaimsAlone(t *testing.T) {
	w := newWorld(t)
	w.launched()
	w.pass(5*time.Minute, nil)
	pool := &w.config.Pools[0]
	pool.Weight, pool.Limits, pool.Generation = 7, model.Resources{model.CPU: 1}, 9
	pool.Disruption = model.Disruption{Policy: "WhenEmpty", Budgets: []model.Budget{{Nodes: "0"}}}
	if out := w.pass(5*time.Minute, nil); w.drifted() != "" || len(out.Drifted) != 0 || w.ledger.Claims[0].Version != 1 {
		t.Errorf("%+v", w.ledger.Claims[0])
	}
}

// S31: the template is edited while an instance of the older one is being launched. Its claim says what it was launched from, so that
// the edit shows as soon as it has an instance, and the instances launched afterwards have not drifted.
func TestS31AnEditDuringALaunchIsDrift(t *testing.T) {
	w := newWorld(t)
	w.launched()
	claim := &w.ledger.Claims[0]
	after := *claim
	after.Name, after.InstanceID, after.Annotations = "b", "i-2", maps.Clone(claim.Annotations)
	after.Annotations[model.AnnotationPoolHash] = "12"
	claim.State, claim.InstanceID = model.Intended, ""
	w.config.Pools[0].Hash = "12" // while CreateFleet is under way
	w.ledger.Claims = append(w.ledger.Claims, after)
	w.instances = append(w.instances, w.instances[0])
	w.instances[1].ID = "i-2"
	if w.pass(5*time.Minute, nil); w.drifted() != "" {
		t.Fatalf("a claim without a machine: %q", w.drifted())
	}
	w.ledger.Claims[0].State, w.ledger.Claims[0].InstanceID = model.Launched, "i-1"
	w.pass(time.Second, nil)
	if a, b := w.ledger.Claims[0].Drift, w.ledger.Claims[1].Drift; a != "NodePoolDrifted" || b != "" {
		t.Errorf("%q and %q", a, b)
	}
}

// S31, R45, F136: claims of a build with other rules: no drift, no word to the disruption function, and the log says how many there were.
func TestS31_R45_F136UpgradeWithOldHashesIsReportedAndNoDrift(t *testing.T) {
	w := newWorld(t)
	w.launched()
	first := w.ledger.Claims[0]
	w.ledger.Claims, w.instances = nil, nil
	for i := range 50 {
		claim := first
		claim.Name, claim.InstanceID = fmt.Sprintf("c%02d", i), fmt.Sprintf("i-%02d", i)
		claim.Annotations = map[string]string{
			model.AnnotationPoolHash: "old", model.AnnotationPoolHashVersion: "joiner-v0", model.AnnotationClassHash: "old", model.AnnotationClassHashVersion: "joiner-v0",
		}
		w.ledger.Claims = append(w.ledger.Claims, claim)
		w.instances = append(w.instances, model.Instance{ID: claim.InstanceID, State: "running", SubnetID: "subnet-a", SecurityGroups: []string{"sg-1"}})
	}
	evaluate := &reported{}
	out := w.pass(5*time.Minute, func(f *Flow, _ *Request) { f.RequestDisruption = evaluate.RequestDisruption })
	if len(out.Drifted) != 0 || out.Rehashed != 50 || len(evaluate.keys) != 0 {
		t.Errorf("%+v, told %v", out, evaluate.keys)
	}
	if out := w.pass(5*time.Minute, nil); len(out.Drifted) != 0 || out.Rehashed != 0 {
		t.Errorf("at the next look: %+v", out)
	}
	for _, claim := range w.ledger.Claims {
		if claim.Drift != "" || claim.Annotations[model.AnnotationPoolHash] != "11" {
			t.Errorf("%s: %q, %v", claim.Name, claim.Drift, claim.Annotations)
		}
	}
}
