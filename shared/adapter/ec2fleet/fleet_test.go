package ec2fleet

import (
	"bytes"
	"flag"
	"net/http/httptest"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// region is our model of EC2 under a clock that stands still, with a fleet that speaks to it through the SDK. Of delays it takes the
// default readings.
type region struct {
	*ec2model.Model
	clock *clock.Fake
	fleet *Fleet
}

func start(t *testing.T) *region {
	t.Helper()
	c := clock.NewFake(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	timing := ec2model.Timing{Visibility: 5 * time.Second, Gone: time.Hour}
	m := ec2model.New(ec2model.Options{Clock: c, Timing: &timing, Readings: reading.Strict(reading.Delays()...)})
	m.AddInstanceProfile("nodes", "nodes")
	server := httptest.NewServer(ec2model.NewHandler(m))
	t.Cleanup(server.Close)
	client := ec2.NewFromConfig(aws.Config{
		Region: catalog.Region, BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	return &region{Model: m, clock: c, fleet: New(client)}
}

// image returns an available image of an architecture that boots Linux.
func image(t *testing.T, arch string) string {
	t.Helper()
	for _, i := range catalog.Images() {
		if i.Architecture == arch && i.Platform == "Linux/UNIX" {
			return i.ID
		}
	}
	t.Fatalf("no image for %s", arch)
	return ""
}

// subnet returns the subnet of a zone.
func (r *region) subnet(t *testing.T, zone string) string {
	t.Helper()
	for _, s := range r.Subnets() {
		if s.Zone == zone {
			return s.ID
		}
	}
	t.Fatalf("no subnet in %s", zone)
	return ""
}

func (r *region) launch(t *testing.T, intent, capacityType string, claims ...string) model.Launch {
	zone := "us-west-2a"
	return model.Launch{
		Intent: intent, Token: "token-" + intent, Cluster: "web", Pool: "default", CapacityType: capacityType, Claims: claims,
		Class: model.Class{Name: "general", Family: "AL2023", Tags: map[string]string{"team": "a", "karpenter.sh/nodepool": "not this"}, Status: model.ClassStatus{
			InstanceProfile: "nodes", SecurityGroups: []model.SecurityGroup{{ID: r.SecurityGroups()[0].ID}},
		}},
		Templates: []model.LaunchTemplate{{ImageID: image(t, catalog.X86_64), UserData: []byte("join"), Overrides: []model.Override{
			{InstanceType: "m5.large", Zone: zone, SubnetID: r.subnet(t, zone), Price: 96_000},
			{InstanceType: "c5.large", Zone: zone, SubnetID: r.subnet(t, zone), Price: 85_000},
		}}},
	}
}

func (r *region) request(t *testing.T, launch model.Launch) []byte {
	t.Helper()
	request, err := r.fleet.PrepareRequest(t.Context(), launch)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

func TestRequestIsTheSameBytesForTheSameLaunch(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "01A", model.OnDemand, "default-1")
	first, second := r.request(t, launch), r.request(t, launch)
	if !bytes.Equal(first, second) {
		t.Fatalf("got\n%s\nand then\n%s", first, second)
	}
	if *update {
		if err := os.WriteFile("testdata/request.golden", first, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/request.golden")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, want) {
		t.Errorf("stored requests must stay readable and alike across builds\ngot  %s\nwant %s", first, want)
	}
}

func TestLaunchGivesAsManyAsThereAreClaimsAndTagsThem(t *testing.T) {
	r := start(t)
	result, err := r.fleet.Launch(t.Context(), r.request(t, r.launch(t, "01A", model.OnDemand, "default-1", "default-2")))
	if err != nil || len(result.Instances) != 2 {
		t.Fatalf("%+v %v", result, err)
	}
	for _, i := range result.Instances {
		if i.Type != "c5.large" || i.Zone != "us-west-2a" || i.CapacityType != model.OnDemand || i.SubnetID == "" || i.ImageID != image(t, catalog.X86_64) {
			t.Errorf("instance %+v, want the cheapest offer", i)
		}
		real, _ := r.Lookup(i.ID)
		for key, want := range map[string]string{
			"kubernetes.io/cluster/web": "owned", "eks:eks-cluster-name": "web", "karpenter.sh/nodepool": "default",
			"karpenter.k8s.aws/ec2nodeclass": "general", TagIntent: "01A", "team": "a",
		} {
			if real.Tags[key] != want {
				t.Errorf("tag %s is %q, want %q", key, real.Tags[key], want)
			}
		}
		if string(real.UserData) != "join" {
			t.Errorf("the machine reads %q", real.UserData)
		}
	}
}

// A1: the same bytes again are the same machines, whoever sends them.
func TestLaunchAgainGivesTheSameInstances(t *testing.T) {
	r := start(t)
	request := r.request(t, r.launch(t, "01A", model.Spot, "default-1", "default-2"))
	first, err := r.fleet.Launch(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	second, err := New(r.fleet.client).Launch(t.Context(), request)
	if err != nil || !reflect.DeepEqual(ids(first), ids(second)) {
		t.Errorf("first %v, then %v, %v", ids(first), ids(second), err)
	}
	if n := len(r.Launches()); n != 2 {
		t.Errorf("%d instances were launched, want 2", n)
	}
}

func ids(result model.LaunchResult) []string {
	var out []string
	for _, i := range result.Instances {
		out = append(out, i.ID)
	}
	return out
}

func TestLaunchOnlyPartOfWhatIsAskedNamesThePoolsWithoutCapacity(t *testing.T) {
	r := start(t)
	for _, name := range []string{"m5.large", "c5.large"} {
		r.SetCapacity(ec2model.Pool{Type: name, Zone: "us-west-2a", CapacityType: ec2model.OnDemand}, 0)
	}
	r.SetCapacity(ec2model.Pool{Type: "m5.large", Zone: "us-west-2a", CapacityType: ec2model.OnDemand}, 1)
	result, err := r.fleet.Launch(t.Context(), r.request(t, r.launch(t, "01A", model.OnDemand, "a", "b", "c")))
	if err != nil || len(result.Instances) != 1 || len(result.Errors) == 0 {
		t.Fatalf("%+v %v", result, err)
	}
	dry := model.OfferingKey{InstanceType: "c5.large", Zone: "us-west-2a", CapacityType: model.OnDemand}
	found := false
	for _, e := range result.Errors {
		found = found || e.Offering == dry && e.Code == "InsufficientInstanceCapacity"
	}
	if !found {
		t.Errorf("%+v is not among %+v", dry, result.Errors)
	}
}

func TestFindSeesInstancesOnceEC2ShowsThem(t *testing.T) {
	r := start(t)
	result, err := r.fleet.Launch(t.Context(), r.request(t, r.launch(t, "01A", model.Spot, "default-1")))
	if err != nil {
		t.Fatal(err)
	}
	if found, err := r.fleet.FindInstances(t.Context(), "01A"); err != nil || len(found) != 0 {
		t.Errorf("within the visibility lag: %v %v", found, err)
	}
	r.clock.Advance(6 * time.Second)
	found, err := r.fleet.FindInstances(t.Context(), "01A")
	if err != nil || len(found) != 1 || found[0].ID != result.Instances[0].ID {
		t.Fatalf("%+v %v", found, err)
	}
	if i := found[0]; i.CapacityType != model.Spot || i.Zone != "us-west-2a" || i.Tags[TagIntent] != "01A" {
		t.Errorf("%+v", i)
	}
	if other, err := r.fleet.FindInstances(t.Context(), "01B"); err != nil || len(other) != 0 {
		t.Errorf("another intent's: %v %v", other, err)
	}
}

func TestRequestMakesOneTemplateForLikeLaunches(t *testing.T) {
	r := start(t)
	for _, intent := range []string{"01A", "01B"} {
		r.request(t, r.launch(t, intent, model.OnDemand, "x"))
	}
	New(r.fleet.client).PrepareRequest(t.Context(), r.launch(t, "01C", model.OnDemand, "x")) // another process
	out, err := r.fleet.client.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(out.LaunchTemplates) != 1 {
		t.Fatalf("%d launch templates, %v", len(out.LaunchTemplates), err)
	}
}

// What somebody deleted is made again by the next request for the same launch, and the bytes are still the same.
func TestDeletedTemplateIsMadeAgainByTheNextRequest(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "01A", model.OnDemand, "default-1")
	request := r.request(t, launch)
	out, err := r.fleet.client.DescribeLaunchTemplates(t.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil || len(out.LaunchTemplates) != 1 {
		t.Fatalf("%+v %v", out, err)
	}
	if _, err := r.fleet.client.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: out.LaunchTemplates[0].LaunchTemplateId}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.fleet.Launch(t.Context(), request); !fault.Is(err, fault.Invalid) || !templateGone(fault.CodeOf(err)) {
		t.Fatalf("launch from a deleted template: %v, want Invalid with its code", err)
	}
	if again := r.request(t, launch); !bytes.Equal(again, request) {
		t.Errorf("the bytes changed\nfrom %s\nto   %s", request, again)
	}
	// Whether the token of what was refused is used up is read in two ways; another launch from the template is made.
	if result, err := r.fleet.Launch(t.Context(), r.request(t, r.launch(t, "01B", model.OnDemand, "default-2"))); err != nil || len(result.Instances) != 1 {
		t.Errorf("%+v %v", result, err)
	}
}

func TestTranslateSaysWhatMayBeDone(t *testing.T) {
	cases := map[string]fault.Kind{
		"RequestLimitExceeded": fault.Throttled, "UnauthorizedOperation": fault.Denied,
		"AuthFailure.ServiceLinkedRoleCreationNotPermitted": fault.Denied, "InvalidAMIID.NotFound": fault.Invalid,
		"InvalidLaunchTemplateName.NotFoundException": fault.Invalid, "IdempotentParameterMismatch": fault.Conflict,
		"InsufficientInstanceCapacity": fault.NoCapacity, "InternalError": fault.Internal, "SomethingNew": fault.Internal,
		"InvalidSomethingNew.Malformed": fault.Invalid, "InvalidClientTokenId": fault.Denied, "": fault.Internal,
	}
	for code, want := range cases {
		err := translate(&smithy.GenericAPIError{Code: code}, "launch")
		if fault.KindOf(err) != want || fault.CodeOf(err) != code {
			t.Errorf("%s is %s, want %s", code, fault.KindOf(err), want)
		}
	}
}

func TestLaunchRefusesBytesOfAnotherVersion(t *testing.T) {
	for _, text := range []string{"", "{", `{"v":5}`, `{"v":0}`} {
		if _, err := New(nil).Launch(t.Context(), []byte(text)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v, want Invalid", text, err)
		}
	}
}
