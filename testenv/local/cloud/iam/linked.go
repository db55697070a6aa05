package iam

import (
	"context"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
)

// linked are the names of service-linked roles, by the service that has them.
var linked = map[string]string{"spot.amazonaws.com": ec2.SpotRole}

type linkedInput struct {
	AWSServiceName string
	Description    string
	CustomSuffix   string
}

func (s *service) createServiceLinkedRole(_ context.Context, in *linkedInput) (*roleOutput, error) {
	name, known := linked[in.AWSServiceName]
	if !known {
		return nil, wire.Errorf("InvalidInput", "Service %s is not modelled as one that has a service-linked role", in.AWSServiceName)
	}
	if _, err := s.role(name); err == nil {
		return nil, wire.Errorf("InvalidInput", "Service role name %s has been taken in this account, please try a different suffix.", name)
	}
	trust := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"` + in.AWSServiceName + `"},"Action":"sts:AssumeRole"}]}`
	return &roleOutput{s.viewRole(s.ec2.AddRole(ec2.Role{Name: name, Path: "/aws-service-role/" + strings.ToLower(in.AWSServiceName) + "/", Trust: trust}))}, nil
}
