package ec2fleet

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// caught keeps what the fleet asks for from now on.
func (r *region) caught(t *testing.T) *[]url.Values {
	t.Helper()
	var seen []url.Values
	options := r.fleet.client.Options()
	inner := options.HTTPClient
	options.HTTPClient = sender(func(q *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			return nil, err
		}
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, err
		}
		seen = append(seen, form)
		q.Body = io.NopCloser(bytes.NewReader(body))
		return inner.Do(q)
	})
	r.fleet = New(ec2.New(options))
	return &seen
}

type sender func(*http.Request) (*http.Response, error)

func (s sender) Do(q *http.Request) (*http.Response, error) { return s(q) }

// A3: a dry run says by itself what policies may ask of a launch: the tags of the network interface and the metadata options. What is in
// its launch template alone EC2 may not look at.
func TestA3DryRunSaysTagsOfInterfacesAndMetadataOptions(t *testing.T) {
	r := start(t)
	launch := r.launch(t, "trial", model.OnDemand, "trial")
	launch.Class.Metadata = model.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPPutResponseHopLimit: 1, HTTPTokens: "required"}
	request, seen := r.request(t, launch), r.caught(t)
	if err := r.fleet.DryRun(t.Context(), launch, request, r.subnet(t, "us-west-2a")); err != nil {
		t.Fatal(err)
	}
	form := (*seen)[0]
	for key, want := range map[string]string{
		"MetadataOptions.HttpTokens": "required", "MetadataOptions.HttpEndpoint": "enabled", "MetadataOptions.HttpProtocolIpv6": "disabled",
		"MetadataOptions.HttpPutResponseHopLimit": "1", "MetadataOptions.InstanceMetadataTags": "disabled",
	} {
		if got := form.Get(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	tagged := map[string]map[string]string{}
	for i := 1; form.Has(fmt.Sprintf("TagSpecification.%d.ResourceType", i)); i++ {
		tags := map[string]string{}
		for j := 1; form.Has(fmt.Sprintf("TagSpecification.%d.Tag.%d.Key", i, j)); j++ {
			tags[form.Get(fmt.Sprintf("TagSpecification.%d.Tag.%d.Key", i, j))] = form.Get(fmt.Sprintf("TagSpecification.%d.Tag.%d.Value", i, j))
		}
		tagged[form.Get(fmt.Sprintf("TagSpecification.%d.ResourceType", i))] = tags
	}
	for _, kind := range []types.ResourceType{types.ResourceTypeInstance, types.ResourceTypeVolume, types.ResourceTypeNetworkInterface} {
		if tags := tagged[string(kind)]; tags["kubernetes.io/cluster/web"] != "owned" || tags[model.LabelNodePool] != "default" {
			t.Errorf("%s is tagged %v", kind, tags)
		}
	}
}

// A17: lists are asked for in pages, of the most that EC2 gives at a time.
func TestA17ListsAreAskedForInPages(t *testing.T) {
	r := start(t)
	r.request(t, r.launch(t, "01A", model.OnDemand, "default-1"))
	seen := r.caught(t)
	if _, err := r.fleet.Owned(t.Context(), "web"); err != nil {
		t.Error(err)
	}
	if _, err := r.fleet.Collect(t.Context(), "web", nil, r.clock.Now().Unix(), 1); err != nil {
		t.Error(err)
	}
	want := map[string]string{"DescribeInstances": "1000", "DescribeLaunchTemplates": "200"}
	for _, form := range *seen {
		action := form.Get("Action")
		if most, lists := want[action]; lists && form.Get("MaxResults") != most {
			t.Errorf("%s asks for %q at a time, want %s", action, form.Get("MaxResults"), most)
		}
		delete(want, action)
	}
	if len(want) > 0 {
		t.Errorf("not asked for: %v", want)
	}
}

// A18: an answer to CreateFleet may take longer than one to anything else: it is waited for as long as the call may last.
func TestA18LaunchIsWaitedForWhileOtherCallsAreNot(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	var launches atomic.Int64
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.ParseForm(); q.Form.Get("Action") == "CreateFleet" {
			launches.Add(1)
			go once.Do(func() {
				time.Sleep(400 * time.Millisecond) // longer than other answers are waited for, below
				close(release)
			})
		}
		<-release
		fmt.Fprintf(w, `<CreateFleetResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><fleetId>fleet-1</fleetId></CreateFleetResponse>`)
	}))
	defer slow.Close()
	r := start(t)
	request := r.request(t, r.launch(t, "01A", model.OnDemand, "default-1"))
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) { t.ResponseHeaderTimeout = 50 * time.Millisecond })
	fleet := New(ec2.NewFromConfig(aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(slow.URL), HTTPClient: client, RetryMaxAttempts: 1, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}))
	if _, err := fleet.Owned(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("a list: %v, want a timeout", err)
	}
	if _, err := fleet.Launch(t.Context(), request); err != nil || launches.Load() != 1 {
		t.Errorf("a launch: %v after %d calls, want one", err, launches.Load())
	}
}

// A23: launch templates of the clusters with the longest names have names that EC2 takes, each cluster its own.
func TestA23TemplatesOfLongNamesAreWithinEC2sLimit(t *testing.T) {
	r := start(t)
	names := map[string]bool{}
	for _, cluster := range []string{strings.Repeat("a", 88), strings.Repeat("a", 89), strings.Repeat("a", 99), strings.Repeat("a", 99) + "b", strings.Repeat("a", 99) + "c"} {
		launch := r.launch(t, "01A", model.OnDemand, "default-1")
		launch.Cluster = cluster
		request, err := r.fleet.PrepareRequest(t.Context(), launch)
		if err != nil {
			t.Errorf("a cluster's name of %d characters: %v", len(cluster), err)
			continue
		}
		own, err := r.fleet.Named(request)
		if err != nil || len(own) != 1 || len(own[0]) > 128 || names[templatePrefix(cluster)] {
			t.Errorf("%d characters: %v, %v", len(cluster), own, err)
		}
		names[templatePrefix(cluster)] = true
		left, err := r.fleet.Collect(t.Context(), cluster, nil, r.clock.Now().Unix()+1, 0)
		if err != nil || left != 1 {
			t.Errorf("%d characters: %d templates of its own, %v", len(cluster), left, err)
		}
	}
	if got := templatePrefix("shop"); got != "joiner/shop/" {
		t.Errorf("names of other clusters changed: %s", got)
	}
}

// A launch template that EC2 does not know yet is waited for: a trial is not told that it is gone, and of the launches from it the first
// alone is without effect.
func TestTemplatesThatAreNotKnownYetAreWaitedFor(t *testing.T) {
	m := ec2model.New(ec2model.Options{Clock: clock.System(), Readings: reading.Strict(reading.Delays()...).With(reading.TemplateLag).Without(reading.TokenRefused)})
	m.AddInstanceProfile("nodes", "nodes")
	server := httptest.NewServer(ec2model.NewHandler(m))
	t.Cleanup(server.Close)
	r := &region{Model: m, fleet: New(ec2.NewFromConfig(aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}))}
	if err := r.fleet.DryRunFleet(t.Context(), r.request(t, r.launch(t, "trial", model.OnDemand, "trial"))); err != nil {
		t.Errorf("a trial from a template just made: %v", err)
	}
	next := func(intent string) []byte {
		launch := r.launch(t, intent, model.OnDemand, "default-1")
		launch.Templates[0].UserData = []byte("another")
		return r.request(t, launch)
	}
	if _, err := r.fleet.Launch(t.Context(), next("01A")); !templateGone(fault.CodeOf(err)) {
		t.Errorf("a launch from a template just made: %v", err)
	}
	if result, err := r.fleet.Launch(t.Context(), next("01B")); err != nil || len(result.Instances) != 1 {
		t.Errorf("the next launch: %+v, %v", result, err)
	}
}
