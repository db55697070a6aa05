package deploy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	clouddynamodb "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/kms"
	cloudssm "github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloudformation"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

// TestMain is also the function that makes custom resources: the tests deploy their own binary.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(answer)
	}
	os.Exit(m.Run())
}

// answer says what it was told of a custom resource, and fails where it is asked to.
func answer(ctx context.Context, e cfn.Event) error {
	if e.ResponseURL == "" {
		return nil // a tick, or a batch
	}
	r := cfn.NewResponse(&e)
	r.Status, r.PhysicalResourceID = cfn.StatusSuccess, "made"
	r.Data = map[string]any{"Told": fmt.Sprintf("%s %v %v", e.RequestType, e.ResourceProperties["paused"], e.OldResourceProperties["paused"])}
	if e.ResourceProperties["fails"] == "true" {
		r.Status, r.Reason = cfn.StatusFailed, "it was asked to fail"
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	put, err := http.NewRequestWithContext(ctx, http.MethodPut, e.ResponseURL, strings.NewReader(string(text)))
	if err != nil {
		return err
	}
	_, err = http.DefaultClient.Do(put)
	return err
}

// begin returns an account whose functions all are this test's binary.
func begin(t *testing.T) *Account {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	instances, parameters := ec2.New(ec2.Options{Clock: clock.System(), Account: c.Account()}), cloudssm.New(cloudssm.Options{})
	c.Register("dynamodb", clouddynamodb.NewHandler(clouddynamodb.NewModel(clouddynamodb.Options{Account: c.Account(), Region: c.Region()})))
	c.Register("ssm", cloudssm.NewHandler(parameters))
	a := NewAccount(Models{
		Cloud: c, EC2: instances, EKS: eks.New(eks.Options{}), Parameters: parameters,
		Bus:       events.NewBus(events.Config{Account: c.Account(), Region: c.Region()}),
		Schedules: schedule.New(schedule.Config{}),
		Code:      func(string, string) (string, error) { return os.Args[0], nil },
	})
	t.Cleanup(a.Close)
	a.Runtime, err = lambdaruntime.New(lambdaruntime.Config{
		Region: c.Region(), AccountID: c.Account(), EndpointURL: c.Endpoint(), Credentials: a.Credentials, AccountConcurrency: 10, // as new accounts have (A2)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Runtime.Stop)
	t.Cleanup(a.Schedules.Stop)
	return a
}

func committed(t *testing.T, name string) *cloudformation.Template {
	t.Helper()
	text, err := os.ReadFile("../../../../infra/cdk/templates/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := cloudformation.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

func parse(t *testing.T, text string) *cloudformation.Template {
	t.Helper()
	parsed, err := cloudformation.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// The region's stack comes to be as its template says, and the cluster's lets functions, nodes and the watcher in.
func TestTheCommittedTemplatesAreDeployed(t *testing.T) {
	a := begin(t)
	_, err := a.Deploy(t.Context(), committed(t, "region"), cloudformation.Environment{StackName: "joiner"})
	if err != nil {
		t.Fatal(err)
	}
	config := a.Cloud.Config()
	// The table.
	tables := dynamodb.NewFromConfig(config)
	table, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String("joiner")})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Table.GlobalSecondaryIndexes) != 1 || aws.ToBool(table.Table.DeletionProtectionEnabled) {
		t.Errorf("the table is %+v", table.Table)
	}
	life, err := tables.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: aws.String("joiner")})
	if err != nil || aws.ToString(life.TimeToLiveDescription.AttributeName) != "ttl" {
		t.Errorf("items live for %+v, %v", life, err)
	}
	// The bucket.
	objects := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	rules, err := objects.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: aws.String("joiner-123456789012-us-west-2")})
	if err != nil {
		t.Fatal(err)
	}
	days := map[string]int32{}
	for _, rule := range rules.Rules {
		if rule.Expiration != nil {
			days[aws.ToString(rule.Filter.Prefix)] = aws.ToInt32(rule.Expiration.Days)
		}
	}
	if days["decisions/"] != 30 || days["snap/"] != 32 || days["versions/"] != 32 {
		t.Errorf("objects live for %v days", days)
	}
	// A function.
	f, ok := a.Runtime.Function("joiner-disrupt")
	if !ok || f.MemoryMB != 1769 || f.Timeout != 55*time.Second || !f.AllowRecursion || f.Env["JOINER_TABLE"] != "joiner" || !strings.HasSuffix(f.Env["JOINER_QUEUE_URL"], "/123456789012/joiner-plan-CLUSTER.fifo") {
		t.Errorf("%v, the function is %+v", ok, f)
	}
	if got := a.asyncOf("joiner-disrupt"); got.MaxRetries != 0 || got.MaxAge != time.Minute {
		t.Errorf("asynchronous invocations: %+v", got)
	}
	for _, id := range []string{"InterruptionFromInterruption", "InterruptionFromNotices", "CatalogFromCatalog", "DisruptFromDisruption"} {
		if a.Mapping(id) == nil {
			t.Errorf("there is no mapping %s", id)
		}
	}
	// What the command line reads.
	parameter, err := ssm.NewFromConfig(config).GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("/joiner/installation")})
	if err != nil || !json.Valid([]byte(*parameter.Parameter.Value)) || !strings.Contains(*parameter.Parameter.Value, `"table":"joiner"`) {
		t.Errorf("%+v %v", parameter, err)
	}
	if len(a.Rules()) != 6 || len(a.waiting) != 4 {
		t.Errorf("%d rules, %d schedules that wait", len(a.Rules()), len(a.waiting))
	}
	// The cluster.
	a.EKS.AddCluster(eks.Cluster{Name: "joiner-demo"})
	cluster, err := a.Deploy(t.Context(), committed(t, "cluster"), cloudformation.Environment{StackName: "joiner-cluster-joiner-demo"})
	if err != nil {
		t.Fatal(err)
	}
	// Its queue.
	if a.Mapping("ProvisionFromPlan") == nil {
		t.Error("there is no mapping of the plan queue")
	}
	url, err := cluster.Ref("PlanQueue")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := sqs.NewFromConfig(config).GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{"All"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"VisibilityTimeout": "40", "FifoQueue": "true", "MessageRetentionPeriod": "3600"} {
		if queue.Attributes[name] != want {
			t.Errorf("%s of the plan queue is %q, want %q", name, queue.Attributes[name], want)
		}
	}
	if p := queue.Attributes["RedrivePolicy"]; !strings.Contains(p, ":joiner-plan-dead.fifo") || !strings.Contains(p, `"maxReceiveCount":5`) {
		t.Errorf("RedrivePolicy is %s", p)
	}
	role, err := cluster.Attribute("InterruptionRole", "Arn")
	if err != nil {
		t.Fatal(err)
	}
	if _, groups, ok := a.EKS.Lookup("joiner-demo", role); !ok || fmt.Sprint(groups) != "[joiner:interruption]" {
		t.Errorf("%v, groups are %v", ok, groups)
	}
	if got := a.PodRole("joiner-demo", "joiner", "joiner-watcher"); !strings.HasSuffix(got, ":role/joiner-joiner-demo-us-west-2-watcher") {
		t.Errorf("the watcher's role is %s", got)
	}
	if a.PodRole("joiner-demo", "default", "joiner-watcher") != "" {
		t.Error("a pod of another namespace gets the watcher's role")
	}
	for _, use := range a.Cloud.Policies.Denied() {
		t.Error(use)
	}
}

// A rule sends to the queues whose policy lets it, and what it cannot send there goes to its dead-letter queue.
func TestARuleSendsWhereItMay(t *testing.T) {
	a := begin(t)
	text := `{"Resources": {
 "Open": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "open"}},
 "Shut": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "shut"}},
 "Policy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [{"Ref": "Open"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": {"Fn::GetAtt": ["Open", "Arn"]},
   "Condition": {"ArnEquals": {"aws:SourceArn": {"Fn::GetAtt": ["Rule", "Arn"]}}}}]}}},
 "Rule": {"Type": "AWS::Events::Rule", "Properties": {"Name": "ours", "EventPattern": {"source": ["aws.ec2"]}, "Targets": [
  {"Id": "a", "Arn": {"Fn::GetAtt": ["Shut", "Arn"]}, "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Open", "Arn"]}}, "RetryPolicy": {"MaximumRetryAttempts": 0}}]}},
 "Other": {"Type": "AWS::Events::Rule", "Properties": {"Name": "other", "EventPattern": {"source": ["aws.ec2"]}, "Targets": [
  {"Id": "a", "Arn": {"Fn::GetAtt": ["Open", "Arn"]}, "RetryPolicy": {"MaximumRetryAttempts": 0}}]}}
}}`
	if _, err := a.Deploy(t.Context(), parse(t, text), cloudformation.Environment{StackName: "rules"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Bus.PutEvents(t.Context(), events.Entry{Source: "aws.ec2", DetailType: "x", Detail: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	open, _ := a.Cloud.SQS.Depth("open")
	shut, _ := a.Cloud.SQS.Depth("shut")
	if open.Visible != 1 || shut.Visible != 0 {
		t.Errorf("%d events in the queue that is open to one rule, %d in the one that is not; want 1 and 0", open.Visible, shut.Visible)
	}
	if n := len(a.Cloud.Policies.Denied()); n != 2 {
		t.Errorf("%d kinds of calls denied, want 2", n)
	}
}

const customTemplate = `{"Resources": {
 "Role": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "f", "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Principal": {"Service": "SERVICE"}, "Action": "sts:AssumeRole"}]}}},
 "F": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": "f", "Role": {"Fn::GetAtt": ["Role", "Arn"]}, "Runtime": "provided.al2023",
  "Handler": "bootstrap", "Timeout": 20, "MemorySize": 512, "Code": {"S3Bucket": "b", "S3Key": "k"}}},
 "C": {"Type": "Custom::Thing", "Properties": {"ServiceToken": {"Fn::GetAtt": ["F", "Arn"]}, "ServiceTimeout": 30, "paused": true, "fails": FAILS}}
}, "Outputs": {"Told": {"Value": {"Fn::GetAtt": ["C", "Told"]}, "Export": {"Name": "told"}}}}`

// A custom resource is made, changed and taken away by its function, which is told what CloudFormation tells.
func TestACustomResourceIsMadeByItsFunction(t *testing.T) {
	a := begin(t)
	text := strings.NewReplacer("SERVICE", "lambda.amazonaws.com", "FAILS", "false").Replace(customTemplate)
	s, err := a.Deploy(t.Context(), parse(t, text), cloudformation.Environment{StackName: "custom"})
	if err != nil {
		t.Fatal(err)
	}
	if got := a.exports["told"]; got != "Create true <nil>" {
		t.Errorf("it was told %q: numbers and booleans are text, and there is nothing old", got)
	}
	if err := a.Update(t.Context(), s, "C", map[string]any{"paused": false}); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Attribute("C", "Told"); err != nil || got != "Update false true" {
		t.Errorf("it was told %q, %v", got, err)
	}
	if err := a.Update(t.Context(), s, "C", map[string]any{"fails": true}); err == nil || !strings.Contains(err.Error(), "it was asked to fail") {
		t.Errorf("error %v, want the function's reason", err)
	}
	if err := a.Delete(t.Context(), s, "C"); err != nil {
		t.Fatal(err)
	}
}

func TestWhatCannotBeDeployedIsAnError(t *testing.T) {
	custom := func(service, fails string) string {
		return strings.NewReplacer("SERVICE", service, "FAILS", fails).Replace(customTemplate)
	}
	resource := func(kind, properties string) string {
		return `{"Resources": {"X": {"Type": "` + kind + `", "Properties": ` + properties + `}}}`
	}
	for name, c := range map[string]struct{ template, want string }{
		"a type nobody models":              {resource("AWS::SNS::Topic", `{}`), "resource X (AWS::SNS::Topic): resources of this type are not made here"},
		"a property nobody honours":         {resource("AWS::SSM::Parameter", `{"Name": "x", "Type": "String", "Value": "v", "Tier": "Advanced"}`), `unknown field "Tier"`},
		"an attribute SQS does not know":    {resource("AWS::SQS::Queue", `{"QueueName": "x", "Colour": "red"}`), "Colour"},
		"a parameter's pattern":             {resource("AWS::SSM::Parameter", `{"Name": "x", "Type": "String", "Value": "v", "AllowedPattern": "^go$"}`), `Value "v" does not match`},
		"a role Lambda may not take on":     {custom("ec2.amazonaws.com", "false"), "lambda.amazonaws.com cannot take on role"},
		"a custom resource that fails":      {custom("lambda.amazonaws.com", "true"), "it was asked to fail"},
		"a rule that is switched off":       {resource("AWS::Events::Rule", `{"Name": "x", "State": "DISABLED", "EventPattern": {"source": ["a"]}}`), "only rules that are ENABLED"},
		"a rule with another target":        {resource("AWS::Events::Rule", `{"Name": "x", "EventPattern": {"source": ["a"]}, "Targets": [{"Id": "a", "Arn": "arn:aws:sns:r:a:t"}]}`), "only queues are modelled"},
		"a mapping of a function not there": {resource("AWS::Lambda::EventSourceMapping", `{"FunctionName": "none", "EventSourceArn": "arn:aws:sqs:r:a:q"}`), "there is no function none"},
		"an access entry to no cluster":     {resource("AWS::EKS::AccessEntry", `{"ClusterName": "none", "PrincipalArn": "arn:aws:iam::123456789012:role/r"}`), "No cluster found"},
		"a rule by the clock with a queue":  {resource("AWS::Events::Rule", `{"Name": "x", "ScheduleExpression": "rate(1 minute)", "Targets": [{"Id": "a", "Arn": "arn:aws:sqs:r:a:q"}]}`), "only functions are modelled"},
		"a rule by the clock and by events": {resource("AWS::Events::Rule", `{"Name": "x", "ScheduleExpression": "rate(1 minute)", "EventPattern": {"source": ["a"]}}`), "both EventPattern and ScheduleExpression"},
	} {
		t.Run(name, func(t *testing.T) {
			a := begin(t)
			_, err := a.Deploy(t.Context(), parse(t, c.template), cloudformation.Environment{StackName: "bad"})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// A cluster in another account is deployed there and, for what the first account gives it, here: until then its rules' events are not taken
// and its watcher has no rights.
func TestAClusterOfAnotherAccountIsDeployedInBoth(t *testing.T) {
	const foreign = "222222222222"
	a := begin(t)
	if _, err := a.Deploy(t.Context(), committed(t, "region"), cloudformation.Environment{StackName: "joiner"}); err != nil {
		t.Fatal(err)
	}
	bus := events.NewBus(events.Config{Account: foreign, Region: a.Cloud.Region()})
	other := NewAccount(Models{
		Cloud: a.Cloud, Account: foreign, EC2: ec2.New(ec2.Options{Clock: clock.System(), Account: foreign}), EKS: eks.New(eks.Options{Account: foreign}),
		Bus: bus, Schedules: a.Schedules, Buses: map[string]*events.Bus{"arn:aws:events:us-west-2:123456789012:event-bus/default": a.Bus},
	})
	t.Cleanup(other.Close)
	other.EKS.AddCluster(eks.Cluster{Name: "joiner-demo"})
	of := func(name string) *cloudformation.Template {
		text, err := os.ReadFile("../../../../infra/cdk/templates/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		return parse(t, strings.ReplaceAll(string(text), "111111111111", a.Cloud.Account()))
	}
	if _, err := other.Deploy(t.Context(), of("cluster-foreign"), cloudformation.Environment{StackName: "joiner-cluster-joiner-demo"}); err != nil {
		t.Fatal(err)
	}
	warn := func() int {
		warning := events.Entry{Source: "aws.ec2", DetailType: "EC2 Spot Instance Interruption Warning", Detail: json.RawMessage(`{"instance-id":"i-1","instance-action":"terminate"}`)}
		if _, err := bus.PutEvents(t.Context(), warning); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, use := range a.Cloud.Policies.Uses() {
			if use.Action == "sqs:SendMessage" && strings.HasSuffix(use.Resource, ":joiner-notices") && use.Decision.Allowed() {
				n += use.Times
			}
		}
		return n
	}
	if n, role := warn(), other.PodRole("joiner-demo", "joiner", "joiner-watcher"); n != 0 || role != "" {
		t.Errorf("before the first account says so: %d events, the watcher's role is %q", n, role)
	}
	if _, err := a.Deploy(t.Context(), of("cluster-foreign-hub"), cloudformation.Environment{StackName: "joiner-cluster-joiner-demo-hub"}); err != nil {
		t.Fatal(err)
	}
	missing := func() string { // roles and access entries act at once, or seconds later
		if n, role := warn(), other.PodRole("joiner-demo", "joiner", "joiner-watcher"); n == 0 || role != "arn:aws:iam::123456789012:role/joiner-joiner-demo-us-west-2-watcher-hub" {
			return fmt.Sprintf("%d events, the watcher's role is %q", n, role)
		}
		if _, groups, ok := other.EKS.Lookup("joiner-demo", "arn:aws:iam::"+foreign+":role/joiner-joiner-demo-us-west-2-provision"); !ok || fmt.Sprint(groups) != "[joiner:functions]" {
			return fmt.Sprintf("%v, groups are %v", ok, groups)
		}
		return ""
	}
	for deadline := time.Now().Add(2 * time.Minute); missing() != ""; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(missing())
		}
	}
}

// A function goes into subnets and groups that are there, by a role that may put it there.
func TestAFunctionInAVPC(t *testing.T) {
	a := begin(t)
	network := ec2.DefaultNetwork("shop")
	a.EC2 = ec2.New(ec2.Options{Clock: clock.System(), Account: a.Cloud.Account(), Network: &network})
	subnet, group := a.EC2.Subnets()[0].ID, a.EC2.SecurityGroups()[0].ID
	for name, c := range map[string]struct{ may, subnet, group, wrong string }{
		"there":        {"ec2:CreateNetworkInterface", subnet, group, ""},
		"no subnet":    {"ec2:CreateNetworkInterface", "subnet-1", group, "InvalidSubnetID.NotFound"},
		"no group":     {"ec2:CreateNetworkInterface", subnet, "sg-1", "InvalidGroup.NotFound"},
		"no such role": {"ec2:DescribeSubnets", subnet, group, "does not have permissions to call CreateNetworkInterface"},
	} {
		function := "f-" + strings.ReplaceAll(name, " ", "-")
		_, err := a.Deploy(t.Context(), parse(t, fmt.Sprintf(`{"Resources": {
			"R": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": %[1]q, "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}},
				"Policies": [{"PolicyName": "p", "PolicyDocument": {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": %[2]q, "Resource": "*"}}}]}},
			"F": {"Type": "AWS::Lambda::Function", "Properties": {"FunctionName": %[1]q, "Role": {"Fn::GetAtt": ["R", "Arn"]}, "Runtime": "provided.al2023", "Handler": "bootstrap", "MemorySize": 128, "Timeout": 3,
				"Code": {"S3Bucket": "b", "S3Key": "k"}, "VpcConfig": {"SubnetIds": [%[3]q], "SecurityGroupIds": [%[4]q]}}}}}`, function, c.may, c.subnet, c.group)), cloudformation.Environment{StackName: function})
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

// A log group takes a key whose policy lets CloudWatch Logs in for that group.
func TestALogGroupWithAKey(t *testing.T) {
	a := begin(t)
	a.Keys = kms.New(a.Cloud.Region())
	const key = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
	text, err := os.ReadFile("../../../../infra/cdk/key-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	ours := strings.NewReplacer("ACCOUNT", a.Cloud.Account(), "REGION", a.Cloud.Region()).Replace(string(text))
	for name, c := range map[string]struct{ policy, group, wrong string }{
		"ours":          {ours, "/aws/lambda/joiner-catalog", ""},
		"another group": {ours, "/aws/lambda/other", "is not allowed to be used with Arn 'arn:aws:logs:us-west-2:123456789012:log-group:/aws/lambda/other'"},
		"no service":    {`{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::123456789012:root"}, "Action": "kms:*", "Resource": "*"}]}`, "/aws/lambda/joiner-disrupt", "is not allowed to be used"},
		"no key":        {"", "/aws/lambda/joiner-provision", "does not exist"},
	} {
		a.Keys.Put(kms.Key{ARN: key, Policy: c.policy, Disabled: c.policy == ""})
		_, err := a.Deploy(t.Context(), parse(t, fmt.Sprintf(`{"Resources": {"L": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": %q, "KmsKeyId": %q}}}}`, c.group, key)), cloudformation.Environment{StackName: "l"})
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %v, want %q", name, err, c.wrong)
		}
	}
}

// A13: what EventBridge cannot encrypt is lost, with its dead letter: it needs both rights in the policy of the queues' key, and has no key of a
// condition that names who it acts for.
func TestAQueueWithAKeyTakesEventsWhereTheKeyLetsThemIn(t *testing.T) {
	const key = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"
	text, err := os.ReadFile("../../../../infra/cdk/key-policy.json")
	if err != nil {
		t.Fatal(err)
	}
	const lets = `"Principal": {"Service": "events.amazonaws.com"},`
	ours := strings.NewReplacer("ACCOUNT", "123456789012", "REGION", "us-west-2").Replace(string(text))
	template := strings.ReplaceAll(`{"Resources": {
 "Notices": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "notices", "KmsMasterKeyId": "KEY"}},
 "Dead": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "dead", "KmsMasterKeyId": "KEY"}},
 "Policy": {"Type": "AWS::SQS::QueuePolicy", "Properties": {"Queues": [{"Ref": "Notices"}, {"Ref": "Dead"}], "PolicyDocument": {"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage", "Resource": "*"}]}}},
 "Rule": {"Type": "AWS::Events::Rule", "Properties": {"Name": "ours", "EventPattern": {"source": ["aws.ec2"]}, "Targets": [
  {"Id": "a", "Arn": {"Fn::GetAtt": ["Notices", "Arn"]}, "DeadLetterConfig": {"Arn": {"Fn::GetAtt": ["Dead", "Arn"]}}, "RetryPolicy": {"MaximumRetryAttempts": 0}}]}}
}}`, "KEY", key)
	for name, c := range map[string]struct {
		policy string
		want   int
	}{
		"ours":                         {ours, 1},
		"without EventBridge":          {strings.Replace(ours, lets, strings.Replace(lets, "events", "sns", 1), 1), 0},
		"one right of two":             {strings.Replace(ours, `["kms:GenerateDataKey", "kms:Decrypt"]`, `["kms:GenerateDataKey"]`, 1), 0},
		"of the account's rules alone": {strings.Replace(ours, lets, lets+` "Condition": {"StringEquals": {"aws:SourceAccount": "123456789012"}},`, 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if (c.policy == ours) != (c.want == 1) {
				t.Fatal("the policy is as it is committed")
			}
			a := begin(t)
			a.Keys = kms.New(a.Cloud.Region())
			a.Keys.Put(kms.Key{ARN: key, Policy: c.policy})
			if _, err := a.Deploy(t.Context(), parse(t, template), cloudformation.Environment{StackName: "rules"}); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Bus.PutEvents(t.Context(), events.Entry{Source: "aws.ec2", DetailType: "x", Detail: json.RawMessage(`{}`)}); err != nil {
				t.Fatal(err)
			}
			notices, _ := a.Cloud.SQS.Depth("notices")
			dead, _ := a.Cloud.SQS.Depth("dead")
			if notices.Visible != c.want || dead.Visible != 0 {
				t.Errorf("%d events came and %d dead letters, want %d and none", notices.Visible, dead.Visible, c.want)
			}
		})
	}
}

// A bucket is of the account whose stack makes it: who may do everything there reads and writes it, and nobody of another account does.
func TestABucketIsOfItsStacksAccount(t *testing.T) {
	a := begin(t)
	other := NewAccount(Models{Cloud: a.Cloud, Account: "222222222222", EC2: ec2.New(ec2.Options{Clock: clock.System(), Account: "222222222222"})})
	t.Cleanup(other.Close)
	theirs := parse(t, `{"Resources": {"B": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "theirs"}},
		"R": {"Type": "AWS::IAM::Role", "Properties": {"RoleName": "r", "AssumeRolePolicyDocument": {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}}}}}}`)
	if _, err := other.Deploy(t.Context(), theirs, cloudformation.Environment{StackName: "s"}); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Deploy(t.Context(), parse(t, `{"Resources": {"B": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "theirs"}}}}`), cloudformation.Environment{StackName: "s"}); !errors.Is(err, ErrExists) {
		t.Errorf("a bucket of a name that another account has: %v", err)
	}
	client, err := other.s3()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String("theirs"), Key: aws.String("k"), Body: strings.NewReader("x")}); err != nil {
		t.Errorf("its own account: %v", err)
	}
	if client, err = a.s3(); err != nil {
		t.Fatal(err)
	}
	var refused smithy.APIError
	if _, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String("theirs"), Key: aws.String("k")}); !errors.As(err, &refused) || refused.ErrorCode() != "AccessDenied" {
		t.Errorf("another account: %v", err)
	}
}
