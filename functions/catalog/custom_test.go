package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/attach"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/handlers"
)

// inbox is where CloudFormation waits for answers. It refuses the first few.
type inbox struct {
	*httptest.Server
	mutex   sync.Mutex
	refuse  int
	answers []cfn.Response
	raw     []string
	headers []http.Header
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.mutex.Lock()
		defer in.mutex.Unlock()
		body, _ := io.ReadAll(r.Body)
		var answer cfn.Response
		if in.refuse--; in.refuse >= 0 || r.Method != http.MethodPut || json.Unmarshal(body, &answer) != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		in.answers, in.raw, in.headers = append(in.answers, answer), append(in.raw, string(body)), append(in.headers, r.Header)
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) last(t *testing.T) cfn.Response {
	t.Helper()
	in.mutex.Lock()
	defer in.mutex.Unlock()
	if len(in.answers) == 0 {
		t.Fatal("no answer came")
	}
	return in.answers[len(in.answers)-1]
}

// fakeRegistrations is the flow as the custom resource sees it.
type fakeRegistrations struct {
	desired   attach.Desired
	departure attach.DetachRequest
	err       error
	hang      bool
	until     time.Time // what a call that hangs was given
	panics    bool
}

func (d *fakeRegistrations) Attach(ctx context.Context, desired attach.Desired) (attach.AttachOutcome, error) {
	d.desired = desired
	if d.panics {
		panic("over nothing")
	}
	if d.hang {
		d.until, _ = ctx.Deadline()
		<-ctx.Done()
		return attach.AttachOutcome{}, ctx.Err()
	}
	return attach.AttachOutcome{Registration: desired.Registration, Warnings: []string{"one", "two"}}, d.err
}

func (d *fakeRegistrations) Detach(_ context.Context, departure attach.DetachRequest) (attach.DetachOutcome, error) {
	d.departure = departure
	return attach.DetachOutcome{Gone: d.err == nil}, d.err
}

func request(kind cfn.RequestType, in *inbox, properties map[string]any) map[string]any {
	return map[string]any{
		"RequestType": kind, "RequestId": "r-1", "ResponseURL": in.URL + "/answer?signature=secret", "ResourceType": customType, "LogicalResourceId": "Cluster",
		"StackId": "arn:aws:cloudformation:us-west-2:111122223333:stack/joiner-cluster-web/1", "ResourceProperties": properties,
	}
}

// properties are those of a cluster's stack, as CloudFormation hands them on.
func properties() map[string]any {
	return map[string]any{
		"ServiceToken": "arn:aws:lambda:us-west-2:111122223333:function:joiner-catalog", "ServiceTimeout": "180",
		"cluster": "web", "arn": "arn:aws:eks:us-west-2:111122223333:cluster/web", "account": "111122223333", "region": "us-west-2", "externalID": "9b1c",
		"roles": map[string]any{"provision": "arn:p", "interruption": "arn:i", "catalog": "arn:c", "disrupt": "arn:d", "adopt": "arn:a"},
	}
}

func withRegistrations() (*handler, *fakeRegistrations) {
	h, _ := newHandler(&handlers.Registry{})
	d := &fakeRegistrations{}
	h.custom = &custom{flow: d, client: newAnswers(), endpoint: "http://127.0.0.1:1", logger: slog.New(slog.DiscardHandler)}
	return h, d
}

func TestCustomResourceReadsEveryProperty(t *testing.T) {
	h, d := withRegistrations()
	in := newInbox(t)
	p := properties()
	p["paused"], p["defaultSpread"], p["relayURL"] = "true", "none", "https://sqs"
	if _, err := handle(t, h, request(cfn.RequestCreate, in, p)); err != nil {
		t.Fatal(err)
	}
	want := model.Registration{
		Cluster: "web", ARN: "arn:aws:eks:us-west-2:111122223333:cluster/web", Account: "111122223333", Region: "us-west-2", ExternalID: "9b1c",
		RelayURL: "https://sqs", DefaultSpread: "none", Stack: "arn:aws:cloudformation:us-west-2:111122223333:stack/joiner-cluster-web/1",
		Roles: model.Roles{Provision: "arn:p", Interruption: "arn:i", Catalog: "arn:c", Disrupt: "arn:d", Adopt: "arn:a"},
	}
	if !reflect.DeepEqual(d.desired.Registration, want) || d.desired.Paused == nil || !*d.desired.Paused {
		t.Errorf("wished %+v", d.desired)
	}
	got := in.last(t)
	if got.Status != cfn.StatusSuccess || got.PhysicalResourceID != "joiner/web" || got.RequestID != "r-1" || got.LogicalResourceID != "Cluster" ||
		!strings.HasSuffix(got.StackID, "/1") || got.Data["cluster"] != "web" || got.Data["warnings"] != "one; two" {
		t.Errorf("answered %+v", got)
	}
	if _, typed := in.headers[0]["Content-Type"]; typed {
		t.Error("the answer has a content type, which its signature has not")
	}
}

// Whoever takes "paused" out of the stack has the cluster go on; where it never was there, it stays as it is.
func TestCustomResourcePausesOnlyWhereItIsSaid(t *testing.T) {
	h, d := withRegistrations()
	in := newInbox(t)
	if _, err := handle(t, h, request(cfn.RequestCreate, in, properties())); err != nil || d.desired.Paused != nil {
		t.Errorf("%v %v", d.desired.Paused, err)
	}
	r := request(cfn.RequestUpdate, in, properties())
	r["PhysicalResourceId"], r["OldResourceProperties"] = "joiner/web", map[string]any{"paused": "true"}
	if _, err := handle(t, h, r); err != nil || d.desired.Paused == nil || *d.desired.Paused {
		t.Errorf("%v %v", d.desired.Paused, err)
	}
}

// A property that is unknown, or cannot be read, is named.
func TestCustomResourceRefusesProperties(t *testing.T) {
	for want, change := range map[string]func(map[string]any){
		"property Paused: it is not a property that can be set":        func(p map[string]any) { p["Paused"] = "true" },
		"property endpoint: it is not a property that can be set":      func(p map[string]any) { p["endpoint"] = "https://else" },
		`property paused: "yes please" is not a boolean`:               func(p map[string]any) { p["paused"] = "yes please" },
		`property batchMaxMillis: "soon" is not a whole number`:        func(p map[string]any) { p["batchMaxMillis"] = "soon" },
		"property roles.terminate: there is no such field":             func(p map[string]any) { p["roles"] = map[string]any{"terminate": "arn"} },
		`property roles: "arn" is not a map`:                           func(p map[string]any) { p["roles"] = "arn" },
		`property cluster: "map[a:b]" is not a text`:                   func(p map[string]any) { p["cluster"] = map[string]any{"a": "b"} },
		"resource type \"Custom::Else\" is not one of this function's": nil,
	} {
		h, d := withRegistrations()
		in := newInbox(t)
		p := properties()
		r := request(cfn.RequestCreate, in, p)
		if change == nil {
			r["ResourceType"] = "Custom::Else"
		} else {
			change(p)
		}
		if _, err := handle(t, h, r); err != nil {
			t.Fatal(err)
		}
		if got := in.last(t); got.Status != cfn.StatusFailed || !strings.Contains(got.Reason, want) || d.desired.Cluster != "" {
			t.Errorf("answered %s %q, want %q", got.Status, got.Reason, want)
		}
	}
}

// What failed to be made is not of any cluster: when CloudFormation takes it back, one that was there before is left alone.
func TestCustomResourceOfAFailedCreateIsDeletedWithoutADetach(t *testing.T) {
	h, d := withRegistrations()
	in := newInbox(t)
	d.err = fault.New(fault.Conflict, "", "another cluster has the name")
	if _, err := handle(t, h, request(cfn.RequestCreate, in, properties())); err != nil {
		t.Fatal(err)
	}
	failed := in.last(t)
	if failed.Status != cfn.StatusFailed || !strings.Contains(failed.Reason, "another cluster has the name") || strings.HasPrefix(failed.PhysicalResourceID, attachedID) {
		t.Fatalf("answered %+v", failed)
	}
	r := request(cfn.RequestDelete, in, properties())
	r["PhysicalResourceId"] = failed.PhysicalResourceID
	if _, err := handle(t, h, r); err != nil || in.last(t).Status != cfn.StatusSuccess || d.departure.Cluster != "" {
		t.Errorf("%+v %+v %v", in.last(t), d.departure, err)
	}
}

func TestCustomResourceDetaches(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status cfn.StatusType
		reason string
	}{
		{nil, cfn.StatusSuccess, ""},
		{fault.New(fault.NotFound, "", "cluster web is not attached"), cfn.StatusSuccess, ""},
		{fault.New(fault.Conflict, "MachinesLive", "cluster web still has 3 machines; joiner detach web --hand-over"), cfn.StatusFailed, "joiner detach web --hand-over"},
	} {
		h, d := withRegistrations()
		in := newInbox(t)
		d.err = tt.err
		r := request(cfn.RequestDelete, in, properties())
		r["PhysicalResourceId"] = "joiner/web"
		if _, err := handle(t, h, r); err != nil {
			t.Fatal(err)
		}
		if got := in.last(t); got.Status != tt.status || !strings.Contains(got.Reason, tt.reason) || got.PhysicalResourceID != "joiner/web" {
			t.Errorf("answered %+v", got)
		}
		if d.departure.Cluster != "web" || d.departure.ARN != "arn:aws:eks:us-west-2:111122223333:cluster/web" || d.departure.HandOver != "" {
			t.Errorf("asked for %+v", d.departure)
		}
	}
}

// M57: there is an answer whatever happens: where it takes too long, where the function panics, where the first tries
// fail.
func TestCustomResourceAlwaysAnswers(t *testing.T) {
	h, d := withRegistrations()
	in := newInbox(t)
	d.hang = true
	raw, _ := json.Marshal(request(cfn.RequestCreate, in, properties()))
	ctx, cancel := context.WithTimeout(invoked(t.Context()), answerIn+100*time.Millisecond)
	defer cancel()
	if _, err := h.handle(ctx, raw); err != nil || in.last(t).Status != cfn.StatusFailed {
		t.Errorf("%+v %v", in.last(t), err)
	}
	if end, _ := ctx.Deadline(); end.Sub(d.until) < answerIn {
		t.Errorf("the flow had until %s before the end of the invocation, and the answer needs %s", end.Sub(d.until), answerIn)
	}
	h, d = withRegistrations()
	in = newInbox(t)
	d.panics, in.refuse = true, 2
	if _, err := handle(t, h, request(cfn.RequestCreate, in, properties())); err != nil || in.last(t).Status != cfn.StatusFailed || !strings.Contains(in.last(t).Reason, "over nothing") {
		t.Errorf("%+v %v", in.last(t), err)
	}
	h, d = withRegistrations()
	d.err = errors.New(strings.Repeat("é", 5000))
	if _, err := handle(t, h, request(cfn.RequestCreate, in, properties())); err != nil || len(in.raw[len(in.raw)-1]) > 4096 {
		t.Errorf("an answer of %d bytes, %v", len(in.raw[len(in.raw)-1]), err)
	}
}

// Who knows the address may answer in our place: no error shows it.
func TestCustomResourceKeepsTheAddressToItself(t *testing.T) {
	h, _ := withRegistrations()
	in := newInbox(t)
	r := request(cfn.RequestCreate, in, properties())
	in.Close()
	if _, err := handle(t, h, r); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	r["ResponseURL"] = "http://a b/?signature=secret"
	if _, err := handle(t, h, r); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}

// TestW2OnlyStacksOfTheFunctionsAccountRegister: whoever got to invoke the function in the name of another account's stack changes nothing
// and learns which stack registers its cluster.
func TestW2OnlyStacksOfTheFunctionsAccountRegister(t *testing.T) {
	for _, kind := range []cfn.RequestType{cfn.RequestCreate, cfn.RequestUpdate, cfn.RequestDelete} {
		h, d := withRegistrations()
		in := newInbox(t)
		r := request(kind, in, properties())
		r["StackId"], r["PhysicalResourceId"] = "arn:aws:cloudformation:us-west-2:222222222222:stack/joiner-cluster-web/1", "joiner/web"
		if _, err := handle(t, h, r); err != nil {
			t.Fatal(err)
		}
		if got := in.last(t); got.Status != cfn.StatusFailed || !strings.Contains(got.Reason, "of account 222222222222") || !strings.Contains(got.Reason, "joiner-cluster-NAME-hub") {
			t.Errorf("%s answered %s %q", kind, got.Status, got.Reason)
		}
		if d.desired.Cluster != "" || d.departure.Cluster != "" {
			t.Errorf("%s was carried out: %+v %+v", kind, d.desired, d.departure)
		}
	}
	h, d := withRegistrations()
	raw, _ := json.Marshal(request(cfn.RequestCreate, newInbox(t), properties()))
	if _, err := h.handle(t.Context(), raw); err != nil || d.desired.Cluster != "" {
		t.Errorf("an invocation that does not say which function it is of: %+v %v", d.desired, err)
	}
	// A cluster of another account is registered by a stack of the function's.
	p := properties()
	p["arn"], p["account"] = "arn:aws:eks:us-west-2:222222222222:cluster/web", "222222222222"
	if _, err := handle(t, h, request(cfn.RequestCreate, newInbox(t), p)); err != nil || d.desired.Account != "222222222222" {
		t.Errorf("%+v %v", d.desired, err)
	}
}
