package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/apiserver"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/shared/adapter/ssmswitch"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/model"
)

// What is taken to be out of order.
const (
	skewLimit      = 30 * time.Second // signatures are good for five minutes, leases for less
	heartbeatLimit = 90               // s; a watcher says each few seconds that it lives
	// s; there is a tick each minute, and a cluster that sleeps is looked at with every fifth
	tickLimit      = 7 * 60
	noStop         = "go"
	watcherAccount = "joiner-watcher"
	unversioned    = "dev" // what was built by hand says of its version
)

// region is an installation, as doctor looks at it.
type region struct {
	at        *installation.Session
	reach     *apiserver.Flags // how API servers are reached
	namespace string           // of the watcher
}

func (r *region) caller(ctx context.Context) ([]check.Finding, error) {
	out, err := sts.NewFromConfig(r.at.Config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, err
	}
	seen := aws.ToString(out.Arn) + " in " + r.at.Config.Region
	if r.at.Account != "" && r.at.Account != aws.ToString(out.Account) {
		return check.One(check.Warn, seen+", and the installation is in account "+r.at.Account,
			"run joiner doctor with credentials of that account"), nil
	}
	return check.One(check.OK, seen, ""), nil
}

func (r *region) installation(context.Context) ([]check.Finding, error) {
	if r.at.Unread != nil {
		return check.One(check.Warn, r.at.Unread.Error(),
			"deploy the region's stack; without it bucket, queues and stop switch are not checked"), nil
	}
	seen := "version " + r.at.Version
	if own := boot.Version(); r.at.Version != "" && r.at.Version != unversioned && own != unversioned &&
		own != r.at.Version {
		return check.One(check.Warn, seen+", and this command is "+own,
			"use the command line of the installation's version, or deploy this version"), nil
	}
	return check.One(check.OK, seen, ""), nil
}

func (r *region) table(ctx context.Context) ([]check.Finding, error) {
	client := dynamodb.NewFromConfig(r.at.Config)
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &r.at.Table})
	if err != nil {
		return nil, err
	}
	var found []check.Finding
	if status := out.Table.TableStatus; status != dynamotypes.TableStatusActive {
		found = append(found, check.One(check.Fail, "it is "+string(status),
			"wait until it is ACTIVE; nothing is launched before")...)
	}
	index := slices.ContainsFunc(out.Table.GlobalSecondaryIndexes,
		func(i dynamotypes.GlobalSecondaryIndexDescription) bool {
			return aws.ToString(i.IndexName) == "byInstance"
		})
	if !index {
		found = append(found, check.One(check.Fail, "it lacks the index byInstance",
			"deploy the region's stack again: events about instances need it to find their claims")...)
	}
	if !aws.ToBool(out.Table.DeletionProtectionEnabled) {
		found = append(found, check.One(check.Warn, "it is not protected against deletion",
			"deploy the region's stack with context protect=true, now that it runs")...)
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &r.at.Table})
	if err != nil {
		return found, err
	}
	if d := ttl.TimeToLiveDescription; d == nil || d.TimeToLiveStatus != dynamotypes.TimeToLiveStatusEnabled ||
		aws.ToString(d.AttributeName) != "ttl" {
		found = append(found, check.One(check.Warn, "items do not expire by their attribute ttl",
			"turn on time to live for ttl, or the table grows without limit")...)
	}
	if len(found) == 0 {
		found = check.One(check.OK, "it is ACTIVE, with its index and time to live", "")
	}
	return found, nil
}

// clock compares this machine's clock with DynamoDB's, by which ages are measured.
func (r *region) clock(ctx context.Context) ([]check.Finding, error) {
	before := time.Now()
	records, err := r.at.Ledger.Records(ctx, model.Registration{Cluster: "-"})
	if err != nil {
		return nil, err
	}
	level, seen, do := skew(before, time.Now(), time.Unix(records.NowUnix, 0), "DynamoDB's")
	return check.One(level, seen, do), nil
}

// skew evaluates a clock that said said some time between before and after; it tells whole seconds.
func skew(before, after, said time.Time, whose string) (level check.Level, seen, do string) {
	var off time.Duration
	if late := before.Add(-time.Second).Sub(said); late > 0 {
		off = late
	} else if early := said.Sub(after); early > 0 {
		off = early
	}
	if off > skewLimit {
		return check.Fail, fmt.Sprintf("it differs from %s by %s", whose, off.Round(time.Second)),
			"set the clock (NTP): signatures and tokens are refused, and ages are wrong"
	}
	return check.OK, "it agrees with " + whose, ""
}

func (r *region) bucket(ctx context.Context) ([]check.Finding, error) {
	client := s3.NewFromConfig(r.at.Config, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	if _, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &r.at.Bucket}); err != nil {
		return nil, err
	}
	return check.One(check.OK, "it exists", ""), nil
}

func (r *region) stopSwitch(ctx context.Context) ([]check.Finding, error) {
	value, err := ssmswitch.New(ssm.NewFromConfig(r.at.Config)).Parameter(ctx, r.at.Stop)
	if err != nil {
		return nil, err
	}
	if value != noStop {
		return check.One(check.Warn, fmt.Sprintf("its value is %q: that is stopped in the whole region", value),
			"set it to "+noStop+" to end that"), nil
	}
	return check.One(check.OK, "its value is "+noStop, ""), nil
}

// queue looks at a queue and at the one for what nobody could handle.
func (r *region) queue(ctx context.Context, url string) ([]check.Finding, error) {
	client := sqs.NewFromConfig(r.at.Config)
	attributes, err := queueAttributes(ctx, client, url)
	if err != nil {
		return nil, err
	}
	waiting := attributes["ApproximateNumberOfMessages"]
	var policy struct {
		Dead string `json:"deadLetterTargetArn"`
	}
	if json.Unmarshal([]byte(attributes["RedrivePolicy"]), &policy) != nil || policy.Dead == "" {
		return check.One(check.Warn, "it has no dead-letter queue", "deploy the region's stack again"), nil
	}
	name := policy.Dead[strings.LastIndexByte(policy.Dead, ':')+1:]
	dead, err := client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return nil, err
	}
	if attributes, err = queueAttributes(ctx, client, aws.ToString(dead.QueueUrl)); err != nil {
		return nil, err
	}
	if n, _ := strconv.Atoi(attributes["ApproximateNumberOfMessages"]); n > 0 {
		return check.One(check.Warn, fmt.Sprintf("%s has %d messages that could not be processed", name, n),
			"read the function's log at their time; they are hints, so purge the queue when the cause is fixed"), nil
	}
	return check.One(check.OK, waiting+" messages wait, none is in "+name, ""), nil
}

func queueAttributes(ctx context.Context, client *sqs.Client, url string) (map[string]string, error) {
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url,
		AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}

// ofAccount is a check of the account, which preflight makes before there is an installation.
func (r *region) ofAccount(
	run func(*account.Account, context.Context) ([]check.Finding, error),
) func(context.Context) ([]check.Finding, error) {
	return func(ctx context.Context) ([]check.Finding, error) {
		caller, err := account.New(ctx, r.at.Config)
		if err != nil {
			return nil, err
		}
		return run(caller, ctx)
	}
}

func concurrency(a *account.Account, ctx context.Context) ([]check.Finding, error) {
	return a.Concurrency(ctx, 0, "")
}

// key looks at the key that encrypts the table, where it is people's own: it encrypts all that the installation stores.
func (r *region) key(ctx context.Context) ([]check.Finding, error) {
	out, err := dynamodb.NewFromConfig(r.at.Config).DescribeTable(ctx,
		&dynamodb.DescribeTableInput{TableName: &r.at.Table})
	if err != nil {
		return nil, err
	}
	if out.Table.SSEDescription == nil || aws.ToString(out.Table.SSEDescription.KMSMasterKeyArn) == "" {
		return check.One(check.OK, "stored data is encrypted with AWS's own keys", ""), nil
	}
	caller, err := account.New(ctx, r.at.Config)
	if err != nil {
		return nil, err
	}
	return caller.KMSKey(ctx, aws.ToString(out.Table.SSEDescription.KMSMasterKeyArn))
}
