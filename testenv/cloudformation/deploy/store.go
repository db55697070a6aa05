package deploy

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
)

type tableProperties struct {
	TableName                        string
	AttributeDefinitions             []dynamodbtypes.AttributeDefinition
	KeySchema                        []dynamodbtypes.KeySchemaElement
	GlobalSecondaryIndexes           []dynamodbtypes.GlobalSecondaryIndex
	BillingMode                      dynamodbtypes.BillingMode
	DeletionProtectionEnabled        bool
	PointInTimeRecoverySpecification *dynamodbtypes.PointInTimeRecoverySpecification
	TimeToLiveSpecification          *dynamodbtypes.TimeToLiveSpecification
}

// makeTable makes a table, waits until it can be used, and sets what can only be set then.
func makeTable(ctx context.Context, r resource) error {
	var p tableProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	client := dynamodb.NewFromConfig(r.account.Cloud.Config())
	if _, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, AttributeDefinitions: p.AttributeDefinitions, KeySchema: p.KeySchema, GlobalSecondaryIndexes: p.GlobalSecondaryIndexes,
		BillingMode: p.BillingMode, DeletionProtectionEnabled: &p.DeletionProtectionEnabled,
	}); err != nil {
		return err
	}
	waiter := dynamodb.NewTableExistsWaiter(client, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute); err != nil {
		return err
	}
	if p.TimeToLiveSpecification != nil {
		if _, err := client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{TableName: &name, TimeToLiveSpecification: p.TimeToLiveSpecification}); err != nil {
			return err
		}
	}
	if p.PointInTimeRecoverySpecification != nil {
		if _, err := client.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{TableName: &name, PointInTimeRecoverySpecification: p.PointInTimeRecoverySpecification}); err != nil {
			return err
		}
	}
	r.account.Cloud.Policies.SetTableKey(name, hash(p.KeySchema))
	for _, index := range p.GlobalSecondaryIndexes {
		r.account.Cloud.Policies.SetTableKey(name+"/"+aws.ToString(index.IndexName), hash(index.KeySchema))
	}
	return nil
}

// hash is the attribute with the partition key.
func hash(schema []dynamodbtypes.KeySchemaElement) string {
	for _, e := range schema {
		if e.KeyType == dynamodbtypes.KeyTypeHash {
			return aws.ToString(e.AttributeName)
		}
	}
	return ""
}

type bucketProperties struct {
	BucketName             string
	LifecycleConfiguration struct{ Rules []lifeRule }
}

type lifeRule struct {
	ID                             string `json:"Id"`
	Status, Prefix                 string
	ExpirationInDays               *int32
	AbortIncompleteMultipartUpload *s3types.AbortIncompleteMultipartUpload
}

// makeBucket makes a bucket and says how long its objects live.
func makeBucket(ctx context.Context, r resource) error {
	var p bucketProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	client := s3.NewFromConfig(r.account.Cloud.Config(), func(o *s3.Options) { o.UsePathStyle = true })
	here := &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(r.account.Cloud.Region())}
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: here}); err != nil {
		return err
	}
	if len(p.LifecycleConfiguration.Rules) == 0 {
		return nil
	}
	life := &s3types.BucketLifecycleConfiguration{}
	for _, rule := range p.LifecycleConfiguration.Rules {
		one := s3types.LifecycleRule{
			ID: &rule.ID, Status: s3types.ExpirationStatus(rule.Status), Filter: &s3types.LifecycleRuleFilter{Prefix: &rule.Prefix},
			AbortIncompleteMultipartUpload: rule.AbortIncompleteMultipartUpload,
		}
		if rule.ExpirationInDays != nil {
			one.Expiration = &s3types.LifecycleExpiration{Days: rule.ExpirationInDays}
		}
		life.Rules = append(life.Rules, one)
	}
	_, err = client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: &name, LifecycleConfiguration: life})
	return err
}

// makeParameter sets a parameter.
func makeParameter(_ context.Context, r resource) error {
	var p struct{ Name, Type, Value, AllowedPattern string }
	if err := r.decode(&p); err != nil {
		return err
	}
	allowed, err := regexp.Compile(p.AllowedPattern)
	switch {
	case err != nil:
		return fmt.Errorf("AllowedPattern: %w", err)
	case !allowed.MatchString(p.Value):
		return fmt.Errorf("property Value %q does not match AllowedPattern %s", p.Value, p.AllowedPattern)
	case p.Type != "String":
		return fmt.Errorf("property Type is %q; only String is modelled", p.Type)
	case len(p.Value) > 4096:
		return fmt.Errorf("property Value has %d characters; a standard parameter has at most 4096", len(p.Value))
	}
	name, err := r.name()
	if err != nil {
		return err
	}
	r.account.Parameters.Put(name, p.Value)
	return nil
}
