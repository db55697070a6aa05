package ec2_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

func (b bench) terminate(t *testing.T, ids ...string) {
	t.Helper()
	if _, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: ids}); err != nil {
		t.Fatal(err)
	}
}

func TestAnInstanceLivesThroughItsStates(t *testing.T) {
	b := newBench(t)
	var seen []string
	b.OnStateChange(func(i ec2.Instance) { seen = append(seen, fmt.Sprintf("%s at %s", i.State, b.clock.Now().Sub(start))) })
	b.OnRunning(func(i ec2.Instance) { seen = append(seen, "hook: running") })
	b.OnTerminated(func(i ec2.Instance) { seen = append(seen, "hook: terminated") })
	b.template(t, "nodes")
	id := b.launchOne(t)
	b.clock.Advance(time.Minute)
	b.terminate(t, id)
	b.terminate(t, id) // again changes nothing
	b.clock.Advance(time.Minute)
	want := []string{"pending at 0s", "running at 30s", "hook: running", "shutting-down at 1m0s", "terminated at 1m10s", "hook: terminated"}
	if !slices.Equal(seen, want) {
		t.Errorf("saw %q\nwant %q", seen, want)
	}
	if found := b.describe(t); len(found) != 1 || found[0].State.Name != types.InstanceStateNameTerminated ||
		!strings.HasPrefix(*found[0].StateTransitionReason, "User initiated (2026-01-01 00:01:00 GMT") || *found[0].StateReason.Code != "Client.UserInitiatedShutdown" || found[0].PrivateIpAddress != nil {
		t.Errorf("described as %+v", found)
	}
	b.clock.Advance(time.Hour)
	_, err := b.sdk.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{InstanceIds: []string{id}})
	wantCode(t, "describe after an hour", err, "InvalidInstanceID.NotFound")
	if got := b.Instances(); len(got) != 0 {
		t.Errorf("%d instances left", len(got))
	}
	if got := b.Launches(); len(got) != 1 {
		t.Errorf("%d launches on record, want 1", len(got))
	}
}

func TestHooksMayCallTheModelAndKeepTheOrderOfEvents(t *testing.T) {
	b := newBench(t)
	var seen []string
	b.OnStateChange(func(i ec2.Instance) {
		if i.State == ec2.Pending { // the next state comes about while this one is being told
			b.Reclaim(i.ID)
		}
		seen = append(seen, string(i.State))
	})
	b.OnStateChange(func(i ec2.Instance) { seen = append(seen, "then "+string(i.State)) })
	b.template(t, "nodes")
	b.fleet(t, fleetOf(1, spot, b.over("m5.large", "a")))
	if want := []string{"pending", "then pending", "shutting-down", "then shutting-down"}; !slices.Equal(seen, want) {
		t.Errorf("saw %q, want %q", seen, want)
	}
}

func TestAnInstanceTerminatedWhileItBootsNeverRuns(t *testing.T) {
	b := newBench(t)
	ran := false
	b.OnRunning(func(ec2.Instance) { ran = true })
	b.template(t, "nodes")
	id := b.launchOne(t)
	b.clock.Advance(5 * time.Second)
	b.terminate(t, id)
	b.clock.Advance(time.Hour)
	if ran {
		t.Error("it ran")
	}
}

func TestTheInstanceLearnsWhatItIs(t *testing.T) {
	b := newBench(t)
	b.AddInstanceProfile("nodes", "node-role")
	var facts ec2.Instance
	b.OnRunning(func(i ec2.Instance) { facts = i })
	b.template(t, "nodes", func(d *types.RequestLaunchTemplateData) {
		d.IamInstanceProfile = &types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")}
		volume := func(device string, size int32) types.LaunchTemplateBlockDeviceMappingRequest {
			return types.LaunchTemplateBlockDeviceMappingRequest{DeviceName: aws.String(device), Ebs: &types.LaunchTemplateEbsBlockDeviceRequest{VolumeSize: aws.Int32(size)}}
		}
		d.BlockDeviceMappings = []types.LaunchTemplateBlockDeviceMappingRequest{volume("/dev/xvda", 40), volume("/dev/xvdf", 5)}
	})
	in := fleetOf(1, spot, b.over("g5.xlarge", "b"))
	in.TagSpecifications = tagged("instance", "joiner.sh/claim")
	out := b.fleet(t, in)
	b.clock.Advance(time.Minute)
	want := ec2.Instance{
		ID: launchedIDs(out)[0], Type: "g5.xlarge", Region: "us-west-2", Zone: "us-west-2b", ZoneID: "usw2-az2", SubnetID: b.subnetIn("b"),
		CapacityType: ec2.Spot, ImageID: imageFor(catalog.X86_64), Architecture: catalog.X86_64, VCPUs: 4, MemoryBytes: 16 << 30,
		MaxPods: 58, PrivateIP: "10.0.32.4", PrivateDNSName: "ip-10-0-32-4.us-west-2.compute.internal",
		ProfileARN: "arn:aws:iam::123456789012:instance-profile/nodes", FleetID: *out.FleetId, State: ec2.Running, LaunchTime: start,
		ImageName: "amazon-eks-node-al2023-x86_64-standard-1.36-v20261105", Volumes: map[string]int64{"/dev/xvda": 40 << 30, "/dev/xvdf": 5 << 30}, InstanceStoreBytes: 250e9,
	}
	got := facts
	got.Tags, got.GPUs, got.UserData, got.LaunchTemplateID, got.PriceMicroUSDPerHour = nil, nil, nil, "", 0
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if facts.GPUs["nvidia.com/gpu"] != 1 || string(facts.UserData) != "hello" || facts.Tags["joiner.sh/claim"] != "value of joiner.sh/claim" ||
		facts.Tags["aws:ec2:fleet-id"] != *out.FleetId || facts.Tags["aws:ec2launchtemplate:id"] != facts.LaunchTemplateID {
		t.Errorf("got %+v", facts)
	}
	g5, _ := catalog.Lookup("g5.xlarge")
	if price := g5.SpotMicroUSDPerHour("us-west-2b"); facts.PriceMicroUSDPerHour != price || b.PricePerHour() != price {
		t.Errorf("price %d, in all %d, want %d", facts.PriceMicroUSDPerHour, b.PricePerHour(), price)
	}
}

func TestDescribingLagsBehindLaunchAndTagging(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	id := b.launchOne(t)
	byID := &sdk.DescribeInstancesInput{InstanceIds: []string{id}}
	_, err := b.sdk.DescribeInstances(t.Context(), byID)
	wantCode(t, "describe at once", err, "InvalidInstanceID.NotFound")
	_, err = b.sdk.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{id}, Tags: tagged("", "Name")[0].Tags})
	wantCode(t, "tag at once", err, "InvalidInstanceID.NotFound")
	if found := b.describe(t); len(found) != 0 {
		t.Errorf("listed %d instances at once", len(found))
	}
	b.clock.Advance(2 * time.Second)
	if found := b.describe(t); len(found) != 1 || found[0].State.Name != types.InstanceStateNamePending {
		t.Fatalf("after the lag: %+v", found)
	}
	if _, err := b.sdk.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{id}, Tags: tagged("", "Name")[0].Tags}); err != nil {
		t.Fatal(err)
	}
	if found := b.describe(t, by("tag-key", "Name")); len(found) != 0 {
		t.Error("the tag shows at once")
	}
	b.clock.Advance(2 * time.Second)
	if found := b.describe(t, by("tag:Name", "value of *")); len(found) != 1 {
		t.Errorf("found %d instances by the tag, want 1", len(found))
	}
	timing := ec2.DefaultTiming()
	timing.Visibility = 4 * time.Minute
	b.SetTiming(timing)
	b.launchOne(t)
	b.clock.Advance(239 * time.Second)
	if found := b.describe(t); len(found) != 1 {
		t.Errorf("%d instances after 3m59s, want 1", len(found))
	}
	b.clock.Advance(time.Second)
	if found := b.describe(t); len(found) != 2 {
		t.Errorf("%d instances after 4m, want 2", len(found))
	}
}

func TestSubnetsCountTheirFreeAddresses(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	free := func() int32 {
		out, err := b.sdk.DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{SubnetIds: []string{b.subnetIn("a")}})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Subnets[0].AvailableIpAddressCount
	}
	if n := free(); n != 8187 {
		t.Errorf("%d free at first, want 8187", n)
	}
	id := b.launchOne(t)
	if n := free(); n != 8186 {
		t.Errorf("%d free after a launch, want 8186", n)
	}
	b.clock.Advance(time.Minute)
	b.terminate(t, id)
	if n := free(); n != 8186 {
		t.Errorf("%d free while it shuts down, want 8186", n)
	}
	b.clock.Advance(time.Minute)
	if n := free(); n != 8187 {
		t.Errorf("%d free after it has gone, want 8187", n)
	}
}

func TestTerminateIsAllOrNothing(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	id := b.launchOne(t)
	b.clock.Advance(time.Minute)
	for bad, code := range map[string]string{"i-00000000000000000": "InvalidInstanceID.NotFound", "instance": "InvalidInstanceID.Malformed"} {
		_, err := b.sdk.TerminateInstances(t.Context(), &sdk.TerminateInstancesInput{InstanceIds: []string{id, bad}})
		wantCode(t, "terminate with "+bad, err, code)
		if i, _ := b.Lookup(id); i.State != ec2.Running {
			t.Errorf("after a refused request the other instance is %s", i.State)
		}
	}
}

func TestPricePerHourCountsWhatIsPaidFor(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	one, two := b.launchOne(t), b.launchOne(t)
	if got := b.PricePerHour(); got != 192_000 {
		t.Errorf("two m5.large cost %d, want 192000", got)
	}
	b.clock.Advance(time.Minute)
	b.terminate(t, one)
	if got := b.PricePerHour(); got != 96_000 {
		t.Errorf("one m5.large costs %d, want 96000", got)
	}
	if b.Reclaim(two) {
		t.Error("an on-demand instance was reclaimed")
	}
}

func TestReclaimEndsASpotInstance(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	id := launchedIDs(b.fleet(t, fleetOf(1, spot, b.over("m5.large", "a"))))[0]
	b.clock.Advance(time.Minute)
	if !b.Reclaim(id) || b.Reclaim(id) {
		t.Error("want the first call alone to reclaim it")
	}
	b.clock.Advance(time.Minute)
	found := b.describe(t, by("instance-lifecycle", "spot"), by("state-reason-code", "Server.SpotInstanceTermination"))
	if len(found) != 1 || found[0].State.Name != types.InstanceStateNameTerminated {
		t.Errorf("described as %+v", found)
	}
}

func TestBootDelaysSpreadOverTheirRange(t *testing.T) {
	b := newBench(t)
	b.SetTiming(ec2.DefaultTiming())
	var delays []time.Duration
	b.OnRunning(func(i ec2.Instance) { delays = append(delays, b.clock.Now().Sub(i.LaunchTime)) })
	b.template(t, "nodes")
	b.fleet(t, fleetOf(50, onDemand, b.over("m5.large", "a")))
	b.clock.Advance(time.Minute)
	if len(delays) != 50 || slices.Min(delays) < 20*time.Second || slices.Max(delays) > 40*time.Second || slices.Max(delays)-slices.Min(delays) < 10*time.Second {
		t.Errorf("%d boots between %s and %s, want 50 spread over 20s to 40s", len(delays), slices.Min(delays), slices.Max(delays))
	}
}

func TestRunInstancesLaunchesAllOrNothing(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	in := &sdk.RunInstancesInput{
		MinCount: aws.Int32(2), MaxCount: aws.Int32(3), InstanceType: "m5.large", SubnetId: aws.String(b.subnetIn("a")),
		LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes")}, TagSpecifications: tagged("instance", "x"),
	}
	b.SetCapacity(pool("m5.large", "a", ec2.OnDemand), 1)
	_, err := b.sdk.RunInstances(t.Context(), in)
	wantCode(t, "too little capacity", err, "InsufficientInstanceCapacity")
	b.SetCapacity(pool("m5.large", "a", ec2.OnDemand), 2)
	in.ClientToken = nil // the SDK has filled one in
	out, err := b.sdk.RunInstances(t.Context(), in)
	if err != nil || len(out.Instances) != 2 || *out.Instances[1].AmiLaunchIndex != 1 {
		t.Fatalf("got %+v, %v", out, err)
	}
	in.ClientToken = nil // the SDK has filled one in
	in.InstanceType = "dl1.24xlarge"
	in.SubnetId = aws.String(b.subnetIn("c"))
	_, err = b.sdk.RunInstances(t.Context(), in)
	wantCode(t, "type not offered", err, "Unsupported")
}

// Whether a dry run finds out that a zone has no such type is read in two ways.
func TestDryRunLooksForTheTypeInTheZoneOrNot(t *testing.T) {
	for code, reads := range map[string]*reading.Set{"Unsupported": reading.Strict(reading.DryRunDepth), "DryRunOperation": reading.Other(reading.DryRunDepth)} {
		b := readAs(t, reads.Without(delays...))
		b.template(t, "nodes")
		_, err := b.sdk.RunInstances(t.Context(), &sdk.RunInstancesInput{
			DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "dl1.24xlarge", SubnetId: aws.String(b.subnetIn("c")),
			LaunchTemplate: &types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("nodes")},
		})
		wantCode(t, "dry run", err, code)
	}
}
