package iam

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// awsPolicy is the ARN of a policy that AWS manages. Whether there is one of that name is not looked at.
var awsPolicy = regexp.MustCompile(`^arn:aws:iam::aws:policy/([\w+=,.@-]+/)*[\w+=,.@-]+$`)

type rolePolicyInput struct {
	RoleName  string
	PolicyArn string
}

// attachRolePolicy attaches a policy that AWS manages; policies of the account's own are not modeled. It may be repeated.
func (s *service) attachRolePolicy(_ context.Context, in *rolePolicyInput) (*struct{}, error) {
	r, err := s.changeable(in.RoleName)
	if err != nil {
		return nil, err
	}
	switch {
	case !strings.HasPrefix(in.PolicyArn, "arn:"):
		return nil, wire.Errorf("ValidationError", "ARN %s is not valid.", in.PolicyArn)
	case !awsPolicy.MatchString(in.PolicyArn):
		return nil, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "Policy %s does not exist or is not attachable.", in.PolicyArn)
	}
	if !slices.Contains(r.Policies, in.PolicyArn) {
		r.Policies = append(slices.Clone(r.Policies), in.PolicyArn)
		slices.Sort(r.Policies)
		s.ec2.AddRole(r)
	}
	return &struct{}{}, nil
}

func (s *service) detachRolePolicy(_ context.Context, in *rolePolicyInput) (*struct{}, error) {
	r, err := s.changeable(in.RoleName)
	if err != nil {
		return nil, err
	}
	at := slices.Index(r.Policies, in.PolicyArn)
	if at < 0 {
		return nil, wire.StatusErrorf(http.StatusNotFound, "NoSuchEntity", "Policy %s was not found.", in.PolicyArn)
	}
	r.Policies = slices.Delete(slices.Clone(r.Policies), at, at+1)
	s.ec2.AddRole(r)
	return &struct{}{}, nil
}

// changeable returns a role that its account may change: those of services are theirs.
func (s *service) changeable(name string) (ec2.Role, error) {
	r, err := s.role(name)
	if err == nil && strings.HasPrefix(r.Path, "/aws-service-role/") {
		return ec2.Role{}, wire.Errorf("UnmodifiableEntity", "Cannot perform the operation on the protected role '%s' - this role is only modifiable by AWS", name)
	}
	return r, err
}

type attachedInput struct {
	RoleName   string
	PathPrefix string
	Marker     string
	MaxItems   *int
}

type attachedOutput struct {
	AttachedPolicies wire.Members[attachedPolicy]
	IsTruncated      bool
}

type attachedPolicy struct{ PolicyName, PolicyArn string }

// listAttachedRolePolicies answers in one page: a role has a few policies.
func (s *service) listAttachedRolePolicies(_ context.Context, in *attachedInput) (*attachedOutput, error) {
	r, err := s.role(in.RoleName)
	if err != nil {
		return nil, err
	}
	policies := []attachedPolicy{}
	for _, arn := range r.Policies {
		path := strings.TrimPrefix(arn, "arn:aws:iam::aws:policy")
		if strings.HasPrefix(path, in.PathPrefix) {
			policies = append(policies, attachedPolicy{path[strings.LastIndexByte(path, '/')+1:], arn})
		}
	}
	return &attachedOutput{AttachedPolicies: wire.MembersOf(policies)}, nil
}
