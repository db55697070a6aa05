package ec2_test

import (
	"net/http"
	"net/url"
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

func TestInstanceTypesPageWithoutGapsOrRepeats(t *testing.T) {
	b := newBench(t)
	pages := sdk.NewDescribeInstanceTypesPaginator(b.sdk, &sdk.DescribeInstanceTypesInput{MaxResults: aws.Int32(50)})
	var names []string
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(page.InstanceTypes) > 50 {
			t.Errorf("a page of %d", len(page.InstanceTypes))
		}
		for _, x := range page.InstanceTypes {
			names = append(names, string(x.InstanceType))
		}
	}
	var want []string
	for _, x := range catalog.Types() {
		want = append(want, x.Name)
	}
	if !slices.Equal(names, want) {
		t.Errorf("%d types over all pages, want %d", len(names), len(want))
	}
}

func TestInstanceTypesCarryWhatReadersNeed(t *testing.T) {
	b := newBench(t)
	describe := func(name types.InstanceType) types.InstanceTypeInfo {
		out, err := b.sdk.DescribeInstanceTypes(t.Context(), &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{name}})
		if err != nil {
			t.Fatal(err)
		}
		return out.InstanceTypes[0]
	}
	p4d := describe("p4d.24xlarge")
	if n := p4d.NetworkInfo; *n.MaximumNetworkInterfaces != 60 || *n.MaximumNetworkCards != 4 || len(n.NetworkCards) != 4 ||
		*n.NetworkCards[0].MaximumNetworkInterfaces != 15 || *n.Ipv4AddressesPerInterface != 50 || *n.EfaInfo.MaximumEfaInterfaces != 4 {
		t.Errorf("network of p4d.24xlarge: %+v", n)
	}
	if g := p4d.GpuInfo.Gpus[0]; *g.Count != 8 || *g.Name != "A100" || *g.Manufacturer != "NVIDIA" || *g.MemoryInfo.SizeInMiB != 40960 {
		t.Errorf("GPUs of p4d.24xlarge: %+v", g)
	}
	if s := p4d.InstanceStorageInfo; *s.TotalSizeInGB != 8000 || s.NvmeSupport != types.EphemeralNvmeSupportRequired {
		t.Errorf("disks of p4d.24xlarge: %+v", s)
	}
	inf2 := describe("inf2.24xlarge")
	if d := inf2.NeuronInfo.NeuronDevices[0]; *d.Count != 6 || *d.CoreInfo.Count != 2 || *inf2.InferenceAcceleratorInfo.Accelerators[0].Count != 6 {
		t.Errorf("accelerators of inf2.24xlarge: %+v", inf2.NeuronInfo)
	}
	metal := describe("m6g.metal")
	if metal.Hypervisor != "" || !*metal.BareMetal || metal.GpuInfo != nil || metal.InstanceStorageInfo != nil || *metal.MemoryInfo.SizeInMiB != 262144 {
		t.Errorf("m6g.metal: %+v", metal)
	}
	c7g := describe("c7g.medium")
	if c7g.ProcessorInfo.SupportedArchitectures[0] != types.ArchitectureTypeArm64 || *c7g.VCpuInfo.DefaultVCpus != 1 || *c7g.VCpuInfo.DefaultCores != 1 ||
		*c7g.EbsInfo.EbsOptimizedInfo.MaximumBandwidthInMbps != 10000 || !slices.Contains(c7g.SupportedUsageClasses, types.UsageClassTypeSpot) {
		t.Errorf("c7g.medium: %+v", c7g)
	}
	_, err := b.sdk.DescribeInstanceTypes(t.Context(), &sdk.DescribeInstanceTypesInput{InstanceTypes: []types.InstanceType{"m5.gigantic"}})
	wantCode(t, "describe an unknown type", err, "InvalidInstanceType")
}

func TestOfferingsListTheZonesOfATypeAndPricesMatch(t *testing.T) {
	b := newBench(t)
	zones := func(typeName string) []string {
		out, err := b.sdk.DescribeInstanceTypeOfferings(t.Context(), &sdk.DescribeInstanceTypeOfferingsInput{
			LocationType: types.LocationTypeAvailabilityZone, Filters: []types.Filter{by("instance-type", typeName)}})
		if err != nil {
			t.Fatal(err)
		}
		var zones []string
		for _, o := range out.InstanceTypeOfferings {
			zones = append(zones, *o.Location)
		}
		return zones
	}
	if got, want := zones("p4d.24xlarge"), []string{"us-west-2b", "us-west-2c"}; !slices.Equal(got, want) {
		t.Errorf("p4d.24xlarge is offered in %v, want %v", got, want)
	}
	b.SetSpotPrice("m5.large", "us-west-2b", 12_345)
	out, err := b.sdk.DescribeSpotPriceHistory(t.Context(), &sdk.DescribeSpotPriceHistoryInput{
		StartTime: aws.Time(b.clock.Now()), ProductDescriptions: []string{"Linux/UNIX", "Linux/UNIX (Amazon VPC)"},
		Filters: []types.Filter{by("instance-type", "m5.large"), by("availability-zone", "us-west-2b")},
	})
	if err != nil || len(out.SpotPriceHistory) != 1 || *out.SpotPriceHistory[0].SpotPrice != "0.012345" || !out.SpotPriceHistory[0].Timestamp.Equal(start) {
		t.Errorf("spot prices %+v, %v", out, err)
	}
}

func TestFiltersJoinWithAndAndTheirValuesWithOr(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	b.fleet(t, fleetOf(1, onDemand, b.over("m5.large", "a")))
	b.fleet(t, fleetOf(1, onDemand, b.over("m5.xlarge", "b")))
	b.fleet(t, fleetOf(1, spot, b.over("c5.large", "a")))
	b.clock.Advance(time.Minute)
	tests := map[string]struct {
		filters []types.Filter
		want    int
	}{
		"none":             {nil, 3},
		"one value":        {[]types.Filter{by("instance-type", "m5.large")}, 1},
		"two values":       {[]types.Filter{by("instance-type", "m5.large", "c5.large")}, 2},
		"wildcard":         {[]types.Filter{by("instance-type", "m5.*")}, 2},
		"two filters":      {[]types.Filter{by("instance-type", "m5.*"), by("availability-zone", "us-west-2b")}, 1},
		"state":            {[]types.Filter{by("instance-state-name", "running", "pending")}, 3},
		"no such state":    {[]types.Filter{by("instance-state-name", "stopped")}, 0},
		"absent attribute": {[]types.Filter{by("spot-instance-request-id", "*")}, 1},
		"tag EC2 has set":  {[]types.Filter{by("tag-key", "aws:ec2:fleet-id")}, 3},
		"tag nothing has":  {[]types.Filter{by("tag:owner", "*")}, 0},
		"private dns name": {[]types.Filter{by("private-dns-name", "ip-10-0-32-4.us-west-2.compute.internal")}, 1},
		"escaped wildcard": {[]types.Filter{by("instance-type", `m5.\*`)}, 0},
		"question mark":    {[]types.Filter{by("instance-type", "?5.large")}, 2},
	}
	for name, tt := range tests {
		if got := len(b.describe(t, tt.filters...)); got != tt.want {
			t.Errorf("%s: %d instances, want %d", name, got, tt.want)
		}
	}
	_, err := b.sdk.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{Filters: []types.Filter{by("colour", "red")}})
	wantCode(t, "unknown filter", err, "InvalidParameterValue")
}

func TestPagesOfInstancesSurviveLaunchesBetweenThem(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	ids := launchedIDs(b.fleet(t, fleetOf(12, onDemand, b.over("m5.large", "a"))))
	b.clock.Advance(time.Minute)
	seen := map[string]int{}
	in := &sdk.DescribeInstancesInput{MaxResults: aws.Int32(5)}
	for pages := 0; ; pages++ {
		out, err := b.sdk.DescribeInstances(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range out.Reservations {
			for _, i := range r.Instances {
				seen[*i.InstanceId]++
			}
		}
		if out.NextToken == nil || pages > 10 {
			break
		}
		b.launchOne(t)
		b.clock.Advance(2 * time.Second)
		in.NextToken = out.NextToken
	}
	for _, id := range ids {
		if seen[id] != 1 {
			t.Errorf("%s was shown %d times", id, seen[id])
		}
	}
	in.NextToken = aws.String("tomorrow")
	_, err := b.sdk.DescribeInstances(t.Context(), in)
	wantCode(t, "a made-up token", err, "InvalidNextToken")
}

func TestDeprecatedImagesShowOnlyWhenAskedFor(t *testing.T) {
	b := newBench(t)
	own := b.AddImage(catalog.Image{Name: "golden", Architecture: catalog.ARM64}, map[string]string{"team": "a"})
	count := func(in *sdk.DescribeImagesInput) int {
		out, err := b.sdk.DescribeImages(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Images)
	}
	name := []types.Filter{by("name", "amazon-eks-node-al2023-x86_64-standard-1.36-*"), by("state", "available")}
	if n := count(&sdk.DescribeImagesInput{Owners: []string{"amazon"}, Filters: name}); n != 4 {
		t.Errorf("%d images, want 4", n)
	}
	if n := count(&sdk.DescribeImagesInput{Owners: []string{"amazon"}, Filters: name, IncludeDeprecated: aws.Bool(true)}); n != 5 {
		t.Errorf("%d images with deprecated ones, want 5", n)
	}
	if n := count(&sdk.DescribeImagesInput{Owners: []string{"self"}, Filters: []types.Filter{by("tag:team", "a")}}); n != 1 {
		t.Errorf("%d images of our own, want 1", n)
	}
	if n := count(&sdk.DescribeImagesInput{ImageIds: []string{own, imageFor(catalog.ARM64)}}); n != 2 {
		t.Errorf("%d images by id, want 2", n)
	}
	_, err := b.sdk.DescribeImages(t.Context(), &sdk.DescribeImagesInput{ImageIds: []string{"ami-00000000000000000"}})
	wantCode(t, "describe an unknown image", err, "InvalidAMIID.NotFound")
}

func TestStatusShowsWhatRuns(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	b.launchOne(t)
	status := func(all bool) []types.InstanceStatus {
		out, err := b.sdk.DescribeInstanceStatus(t.Context(), &sdk.DescribeInstanceStatusInput{IncludeAllInstances: &all})
		if err != nil {
			t.Fatal(err)
		}
		return out.InstanceStatuses
	}
	b.clock.Advance(10 * time.Second)
	if s := status(false); len(s) != 0 {
		t.Errorf("a pending instance shows: %+v", s)
	}
	if s := status(true); len(s) != 1 || s[0].SystemStatus.Status != types.SummaryStatusInitializing {
		t.Errorf("of all instances: %+v", s)
	}
	b.clock.Advance(time.Minute)
	if s := status(false); len(s) != 1 || s[0].InstanceStatus.Status != types.SummaryStatusOk {
		t.Errorf("a running instance: %+v", s)
	}
}

func TestThrottleRefusesBeyondTheBurstAndRefills(t *testing.T) {
	b := newBench(t)
	b.SetThrottle("DescribeVpcs", ec2.Rate{Burst: 2, PerSecond: 0.5})
	call := func() error {
		_, err := b.sdk.DescribeVpcs(t.Context(), &sdk.DescribeVpcsInput{})
		return err
	}
	for range 2 {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, "third call", call(), "RequestLimitExceeded")
	if _, err := b.sdk.DescribeSubnets(t.Context(), &sdk.DescribeSubnetsInput{}); err != nil {
		t.Errorf("another action: %v", err)
	}
	b.clock.Advance(2 * time.Second)
	if err := call(); err != nil {
		t.Errorf("after the bucket has refilled: %v", err)
	}
	b.SetThrottle("DescribeVpcs", ec2.Rate{})
	for range 10 {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatIsNotModeledIsRefused(t *testing.T) {
	b := newBench(t)
	post := func(form url.Values) string {
		resp, err := http.PostForm(b.url, form)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body := new(strings.Builder)
		if err := resp.Write(body); err != nil {
			t.Fatal(err)
		}
		return body.String()
	}
	if got := post(url.Values{"Action": {"AllocateHosts"}}); !strings.Contains(got, "<Code>InvalidAction</Code>") {
		t.Errorf("unknown action: %s", got)
	}
	if got := post(url.Values{"Action": {"DescribeVpcs"}, "Colour": {"red"}}); !strings.Contains(got, "<Code>UnknownParameter</Code>") {
		t.Errorf("unknown parameter: %s", got)
	}
	_, err := b.sdk.DescribeCapacityReservations(t.Context(), &sdk.DescribeCapacityReservationsInput{CapacityReservationIds: []string{"cr-1"}})
	wantCode(t, "a reservation", err, "InvalidCapacityReservationId.NotFound")
	_, err = b.sdk.DescribePlacementGroups(t.Context(), &sdk.DescribePlacementGroupsInput{GroupNames: []string{"close"}})
	wantCode(t, "a placement group", err, "InvalidPlacementGroup.Unknown")
}
