package provision_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// two returns a world with a second class and pool, "other", for arm64; the first is for amd64. One pod asks for each.
func two(t *testing.T) *world.World {
	t.Helper()
	w := world.New(world.Options{Types: []string{"m5.large", "m6g.large"}})
	for name, arch := range map[string]string{"default": "amd64", "other": "arm64"} {
		w.Cluster.AddClass(world.Class(name))
		w.Cluster.AddPool(world.Pool(name, name, world.Need(model.LabelArch, arch)))
		shape := world.Shape(900, gib)
		shape.NodeSelector = map[string]string{model.LabelArch: arch}
		w.Cluster.AddPods(name, 1, shape)
	}
	w.Tick(time.Second)
	return w
}

// types returns the types of the instances launched, sorted.
func types(w *world.World) []string {
	var out []string
	for _, instance := range w.Fleet.Instances() {
		out = append(out, instance.Type)
	}
	slices.Sort(out)
	return out
}

func eventOf(events []model.Event, reason string) model.Event {
	for _, event := range events {
		if event.Reason == reason {
			return event
		}
	}
	return model.Event{}
}

func TestClassThatIsRefusedStopsOnlyItself(t *testing.T) {
	cases := map[string]error{
		"denied":  fault.New(fault.Denied, "UnauthorizedOperation", "not authorized to use the image"),
		"invalid": fault.New(fault.Invalid, "InvalidAMIID.NotFound", "the image does not exist"),
	}
	for name, refusal := range cases {
		t.Run(name, func(t *testing.T) {
			w := two(t)
			w.Fleet.RefuseNext(refusal) // of the first launch in plan order
			outcome := pass(t, w, provision.TriggerBatch)
			if outcome.Claims != 1 || outcome.Unschedulable != 1 {
				t.Fatalf("%+v", outcome)
			}
			refused, served := "default", "other"
			if slices.Equal(types(w), []string{"m5.large"}) {
				refused, served = served, refused
			}
			event := eventOf(w.Cluster.Events("EC2NodeClass", refused), "LaunchFailed")
			if !event.Warning || !strings.Contains(event.Message, fault.CodeOf(refusal)) {
				t.Errorf("the class is told %+v", event)
			}
			if reported := w.Cluster.Events("EC2NodeClass", served); len(reported) != 0 {
				t.Errorf("the other class is told %+v", reported)
			}
			why := eventOf(w.Cluster.Events("Pod", refused+"-0"), "FailedScheduling")
			if !strings.Contains(why.Message, fault.CodeOf(refusal)) {
				t.Errorf("the pod is told %+v", w.Cluster.Events("Pod", refused+"-0"))
			}
			settle(t, w)
			sound(t, w)
		})
	}
}

// The same refusal among the errors of an answer.
func TestClassThatEveryPoolRefusesStopsOnlyItself(t *testing.T) {
	w := two(t)
	w.Fleet.Break(model.OfferingKey{InstanceType: "m5.large"}, "InvalidParameterValue")
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Claims != 1 || !slices.Equal(types(w), []string{"m6g.large"}) || w.Fleet.Calls() != 2 {
		t.Fatalf("%+v, %v, %d calls", outcome, types(w), w.Fleet.Calls())
	}
	events := w.Cluster.Events("EC2NodeClass", "default")
	if len(events) != 1 || !strings.Contains(events[0].Message, "InvalidParameterValue") {
		t.Errorf("the class is told %+v, want it once", events)
	}
	if len(load(t, w).UnavailableOfferings) != 0 {
		t.Error("a wrong request marked offers")
	}
}

func TestClassWithoutSubnetTellsItsPoolAndOthersGoOn(t *testing.T) {
	w := two(t)
	lost := world.Class("other")
	lost.Subnets = []model.SelectorTerm{{Tags: map[string]string{"karpenter.sh/discovery": "nowhere"}}}
	w.Cluster.AddClass(lost)
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Claims != 1 || outcome.Unschedulable != 1 || !slices.Equal(types(w), []string{"m5.large"}) {
		t.Fatalf("%+v", outcome)
	}
	ready := w.Cluster.PoolCondition("other", "NodeClassReady")
	if ready.Status != "False" || ready.Reason != "SubnetsNotFound" || !strings.Contains(ready.Message, "spec.subnetSelectorTerms") {
		t.Errorf("the pool's condition is %+v", ready)
	}
	if good := w.Cluster.PoolCondition("default", "NodeClassReady"); good.Status != "True" {
		t.Errorf("the other pool's condition is %+v", good)
	}
	if problems := w.Cluster.Class("other").Status.Problems; len(problems) != 1 || problems[0].Condition != "SubnetsReady" {
		t.Errorf("the class shows %+v", problems)
	}
	if why := eventOf(w.Cluster.Events("Pod", "other-0"), "FailedScheduling"); !strings.Contains(why.Message, "spec.subnetSelectorTerms") {
		t.Errorf("the pod is told %+v", why)
	}
	w.Cluster.AddClass(world.Class("other")) // corrected
	settle(t, w)
	if ready := w.Cluster.PoolCondition("other", "NodeClassReady"); ready.Status != "True" {
		t.Errorf("after the correction the pool's condition is %+v", ready)
	}
	sound(t, w)
}

func TestPoolThatIsInvalidIsToldAndOthersGoOn(t *testing.T) {
	w := two(t)
	broken := world.Pool("other", "other")
	broken.Invalid = []string{"spec.template.spec.requirements[0].operator \"Sometimes\" is no operator; use In, NotIn, Exists or DoesNotExist"}
	w.Cluster.AddPool(broken)
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Claims != 1 || outcome.Unschedulable != 1 {
		t.Fatalf("%+v", outcome)
	}
	valid := w.Cluster.PoolCondition("other", "ValidationSucceeded")
	if valid.Status != "False" || valid.Reason != "NodePoolValidationFailed" || valid.Message != broken.Invalid[0] {
		t.Errorf("the pool's condition is %+v", valid)
	}
	if event := eventOf(w.Cluster.Events("NodePool", "other"), "NodePoolValidationFailed"); event.Message != broken.Invalid[0] || !event.Warning {
		t.Errorf("the pool is told %+v", event)
	}
	if good := w.Cluster.PoolCondition("default", "ValidationSucceeded"); good.Status != "True" {
		t.Errorf("the other pool's condition is %+v", good)
	}
}

func TestPoolWhoseClassIsMissingIsToldItsName(t *testing.T) {
	w := start(t, world.Options{})
	w.Cluster.AddPool(world.Pool("stray", "typo"))
	pending(w, "web", 1, world.Shape(900, gib))
	if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 1 {
		t.Fatalf("%+v", outcome)
	}
	if c := w.Cluster.PoolCondition("stray", "NodeClassReady"); c.Status != "False" || c.Reason != "NodeClassNotFound" || !strings.Contains(c.Message, "typo") {
		t.Errorf("%+v", c)
	}
}

// A class's answer of before stays good while nothing can be found out, and a class nothing is known of is Unknown.
func TestClassThatCannotBeResolvedKeepsWhatWasKnown(t *testing.T) {
	w := start(t, world.Options{})
	pass(t, w, provision.TriggerConfig)
	before := w.Cluster.Class("default").Status
	w.Cluster.AddClass(world.Class("fresh"))
	w.Cluster.AddPool(world.Pool("fresh", "fresh"))
	w.Tick(10 * time.Minute)
	w.Catalog.Fail(fault.New(fault.Throttled, "RequestLimitExceeded", "slow down"))
	pass(t, w, provision.TriggerConfig)
	if now := w.Cluster.Class("default").Status; len(now.Problems) != 0 || now.ResolvedUnix != before.ResolvedUnix || len(now.Subnets) != 3 {
		t.Errorf("the class shows %+v", now)
	}
	if c := w.Cluster.PoolCondition("fresh", "NodeClassReady"); c.Status != "Unknown" {
		t.Errorf("the pool of the class nothing is known of: %+v", c)
	}
}

// A catalog that cannot be read keeps pods waiting, and nothing else.
func TestNodesAreRegisteredWhileTheCatalogCannotBeRead(t *testing.T) {
	w := start(t, world.Options{})
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	w.Tick(40 * time.Second)
	pending(w, "late", 1, world.Shape(60_000, gib))
	w.Catalog.Fail(fault.New(fault.Internal, "Unavailable", "no answer"))
	outcome, err := w.Process(world.Fault{}).Run(t.Context(), provision.TriggerBatch)
	if err == nil || outcome.Registered != 1 || outcome.Initialized != 1 {
		t.Fatalf("%+v, %v; want an error and the node initialised all the same", outcome, err)
	}
	w.Catalog.Fail(nil)
	settle(t, w)
	sound(t, w)
}
