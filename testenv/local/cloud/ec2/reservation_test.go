package ec2_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// reserve makes a reservation of m5.large in us-west-2a.
func (b bench) reserve(n int, change ...func(*ec2.Reservation)) string {
	r := ec2.Reservation{Type: "m5.large", Zone: catalog.Region + "a", Total: n}
	for _, f := range change {
		f(&r)
	}
	return b.AddReservation(r)
}

// into makes a launch template use a reservation, and the market that goes with it.
func into(id string, preference types.CapacityReservationPreference, market types.MarketType) func(*types.RequestLaunchTemplateData) {
	return func(d *types.RequestLaunchTemplateData) {
		spec := &types.LaunchTemplateCapacityReservationSpecificationRequest{CapacityReservationPreference: preference}
		if id != "" {
			spec.CapacityReservationTarget = &types.CapacityReservationTarget{CapacityReservationId: &id}
		}
		d.CapacityReservationSpecification = spec
		if market != "" {
			d.InstanceMarketOptions = &types.LaunchTemplateInstanceMarketOptionsRequest{MarketType: market}
		}
	}
}

// described returns the reservation with an id.
func (b bench) described(t *testing.T, id string) types.CapacityReservation {
	t.Helper()
	out, err := b.sdk.DescribeCapacityReservations(t.Context(), &sdk.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}})
	if err != nil || len(out.CapacityReservations) != 1 {
		t.Fatalf("describe %s: %+v, %v", id, out, err)
	}
	return out.CapacityReservations[0]
}

// inReservation counts the living instances of each reservation; "" are those in none.
func (b bench) inReservation() map[string]int {
	n := map[string]int{}
	for _, i := range b.Instances() {
		if i.State == ec2.Pending || i.State == ec2.Running {
			n[i.ReservationID]++
		}
	}
	return n
}

const od = types.DefaultTargetCapacityTypeOnDemand

func TestOpenReservationTakesFittingLaunchesThatDoNotOptOut(t *testing.T) {
	tests := map[string]struct {
		change func(*types.RequestLaunchTemplateData)
		over   string
		how    types.DefaultTargetCapacityType
		inside int
	}{
		"nothing said":   {func(*types.RequestLaunchTemplateData) {}, "m5.large", od, 2},
		"open":           {into("", types.CapacityReservationPreferenceOpen, ""), "m5.large", od, 2},
		"opted out":      {into("", types.CapacityReservationPreferenceNone, ""), "m5.large", od, 0},
		"another type":   {func(*types.RequestLaunchTemplateData) {}, "m5.xlarge", od, 0},
		"spot":           {func(*types.RequestLaunchTemplateData) {}, "m5.large", spot, 0},
		"spot opted out": {into("", types.CapacityReservationPreferenceNone, ""), "m5.large", spot, 0},
		"dedicated": {func(d *types.RequestLaunchTemplateData) {
			d.Placement = &types.LaunchTemplatePlacementRequest{Tenancy: types.TenancyDedicated}
		}, "m5.large", od, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.reserve(2)
			b.reserve(5, func(r *ec2.Reservation) { r.Targeted = true })
			b.template(t, "nodes", tt.change)
			out := b.fleet(t, fleetOf(3, tt.how, b.over(tt.over, "a")))
			if len(launchedIDs(out)) != 3 || b.inReservation()[id] != tt.inside || b.inReservation()[""] != 3-tt.inside {
				t.Errorf("launched %v, in %v, errors %+v; want %d inside", got(out), b.inReservation(), out.Errors, tt.inside)
			}
			r := b.described(t, id)
			if *r.AvailableInstanceCount != int32(2-tt.inside) || *r.TotalInstanceCount != 2 || r.State != "active" || r.InstanceMatchCriteria != "open" {
				t.Errorf("reservation %+v", r)
			}
		})
	}
}

func TestReservedCapacityIsThereWhereThePoolHasNone(t *testing.T) {
	b := newBench(t)
	id := b.reserve(1)
	b.template(t, "nodes")
	b.SetCapacity(ec2.Pool{Type: "m5.large", Zone: catalog.Region + "a", CapacityType: ec2.OnDemand}, 1)
	out := b.fleet(t, fleetOf(3, od, b.over("m5.large", "a")))
	if len(launchedIDs(out)) != 2 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InsufficientInstanceCapacity" || b.inReservation()[id] != 1 {
		t.Errorf("launched %v, in %v, errors %+v", got(out), b.inReservation(), out.Errors)
	}
}

func TestTargetedReservationGivesWhatItHasAndGetsItBack(t *testing.T) {
	b := newBench(t)
	id := b.reserve(2, func(r *ec2.Reservation) { r.Targeted = true })
	b.template(t, "nodes", into(id, types.CapacityReservationPreferenceCapacityReservationsOnly, ""))
	out := b.fleet(t, fleetOf(3, od, b.over("m5.large", "a")))
	ids := launchedIDs(out)
	if len(ids) != 2 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "ReservationCapacityExceeded" {
		t.Fatalf("launched %v, errors %+v", ids, out.Errors)
	}
	b.clock.Advance(time.Minute)
	for _, i := range b.describe(t, by("capacity-reservation-id", id)) {
		spec := i.CapacityReservationSpecification
		if *i.CapacityReservationId != id || i.InstanceLifecycle != "" || spec.CapacityReservationPreference != "capacity-reservations-only" || *spec.CapacityReservationTarget.CapacityReservationId != id {
			t.Errorf("instance %+v", i)
		}
	}
	if n := *b.described(t, id).AvailableInstanceCount; n != 0 {
		t.Errorf("%d available, want none", n)
	}
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: ids[:1]}); err != nil {
		t.Fatal(err)
	}
	if n := *b.described(t, id).AvailableInstanceCount; n != 0 {
		t.Errorf("%d available while it shuts down, want none", n)
	}
	b.clock.Advance(time.Minute)
	if n := *b.described(t, id).AvailableInstanceCount; n != 1 {
		t.Errorf("%d available after one was terminated, want 1", n)
	}
}

func TestLaunchIntoAReservationIsRefused(t *testing.T) {
	fits := func(*ec2.Reservation) {}
	tests := map[string]struct {
		reservation func(*ec2.Reservation)
		template    func(id string) func(*types.RequestLaunchTemplateData)
		code        string
	}{
		"no such": {fits, func(string) func(*types.RequestLaunchTemplateData) { return into("cr-00000000000000000", "", "") }, "InvalidCapacityReservationId.NotFound"},
		"no id":   {fits, func(string) func(*types.RequestLaunchTemplateData) { return into("reservation", "", "") }, "InvalidCapacityReservationId.Malformed"},
		"of another type": {func(r *ec2.Reservation) { r.Type = "m5.xlarge" },
			func(id string) func(*types.RequestLaunchTemplateData) { return into(id, "", "") }, "InvalidParameterValue"},
		"of another zone": {func(r *ec2.Reservation) { r.Zone = catalog.Region + "b" },
			func(id string) func(*types.RequestLaunchTemplateData) { return into(id, "", "") }, "InvalidParameterValue"},
		"for Windows": {func(r *ec2.Reservation) { r.Platform = "Windows" },
			func(id string) func(*types.RequestLaunchTemplateData) { return into(id, "", "") }, "InvalidParameterValue"},
		"not yet": {func(r *ec2.Reservation) { r.Start = start.Add(time.Hour) },
			func(id string) func(*types.RequestLaunchTemplateData) { return into(id, "", "") }, "InvalidCapacityReservationState"},
		"block without its market": {func(r *ec2.Reservation) { r.Block = true },
			func(id string) func(*types.RequestLaunchTemplateData) { return into(id, "", "") }, "InvalidParameterCombination"},
		"interruptible without its market": {func(r *ec2.Reservation) { r.Interruptible = true },
			func(id string) func(*types.RequestLaunchTemplateData) { return into(id, "", "") }, "InvalidParameterCombination"},
		"with a preference that contradicts": {fits,
			func(id string) func(*types.RequestLaunchTemplateData) { return into(id, "none", "") }, "InvalidParameterCombination"},
		"open ones only, of which there is none": {func(r *ec2.Reservation) { r.Targeted = true },
			func(string) func(*types.RequestLaunchTemplateData) { return into("", "capacity-reservations-only", "") }, "ReservationCapacityExceeded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.template(t, "nodes", tt.template(b.reserve(1, tt.reservation)))
			out := b.fleet(t, fleetOf(1, od, b.over("m5.large", "a")))
			if len(launchedIDs(out)) != 0 || len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.code {
				t.Errorf("launched %v, errors %+v, want %s", got(out), out.Errors, tt.code)
			}
		})
	}
	b := newBench(t)
	b.template(t, "nodes", into(b.reserve(1), "", ""))
	out := b.fleet(t, fleetOf(1, spot, b.over("m5.large", "a")))
	if len(out.Errors) != 1 || *out.Errors[0].ErrorCode != "InvalidParameterCombination" {
		t.Errorf("spot: errors %+v", out.Errors)
	}
}

// reservedFleet is a fleet for a market of reserved capacity.
func reservedFleet(n int32, how types.DefaultTargetCapacityType, over types.FleetLaunchTemplateOverridesRequest) *sdk.CreateFleetInput {
	in := fleetOf(n, how, over)
	if how == types.DefaultTargetCapacityTypeReservedCapacity {
		in.ReservedCapacityOptions = &types.ReservedCapacityOptionsRequest{ReservationTypes: []types.FleetReservationType{types.FleetReservationTypeInterruptibleCapacityReservation}}
	}
	return in
}

func TestBlockEndsItsInstancesHalfAnHourBeforeItsEnd(t *testing.T) {
	b := newBench(t)
	id := b.reserve(2, func(r *ec2.Reservation) { r.Block, r.End = true, start.Add(2*time.Hour) })
	b.template(t, "nodes", into(id, "", types.MarketTypeCapacityBlock))
	out := b.fleet(t, reservedFleet(1, types.DefaultTargetCapacityTypeCapacityBlock, b.over("m5.large", "a")))
	if len(launchedIDs(out)) != 1 || out.Instances[0].Lifecycle != types.InstanceLifecycleCapacityBlock {
		t.Fatalf("launched %+v, errors %+v", out.Instances, out.Errors)
	}
	r := b.described(t, id)
	if r.ReservationType != "capacity-block" || r.EndDateType != "limited" || !r.EndDate.Equal(start.Add(2*time.Hour)) || r.InstanceMatchCriteria != "targeted" || *r.AvailableInstanceCount != 1 {
		t.Errorf("block %+v", r)
	}
	b.clock.Advance(89 * time.Minute)
	if i := b.describe(t)[0]; i.State.Name != "running" || i.InstanceLifecycle != types.InstanceLifecycleTypeCapacityBlock || *i.CapacityReservationId != id {
		t.Errorf("before: %s %s", i.State.Name, i.InstanceLifecycle)
	}
	b.clock.Advance(2 * time.Minute)
	if i := b.describe(t)[0]; i.State.Name != "terminated" {
		t.Errorf("half an hour before its end: %s", i.State.Name)
	}
	late := b.fleet(t, reservedFleet(1, types.DefaultTargetCapacityTypeCapacityBlock, b.over("m5.large", "a")))
	if len(late.Errors) != 1 || *late.Errors[0].ErrorCode != "ReservationCapacityExceeded" {
		t.Errorf("a launch after that: %+v", late.Errors)
	}
	b.clock.Advance(30 * time.Minute)
	if r := b.described(t, id); r.State != "expired" || *r.AvailableInstanceCount != 0 {
		t.Errorf("at its end: %+v", r)
	}
}

func TestInterruptibleReservationIsTakenBack(t *testing.T) {
	b := newBench(t)
	id := b.reserve(3, func(r *ec2.Reservation) { r.Interruptible = true })
	b.template(t, "nodes", into(id, "capacity-reservations-only", types.MarketTypeInterruptibleCapacityReservation))
	out := b.fleet(t, reservedFleet(2, types.DefaultTargetCapacityTypeReservedCapacity, b.over("m5.large", "a")))
	ids := launchedIDs(out)
	if len(ids) != 2 || out.Instances[0].Lifecycle != types.InstanceLifecycleInterruptibleCapacityReservation {
		t.Fatalf("launched %+v, errors %+v", out.Instances, out.Errors)
	}
	b.clock.Advance(time.Minute)
	if i := b.describe(t)[0]; i.InstanceLifecycle != types.InstanceLifecycleTypeInterruptibleCapacityReservation {
		t.Errorf("lifecycle %s", i.InstanceLifecycle)
	}
	if r := b.described(t, id); !*r.Interruptible || r.ReservationType != "default" || *r.AvailableInstanceCount != 1 {
		t.Errorf("reservation %+v", r)
	}
	sent := b.listen()
	if warned := b.TakeBack(id, 1); len(warned) != 0 {
		t.Errorf("the free one was taken first, yet %v were warned", warned)
	}
	if warned := b.TakeBack(id, 1); !slices.Equal(warned, ids[:1]) {
		t.Errorf("warned %v, want %v", warned, ids[:1])
	}
	if again := b.TakeBack(id, 0); len(again) != 0 {
		t.Errorf("%v were warned again", again)
	}
	b.clock.Advance(2*time.Minute - 1)
	if i, _ := b.Lookup(ids[0]); i.State != ec2.Running {
		t.Errorf("%s within two minutes of the warning", i.State)
	}
	b.clock.Advance(time.Minute)
	want := []string{
		`1m0s aws.ec2 EC2 Capacity Reservation Instance Interruption Warning {"azId":"usw2-az1","instance-action":"terminate","instance-id":"` + ids[0] +
			`","instance-termination-time":"2026-01-01T00:03:00Z"} [arn:aws:ec2:us-west-2:123456789012:instance/` + ids[0] + `]`,
		"3m0s shutting-down " + ids[0], "3m10s terminated " + ids[0],
	}
	if !slices.Equal(*sent, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(*sent, "\n"), strings.Join(want, "\n"))
	}
	if i, _ := b.Lookup(ids[1]); i.State != ec2.Running {
		t.Errorf("the other one is %s", i.State)
	}
}

func TestFleetNamesTheMarketOfItsTemplate(t *testing.T) {
	b := newBench(t)
	id := b.reserve(1, func(r *ec2.Reservation) { r.Block = true })
	b.template(t, "nodes", into(id, "", types.MarketTypeCapacityBlock))
	_, err := b.sdk.CreateFleet(t.Context(), fleetOf(1, od, b.over("m5.large", "a")))
	wantCode(t, "a block's template in an on-demand fleet", err, "InvalidFleetConfig")
	_, err = b.sdk.CreateFleet(t.Context(), fleetOf(1, types.DefaultTargetCapacityTypeReservedCapacity, b.over("m5.large", "a")))
	wantCode(t, "reserved capacity without its kind", err, "InvalidFleetConfig")
	b.template(t, "plain")
	in := fleetOf(1, types.DefaultTargetCapacityTypeCapacityBlock, b.over("m5.large", "a"))
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("plain")
	_, err = b.sdk.CreateFleet(t.Context(), in)
	wantCode(t, "an on-demand template in a block's fleet", err, "InvalidFleetConfig")
}

func TestInstancesOutliveAReservationOnDemand(t *testing.T) {
	for name, end := range map[string]func(b bench, id string){
		"expired":   func(b bench, id string) { b.clock.Advance(2 * time.Hour) },
		"cancelled": func(b bench, id string) { b.CancelReservation(id) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.reserve(1, func(r *ec2.Reservation) { r.End = start.Add(time.Hour) })
			b.template(t, "nodes")
			b.launchOne(t)
			b.clock.Advance(time.Minute)
			if i := b.describe(t)[0]; aws.ToString(i.CapacityReservationId) != id {
				t.Fatalf("runs in %s, want %s", aws.ToString(i.CapacityReservationId), id)
			}
			end(b, id)
			if i := b.describe(t)[0]; i.State.Name != "running" || i.CapacityReservationId != nil || i.InstanceLifecycle != "" {
				t.Errorf("afterwards %s in %s", i.State.Name, aws.ToString(i.CapacityReservationId))
			}
			if r := b.described(t, id); string(r.State) != name || *r.AvailableInstanceCount != 0 {
				t.Errorf("reservation %+v", r)
			}
		})
	}
}

func TestReservationsAreMadeFoundAndCanceledOverTheWire(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	made, err := b.sdk.CreateCapacityReservation(ctx, &sdk.CreateCapacityReservationInput{
		InstanceType: aws.String("m5.large"), InstancePlatform: types.CapacityReservationInstancePlatformLinuxUnix, AvailabilityZone: aws.String(catalog.Region + "a"),
		InstanceCount: aws.Int32(2), InstanceMatchCriteria: types.InstanceMatchCriteriaTargeted,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeCapacityReservation, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	id := *made.CapacityReservation.CapacityReservationId
	b.reserve(1)
	b.reserve(1, func(r *ec2.Reservation) { r.OwnerID = "210987654321" })
	for name, filters := range map[string][]types.Filter{
		"tag":      {by("tag:team", "a")},
		"criteria": {by("instance-match-criteria", "targeted"), by("state", "active")},
		"owner":    {by("owner-id", b.Account()), by("tag-key", "team")},
	} {
		out, err := b.sdk.DescribeCapacityReservations(ctx, &sdk.DescribeCapacityReservationsInput{Filters: filters, MaxResults: aws.Int32(1000)})
		if err != nil || len(out.CapacityReservations) != 1 || *out.CapacityReservations[0].CapacityReservationId != id {
			t.Errorf("by %s: %+v, %v", name, out, err)
		}
	}
	_, err = b.sdk.DescribeCapacityReservations(ctx, &sdk.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-0123456789abcdef0"}})
	wantCode(t, "an unknown id", err, "InvalidCapacityReservationId.NotFound")
	_, err = b.sdk.DescribeCapacityReservations(ctx, &sdk.DescribeCapacityReservationsInput{CapacityReservationIds: []string{id}, MaxResults: aws.Int32(5)})
	wantCode(t, "ids and pages", err, "InvalidParameterCombination")
	for range 2 {
		_, err = b.sdk.CancelCapacityReservation(ctx, &sdk.CancelCapacityReservationInput{CapacityReservationId: &id})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func using(usage types.FleetCapacityReservationUsageStrategy) *types.OnDemandOptionsRequest {
	return &types.OnDemandOptionsRequest{
		CapacityReservationOptions: &types.CapacityReservationOptionsRequest{UsageStrategy: usage},
	}
}

// M95: a fleet that is to use open reservations first takes them before a cheaper pool, and the rest as its strategy
// says. Others, and launches that opted out, take what is cheapest.
func TestM95FleetUsesOpenReservationsFirst(t *testing.T) {
	first := types.FleetCapacityReservationUsageStrategyUseCapacityReservationsFirst
	for name, tt := range map[string]struct {
		usage      types.FleetCapacityReservationUsageStrategy
		preference types.CapacityReservationPreference
		inside     int
	}{
		"first":                {first, types.CapacityReservationPreferenceOpen, 2},
		"by price":             {"", types.CapacityReservationPreferenceOpen, 0},
		"first, but opted out": {first, types.CapacityReservationPreferenceNone, 0},
	} {
		b := newBench(t)
		id := b.reserve(2, func(r *ec2.Reservation) { r.Type = "m5.xlarge" })
		b.template(t, "nodes", into("", tt.preference, ""))
		in := fleetOf(3, od, b.over("m5.large", "a"), b.over("m5.xlarge", "a"))
		if tt.usage != "" {
			in.OnDemandOptions = using(tt.usage)
		}
		out := b.fleet(t, in)
		if len(launchedIDs(out)) != 3 || len(out.Errors) != 0 || b.inReservation()[id] != tt.inside {
			t.Errorf("%s: launched %v, in %v, errors %+v", name, got(out), b.inReservation(), out.Errors)
		}
	}
	b := newBench(t)
	b.template(t, "nodes")
	in := fleetOf(1, od, b.over("m5.large", "a"))
	in.OnDemandOptions = using("last")
	if _, err := b.sdk.CreateFleet(t.Context(), in); err == nil || !strings.Contains(err.Error(), "UsageStrategy") {
		t.Errorf("another strategy: %v", err)
	}
}
