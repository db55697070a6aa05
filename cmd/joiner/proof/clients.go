package proof

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"
)

// Clients are the services as one caller reaches them.
type Clients struct {
	Config   aws.Config
	EC2      *ec2.Client
	SQS      *sqs.Client
	S3       *s3.Client
	DynamoDB *dynamodb.Client
	STS      *sts.Client
	IAM      *iam.Client
	EKS      *eks.Client
	SSM      *ssm.Client
	Events   *eventbridge.Client
	Lambda   *lambda.Client
	Pricing  *pricing.Client
	Quotas   *servicequotas.Client
}

// pricingRegion is one of the few that have the price list.
const pricingRegion = "us-east-1"

func newClients(c aws.Config) Clients {
	c.Retryer = func() aws.Retryer { return retryer() }
	return Clients{
		Config: c,
		EC2:    ec2.NewFromConfig(c),
		// What a record has of a message has no account ids: its digest is another one.
		SQS:      sqs.NewFromConfig(c, func(o *sqs.Options) { o.DisableMessageChecksumValidation = true }),
		S3:       s3.NewFromConfig(c, func(o *s3.Options) { o.DisableLogOutputChecksumValidationSkipped = true }),
		DynamoDB: dynamodb.NewFromConfig(c, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true }),
		STS:      sts.NewFromConfig(c),
		IAM:      iam.NewFromConfig(c),
		EKS:      eks.NewFromConfig(c),
		SSM:      ssm.NewFromConfig(c),
		Events:   eventbridge.NewFromConfig(c),
		Lambda:   lambda.NewFromConfig(c),
		Pricing:  pricing.NewFromConfig(c, func(o *pricing.Options) { o.Region = pricingRegion }),
		Quotas:   servicequotas.NewFromConfig(c),
	}
}

// retryer tries again what AWS asks to be tried again, and nothing that this package refused itself.
func retryer() aws.RetryerV2 {
	refused := retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
		var over *OverCeiling
		var missing *NotRecorded
		if errors.As(err, &over) || errors.As(err, &missing) || errors.Is(err, context.Canceled) {
			return aws.FalseTernary
		}
		return aws.UnknownTernary
	})
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = 5, 10*time.Second
		o.Retryables = append([]retry.IsErrorRetryable{refused}, retry.DefaultRetryables...)
	})
}
