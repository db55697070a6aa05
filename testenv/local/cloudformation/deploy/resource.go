package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// resource is one on its way into the models.
type resource struct {
	account    *Account
	stack      *Stack
	id         string         // logical
	properties map[string]any // resolved, without those that are ignored
}

// kind is how resources of a type are made, changed and taken away.
type kind struct {
	exists func(context.Context, resource) (bool, error)             // whether there is one of that name, whoever made it
	make   func(context.Context, resource) error                     // one that does not exist
	change func(_ context.Context, r resource, old properties) error // makes it what its properties say now; nil: nothing is to be done
	remove func(context.Context, resource) error
	fixed  []string // properties of which a change takes another resource
}

// properties are resolved.
type properties = map[string]any

// kinds are the types of resources that are made, and how. Source of what cannot be changed: "Update requires: Replacement" of each property in
// CloudFormation's template reference.
var kinds = map[string]kind{
	"AWS::DynamoDB::Table":             {tableExists, makeTable, changeTable, removeTable, []string{"TableName", "KeySchema"}},
	"AWS::ECR::Repository":             {repositoryExists, makeRepository, changeRepository, removeRepository, []string{"RepositoryName"}},
	"AWS::EKS::AccessEntry":            {accessEntryExists, makeAccessEntry, changeAccessEntry, removeAccessEntry, []string{"ClusterName", "PrincipalArn", "Type"}},
	"AWS::EKS::PodIdentityAssociation": {podIdentityExists, makePodIdentity, changePodIdentity, removePodIdentity, []string{"ClusterName", "Namespace", "ServiceAccount"}},
	"AWS::Events::Rule":                {ruleExists, makeRule, changeRule, removeRule, []string{"Name"}},
	"AWS::IAM::InstanceProfile":        {instanceProfileExists, makeInstanceProfile, changeInstanceProfile, removeInstanceProfile, []string{"InstanceProfileName", "Path"}},
	"AWS::IAM::Role":                   {roleExists, makeRole, nil, removeRole, []string{"RoleName", "Path"}},
	"AWS::Lambda::EventInvokeConfig":   {nil, makeInvokeConfig, changeInvokeConfig, removeInvokeConfig, []string{"FunctionName", "Qualifier"}},
	"AWS::Lambda::EventSourceMapping":  {nil, makeMapping, changeMapping, removeMapping, nil},
	"AWS::Lambda::Function":            {functionExists, makeFunction, changeFunction, removeFunction, []string{"FunctionName"}},
	"AWS::S3::Bucket":                  {bucketExists, makeBucket, changeBucket, removeBucket, []string{"BucketName"}},
	"AWS::SQS::Queue":                  {queueExists, makeQueue, changeQueue, removeQueue, []string{"QueueName", "FifoQueue"}},
	"AWS::SSM::Parameter":              {parameterExists, makeParameter, changeParameter, removeParameter, []string{"Name"}},
}

// ignoredTypes are not made, and why nothing is lost by that.
var ignoredTypes = map[string]string{
	"AWS::CDK::Metadata":         "it makes nothing in AWS either",
	"AWS::CloudWatch::Alarm":     "no metrics are kept here; what an alarm asks for is tested beside the template",
	"AWS::CloudWatch::Dashboard": "the same",
	"AWS::Logs::MetricFilter":    "no metrics are kept here",
	"AWS::Logs::LogGroup":        "what functions print goes to whoever started them, and nobody keeps it for days; its key is looked at",
}

// policyTypes say who may do what: package rights reads them, and their properties, before anything is made.
var policyTypes = []string{"AWS::Events::EventBusPolicy", "AWS::IAM::Policy", "AWS::Lambda::Permission", "AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"}

// ignored are the properties that no model honors, by type, and why nothing is lost by that.
var ignored = map[string]map[string]string{
	"AWS::EKS::AccessEntry": {"Tags": "nobody reads them"},
	"AWS::ECR::Repository": {
		"ImageTagMutability":   "nobody pushes a tag twice here",
		"LifecyclePolicy":      "nothing gets old enough",
		"RepositoryPolicyText": "other accounts and services do not pull here",
	},
	"AWS::Events::Rule": {"Description": "for people"},
	"AWS::IAM::Role": {
		"AssumeRolePolicyDocument": "read by package rights",
		"Description":              "for people",
		"ManagedPolicyArns":        "AWS's own policies, of nodes: what machines ask of AWS is not modelled",
		"MaxSessionDuration":       "services take on roles for as long as they like here",
		"PermissionsBoundary":      "read by package rights",
		"Policies":                 "read by package rights",
		"Tags":                     "read by package rights",
	},
	"AWS::Lambda::Function": {
		"Architectures": "functions run on the machine the models run on",
		"Description":   "for people",
		"LoggingConfig": "there are no log groups",
		"Tags":          "nobody reads them",
	},
	"AWS::S3::Bucket": {
		"AccessControl":                  "there are no access control lists",
		"BucketEncryption":               "objects are in memory",
		"OwnershipControls":              "there are no access control lists",
		"PublicAccessBlockConfiguration": "nobody gets in without a key",
		"Tags":                           "nobody reads them",
		"VersioningConfiguration":        "nobody asks for what an object was before",
	},
	"AWS::SQS::Queue":     {"Tags": "nobody reads them"},
	"AWS::SSM::Parameter": {"Description": "for people"},
}

// Make makes a resource. Where one of its name exists already, the error is ErrExists.
func (a *Account) Make(ctx context.Context, s *Stack, id string) error {
	p, err := s.Properties(id)
	if err != nil {
		return err
	}
	of := s.Resources[id].Type
	if strings.HasPrefix(of, "Custom::") {
		return a.makeCustom(ctx, s, id, p)
	}
	r := a.resource(s, id, p)
	if _, ok := ignoredTypes[of]; ok {
		if err := r.logsWithKey(); err != nil {
			return err
		}
		return r.claim()
	}
	if slices.Contains(policyTypes, of) {
		return nil
	}
	k, ok := kinds[of]
	if !ok {
		return fmt.Errorf("resources of this type are not made here")
	}
	if there, err := r.exists(ctx, k); err != nil {
		return err
	} else if there {
		return fmt.Errorf("%s %w", r.called(), ErrExists)
	}
	return k.make(ctx, r)
}

// Exists reports whether there is a resource of that name already, whoever made it. Those without a name do not exist before they are made.
func (a *Account) Exists(ctx context.Context, s *Stack, id string) (bool, error) {
	p, err := s.Properties(id)
	if err != nil {
		return false, err
	}
	r, of := a.resource(s, id, p), s.Resources[id].Type
	if _, ok := ignoredTypes[of]; ok {
		return r.claimed()
	}
	return r.exists(ctx, kinds[of])
}

func (r resource) exists(ctx context.Context, k kind) (bool, error) {
	if k.exists == nil {
		return false, nil
	}
	return k.exists(ctx, r)
}

// called is what the resource is called, or its logical id.
func (r resource) called() string {
	if name, err := r.name(); err == nil && r.stack.nameProperty(r.id) != "" {
		return name
	}
	return r.id
}

// resource returns a resource with its properties, without those that are ignored.
func (a *Account) resource(s *Stack, id string, p properties) resource {
	p = maps.Clone(p)
	for name := range ignored[s.Resources[id].Type] {
		delete(p, name)
	}
	return resource{a, s, id, p}
}

// decode reads the properties into a struct that has a field for each that is honored: any other is an error.
func (r resource) decode(out any) error {
	text, err := json.Marshal(r.properties)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return fmt.Errorf("properties: %w: no model honours what is not known here", err)
	}
	return nil
}

// name is the physical name.
func (r resource) name() (string, error) { return r.stack.values.named.Name(r.id) }

// key is what a resource without a name is known by.
func (r resource) key() string { return r.stack.Environment.StackID + " " + r.id }

// arn is the ARN.
func (r resource) arn() (string, error) { return r.stack.Attribute(r.id, "Arn") }

// lastPart is what follows the last ":" or "/" of an ARN.
func lastPart(arn string) string { return arn[strings.LastIndexAny(arn, ":/")+1:] }
