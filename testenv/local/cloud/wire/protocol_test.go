package wire_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

type echoInput struct {
	Text  string
	Count int
}

type echoOutput struct {
	Text string
	At   wire.Epoch
}

func echo(_ context.Context, in *echoInput) (*echoOutput, error) {
	switch in.Text {
	case "refuse":
		return nil, fmt.Errorf("echo: %w", &wire.Error{Code: "QueueDoesNotExist", Message: "no <queue>", QueryCode: "AWS.Old", Members: map[string]any{"Reasons": []int{1}}})
	case "break":
		return nil, errors.New("disk on fire")
	}
	return &echoOutput{in.Text, wire.Epoch{Time: time.UnixMilli(1500)}}, nil
}

var jsonHandler = wire.JSON{
	Version: "1.0", TargetPrefix: "Svc", ErrorPrefix: "com.svc#", CRC32: true,
	Actions: map[string]wire.JSONAction{"Echo": wire.JSONFunc(echo)},
}

func callJSON(target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", target)
	w := httptest.NewRecorder()
	jsonHandler.ServeHTTP(w, r.WithContext(wire.WithRequestID(r.Context(), "req-1")))
	return w
}

func TestJSONAnswersResultsAndErrors(t *testing.T) {
	tests := map[string]struct {
		target, body string
		status       int
		want         string
	}{
		"result":         {"Svc.Echo", `{"Text":"a<b","Unknown":1}`, 200, `{"Text":"a<b","At":1.5}`},
		"refusal":        {"Svc.Echo", `{"Text":"refuse"}`, 400, `{"Reasons":[1],"__type":"com.svc#QueueDoesNotExist","message":"no <queue>"}`},
		"fault":          {"Svc.Echo", `{"Text":"break"}`, 500, `{"__type":"com.svc#InternalFailure","message":"disk on fire"}`},
		"unknown action": {"Svc.Other", `{}`, 400, `{"__type":"com.svc#UnknownOperationException","message":"The operation \"Svc.Other\" is not known to this service"}`},
		"other service":  {"Sv.Echo", `{}`, 400, `{"__type":"com.svc#UnknownOperationException","message":"The operation \"Sv.Echo\" is not known to this service"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := callJSON(tt.target, tt.body)
			if w.Code != tt.status || w.Body.String() != tt.want {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tt.status, tt.want)
			}
			if got, want := w.Header().Get("x-amz-crc32"), fmt.Sprint(crc32.ChecksumIEEE(w.Body.Bytes())); got != want {
				t.Errorf("x-amz-crc32 %q, want %q", got, want)
			}
			if got := w.Header().Get("x-amzn-RequestId"); got != "req-1" {
				t.Errorf("request id %q, want req-1", got)
			}
		})
	}
}

func TestJSONNamesTheOlderErrorCode(t *testing.T) {
	got := callJSON("Svc.Echo", `{"Text":"refuse"}`).Header().Get("x-amzn-query-error")
	if got != "AWS.Old;Sender" {
		t.Errorf("x-amzn-query-error %q, want AWS.Old;Sender", got)
	}
}

func TestJSONRefusesMembersOfAnotherType(t *testing.T) {
	w := callJSON("Svc.Echo", `{"Count":"three"}`)
	var doc struct {
		Type string `json:"__type"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if w.Code != 400 || doc.Type != "com.svc#SerializationException" {
		t.Errorf("got %d %s, want 400 SerializationException", w.Code, w.Body)
	}
}

type xmlOutput struct {
	Text  string              `xml:"text"`
	Items wire.Set[string]    `xml:"itemSet"`
	Names wire.Members[int32] `xml:"Names"`
	At    wire.Time           `xml:"at"`
}

func echoXML(_ context.Context, in *echoInput) (*xmlOutput, error) {
	if in.Text == "refuse" {
		return nil, wire.StatusErrorf(409, "EntityAlreadyExists", "a & b")
	}
	return &xmlOutput{in.Text, wire.SetOf[string](nil), wire.MembersOf([]int32{1, 2}), wire.Time{Time: time.UnixMilli(1500)}}, nil
}

func callQuery(ec2 bool, query string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/?X-Amz-Date=1", strings.NewReader(query))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	w := httptest.NewRecorder()
	wire.Query{Namespace: "urn:svc", EC2: ec2, Actions: map[string]wire.QueryAction{"Echo": wire.QueryFunc(echoXML)}}.
		ServeHTTP(w, r.WithContext(wire.WithRequestID(r.Context(), "req-1")))
	return w
}

func TestQueryAnswersInItsDialect(t *testing.T) {
	const fields = `<text>t</text><itemSet></itemSet><Names><member>1</member><member>2</member></Names><at>1970-01-01T00:00:01.500Z</at>`
	tests := map[string]struct {
		ec2    bool
		query  string
		status int
		want   string
	}{
		"query result": {false, "Action=Echo&Version=1&Text=t", 200,
			`<EchoResponse xmlns="urn:svc"><EchoResult>` + fields + `</EchoResult><ResponseMetadata><RequestId>req-1</RequestId></ResponseMetadata></EchoResponse>`},
		"ec2 result": {true, "Action=Echo&Text=t", 200,
			`<EchoResponse xmlns="urn:svc"><requestId>req-1</requestId>` + fields + `</EchoResponse>`},
		"query error": {false, "Action=Echo&Text=refuse", 409,
			`<ErrorResponse xmlns="urn:svc"><Error><Type>Sender</Type><Code>EntityAlreadyExists</Code><Message>a &amp; b</Message></Error><RequestId>req-1</RequestId></ErrorResponse>`},
		"ec2 error": {true, "Action=Echo&Text=refuse", 409,
			`<Response><Errors><Error><Code>EntityAlreadyExists</Code><Message>a &amp; b</Message></Error></Errors><RequestID>req-1</RequestID></Response>`},
		"unknown action": {true, "Action=Shout", 400,
			`<Response><Errors><Error><Code>InvalidAction</Code><Message>The action Shout is not valid for this web service.</Message></Error></Errors><RequestID>req-1</RequestID></Response>`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := callQuery(tt.ec2, tt.query)
			if got := strings.TrimPrefix(w.Body.String(), xml.Header); w.Code != tt.status || got != tt.want {
				t.Errorf("got  %d %s\nwant %d %s", w.Code, got, tt.status, tt.want)
			}
		})
	}
}

func TestProtocolFollowsServiceThenShape(t *testing.T) {
	tests := []struct {
		service, target, contentType, url string
		want                              wire.Protocol
	}{
		{"s3", "", "", "/bucket/key", wire.ProtocolRESTXML},
		{"ec2", "", "application/x-www-form-urlencoded", "/", wire.ProtocolEC2},
		{"eks", "", "application/json", "/clusters", wire.ProtocolRESTJSON},
		{"dynamodb", "DynamoDB_20120810.GetItem", "application/x-amz-json-1.0", "/", wire.ProtocolJSON},
		{"", "AmazonSSM.GetParameter", "application/x-amz-json-1.1", "/", wire.ProtocolJSON},
		{"sts", "", "", "/", wire.ProtocolQuery},
		{"", "", "", "/?Action=GetCallerIdentity", wire.ProtocolQuery},
		{"", "", "", "/bucket", wire.ProtocolRESTXML},
		{"scheduler", "", "application/json", "/schedules", wire.ProtocolRESTJSON},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodPost, tt.url, nil)
		r.Header.Set("X-Amz-Target", tt.target)
		r.Header.Set("Content-Type", tt.contentType)
		if got := wire.ProtocolOf(tt.service, r); got != tt.want {
			t.Errorf("%+v: got protocol %d", tt, got)
		}
	}
}

func TestErrorsBeforeDispatchWearTheProtocolOfTheRequest(t *testing.T) {
	refusal := wire.StatusErrorf(403, "SignatureDoesNotMatch", "no")
	for protocol, want := range map[wire.Protocol]string{
		wire.ProtocolJSON:     `{"__type":"SignatureDoesNotMatch","message":"no"}`,
		wire.ProtocolQuery:    `<Code>SignatureDoesNotMatch</Code>`,
		wire.ProtocolEC2:      `<Response><Errors><Error><Code>SignatureDoesNotMatch</Code>`,
		wire.ProtocolRESTJSON: `{"message":"no"}`,
		wire.ProtocolRESTXML:  `<Error><Code>SignatureDoesNotMatch</Code><Message>no</Message><Resource>/p</Resource>`,
	} {
		w := httptest.NewRecorder()
		wire.WriteError(w, httptest.NewRequest("GET", "/p", nil), protocol, refusal)
		if w.Code != 403 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("protocol %d: %d %s, want 403 with %s", protocol, w.Code, w.Body, want)
		}
	}
}

func TestRESTXMLErrorToHeadHasNoBody(t *testing.T) {
	w := httptest.NewRecorder()
	wire.WriteRESTXMLError(w, httptest.NewRequest("HEAD", "/b/k", nil), wire.StatusErrorf(404, "NoSuchKey", "gone"))
	if w.Code != 404 || w.Body.Len() != 0 {
		t.Errorf("got %d with %d bytes, want 404 without a body", w.Code, w.Body.Len())
	}
}
