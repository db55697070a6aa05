package ec2_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

const (
	spot     = types.DefaultTargetCapacityTypeSpot
	onDemand = types.DefaultTargetCapacityTypeOnDemand
)

func pool(typeName, letter, capacityType string) ec2.Pool {
	return ec2.Pool{Type: typeName, Zone: "us-west-2" + letter, CapacityType: capacityType}
}

// got returns "type/zone x count" for every pool that launched something.
func got(out *sdk.CreateFleetOutput) []string {
	names := []string{}
	for _, i := range out.Instances {
		o := i.LaunchTemplateAndOverrides.Overrides
		names = append(names, string(i.InstanceType)+"/"+(*o.AvailabilityZone)[len(*o.AvailabilityZone)-1:]+" x"+string(rune('0'+len(i.InstanceIds))))
	}
	return names
}

// failures returns "code type/zone" for every error.
func failures(out *sdk.CreateFleetOutput) []string {
	names := []string{}
	for _, e := range out.Errors {
		o := e.LaunchTemplateAndOverrides.Overrides
		names = append(names, *e.ErrorCode+" "+string(o.InstanceType)+"/"+(*o.AvailabilityZone)[len(*o.AvailabilityZone)-1:])
	}
	return names
}

func TestFleetFollowsItsAllocationStrategy(t *testing.T) {
	// Spot prices: m5.large costs less in a than in b, and less there than in c.
	// On demand: m5.large 0.096, c5.large 0.085, r5.large 0.126.
	priority := func(o types.FleetLaunchTemplateOverridesRequest, p float64) types.FleetLaunchTemplateOverridesRequest {
		o.Priority = &p
		return o
	}
	tests := map[string]struct {
		stock     map[ec2.Pool]int
		in        func(b bench) *sdk.CreateFleetInput
		want      []string
		wantError []string
	}{
		"on demand, the lowest price": {
			in: func(b bench) *sdk.CreateFleetInput {
				return fleetOf(2, onDemand, b.over("r5.large", "a"), b.over("m5.large", "a"), b.over("c5.large", "b"))
			},
			want: []string{"c5.large/b x2"},
		},
		"on demand, by priority": {
			in: func(b bench) *sdk.CreateFleetInput {
				in := fleetOf(1, onDemand, b.over("c5.large", "a"), priority(b.over("m5.large", "a"), 2), priority(b.over("r5.large", "a"), 1))
				in.OnDemandOptions = &types.OnDemandOptionsRequest{AllocationStrategy: types.FleetOnDemandAllocationStrategyPrioritized}
				return in
			},
			want: []string{"r5.large/a x1"},
		},
		"spot, price and capacity: cheapest of those that hold enough": {
			stock: map[ec2.Pool]int{pool("m5.large", "a", ec2.Spot): 2},
			in: func(b bench) *sdk.CreateFleetInput {
				return fleetOf(3, spot, b.over("m5.large", "c"), b.over("m5.large", "b"), b.over("m5.large", "a"))
			},
			want: []string{"m5.large/b x3"},
		},
		"spot, the lowest price, and the next pool for the rest": {
			stock: map[ec2.Pool]int{pool("m5.large", "a", ec2.Spot): 2},
			in: func(b bench) *sdk.CreateFleetInput {
				in := fleetOf(3, spot, b.over("m5.large", "c"), b.over("m5.large", "b"), b.over("m5.large", "a"))
				in.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyLowestPrice
				return in
			},
			want:      []string{"m5.large/a x2", "m5.large/b x1"},
			wantError: []string{"InsufficientInstanceCapacity m5.large/a"},
		},
		"spot, the deepest pool": {
			stock: map[ec2.Pool]int{pool("m5.large", "a", ec2.Spot): 5, pool("m5.large", "b", ec2.Spot): 6, pool("m5.large", "c", ec2.Spot): 0},
			in: func(b bench) *sdk.CreateFleetInput {
				in := fleetOf(1, spot, b.over("m5.large", "a"), b.over("m5.large", "b"), b.over("m5.large", "c"))
				in.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyCapacityOptimized
				return in
			},
			want: []string{"m5.large/b x1"},
		},
		"spot, by priority among deep pools": {
			stock: map[ec2.Pool]int{pool("m5.large", "a", ec2.Spot): 1},
			in: func(b bench) *sdk.CreateFleetInput {
				in := fleetOf(2, spot, priority(b.over("m5.large", "a"), 0), priority(b.over("m5.large", "b"), 2), priority(b.over("m5.large", "c"), 1))
				in.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyCapacityOptimizedPrioritized
				return in
			},
			want: []string{"m5.large/c x2"},
		},
		"spot, spread over every pool": {
			in: func(b bench) *sdk.CreateFleetInput {
				in := fleetOf(5, spot, b.over("m5.large", "a"), b.over("m5.large", "b"), b.over("m5.large", "c"))
				in.SpotOptions.AllocationStrategy = types.SpotAllocationStrategyDiversified
				return in
			},
			want: []string{"m5.large/a x2", "m5.large/b x2", "m5.large/c x1"},
		},
		"both capacity types": {
			in: func(b bench) *sdk.CreateFleetInput {
				in := fleetOf(3, spot, b.over("m5.large", "a"))
				in.TargetCapacitySpecification.OnDemandTargetCapacity = aws.Int32(1)
				return in
			},
			want: []string{"m5.large/a x1", "m5.large/a x2"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.template(t, "nodes")
			for p, n := range tt.stock {
				b.SetCapacity(p, n)
			}
			out := b.fleet(t, tt.in(b))
			if names := got(out); !slices.Equal(names, tt.want) {
				t.Errorf("launched %v, want %v", names, tt.want)
			}
			if codes := failures(out); !slices.Equal(codes, append([]string{}, tt.wantError...)) {
				t.Errorf("errors %v, want %v", codes, tt.wantError)
			}
		})
	}
}

func TestFleetPassesPoolsWithoutCapacityAndNamesThem(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	b.SetCapacity(pool("c5.large", "a", ec2.OnDemand), 0)
	b.SetCapacity(pool("c5.large", "b", ec2.OnDemand), 0)
	b.SetCapacity(pool("m5.large", "a", ec2.OnDemand), 0)
	out := b.fleet(t, fleetOf(1, onDemand, b.over("c5.large", "a"), b.over("c5.large", "b"), b.over("m5.large", "a"), b.over("m5.large", "b")))
	if names, want := got(out), []string{"m5.large/b x1"}; !slices.Equal(names, want) {
		t.Errorf("launched %v, want %v", names, want)
	}
	want := []string{"InsufficientInstanceCapacity c5.large/a", "InsufficientInstanceCapacity c5.large/b", "InsufficientInstanceCapacity m5.large/a"}
	if codes := failures(out); !slices.Equal(codes, want) {
		t.Errorf("errors %v, want %v", codes, want)
	}
	e := out.Errors[0]
	if e.Lifecycle != types.InstanceLifecycleOnDemand || aws.ToString(e.LaunchTemplateAndOverrides.LaunchTemplateSpecification.LaunchTemplateId) == "" ||
		aws.ToString(e.LaunchTemplateAndOverrides.Overrides.SubnetId) != b.subnetIn("a") || aws.ToString(e.ErrorMessage) == "" {
		t.Errorf("error does not name its pool: %+v", e)
	}
}

func TestFleetMayBePartial(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	b.SetCapacity(pool("m5.large", "a", ec2.Spot), 2)
	b.SetCapacity(pool("m5.large", "b", ec2.Spot), 1)
	out := b.fleet(t, fleetOf(5, spot, b.over("m5.large", "a"), b.over("m5.large", "b")))
	if n := len(launchedIDs(out)); n != 3 {
		t.Errorf("launched %d, want 3", n)
	}
	want := []string{"InsufficientInstanceCapacity m5.large/a", "InsufficientInstanceCapacity m5.large/b"}
	if codes := failures(out); !slices.Equal(codes, want) {
		t.Errorf("errors %v, want %v", codes, want)
	}
	// What the launch took is gone from the pools.
	again := b.fleet(t, fleetOf(1, spot, b.over("m5.large", "a")))
	if len(again.Instances) != 0 || len(again.Errors) != 1 {
		t.Errorf("second fleet: %d instances, %d errors, want none and one", len(again.Instances), len(again.Errors))
	}
	described, err := b.sdk.DescribeFleets(t.Context(), &sdk.DescribeFleetsInput{FleetIds: []string{*out.FleetId}})
	if err != nil {
		t.Fatal(err)
	}
	if f := described.Fleets[0]; len(f.Instances) != 2 || len(f.Errors) != 2 || *f.FulfilledCapacity != 3 || *f.FulfilledOnDemandCapacity != 0 {
		t.Errorf("described as %+v", f)
	}
}

func TestFleetsAreDescribedOnlyByID(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	b.launchOne(t)
	out, err := b.sdk.DescribeFleets(t.Context(), &sdk.DescribeFleetsInput{})
	if err != nil || len(out.Fleets) != 0 {
		t.Errorf("got %d fleets, %v", len(out.Fleets), err)
	}
	_, err = b.sdk.DescribeFleets(t.Context(), &sdk.DescribeFleetsInput{FleetIds: []string{"fleet-0"}})
	wantCode(t, "describe an unknown fleet", err, "InvalidFleetId.NotFound")
}

func TestFleetMeetsLimitsOfAccountAndSubnet(t *testing.T) {
	tests := map[string]struct {
		capacityType types.DefaultTargetCapacityType
		limit        func(t *testing.T, b bench) (subnetID string)
		launched     int
		code         string
	}{
		"on-demand vCPUs": {onDemand, func(_ *testing.T, b bench) string {
			b.SetQuota(ec2.Quota{OnDemandVCPUs: 5, SpotVCPUs: 1})
			return b.subnetIn("a")
		}, 2, "VcpuLimitExceeded"},
		"spot vCPUs": {spot, func(_ *testing.T, b bench) string {
			b.SetQuota(ec2.Quota{OnDemandVCPUs: 1, SpotVCPUs: 6})
			return b.subnetIn("a")
		}, 3, "MaxSpotInstanceCountExceeded"},
		"a full subnet": {onDemand, func(t *testing.T, b bench) string {
			id, err := b.AddSubnet(ec2.Subnet{Zone: "us-west-2a", CIDR: "10.0.200.0/28"})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}, 11, "InsufficientFreeAddressesInSubnet"},
		"a fault that was injected": {spot, func(_ *testing.T, b bench) string {
			b.FailPool(ec2.Pool{CapacityType: ec2.Spot}, "UnfulfillableCapacity", "Unable to fulfill capacity.")
			return b.subnetIn("a")
		}, 0, "UnfulfillableCapacity"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.template(t, "nodes")
			o := b.over("m5.large", "a")
			o.SubnetId = aws.String(tt.limit(t, b))
			out := b.fleet(t, fleetOf(20, tt.capacityType, o))
			if n := len(launchedIDs(out)); n != tt.launched {
				t.Errorf("launched %d, want %d", n, tt.launched)
			}
			if len(out.Errors) != 1 || *out.Errors[0].ErrorCode != tt.code {
				t.Errorf("errors %+v, want %s", out.Errors, tt.code)
			}
		})
	}
}

func TestPoolsRecoverWhenTheFaultIsLifted(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	p := pool("m5.large", "a", ec2.OnDemand)
	b.FailPool(p, "InternalError", "An internal error has occurred")
	if out := b.fleet(t, fleetOf(1, onDemand, b.over("m5.large", "a"))); len(out.Instances) != 0 {
		t.Error("launched from a broken pool")
	}
	b.FailPool(p, "", "")
	b.launchOne(t)
	b.SetCapacity(p, 0)
	if left, limited := b.Capacity(p); left != 0 || !limited {
		t.Errorf("capacity %d %v, want 0 true", left, limited)
	}
	b.ClearCapacity(p)
	b.launchOne(t)
}

func TestSpotInstancesNeedTheServiceLinkedRole(t *testing.T) {
	b := benchOf(t, ec2.Options{SpotRole: true, Readings: reading.Strict(delays...)})
	b.template(t, "nodes")
	launch := func(how types.DefaultTargetCapacityType) (int, string) {
		out := b.fleet(t, fleetOf(2, how, b.over("m5.large", "a")))
		code := ""
		for _, e := range out.Errors {
			code = *e.ErrorCode
		}
		return len(launchedIDs(out)), code
	}
	for _, c := range []struct {
		name string
		role bool
		how  types.DefaultTargetCapacityType
		n    int
		code string
	}{
		{"on-demand without the role", false, onDemand, 2, ""},
		{"spot without the role", false, spot, 0, "AuthFailure.ServiceLinkedRoleCreationNotPermitted"},
		{"spot with the role", true, spot, 2, ""},
	} {
		if c.role {
			b.AddRole(ec2.Role{Name: ec2.SpotRole})
		}
		if n, code := launch(c.how); n != c.n || code != c.code {
			t.Errorf("%s: %d instances, %q; want %d, %q", c.name, n, code, c.n, c.code)
		}
	}
}
