package proof

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// Thing is something a run made.
type Thing struct {
	Kind string `json:"kind"` // "instance", "queue", …
	Name string `json:"name"` // id, URL or name
	Run  string `json:"run"`  // of which run

	cluster string // of a role: where it has an access entry
	remove  func(context.Context) error
}

func (t Thing) String() string { return t.Kind + " " + t.Name }

// finder finds one kind of thing. They are in the order of removal.
type finder struct {
	kind string
	find func(context.Context, *Env) ([]Thing, error)
}

var finders = []finder{
	{"instance", findInstances}, {"capacity reservation", findReservations}, {"launch template", findTemplates}, {"rule", findRules}, {"queue", findQueues},
	{"table", findTables}, {"bucket", findBuckets}, {"access entry", findEntries}, {"instance profile", findProfiles},
	{"role", findRoles}, {"parameter", findParameters},
}

// Find returns what runs have left in the region: what carries TagRun. Buckets are known by their names, access entries by the
// roles they are for. Services that answer with an error are in failed, and stop no other.
func (e *Env) Find(ctx context.Context) (found []Thing, failed []error) {
	ctx = withPart(ctx, "clean")
	for _, f := range finders {
		things, err := f.find(ctx, e)
		if err != nil {
			failed = append(failed, fmt.Errorf("look for each %s: %w", f.kind, err))
		}
		found = append(found, things...)
	}
	return found, failed
}

// settle is how long EC2 may take to show what was launched or tagged a moment ago.
const settle = 20 * time.Second

// Clean removes what runs have left in the region and returns what is there still, and what went wrong. It looks until two looks
// that are some time apart have found nothing, since EC2 takes a while to show what it has just launched.
func (e *Env) Clean(ctx context.Context, progress func(string)) (left []Thing, failed []error) {
	e.budget.Open()
	ctx = withPart(ctx, "clean")
	for quiet, round := 0, 0; quiet < 2 && round < 12; round++ {
		left, failed = e.Find(ctx)
		if len(failed) == len(finders) {
			return left, failed // nobody answers
		}
		if len(left) == 0 {
			quiet++
		} else {
			quiet = 0
		}
		for _, t := range left {
			if err := t.remove(ctx); err != nil {
				failed = append(failed, fmt.Errorf("remove %s: %w", t, err))
				continue
			}
			progress("removed " + t.String())
		}
		if quiet == 2 {
			break
		}
		if err := e.Sleep(ctx, settle); err != nil {
			return left, append(failed, err)
		}
	}
	return left, failed
}

func findInstances(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := ec2.NewDescribeInstancesPaginator(e.EC2, &ec2.DescribeInstancesInput{Filters: []types.Filter{
		Filter("tag-key", TagRun), {Name: aws.String("instance-state-name"), Values: []string{"pending", "running", "stopping", "stopped"}},
	}, MaxResults: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				id := aws.ToString(i.InstanceId)
				out = append(out, Thing{Kind: "instance", Name: id, Run: runOf(i.Tags), remove: func(ctx context.Context) error { return End(ctx, e, id) }})
			}
		}
	}
	return out, nil
}

func runOf(tags []types.Tag) string {
	for _, t := range tags {
		if aws.ToString(t.Key) == TagRun {
			return aws.ToString(t.Value)
		}
	}
	return ""
}

func findTemplates(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := ec2.NewDescribeLaunchTemplatesPaginator(e.EC2, &ec2.DescribeLaunchTemplatesInput{Filters: []types.Filter{Filter("tag-key", TagRun)}, MaxResults: aws.Int32(100)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, t := range page.LaunchTemplates {
			id := t.LaunchTemplateId
			out = append(out, Thing{Kind: "launch template", Name: aws.ToString(t.LaunchTemplateName), Run: runOf(t.Tags), remove: func(ctx context.Context) error {
				_, err := e.EC2.DeleteLaunchTemplate(ctx, &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: id})
				return gone(err, "InvalidLaunchTemplateId.NotFound")
			}})
		}
	}
	return out, nil
}

// findReservations finds capacity reservations that are not over. They end themselves after an hour, too.
func findReservations(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := ec2.NewDescribeCapacityReservationsPaginator(e.EC2, &ec2.DescribeCapacityReservationsInput{
		Filters: []types.Filter{{Name: aws.String("state"), Values: []string{"active", "pending"}}}, MaxResults: aws.Int32(100),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, r := range page.CapacityReservations {
			if run := runOf(r.Tags); run != "" {
				out = append(out, Thing{Kind: "capacity reservation", Name: aws.ToString(r.CapacityReservationId), Run: run, remove: func(ctx context.Context) error {
					_, err := e.EC2.CancelCapacityReservation(ctx, &ec2.CancelCapacityReservationInput{CapacityReservationId: r.CapacityReservationId})
					return gone(err, "InvalidCapacityReservationId.NotFound")
				}})
			}
		}
	}
	return out, nil
}

// gone takes for success that something is not there.
func gone(err error, codes ...string) error {
	for _, code := range codes {
		if Code(err) == code {
			return nil
		}
	}
	return err
}

const noQueue, noQueueToo = "AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"

func findQueues(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := sqs.NewListQueuesPaginator(e.SQS, &sqs.ListQueuesInput{QueueNamePrefix: aws.String(Prefix), MaxResults: aws.Int32(1000)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, url := range page.QueueUrls {
			tags, err := e.SQS.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: &url})
			if err := gone(err, noQueue, noQueueToo); err != nil {
				return out, err
			}
			if err != nil || tags.Tags[TagRun] == "" {
				continue // somebody else's, or gone: lists are late
			}
			out = append(out, Thing{Kind: "queue", Name: url[strings.LastIndexByte(url, '/')+1:], Run: tags.Tags[TagRun], remove: func(ctx context.Context) error {
				_, err := e.SQS.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &url})
				return gone(err, noQueue, noQueueToo)
			}})
		}
	}
	return out, nil
}

func findRules(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	in := &eventbridge.ListRulesInput{NamePrefix: aws.String(Prefix)}
	for {
		page, err := e.Events.ListRules(ctx, in)
		if err != nil {
			return out, err
		}
		for _, r := range page.Rules {
			tags, err := e.Events.ListTagsForResource(ctx, &eventbridge.ListTagsForResourceInput{ResourceARN: r.Arn})
			if err := gone(err, "ResourceNotFoundException"); err != nil {
				return out, err
			}
			run := ""
			for _, t := range tags.Tags {
				if aws.ToString(t.Key) == TagRun {
					run = aws.ToString(t.Value)
				}
			}
			if run != "" {
				out = append(out, Thing{Kind: "rule", Name: aws.ToString(r.Name), Run: run, remove: func(ctx context.Context) error { return removeRule(ctx, e, r.Name) }})
			}
		}
		if in.NextToken = page.NextToken; in.NextToken == nil {
			return out, nil
		}
	}
}

func removeRule(ctx context.Context, e *Env, name *string) error {
	targets, err := e.Events.ListTargetsByRule(ctx, &eventbridge.ListTargetsByRuleInput{Rule: name})
	if err != nil {
		return gone(err, "ResourceNotFoundException")
	}
	var ids []string
	for _, t := range targets.Targets {
		ids = append(ids, aws.ToString(t.Id))
	}
	if len(ids) > 0 {
		if _, err := e.Events.RemoveTargets(ctx, &eventbridge.RemoveTargetsInput{Rule: name, Ids: ids}); err != nil {
			return err
		}
	}
	_, err = e.Events.DeleteRule(ctx, &eventbridge.DeleteRuleInput{Name: name})
	return err
}

func findTables(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	in := &dynamodb.ListTablesInput{ExclusiveStartTableName: aws.String(Prefix)}
	for {
		page, err := e.DynamoDB.ListTables(ctx, in)
		if err != nil {
			return out, err
		}
		for _, name := range page.TableNames {
			if !strings.HasPrefix(name, Prefix) {
				return out, nil // they come by name
			}
			thing, ok, err := foundTable(ctx, e, name)
			if err != nil {
				return out, err
			}
			if ok {
				out = append(out, thing)
			}
		}
		if in.ExclusiveStartTableName = page.LastEvaluatedTableName; in.ExclusiveStartTableName == nil {
			return out, nil
		}
	}
}

func foundTable(ctx context.Context, e *Env, name string) (Thing, bool, error) {
	table, err := e.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	if err != nil {
		return Thing{}, false, gone(err, "ResourceNotFoundException")
	}
	if table.Table.TableStatus == "DELETING" {
		return Thing{}, false, nil
	}
	tags, err := e.DynamoDB.ListTagsOfResource(ctx, &dynamodb.ListTagsOfResourceInput{ResourceArn: table.Table.TableArn})
	if err != nil {
		return Thing{}, false, gone(err, "ResourceNotFoundException")
	}
	for _, t := range tags.Tags {
		if aws.ToString(t.Key) == TagRun {
			return Thing{Kind: "table", Name: name, Run: aws.ToString(t.Value), remove: func(ctx context.Context) error {
				_, err := e.DynamoDB.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
				// One that is being made cannot be deleted yet: the next check finds it again.
				return gone(err, "ResourceNotFoundException", "ResourceInUseException")
			}}, true, nil
		}
	}
	return Thing{}, false, nil
}

func findBuckets(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := s3.NewListBucketsPaginator(e.S3, &s3.ListBucketsInput{Prefix: aws.String(Prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, b := range page.Buckets {
			name := aws.ToString(b.Name)
			run, what, _ := strings.Cut(strings.TrimPrefix(name, Prefix), "-")
			if !strings.HasPrefix(name, Prefix) || what != "bucket" || b.BucketRegion != nil && *b.BucketRegion != e.Region {
				continue
			}
			out = append(out, Thing{Kind: "bucket", Name: name, Run: run, remove: func(ctx context.Context) error { return removeBucket(ctx, e, name) }})
		}
	}
	return out, nil
}

func removeBucket(ctx context.Context, e *Env, name string) error {
	pages := s3.NewListObjectsV2Paginator(e.S3, &s3.ListObjectsV2Input{Bucket: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return gone(err, "NoSuchBucket")
		}
		var objects []s3types.ObjectIdentifier
		for _, o := range page.Contents {
			objects = append(objects, s3types.ObjectIdentifier{Key: o.Key})
		}
		if len(objects) > 0 {
			if _, err := e.S3.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &name, Delete: &s3types.Delete{Objects: objects, Quiet: aws.Bool(true)}}); err != nil {
				return err
			}
		}
	}
	_, err := e.S3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	return gone(err, "NoSuchBucket")
}

func findProfiles(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := iam.NewListInstanceProfilesPaginator(e.IAM, &iam.ListInstanceProfilesInput{PathPrefix: aws.String(Path)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, p := range page.InstanceProfiles {
			whole, err := e.IAM.GetInstanceProfile(ctx, &iam.GetInstanceProfileInput{InstanceProfileName: p.InstanceProfileName}) // lists leave tags out
			if err != nil {
				if err := gone(err, "NoSuchEntity"); err != nil {
					return out, err
				}
				continue
			}
			for _, t := range whole.InstanceProfile.Tags {
				if aws.ToString(t.Key) == TagRun {
					out = append(out, Thing{Kind: "instance profile", Name: aws.ToString(p.InstanceProfileName), Run: aws.ToString(t.Value), remove: func(ctx context.Context) error {
						for _, r := range p.Roles {
							_, err := e.IAM.RemoveRoleFromInstanceProfile(ctx, &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: p.InstanceProfileName, RoleName: r.RoleName})
							if err := gone(err, "NoSuchEntity"); err != nil {
								return err
							}
						}
						_, err := e.IAM.DeleteInstanceProfile(ctx, &iam.DeleteInstanceProfileInput{InstanceProfileName: p.InstanceProfileName})
						return gone(err, "NoSuchEntity")
					}})
				}
			}
		}
	}
	return out, nil
}

func findRoles(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := iam.NewListRolesPaginator(e.IAM, &iam.ListRolesInput{PathPrefix: aws.String(Path)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, r := range page.Roles {
			tags, err := e.IAM.ListRoleTags(ctx, &iam.ListRoleTagsInput{RoleName: r.RoleName})
			if err != nil {
				if err := gone(err, "NoSuchEntity"); err != nil {
					return out, err
				}
				continue
			}
			thing := Thing{Kind: "role", Name: aws.ToString(r.RoleName), remove: func(ctx context.Context) error { return removeRole(ctx, e, r.RoleName) }}
			for _, t := range tags.Tags {
				switch aws.ToString(t.Key) {
				case TagRun:
					thing.Run = aws.ToString(t.Value)
				case TagCluster:
					thing.cluster = aws.ToString(t.Value)
				}
			}
			if thing.Run != "" {
				out = append(out, thing)
			}
		}
	}
	return out, nil
}

func removeRole(ctx context.Context, e *Env, name *string) error {
	policies, err := e.IAM.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: name})
	if err != nil {
		return gone(err, "NoSuchEntity")
	}
	for _, p := range policies.PolicyNames {
		_, err := e.IAM.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: name, PolicyName: &p})
		if err := gone(err, "NoSuchEntity"); err != nil {
			return err
		}
	}
	_, err = e.IAM.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: name})
	return gone(err, "NoSuchEntity")
}

func findParameters(ctx context.Context, e *Env) ([]Thing, error) {
	var out []Thing
	pages := ssm.NewGetParametersByPathPaginator(e.SSM, &ssm.GetParametersByPathInput{Path: aws.String(strings.TrimSuffix(Path, "/")), Recursive: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return out, err
		}
		for _, p := range page.Parameters {
			run, _, _ := strings.Cut(strings.TrimPrefix(aws.ToString(p.Name), Path), "/")
			out = append(out, Thing{Kind: "parameter", Name: aws.ToString(p.Name), Run: run, remove: func(ctx context.Context) error {
				_, err := e.SSM.DeleteParameter(ctx, &ssm.DeleteParameterInput{Name: p.Name})
				return gone(err, "ParameterNotFound")
			}})
		}
	}
	return out, nil
}

// findEntries finds access entries for roles of runs, in the cluster that was given and in those that the roles name.
func findEntries(ctx context.Context, e *Env) ([]Thing, error) {
	clusters, err := clusters(ctx, e)
	if err != nil {
		return nil, err
	}
	var out []Thing
	for _, cluster := range clusters {
		pages := eks.NewListAccessEntriesPaginator(e.EKS, &eks.ListAccessEntriesInput{ClusterName: &cluster})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if Code(err) == "ResourceNotFoundException" {
				break // the cluster is gone, and they with it
			}
			if err != nil {
				return out, err
			}
			for _, principal := range page.AccessEntries {
				_, name, ok := strings.Cut(principal, ":role"+Path+Prefix)
				if !ok {
					continue
				}
				run, _, _ := strings.Cut(name, "-")
				out = append(out, Thing{Kind: "access entry", Name: principal, Run: run, remove: func(ctx context.Context) error {
					_, err := e.EKS.DeleteAccessEntry(ctx, &eks.DeleteAccessEntryInput{ClusterName: &cluster, PrincipalArn: &principal})
					return gone(err, "ResourceNotFoundException")
				}})
			}
		}
	}
	return out, nil
}

// clusters returns the cluster that was given and those whose names roles of runs have as TagCluster.
func clusters(ctx context.Context, e *Env) ([]string, error) {
	var out []string
	if e.Cluster != "" {
		out = append(out, e.Cluster)
	}
	roles, err := findRoles(ctx, e)
	for _, r := range roles {
		if r.cluster != "" && !slices.Contains(out, r.cluster) {
			out = append(out, r.cluster)
		}
	}
	return out, err
}
