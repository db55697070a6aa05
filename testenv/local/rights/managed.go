package rights

import (
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
)

// managed are policies of AWS's that roles of the bootstrap stack of CDK hold, by name. Of ReadOnlyAccess, which has more than a thousand actions, it is what
// the services modeled here are asked. Source: AWS managed policy reference guide.
var managed = map[string]string{
	"AdministratorAccess": `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "*", "Resource": "*"}}`,
	"AWSCloudFormationReadOnlyAccess": `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Resource": "*", "Action": ["cloudformation:Describe*",
		"cloudformation:EstimateTemplateCost", "cloudformation:Get*", "cloudformation:List*", "cloudformation:ValidateTemplate", "cloudformation:Detect*"]}}`,
	"ReadOnlyAccess": `{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Resource": "*", "Action": ["cloudformation:Describe*", "cloudformation:Get*",
		"cloudformation:List*", "ec2:Describe*", "ecr:BatchGet*", "ecr:Describe*", "ecr:Get*", "ecr:List*", "eks:Describe*", "eks:List*", "iam:Get*", "iam:List*",
		"lambda:Get*", "lambda:List*", "s3:Get*", "s3:List*", "sqs:Get*", "sqs:List*", "ssm:Describe*", "ssm:Get*", "ssm:List*", "dynamodb:BatchGet*",
		"dynamodb:Describe*", "dynamodb:Get*", "dynamodb:List*", "dynamodb:Query", "dynamodb:Scan"]}}`,
}

// managedPolicy returns what a policy of AWS's says; ok is false where that is not known here.
func managedPolicy(arn string) (p policy.Attached, ok bool) {
	name, ofAWS := strings.CutPrefix(arn[strings.LastIndex(arn, ":")+1:], "policy/")
	text := managed[name]
	if !ofAWS || text == "" || !strings.Contains(arn, ":iam::aws:") {
		return policy.Attached{}, false
	}
	d, err := policy.Parse([]byte(text), policy.Identity)
	return policy.Attached{Name: arn, Document: d}, err == nil
}
