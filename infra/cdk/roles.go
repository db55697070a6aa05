package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
)

// roleOf is what a role is made from.
type roleOf struct {
	ID      string
	Name    *string
	About   string
	Trust   map[string]any
	Rights  map[string]any // nil = none
	Managed []*string      // ARNs of policies of AWS
}

func newRole(stack awscdk.Stack, o Options, of roleOf) awsiam.CfnRole {
	properties := &awsiam.CfnRoleProps{
		RoleName: of.Name, Description: s(of.About), AssumeRolePolicyDocument: of.Trust, PermissionsBoundary: optionalAny(o.PermissionsBoundary),
	}
	if of.Rights != nil {
		properties.Policies = []any{&awsiam.CfnRole_PolicyProperty{PolicyName: s("own"), PolicyDocument: of.Rights}}
	}
	if len(of.Managed) > 0 {
		managed := make([]any, len(of.Managed))
		for i := range of.Managed {
			managed[i] = of.Managed[i]
		}
		properties.ManagedPolicyArns = &managed
	}
	role := awsiam.NewCfnRole(stack, s(of.ID), properties)
	excuseWildcards(role)
	if len(of.Managed) > 0 {
		excuse(role, "AwsSolutions-IAM4", "What EKS requires of every node, kept up to date by AWS")
	}
	return role
}

// trust lets a service of AWS take on a role.
func trust(service string, conditions map[string]any) statement {
	out := statement{"Effect": "Allow", "Principal": map[string]any{"Service": service}, "Action": "sts:AssumeRole"}
	if conditions != nil {
		out["Condition"] = conditions
	}
	return out
}

// optionalAny is nil for "", where a property takes text or a reference.
func optionalAny(text string) any {
	if text == "" {
		return nil
	}
	return s(text)
}

// kmsOf is the key people brought, nil for AWS's own.
func kmsOf(o Options) *string { return optional(o.KMSKeyARN) }

// kmsRights are what whoever reads and writes with people's own key needs: by way of the services that keep things with it, and not what
// the key may open elsewhere.
func kmsRights(o Options) []statement {
	if o.KMSKeyARN == "" {
		return nil
	}
	var via []*string
	for _, service := range []string{"dynamodb", "s3", "sqs", "ssm", "lambda"} { // Lambda: the functions' settings
		via = append(via, sub("%s.${AWS::Region}.${AWS::URLSuffix}", service))
	}
	return []statement{allow("UseKey", []string{"kms:Decrypt", "kms:GenerateDataKey"}, *texts(o.KMSKeyARN), map[string]any{"StringEquals": map[string]any{"kms:ViaService": via}})}
}

// vpcRights let Lambda, and not the code it runs, attach a function to a VPC: EC2 knows no resources for these calls.
func vpcRights() []statement {
	actions := []string{"ec2:CreateNetworkInterface", "ec2:DescribeNetworkInterfaces", "ec2:DescribeSubnets", "ec2:DeleteNetworkInterface",
		"ec2:AssignPrivateIpAddresses", "ec2:UnassignPrivateIpAddresses"}
	return []statement{
		allow("AttachToNetwork", actions, everything, nil),
		deny("AttachByLambdaAlone", actions, everything, map[string]any{
			"ArnLike": map[string]any{"lambda:SourceFunctionArn": sub("arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:joiner-*")},
		}),
	}
}
