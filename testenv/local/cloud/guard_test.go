package cloud_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamo "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"
	awssts "github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"

	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
)

// guarded is a cloud with one role that has policies.
type guarded struct {
	*cloud.Cloud
	ec2    *ec2.Model
	config aws.Config // of the role
}

const guardedRole = "arn:aws:iam::123456789012:role/guarded"

func parsed(t *testing.T, kind policy.Kind, text string) *policy.Document {
	t.Helper()
	d, err := policy.Parse([]byte(text), kind)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func document(statements ...string) string {
	return `{"Version": "2012-10-17", "Statement": [` + strings.Join(statements, ",") + `]}`
}

// startGuarded takes the readings the environment says, of all but delays.
func startGuarded(t *testing.T, statements ...string) guarded {
	t.Helper()
	return guardedAs(t, reading.Strict(reading.Delays()...), statements...)
}

// guardedAs is startGuarded with readings.
func guardedAs(t *testing.T, readings *reading.Set, statements ...string) guarded {
	t.Helper()
	c := start(t, cloud.Options{Latency: func(string, string) time.Duration { return time.Millisecond }, Readings: readings})
	model := ec2.New(ec2.Options{Clock: clock.System(), Readings: readings})
	model.AddInstanceProfile("nodes", "node-role")
	c.Register("ec2", ec2.NewHandler(model))
	c.Register("iam", iam.NewHandler(model))
	c.Register("ssm", ssm.NewHandler(ssm.New(ssm.Options{})))
	c.Register("dynamodb", dynamodb.NewHandler(dynamodb.NewModel(dynamodb.Options{Account: c.Account(), Region: c.Region()})))
	c.Policies.SetRole(guardedRole, access.Role{Identity: []policy.Attached{{Name: "own", Document: parsed(t, policy.Identity, document(statements...))}}})
	return guarded{c, model, sessionOf(t, c, "guarded")}
}

// sessionOf makes a role and returns the configuration of one of its sessions, which tries each call a single time.
func sessionOf(t *testing.T, c *cloud.Cloud, role string) aws.Config {
	t.Helper()
	arn := c.STS.AddRole(sts.Role{Name: role})
	k, err := c.STS.Assume(arn, "session", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	config := c.ConfigFor(k)
	config.RetryMaxAttempts = 1
	return config
}

func allow(sid, action, resource, condition string) string {
	return fmt.Sprintf(`{"Sid": %q, "Effect": "Allow", "Action": [%q], "Resource": [%q], "Condition": {%s}}`, sid, action, resource, condition)
}

// codeOf returns the code of an AWS error, "" for none.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return err.Error()
	}
	return api.ErrorCode()
}

func TestQueuesAreGuarded(t *testing.T) {
	g := startGuarded(t, allow("Send", "sqs:SendMessage", "arn:aws:sqs:us-west-2:123456789012:plan", ""), allow("Take", "sqs:ReceiveMessage", "*", ""))
	owner, client := awssqs.NewFromConfig(g.Config()), awssqs.NewFromConfig(g.config)
	urls := map[string]*string{}
	for _, name := range []string{"plan", "other"} {
		out, err := owner.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name})
		if err != nil {
			t.Fatal(err) // the root has no policies and may do everything
		}
		urls[name] = out.QueueUrl
	}
	send := func(name string) error {
		_, err := client.SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: urls[name], MessageBody: aws.String("x")})
		return err
	}
	if err := send("plan"); err != nil {
		t.Errorf("the queue it may send to: %v", err)
	}
	err := send("other")
	want := "User: arn:aws:sts::123456789012:assumed-role/guarded/session is not authorized to perform: sqs:SendMessage on resource: arn:aws:sqs:us-west-2:123456789012:other because no identity-based policy allows the sqs:SendMessage action"
	if code := codeOf(err); code != "AccessDenied" && code != "AccessDeniedException" || !strings.Contains(err.Error(), want) {
		t.Errorf("another queue: %v", err)
	}
	if _, err := client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: urls["plan"]}); err == nil {
		t.Error("it may delete the queue")
	}
	if denied := g.Policies.Denied(); len(denied) != 2 || denied[0].Principal != guardedRole || denied[1].Action != "sqs:SendMessage" {
		t.Errorf("denied %v", denied)
	}
	if unused := fmt.Sprint(g.Policies.Unused()); unused != "["+guardedRole+": sqs:ReceiveMessage of own/Take]" {
		t.Errorf("unused %s", unused)
	}
	g.Policies.Forget()
	if len(g.Policies.Uses()) != 0 || len(g.Policies.Unused()) != 2 {
		t.Error("it does not forget")
	}
}

func TestQueuePoliciesGuardServices(t *testing.T) {
	c := start(t, cloud.Options{})
	queue, rule := "arn:aws:sqs:us-west-2:123456789012:notices", "arn:aws:events:us-west-2:123456789012:rule/joiner-spot"
	c.Policies.SetResource(queue, "queue", parsed(t, policy.Resource, document(`{"Sid": "Rule", "Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "`+queue+`",
	  "Principal": {"Service": "events.amazonaws.com"}, "Condition": {"ArnEquals": {"aws:SourceArn": "`+rule+`"}, "StringEquals": {"aws:SourceAccount": "123456789012"}}}`)))
	out, err := awssqs.NewFromConfig(c.Config()).CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: aws.String("notices")})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		config aws.Config
		want   bool
	}{
		"our rule":        {c.ConfigForService("events.amazonaws.com", rule), true},
		"another rule":    {c.ConfigForService("events.amazonaws.com", rule+"s"), false},
		"another service": {c.ConfigForService("sns.amazonaws.com", rule), false},
	} {
		c.config.RetryMaxAttempts = 1
		_, err := awssqs.NewFromConfig(c.config).SendMessage(t.Context(), &awssqs.SendMessageInput{QueueUrl: out.QueueUrl, MessageBody: aws.String("x")})
		if (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestItemsAreGuardedByPartitionKey(t *testing.T) {
	table := "arn:aws:dynamodb:us-west-2:123456789012:table/joiner"
	own := `"ForAllValues:StringEquals": {"dynamodb:LeadingKeys": ["C#a"]}`
	g := startGuarded(t, allow("Get", "dynamodb:GetItem", table, own), allow("Put", "dynamodb:PutItem", table, own), allow("Update", "dynamodb:UpdateItem", table, own),
		allow("Query", "dynamodb:Query", table, own), allow("Batch", "dynamodb:BatchGetItem", table, own), allow("Check", "dynamodb:ConditionCheckItem", table, own))
	owner, client := awsdynamo.NewFromConfig(g.Config()), awsdynamo.NewFromConfig(g.config)
	if _, err := owner.CreateTable(t.Context(), &awsdynamo.CreateTableInput{
		TableName: aws.String("joiner"), BillingMode: dynamotypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: "S"}},
		KeySchema:            []dynamotypes.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: "HASH"}},
	}); err != nil {
		t.Fatal(err)
	}
	item := func(key string) map[string]dynamotypes.AttributeValue {
		return map[string]dynamotypes.AttributeValue{"PK": &dynamotypes.AttributeValueMemberS{Value: key}}
	}
	name := aws.String("joiner")
	calls := map[string]func(key string) error{
		"PutItem": func(key string) error {
			_, err := client.PutItem(t.Context(), &awsdynamo.PutItemInput{TableName: name, Item: item(key)})
			return err
		},
		"GetItem": func(key string) error {
			_, err := client.GetItem(t.Context(), &awsdynamo.GetItemInput{TableName: name, Key: item(key)})
			return err
		},
		"Query": func(key string) error {
			_, err := client.Query(t.Context(), &awsdynamo.QueryInput{TableName: name, KeyConditionExpression: aws.String("#k = :k"), ExpressionAttributeNames: map[string]string{"#k": "PK"},
				ExpressionAttributeValues: map[string]dynamotypes.AttributeValue{":k": item(key)["PK"]}})
			return err
		},
		"BatchGetItem": func(key string) error {
			_, err := client.BatchGetItem(t.Context(), &awsdynamo.BatchGetItemInput{RequestItems: map[string]dynamotypes.KeysAndAttributes{"joiner": {Keys: []map[string]dynamotypes.AttributeValue{item("C#a"), item(key + "x")}[:len(key)-2]}}})
			return err
		},
		"TransactWriteItems": func(key string) error {
			_, err := client.TransactWriteItems(t.Context(), &awsdynamo.TransactWriteItemsInput{TransactItems: []dynamotypes.TransactWriteItem{
				{Put: &dynamotypes.Put{TableName: name, Item: item("C#a")}}, {Update: &dynamotypes.Update{TableName: name, Key: item(key + "#"), UpdateExpression: aws.String("SET n = :n"), ExpressionAttributeValues: map[string]dynamotypes.AttributeValue{":n": item("x")["PK"]}}},
			}[:len(key)-2]})
			return err
		},
	}
	for call, f := range calls {
		if err := f("C#a"); err != nil {
			t.Errorf("%s of its own: %v", call, err)
		}
		if code := codeOf(f("C#bb")); code != "AccessDeniedException" {
			t.Errorf("%s of another's: %s", call, code)
		}
	}
	_, err := client.DeleteItem(t.Context(), &awsdynamo.DeleteItemInput{TableName: name, Key: item("C#a")})
	if codeOf(err) != "AccessDeniedException" {
		t.Errorf("DeleteItem: %v", err)
	}
	_, err = client.Scan(t.Context(), &awsdynamo.ScanInput{TableName: name})
	if codeOf(err) != "AccessDeniedException" {
		t.Errorf("Scan: %v", err)
	}
}

func TestObjectsAreGuarded(t *testing.T) {
	bucket := "arn:aws:s3:::joiner"
	g := startGuarded(t, allow("Get", "s3:GetObject", bucket+"/snap/a/*", ""), allow("Put", "s3:PutObject", bucket+"/snap/*", ""),
		allow("List", "s3:ListBucket", bucket, `"StringLike": {"s3:prefix": "snap/*"}`))
	paths := func(o *awss3.Options) { o.UsePathStyle = true }
	owner, client := awss3.NewFromConfig(g.Config(), paths), awss3.NewFromConfig(g.config, paths)
	if _, err := owner.CreateBucket(t.Context(), &awss3.CreateBucketInput{Bucket: aws.String("joiner")}); err != nil && codeOf(err) != "IllegalLocationConstraintException" {
		t.Fatal(err)
	}
	g.S3.CreateBucket("joiner")
	put := func(key, match string) error {
		in := &awss3.PutObjectInput{Bucket: aws.String("joiner"), Key: &key, Body: strings.NewReader("x")}
		if match != "" {
			in.IfMatch = &match
		}
		_, err := client.PutObject(t.Context(), in)
		return err
	}
	get := func(key string) error {
		_, err := client.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: aws.String("joiner"), Key: &key})
		return err
	}
	if err := put("snap/a/1", ""); err != nil {
		t.Error(err)
	}
	if err := put("snap/b/1", ""); err != nil {
		t.Error(err)
	}
	if code := codeOf(put("snap/b/1", "x")); code != "AccessDenied" {
		t.Errorf("a condition on what it may not read: %s", code)
	}
	if code := codeOf(put("decisions/1", "")); code != "AccessDenied" {
		t.Errorf("another prefix: %s", code)
	}
	if err := get("snap/a/1"); err != nil {
		t.Error(err)
	}
	if code := codeOf(get("snap/b/1")); code != "AccessDenied" {
		t.Errorf("another prefix: %s", code)
	}
	before := len(g.Policies.Denied())
	if code := codeOf(get("snap/a/none")); code != "AccessDenied" { // it may list some prefixes, and a get has none
		t.Errorf("what is not there: %s", code)
	}
	if len(g.Policies.Denied()) != before {
		t.Error("what nobody asked for counts as denied")
	}
	if _, err := client.ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: aws.String("joiner"), Prefix: aws.String("snap/a/")}); err != nil {
		t.Error(err)
	}
	if _, err := client.ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: aws.String("joiner")}); codeOf(err) != "AccessDenied" {
		t.Errorf("all of the bucket: %v", err)
	}
}

func TestParametersAreGuarded(t *testing.T) {
	g := startGuarded(t, allow("Read", "ssm:GetParameter", "arn:aws:ssm:us-west-2::parameter/aws/service/*", ""))
	client := awsssm.NewFromConfig(g.config)
	name := "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
	if _, err := client.GetParameter(t.Context(), &awsssm.GetParameterInput{Name: &name}); err != nil {
		t.Error(err)
	}
	if _, err := client.GetParameter(t.Context(), &awsssm.GetParameterInput{Name: aws.String("/joiner/stop")}); codeOf(err) != "AccessDeniedException" {
		t.Errorf("the account's own: %v", err)
	}
}

func TestRolesAreAssumedByTrustAndIdentityPolicies(t *testing.T) {
	target := "arn:aws:iam::123456789012:role/joiner-a-provision"
	g := startGuarded(t, allow("Assume", "sts:AssumeRole", "arn:aws:iam::*:role/joiner-*-provision", ""))
	g.STS.AddRole(sts.Role{Name: "joiner-a-provision"})
	g.STS.AddRole(sts.Role{Name: "joiner-a-disrupt", TrustedARNs: []string{guardedRole}})
	g.Policies.SetRole(target, access.Role{Trust: parsed(t, policy.Trust, document(`{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": "`+guardedRole+`"},
	  "Condition": {"StringEquals": {"sts:ExternalId": "e"}}}`))})
	assume := func(config aws.Config, role, id string) string {
		in := &awssts.AssumeRoleInput{RoleArn: &role, RoleSessionName: aws.String("joiner")}
		if id != "" {
			in.ExternalId = &id
		}
		_, err := awssts.NewFromConfig(config).AssumeRole(t.Context(), in)
		return codeOf(err)
	}
	for name, c := range map[string]struct {
		config   aws.Config
		role, id string
		want     string
	}{
		"trusted, with its id":          {g.config, target, "e", ""},
		"another id":                    {g.config, target, "f", "AccessDenied"},
		"no id":                         {g.config, target, "", "AccessDenied"},
		"somebody else":                 {sessionOf(t, g.Cloud, "other"), target, "e", "AccessDenied"},
		"one its own policies leave it": {g.config, "arn:aws:iam::123456789012:role/joiner-a-disrupt", "", "AccessDenied"},
		"one that is not there":         {g.config, "arn:aws:iam::123456789012:role/joiner-b-provision", "e", "AccessDenied"},
	} {
		if got := assume(c.config, c.role, c.id); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if _, err := awssts.NewFromConfig(g.config).GetCallerIdentity(t.Context(), nil); err != nil {
		t.Errorf("everyone may ask who they are: %v", err)
	}
}

// launchPolicy lets its role launch instances of cluster a and nothing else.
var launchPolicy = []string{
	`{"Sid": "Own", "Effect": "Allow", "Action": ["ec2:CreateFleet", "ec2:RunInstances"], "Resource": ["arn:aws:ec2:*:*:instance/*", "arn:aws:ec2:*:*:fleet/*", "arn:aws:ec2:*:*:volume/*", "arn:aws:ec2:*:*:network-interface/*", "arn:aws:ec2:*:*:spot-instances-request/*"],
	  "Condition": {"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/a": "owned"}}}`,
	`{"Sid": "Into", "Effect": "Allow", "Action": ["ec2:CreateFleet", "ec2:RunInstances"], "Resource": ["arn:aws:ec2:*::image/*", "arn:aws:ec2:*:*:subnet/*", "arn:aws:ec2:*:*:security-group/*"]}`,
	`{"Sid": "From", "Effect": "Allow", "Action": ["ec2:CreateFleet", "ec2:RunInstances"], "Resource": ["arn:aws:ec2:*:*:launch-template/*"], "Condition": {"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/a": "owned"}}}`,
	`{"Sid": "Template", "Effect": "Allow", "Action": "ec2:CreateLaunchTemplate", "Resource": "arn:aws:ec2:*:*:launch-template/*", "Condition": {"StringEquals": {"aws:RequestTag/kubernetes.io/cluster/a": "owned"}}}`,
	`{"Sid": "Tag", "Effect": "Allow", "Action": "ec2:CreateTags", "Resource": "*", "Condition": {"StringEquals": {"ec2:CreateAction": ["RunInstances", "CreateFleet", "CreateLaunchTemplate"], "aws:RequestTag/kubernetes.io/cluster/a": "owned"}}}`,
	`{"Sid": "Pass", "Effect": "Allow", "Action": "iam:PassRole", "Resource": "arn:aws:iam::123456789012:role/node-role", "Condition": {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}}`,
	`{"Sid": "IMDS", "Effect": "Deny", "Action": "ec2:RunInstances", "Resource": "arn:aws:ec2:*:*:instance/*", "Condition": {"StringNotEquals": {"ec2:MetadataHttpTokens": "required"}}}`,
}

func clusterTags(cluster string, kinds ...ec2types.ResourceType) []ec2types.TagSpecification {
	var out []ec2types.TagSpecification
	for _, kind := range kinds {
		out = append(out, ec2types.TagSpecification{ResourceType: kind, Tags: []ec2types.Tag{{Key: aws.String("kubernetes.io/cluster/" + cluster), Value: aws.String("owned")}}})
	}
	return out
}

// template makes a launch template with root's rights, tagged for a cluster.
func (g guarded) template(t *testing.T, name, cluster string, change func(*ec2types.RequestLaunchTemplateData)) {
	t.Helper()
	data := g.data(cluster)
	if change != nil {
		change(data)
	}
	_, err := awsec2.NewFromConfig(g.Config()).CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{LaunchTemplateName: &name, LaunchTemplateData: data, TagSpecifications: clusterTags(cluster, "launch-template")})
	if err != nil {
		t.Fatal(err)
	}
}

func (g guarded) data(cluster string) *ec2types.RequestLaunchTemplateData {
	data := &ec2types.RequestLaunchTemplateData{
		ImageId: aws.String(image()), IamInstanceProfile: &ec2types.LaunchTemplateIamInstanceProfileSpecificationRequest{Name: aws.String("nodes")},
		MetadataOptions:   &ec2types.LaunchTemplateInstanceMetadataOptionsRequest{HttpTokens: "required"},
		SecurityGroupIds:  []string{g.ec2.SecurityGroups()[0].ID},
		TagSpecifications: nil,
	}
	for _, s := range clusterTags(cluster, "network-interface") {
		data.TagSpecifications = append(data.TagSpecifications, ec2types.LaunchTemplateTagSpecificationRequest{ResourceType: s.ResourceType, Tags: s.Tags})
	}
	return data
}

func image() string {
	for _, p := range catalog.Parameters() {
		if p.Name == "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id" {
			return p.Value
		}
	}
	panic("no image")
}

// fleet launches one instance and returns the code of the error, of the call or of its override.
func (g guarded) fleet(t *testing.T, template, cluster string, spot bool) string {
	t.Helper()
	kinds := []ec2types.ResourceType{"fleet", "instance", "volume"}
	capacity := ec2types.DefaultTargetCapacityTypeOnDemand
	if spot {
		kinds, capacity = append(kinds, "spot-instances-request"), ec2types.DefaultTargetCapacityTypeSpot
	}
	out, err := awsec2.NewFromConfig(g.config).CreateFleet(t.Context(), &awsec2.CreateFleetInput{
		Type: ec2types.FleetTypeInstant, TagSpecifications: clusterTags(cluster, kinds...),
		TargetCapacitySpecification: &ec2types.TargetCapacitySpecificationRequest{TotalTargetCapacity: aws.Int32(1), DefaultTargetCapacityType: capacity},
		LaunchTemplateConfigs: []ec2types.FleetLaunchTemplateConfigRequest{{
			LaunchTemplateSpecification: &ec2types.FleetLaunchTemplateSpecificationRequest{LaunchTemplateName: &template, Version: aws.String("$Latest")},
			Overrides:                   []ec2types.FleetLaunchTemplateOverridesRequest{{InstanceType: "m5.large", SubnetId: aws.String(g.ec2.Subnets()[0].ID)}},
		}},
	})
	if err != nil {
		return codeOf(err)
	}
	for _, e := range out.Errors {
		return "override: " + aws.ToString(e.ErrorCode)
	}
	return ""
}

func TestLaunchesAreGuarded(t *testing.T) {
	g := guardedAs(t, reading.Strict(append(reading.Delays(), reading.CreateFleetResources)...), launchPolicy...)
	g.ec2.AddInstanceProfile("admins", "admin-role")
	g.template(t, "own", "a", nil)
	g.template(t, "theirs", "b", nil)
	g.template(t, "admin", "a", func(d *ec2types.RequestLaunchTemplateData) { d.IamInstanceProfile.Name = aws.String("admins") })
	g.template(t, "imds", "a", func(d *ec2types.RequestLaunchTemplateData) { d.MetadataOptions.HttpTokens = "optional" })
	g.template(t, "bare", "a", func(d *ec2types.RequestLaunchTemplateData) { d.TagSpecifications = nil })
	for name, c := range map[string]struct {
		template, cluster string
		spot              bool
		want              string
	}{
		"on demand":                      {"own", "a", false, ""},
		"spot":                           {"own", "a", true, ""},
		"tags of another cluster":        {"own", "b", false, "UnauthorizedOperation"},
		"another cluster's template":     {"theirs", "a", false, "UnauthorizedOperation"},
		"a role that may not be passed":  {"admin", "a", false, "override: UnauthorizedOperation"},
		"machines without IMDSv2":        {"imds", "a", false, "override: UnauthorizedOperation"},
		"network interfaces without tag": {"bare", "a", false, "override: UnauthorizedOperation"},
	} {
		if got := g.fleet(t, c.template, c.cluster, c.spot); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	if n := len(g.ec2.Launches()); n != 2 {
		t.Errorf("%d machines were launched, want 2", n)
	}
	_, err := awsec2.NewFromConfig(g.config).CreateLaunchTemplate(t.Context(), &awsec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("made"), LaunchTemplateData: g.data("a"), TagSpecifications: clusterTags("a", "launch-template")})
	if err != nil {
		t.Errorf("a template of its own: %v", err)
	}
	if unused := g.Policies.Unused(); len(unused) != 0 {
		t.Errorf("unused: %v", unused)
	}
}

// dryRun tries to run an instance of the template "own" for a cluster, and returns the code of the answer. Of what the template says it
// repeats the tags of some kinds and, where tokens is not "", the metadata options.
func (g guarded) dryRun(t *testing.T, cluster, tokens string, kinds ...ec2types.ResourceType) string {
	t.Helper()
	in := &awsec2.RunInstancesInput{
		DryRun: aws.Bool(true), MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", SubnetId: aws.String(g.ec2.Subnets()[0].ID),
		LaunchTemplate: &ec2types.LaunchTemplateSpecification{LaunchTemplateName: aws.String("own"), Version: aws.String("$Latest")}, TagSpecifications: clusterTags(cluster, kinds...),
	}
	if tokens != "" {
		in.MetadataOptions = &ec2types.InstanceMetadataOptionsRequest{HttpTokens: ec2types.HttpTokensState(tokens)}
	}
	_, err := awsec2.NewFromConfig(g.config).RunInstances(t.Context(), in)
	return codeOf(err)
}

func TestDryRunsAreGuardedLikeRuns(t *testing.T) {
	g := startGuarded(t, launchPolicy...)
	g.template(t, "own", "a", nil)
	if got := g.dryRun(t, "a", "required", "instance", "volume", "network-interface"); got != "DryRunOperation" {
		t.Errorf("its own: %s", got)
	}
	if got := g.dryRun(t, "b", "required", "instance", "volume", "network-interface"); got != "UnauthorizedOperation" {
		t.Errorf("another's: %s", got)
	}
	if got := g.dryRun(t, "a", "optional", "instance", "volume", "network-interface"); got != "UnauthorizedOperation" {
		t.Errorf("without IMDSv2: %s", got)
	}
}

func TestInstancesAreEndedByTheirTags(t *testing.T) {
	g := startGuarded(t, allow("End", "ec2:TerminateInstances", "arn:aws:ec2:*:*:instance/*", `"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/a": "owned"}`),
		allow("Describe", "ec2:DescribeInstances", "*", `"StringEquals": {"aws:RequestedRegion": "us-west-2"}`),
		allow("Name", "ec2:CreateTags", "arn:aws:ec2:*:*:instance/*", `"StringEquals": {"aws:ResourceTag/kubernetes.io/cluster/a": "owned"}, "ForAllValues:StringEquals": {"aws:TagKeys": ["Name"]}`))
	owner, client := awsec2.NewFromConfig(g.Config()), awsec2.NewFromConfig(g.config)
	ids := map[string]string{}
	for _, cluster := range []string{"a", "b"} {
		out, err := owner.RunInstances(t.Context(), &awsec2.RunInstancesInput{MinCount: aws.Int32(1), MaxCount: aws.Int32(1), InstanceType: "m5.large", ImageId: aws.String(image()), SubnetId: aws.String(g.ec2.Subnets()[0].ID), TagSpecifications: clusterTags(cluster, "instance")})
		if err != nil {
			t.Fatal(err)
		}
		ids[cluster] = *out.Instances[0].InstanceId
	}
	tag := func(id, key string) error {
		_, err := client.CreateTags(t.Context(), &awsec2.CreateTagsInput{Resources: []string{id}, Tags: []ec2types.Tag{{Key: &key, Value: aws.String("x")}}})
		return err
	}
	deadline := time.Now().Add(30 * time.Second)
	for tag(ids["a"], "Name") != nil && time.Now().Before(deadline) { // until it can be seen
		time.Sleep(100 * time.Millisecond)
	}
	if code := codeOf(tag(ids["a"], "kubernetes.io/cluster/b")); code != "UnauthorizedOperation" {
		t.Errorf("another tag: %s", code)
	}
	if code := codeOf(tag(ids["b"], "Name")); code != "UnauthorizedOperation" {
		t.Errorf("another's machine: %s", code)
	}
	if _, err := client.DescribeInstances(t.Context(), nil); err != nil {
		t.Error(err)
	}
	end := func(ids ...string) error {
		_, err := client.TerminateInstances(t.Context(), &awsec2.TerminateInstancesInput{InstanceIds: ids})
		return err
	}
	if code := codeOf(end(ids["a"], ids["b"])); code != "UnauthorizedOperation" {
		t.Errorf("another's together with its own: %s", code)
	}
	if err := end(ids["a"]); err != nil {
		t.Errorf("its own: %v", err)
	}
	denied := g.Policies.Denied()
	if !slices.ContainsFunc(denied, func(u access.Use) bool {
		return u.Action == "ec2:TerminateInstances" && strings.HasSuffix(u.Resource, ids["b"])
	}) {
		t.Errorf("denied: %v", denied)
	}
}

// The statements are those of AWS's own policy for the EBS CSI driver, in short.
func TestVolumesAreGuardedByTheirTags(t *testing.T) {
	g := startGuarded(t,
		allow("Make", "ec2:CreateVolume", "arn:aws:ec2:*:*:volume/*", `"StringEquals": {"aws:RequestTag/ebs.csi.aws.com/cluster": "true"}, "NumericLessThanEquals": {"ec2:VolumeSize": "10"}`),
		allow("Tag", "ec2:CreateTags", "arn:aws:ec2:*:*:volume/*", `"StringEquals": {"ec2:CreateAction": "CreateVolume"}`),
		allow("Attach", "ec2:AttachVolume", "arn:aws:ec2:*:*:volume/*", `"StringEquals": {"aws:ResourceTag/ebs.csi.aws.com/cluster": "true"}`),
		allow("Detach", "ec2:DetachVolume", "arn:aws:ec2:*:*:*", `"StringEquals": {"aws:ResourceTag/ebs.csi.aws.com/cluster": "true"}`),
		allow("Delete", "ec2:DeleteVolume", "arn:aws:ec2:*:*:volume/*", `"StringEquals": {"aws:ResourceTag/ebs.csi.aws.com/cluster": "true"}`))
	owner, client := awsec2.NewFromConfig(g.Config()), awsec2.NewFromConfig(g.config)
	volume := func(by *awsec2.Client, key string, size int32) (string, error) {
		out, err := by.CreateVolume(t.Context(), &awsec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a"), Size: &size, TagSpecifications: []ec2types.TagSpecification{
			{ResourceType: "volume", Tags: []ec2types.Tag{{Key: &key, Value: aws.String("true")}}},
		}})
		if err != nil {
			return "", err
		}
		return *out.VolumeId, nil
	}
	const key = "ebs.csi.aws.com/cluster"
	own, err := volume(client, key, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := volume(client, "other", 10); codeOf(err) != "UnauthorizedOperation" {
		t.Errorf("a volume without its tag: %v", err)
	}
	if _, err := volume(client, key, 11); codeOf(err) != "UnauthorizedOperation" {
		t.Errorf("a larger volume: %v", err)
	}
	foreign, err := volume(owner, "other", 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.DeleteVolume(t.Context(), &awsec2.DeleteVolumeInput{VolumeId: &foreign}); codeOf(err) != "UnauthorizedOperation" {
		t.Errorf("another's volume: %v", err)
	}
	instance := aws.String("i-00000000000000000")
	_, err = client.AttachVolume(t.Context(), &awsec2.AttachVolumeInput{VolumeId: &own, InstanceId: instance, Device: aws.String("/dev/xvdaa")})
	if codeOf(err) != "UnauthorizedOperation" || !strings.Contains(err.Error(), "instance/"+*instance) {
		t.Errorf("to an instance that no statement names: %v", err)
	}
	_, err = client.DetachVolume(t.Context(), &awsec2.DetachVolumeInput{VolumeId: &own})
	if codeOf(err) != "UnauthorizedOperation" {
		t.Errorf("from any instance: %v", err)
	}
	if _, err := client.DeleteVolume(t.Context(), &awsec2.DeleteVolumeInput{VolumeId: &own}); err != nil {
		t.Errorf("its own volume: %v", err)
	}
}

func TestProfilesAreGuarded(t *testing.T) {
	own := "arn:aws:iam::123456789012:instance-profile/karpenter/a/*"
	g := guardedAs(t, reading.Strict(append(reading.Delays(), reading.MissingProfile)...), allow("Make", "iam:CreateInstanceProfile", own, `"StringEquals": {"aws:RequestTag/cluster": "a"}`),
		allow("Tag", "iam:TagInstanceProfile", own, `"StringEquals": {"aws:RequestTag/cluster": "a", "aws:ResourceTag/cluster": "a"}`),
		allow("Add", "iam:AddRoleToInstanceProfile", own, `"StringEquals": {"aws:ResourceTag/cluster": "a"}`), allow("Get", "iam:GetInstanceProfile", own, ""),
		allow("Pass", "iam:PassRole", "arn:aws:iam::123456789012:role/node-role", ""), allow("List", "iam:ListInstanceProfiles", own, ""))
	client := awsiam.NewFromConfig(g.config)
	make := func(name, path, cluster string) error {
		_, err := client.CreateInstanceProfile(t.Context(), &awsiam.CreateInstanceProfileInput{InstanceProfileName: &name, Path: &path, Tags: []iamtypes.Tag{{Key: aws.String("cluster"), Value: &cluster}}})
		return err
	}
	add := func(name, role string) error {
		_, err := client.AddRoleToInstanceProfile(t.Context(), &awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &role})
		return err
	}
	if err := make("p", "/karpenter/a/", "a"); err != nil {
		t.Error(err)
	}
	if uses := fmt.Sprint(g.Policies.Unused()); strings.Contains(uses, "TagInstanceProfile") {
		t.Error("making a profile with tags did not ask for tagging it")
	}
	if code := codeOf(make("q", "/karpenter/b/", "a")); code != "AccessDenied" {
		t.Errorf("another path: %s", code)
	}
	if code := codeOf(make("q", "/karpenter/a/", "b")); code != "AccessDenied" {
		t.Errorf("another tag: %s", code)
	}
	g.ec2.AddInstanceProfile("admins", "admin-role")
	if code := codeOf(add("p", "admin-role")); code != "AccessDenied" {
		t.Errorf("a role that may not be passed: %s", code)
	}
	if err := add("p", "node-role"); err != nil {
		t.Error(err)
	}
	if _, err := client.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: aws.String("p")}); err != nil {
		t.Error(err)
	}
	_, err := client.GetInstanceProfile(t.Context(), &awsiam.GetInstanceProfileInput{InstanceProfileName: aws.String("none")})
	if codeOf(err) != "AccessDenied" { // of what is not there IAM does not know the path
		t.Errorf("a profile that is not there: %v", err)
	}
	if _, err := client.ListInstanceProfiles(t.Context(), &awsiam.ListInstanceProfilesInput{PathPrefix: aws.String("/karpenter/a/")}); err != nil {
		t.Error(err)
	}
	if _, err := client.ListInstanceProfiles(t.Context(), nil); codeOf(err) != "AccessDenied" {
		t.Errorf("all profiles: %v", err)
	}
}

// TestWhatIsNotKnownIsRefused: a role with policies cannot do what the front door cannot evaluate.
func TestWhatIsNotKnownIsRefused(t *testing.T) {
	g := startGuarded(t, allow("All", "*", "*", ""))
	_, err := awsdynamo.NewFromConfig(g.config).TagResource(t.Context(), &awsdynamo.TagResourceInput{ResourceArn: aws.String("arn:aws:dynamodb:us-west-2:123456789012:table/x"), Tags: []dynamotypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}}})
	if codeOf(err) != "NotImplemented" {
		t.Errorf("got %v", err)
	}
}
