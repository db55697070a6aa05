package ec2_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// listen records the events that are sent: changes of state as "1m0s running i-…", others whole.
func (b bench) listen() *[]string {
	var sent []string
	b.OnEvent(func(source, detailType string, detail any, resources []string) {
		text, _ := json.Marshal(detail)
		at := b.clock.Now().Sub(start)
		var d struct {
			InstanceID string `json:"instance-id"`
			State      string `json:"state"`
		}
		_ = json.Unmarshal(text, &d)
		if source == "aws.ec2" && detailType == ec2.EventStateChange && slices.Equal(resources, []string{"arn:aws:ec2:us-west-2:123456789012:instance/" + d.InstanceID}) {
			sent = append(sent, fmt.Sprintf("%v %s %s", at, d.State, d.InstanceID))
			return
		}
		sent = append(sent, fmt.Sprintf("%v %s %s %s %v", at, source, detailType, text, resources))
	})
	return &sent
}

// spotNode launches a spot m5.large whose request is tagged, and returns its id.
func (b bench) spotNode(t *testing.T, cluster string) string {
	t.Helper()
	b.template(t, "nodes-"+cluster, func(d *types.RequestLaunchTemplateData) {
		d.TagSpecifications = []types.LaunchTemplateTagSpecificationRequest{{ResourceType: types.ResourceTypeSpotInstancesRequest,
			Tags: []types.Tag{{Key: aws.String("kubernetes.io/cluster/" + cluster), Value: aws.String("owned")}}}}
	})
	in := fleetOf(1, spot, b.over("m5.large", "a"))
	in.LaunchTemplateConfigs[0].LaunchTemplateSpecification.LaunchTemplateName = aws.String("nodes-" + cluster)
	out := b.fleet(t, in)
	if len(launchedIDs(out)) != 1 {
		t.Fatalf("%+v", out.Errors)
	}
	return launchedIDs(out)[0]
}

func (b bench) requests(t *testing.T, filters ...types.Filter) []types.SpotInstanceRequest {
	t.Helper()
	out, err := b.sdk.DescribeSpotInstanceRequests(t.Context(), &sdk.DescribeSpotInstanceRequestsInput{Filters: filters})
	if err != nil {
		t.Fatal(err)
	}
	return out.SpotInstanceRequests
}

// status is code and state of an instance's request, and when that was last changed.
func (b bench) status(t *testing.T, id string) string {
	t.Helper()
	found := b.requests(t, by("instance-id", id))
	if len(found) != 1 {
		return fmt.Sprintf("%d requests", len(found))
	}
	return fmt.Sprintf("%s %s %v", *found[0].Status.Code, found[0].State, found[0].Status.UpdateTime.Sub(start))
}

// How the warning names the instance is read in two ways.
func TestIN01InterruptedSpotInstanceIsWarnedAndEndsTwoMinutesLater(t *testing.T) {
	for place, reads := range map[string]*reading.Set{
		"us-west-2a": reading.Strict(reading.EventResource), "us-west-2:123456789012": reading.Other(reading.EventResource),
	} {
		t.Run(place, func(t *testing.T) { warnAndEnd(t, readAs(t, reads.Without(delays...)), place) })
	}
}

func warnAndEnd(t *testing.T, b bench, place string) {
	sent := b.listen()
	id := b.spotNode(t, "web")
	b.clock.Advance(time.Minute)
	if got := b.status(t, id); got != "fulfilled active 0s" {
		t.Errorf("request is %s", got)
	}
	if !b.Interrupt(id) || b.Interrupt(id) || b.Outbid(id) {
		t.Error("want the first interruption alone to take effect")
	}
	// The request is over at once although the instance runs on.
	if got := b.status(t, id); got != "instance-terminated-no-capacity closed 1m0s" {
		t.Errorf("request is %s", got)
	}
	if i, _ := b.Lookup(id); i.State != ec2.Running {
		t.Errorf("instance is %s", i.State)
	}
	b.clock.Advance(3 * time.Minute)
	want := []string{
		"0s pending " + id, "30s running " + id,
		`1m0s aws.ec2 EC2 Spot Instance Interruption Warning {"instance-action":"terminate","instance-id":"` + id + `"} [arn:aws:ec2:` + place + `:instance/` + id + `]`,
		"3m0s shutting-down " + id, "3m10s terminated " + id,
	}
	if !slices.Equal(*sent, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(*sent, "\n"), strings.Join(want, "\n"))
	}
	if i := b.describe(t)[0]; *i.StateReason.Code != "Server.SpotInstanceTermination" {
		t.Errorf("ended for %s", *i.StateReason.Code)
	}
	b.clock.Advance(4 * time.Hour)
	if got := b.status(t, id); got != "0 requests" {
		t.Errorf("four hours later the request is %s", got)
	}
}

func TestOutbidRequestIsMarkedUntilItsInstanceEnds(t *testing.T) {
	b := newBench(t)
	b.SetTiming(ec2.Timing{Warning: 10 * time.Second})
	id := b.spotNode(t, "web")
	b.clock.Advance(time.Minute)
	if !b.Outbid(id) {
		t.Fatal("it was not outbid")
	}
	if got := b.status(t, id); got != "marked-for-termination active 1m0s" {
		t.Errorf("request is %s", got)
	}
	b.clock.Advance(10 * time.Second)
	if got := b.status(t, id); got != "instance-terminated-by-price closed 1m10s" {
		t.Errorf("request is %s", got)
	}
}

func TestEndingAnInstanceYourselfEndsItsRequestAndTheWarningComesToNothing(t *testing.T) {
	b := newBench(t)
	sent := b.listen()
	one, two := b.spotNode(t, "web"), b.spotNode(t, "shop")
	b.clock.Advance(time.Minute)
	b.Outbid(two)
	b.terminate(t, one, two)
	for _, id := range []string{one, two} {
		if got := b.status(t, id); got != "instance-terminated-by-user closed 1m0s" {
			t.Errorf("request is %s", got)
		}
	}
	before := len(*sent)
	b.clock.Advance(5 * time.Minute)
	if len(*sent) != before+2 { // terminated, both
		t.Errorf("sent %q", (*sent)[before:])
	}
	if b.Interrupt(one) || b.Rebalance(one) || b.Interrupt("i-0123456789abcdef0") {
		t.Error("what has ended was interrupted")
	}
}

func TestReclaimedRequestSaysThereWasNoCapacity(t *testing.T) {
	b := newBench(t)
	id := b.spotNode(t, "web")
	b.Reclaim(id)
	b.clock.Advance(time.Minute)
	if got := b.status(t, id); got != "instance-terminated-no-capacity closed 0s" {
		t.Errorf("request is %s", got)
	}
}

func TestRebalanceRecommendationDoesNothing(t *testing.T) {
	b := newBench(t)
	id := b.spotNode(t, "web")
	b.template(t, "nodes")
	demand := b.launchOne(t)
	b.clock.Advance(time.Minute)
	sent := b.listen()
	if !b.Rebalance(id) || b.Rebalance(demand) || b.Interrupt(demand) {
		t.Error("want it for spot instances alone")
	}
	want := []string{`1m0s aws.ec2 EC2 Instance Rebalance Recommendation {"instance-id":"` + id + `"} [arn:aws:ec2:us-west-2:123456789012:instance/` + id + `]`}
	b.clock.Advance(time.Hour)
	if !slices.Equal(*sent, want) || b.status(t, id) != "fulfilled active 0s" {
		t.Errorf("sent %q, want %q; the request is %s", *sent, want, b.status(t, id))
	}
}

func TestSpotRequestsAreDescribedFilteredTaggedAndPaged(t *testing.T) {
	b := newBench(t)
	web, shop := b.spotNode(t, "web"), b.spotNode(t, "shop")
	b.template(t, "nodes")
	b.launchOne(t) // on demand: asks for nothing on the spot market
	if found := b.requests(t); len(found) != 0 {
		t.Errorf("%d requests are shown before their instances", len(found))
	}
	b.clock.Advance(time.Minute)
	b.Interrupt(shop)
	for name, c := range map[string]struct {
		filters []types.Filter
		want    []string
	}{
		"all":             {nil, []string{web, shop}},
		"by state":        {[]types.Filter{by("state", "active")}, []string{web}},
		"by status":       {[]types.Filter{by("status-code", "marked-for-termination", "instance-terminated-no-capacity")}, []string{shop}},
		"by instance":     {[]types.Filter{by("instance-id", web)}, []string{web}},
		"by tag":          {[]types.Filter{by("tag:kubernetes.io/cluster/web", "owned")}, []string{web}},
		"by tag key":      {[]types.Filter{by("tag-key", "kubernetes.io/cluster/shop")}, []string{shop}},
		"by status, tag":  {[]types.Filter{by("status-code", "instance-terminated-no-capacity"), by("tag-key", "kubernetes.io/cluster/web")}, nil},
		"by type and all": {[]types.Filter{by("type", "one-time"), by("launch.instance-type", "m5.*"), by("product-description", "Linux/UNIX")}, []string{web, shop}},
	} {
		var got []string
		for _, r := range b.requests(t, c.filters...) {
			got = append(got, *r.InstanceId)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	r := b.requests(t, by("instance-id", web))[0]
	i := b.describe(t, by("instance-id", web))[0]
	if *r.SpotInstanceRequestId != *i.SpotInstanceRequestId || *r.SpotPrice != "0.096000" || r.LaunchSpecification.InstanceType != "m5.large" ||
		*r.LaunchedAvailabilityZone != "us-west-2a" || len(r.Tags) != 1 || !r.CreateTime.Equal(start) {
		t.Errorf("%+v of %+v", r, i)
	}
	// Tags of a request come and go as others do.
	if _, err := b.sdk.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{*r.SpotInstanceRequestId}, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}}); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	if found := b.requests(t, by("tag:team", "a")); len(found) != 1 {
		t.Errorf("%d requests with the new tag", len(found))
	}
	_, err := b.sdk.CreateTags(t.Context(), &sdk.CreateTagsInput{Resources: []string{"sir-00000000"}, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}})
	wantCode(t, "tag what is not there", err, "InvalidSpotInstanceRequestID.NotFound")
	_, err = b.sdk.DescribeSpotInstanceRequests(t.Context(), &sdk.DescribeSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{"sir-00000000"}})
	wantCode(t, "unknown id", err, "InvalidSpotInstanceRequestID.NotFound")
	_, err = b.sdk.DescribeSpotInstanceRequests(t.Context(), &sdk.DescribeSpotInstanceRequestsInput{Filters: []types.Filter{by("colour", "red")}})
	wantCode(t, "unknown filter", err, "InvalidParameterValue")
	_, err = b.sdk.DescribeSpotInstanceRequests(t.Context(), &sdk.DescribeSpotInstanceRequestsInput{DryRun: aws.Bool(true)})
	wantCode(t, "dry run", err, "DryRunOperation")
	allow := b.Deny(ec2.Denial{Action: "DescribeSpotInstanceRequests"})
	_, err = b.sdk.DescribeSpotInstanceRequests(t.Context(), &sdk.DescribeSpotInstanceRequestsInput{})
	wantCode(t, "denied", err, "UnauthorizedOperation")
	allow()
}

func TestSpotRequestsComeInPages(t *testing.T) {
	b := newBench(t)
	b.template(t, "nodes")
	ids := launchedIDs(b.fleet(t, fleetOf(12, spot, b.over("m5.large", "a"))))
	b.clock.Advance(time.Minute)
	pages := sdk.NewDescribeSpotInstanceRequestsPaginator(b.sdk, &sdk.DescribeSpotInstanceRequestsInput{MaxResults: aws.Int32(5)})
	var got []string
	n := 0
	for ; pages.HasMorePages(); n++ {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.SpotInstanceRequests {
			got = append(got, *r.InstanceId)
		}
	}
	if n != 3 || !slices.Equal(got, ids) {
		t.Errorf("%d pages with %v, want three with %v", n, got, ids)
	}
}
