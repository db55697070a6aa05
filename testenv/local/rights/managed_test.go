package rights

import (
	"testing"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
)

// Roles as CDK's bootstrap stack has them: with policies that are resources of their own, and with policies of AWS's, of which those it uses are known. A role
// that holds another one of AWS's is left out.
func TestPoliciesBesideRoles(t *testing.T) {
	trust := `"AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": {"Ref": "AWS::AccountId"}}, "Condition": {"Null": {"sts:ExternalId": "true"}}}]}`
	template, err := cloudformation.Parse([]byte(`{"Resources": {
		"Publish": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "publish", ` + trust + `}},
		"PublishPolicy": {"Type": "AWS::IAM::Policy", "Properties": {"PolicyName": "p", "Roles": [{"Ref": "Publish"}], "PolicyDocument": {"Version": "2012-10-17",
			"Statement": [{"Effect": "Allow", "Action": "s3:PutObject*", "Resource": "arn:aws:s3:::assets/*"}]}}},
		"Lookup": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "lookup", "ManagedPolicyArns": ["arn:aws:iam::aws:policy/ReadOnlyAccess"], ` + trust + `}},
		"Node": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "node", "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"], ` + trust + `}}
	}}`))
	if err != nil {
		t.Fatal(err)
	}
	stack, err := template.With(cloudformation.Environment{Account: "123456789012", Region: "us-west-2", StackName: "CDKToolkit"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	book := access.NewBook("123456789012", "us-west-2", time.Now)
	book.Readings = reading.Strict(reading.Delays()...)
	left, err := Add(book, stack, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 1 || left[0] != "arn:aws:iam::123456789012:role/node" {
		t.Errorf("left out: %v", left)
	}
	for _, c := range []struct {
		role, action, resource string
		may                    bool
	}{
		{"publish", "s3:PutObject", "arn:aws:s3:::assets/key", true},
		{"publish", "s3:PutObject", "arn:aws:s3:::other/key", false},
		{"publish", "s3:DeleteBucket", "arn:aws:s3:::assets", false},
		{"lookup", "cloudformation:GetTemplate", "arn:aws:cloudformation:us-west-2:123456789012:stack/joiner/*", true},
		{"lookup", "cloudformation:DeleteStack", "arn:aws:cloudformation:us-west-2:123456789012:stack/joiner/*", false},
	} {
		d := book.Would(policy.Role("arn:aws:iam::123456789012:role/"+c.role), wire.Access{Action: c.action, Resource: c.resource, Context: map[string][]string{}})
		if d.Allowed() != c.may {
			t.Errorf("%s %s on %s: %v", c.role, c.action, c.resource, d)
		}
	}
}
