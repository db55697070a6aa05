package preflight

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
)

// spotRole is the service-linked role without which EC2 launches no spot instance. Source: EC2 user guide, "Service-linked role for EC2
// Spot".
const spotRole = "AWSServiceRoleForEC2Spot"

// SpotRole looks for the role that spot instances take.
func (s *Checker) SpotRole(ctx context.Context) ([]doctor.Finding, error) {
	there, err := s.hasRole(ctx, spotRole)
	if err != nil {
		return nil, err
	}
	if !there {
		return one(doctor.Warn, "the account has no service-linked role for EC2 Spot: no spot instance can be launched, and NodePools that allow both launch on-demand",
			"aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"), nil
	}
	return one(doctor.OK, "it exists", ""), nil
}

// hasRole reports whether the account has a role of a name.
func (s *Checker) hasRole(ctx context.Context, name string) (bool, error) {
	_, err := iam.NewFromConfig(s.config).GetRole(ctx, &iam.GetRoleInput{RoleName: aws.String(name)})
	var none *types.NoSuchEntityException
	if errors.As(err, &none) {
		return false, nil
	}
	return err == nil, err
}
