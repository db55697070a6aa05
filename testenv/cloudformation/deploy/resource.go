package deploy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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

// makers are the types of resources that are made, and how.
var makers = map[string]func(context.Context, resource) error{
	"AWS::DynamoDB::Table":             makeTable,
	"AWS::EKS::AccessEntry":            makeAccessEntry,
	"AWS::EKS::PodIdentityAssociation": makePodIdentity,
	"AWS::Events::Rule":                makeRule,
	"AWS::IAM::InstanceProfile":        makeInstanceProfile,
	"AWS::IAM::Role":                   makeRole,
	"AWS::Lambda::EventInvokeConfig":   makeInvokeConfig,
	"AWS::Lambda::EventSourceMapping":  makeMapping,
	"AWS::Lambda::Function":            makeFunction,
	"AWS::S3::Bucket":                  makeBucket,
	"AWS::SQS::Queue":                  makeQueue,
	"AWS::SSM::Parameter":              makeParameter,
}

// ignoredTypes are not made, and why nothing is lost by that.
var ignoredTypes = map[string]string{
	"AWS::CDK::Metadata":         "it makes nothing in AWS either",
	"AWS::CloudWatch::Alarm":     "no metrics are kept here; what an alarm asks for is tested beside the template",
	"AWS::CloudWatch::Dashboard": "the same",
	"AWS::Logs::MetricFilter":    "no metrics are kept here",
	"AWS::Logs::LogGroup":        "what functions print goes to whoever started them, and nobody keeps it for days",
}

// policyTypes say who may do what: package rights reads them, and their properties, before anything is made.
var policyTypes = []string{"AWS::Events::EventBusPolicy", "AWS::Lambda::Permission", "AWS::S3::BucketPolicy", "AWS::SQS::QueuePolicy"}

// ignored are the properties that no model honours, by type, and why nothing is lost by that.
var ignored = map[string]map[string]string{
	"AWS::EKS::AccessEntry": {"Tags": "nobody reads them"},
	"AWS::Events::Rule":     {"Description": "for people"},
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
		"BucketEncryption":               "objects are in memory",
		"OwnershipControls":              "there are no access control lists",
		"PublicAccessBlockConfiguration": "nobody gets in without a key",
		"Tags":                           "nobody reads them",
	},
	"AWS::SQS::Queue":     {"Tags": "nobody reads them"},
	"AWS::SSM::Parameter": {"Description": "for people"},
}

func (a *Account) make(ctx context.Context, s *Stack, id string) error {
	kind := s.Resources[id].Type
	properties, err := s.Properties(id)
	if err != nil {
		return err
	}
	if strings.HasPrefix(kind, "Custom::") {
		return a.makeCustom(ctx, s, id, properties)
	}
	if _, ok := ignoredTypes[kind]; ok || slices.Contains(policyTypes, kind) {
		return nil
	}
	f, ok := makers[kind]
	if !ok {
		return fmt.Errorf("resources of this type are not made here")
	}
	for name := range ignored[kind] {
		delete(properties, name)
	}
	return f(ctx, resource{a, s, id, properties})
}

// decode reads the properties into a struct that has a field for each that is honoured: any other is an error.
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

// arn is the ARN.
func (r resource) arn() (string, error) { return r.stack.Attribute(r.id, "Arn") }

// lastPart is what follows the last ":" or "/" of an ARN.
func lastPart(arn string) string { return arn[strings.LastIndexAny(arn, ":/")+1:] }
