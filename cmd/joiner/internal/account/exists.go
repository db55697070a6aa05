package account

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
)

// HasTable reports whether there is a DynamoDB table of the name.
func (a *Account) HasTable(ctx context.Context, name string) (bool, error) {
	_, err := dynamodb.NewFromConfig(a.Config).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	var none *dynamotypes.ResourceNotFoundException
	return err == nil, unless(err, errors.As(err, &none))
}

// HasBucket reports whether anybody has a bucket of the name. One that may not be looked at is there.
func (a *Account) HasBucket(ctx context.Context, name string) (bool, error) {
	client := s3.NewFromConfig(a.Config, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name})
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode() == 404 {
		return false, nil
	}
	return err == nil, err
}

// HasFunction reports whether there is a function of the name in Lambda.
func (a *Account) HasFunction(ctx context.Context, name string) (bool, error) {
	_, err := lambda.NewFromConfig(a.Config).GetFunctionConfiguration(ctx,
		&lambda.GetFunctionConfigurationInput{FunctionName: &name})
	var none *lambdatypes.ResourceNotFoundException
	return err == nil, unless(err, errors.As(err, &none))
}

// HasLogs reports whether there is a log group of the name.
func (a *Account) HasLogs(ctx context.Context, name string) (bool, error) {
	out, err := cloudwatchlogs.NewFromConfig(a.Config).DescribeLogGroups(ctx,
		&cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})
	if err != nil {
		return false, err
	}
	for i := range out.LogGroups {
		if aws.ToString(out.LogGroups[i].LogGroupName) == name {
			return true, nil
		}
	}
	return false, nil
}

// HasParameter reports whether there is a parameter of the name.
func (a *Account) HasParameter(ctx context.Context, name string) (bool, error) {
	_, err := ssm.NewFromConfig(a.Config).GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	var none *ssmtypes.ParameterNotFound
	return err == nil, unless(err, errors.As(err, &none))
}

// HasQueue reports whether there is a queue of the name.
func (a *Account) HasQueue(ctx context.Context, name string) (bool, error) {
	_, err := sqs.NewFromConfig(a.Config).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	var none *sqstypes.QueueDoesNotExist
	return err == nil, unless(err, errors.As(err, &none))
}

// HasRole reports whether the account has a role of the name.
func (a *Account) HasRole(ctx context.Context, name string) (bool, error) {
	_, err := iam.NewFromConfig(a.Config).GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	var none *iamtypes.NoSuchEntityException
	return err == nil, unless(err, errors.As(err, &none))
}

// unless is an error, but where something holds.
func unless(err error, holds bool) error {
	if holds {
		return nil
	}
	return err
}

// SpotRoleName is the service-linked role without which EC2 launches no spot instance. Source: EC2 user guide,
// "Service-linked role for EC2 Spot".
const SpotRoleName = "AWSServiceRoleForEC2Spot"

// SpotRole looks for the role that spot instances take.
func (a *Account) SpotRole(ctx context.Context) ([]check.Finding, error) {
	there, err := a.HasRole(ctx, SpotRoleName)
	if err != nil {
		return nil, err
	}
	if !there {
		return check.One(check.Warn,
			"the account has no service-linked role for EC2 Spot: no spot instance can be launched, and NodePools "+
				"that allow both launch on-demand",
			"aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"), nil
	}
	return check.One(check.OK, "it exists", ""), nil
}
