package access

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// Request is what the front door knows of a request.
type Request struct {
	Service string // of the credential scope
	Action  string // as the API calls it
	HTTP    *http.Request
	Body    []byte
	Account string // of the caller; "" = the book's
}

// BySelf are services whose models ask the guard themselves, because what a request asks for depends on what there is.
func BySelf(service string) bool { return service == "ec2" || service == "iam" || service == "sts" }

// Of returns what a request asks of IAM, at least one thing. An action that is not known here is an error.
func (b *Book) Of(r Request) ([]wire.Access, error) { return asker{b}.of(r) }

// asker reads requests for a book.
type asker struct{ *Book }

func (b asker) of(r Request) ([]wire.Access, error) {
	r.Account = cmp.Or(r.Account, b.Account)
	services := map[string]func(Request) ([]wire.Access, error){
		"sqs": b.ofSQS, "dynamodb": b.ofDynamoDB, "s3": b.ofS3, "ssm": b.ofSSM, "pricing": b.ofPricing, "eks": b.ofEKS, "events": b.ofEvents,
		"lambda": b.ofLambda, "cloudformation": b.ofCloudFormation, "ecr": b.ofECR,
		"arc-zonal-shift": b.ofZonalShift, "monitoring": b.ofCloudWatch,
	}
	f, ok := services[r.Service]
	if !ok {
		return nil, fmt.Errorf("what requests of %s ask of IAM is not known here", r.Service)
	}
	out, err := f(r)
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("what %s %s asks of IAM is not known here", r.Service, r.Action)
	}
	return out, err
}

func one(action, resource string) []wire.Access {
	return []wire.Access{{Action: action, Resource: resource}}
}

// arn returns the ARN of something in an account and the region.
func (b asker) arn(service, account, resource string) string {
	return "arn:aws:" + service + ":" + b.Region + ":" + account + ":" + resource
}

// sqsActions are the IAM actions of SQS's API where they have another name.
var sqsActions = map[string]string{
	"SendMessageBatch": "SendMessage", "DeleteMessageBatch": "DeleteMessage", "ChangeMessageVisibilityBatch": "ChangeMessageVisibility",
}

func (b asker) ofSQS(r Request) ([]wire.Access, error) {
	var in struct{ QueueURL, QueueName string }
	var raw map[string]any
	if err := json.Unmarshal(r.Body, &raw); err != nil {
		return nil, fmt.Errorf("read request of SQS: %w", err)
	}
	in.QueueURL, _ = raw["QueueUrl"].(string)
	in.QueueName, _ = raw["QueueName"].(string)
	action := r.Action
	if other, ok := sqsActions[action]; ok {
		action = other
	}
	account, name := r.Account, in.QueueName
	if u, err := url.Parse(in.QueueURL); err == nil && in.QueueURL != "" {
		parts := strings.Split(strings.Trim(u.Path, "/"), "/")
		name = parts[len(parts)-1]
		if len(parts) > 1 {
			account = parts[len(parts)-2]
		}
	}
	if name == "" { // ListQueues
		return one("sqs:"+action, "*"), nil
	}
	return one("sqs:"+action, "arn:aws:sqs:"+b.Region+":"+account+":"+name), nil
}

// ofEvents: an event is put on a bus of any account by the bus's ARN, and asks for that with its source.
func (b asker) ofEvents(r Request) ([]wire.Access, error) {
	var in struct {
		Name, Rule string
		Entries    []struct{ EventBusName, Source, DetailType string }
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return nil, fmt.Errorf("read request of EventBridge: %w", err)
	}
	if r.Action != "PutEvents" {
		return one("events:"+r.Action, b.arn("events", r.Account, "rule/"+cmp.Or(in.Name, in.Rule))), nil
	}
	var out []wire.Access
	for _, e := range in.Entries {
		bus := cmp.Or(e.EventBusName, "default")
		if !strings.HasPrefix(bus, "arn:") {
			bus = b.arn("events", r.Account, "event-bus/"+bus)
		}
		out = append(out, wire.Access{Action: "events:PutEvents", Resource: bus, Context: map[string][]string{"events:source": {e.Source}, "events:detail-type": {e.DetailType}}})
	}
	return out, nil
}

// ofLambda: a function is named by its name, or by its ARN, which may be another account's.
func (b asker) ofLambda(r Request) ([]wire.Access, error) {
	parts := strings.Split(strings.Trim(r.HTTP.URL.Path, "/"), "/")
	if r.Action != "Invoke" || len(parts) != 4 {
		return nil, nil
	}
	function := parts[2]
	if !strings.HasPrefix(function, "arn:") {
		function = b.arn("lambda", r.Account, "function:"+function)
	}
	return one("lambda:InvokeFunction", function), nil
}

// ofCloudFormation: a stack is named by its name, or by its ARN; what is about none asks for all.
func (b asker) ofCloudFormation(r Request) ([]wire.Access, error) {
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return nil, fmt.Errorf("read request of CloudFormation: %w", err)
	}
	stack := form.Get("StackName")
	switch {
	case stack == "":
		stack = "*"
	case !strings.HasPrefix(stack, "arn:"):
		stack = b.arn("cloudformation", r.Account, "stack/"+stack+"/*")
	}
	out := one("cloudformation:"+r.Action, stack)
	if role := form.Get("RoleARN"); role != "" {
		out = append(out, wire.Access{Action: "iam:PassRole", Resource: role, Context: map[string][]string{"iam:passedtoservice": {"cloudformation.amazonaws.com"}}})
	}
	return out, nil
}

// ofECR: repositories are named, one or several; logging in asks for all.
func (b asker) ofECR(r Request) ([]wire.Access, error) {
	var in struct {
		RepositoryName  string   `json:"repositoryName"`
		RepositoryNames []string `json:"repositoryNames"`
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return nil, fmt.Errorf("read request of ECR: %w", err)
	}
	var out []wire.Access
	for _, name := range append(in.RepositoryNames, in.RepositoryName) {
		if name != "" {
			out = append(out, wire.Access{Action: "ecr:" + r.Action, Resource: b.arn("ecr", r.Account, "repository/"+name)})
		}
	}
	if len(out) == 0 {
		return one("ecr:"+r.Action, "*"), nil
	}
	return out, nil
}

func (b asker) ofPricing(r Request) ([]wire.Access, error) { return one("pricing:"+r.Action, "*"), nil }

func (b asker) ofSSM(r Request) ([]wire.Access, error) {
	var in struct {
		Name, Path string
		Names      []string
	}
	if err := json.Unmarshal(r.Body, &in); err != nil {
		return nil, fmt.Errorf("read request of SSM: %w", err)
	}
	var out []wire.Access
	for _, name := range append(in.Names, in.Name, in.Path) {
		if name != "" {
			out = append(out, wire.Access{Action: "ssm:" + r.Action, Resource: b.parameter(r.Account, name)})
		}
	}
	return out, nil
}

// parameter returns the ARN of a parameter, which may be asked for by it: those AWS publishes belong to no account.
func (b asker) parameter(account, name string) string {
	if strings.HasPrefix(name, "arn:") {
		return name
	}
	name = strings.TrimPrefix(name, "/")
	if strings.HasPrefix(name, "aws/service/") {
		account = ""
	}
	return "arn:aws:ssm:" + b.Region + ":" + account + ":parameter/" + name
}

// ofEKS: an access entry's ARN ends in an id nobody knows beforehand, which is a "-" here.
func (b asker) ofEKS(r Request) ([]wire.Access, error) {
	parts := strings.Split(strings.Trim(r.HTTP.URL.EscapedPath(), "/"), "/")
	switch {
	case r.Action == "ListClusters":
		return one("eks:ListClusters", "*"), nil
	case r.Action == "" || len(parts) < 2:
		return nil, nil
	case len(parts) < 4:
		return one("eks:"+r.Action, b.arn("eks", r.Account, "cluster/"+parts[1])), nil
	}
	principal, err := url.PathUnescape(parts[3])
	if err != nil {
		return nil, err
	}
	kind, name, _ := strings.Cut(principal[strings.LastIndex(principal, ":")+1:], "/")
	return one("eks:"+r.Action, b.arn("eks", r.Account, "access-entry/"+parts[1]+"/"+kind+"/"+accountOf(principal)+"/"+name+"/-")), nil
}

// ofCloudWatch: composite alarms are described only where the right is on every resource, which is what is asked for.
func (b asker) ofCloudWatch(r Request) ([]wire.Access, error) {
	return one("cloudwatch:"+r.Action, "*"), nil
}

// ofZonalShift: which resource is asked about is a condition key, as Karpenter's published policy has it.
func (b asker) ofZonalShift(r Request) ([]wire.Access, error) {
	if r.Action == "" {
		return nil, nil
	}
	access := wire.Access{Action: "arc-zonal-shift:" + r.Action, Resource: "*"}
	parts := strings.Split(strings.Trim(r.HTTP.URL.EscapedPath(), "/"), "/")
	if parts[0] == "managedresources" && len(parts) == 2 {
		identifier, err := url.PathUnescape(parts[1])
		if err != nil {
			return nil, err
		}
		access.Context = map[string][]string{"arc-zonal-shift:resourceidentifier": {identifier}}
	}
	return []wire.Access{access}, nil
}
