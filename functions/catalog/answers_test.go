package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"
)

func TestW2AnswersGoOnlyWhereCloudFormationWaitsForThem(t *testing.T) {
	const (
		west  = "arn:aws:cloudformation:us-west-2:111122223333:stack/joiner-cluster-web/1"
		east  = "arn:aws:cloudformation:us-east-1:111122223333:stack/joiner-cluster-web/1"
		china = "arn:aws-cn:cloudformation:cn-north-1:111122223333:stack/joiner-cluster-web/1"
		gov   = "arn:aws-us-gov:cloudformation:us-gov-west-1:111122223333:stack/joiner-cluster-web/1"
		model = "http://127.0.0.1:4566"
		host  = "https://cloudformation-custom-resource-response-uswest2."
	)
	for _, tt := range []struct {
		address, stack, endpoint string
		want                     bool
	}{
		{host + "s3.us-west-2.amazonaws.com/arn%3Aaws?X-Amz-Signature=s", west, "", true},
		{host + "s3-us-west-2.amazonaws.com/a", west, "", true},
		{host + "s3.us-west-2.amazonaws.com/a", west, "https://dynamodb.us-west-2.amazonaws.com", true},
		{"https://cloudformation-custom-resource-response-useast1.s3.amazonaws.com/a", east, "", true},
		{"https://cloudformation-custom-resource-response-useast1.s3.us-east-1.amazonaws.com/a", east, "", true},
		{"https://cloudformation-custom-resource-response-cnnorth1.s3.cn-north-1.amazonaws.com.cn/a", china, "", true},
		{"https://cloudformation-custom-resource-response-usgovwest1.s3.us-gov-west-1.amazonaws.com/a", gov, "", true},
		{"http://127.0.0.1:9999/a", west, model, true},
		{"http://127.0.0.2:9999/a", west, model, false},
		{"http://[::1]:9999/a", west, model, false},

		{"http" + strings.TrimPrefix(host, "https") + "s3.us-west-2.amazonaws.com/a", west, "", false},
		{host + "s3.us-west-2.amazonaws.com:443/a", west, "", false},
		{host + "s3.us-west-2.amazonaws.com:8443/a", west, "", false},
		{host + "s3.us-west-2.amazonaws.com.evil.example/a", west, "", false},
		{host + "s3.us-west-2.amazonaws.com.cn/a", west, "", false},
		{host + "s3.us-east-1.amazonaws.com/a", west, "", false},
		{host + "s3.amazonaws.com/a", west, "", false},
		{host + "s3.us-west-2.amazonaws.com/a", east, "", false},
		{host + "evil.s3.us-west-2.amazonaws.com/a", west, "", false},
		{"https://evil@" + strings.TrimPrefix(host, "https://") + "s3.us-west-2.amazonaws.com/a", west, "", false},
		{"https://evil.s3.us-west-2.amazonaws.com/cloudformation-custom-resource-response-uswest2", west, "", false},
		{"https://169.254.169.254/latest/meta-data", west, "", false},
		{"http://127.0.0.1:9001/2018-06-01/runtime/invocation/next", west, "", false},
		{"http://127.0.0.1:9001/a", west, "https://vpce-1.dynamodb.us-west-2.vpce.amazonaws.com", false},
		{"http://203.0.113.66/a", west, model, false},
		{"http://localhost.evil.example/a", west, model, false},
		{"https://127.0.0.1:1/a", west, model, false},
		{host + "s3.us-west-2.amazonaws.com/a", "joiner-cluster-web", "", false},
		{host + "s3.us-west-2.amazonaws.com/a", "", "", false},
		{"http://a b/", west, "", false},
	} {
		if got := mayAnswer(tt.address, tt.stack, tt.endpoint); got != tt.want {
			t.Errorf("%s about %s with endpoint %q: %v", tt.address, tt.stack, tt.endpoint, got)
		}
	}
}

// A request whose answer would go elsewhere is not CloudFormation's: nothing is done, and nobody is called.
func TestW2ARequestToAnswerElsewhereChangesNothing(t *testing.T) {
	for _, endpoint := range []string{"", "https://sqs.us-west-2.amazonaws.com"} {
		h, d := withRegistrations()
		h.custom.endpoint = endpoint
		in := newInbox(t)
		for _, kind := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestUpdate, cfn.RequestDelete} {
			r := request(kind, in, properties())
			r["PhysicalResourceId"] = "joiner/web"
			_, err := handle(t, h, r)
			if err == nil || !strings.Contains(err.Error(), "not one of CloudFormation's") || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", kind, err)
			}
		}
		if d.desired.Cluster != "" || d.departure.Cluster != "" || len(in.answers) != 0 {
			t.Errorf("wished %+v, departed %+v, answered %v", d.desired, d.departure, in.answers)
		}
	}
}

func TestW2AnswersFollowNoRedirect(t *testing.T) {
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		outside := httptest.NewServer(http.RedirectHandler(inside.URL+"/internal-address", status))
		h, _ := withRegistrations()
		r := request(cfn.RequestCreate, &inbox{Server: outside}, properties())
		if _, err := handle(t, h, r); err == nil || reached.Load() != 0 {
			t.Errorf("status %d: %v, and the other address was called %d times", status, err, reached.Load())
		}
		outside.Close()
	}
}

// A stack names its cluster by its ARN, in its own region, also when it takes it out.
func TestW2AStackNamesItsClusterByARN(t *testing.T) {
	for want, arn := range map[string]any{
		`property arn: ""`: nil,
		`property arn: "arn:aws:iam::111122223333:role/web"`:       "arn:aws:iam::111122223333:role/web",
		"deploy a cluster's stack in its region":                   "arn:aws:eks:eu-west-1:111122223333:cluster/web",
		"is in region us-west-2, and stack arn:aws:cloudformation": "arn:aws-cn:eks:us-west-2:111122223333:cluster/web",
	} {
		for _, kind := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestUpdate, cfn.RequestDelete} {
			h, d := withRegistrations()
			in := newInbox(t)
			p := properties()
			delete(p, "arn")
			if arn != nil {
				p["arn"] = arn
			}
			r := request(kind, in, p)
			r["PhysicalResourceId"] = "joiner/web"
			if _, err := handle(t, h, r); err != nil {
				t.Fatal(err)
			}
			if got := in.last(t); got.Status != cfn.StatusFailed || !strings.Contains(got.Reason, want) || d.desired.Cluster != "" || d.departure.Cluster != "" {
				t.Errorf("%s: answered %s %q, want %q", kind, got.Status, got.Reason, want)
			}
		}
	}
}
