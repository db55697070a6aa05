package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
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

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/shared/adapter/ssmswitch"
	"github.com/joiner-sh/joiner/shared/boot"
	"github.com/joiner-sh/joiner/shared/model"
)

// What is taken to be out of order.
const (
	skewLimit      = 30 * time.Second // signatures are good for five minutes, leases for less
	heartbeatLimit = 90               // s; a watcher says each few seconds that it lives
	tickLimit      = 7 * 60           // s; there is a tick each minute, and a cluster that sleeps is looked at with every fifth
	noStop         = "go"
	watcherAccount = "joiner-watcher"
	unversioned    = "dev" // what was built by hand says of its version
)

// target is what doctor looks at.
type target struct {
	at    *session
	reach *adoptFlags // how API servers are reached
}

func one(level doctor.Level, seen, do string) []doctor.Finding {
	return []doctor.Finding{{Level: level, Seen: seen, Do: do}}
}

// checks are those of the installation.
func (p *target) checks() []doctor.Check {
	checks := []doctor.Check{
		{Name: "caller", Object: "your AWS permissions", Run: p.caller},
		{Name: "installation", Object: "parameter " + installationParameter, Run: p.installation},
		{Name: "ledger", Object: "table " + p.at.Table, Run: p.table},
		{Name: "clock", Object: "this machine", Run: p.clock},
	}
	if p.at.Bucket != "" {
		checks = append(checks, doctor.Check{Name: "bucket", Object: p.at.Bucket, Run: p.bucket})
	}
	if p.at.Stop != "" {
		checks = append(checks, doctor.Check{Name: "stop switch", Object: p.at.Stop, Run: p.stopSwitch})
	}
	if len(p.at.Functions) > 0 {
		checks = append(checks, doctor.Check{Name: "ticks", Object: "rule " + tickRule, Run: p.tickRule})
	}
	if url := p.at.Queues["notices"]; url != "" {
		checks = append(checks, doctor.Check{Name: "notices", Object: "EventBridge rules", Run: func(ctx context.Context) ([]doctor.Finding, error) { return p.notices(ctx, url) }})
	}
	checks = append(checks,
		doctor.Check{Name: "quotas", Object: "vCPUs", Run: p.ofAccount((*preflight.Checker).Quotas)},
		doctor.Check{Name: "concurrency", Object: "Lambda", Run: p.ofAccount((*preflight.Checker).Concurrency)},
		doctor.Check{Name: "spot role", Object: "the account", Run: p.ofAccount((*preflight.Checker).SpotRole)},
		doctor.Check{Name: "key", Object: "encryption", Run: p.key})
	for _, id := range sortedKeys(p.at.Queues) {
		if id == "plan" { // each cluster has its own
			continue
		}
		checks = append(checks, doctor.Check{Name: "queue", Object: id, Run: func(ctx context.Context) ([]doctor.Finding, error) { return p.queue(ctx, p.at.Queues[id]) }})
	}
	return checks
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (p *target) caller(ctx context.Context) ([]doctor.Finding, error) {
	out, err := sts.NewFromConfig(p.at.config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, err
	}
	seen := aws.ToString(out.Arn) + " in " + p.at.config.Region
	if p.at.Account != "" && p.at.Account != aws.ToString(out.Account) {
		return one(doctor.Warn, seen+", and the installation is in account "+p.at.Account, "run joiner doctor with credentials of that account"), nil
	}
	return one(doctor.OK, seen, ""), nil
}

func (p *target) installation(context.Context) ([]doctor.Finding, error) {
	if p.at.unread != nil {
		return one(doctor.Warn, p.at.unread.Error(), "deploy the region's stack; without it bucket, queues and stop switch are not checked"), nil
	}
	seen := "version " + p.at.Version
	if own := boot.Version(); p.at.Version != "" && p.at.Version != unversioned && own != unversioned && own != p.at.Version {
		return one(doctor.Warn, seen+", and this command is "+own, "use the command line of the installation's version, or deploy this version"), nil
	}
	return one(doctor.OK, seen, ""), nil
}

func (p *target) table(ctx context.Context) ([]doctor.Finding, error) {
	client := dynamodb.NewFromConfig(p.at.config)
	out, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &p.at.Table})
	if err != nil {
		return nil, err
	}
	var found []doctor.Finding
	if status := out.Table.TableStatus; status != dynamotypes.TableStatusActive {
		found = append(found, one(doctor.Fail, "it is "+string(status), "wait until it is ACTIVE; nothing is launched before")...)
	}
	index := slices.ContainsFunc(out.Table.GlobalSecondaryIndexes, func(i dynamotypes.GlobalSecondaryIndexDescription) bool {
		return aws.ToString(i.IndexName) == "byInstance"
	})
	if !index {
		found = append(found, one(doctor.Fail, "it lacks the index byInstance", "deploy the region's stack again: events about instances need it to find their claims")...)
	}
	if !aws.ToBool(out.Table.DeletionProtectionEnabled) {
		found = append(found, one(doctor.Warn, "it is not protected against deletion", "deploy the region's stack with context protect=true, now that it runs")...)
	}
	ttl, err := client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &p.at.Table})
	if err != nil {
		return found, err
	}
	if d := ttl.TimeToLiveDescription; d == nil || d.TimeToLiveStatus != dynamotypes.TimeToLiveStatusEnabled || aws.ToString(d.AttributeName) != "ttl" {
		found = append(found, one(doctor.Warn, "items do not expire by their attribute ttl", "turn on time to live for ttl, or the table grows without limit")...)
	}
	if len(found) == 0 {
		found = one(doctor.OK, "it is ACTIVE, with its index and time to live", "")
	}
	return found, nil
}

// clock compares this machine's clock with DynamoDB's, by which ages are measured.
func (p *target) clock(ctx context.Context) ([]doctor.Finding, error) {
	before := time.Now()
	records, err := p.at.ledger.Records(ctx, model.Registration{Cluster: "-"})
	if err != nil {
		return nil, err
	}
	level, seen, do := skew(before, time.Now(), time.Unix(records.NowUnix, 0), "DynamoDB's")
	return one(level, seen, do), nil
}

// skew evaluates a clock that said said some time between before and after; it tells whole seconds.
func skew(before, after, said time.Time, whose string) (level doctor.Level, seen, do string) {
	var off time.Duration
	if late := before.Add(-time.Second).Sub(said); late > 0 {
		off = late
	} else if early := said.Sub(after); early > 0 {
		off = early
	}
	if off > skewLimit {
		return doctor.Fail, fmt.Sprintf("it differs from %s by %s", whose, off.Round(time.Second)), "set the clock (NTP): signatures and tokens are refused, and ages are wrong"
	}
	return doctor.OK, "it agrees with " + whose, ""
}

func (p *target) bucket(ctx context.Context) ([]doctor.Finding, error) {
	client := s3.NewFromConfig(p.at.config, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	if _, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &p.at.Bucket}); err != nil {
		return nil, err
	}
	return one(doctor.OK, "it exists", ""), nil
}

func (p *target) stopSwitch(ctx context.Context) ([]doctor.Finding, error) {
	value, err := ssmswitch.New(ssm.NewFromConfig(p.at.config)).Parameter(ctx, p.at.Stop)
	if err != nil {
		return nil, err
	}
	if value != noStop {
		return one(doctor.Warn, fmt.Sprintf("its value is %q: that is stopped in the whole region", value), "set it to "+noStop+" to end that"), nil
	}
	return one(doctor.OK, "its value is "+noStop, ""), nil
}

// queue looks at a queue and at the one for what nobody could handle.
func (p *target) queue(ctx context.Context, url string) ([]doctor.Finding, error) {
	client := sqs.NewFromConfig(p.at.config)
	attributes, err := queueAttributes(ctx, client, url)
	if err != nil {
		return nil, err
	}
	waiting := attributes["ApproximateNumberOfMessages"]
	var policy struct {
		Dead string `json:"deadLetterTargetArn"`
	}
	if json.Unmarshal([]byte(attributes["RedrivePolicy"]), &policy) != nil || policy.Dead == "" {
		return one(doctor.Warn, "it has no dead-letter queue", "deploy the region's stack again"), nil
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
		return one(doctor.Warn, fmt.Sprintf("%s has %d messages that could not be processed", name, n),
			"read the function's log at their time; they are hints, so purge the queue when the cause is fixed"), nil
	}
	return one(doctor.OK, waiting+" messages wait, none is in "+name, ""), nil
}

func queueAttributes(ctx context.Context, client *sqs.Client, url string) (map[string]string, error) {
	out, err := client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return nil, err
	}
	return out.Attributes, nil
}
