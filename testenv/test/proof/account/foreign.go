package account

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddb "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// AddForeign makes things of somebody else's whose names and paths are like those of a run, and that have no tags. failed is told what
// could not be made.
func (a *Account) AddForeign(ctx context.Context, failed func(...any)) {
	const name = "joiner-proof-other"
	c := a.Config()
	made := func(_ any, err error) {
		if err != nil {
			failed(err)
		}
	}
	made(sqs.NewFromConfig(c).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(name)}))
	made(ec2.NewFromConfig(c).CreateLaunchTemplate(ctx, &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String(name), LaunchTemplateData: &types.RequestLaunchTemplateData{EbsOptimized: aws.Bool(true)}}))
	made(eventbridge.NewFromConfig(c).PutRule(ctx, &eventbridge.PutRuleInput{Name: aws.String(name), EventPattern: aws.String(`{"source":["other"]}`)}))
	made(iam.NewFromConfig(c).CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: aws.String(name), Path: aws.String("/joiner-proof/"),
		AssumeRolePolicyDocument: aws.String(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	}))
	made(dynamodb.NewFromConfig(c).CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: ddb.BillingModePayPerRequest,
		KeySchema:            []ddb.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: ddb.KeyTypeHash}},
		AttributeDefinitions: []ddb.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: ddb.ScalarAttributeTypeS}},
	}))
}
