package account

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Account is an AWS account and a region of it, as the caller may see them. It may be used from many goroutines.
type Account struct {
	Config        aws.Config
	ID, Partition string
	Caller        string // ARN
}

// New asks who the caller is, and fails where AWS does not say so: without credentials nothing can be looked at.
func New(ctx context.Context, config aws.Config) (*Account, error) {
	out, err := sts.NewFromConfig(config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, fmt.Errorf("AWS does not accept your credentials; set AWS_PROFILE, or log in (aws sso login): %w",
			err)
	}
	arn := aws.ToString(out.Arn)
	partition, _, _ := strings.Cut(strings.TrimPrefix(arn, "arn:"), ":")
	return &Account{Config: config, ID: aws.ToString(out.Account), Partition: partition, Caller: arn}, nil
}

// RoleARN is the ARN of a role of the account.
func (a *Account) RoleARN(name string) string {
	return "arn:" + a.Partition + ":iam::" + a.ID + ":role/" + name
}
