package iam_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
)

func TestPoliciesOfAWSAreAttachedToARoleAndKeepIt(t *testing.T) {
	client, _ := start(t, nil)
	ctx := t.Context()
	name, cni, worker := aws.String("nodes"), aws.String("arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"), aws.String("arn:aws:iam::aws:policy/service-role/AmazonEKSWorkerNodePolicy")
	made, err := client.CreateRole(ctx, &sdk.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: aws.String("{}"),
		Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("a")}}})
	if err != nil || len(made.Role.Tags) != 1 {
		t.Fatalf("%+v %v, want a role with its tag", made, err)
	}
	for _, arn := range []*string{worker, cni, cni} { // attached twice it is attached once
		if _, err := client.AttachRolePolicy(ctx, &sdk.AttachRolePolicyInput{RoleName: name, PolicyArn: arn}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(prefix *string) (names []string) {
		t.Helper()
		out, err := client.ListAttachedRolePolicies(ctx, &sdk.ListAttachedRolePoliciesInput{RoleName: name, PathPrefix: prefix})
		if err != nil || out.IsTruncated {
			t.Fatal(out, err)
		}
		for _, p := range out.AttachedPolicies {
			names = append(names, *p.PolicyName+" "+*p.PolicyArn)
		}
		return names
	}
	if got := list(nil); len(got) != 2 || got[0] != "AmazonEKS_CNI_Policy "+*cni || got[1] != "AmazonEKSWorkerNodePolicy "+*worker {
		t.Errorf("attached: %q", got)
	}
	if got := list(aws.String("/service-role/")); len(got) != 1 {
		t.Errorf("attached below /service-role/: %q", got)
	}
	_, err = client.DeleteRole(ctx, &sdk.DeleteRoleInput{RoleName: name})
	wantCode(t, "deleting a role with policies", err, "DeleteConflict")
	for _, arn := range []*string{cni, worker} {
		if _, err := client.DetachRolePolicy(ctx, &sdk.DetachRolePolicyInput{RoleName: name, PolicyArn: arn}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = client.DetachRolePolicy(ctx, &sdk.DetachRolePolicyInput{RoleName: name, PolicyArn: cni})
	wantCode(t, "detaching what is not attached", err, "NoSuchEntity")
	got, err := client.GetRole(ctx, &sdk.GetRoleInput{RoleName: name})
	if err != nil || len(got.Role.Tags) != 1 || *got.Role.Tags[0].Key != "team" || *got.Role.Tags[0].Value != "a" {
		t.Errorf("%+v %v, want its tag still", got, err)
	}
	if _, err := client.DeleteRole(ctx, &sdk.DeleteRoleInput{RoleName: name}); err != nil {
		t.Error(err)
	}
}

func TestPoliciesAreNotAttached(t *testing.T) {
	client, _ := start(t, map[string]string{"p": "nodes"})
	ctx := t.Context()
	linked, err := client.CreateServiceLinkedRole(ctx, &sdk.CreateServiceLinkedRoleInput{AWSServiceName: aws.String("spot.amazonaws.com")})
	if err != nil {
		t.Fatal(err)
	}
	aPolicy := "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
	for _, c := range []struct{ role, policy, code string }{
		{"nobody", aPolicy, "NoSuchEntity"},
		{"nodes", "AmazonEKS_CNI_Policy", "ValidationError"},
		{"nodes", "arn:aws:iam::123456789012:policy/mine", "NoSuchEntity"},
		{*linked.Role.RoleName, aPolicy, "UnmodifiableEntity"},
	} {
		_, err := client.AttachRolePolicy(ctx, &sdk.AttachRolePolicyInput{RoleName: &c.role, PolicyArn: &c.policy})
		wantCode(t, c.policy+" to "+c.role, err, c.code)
	}
}
