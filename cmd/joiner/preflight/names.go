package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/joiner-sh/joiner/cmd/joiner/doctor"
	"github.com/joiner-sh/joiner/shared/adapter/ekscontrol"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
)

// named is something with a fixed name that a stack makes.
type named struct {
	kind, name string
	remove     string // command that takes it away; "" = it is kept, and taken in again
	there      func(ctx context.Context) (bool, error)
}

// Parts of the region's names.
var (
	regionQueues    = []string{"joiner-catalog", "joiner-interruption", "joiner-disruption", "joiner-notices", "joiner-catalog-dead", "joiner-interruption-dead", "joiner-disruption-dead", "joiner-notices-dead", "joiner-plan-dead.fifo"}
	regionFunctions = []string{"provision", "interruption", "catalog", "disrupt"}
	regionValues    = []string{"/joiner/installation", "/joiner/stop"}
)

// ofRegion are the names of the region's stack.
func (s *Checker) ofRegion() []named {
	bucket := fmt.Sprintf("joiner-%s-%s", s.account, s.config.Region)
	out := []named{
		{"table", "joiner", "", func(ctx context.Context) (bool, error) { return s.hasTable(ctx, "joiner") }},
		{"bucket", bucket, "", func(ctx context.Context) (bool, error) { return s.hasBucket(ctx, bucket) }},
	}
	for _, queue := range regionQueues {
		out = append(out, s.queue(queue))
	}
	for _, program := range regionFunctions {
		function, role := "joiner-"+program, "joiner-"+program+"-"+s.config.Region
		out = append(out,
			named{"function", function, "aws lambda delete-function --function-name " + function, func(ctx context.Context) (bool, error) { return s.hasFunction(ctx, function) }},
			named{"log group", "/aws/lambda/" + function, "aws logs delete-log-group --log-group-name /aws/lambda/" + function, func(ctx context.Context) (bool, error) { return s.hasLogs(ctx, "/aws/lambda/"+function) }},
			s.role(role))
	}
	for _, name := range regionValues {
		out = append(out, named{"parameter", name, "aws ssm delete-parameter --name " + name, func(ctx context.Context) (bool, error) { return s.hasParameter(ctx, name) }})
	}
	return out
}

// ofCluster are the names of the cluster's stack.
func (s *Checker) ofCluster() []named {
	out := []named{s.queue(wire.PlanQueue(s.plan.Cluster))}
	if s.plan.Relay {
		out = append(out, s.queue(strings.TrimSuffix(strings.Replace(wire.PlanQueue(s.plan.Cluster), "joiner-plan-", "joiner-relay-", 1), ".fifo")))
	}
	entering := map[string]bool{} // roles that have access entries
	roles := []string{s.clusterRole("watcher")}
	add := func(name string, enters bool) { roles, entering[name] = append(roles, name), enters }
	for _, program := range regionFunctions {
		add(s.clusterRole(program), !s.plan.Relay)
	}
	if s.plan.NodeRole == "" {
		add(cmp.Or(s.plan.NodeRoleName, s.clusterRole("node")), true)
	}
	if s.plan.Windows {
		add(s.clusterRole("windows"), true)
	}
	if s.plan.Adopters {
		add(s.clusterRole("adopt"), true)
	}
	for _, name := range roles {
		out = append(out, s.role(name))
		if !entering[name] {
			continue
		}
		arn := "arn:" + s.partition + ":iam::" + s.account + ":role/" + name
		out = append(out, named{"access entry", arn, "aws eks delete-access-entry --cluster-name " + s.plan.Cluster + " --principal-arn " + arn,
			func(ctx context.Context) (bool, error) { return s.hasEntry(ctx, arn) }})
	}
	if !s.plan.IRSA {
		account := s.plan.Namespace + "/joiner-watcher"
		out = append(out, named{"Pod Identity association", account,
			fmt.Sprintf("aws eks list-pod-identity-associations --cluster-name %s --namespace %s, and aws eks delete-pod-identity-association", s.plan.Cluster, s.plan.Namespace),
			func(ctx context.Context) (bool, error) {
				n, err := ekscontrol.New(eks.NewFromConfig(s.config)).PodIdentityAssociations(ctx, s.plan.Cluster, s.plan.Namespace, "joiner-watcher")
				return n > 0, absent(err)
			}})
	}
	return out
}

// clusterRole is the name of a role of the cluster's: that of its plan queue says how its name is shortened.
func (s *Checker) clusterRole(program string) string {
	short := strings.TrimSuffix(strings.TrimPrefix(wire.PlanQueue(s.plan.Cluster), "joiner-plan-"), ".fifo")
	return "joiner-" + short + "-" + s.config.Region + "-" + program
}

func (s *Checker) regionNames(ctx context.Context) ([]doctor.Finding, error) {
	return s.taken(ctx, regionStack, s.ofRegion())
}

func (s *Checker) clusterNames(ctx context.Context) ([]doctor.Finding, error) {
	return s.taken(ctx, clusterStack(s.plan.Cluster), s.ofCluster())
}

// taken looks which names of a stack something else has already: making it would fail over each. Where the stack is there they are its own.
func (s *Checker) taken(ctx context.Context, name string, all []named) ([]doctor.Finding, error) {
	stack, err := s.stack(ctx, name)
	if err != nil {
		return nil, err
	}
	if made(stack) {
		return one(doctor.OK, "stack "+name+" has them", ""), nil
	}
	var found []doctor.Finding
	var failed error
	for i := range all {
		n := &all[i]
		there, err := n.there(ctx)
		if err != nil {
			failed = fmt.Errorf("check for %s %s: %w", n.kind, n.name, err)
			continue
		}
		if !there {
			continue
		}
		f := doctor.Finding{Level: doctor.Fail, Object: n.kind + " " + n.name, Seen: "it exists, and stack " + name + " does not, which creates one of that name", Do: n.remove}
		if n.remove == "" {
			f.Seen += ": an earlier installation left it"
			f.Do = s.deploy("--import-existing-resources") + " imports it with its data; or delete it: docs/tasks/remove.md, \"Install again\""
		}
		found = append(found, f)
	}
	if len(found) == 0 && failed == nil {
		found = one(doctor.OK, fmt.Sprintf("%d names of stack %s are free", len(all), name), "")
	}
	return found, failed
}

func (s *Checker) queue(name string) named {
	return named{"queue", name, fmt.Sprintf("aws sqs delete-queue --queue-url $(aws sqs get-queue-url --queue-name %s --query QueueUrl --output text), and wait a minute", name),
		func(ctx context.Context) (bool, error) {
			_, err := sqs.NewFromConfig(s.config).GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
			var none *sqstypes.QueueDoesNotExist
			return err == nil, unless(err, errors.As(err, &none))
		}}
}

func (s *Checker) role(name string) named {
	return named{"role", name, "delete it in the IAM console, with its policies and instance profiles", func(ctx context.Context) (bool, error) { return s.hasRole(ctx, name) }}
}

func (s *Checker) hasTable(ctx context.Context, name string) (bool, error) {
	_, err := dynamodb.NewFromConfig(s.config).DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
	var none *dynamotypes.ResourceNotFoundException
	return err == nil, unless(err, errors.As(err, &none))
}

// hasBucket reports whether anybody has a bucket of the name. One that may not be looked at is there.
func (s *Checker) hasBucket(ctx context.Context, name string) (bool, error) {
	client := s3.NewFromConfig(s.config, func(o *s3.Options) { o.UsePathStyle = o.BaseEndpoint != nil })
	_, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name})
	var answer *smithyhttp.ResponseError
	if errors.As(err, &answer) && answer.HTTPStatusCode() == 404 {
		return false, nil
	}
	return err == nil, err
}

func (s *Checker) hasFunction(ctx context.Context, name string) (bool, error) {
	_, err := lambda.NewFromConfig(s.config).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	var none *lambdatypes.ResourceNotFoundException
	return err == nil, unless(err, errors.As(err, &none))
}

func (s *Checker) hasLogs(ctx context.Context, name string) (bool, error) {
	out, err := cloudwatchlogs.NewFromConfig(s.config).DescribeLogGroups(ctx, &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: &name})
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

func (s *Checker) hasParameter(ctx context.Context, name string) (bool, error) {
	_, err := ssm.NewFromConfig(s.config).GetParameter(ctx, &ssm.GetParameterInput{Name: &name})
	var none *ssmtypes.ParameterNotFound
	return err == nil, unless(err, errors.As(err, &none))
}

// hasEntry reports whether a principal has an access entry of the cluster. A cluster that knows none, or that there is none, has none.
func (s *Checker) hasEntry(ctx context.Context, principal string) (bool, error) {
	_, err := ekscontrol.New(eks.NewFromConfig(s.config)).AccessEntryGroups(ctx, s.plan.Cluster, principal)
	return err == nil, absent(err)
}

// absent is nil where an error says that there is no such thing, or that the cluster's mode knows none.
func absent(err error) error {
	var api smithy.APIError
	mode := errors.As(err, &api) && api.ErrorCode() == "InvalidRequestException"
	return unless(err, mode || fault.Is(err, fault.NotFound))
}

// unless is an error, but where something holds.
func unless(err error, holds bool) error {
	if holds {
		return nil
	}
	return err
}

// RegionNames are the names that the region's stack makes and that are looked for.
func (s *Checker) RegionNames() []string { return namesOf(s.ofRegion()) }

// ClusterNames are the same of the cluster's stack. Access entries and Pod Identity associations are called like what they are of, and left out.
func (s *Checker) ClusterNames() []string { return namesOf(s.ofCluster()) }

func namesOf(all []named) []string {
	var out []string
	for i := range all {
		if all[i].kind != "access entry" && all[i].kind != "Pod Identity association" {
			out = append(out, all[i].name)
		}
	}
	return out
}
