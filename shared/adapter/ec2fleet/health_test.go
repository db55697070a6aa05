package ec2fleet

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// smallPages asks for five where the adapter asks for a whole page, and counts the requests.
type smallPages struct{ requests int }

func (s *smallPages) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	text := strings.Replace(string(body), "MaxResults=1000", "MaxResults=5", 1)
	if text != string(body) {
		s.requests++
	}
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return http.DefaultClient.Do(r)
}

// C1: a thousand warnings are read page by page, and none is left out.
func TestHealthIsReadPageByPage(t *testing.T) {
	r := start(t)
	claims := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}
	result, err := r.fleet.Launch(t.Context(), r.request(t, r.launch(t, "01A", model.Spot, claims...)))
	if err != nil || len(result.Instances) != 12 {
		t.Fatalf("%+v %v", result, err)
	}
	r.clock.Advance(time.Minute)
	all := ids(result)
	for _, id := range all {
		r.Interrupt(id)
		r.Impair(id, ec2model.SystemCheck, time.Time{})
		r.Schedule(id, ec2model.ScheduledEvent{Code: ec2model.InstanceStop})
	}
	pages := &smallPages{}
	options := r.fleet.client.Options()
	options.HTTPClient = pages
	fleet := New(ec2.New(options))
	if got, err := fleet.Interrupted(t.Context(), "web"); err != nil || !slices.Equal(instances(got), all) || pages.requests != 3 {
		t.Errorf("%d requests found %v, %v; want three and %v", pages.requests, got, err, all)
	}
	got, err := fleet.Impaired(t.Context())
	if err != nil || len(got) != 24 || pages.requests != 3+1+3+3 {
		t.Errorf("%d requests found %d, %v; want 24 by seven more", pages.requests, len(got), err)
	}
}

func TestThrottledHealthIsThrottled(t *testing.T) {
	r := start(t)
	options := r.fleet.client.Options()
	options.RetryMaxAttempts = 1
	fleet := New(ec2.New(options))
	for _, action := range []string{"DescribeSpotInstanceRequests", "DescribeInstanceStatus"} {
		r.SetThrottle(action, ec2model.Rate{PerSecond: 1})
	}
	if _, err := fleet.Interrupted(t.Context(), "web"); !fault.Is(err, fault.Throttled) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := fleet.Impaired(t.Context()); !fault.Is(err, fault.Throttled) {
		t.Errorf("impaired: %v", err)
	}
}

// Whoever may not ask gets an error that says so, and what is wrong with volumes is nobody's concern.
func TestIN05DeniedHealthIsDeniedAndVolumesAreLeftOut(t *testing.T) {
	r := start(t)
	id := r.launched(t, "01A", 1)[0]
	r.Impair(id, ec2model.EBSCheck, time.Time{})
	if got, err := r.fleet.Impaired(t.Context()); err != nil || len(got) != 0 {
		t.Errorf("%+v %v", got, err)
	}
	for _, action := range []string{"DescribeSpotInstanceRequests", "DescribeInstanceStatus"} {
		r.Deny(ec2model.Denial{Action: action})
	}
	if _, err := r.fleet.Interrupted(t.Context(), "web"); !fault.Is(err, fault.Denied) {
		t.Errorf("interrupted: %v", err)
	}
	if _, err := r.fleet.Impaired(t.Context()); !fault.Is(err, fault.Denied) {
		t.Errorf("impaired: %v", err)
	}
}

// C2: one whose price was passed is marked until it ends, one whose capacity is wanted back is closed at once.
func TestInterruptedAreFoundInEitherWayEC2SaysSo(t *testing.T) {
	r := start(t)
	result, err := r.fleet.Launch(t.Context(), r.request(t, r.launch(t, "01A", model.Spot, "a", "b", "c")))
	if err != nil || len(result.Instances) != 3 {
		t.Fatalf("%+v %v", result, err)
	}
	r.clock.Advance(time.Minute)
	all := ids(result)
	since := r.clock.Now().Unix()
	r.Interrupt(all[0])
	r.Outbid(all[1])
	for minute := range 4 {
		got, err := r.fleet.Interrupted(t.Context(), "web")
		if err != nil || !slices.Equal(instances(got), all[:2]) {
			t.Errorf("%v %v, want %v", got, err, all[:2])
		}
		for _, is := range got {
			if minute < 2 && is.SinceUnix != since { // the warning takes two minutes
				t.Errorf("after %d minutes %s is interrupted since %d, want %d", minute, is.InstanceID, is.SinceUnix, since)
			}
		}
		r.clock.Advance(time.Minute)
	}
}

func instances(of []model.SpotInterruption) []string {
	var ids []string
	for _, is := range of {
		ids = append(ids, is.InstanceID)
	}
	return ids
}

// Law 7: what does not say since when, or fails no more, is no evidence.
func TestIN05OnlyWhatEC2SaysIsAnImpairment(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	detail := func(status types.StatusType, since *time.Time) *types.InstanceStatusSummary {
		return &types.InstanceStatusSummary{Status: types.SummaryStatusImpaired, Details: []types.InstanceStatusDetails{{Name: types.StatusNameReachability, Status: status, ImpairedSince: since}}}
	}
	event := func(code types.EventCode, description string) types.InstanceStatusEvent {
		return types.InstanceStatusEvent{Code: code, Description: aws.String(description), NotBefore: &at}
	}
	for name, c := range map[string]struct {
		status types.InstanceStatus
		want   []model.Impairment
	}{
		"failed":                        {types.InstanceStatus{InstanceStatus: detail("failed", &at)}, []model.Impairment{{InstanceID: "i-1", Kind: model.ImpairedInstance, SinceUnix: at.Unix(), Code: "reachability", Message: "instance status check reachability has failed since 2026-03-01T12:00:00Z"}}},
		"failed, not since when":        {types.InstanceStatus{SystemStatus: detail("failed", nil)}, nil},
		"not enough data":               {types.InstanceStatus{InstanceStatus: detail("insufficient-data", &at), SystemStatus: detail("initializing", &at)}, nil},
		"volumes":                       {types.InstanceStatus{AttachedEbsStatus: &types.EbsStatusSummary{Status: "impaired", Details: []types.EbsStatusDetails{{Name: "reachability", Status: "failed", ImpairedSince: &at}}}}, nil},
		"event to come":                 {types.InstanceStatus{Events: []types.InstanceStatusEvent{event("instance-retirement", "degraded")}}, []model.Impairment{{InstanceID: "i-1", Kind: model.ImpairedEvent, Code: "instance-retirement", Message: "degraded, not before 2026-03-01T12:00:00Z"}}},
		"event that says nothing":       {types.InstanceStatus{Events: []types.InstanceStatusEvent{event("instance-stop", "")}}, []model.Impairment{{InstanceID: "i-1", Kind: model.ImpairedEvent, Code: "instance-stop", Message: "not before 2026-03-01T12:00:00Z"}}},
		"events that are over":          {types.InstanceStatus{Events: []types.InstanceStatusEvent{event("system-reboot", "[Completed] x"), event("instance-stop", "[Canceled] x"), event("instance-stop", "[Cancelled] x")}}, nil},
		"event nobody has to leave for": {types.InstanceStatus{Events: []types.InstanceStatusEvent{event("instance-party", "x")}}, nil},
	} {
		c.status.InstanceId = aws.String("i-1")
		if got := impairments(&c.status); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := impairments(&types.InstanceStatus{InstanceStatus: detail("failed", &at)}); len(got) != 0 {
		t.Errorf("of no instance: %+v", got)
	}
}
