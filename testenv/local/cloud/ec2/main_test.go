package ec2_test

import (
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// bench is a model behind its wire protocol, with a clock that stands still.
type bench struct {
	*ec2.Model
	clock *clock.Fake
	sdk   *sdk.Client
	url   string
}

// newBench serves a model whose instances boot in 30 s, take 10 s to shut down
// and show 2 s after launch. Of all but delays it takes the readings the environment says.
func newBench(t *testing.T) bench {
	t.Helper()
	return readAs(t, reading.Strict(delays...))
}

// delays are the doubts about how long something takes.
var delays = reading.Delays()

// readAs is newBench with readings.
func readAs(t *testing.T, readings *reading.Set) bench {
	t.Helper()
	return benchOf(t, ec2.Options{Readings: readings})
}

// benchOf is newBench with other options; clock and timing are the bench's.
func benchOf(t *testing.T, options ec2.Options) bench {
	t.Helper()
	fake := clock.NewFake(start)
	timing := ec2.DefaultTiming()
	timing.Boot = ec2.Delay{Min: 30 * time.Second, Max: 30 * time.Second}
	timing.Shutdown = ec2.Delay{Min: 10 * time.Second, Max: 10 * time.Second}
	options.Clock, options.Timing = fake, &timing
	m := ec2.New(options)
	server := httptest.NewServer(ec2.NewHandler(m))
	t.Cleanup(server.Close)
	client := sdk.New(sdk.Options{
		Region: catalog.Region, BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1, HTTPClient: plainBodies{http.DefaultClient},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
	return bench{m, fake, client, server.URL}
}

// plainBodies hides the WriteTo of the SDK's request bodies. The SDK closes a
// body as soon as it sees the head of the answer, and WriteTo of a closed one
// fails with EOF: against a server as near as this one that can be before
// net/http has made sure of the body's end, and then costs the connection in the
// middle of the answer. Clients that retry do not notice; these do not retry.
type plainBodies struct{ *http.Client }

func (c plainBodies) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return c.Client.Do(r)
}

// imageFor returns the newest standard image for an architecture.
func imageFor(architecture string) string {
	want := "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/" + architecture + "/standard/recommended/image_id"
	for _, p := range catalog.Parameters() {
		if p.Name == want {
			return p.Value
		}
	}
	panic("no image for " + architecture)
}

// template makes a launch template called name for x86_64.
func (b bench) template(t *testing.T, name string, change ...func(*types.RequestLaunchTemplateData)) {
	t.Helper()
	data := &types.RequestLaunchTemplateData{
		ImageId:          aws.String(imageFor(catalog.X86_64)),
		SecurityGroupIds: []string{b.SecurityGroups()[1].ID},
		UserData:         aws.String(base64.StdEncoding.EncodeToString([]byte("hello"))),
	}
	for _, f := range change {
		f(data)
	}
	_, err := b.sdk.CreateLaunchTemplate(t.Context(), &sdk.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data})
	if err != nil {
		t.Fatal(err)
	}
}

// subnetIn returns the id of the subnet in zone "a", "b" or "c".
func (b bench) subnetIn(letter string) string {
	for _, s := range b.Subnets() {
		if s.Zone == catalog.Region+letter {
			return s.ID
		}
	}
	panic("no subnet in zone " + letter)
}

// over is an override: a type in the subnet of a zone.
func (b bench) over(typeName, letter string) types.FleetLaunchTemplateOverridesRequest {
	return types.FleetLaunchTemplateOverridesRequest{
		InstanceType: types.InstanceType(typeName), SubnetId: aws.String(b.subnetIn(letter)), AvailabilityZone: aws.String(catalog.Region + letter),
	}
}

// fleetOf is a request for n instances from the template "nodes".
func fleetOf(n int32, capacityType types.DefaultTargetCapacityType, overrides ...types.FleetLaunchTemplateOverridesRequest) *sdk.CreateFleetInput {
	in := &sdk.CreateFleetInput{
		Type: types.FleetTypeInstant,
		TargetCapacitySpecification: &types.TargetCapacitySpecificationRequest{
			TotalTargetCapacity: &n, DefaultTargetCapacityType: capacityType,
		},
		LaunchTemplateConfigs: []types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: aws.String("nodes"), Version: aws.String("$Latest")},
			Overrides:                   overrides,
		}},
	}
	if capacityType == types.DefaultTargetCapacityTypeSpot {
		in.SpotOptions = &types.SpotOptionsRequest{AllocationStrategy: types.SpotAllocationStrategyPriceCapacityOptimized}
	}
	return in
}

func (b bench) fleet(t *testing.T, in *sdk.CreateFleetInput) *sdk.CreateFleetOutput {
	t.Helper()
	out, err := b.sdk.CreateFleet(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// launchOne launches one on-demand m5.large in zone a and returns its id.
func (b bench) launchOne(t *testing.T) string {
	t.Helper()
	out := b.fleet(t, fleetOf(1, types.DefaultTargetCapacityTypeOnDemand, b.over("m5.large", "a")))
	ids := launchedIDs(out)
	if len(ids) != 1 {
		t.Fatalf("launched %v, errors %+v", ids, out.Errors)
	}
	return ids[0]
}

func launchedIDs(out *sdk.CreateFleetOutput) []string {
	var ids []string
	for _, i := range out.Instances {
		ids = append(ids, i.InstanceIds...)
	}
	return ids
}

// describe returns the visible instances that pass the filters.
func (b bench) describe(t *testing.T, filters ...types.Filter) []types.Instance {
	t.Helper()
	out, err := b.sdk.DescribeInstances(t.Context(), &sdk.DescribeInstancesInput{Filters: filters})
	if err != nil {
		t.Fatal(err)
	}
	var found []types.Instance
	for _, r := range out.Reservations {
		found = append(found, r.Instances...)
	}
	return found
}

func by(name string, values ...string) types.Filter {
	return types.Filter{Name: &name, Values: values}
}

// wantCode fails unless err is an API error with a code.
func wantCode(t *testing.T, what string, err error, code string) {
	t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != code {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}
