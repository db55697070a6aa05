package proof

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	ddbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
)

// How long AWS may take until what was made works.
const (
	workLimit = 2 * time.Minute
	workEvery = 2 * time.Second
)

// Code returns the error code AWS answered with; "ok" for no error and "no answer" where there was none.
func Code(err error) string {
	var api smithy.APIError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &api):
		return api.ErrorCode()
	}
	return "no answer"
}

// Answered returns an error that is no answer of AWS: then nothing can be evaluated.
func Answered(errs ...error) error {
	for _, err := range errs {
		if err != nil && Code(err) == "no answer" {
			return err
		}
	}
	return nil
}

// MakeQueue makes a queue of the run's and returns its URL. A name that ends in .fifo makes a FIFO queue.
func MakeQueue(ctx context.Context, e *Env, what string, attributes map[string]string) (string, error) {
	attributes = maps.Clone(attributes)
	if attributes == nil {
		attributes = map[string]string{}
	}
	if strings.HasSuffix(what, ".fifo") {
		attributes["FifoQueue"] = "true"
	}
	out, err := e.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(e.Name(what)), Attributes: attributes, Tags: e.Tags()})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.QueueUrl), nil
}

// QueueARN returns the ARN of a queue made by MakeQueue.
func QueueARN(e *Env, what string) string { return e.ARN("sqs", e.Name(what)) }

// QueueAttributes returns attributes of a queue.
func QueueAttributes(ctx context.Context, e *Env, url string, names ...sqstypes.QueueAttributeName) (map[string]string, error) {
	out, err := e.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// Table returns the name of the run's table: partition key PK and sort key SK, texts, and a global index "turned" of SK and PK.
func Table(ctx context.Context, e *Env) (string, error) {
	return Shared(ctx, e, "table", func(ctx context.Context) (string, error) {
		name := e.Name("table")
		if _, err := MakeTable(ctx, e, name); err != nil {
			return "", err
		}
		_, ok, err := e.Until(ctx, workLimit, workEvery, func() (bool, error) {
			out, err := e.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
			if Code(err) == "ResourceNotFoundException" {
				return false, nil
			}
			return err == nil && out.Table.TableStatus == ddbtypes.TableStatusActive, err
		})
		if err == nil && !ok {
			err = fmt.Errorf("table %s was not ACTIVE within %s", name, workLimit)
		}
		return name, err
	})
}

// MakeTable asks for a table and returns what DynamoDB says of it.
func MakeTable(ctx context.Context, e *Env, name string) (*ddbtypes.TableDescription, error) {
	var tags []ddbtypes.Tag
	for _, key := range slices.Sorted(maps.Keys(e.Tags())) {
		tags = append(tags, ddbtypes.Tag{Key: aws.String(key), Value: aws.String(e.Tags()[key])})
	}
	key := func(hash, sort string) []ddbtypes.KeySchemaElement {
		return []ddbtypes.KeySchemaElement{
			{AttributeName: &hash, KeyType: ddbtypes.KeyTypeHash}, {AttributeName: &sort, KeyType: ddbtypes.KeyTypeRange},
		}
	}
	out, err := e.DynamoDB.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: ddbtypes.BillingModePayPerRequest, KeySchema: key("PK", "SK"), Tags: tags,
		AttributeDefinitions: []ddbtypes.AttributeDefinition{
			{AttributeName: aws.String("PK"), AttributeType: ddbtypes.ScalarAttributeTypeS}, {AttributeName: aws.String("SK"), AttributeType: ddbtypes.ScalarAttributeTypeS},
		},
		GlobalSecondaryIndexes: []ddbtypes.GlobalSecondaryIndex{{
			IndexName: aws.String("turned"), KeySchema: key("SK", "PK"), Projection: &ddbtypes.Projection{ProjectionType: ddbtypes.ProjectionTypeAll},
		}},
	})
	if err != nil {
		return nil, err
	}
	return out.TableDescription, nil
}

// Bucket returns the name of the run's bucket.
func Bucket(ctx context.Context, e *Env) (string, error) {
	return Shared(ctx, e, "bucket", func(ctx context.Context) (string, error) {
		name := e.Name("bucket")
		config := &s3types.CreateBucketConfiguration{}
		if e.Region != "us-east-1" {
			config.LocationConstraint = s3types.BucketLocationConstraint(e.Region)
		}
		for _, key := range slices.Sorted(maps.Keys(e.Tags())) {
			config.Tags = append(config.Tags, s3types.Tag{Key: aws.String(key), Value: aws.String(e.Tags()[key])})
		}
		_, err := e.S3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: config})
		if code := Code(err); code != "MalformedXML" && code != "InvalidRequest" && code != "InvalidArgument" && code != "NotImplemented" {
			return name, err
		}
		// Where buckets are not made with tags they get them a moment later; until then they are known by their names.
		tags := config.Tags
		if config.Tags = nil; config.LocationConstraint == "" {
			config = nil
		}
		if _, err := e.S3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &name, CreateBucketConfiguration: config}); err != nil {
			return name, err
		}
		_, err = e.S3.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{Bucket: &name, Tagging: &s3types.Tagging{TagSet: tags}})
		return name, err
	})
}

// MakeRole makes a role that the caller alone may assume, with the run's id as external id, and returns its ARN.
func MakeRole(ctx context.Context, e *Env, what string) (string, error) {
	return MakeRoleFor(ctx, e, what, e.Caller)
}

// MakeRoleFor makes a role that a principal alone may assume, with the run's id as external id, and returns its ARN.
func MakeRoleFor(ctx context.Context, e *Env, what, principal string) (string, error) {
	trust, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": []any{map[string]any{
		"Effect": "Allow", "Principal": map[string]any{"AWS": principal}, "Action": "sts:AssumeRole",
		"Condition": map[string]any{"StringEquals": map[string]any{"sts:ExternalId": e.ExternalID}},
	}}})
	if err != nil {
		return "", err
	}
	tags := IAMTags(e)
	if e.Cluster != "" {
		tags = append(tags, iamtypes.Tag{Key: aws.String(TagCluster), Value: &e.Cluster})
	}
	out, err := e.IAM.CreateRole(ctx, &iam.CreateRoleInput{
		RoleName: aws.String(e.Name(what)), Path: aws.String(Path), AssumeRolePolicyDocument: aws.String(string(trust)), Tags: tags,
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(out.Role.Arn), nil
}

// IAMTags returns Tags for IAM.
func IAMTags(e *Env) []iamtypes.Tag {
	var out []iamtypes.Tag
	for _, key := range slices.Sorted(maps.Keys(e.Tags())) {
		out = append(out, iamtypes.Tag{Key: aws.String(key), Value: aws.String(e.Tags()[key])})
	}
	return out
}

// roleActions is what the run's role may do. Its sessions may do less: each has a policy of its own.
var roleActions = []string{
	"ec2:RunInstances", "ec2:CreateFleet", "ec2:CreateLaunchTemplate", "ec2:CreateTags", "ec2:TerminateInstances", "ec2:Describe*",
	"sqs:*", "s3:*", "dynamodb:*", "iam:PassRole", "iam:GetRole", "sts:*", "events:PutEvents",
}

// queueOfAll is a queue that policies are tried with.
const queueOfAll = "all"

// QueueOfAll returns the name of a queue that sessions of the run's role may ask for, as far as their policies let them.
func QueueOfAll(e *Env) string { return e.Name(queueOfAll) }

// Role returns the ARN of the run's role, once AWS lets it act.
func Role(ctx context.Context, e *Env) (string, error) {
	return Shared(ctx, e, "role", func(ctx context.Context) (string, error) {
		if _, err := MakeQueue(ctx, e, queueOfAll, nil); err != nil {
			return "", err
		}
		arn, err := MakeRole(ctx, e, "role")
		if err != nil {
			return "", err
		}
		own := []string{
			"arn:" + e.Partition + ":sqs:*:*:" + Prefix + "*", "arn:" + e.Partition + ":s3:::" + Prefix + "*",
			"arn:" + e.Partition + ":dynamodb:*:*:table/" + Prefix + "*", "arn:" + e.Partition + ":iam::*:role" + Path + "*",
			"arn:" + e.Partition + ":ec2:*:*:*", "arn:" + e.Partition + ":events:*:*:*",
		}
		policy, err := Policy(
			Statement{Sid: "Own", Effect: "Allow", Action: roleActions, Resource: own},
			// What launching and describing look at besides.
			Statement{Sid: "Look", Effect: "Allow", Action: []string{"ec2:Describe*", "iam:GetInstanceProfile"}, Resource: []string{"*"}},
		)
		if err != nil {
			return "", err
		}
		if _, err := e.IAM.PutRolePolicy(ctx, &iam.PutRolePolicyInput{
			RoleName: aws.String(e.Name("role")), PolicyName: aws.String("proof"), PolicyDocument: &policy,
		}); err != nil {
			return "", err
		}
		took, ok, err := e.Until(ctx, workLimit, time.Second, func() (bool, error) {
			c, err := assume(ctx, e, arn, "ready", "")
			if Code(err) == "AccessDenied" {
				return false, nil // IAM has not told everybody yet
			}
			if err != nil {
				return false, err
			}
			_, err = c.SQS.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(e.Name(queueOfAll))})
			return err == nil, Answered(err)
		})
		if err == nil && !ok {
			err = fmt.Errorf("role %s did not work within %s", arn, workLimit)
		}
		e.mu.Lock()
		e.roleTook = took
		e.mu.Unlock()
		return arn, err
	})
}

// Statement is one of a policy.
type Statement struct {
	Sid              string `json:",omitempty"`
	Effect           string
	Action, Resource []string
	Condition        map[string]map[string]any `json:",omitempty"`
}

// Policy returns the text of a policy.
func Policy(statements ...Statement) (string, error) {
	text, err := json.Marshal(struct {
		Version   string
		Statement []Statement
	}{"2012-10-17", statements})
	return string(text), err
}

// Everything allows every action: of a session it is what the role may do.
var Everything = Statement{Sid: "Everything", Effect: "Allow", Action: []string{"*"}, Resource: []string{"*"}}

// Session returns the services as a session of the run's role reaches them, which may do what the role and the statements
// allow. A session's policy is in force at once, where a role's takes AWS some seconds.
func Session(ctx context.Context, e *Env, statements ...Statement) (Clients, error) {
	arn, err := Role(ctx, e)
	if err != nil {
		return Clients{}, err
	}
	policy, err := Policy(statements...)
	if err != nil {
		return Clients{}, err
	}
	return assume(ctx, e, arn, fmt.Sprintf("session-%d", e.Number()), policy)
}

// AssumeInput returns the request for a session of the run's role.
func AssumeInput(e *Env, arn, name string) *sts.AssumeRoleInput {
	return &sts.AssumeRoleInput{RoleArn: &arn, RoleSessionName: &name, ExternalId: &e.ExternalID, DurationSeconds: aws.Int32(900)}
}

func assume(ctx context.Context, e *Env, arn, name, policy string) (Clients, error) {
	in := AssumeInput(e, arn, name)
	if policy != "" {
		in.Policy = &policy
	}
	out, err := e.STS.AssumeRole(ctx, in)
	if err != nil {
		return Clients{}, err
	}
	k := out.Credentials
	return e.ClientsAs(name, credentials.NewStaticCredentialsProvider(aws.ToString(k.AccessKeyId), aws.ToString(k.SecretAccessKey), aws.ToString(k.SessionToken))), nil
}

// RoleTook returns how long the run's role took to act.
func RoleTook(ctx context.Context, e *Env) (time.Duration, error) {
	if _, err := Role(ctx, e); err != nil {
		return 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.roleTook, nil
}

// PutParameter makes a parameter below Path, with the run's tags where it is first made, or gives it another value.
func PutParameter(ctx context.Context, e *Env, name, value string, first bool) error {
	in := &ssm.PutParameterInput{Name: &name, Value: &value, Type: ssmtypes.ParameterTypeString}
	if first {
		for _, key := range slices.Sorted(maps.Keys(e.Tags())) {
			in.Tags = append(in.Tags, ssmtypes.Tag{Key: aws.String(key), Value: aws.String(e.Tags()[key])})
		}
	} else {
		in.Overwrite = aws.Bool(true)
	}
	_, err := e.SSM.PutParameter(ctx, in)
	return err
}

// Unlimited returns the services as a session of a role made by MakeRole reaches them, once the role may be assumed. It has no
// policy of its own.
func Unlimited(ctx context.Context, e *Env, arn string) (Clients, error) {
	var c Clients
	name := fmt.Sprintf("session-%d", e.Number())
	_, ok, err := e.Until(ctx, workLimit, time.Second, func() (bool, error) {
		var err error
		c, err = assume(ctx, e, arn, name, "")
		if Code(err) == "AccessDenied" {
			return false, nil
		}
		return err == nil, err
	})
	if err == nil && !ok {
		err = fmt.Errorf("role %s could not be assumed within %s", arn, workLimit)
	}
	return c, err
}
