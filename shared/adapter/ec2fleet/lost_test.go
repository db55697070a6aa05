package ec2fleet

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/joiner-sh/joiner/shared/fault"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
)

// lossy is EC2 behind a connection that loses the answer to the first CreateFleet, which is carried out, and that answers what repeats
// it with the status and code given; calls counts both.
func lossy(t *testing.T, r *region, status int, code string, lost bool) (fleet *Fleet, calls *atomic.Int32) {
	t.Helper()
	calls = &atomic.Int32{}
	model := ec2model.NewHandler(r.Model)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if err := request.ParseForm(); err != nil {
			t.Error(err)
		}
		if request.Form.Get("Action") != "CreateFleet" {
			model.ServeHTTP(w, request)
			return
		}
		if calls.Add(1) == 1 && lost {
			model.ServeHTTP(httptest.NewRecorder(), request)
			connection, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_ = connection.Close()
			return
		}
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "%s<Response><Errors><Error><Code>%s</Code><Message>m</Message></Error></Errors><RequestID>r</RequestID></Response>", xml.Header, code)
	}))
	t.Cleanup(server.Close)
	return New(ec2.NewFromConfig(aws.Config{
		Region: "us-west-2", BaseEndpoint: aws.String(server.URL), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})), calls
}

// T4: an answer that was lost may have been "launched", whatever is said to the call that repeats it.
func TestF6WhatFollowsALostAnswerIsUnknown(t *testing.T) {
	for code, status := range map[string]int{
		"RequestLimitExceeded": 503, "UnauthorizedOperation": 403, "InvalidParameterValue": 400, "InsufficientInstanceCapacity": 400, "InternalError": 500,
	} {
		r := start(t)
		fleet, calls := lossy(t, r, status, code, true)
		_, err := fleet.Launch(t.Context(), r.request(t, r.launch(t, "i-1", "on-demand", "default-a")))
		if !fault.Is(err, fault.Internal) || fault.CodeOf(err) != CodeOutcomeUnknown || calls.Load() != 2 {
			t.Errorf("%s: %d calls, kind %s, code %q: %v", code, calls.Load(), fault.KindOf(err), fault.CodeOf(err), err)
		}
		if n := len(r.Instances()); n != 1 {
			t.Errorf("%s: the lost call launched %d machines, want 1", code, n)
		}
	}
}

// Without a lost answer EC2's own word stands.
func TestF6WhatFollowsNoLostAnswerIsWhatEC2Says(t *testing.T) {
	r := start(t)
	fleet, calls := lossy(t, r, 503, "RequestLimitExceeded", false)
	_, err := fleet.Launch(t.Context(), r.request(t, r.launch(t, "i-1", "on-demand", "default-a")))
	if !fault.Is(err, fault.Throttled) || fault.CodeOf(err) != "RequestLimitExceeded" || calls.Load() != 1 {
		t.Errorf("%d calls: %v", calls.Load(), err)
	}
}
