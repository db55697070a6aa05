package cloudformation

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Named are the Values of a stack that nobody has deployed: resources are called what their properties say, and those without a
// name of their own by stack and logical id, where CloudFormation would add letters at random. Of a resource whose identity AWS
// makes up (a key, an API, a security group) the identity is made of the logical id.
type Named struct{ Stack *Stack }

var _ Values = (*Named)(nil)

// kind says what resources of a type are called. Patterns may hold {name}, {id} (logical), {account}, {region}, {partition} and
// {suffix}.
type kind struct {
	name       string            // the property that holds the physical name; "" when there is none
	fifo       bool              // names end in .fifo where the property FifoQueue says so
	ref        string            // what Ref gives: "{name}" when empty
	attributes map[string]string // what Fn::GetAtt gives
}

func arn(service, resource string) map[string]string {
	return map[string]string{"Arn": "arn:{partition}:" + service + ":{region}:{account}:" + resource}
}

// kinds are the types known here. Source of names and attributes: the "Return values" of each type in CloudFormation's reference.
var kinds = map[string]kind{
	"AWS::ApiGatewayV2::Api": {ref: "{id}", attributes: map[string]string{
		"ApiId": "{id}", "ApiEndpoint": "https://{id}.execute-api.{region}.{suffix}",
	}},
	"AWS::ApiGatewayV2::Integration":  {ref: "{id}"},
	"AWS::ApiGatewayV2::Route":        {ref: "{id}"},
	"AWS::ApiGatewayV2::Stage":        {name: "StageName"},
	"AWS::CDK::Metadata":              {},
	"AWS::CloudWatch::Alarm":          {name: "AlarmName", attributes: arn("cloudwatch", "alarm:{name}")},
	"AWS::CloudWatch::CompositeAlarm": {name: "AlarmName", attributes: arn("cloudwatch", "alarm:{name}")},
	"AWS::CloudWatch::Dashboard":      {name: "DashboardName"},
	"AWS::DynamoDB::Table":            {name: "TableName", attributes: arn("dynamodb", "table/{name}")},
	"AWS::ECR::Repository": {name: "RepositoryName", attributes: map[string]string{
		"Arn": "arn:{partition}:ecr:{region}:{account}:repository/{name}", "RepositoryUri": "{account}.dkr.ecr.{region}.{suffix}/{name}",
	}},
	"AWS::EC2::SecurityGroup":          {ref: "sg-{id}", attributes: map[string]string{"GroupId": "sg-{id}"}},
	"AWS::EC2::SecurityGroupEgress":    {ref: "{id}"},
	"AWS::EC2::SecurityGroupIngress":   {ref: "{id}"},
	"AWS::EKS::AccessEntry":            {ref: "{id}", attributes: map[string]string{"AccessEntryArn": "arn:{partition}:eks:{region}:{account}:access-entry/{id}"}},
	"AWS::EKS::PodIdentityAssociation": {ref: "{id}", attributes: map[string]string{"AssociationId": "a-{id}", "AssociationArn": "arn:{partition}:eks:{region}:{account}:podidentityassociation/a-{id}"}},
	"AWS::Events::EventBus":            {name: "Name", attributes: arn("events", "event-bus/{name}")},
	"AWS::Events::EventBusPolicy":      {ref: "{id}"},
	"AWS::Events::Rule":                {name: "Name", attributes: arn("events", "rule/{name}")},
	"AWS::IAM::InstanceProfile":        {name: "InstanceProfileName", attributes: map[string]string{"Arn": "arn:{partition}:iam::{account}:instance-profile{path}{name}"}},
	"AWS::IAM::ManagedPolicy":          {name: "ManagedPolicyName", ref: "arn:{partition}:iam::{account}:policy{path}{name}", attributes: map[string]string{"PolicyArn": "arn:{partition}:iam::{account}:policy{path}{name}"}},
	"AWS::IAM::Policy":                 {name: "PolicyName", ref: "{id}"},
	"AWS::IAM::Role":                   {name: "RoleName", attributes: map[string]string{"Arn": "arn:{partition}:iam::{account}:role{path}{name}", "RoleId": "AROA{id}"}},
	"AWS::KMS::Alias":                  {name: "AliasName"},
	"AWS::KMS::Key":                    {ref: "{id}", attributes: map[string]string{"Arn": "arn:{partition}:kms:{region}:{account}:key/{id}", "KeyId": "{id}"}},
	"AWS::Lambda::EventInvokeConfig":   {ref: "{id}"},
	"AWS::Lambda::EventSourceMapping":  {ref: "{id}", attributes: map[string]string{"Id": "{id}"}},
	"AWS::Lambda::Function":            {name: "FunctionName", attributes: arn("lambda", "function:{name}")},
	"AWS::Lambda::Permission":          {ref: "{id}"},
	"AWS::Lambda::Url":                 {ref: "{id}", attributes: map[string]string{"FunctionUrl": "https://{id}.lambda-url.{region}.on.aws/"}},
	"AWS::Logs::LogGroup":              {name: "LogGroupName", attributes: arn("logs", "log-group:{name}:*")},
	"AWS::Logs::MetricFilter":          {ref: "{id}"},
	"AWS::S3::Bucket": {name: "BucketName", attributes: map[string]string{
		"Arn": "arn:{partition}:s3:::{name}", "DomainName": "{name}.s3.{suffix}", "RegionalDomainName": "{name}.s3.{region}.{suffix}",
	}},
	"AWS::S3::BucketPolicy":  {ref: "{id}"},
	"AWS::SNS::Subscription": {ref: "{id}"},
	"AWS::SNS::Topic":        {name: "TopicName", ref: "arn:{partition}:sns:{region}:{account}:{name}", attributes: map[string]string{"TopicArn": "arn:{partition}:sns:{region}:{account}:{name}", "TopicName": "{name}"}},
	"AWS::SNS::TopicPolicy":  {ref: "{id}"},
	"AWS::SQS::QueuePolicy":  {ref: "{id}"},
	"AWS::SSM::Parameter":    {name: "Name", attributes: map[string]string{"Type": "String"}},
	"AWS::SQS::Queue": {
		name: "QueueName", fifo: true, ref: "https://sqs.{region}.{suffix}/{account}/{name}",
		attributes: map[string]string{
			"Arn": "arn:{partition}:sqs:{region}:{account}:{name}", "QueueName": "{name}", "QueueUrl": "https://sqs.{region}.{suffix}/{account}/{name}",
		},
	},
}

// kindOf returns what resources of a type are called. Custom resources give no attributes without being deployed.
func kindOf(resourceType string) (kind, error) {
	if strings.HasPrefix(resourceType, "Custom::") || resourceType == "AWS::CloudFormation::CustomResource" {
		return kind{ref: "{id}"}, nil
	}
	k, ok := kinds[resourceType]
	if !ok {
		return kind{}, fmt.Errorf("resources of type %s are not known here", resourceType)
	}
	return k, nil
}

// CheckTypes returns an error that names every resource of a type this package does not know.
func (t *Template) CheckTypes() error {
	for _, id := range slices.Sorted(maps.Keys(t.Resources)) {
		if _, err := kindOf(t.Resources[id].Type); err != nil {
			return fmt.Errorf("resource %s: %w", id, err)
		}
	}
	return nil
}

// Ref implements Values.
func (n *Named) Ref(logicalID string) (any, error) {
	k, err := kindOf(n.Stack.Resources[logicalID].Type)
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", logicalID, err)
	}
	return n.fill(logicalID, k, cmp.Or(k.ref, "{name}"))
}

// Attribute implements Values.
func (n *Named) Attribute(logicalID, attribute string) (any, error) {
	r := n.Stack.Resources[logicalID]
	k, err := kindOf(r.Type)
	if err != nil {
		return nil, fmt.Errorf("resource %s: %w", logicalID, err)
	}
	pattern, ok := k.attributes[attribute]
	if !ok {
		return nil, fmt.Errorf("resource %s: the attribute %s of %s is not known here", logicalID, attribute, r.Type)
	}
	return n.fill(logicalID, k, pattern)
}

// Name returns the physical name of a resource.
func (n *Named) Name(logicalID string) (string, error) {
	k, err := kindOf(n.Stack.Resources[logicalID].Type)
	if err != nil {
		return "", fmt.Errorf("resource %s: %w", logicalID, err)
	}
	return n.name(logicalID, k)
}

// NameProperty is the property that holds the name of resources of a resource's type, "" where there is none.
func (n *Named) NameProperty(logicalID string) string {
	return kinds[n.Stack.Resources[logicalID].Type].name
}

func (n *Named) name(logicalID string, k kind) (string, error) {
	properties := n.Stack.Resources[logicalID].Properties
	if node, ok := properties[k.name]; ok && k.name != "" {
		return n.Stack.resolvedText(node)
	}
	name := n.Stack.Environment.StackName + "-" + logicalID
	if fifo, _ := text(properties["FifoQueue"]); k.fifo && fifo == "true" {
		name += ".fifo"
	}
	return name, nil
}

// fill writes a pattern out.
func (n *Named) fill(logicalID string, k kind, pattern string) (any, error) {
	name, err := n.name(logicalID, k)
	if err != nil {
		return nil, err
	}
	e := n.Stack.Environment
	replace := []string{"{name}", name, "{id}", logicalID, "{account}", e.Account, "{region}", e.Region, "{partition}", e.Partition, "{suffix}", e.URLSuffix}
	for placeholder, property := range map[string][2]string{"{path}": {"Path", "/"}, "{group}": {"GroupName", "default"}} {
		value := property[1]
		if node, ok := n.Stack.Resources[logicalID].Properties[property[0]]; ok && strings.Contains(pattern, placeholder) {
			if value, err = n.Stack.resolvedText(node); err != nil {
				return nil, err
			}
		}
		replace = append(replace, placeholder, value)
	}
	return strings.NewReplacer(replace...).Replace(pattern), nil
}
