package access

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

func book() *Book {
	b := NewBook("123456789012", "us-west-2", time.Now)
	b.Readings = reading.Strict(reading.Delays()...)
	return b
}

// TestWhatRequestsAskFor writes accesses as action, resource and, where there are any, keys.
func TestWhatRequestsAskFor(t *testing.T) {
	b := book()
	b.SetTableKey("joiner/byInstance", "instance")
	table := "arn:aws:dynamodb:us-west-2:123456789012:table/joiner"
	for name, c := range map[string]struct {
		service, action, method, path, body string
		want                                []string // sorted; nil: an error
	}{
		"a batch of messages": {"sqs", "SendMessageBatch", "POST", "/", `{"QueueUrl": "http://127.0.0.1:1/999999999999/q"}`, []string{"sqs:SendMessage arn:aws:sqs:us-west-2:999999999999:q"}},
		"a queue by name":     {"sqs", "GetQueueUrl", "POST", "/", `{"QueueName": "q"}`, []string{"sqs:GetQueueUrl arn:aws:sqs:us-west-2:123456789012:q"}},
		"all queues":          {"sqs", "ListQueues", "POST", "/", `{}`, []string{"sqs:ListQueues *"}},
		"a public parameter":  {"ssm", "GetParameter", "POST", "/", `{"Name": "/aws/service/x"}`, []string{"ssm:GetParameter arn:aws:ssm:us-west-2::parameter/aws/service/x"}},
		"a parameter by its ARN": {"ssm", "GetParameter", "POST", "/",
			`{"Name": "arn:aws:ssm:us-west-2::parameter/aws/service/x"}`,
			[]string{"ssm:GetParameter arn:aws:ssm:us-west-2::parameter/aws/service/x"}},
		"parameters":              {"ssm", "GetParameters", "POST", "/", `{"Names": ["/a", "b"]}`, []string{"ssm:GetParameters arn:aws:ssm:us-west-2:123456789012:parameter/a", "ssm:GetParameters arn:aws:ssm:us-west-2:123456789012:parameter/b"}},
		"prices":                  {"pricing", "GetProducts", "POST", "/", `{}`, []string{"pricing:GetProducts *"}},
		"a cluster":               {"eks", "DescribeCluster", "GET", "/clusters/a", ``, []string{"eks:DescribeCluster arn:aws:eks:us-west-2:123456789012:cluster/a"}},
		"an access entry":         {"eks", "DescribeAccessEntry", "GET", "/clusters/a/access-entries/arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fr", ``, []string{"eks:DescribeAccessEntry arn:aws:eks:us-west-2:123456789012:access-entry/a/role/123456789012/r/-"}},
		"objects to delete":       {"s3", "DeleteObjects", "POST", "/b?delete", `<Delete><Object><Key>x</Key></Object><Object><Key>y</Key></Object></Delete>`, []string{"s3:DeleteObject arn:aws:s3:::b/x", "s3:DeleteObject arn:aws:s3:::b/y"}},
		"an object":               {"s3", "HeadObject", "HEAD", "/b/k/l", ``, []string{"s3:GetObject arn:aws:s3:::b/k/l"}},
		"a list":                  {"s3", "ListObjectsV2", "GET", "/b?list-type=2&prefix=p%2F", ``, []string{"s3:ListBucket arn:aws:s3:::b s3:prefix=[p/]"}},
		"a query of an index":     {"dynamodb", "Query", "POST", "/", `{"TableName": "joiner", "IndexName": "byInstance", "KeyConditionExpression": "instance = :i", "ExpressionAttributeValues": {":i": {"S": "i-1"}}}`, []string{"dynamodb:Query " + table + "/index/byInstance dynamodb:leadingkeys=[i-1]"}},
		"a table by its ARN":      {"dynamodb", "GetItem", "POST", "/", `{"TableName": "` + table + `", "Key": {"PK": {"S": "a"}}}`, []string{"dynamodb:GetItem " + table + " dynamodb:leadingkeys=[a]"}},
		"a batch of writes":       {"dynamodb", "BatchWriteItem", "POST", "/", `{"RequestItems": {"joiner": [{"PutRequest": {"Item": {"PK": {"S": "a"}}}}, {"DeleteRequest": {"Key": {"PK": {"S": "b"}}}}]}}`, []string{"dynamodb:BatchWriteItem " + table + " dynamodb:leadingkeys=[a b]"}},
		"a transaction":           {"dynamodb", "TransactGetItems", "POST", "/", `{"TransactItems": [{"Get": {"TableName": "joiner", "Key": {"PK": {"S": "a"}}}}]}`, []string{"dynamodb:GetItem " + table + " dynamodb:enclosingoperation=[TransactGetItems] dynamodb:leadingkeys=[a]"}},
		"a scan":                  {"dynamodb", "Scan", "POST", "/", `{"TableName": "joiner"}`, []string{"dynamodb:Scan " + table}},
		"an item without its key": {"dynamodb", "PutItem", "POST", "/", `{"TableName": "joiner", "Item": {"x": {"S": "a"}}}`, nil},
		"an unknown action":       {"dynamodb", "ExportTableToPointInTime", "POST", "/", `{}`, nil},
		"an unknown service":      {"kms", "Decrypt", "POST", "/", `{}`, nil},
		"no JSON":                 {"sqs", "SendMessage", "POST", "/", `x`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.path, strings.NewReader(c.body))
			asked, err := b.Of(Request{Service: c.service, Action: c.action, HTTP: r, Body: []byte(c.body)})
			if (err != nil) != (c.want == nil) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, a := range asked {
				got = append(got, written(a))
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func written(a wire.Access) string {
	out := a.Action + " " + a.Resource
	var keys []string
	for key, values := range a.Context {
		keys = append(keys, fmt.Sprintf(" %s=%v", key, values))
	}
	slices.Sort(keys)
	return out + strings.Join(keys, "")
}

func TestOnlyObjectsThatAreNotThereAreHidden(t *testing.T) {
	get := Request{Service: "s3", Action: "GetObject", HTTP: httptest.NewRequest("GET", "http://joiner.s3.us-west-2.amazonaws.com/k", nil)}
	if a, ok := Hidden(get, http.StatusNotFound); !ok || written(a) != "s3:ListBucket arn:aws:s3:::joiner" {
		t.Errorf("got %v, %v", a, ok)
	}
	if _, ok := Hidden(get, http.StatusOK); ok {
		t.Error("an object that is there is hidden")
	}
}

// TestBookCountsBySource: what several statements allow counts for each, a refusal for none.
func TestBookCountsBySource(t *testing.T) {
	b, arn := book(), "arn:aws:iam::123456789012:role/r"
	d, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": [
	  {"Sid": "One", "Effect": "Allow", "Action": ["sqs:SendMessage", "sqs:GetQueueUrl"], "Resource": "*"},
	  {"Effect": "Allow", "Action": "sqs:Send*", "Resource": "*"}, {"Sid": "Not", "Effect": "Allow", "NotAction": "sqs:*", "Resource": "*"}]}`), policy.Identity)
	if err != nil {
		t.Fatal(err)
	}
	b.SetRole(arn, Role{Identity: []policy.Attached{{Name: "own", Document: d}}, Tags: map[string]string{"Team": "a"}})
	send := wire.Access{Action: "sqs:SendMessage", Resource: "arn:aws:sqs:us-west-2:123456789012:q"}
	for range 2 {
		if !b.Decide(policy.Role(arn), send).Allowed() {
			t.Error("it may not send")
		}
	}
	b.Decide(policy.Role(arn), wire.Access{Action: "sqs:DeleteQueue", Resource: send.Resource})
	if !b.Decide(policy.Role("arn:aws:iam::123456789012:role/unknown"), wire.Access{Action: "sqs:DeleteQueue", Resource: send.Resource}).Allowed() {
		t.Error("a role without policies may not do everything")
	}
	if got := fmt.Sprint(b.Unused()); got != "["+arn+":  of own/Not "+arn+": sqs:GetQueueUrl of own/One]" {
		t.Errorf("unused %s", got)
	}
	if denied := b.Denied(); len(denied) != 1 || denied[0].Action != "sqs:DeleteQueue" || denied[0].Times != 1 {
		t.Errorf("denied %v", denied)
	}
	if uses := b.Uses(); len(uses) != 3 || !slices.ContainsFunc(uses, func(u Use) bool { return u.Times == 2 && len(u.Decision.By) == 2 }) {
		t.Errorf("uses %v", uses)
	}
}
