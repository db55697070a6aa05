package rights

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
)

// Open reads a template from a file and puts it in its environment, with the names it gives its resources.
func Open(path string, env cloudformation.Environment) (*cloudformation.Stack, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open template: %w", err)
	}
	t, err := cloudformation.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	s, err := t.With(env, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Boundaries are policies a template names as permissions boundaries and does not make, by ARN.
type Boundaries map[string]*policy.Document

// Add gives a book all policies of a stack. It returns the ARNs of roles that were left out: those that hold managed policies whose
// content is not in the template. A boundary that is neither in boundaries nor in the template is an error.
func Add(book *access.Book, s *cloudformation.Stack, boundaries Boundaries) (left []string, err error) {
	order, err := s.Order()
	if err != nil {
		return nil, err
	}
	r := reader{book: book, stack: s, boundaries: boundaries, statements: map[string][]any{}, roles: map[string]held{}}
	for _, id := range order {
		if err := r.read(id); err != nil {
			return nil, fmt.Errorf("resource %s: %w", id, err)
		}
	}
	return r.left, nil
}

// held is a role that has been read.
type held struct {
	arn  string
	role access.Role
}

// reader goes through a stack.
type reader struct {
	book       *access.Book
	stack      *cloudformation.Stack
	boundaries Boundaries
	statements map[string][]any // of functions and buses, by ARN
	roles      map[string]held  // by name, those that were not left out
	left       []string
}

func (r *reader) read(id string) error {
	properties, err := r.stack.Properties(id)
	if err != nil {
		return err
	}
	switch kind := r.stack.Resources[id].Type; kind {
	case "AWS::IAM::Role":
		return r.role(id, properties)
	case "AWS::IAM::Policy":
		return r.attached(properties)
	case "AWS::IAM::ManagedPolicy", "AWS::KMS::Key", "AWS::SNS::TopicPolicy":
		return fmt.Errorf("policies of type %s are not read here", kind)
	case "AWS::SQS::QueuePolicy":
		return r.queues(properties)
	case "AWS::S3::BucketPolicy":
		return r.resource("arn:"+r.stack.Environment.Partition+":s3:::"+fmt.Sprint(properties["Bucket"]), id, properties["PolicyDocument"])
	case "AWS::Lambda::Permission":
		return r.permission(properties)
	case "AWS::Events::EventBusPolicy":
		return r.busPolicy(properties)
	}
	return nil
}

// role reads a role with its inline policies, its boundary and its trust.
func (r *reader) role(id string, properties map[string]any) error {
	arn, err := r.stack.Attribute(id, "Arn")
	if err != nil {
		return err
	}
	out, known := access.Role{}, true
	managed, _ := properties["ManagedPolicyArns"].([]any)
	for _, item := range managed {
		p, ok := managedPolicy(fmt.Sprint(item))
		out.Identity, known = append(out.Identity, p), known && ok
	}
	if !known {
		r.left = append(r.left, arn)
		return nil
	}
	if out.Trust, err = policy.ParseValue(properties["AssumeRolePolicyDocument"], policy.Trust); err != nil {
		return fmt.Errorf("AssumeRolePolicyDocument: %w", err)
	}
	inline, _ := properties["Policies"].([]any)
	for _, item := range inline {
		p, _ := item.(map[string]any)
		d, err := policy.ParseValue(p["PolicyDocument"], policy.Identity)
		if err != nil {
			return fmt.Errorf("policy %v: %w", p["PolicyName"], err)
		}
		out.Identity = append(out.Identity, policy.Attached{Name: fmt.Sprint(p["PolicyName"]), Document: d})
	}
	if boundary, ok := properties["PermissionsBoundary"].(string); ok {
		d, known := r.boundaries[boundary]
		if !known {
			return fmt.Errorf("its PermissionsBoundary %s is not known", boundary)
		}
		out.Boundary = &policy.Attached{Name: boundary, Document: d}
	}
	out.Tags = tagsOf(properties["Tags"])
	r.book.SetRole(arn, out)
	r.roles[arn[strings.LastIndex(arn, "/")+1:]] = held{arn, out}
	return nil
}

// attached reads a policy that is a resource of its own, of roles of the stack that were read before.
func (r *reader) attached(properties map[string]any) error {
	d, err := policy.ParseValue(properties["PolicyDocument"], policy.Identity)
	if err != nil {
		return err
	}
	names, _ := properties["Roles"].([]any)
	for _, name := range names {
		h, ok := r.roles[fmt.Sprint(name)]
		if !ok {
			continue // left out
		}
		h.role.Identity = append(slices.Clone(h.role.Identity), policy.Attached{Name: fmt.Sprint(properties["PolicyName"]), Document: d})
		r.roles[fmt.Sprint(name)] = h
		r.book.SetRole(h.arn, h.role)
	}
	return nil
}

func tagsOf(value any) map[string]string {
	list, _ := value.([]any)
	out := map[string]string{}
	for _, item := range list {
		t, _ := item.(map[string]any)
		out[fmt.Sprint(t["Key"])] = fmt.Sprint(t["Value"])
	}
	return out
}

// queues reads the policy of queues, which it names by URL.
func (r *reader) queues(properties map[string]any) error {
	urls, _ := properties["Queues"].([]any)
	if len(urls) == 0 {
		return fmt.Errorf("it names no Queues")
	}
	for _, item := range urls {
		parts := strings.Split(fmt.Sprint(item), "/")
		if len(parts) < 2 {
			return fmt.Errorf("%v is no URL of a queue", item)
		}
		account, name := parts[len(parts)-2], parts[len(parts)-1]
		e := r.stack.Environment
		arn := fmt.Sprintf("arn:%s:sqs:%s:%s:%s", e.Partition, e.Region, account, name)
		if err := r.resource(arn, "policy of queue "+name, properties["PolicyDocument"]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) resource(arn, name string, document any) error {
	d, err := policy.ParseValue(document, policy.Resource)
	if err != nil {
		return err
	}
	r.book.SetResource(arn, name, d)
	return nil
}

// permission reads one statement of a function's policy. Source: CloudFormation reference, AWS::Lambda::Permission.
func (r *reader) permission(properties map[string]any) error {
	conditions := map[string]any{}
	principal := map[string]any{}
	var function, action string
	for key, value := range properties {
		text := fmt.Sprint(value)
		switch key {
		case "Action":
			action = text
		case "FunctionName":
			function = text
		case "Principal":
			kind := "AWS"
			if strings.HasSuffix(text, ".amazonaws.com") {
				kind = "Service"
			}
			principal[kind] = text
		case "SourceArn":
			conditions["ArnLike"] = map[string]any{"aws:SourceArn": text}
		case "SourceAccount":
			conditions["StringEquals"] = map[string]any{"aws:SourceAccount": text}
		default:
			return fmt.Errorf("property %s is not read here", key)
		}
	}
	e := r.stack.Environment
	arn := function
	if !strings.HasPrefix(arn, "arn:") {
		arn = fmt.Sprintf("arn:%s:lambda:%s:%s:function:%s", e.Partition, e.Region, e.Account, function)
	}
	return r.add(arn, map[string]any{"Effect": "Allow", "Action": action, "Resource": arn, "Principal": principal, "Condition": conditions})
}

// busPolicy reads one statement of an event bus's policy.
func (r *reader) busPolicy(properties map[string]any) error {
	statement, ok := properties["Statement"].(map[string]any)
	if !ok {
		return fmt.Errorf("an event bus's policy without Statement is not read here")
	}
	e := r.stack.Environment
	bus := "default"
	if name, ok := properties["EventBusName"].(string); ok {
		bus = cmp.Or(name, bus)
	}
	return r.add(fmt.Sprintf("arn:%s:events:%s:%s:event-bus/%s", e.Partition, e.Region, e.Account, bus), statement)
}

// add adds one statement to the policy of a resource that is written statement by statement.
func (r *reader) add(arn string, statement map[string]any) error {
	r.statements[arn] = append(r.statements[arn], statement)
	return r.resource(arn, "policy of "+arn, map[string]any{"Version": "2012-10-17", "Statement": r.statements[arn]})
}
