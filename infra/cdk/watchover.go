package main

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/cdklabs/cdk-nag-go/cdknag/v2"
)

// watchOver has cdk-nag's rules for AWS solutions check every stack of the app: what they find is an error of synthesis, unless it
// is excused with a reason.
func watchOver(app awscdk.App) {
	awscdk.Aspects_Of(app).Add(cdknag.NewAwsSolutionsChecks(&cdknag.NagPackProps{Verbose: new(bool), Reports: new(bool)}), nil)
}

// excuse says why what a rule finds at a resource is as it should be; about narrows that to findings that match one of the
// expressions.
func excuse(resource constructs.IConstruct, rule, reason string, about ...string) {
	suppression := &cdknag.NagPackSuppression{Id: s(rule), Reason: s(reason)}
	if len(about) > 0 {
		var matches []any
		for _, expression := range about {
			matches = append(matches, &cdknag.RegexAppliesTo{Regex: s("/" + expression + "/")})
		}
		suppression.AppliesTo = &matches
	}
	cdknag.NagSuppressions_AddResourceSuppressions(resource, &[]*cdknag.NagPackSuppression{suppression}, nil)
}

// wildcards are those in resources of permissions, and why there can be nothing else. Tests beside this hold statements with them to their
// conditions.
var wildcards = []struct{ About, Reason string }{
	{`^Resource::\*$`, "These calls support no resources: reads of EC2, which are bound to the region, of prices and instance profiles, how Lambda attaches functions to a VPC, which their code is denied, and how the VPC CNI gives pods IPv6 addresses"},
	{`^Resource::arn:<AWS::Partition>:ec2:.*\/\*$`, "Ids of instances and of the resources they are launched from are unknown beforehand; writes are bound by tags of the cluster"},
	{`^Resource::arn:<AWS::Partition>:ec2:\*:\*:network-interface\/\*$`, "The VPC CNI tags interfaces of the node; AWS's own policy for it says the same"},
	{`^Resource::arn:<AWS::Partition>:logs:.*:\*$`, "Streams of the function's own log group"},
	{`^Resource::(<Bucket\.Arn>|arn:<AWS::Partition>:s3:::joiner-.*)\/(snap|catalog|versions|decisions|removals|relay)\/.*\*$`, "Objects under one prefix of the installation's bucket"},
	{`^Resource::arn:<AWS::Partition>:sqs:<AWS::Region>:<AWS::AccountId>:joiner-plan-\*\.fifo$`, "Clusters come and go; each has a plan queue of its own"},
	{`^Resource::arn:<AWS::Partition>:iam::\*:role\/joiner-\*-[a-z]+$`, "Clusters come and go, in other accounts too; each role's trust policy names this one and requires the external id"},
	{`^Resource::arn:<AWS::Partition>:iam::<AWS::AccountId>:instance-profile\/karpenter\/<AWS::Region>\/.*\/\*$`, "Instance profiles under the cluster's own path, one for each EC2NodeClass"},
	{`^Resource::arn:<AWS::Partition>:iam::<AWS::AccountId>:instance-profile\/\*$`, "Reads alone, of whichever profile an EC2NodeClass names"},
	{`^Resource::arn:<AWS::Partition>:ssm:<AWS::Region>::parameter\/aws\/service\/\*$`, "AWS's public parameters, which name images"},
	{`^Resource::arn:<AWS::Partition>:ssm:<AWS::Region>:<AWS::AccountId>:parameter\/.*\/\*$`, "The path of people's own parameters that they named for this"},
}

func excuseWildcards(role awsiam.CfnRole) {
	for _, w := range wildcards {
		excuse(role, "AwsSolutions-IAM5", w.Reason, w.About)
	}
}
