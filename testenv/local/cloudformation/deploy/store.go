package deploy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
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
	SSESpecification                 *struct {
		SSEEnabled bool
		SSEType    dynamodbtypes.SSEType
		KMSKey     string `json:"KMSMasterKeyId"`
	}
}

func tableExists(ctx context.Context, r resource) (bool, error) {
	name, err := r.name()
	if err != nil {
		return false, err
	}
	_, err = dynamodb.NewFromConfig(r.account.Cloud.Config()).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if absent := (*dynamodbtypes.ResourceNotFoundException)(nil); errors.As(err, &absent) {
		return false, nil
	}
	return err == nil, err
}

// tableOf returns what a table is to be, its name, and who makes it so.
func tableOf(r resource) (p tableProperties, name string, client *dynamodb.Client, err error) {
	if err = r.decode(&p); err == nil {
		name, err = r.name()
	}
	return p, name, dynamodb.NewFromConfig(r.account.Cloud.Config()), err
}

// makeTable makes a table, waits until it can be used, and sets what can only be set then.
func makeTable(ctx context.Context, r resource) error {
	p, name, client, err := tableOf(r)
	if err != nil {
		return err
	}
	if p.SSESpecification != nil {
		if err := r.account.usable(p.SSESpecification.KMSKey); err != nil {
			return err
		}
	}
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
	if err := setTable(ctx, client, name, p); err != nil {
		return err
	}
	r.account.Cloud.Policies.SetTableKey(name, hash(p.KeySchema))
	for _, index := range p.GlobalSecondaryIndexes {
		r.account.Cloud.Policies.SetTableKey(name+"/"+aws.ToString(index.IndexName), hash(index.KeySchema))
	}
	return nil
}

// setTable sets what can only be set once there is a table.
func setTable(ctx context.Context, client *dynamodb.Client, name string, p tableProperties) error {
	if sse := p.SSESpecification; sse != nil {
		with := &dynamodbtypes.SSESpecification{Enabled: &sse.SSEEnabled, SSEType: sse.SSEType, KMSMasterKeyId: &sse.KMSKey}
		if _, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name, SSESpecification: with}); err != nil {
			return err
		}
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
	return nil
}

// changeTable sets what may be set of a table that is there.
func changeTable(ctx context.Context, r resource, old properties) error {
	p, name, client, err := tableOf(r)
	if err != nil {
		return err
	}
	var set tableProperties
	for _, property := range different(old, r.properties) {
		switch property {
		case "DeletionProtectionEnabled":
			if _, err := client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &name, DeletionProtectionEnabled: &p.DeletionProtectionEnabled}); err != nil {
				return err
			}
		case "SSESpecification":
			if set.SSESpecification = p.SSESpecification; set.SSESpecification == nil {
				return fmt.Errorf("property %s: taking a table's key away is not modelled", property)
			}
			if err := r.account.usable(p.SSESpecification.KMSKey); err != nil {
				return err
			}
		case "TimeToLiveSpecification":
			set.TimeToLiveSpecification = p.TimeToLiveSpecification
		case "PointInTimeRecoverySpecification":
			set.PointInTimeRecoverySpecification = p.PointInTimeRecoverySpecification
		default:
			return fmt.Errorf("property %s: changing it of a table is not modelled", property)
		}
	}
	return setTable(ctx, client, name, set)
}

// removeTable deletes a table, which DynamoDB refuses where it is protected.
func removeTable(ctx context.Context, r resource) error {
	name, err := r.name()
	if err != nil {
		return err
	}
	client := dynamodb.NewFromConfig(r.account.Cloud.Config())
	_, err = client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
	if gone := (*dynamodbtypes.ResourceNotFoundException)(nil); errors.As(err, &gone) {
		return nil
	} else if err != nil {
		return err
	}
	waiter := dynamodb.NewTableNotExistsWaiter(client, func(o *dynamodb.TableNotExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	return waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &name}, time.Minute)
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
	NoncurrentVersionExpiration    *struct{ NoncurrentDays int32 } // nothing here has versions
}

func bucketExists(_ context.Context, r resource) (bool, error) {
	name, err := r.name()
	return r.account.Cloud.S3.Has(name), err
}

// makeBucket makes a bucket and says how long its objects live.
func makeBucket(ctx context.Context, r resource) error {
	var p bucketProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	name, client, err := bucketOf(r)
	if err != nil {
		return err
	}
	if r.account.account() != r.account.Cloud.Account() {
		r.account.Cloud.Policies.SetBucketAccount(name, r.account.account())
	}
	here := &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(r.account.Cloud.Region())}
	if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: here}); err != nil {
		return err
	}
	return setLife(ctx, client, name, p)
}

// s3 is a client with the rights of whoever may do everything in the account.
func (a *Account) s3() (*s3.Client, error) {
	config := a.Cloud.Config()
	if a.account() != a.Cloud.Account() {
		keys, err := a.keys(a.Cloud.STS.AddRole(sts.Role{Name: "CloudFormation", Account: a.account()}), "deploy")
		if err != nil {
			return nil, err
		}
		config = a.Cloud.ConfigFor(keys)
	}
	return s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true }), nil
}

// bucketOf returns the name of a bucket, and who makes it.
func bucketOf(r resource) (name string, client *s3.Client, err error) {
	if name, err = r.name(); err == nil {
		client, err = r.account.s3()
	}
	return name, client, err
}

// changeBucket says anew how long objects of a bucket live.
func changeBucket(ctx context.Context, r resource, _ properties) error {
	var p bucketProperties
	if err := r.decode(&p); err != nil {
		return err
	}
	name, client, err := bucketOf(r)
	if err != nil {
		return err
	}
	return setLife(ctx, client, name, p)
}

// removeBucket deletes a bucket, which S3 refuses while there is something in it.
func removeBucket(ctx context.Context, r resource) error {
	name, client, err := bucketOf(r)
	if err != nil {
		return err
	}
	_, err = client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	if refused := smithy.APIError(nil); errors.As(err, &refused) && refused.ErrorCode() == "NoSuchBucket" {
		return nil
	}
	if err == nil {
		r.account.Cloud.Policies.RemoveResource("arn:aws:s3:::" + name)
	}
	return err
}

// setLife says how long objects of a bucket live.
func setLife(ctx context.Context, client *s3.Client, name string, p bucketProperties) error {
	if len(p.LifecycleConfiguration.Rules) == 0 {
		_, err := client.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: &name})
		return err
	}
	life := &s3types.BucketLifecycleConfiguration{}
	for _, rule := range p.LifecycleConfiguration.Rules {
		if rule.NoncurrentVersionExpiration != nil && rule.ExpirationInDays == nil && rule.AbortIncompleteMultipartUpload == nil {
			continue
		}
		one := s3types.LifecycleRule{
			ID: &rule.ID, Status: s3types.ExpirationStatus(rule.Status), Filter: &s3types.LifecycleRuleFilter{Prefix: &rule.Prefix},
			AbortIncompleteMultipartUpload: rule.AbortIncompleteMultipartUpload,
		}
		if rule.ExpirationInDays != nil {
			one.Expiration = &s3types.LifecycleExpiration{Days: rule.ExpirationInDays}
		}
		life.Rules = append(life.Rules, one)
	}
	_, err := client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: &name, LifecycleConfiguration: life})
	return err
}

// makeParameter makes a parameter.
func makeParameter(ctx context.Context, r resource) error { return changeParameter(ctx, r, nil) }

func parameterExists(_ context.Context, r resource) (bool, error) {
	name, err := r.name()
	_, there := r.account.Parameters.Value(name)
	return there, err
}

// removeParameter deletes a parameter.
func removeParameter(_ context.Context, r resource) error {
	name, err := r.name()
	if err == nil {
		r.account.Parameters.Delete(name)
	}
	return err
}

// changeParameter sets a parameter.
func changeParameter(_ context.Context, r resource, _ properties) error {
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
