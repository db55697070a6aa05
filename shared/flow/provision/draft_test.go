package provision_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

const efa = "vpc.amazonaws.com/efa"

// recorded writes what a class resolves to into the ledger, with changes, as the catalog function does.
func recorded(t *testing.T, w *world.World, class string, change func(*model.ClassStatus)) {
	t.Helper()
	pass(t, w, provision.TriggerConfig)
	snapshot, err := w.Cluster.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(snapshot.Classes, func(c model.Class) bool { return c.Name == class })
	record := model.ClassRecord{Name: class, UID: snapshot.Classes[at].UID, Status: snapshot.Classes[at].Status}
	record.Status.ObservedGeneration, record.Status.ResolvedUnix = snapshot.Classes[at].Generation, w.Clock.Now().Unix()
	for _, known := range load(t, w).Classes {
		if known.Name == class {
			record.Version = known.Version
		}
	}
	change(&record.Status)
	if _, err := w.Ledger.PutClass(t.Context(), world.Name, record); err != nil {
		t.Fatal(err)
	}
}

// launches returns the launches whose templates were made, by way of a connector in between.
type watched struct {
	provision.Connector
	launches *[]model.Launch
}

func (c watched) Connect(ctx context.Context, reg model.Registration) (provision.Clients, error) {
	site, err := c.Connector.Connect(ctx, reg)
	site.Fleet = watchedFleet{site.Fleet, c.launches}
	return site, err
}

type watchedFleet struct {
	provision.Fleet
	launches *[]model.Launch
}

func (f watchedFleet) PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error) {
	*f.launches = append(*f.launches, launch)
	return f.Fleet.PrepareRequest(ctx, launch)
}

// launched runs the flow once and returns what it asked for.
func launched(t *testing.T, w *world.World, change func(*provision.Settings)) ([]model.Launch, provision.Outcome) {
	t.Helper()
	var launches []model.Launch
	flow := w.Process(world.Fault{}).Flow()
	flow.Connector = watched{flow.Connector, &launches}
	if change != nil {
		change(&flow.Settings)
	}
	outcome, err := flow.Run(t.Context(), provision.Request{
		Cluster: world.Name, Trigger: provision.TriggerBatch, Owner: fmt.Sprint("watched", w.Clock.Now()), Deadline: w.Clock.Now().Add(world.InvocationTimeout),
	})
	if err != nil {
		t.Fatal(err)
	}
	return launches, outcome
}

// The catalog function's record is what is launched by; without a fresh one of this generation the class is resolved here.
func TestRecordOfTheCatalogFunctionIsUsedWhileItIsFresh(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.Subnets = []model.Subnet{{ID: "subnet-recorded", Zone: "us-west-2b", FreeAddresses: 500}}
	})
	w.Catalog.Fail(nil)
	pending(w, "web", 1, world.Shape(900, gib))
	launches, _ := launched(t, w, nil)
	if len(launches) != 1 || launches[0].Templates[0].Overrides[0].SubnetID != "subnet-recorded" {
		t.Fatalf("%+v", launches)
	}
	w.Clock.Advance(6 * time.Minute)
	pending(w, "late", 40, world.Shape(900, gib))
	launches, _ = launched(t, w, nil)
	if len(launches) == 0 || launches[0].Templates[0].Overrides[0].SubnetID == "subnet-recorded" {
		t.Errorf("a record of %v ago was used: %+v", 6*time.Minute, launches)
	}
}

func TestRecordWithAProblemStopsItsClass(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.Problems = []model.ClassProblem{{Condition: "ValidationSucceeded", Reason: "CreateFleetAuthCheckFailed", Message: "not permitted"}}
	})
	pending(w, "web", 1, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Claims != 0 || outcome.Unschedulable != 1 {
		t.Errorf("%+v", outcome)
	}
}

// Launches that follow each other take turns, by what each is known to have taken, in this run and before.
func TestLA07LaunchesAlternateBetweenSubnets(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelZone, "us-west-2a"), world.Need(model.LabelCapacityType, model.OnDemand)))
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.Subnets = []model.Subnet{{ID: "s-1", Zone: "us-west-2a", FreeAddresses: 100}, {ID: "s-2", Zone: "us-west-2a", FreeAddresses: 90}}
	})
	subnets := func(n int) (used []string) {
		pending(w, fmt.Sprint("web", w.Clock.Now().Unix()), n, world.Shape(1900, gib))
		launches, _ := launched(t, w, func(s *provision.Settings) { s.ClaimsPerCall = 1 })
		for _, launch := range launches {
			used = append(used, launch.Templates[0].Overrides[0].SubnetID)
		}
		return used
	}
	// 29 addresses each: 100/90, 71/90, 71/61.
	if used := subnets(3); !slices.Equal(used, []string{"s-1", "s-2", "s-1"}) {
		t.Errorf("one run's launches go to %v", used)
	}
	// 42/61 are left.
	if used := subnets(1); !slices.Equal(used, []string{"s-2"}) {
		t.Errorf("the next run's launch goes to %v", used)
	}
	// What is looked at anew says what is left by itself.
	w.Clock.Advance(time.Second)
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.Subnets = []model.Subnet{{ID: "s-1", Zone: "us-west-2a", FreeAddresses: 95}, {ID: "s-2", Zone: "us-west-2a", FreeAddresses: 90}}
	})
	if used := subnets(1); !slices.Equal(used, []string{"s-1"}) {
		t.Errorf("after a fresh look the launch goes to %v", used)
	}
}

func TestLA07FailureGivesAddressesBack(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelZone, "us-west-2a"), world.Need(model.LabelCapacityType, model.OnDemand)))
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.Subnets = []model.Subnet{{ID: "s-1", Zone: "us-west-2a", FreeAddresses: 100}, {ID: "s-2", Zone: "us-west-2a", FreeAddresses: 99}}
	})
	pending(w, "web", 1, world.Shape(1900, gib))
	w.Fleet.RefuseNextWith("RequestLimitExceeded")
	if launches, _ := launched(t, w, nil); len(launches) != 1 || launches[0].Templates[0].Overrides[0].SubnetID != "s-1" {
		t.Fatalf("%+v", launches)
	}
	w.Tick(time.Minute)
	if launches, _ := launched(t, w, nil); len(launches) != 1 || launches[0].Templates[0].Overrides[0].SubnetID != "s-1" {
		t.Errorf("after a failure: %+v", launches)
	}
}

// Claims planned alike stay together while their subnets have room.
func TestLA11LikeClaimsAreOneLaunch(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 20, world.Shape(1900, gib))
	launches, outcome := launched(t, w, nil)
	if len(launches) != 1 || len(launches[0].Claims) != 20 || outcome.Claims != 20 {
		t.Errorf("%d launches, %+v", len(launches), outcome)
	}
}

func TestLA11PartOfALaunchIsDealtOutAndTheRestToldWhy(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelZone, "us-west-2a"), world.Need(model.LabelCapacityType, model.OnDemand)))
	w.Fleet.SetCapacity(model.OfferingKey{InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand}, 3)
	pending(w, "web", 5, world.Shape(1900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	if outcome.Claims != 3 || outcome.Failed != 2 {
		t.Errorf("%+v", outcome)
	}
	for _, claim := range load(t, w).Claims {
		if claim.State == model.Gone && claim.FailureCode != "InsufficientInstanceCapacity" {
			t.Errorf("claim %s failed with %s", claim.Name, claim.FailureCode)
		}
	}
}

func TestLA08TypesOfOtherMaxPodsHaveATemplateOfTheirOwn(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "m5.xlarge"}})
	w.Cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelCapacityType, model.Spot)))
	pending(w, "web", 1, world.Shape(900, gib))
	launches, _ := launched(t, w, nil)
	if len(launches) != 1 || len(launches[0].Templates) != 2 {
		t.Fatalf("%d launches of %d templates", len(launches), len(launches[0].Templates))
	}
	for _, template := range launches[0].Templates {
		for _, o := range template.Overrides {
			want := map[string]string{"m5.large": "29", "m5.xlarge": "58"}[o.InstanceType]
			if !strings.Contains(string(template.UserData), `"maxPods": `+want) && !strings.Contains(string(template.UserData), `"maxPods":`+want) {
				t.Errorf("%s boots with other user data than for %s pods:\n%s", o.InstanceType, want, template.UserData)
			}
		}
	}
}

func TestLA14FallBackFromSpotToFewTypesIsToldAndGoesOn(t *testing.T) {
	for _, onlyOnDemand := range []bool{false, true} {
		w := start(t, world.Options{Types: []string{"m5.large"}})
		if onlyOnDemand {
			w.Cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelCapacityType, model.OnDemand)))
		}
		w.Fleet.Break(model.OfferingKey{CapacityType: model.Spot}, "InsufficientInstanceCapacity")
		pending(w, "web", 1, world.Shape(900, gib))
		outcome := pass(t, w, provision.TriggerBatch)
		reported := 0
		for _, problem := range outcome.Problems {
			if strings.Contains(problem, "fall back from spot to on-demand with 1 instance types") {
				reported++
			}
		}
		if outcome.Claims != 1 || reported != map[bool]int{false: 1, true: 0}[onlyOnDemand] {
			t.Errorf("only on demand %v: %d claims, told %d times: %v", onlyOnDemand, outcome.Claims, reported, outcome.Problems)
		}
	}
}

func TestLA15EFAIsLaunchedWithAndShownWhereItIsAskedFor(t *testing.T) {
	for _, asks := range []bool{true, false} {
		w := start(t, world.Options{Types: []string{"p4d.24xlarge"}})
		shape := world.Shape(900, gib)
		if asks {
			shape.Requests[efa] = 1
		}
		pending(w, "web", 1, shape)
		launches, outcome := launched(t, w, nil)
		if outcome.Claims != 1 {
			t.Fatalf("%+v", outcome)
		}
		want := map[bool]int64{true: 4}[asks]
		claim := load(t, w).Claims[0]
		if launches[0].Templates[0].EFA != want || claim.Capacity[efa] != want || claim.Allocatable[efa] != want {
			t.Errorf("asked for %v: launched with %d, shows %d", asks, launches[0].Templates[0].EFA, claim.Capacity[efa])
		}
	}
}

func TestLA16ContextIsDroppedWhereMinValuesWereLowered(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	class := world.Class("default")
	class.Context = "ctx-1"
	w.Cluster.AddClass(class)
	pending(w, "web", 1, world.Shape(900, gib))
	launches, _ := launched(t, w, nil)
	if len(launches) != 1 || launches[0].Context != "ctx-1" {
		t.Errorf("%+v", launches)
	}
	pool := world.Pool("default", "default")
	pool.Template.Annotations = map[string]string{model.AnnotationMinValuesRelaxed: "true"}
	w.Cluster.AddPool(pool)
	pending(w, "late", 30, world.Shape(1900, gib))
	launches, _ = launched(t, w, nil)
	if len(launches) == 0 || launches[0].Context != "" {
		t.Errorf("relaxed: %+v", launches)
	}
}

func TestIC01FailureHidesOneOfferingForThreeMinutes(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	insufficient := model.OfferingKey{InstanceType: "m5.large", Zone: "us-west-2a", CapacityType: model.Spot}
	w.Fleet.Break(insufficient, "InsufficientInstanceCapacity")
	w.Cluster.AddPool(world.Pool("default", "default", world.Need(model.LabelCapacityType, model.Spot)))
	pending(w, "web", 1, world.Shape(900, gib))
	for !slices.ContainsFunc(load(t, w).UnavailableOfferings, func(m model.UnavailableOffering) bool { return m.OfferingKey == insufficient }) {
		pending(w, fmt.Sprint("web", w.Clock.Now().Unix()), 1, world.Shape(1900, gib))
		if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims == 0 {
			t.Fatalf("%+v", outcome)
		}
	}
	unavailableOfferings := load(t, w).UnavailableOfferings
	if len(unavailableOfferings) != 1 || unavailableOfferings[0].UntilUnix-w.Clock.Now().Unix() != 180 {
		t.Fatalf("%+v", unavailableOfferings)
	}
	zones := func() map[string]bool {
		zones := map[string]bool{}
		pending(w, fmt.Sprint("then", w.Clock.Now().Unix()), 1, world.Shape(1900, gib))
		launches, _ := launched(t, w, nil)
		for _, o := range launches[0].Templates[0].Overrides {
			zones[o.Zone] = true
		}
		return zones
	}
	if asked := zones(); asked["us-west-2a"] || !asked["us-west-2b"] {
		t.Errorf("asked in %v", asked)
	}
	w.Fleet.Break(insufficient, "")
	w.Tick(3 * time.Minute)
	if asked := zones(); !asked["us-west-2a"] {
		t.Errorf("after three minutes asked in %v", asked)
	}
}

func TestIC03WithoutServiceLinkedRoleSpotIsLeftAloneAndPeopleAreTold(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large"}})
	w.Fleet.RefuseNextWith("AuthFailure.ServiceLinkedRoleCreationNotPermitted")
	pending(w, "web", 1, world.Shape(900, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	instances := w.Fleet.Instances()
	if outcome.Claims != 1 || len(instances) != 1 || instances[0].CapacityType != model.OnDemand {
		t.Fatalf("%+v %+v", outcome, instances)
	}
	unavailableOfferings := load(t, w).UnavailableOfferings
	if len(unavailableOfferings) != 1 || unavailableOfferings[0].OfferingKey != (model.OfferingKey{CapacityType: model.Spot}) || unavailableOfferings[0].UntilUnix-w.Clock.Now().Unix() != 180 {
		t.Errorf("%+v", unavailableOfferings)
	}
	event := eventOf(w.Cluster.Events("EC2NodeClass", "default"), "SpotSLRCreationFailed")
	if !event.Warning || !strings.Contains(event.Message, "create-service-linked-role") {
		t.Errorf("told %+v", w.Cluster.Events("EC2NodeClass", "default"))
	}
}

// Seven instances of a spread group fill its zone; the group's other zones and everybody else go on.
func TestIC04SpreadLimitHidesTheZoneForTheGroupOnly(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large", "c5.large"}})
	w.Cluster.AddClass(world.Class("other"))
	w.Cluster.AddPool(world.Pool("other", "other", world.Need("team", "b")))
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.PlacementGroup = &model.PlacementGroup{ID: "pg-1", Strategy: "spread"}
		s.Subnets = s.Subnets[:1]
	})
	mine, others := world.Shape(1500, gib), world.Shape(1500, gib)
	mine.NodeSelector = map[string]string{model.LabelNodePool: "default"}
	others.NodeSelector = map[string]string{model.LabelNodePool: "other"}
	w.Cluster.AddPods("mine", 9, mine)
	pending(w, "others", 9, others)
	outcome := pass(t, w, provision.TriggerBatch)
	count := map[string]int{}
	for _, m := range w.Fleet.Instances() {
		count[m.Tags[model.LabelNodePool]]++
		if (m.PlacementGroup == "pg-1") != (m.Tags[model.LabelNodePool] == "default") {
			t.Errorf("machine of pool %s is in group %q", m.Tags[model.LabelNodePool], m.PlacementGroup)
		}
	}
	if count["default"] != 7 || count["other"] != 9 {
		t.Errorf("%v of %+v", count, outcome)
	}
	for _, unavailable := range load(t, w).UnavailableOfferings {
		if unavailable.PlacementGroup != "pg-1" || unavailable.Zone == "" || unavailable.InstanceType != "" || unavailable.CapacityType != "" {
			t.Errorf("marked %+v", unavailable)
		}
	}
	calls := w.Fleet.Calls()
	if w.Tick(time.Minute); pass(t, w, provision.TriggerResync).Claims != 0 || w.Fleet.Calls() != calls {
		t.Error("the full group was asked again")
	}
}

func TestIC05ThrottledReservationMakesNothingUnavailable(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	w.Fleet.RefuseNextWith("RequestLimitExceeded")
	pending(w, "web", 1, world.Shape(900, gib))
	if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims != 0 || len(load(t, w).UnavailableOfferings) != 0 {
		t.Errorf("%+v, marks %+v", outcome, load(t, w).UnavailableOfferings)
	}
}

// R51, S25: a refusal that another machine would not get round holds its class, says so on it and on its pool, and is
// tried again later, or as soon as the class is another.
func TestRefusedClassIsHeldSaysSoAndIsTriedAgain(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	for range 2 { // a refused class is reported, and its pods' plan is made again without it
		w.Fleet.RefuseNext(fault.New(fault.Denied, "UnauthorizedOperation", "You are not authorized to perform: ec2:CreateFleet"))
	}
	pending(w, "web", 1, world.Shape(900, gib))
	pass(t, w, provision.TriggerBatch)
	calls := w.Fleet.Calls()
	refusals := load(t, w).Notes.Refusals
	if calls != 1 || len(refusals) != 1 || refusals[0].Reason != "Unauthorized" || refusals[0].Failures != 1 {
		t.Fatalf("%d calls, %+v", calls, refusals)
	}
	snapshot, err := w.Cluster.List(t.Context())
	if err != nil || !slices.ContainsFunc(snapshot.Classes[0].Status.Problems, func(p model.ClassProblem) bool {
		return p.Condition == "ValidationSucceeded" && p.Reason == "Unauthorized" && strings.Contains(p.Message, "ec2:CreateFleet")
	}) {
		t.Errorf("the class shows %+v, %v", snapshot.Classes[0].Status.Problems, err)
	}
	w.Tick(30 * time.Second)
	outcome := pass(t, w, provision.TriggerResync)
	if w.Fleet.Calls() != calls || outcome.Unschedulable != 1 {
		t.Errorf("asked again within a minute: %+v", outcome)
	}
	if c := w.Cluster.PoolCondition("default", "NodeClassReady"); c.Status != "False" || c.Reason != "Unauthorized" {
		t.Errorf("the pool shows %+v", c)
	}
	w.Tick(40 * time.Second)
	if pass(t, w, provision.TriggerResync); w.Fleet.Calls() != calls+1 || load(t, w).Notes.Refusals[0].Failures != 2 {
		t.Errorf("%d calls, %+v", w.Fleet.Calls(), load(t, w).Notes.Refusals)
	}
	class := world.Class("default")
	class.Annotations = map[string]string{"retry": "now"}
	w.Cluster.AddClass(class)
	if outcome := pass(t, w, provision.TriggerConfig); outcome.Claims != 1 || len(load(t, w).Notes.Refusals) != 0 {
		t.Errorf("the class is another: %+v, %+v", outcome, load(t, w).Notes.Refusals)
	}
}

// R51: a refusal is in a row with one that ended a moment ago. One of an hour ago, after which nobody asked or EC2 only had no capacity, says
// nothing about how long to wait for another.
func TestRefusalsLongAgoAreNotInARow(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(900, gib))
	refusal := func(after time.Duration, failures int, wait int64) {
		t.Helper()
		w.Tick(after)
		w.Fleet.RefuseNextWith("UnauthorizedOperation")
		pass(t, w, provision.TriggerResync)
		is := load(t, w).Notes.Refusals
		if len(is) != 1 || is[0].Failures != failures || is[0].UntilUnix != w.Clock.Now().Unix()+wait {
			t.Fatalf("after %s: %+v, want %d in a row and %d s to wait", after, is, failures, wait)
		}
	}
	refusal(0, 1, 60)
	refusal(70*time.Second, 2, 120)
	refusal(2*time.Minute+9*time.Minute, 3, 240)
	refusal(4*time.Minute+11*time.Minute, 1, 60)
}

// A launch template that EC2 does not know yet though it was just made again says nothing of the class: however often somebody deletes
// templates, the class is tried again within a minute.
func TestA57TemplateThatIsNotThereYetHoldsItsClassForAMinute(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}, Fleet: world.FleetOptions{TemplateLag: 2 * time.Second}})
	pending(w, "web", 1, world.Shape(900, gib))
	for n := range 4 {
		w.Fleet.ForgetBeforeNext()
		pass(t, w, provision.TriggerResync)
		is := load(t, w).Notes.Refusals
		if len(is) != 1 || is[0].Reason != "LaunchTemplateNotFound" || is[0].UntilUnix != w.Clock.Now().Unix()+60 {
			t.Fatalf("time %d: %+v, want 60 s to wait", n, is)
		}
		w.Tick(70 * time.Second)
	}
	if outcome := pass(t, w, provision.TriggerResync); outcome.Claims != 1 {
		t.Errorf("the template is there: %+v", outcome)
	}
}

// H9: what is noted of a class says nothing about a NodePool of its name, as here.
//
// Where EC2 does not know the templates of a class yet, no launch of a round finds them: each of them is tried again in the next round.
func TestTemplatesNotThereYetAreTriedAgainForAllLaunchesOfARound(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	for _, kind := range []string{model.Spot, model.OnDemand} {
		shape := world.Shape(900, gib)
		shape.NodeSelector = map[string]string{model.LabelCapacityType: kind}
		pending(w, kind, 1, shape)
	}
	const gone = "InvalidLaunchTemplateName.NotFoundException"
	w.Fleet.RefuseNextWith(gone, gone, gone, gone) // a launch makes its templates again and calls twice
	outcome := pass(t, w, provision.TriggerResync)
	if is := load(t, w).Notes.Refusals; outcome.Claims != 2 || len(is) != 0 {
		t.Errorf("%+v, refused %+v", outcome, is)
	}
	if w.Fleet.Calls() != 6 {
		t.Errorf("%d calls, want four that find nothing and two in the next round", w.Fleet.Calls())
	}
}

// A profile that EC2 does not know may have been made a moment ago: the class is tried again soon, and less and less often where that goes on.
func TestAProfileThatIsNotKnownYetIsTriedAgainSoon(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	pending(w, "web", 1, world.Shape(900, gib))
	for n, wait := range []int64{10, 20, 40, 80, 160, 320, 600} {
		w.Fleet.RefuseNext(fault.New(fault.Invalid, "InvalidParameterValue", "Value (nodes) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"))
		pass(t, w, provision.TriggerResync)
		is := load(t, w).Notes.Refusals
		if len(is) != 1 || is[0].Reason != "InstanceProfileNameInvalid" || is[0].UntilUnix != w.Clock.Now().Unix()+wait {
			t.Fatalf("time %d: %+v, want %d s to wait", n, is, wait)
		}
		w.Tick(time.Duration(wait+1) * time.Second)
	}
}

// reservation of m5.large in the first zone.
func reservation(id string, free int64) model.Reservation {
	return model.Reservation{ID: id, InstanceType: "m5.large", Zone: "us-west-2a", MatchCriteria: "targeted", Total: 10, Free: free}
}

// Reserved capacity is bought before anything else, as far as it goes, and what is launched carries its labels.
func TestLA01LA05ReservedCapacityIsUsedUpFirst(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	recorded(t, w, "default", func(s *model.ClassStatus) {
		s.Reservations = []model.Reservation{reservation("cr-1", 2), reservation("cr-2", 3)}
	})
	w.Fleet.SetReservation("cr-1", 2)
	w.Fleet.SetReservation("cr-2", 3)
	pending(w, "web", 8, world.Shape(1500, gib))
	launches, outcome := launched(t, w, nil)
	if outcome.Claims != 8 {
		t.Fatalf("%+v", outcome)
	}
	for _, launch := range launches {
		seen := map[model.Override]bool{}
		for _, template := range launch.Templates {
			for _, o := range template.Overrides {
				at := model.Override{InstanceType: o.InstanceType, Zone: o.Zone}
				if seen[at] || (template.Reservation != "") != (launch.CapacityType == model.Reserved) {
					t.Errorf("launch %+v", launch)
				}
				seen[at] = true
			}
		}
	}
	in := map[string]int{}
	for _, claim := range load(t, w).Claims {
		in[claim.Reservation]++
		if (claim.CapacityType == model.Reserved) != (claim.Reservation != "") || claim.Labels[model.LabelCapacityType] != claim.CapacityType ||
			claim.Labels[model.LabelReservationID] != claim.Reservation {
			t.Errorf("claim %s is %s in %q with labels %v", claim.Name, claim.CapacityType, claim.Reservation, claim.Labels)
		}
		if _, has := claim.Labels[model.LabelReservationType]; has != (claim.Reservation != "") {
			t.Errorf("claim %s in %q has labels %v", claim.Name, claim.Reservation, claim.Labels)
		}
		if claim.Reservation != "" && (claim.Labels[model.LabelReservationType] != "default" || claim.Labels[model.LabelInterruptible] != "false") {
			t.Errorf("claim %s in %q has labels %v", claim.Name, claim.Reservation, claim.Labels)
		}
	}
	if in["cr-1"] != 2 || in["cr-2"] != 3 || in[""] != 3 {
		t.Errorf("machines by reservation: %v", in)
	}
	// The record says what was left before; the claims since then are counted.
	pending(w, "late", 2, world.Shape(1500, gib))
	if launches, _ := launched(t, w, nil); len(launches) == 0 || launches[0].CapacityType == model.Reserved {
		t.Errorf("a used up reservation is asked again: %+v", launches)
	}
}

// What turns out to be used up is left alone until it was looked at again, and the run goes on without.
func TestIC05UsedUpReservationIsLeftAloneUntilTheNextLook(t *testing.T) {
	w := start(t, world.Options{Types: []string{"m5.large"}})
	free := func(s *model.ClassStatus) { s.Reservations = []model.Reservation{reservation("cr-1", 5)} }
	recorded(t, w, "default", free)
	pending(w, "web", 2, world.Shape(1500, gib))
	outcome := pass(t, w, provision.TriggerBatch)
	unavailableOfferings := load(t, w).UnavailableOfferings
	if outcome.Claims != 2 || len(unavailableOfferings) != 1 || unavailableOfferings[0].Reservation != "cr-1" || unavailableOfferings[0].InstanceType != "" {
		t.Fatalf("%+v, marks %+v", outcome, unavailableOfferings)
	}
	reserved := func(prefix string) bool {
		pending(w, prefix, 1, world.Shape(1900, gib))
		launches, _ := launched(t, w, nil)
		return slices.ContainsFunc(launches, func(l model.Launch) bool { return l.CapacityType == model.Reserved })
	}
	if reserved("then") {
		t.Error("asked again at once")
	}
	w.Clock.Advance(time.Minute)
	recorded(t, w, "default", free)
	w.Fleet.SetReservation("cr-1", 5)
	if !reserved("later") {
		t.Error("not asked after another look")
	}
}

// An instance bought into a capacity block says when that ends; one in another reservation does not.
func TestCT05ClaimOfACapacityBlockSaysWhenItEnds(t *testing.T) {
	for _, block := range []bool{true, false} {
		w := start(t, world.Options{Types: []string{"m5.large"}})
		ends := w.Clock.Now().Add(5 * time.Hour).Unix()
		recorded(t, w, "default", func(s *model.ClassStatus) {
			one := reservation("cr-1", 1)
			one.Block, one.EndUnix = block, ends
			s.Reservations = []model.Reservation{one}
		})
		w.Fleet.SetReservation("cr-1", 1)
		pending(w, "web", 1, world.Shape(1500, gib))
		pass(t, w, provision.TriggerBatch)
		claim := onlyClaim(t, w)
		if want := map[bool]int64{true: ends}[block]; claim.Reservation != "cr-1" || claim.BlockEndsUnix != want {
			t.Errorf("block %v: claim in %q ends %d, want %d", block, claim.Reservation, claim.BlockEndsUnix, want)
		}
	}
}
