package world_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// market is a fleet under a clock of its own.
type market struct {
	*world.Fleet
	t   *testing.T
	now time.Time
	log *world.Log
}

func newMarket(t *testing.T, options world.FleetOptions) *market {
	m := &market{t: t, now: world.Start}
	clock := func() time.Time { return m.now }
	m.log = world.NewLog(clock)
	m.Fleet = world.NewFleet(clock, m.log, world.New(world.Options{}).Catalog, options)
	return m
}

func (m *market) pass(d time.Duration) {
	m.now = m.now.Add(d)
	m.Run(m.now)
}

// offers of the test launches, from the cheapest on demand.
var (
	cheap     = model.OfferingKey{InstanceType: "c5.large", Zone: "us-west-2a", CapacityType: model.OnDemand}
	expensive = model.OfferingKey{InstanceType: "m5.large", Zone: "us-west-2b", CapacityType: model.OnDemand}
)

func draft(intent, capacityType string, n int) model.Launch {
	launch := model.Launch{
		Intent: intent, Token: "t-" + intent, Cluster: "web", Pool: "default", CapacityType: capacityType, Class: model.Class{Name: "general"},
		Templates: []model.LaunchTemplate{{ImageID: "ami-1", UserData: []byte("join"), Overrides: []model.Override{
			{InstanceType: expensive.InstanceType, Zone: expensive.Zone, SubnetID: "subnet-b", Price: 96_000},
			{InstanceType: cheap.InstanceType, Zone: cheap.Zone, SubnetID: "subnet-a", Price: 85_000},
		}}},
	}
	for i := range n {
		launch.Claims = append(launch.Claims, fmt.Sprintf("%s-%d", intent, i))
	}
	return launch
}

func (m *market) request(intent, capacityType string, n int) []byte {
	m.t.Helper()
	request, err := m.PrepareRequest(m.t.Context(), draft(intent, capacityType, n))
	if err != nil {
		m.t.Fatal(err)
	}
	return request
}

func (m *market) launch(intent, capacityType string, n int) model.LaunchResult {
	m.t.Helper()
	result, err := m.Launch(m.t.Context(), m.request(intent, capacityType, n))
	if err != nil {
		m.t.Fatal(err)
	}
	return result
}

func codes(result model.LaunchResult) []string {
	var out []string
	for _, e := range result.Errors {
		out = append(out, e.Code)
	}
	return out
}

func facts[T world.Fact](l *world.Log) []T {
	var out []T
	for _, entry := range l.Since(0) {
		if f, ok := entry.Fact.(T); ok {
			out = append(out, f)
		}
	}
	return out
}

func TestFleetRepeatsTheFirstAnswerOfAToken(t *testing.T) {
	m := newMarket(t, world.FleetOptions{TokenLife: 10 * time.Minute})
	request := m.request("a", model.OnDemand, 2)
	first, err := m.Launch(t.Context(), request)
	if err != nil || len(first.Instances) != 2 {
		t.Fatalf("%+v %v", first, err)
	}
	again, err := m.Launch(t.Context(), request)
	if err != nil || !reflect.DeepEqual(again, first) {
		t.Errorf("%+v, then %+v, %v", first, again, err)
	}
	if _, err := m.Launch(t.Context(), append(request, ' ')); !fault.Is(err, fault.Conflict) || fault.CodeOf(err) != "IdempotentParameterMismatch" {
		t.Errorf("other bytes under the same token: %v", err)
	}
	m.pass(10 * time.Minute)
	if other, err := m.Launch(t.Context(), request); err != nil || len(m.Instances()) != 4 || other.Instances[0].ID == first.Instances[0].ID {
		t.Errorf("after the token lapsed: %+v, %v, %d machines", other, err, len(m.Instances()))
	}
	calls := facts[world.FleetCalled](m.log)
	if len(calls) != 4 || calls[0].Repeat || !calls[1].Repeat || calls[2].Refused != "IdempotentParameterMismatch" || calls[3].Repeat || string(calls[0].Request) != string(request) {
		t.Errorf("noted %+v", calls)
	}
	if n := len(facts[world.InstanceStarted](m.log)); n != 4 {
		t.Errorf("%d starts noted, want 4", n)
	}
}

// Whether a launch that gave nothing, and one that was refused for its launch template, use up their token is read in two ways.
func TestFleetTokensAreUsedUpByFailedLaunchesOrNot(t *testing.T) {
	for _, other := range []bool{false, true} {
		reads := reading.Strict(reading.TokenRefused, reading.TokenUnfulfilled)
		if other {
			reads = reading.Other(reading.TokenRefused, reading.TokenUnfulfilled)
		}
		m := newMarket(t, world.FleetOptions{Readings: reads})
		dry := m.request("a", model.OnDemand, 1)
		for _, offering := range []model.OfferingKey{cheap, expensive} {
			m.SetCapacity(offering, 0)
		}
		if result, err := m.Launch(t.Context(), dry); err != nil || len(result.Instances) != 0 {
			t.Fatalf("%+v %v", result, err)
		}
		for _, offering := range []model.OfferingKey{cheap, expensive} {
			m.SetCapacity(offering, 5)
		}
		if result, err := m.Launch(t.Context(), dry); err != nil || (len(result.Instances) == 1) != other {
			t.Errorf("other reading %v: where there is capacity again %+v, %v", other, result, err)
		}
		gone := m.request("b", model.OnDemand, 1)
		m.ForgetBeforeNext()
		if _, err := m.Launch(t.Context(), gone); !fault.Is(err, fault.Invalid) {
			t.Fatalf("without its template: %v", err)
		}
		m.request("b", model.OnDemand, 1)
		if _, err := m.Launch(t.Context(), gone); (err == nil) != other {
			t.Errorf("other reading %v: with its template again %v", other, err)
		}
	}
}

func TestFleetShowsInstancesAfterALagOfTheirOwn(t *testing.T) {
	m := newMarket(t, world.FleetOptions{Rand: rand.New(rand.NewPCG(1, 2)), Visibility: world.Span{Min: time.Second, Max: 4 * time.Minute}})
	result := m.launch("a", model.OnDemand, 20)
	lags := map[time.Duration]bool{}
	for _, f := range facts[world.InstanceStarted](m.log) {
		lags[f.VisibleAt.Sub(m.now)] = true
	}
	if len(lags) < 10 {
		t.Errorf("%d different lags among 20 machines", len(lags))
	}
	if ended, err := m.Terminate(t.Context(), "web", []string{result.Instances[0].ID}); err != nil || len(ended) != 0 {
		t.Errorf("end a machine nobody sees yet: %v %v", ended, err)
	}
	seen := 0
	for range 5 {
		found, err := m.FindInstances(t.Context(), "a")
		if err != nil || len(found) < seen {
			t.Fatalf("%d machines and then %d, %v", seen, len(found), err)
		}
		seen = len(found)
		m.pass(time.Minute)
	}
	if found, _ := m.FindInstances(t.Context(), "a"); len(found) != 20 || !slices.IsSortedFunc(found, func(a, b model.Instance) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("%d machines after four minutes, by id", len(found))
	}
	listed, err := m.Owned(t.Context(), "web")
	other, otherErr := m.Owned(t.Context(), "shop")
	if err != nil || otherErr != nil || len(listed) != 20 || len(other) != 0 {
		t.Errorf("%d listed, %v; of another cluster %d, %v", len(listed), err, len(other), otherErr)
	}
}

func TestFleetInstanceLivesFromPendingToForgotten(t *testing.T) {
	m := newMarket(t, world.FleetOptions{Pending: world.Span{Min: 10 * time.Second}, ShuttingDown: world.Span{Min: 20 * time.Second}, Listed: time.Hour})
	id := m.launch("a", model.OnDemand, 1).Instances[0].ID
	state := func() string {
		all, err := m.DescribeInstances(t.Context(), []string{id, id})
		if err != nil || len(all) > 1 {
			t.Fatalf("described %+v, %v", all, err)
		}
		if len(all) == 0 {
			return ""
		}
		return all[0].State
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "pending"}, {10 * time.Second, "running"}, {time.Minute, "running"}} {
		if m.pass(step.after); state() != step.want {
			t.Errorf("after %v: %s, want %s", step.after, state(), step.want)
		}
	}
	for range 2 { // the second time changes nothing
		if _, err := m.Terminate(t.Context(), "web", []string{id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "shutting-down"}, {20 * time.Second, "terminated"}, {59 * time.Minute, "terminated"}, {time.Minute, ""}} {
		if m.pass(step.after); state() != step.want {
			t.Errorf("after %v: %s, want %s", step.after, state(), step.want)
		}
	}
	if listed, _ := m.Owned(t.Context(), "web"); len(listed) != 0 {
		t.Errorf("still listed: %+v", listed)
	}
	if ends := facts[world.InstanceEnded](m.log); len(ends) != 1 || ends[0].Cause != "terminate" {
		t.Errorf("ends noted: %+v", ends)
	}
	if _, due := m.Next(); due {
		t.Error("something is still to come of a machine that is forgotten")
	}
	want := []world.InstanceChange{{ID: id, State: "pending"}, {ID: id, State: "running"}, {ID: id, State: "shutting-down"}, {ID: id, State: "terminated"}}
	if got := m.Changes(0); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %+v", got)
	}
}

func TestFleetTakesSpotInstancesAwayAfterAWarning(t *testing.T) {
	m := newMarket(t, world.FleetOptions{Rand: rand.New(rand.NewPCG(1, 2)), SpotLife: time.Hour, FailureLife: 100 * time.Hour})
	m.launch("a", model.Spot, 40)
	m.launch("b", model.OnDemand, 40)
	for range 300 {
		m.pass(time.Minute)
	}
	warned := map[string]time.Time{}
	for _, f := range facts[world.InstanceWarned](m.log) {
		warned[f.ID] = f.Due
	}
	var spot, failed int
	for _, entry := range m.log.Since(0) {
		end, ok := entry.Fact.(world.InstanceEnded)
		if !ok {
			continue
		}
		instance, _ := m.Instance(end.ID)
		switch end.Cause {
		case "spot":
			spot++
			if instance.CapacityType != model.Spot || entry.At.Before(warned[end.ID]) {
				t.Errorf("%s machine %s ended at %v, warned for %v", instance.CapacityType, end.ID, entry.At, warned[end.ID])
			}
		case "failure":
			failed++
		}
	}
	if spot < 35 || failed < 1 || failed > 10 {
		t.Errorf("%d spot ends and %d failures in five hours", spot, failed)
	}
}

func TestFleetShortages(t *testing.T) {
	const ice = "InsufficientInstanceCapacity"
	spot := model.OfferingKey{CapacityType: model.Spot}
	for name, c := range map[string]struct {
		short  world.Shortage
		wait   time.Duration
		buy    string // capacity type
		errors int
		gives  string // instance type; "" = nothing
	}{
		"of one offer":                    {short: world.Shortage{Offering: cheap, Code: ice}, buy: model.OnDemand, errors: 1, gives: "m5.large"},
		"of a zone":                       {short: world.Shortage{Offering: model.OfferingKey{Zone: "us-west-2a"}, Code: ice}, buy: model.OnDemand, errors: 1, gives: "m5.large"},
		"of a subnet":                     {short: world.Shortage{SubnetID: "subnet-a", Code: "InsufficientFreeAddressesInSubnet"}, buy: model.OnDemand, errors: 1, gives: "m5.large"},
		"of all spot, for spot":           {short: world.Shortage{Offering: spot, Code: ice}, buy: model.Spot, errors: 2},
		"of all spot, for on demand":      {short: world.Shortage{Offering: spot, Code: ice}, buy: model.OnDemand, gives: "c5.large"},
		"of everything":                   {short: world.Shortage{Code: ice}, buy: model.OnDemand, errors: 2},
		"of everything, one at a time":    {short: world.Shortage{Code: ice, OneAtATime: true}, buy: model.OnDemand, errors: 1},
		"that is over":                    {short: world.Shortage{Code: ice, Until: world.Start.Add(time.Hour)}, wait: time.Hour, buy: model.OnDemand, gives: "c5.large"},
		"that is yet to come":             {short: world.Shortage{Code: ice, From: world.Start.Add(time.Hour)}, buy: model.OnDemand, gives: "c5.large"},
		"that comes and goes, first turn": {short: world.Shortage{Code: ice, From: world.Start, Period: 3 * time.Minute}, wait: 2 * time.Minute, buy: model.OnDemand, errors: 2},
		"that comes and goes, then":       {short: world.Shortage{Code: ice, From: world.Start, Period: 3 * time.Minute}, wait: 4 * time.Minute, buy: model.OnDemand, gives: "c5.large"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarket(t, world.FleetOptions{})
			m.Short(c.short)
			m.pass(c.wait)
			result := m.launch("a", c.buy, 1)
			var got string
			for _, i := range result.Instances {
				got += i.Type
			}
			if got != c.gives || len(result.Errors) != c.errors {
				t.Fatalf("%q with %v, want %q with %d errors", got, codes(result), c.gives, c.errors)
			}
			for _, e := range result.Errors {
				if e.Code != c.short.Code || e.Offering.InstanceType == "" || e.SubnetID == "" || e.Offering.CapacityType != c.buy {
					t.Errorf("%+v", e)
				}
			}
		})
	}
}

func TestFleetGivesWhatIsInStockAndTakesItBack(t *testing.T) {
	m := newMarket(t, world.FleetOptions{})
	m.SetCapacity(cheap, 2)
	m.SetCapacity(expensive, 1)
	result := m.launch("a", model.OnDemand, 5)
	if len(result.Instances) != 3 || len(result.Errors) != 2 {
		t.Fatalf("%d machines and %v, want 3 and two errors", len(result.Instances), codes(result))
	}
	for _, i := range result.Instances {
		if i.Type == cheap.InstanceType {
			m.EndByHand(i.ID)
			break
		}
	}
	if again := m.launch("b", model.OnDemand, 1); len(again.Instances) != 1 || again.Instances[0].Type != cheap.InstanceType {
		t.Errorf("what came back is not sold: %+v", again)
	}
}

func TestFleetThrottlesByTokenBucket(t *testing.T) {
	m := newMarket(t, world.FleetOptions{})
	request := m.request("a", model.OnDemand, 1)
	m.Throttle("CreateFleet", 0.5, 3)
	through := 0
	for range 20 { // a call a second for 20 seconds
		_, err := m.Launch(t.Context(), request)
		switch {
		case err == nil:
			through++
		case !fault.Is(err, fault.Throttled):
			t.Fatal(err)
		}
		m.pass(time.Second)
	}
	if through != 12 { // 3 at once and half a call a second for 19 s
		t.Errorf("%d calls came through, want 12", through)
	}
	if _, err := m.FindInstances(t.Context(), "a"); err != nil {
		t.Errorf("another API: %v", err)
	}
}

// Every code of the fault catalog has the kind that tells callers what to do.
func TestFleetRefusesByCode(t *testing.T) {
	for code, want := range map[string]fault.Kind{
		"InsufficientInstanceCapacity": fault.NoCapacity, "UnfulfillableCapacity": fault.NoCapacity, "VcpuLimitExceeded": fault.NoCapacity,
		"MaxSpotInstanceCountExceeded": fault.NoCapacity, "InstanceLimitExceeded": fault.NoCapacity, "MaxFleetCountExceeded": fault.NoCapacity,
		"InsufficientFreeAddressesInSubnet": fault.NoCapacity,
		"RequestLimitExceeded":              fault.Throttled, "Throttling": fault.Throttled, "EC2ThrottledException": fault.Throttled,
		"UnauthorizedOperation": fault.Denied, "AuthFailure": fault.Denied, "AuthFailure.ServiceLinkedRoleCreationNotPermitted": fault.Denied,
		"PendingVerification": fault.Denied, "OptInRequired": fault.Denied, "Blocked": fault.Denied,
		"InvalidAMIID.NotFound": fault.Invalid, "InvalidAMIID.Malformed": fault.Invalid, "InvalidSubnetID.NotFound": fault.Invalid,
		"InvalidGroup.NotFound": fault.Invalid, "InvalidParameterValue": fault.Invalid, "InvalidUserData.Malformed": fault.Invalid,
		"InvalidLaunchTemplateName.NotFoundException": fault.Invalid, "IdempotentParameterMismatch": fault.Conflict,
		"InternalError": fault.Internal, "Unavailable": fault.Internal, "ServiceUnavailable": fault.Internal,
	} {
		m := newMarket(t, world.FleetOptions{})
		request := m.request("a", model.OnDemand, 1)
		m.RefuseNextWith(code)
		if _, err := m.Launch(t.Context(), request); fault.CodeOf(err) != code || fault.KindOf(err) != want || len(m.Instances()) != 0 {
			t.Errorf("%s: %v of kind %s, want %s", code, err, fault.KindOf(err), want)
		}
		if result, err := m.Launch(t.Context(), request); err != nil || len(result.Instances) != 1 {
			t.Errorf("%s: the call after it: %+v %v", code, result, err)
		}
		if noted := facts[world.FleetCalled](m.log); len(noted) != 2 || noted[0].Refused != code || noted[1].Refused != "" {
			t.Errorf("%s: noted %+v", code, noted)
		}
	}
}

func TestFleetLosesHalfItsPagesOnceAndNamesInstancesTwice(t *testing.T) {
	m := newMarket(t, world.FleetOptions{})
	m.launch("a", model.OnDemand, 20)
	count := func() int {
		all, err := m.Owned(t.Context(), "web")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	m.HalveNext(1)
	if lost, then := count(), count(); lost != 10 || then != 20 {
		t.Errorf("%d machines and then %d, want 10 and 20", lost, then)
	}
	m.DoubleNext(1)
	for _, want := range []int{40, 20} {
		if found, err := m.FindInstances(t.Context(), "a"); err != nil || len(found) != want {
			t.Errorf("found %d machines, %v; want %d", len(found), err, want)
		}
	}
}

func TestFleetShowsWhatIsNotOurs(t *testing.T) {
	m := newMarket(t, world.FleetOptions{})
	m.AddInstance(model.Instance{Type: "m5.large", Zone: "us-west-2a", CapacityType: model.OnDemand})
	shops := m.AddInstance(model.Instance{Type: "m5.large", Tags: map[string]string{
		"kubernetes.io/cluster/shop": "owned", "eks:eks-cluster-name": "shop", model.LabelNodePool: "default", "joiner.sh/intent": "x",
	}})
	if all, err := m.Owned(t.Context(), "web"); err != nil || len(all) != 0 {
		t.Errorf("of web: %+v %v", all, err)
	}
	if all, err := m.Owned(t.Context(), "shop"); err != nil || len(all) != 1 || all[0].ID != shops {
		t.Errorf("of shop: %+v %v", all, err)
	}
	if noted := facts[world.InstanceStarted](m.log); len(noted) != 2 || noted[0].Cluster != "" || noted[1].Cluster != "shop" {
		t.Errorf("noted %+v", noted)
	}
	id := m.launch("a", model.OnDemand, 1).Instances[0].ID
	m.Retag(id, map[string]string{"name": "mine now"})
	if found, err := m.FindInstances(t.Context(), "a"); err != nil || len(found) != 0 {
		t.Errorf("found by a tag that was taken off: %+v %v", found, err)
	}
}

func TestFleetCostIsPriceOverTime(t *testing.T) {
	m := newMarket(t, world.FleetOptions{ShuttingDown: world.Span{Min: time.Minute}})
	offering := model.OfferingKey{InstanceType: cheap.InstanceType, Zone: cheap.Zone, CapacityType: model.Spot}
	m.SetPrice(offering, 30_000)
	id := m.launch("a", model.Spot, 1).Instances[0].ID
	m.pass(time.Hour)
	m.SetPrice(offering, 60_000)
	m.pass(30 * time.Minute)
	m.EndByHand(id) // what follows costs nothing
	m.pass(time.Hour)
	if got := m.Cost(id); got != 60_000 || m.Cost() != got {
		t.Errorf("an hour at 3 cents and half one at 6 cost %d micro-USD", got)
	}
}

func TestFleetOutOfReach(t *testing.T) {
	m := newMarket(t, world.FleetOptions{})
	request := m.request("a", model.OnDemand, 1)
	m.Unreachable(m.now.Add(3 * time.Hour))
	_, launched := m.Launch(t.Context(), request)
	_, found := m.FindInstances(t.Context(), "a")
	_, listed := m.Owned(t.Context(), "web")
	_, ended := m.Terminate(t.Context(), "web", nil)
	for _, err := range []error{launched, found, listed, ended} {
		if !fault.Is(err, fault.Internal) {
			t.Errorf("%v, want Internal", err)
		}
	}
	for i, e := range m.log.Since(0) {
		if failed, ok := e.Fact.(world.ListFailed); !ok || i > 0 || failed.Error == "" {
			t.Errorf("%#v noted of calls that never arrived", e.Fact)
		}
	}
	m.pass(3 * time.Hour)
	m.launch("a", model.OnDemand, 1)
}

func TestFleetSameSeedSameLife(t *testing.T) {
	life := func(seed uint64) []world.Entry {
		m := newMarket(t, world.FleetOptions{
			Rand: rand.New(rand.NewPCG(seed, 0)), Visibility: world.Span{Max: time.Minute}, Pending: world.Span{Max: time.Minute},
			ShuttingDown: world.Span{Max: time.Minute}, SpotLife: time.Hour,
		})
		m.SetChances(world.Chances{ServerError: .1, LostReply: .1, Partial: .1, Surplus: .1})
		for i := range 50 {
			if request, err := m.PrepareRequest(t.Context(), draft(fmt.Sprint(i), model.Spot, 3)); err == nil {
				_, _ = m.Launch(t.Context(), request)
			}
			m.pass(time.Minute)
		}
		return m.log.Since(0)
	}
	if !reflect.DeepEqual(life(1), life(1)) {
		t.Error("two lives of one seed differ")
	}
	if reflect.DeepEqual(life(1), life(2)) {
		t.Error("two seeds live alike")
	}
}

// fleetUnderTest is a fleet as its contract wants it.
type fleetUnderTest struct {
	*world.Fleet
	m *market
}

func TestFleetKeepsTheContract(t *testing.T) {
	conform.Fleet(t, func(t *testing.T) conform.FleetPort { return newFleetUnderTest(t) })
}

func newFleetUnderTest(t *testing.T) fleetUnderTest {
	m := newMarket(t, world.FleetOptions{
		Visibility: world.Span{Min: conform.FleetVisibility}, ShuttingDown: world.Span{Min: conform.FleetShutdown}, Listed: conform.FleetGone,
	})
	return fleetUnderTest{m.Fleet, m}
}

func (f fleetUnderTest) Draft(intent, capacityType string, claims ...string) model.Launch {
	return model.Launch{
		Intent: intent, Token: "t-" + intent, Cluster: "web", Pool: "default", CapacityType: capacityType, Claims: claims,
		Class: model.Class{Name: "general", Tags: map[string]string{"team": "a", model.LabelNodePool: "not this"}},
		Templates: []model.LaunchTemplate{{ImageID: "ami-1", UserData: []byte("join"), Overrides: []model.Override{
			{InstanceType: conform.FleetExpensive.InstanceType, Zone: conform.FleetExpensive.Zone, SubnetID: "subnet-a", Price: 96_000},
			{InstanceType: conform.FleetCheap.InstanceType, Zone: conform.FleetCheap.Zone, SubnetID: "subnet-a", Price: 85_000},
		}}},
	}
}

func TestFleetKeepsTheContractOfItsEnd(t *testing.T) {
	conform.Ender(t, func(t *testing.T) conform.EnderPort { return newFleetUnderTest(t) })
}

func (f fleetUnderTest) Ender() interruption.Fleet { return f.Fleet }

func TestFleetKeepsTheContractOfItsHealth(t *testing.T) {
	conform.Health(t, func(t *testing.T) conform.HealthPort { return newFleetUnderTest(t) })
}

func (f fleetUnderTest) Health() interruption.Health { return f.Fleet }

func (f fleetUnderTest) Interrupt(id string) { f.Fleet.Interrupt(id, conform.FleetWarning) }

func (f fleetUnderTest) Another() conform.FleetPort { return f }

func (f fleetUnderTest) Stock(offering model.OfferingKey, n int) { f.SetCapacity(offering, n) }

func (f fleetUnderTest) Throttle(api string) {
	if api == "" {
		f.Fleet.Throttle("CreateFleet", 0, 0)
		return
	}
	f.Fleet.Throttle(api, 0, .5) // never a whole token
}

func (f fleetUnderTest) Reserve(id string, _ model.OfferingKey, n int) { f.SetReservation(id, n) }

func (f fleetUnderTest) Group(string, int64) string { return "pg-1" }

func (f fleetUnderTest) ForgetTemplates() { f.ForgetBeforeNext() }

func (f fleetUnderTest) End(id string) { f.EndByHand(id) }

func (f fleetUnderTest) Foreign(tags map[string]string) string {
	return f.AddInstance(model.Instance{Type: "m5.large", Tags: tags})
}

func (f fleetUnderTest) Pass(d time.Duration) { f.m.pass(d) }
