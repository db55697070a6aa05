package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"
)

// What is committed is what the source says.
func TestTemplatesAreCommitted(t *testing.T) {
	for file, text := range synthesised(t).templates {
		committed, err := os.ReadFile(filepath.Join("templates", file+".json"))
		if err != nil {
			t.Errorf("%v; run `make templates`", err)
			continue
		}
		if !bytes.Equal(committed, text) {
			t.Errorf("templates/%s.json is not what the source makes, from line %d on; run `make templates` and commit", file, firstDifference(committed, text))
		}
	}
	files, err := filepath.Glob("templates/*.json")
	if err != nil || len(files) != len(variants()) {
		t.Errorf("templates holds %d files for %d variants: %v", len(files), len(variants()), err)
	}
}

func firstDifference(a, b []byte) int {
	one, two := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range one {
		if i >= len(two) || !bytes.Equal(one[i], two[i]) {
			return i + 1
		}
	}
	return len(one) + 1
}

// Synthesizing again, in another app with other zips of the same name, gives the same bytes.
func TestSynthesisTwiceIsTheSame(t *testing.T) {
	again, err := synthesise(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for file, text := range synthesised(t).templates {
		if !bytes.Equal(text, again.templates[file]) {
			t.Errorf("%s differs from line %d on", file, firstDifference(text, again.templates[file]))
		}
	}
}

// stackJSON is a template as far as tests look at it.
type stackJSON struct {
	Resources map[string]resourceJSON
	Outputs   map[string]any
}

type resourceJSON struct {
	Type                string
	Properties          map[string]any
	DeletionPolicy      string
	UpdateReplacePolicy string
	DependsOn           []string
}

func parsed(t *testing.T, file string) stackJSON {
	t.Helper()
	var out stackJSON
	if err := json.Unmarshal(synthesised(t).templates[file], &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// value reads JSON of a test.
func value(t *testing.T, text string) any {
	t.Helper()
	var out any
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// missing says what of want is not in got: objects may have more fields than wanted, and lists must be the same.
func missing(want, got any, at string) []string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v", at, got)}
		}
		var out []string
		for _, key := range slices.Sorted(maps.Keys(want)) {
			out = append(out, missing(want[key], object[key], at+"."+key)...)
		}
		return out
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
		}
		var out []string
		for i := range want {
			out = append(out, missing(want[i], items[i], fmt.Sprintf("%s[%d]", at, i))...)
		}
		return out
	}
	if want != got {
		return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
	}
	return nil
}

// wanted is a type and properties of a resource.
type wanted struct{ kind, properties string }

// expect holds every resource of a template against what is wanted of it. None may be left out.
func expect(t *testing.T, file string, all map[string]wanted) {
	t.Helper()
	resources := parsed(t, file).Resources
	for id, w := range all {
		got, ok := resources[id]
		if !ok {
			t.Errorf("%s has no resource %s", file, id)
			continue
		}
		if got.Type != w.kind {
			t.Errorf("%s.%s is a %s, not a %s", file, id, got.Type, w.kind)
		}
		for _, problem := range missing(value(t, w.properties), any(got.Properties), id) {
			t.Errorf("%s: %s", file, problem)
		}
	}
	for id := range resources {
		if _, ok := all[id]; !ok {
			t.Errorf("%s: no test says what resource %s is to be", file, id)
		}
	}
}

func ref(id string) string           { return fmt.Sprintf(`{"Ref": %q}`, id) }
func attribute(id, of string) string { return fmt.Sprintf(`{"Fn::GetAtt": [%q, %q]}`, id, of) }
func filled(text string) string      { return fmt.Sprintf(`{"Fn::Sub": %q}`, text) }

const tlsOnly = `{"Sid": "OverTLSOnly", "Effect": "Deny", "Principal": {"AWS": "*"}, "Condition": {"Bool": {"aws:SecureTransport": "false"}}}`

func regionWanted() map[string]wanted {
	all := map[string]wanted{
		"Table": {"AWS::DynamoDB::Table", `{"TableName": "joiner", "BillingMode": "PAY_PER_REQUEST", "DeletionProtectionEnabled": false,
			"KeySchema": [{"AttributeName": "PK", "KeyType": "HASH"}, {"AttributeName": "SK", "KeyType": "RANGE"}],
			"GlobalSecondaryIndexes": [{"IndexName": "byInstance", "KeySchema": [{"AttributeName": "instanceId", "KeyType": "HASH"}], "Projection": {"ProjectionType": "KEYS_ONLY"}}],
			"TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": true}, "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": true}}`},
		"Bucket": {"AWS::S3::Bucket", `{"BucketName": {"Fn::Sub": "joiner-${AWS::AccountId}-${AWS::Region}"},
			"BucketEncryption": {"ServerSideEncryptionConfiguration": [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}]},
			"LifecycleConfiguration": {"Rules": [{"Prefix": "snap/", "ExpirationInDays": 32, "Status": "Enabled"}, {"Prefix": "versions/", "ExpirationInDays": 32, "Status": "Enabled"},
				{"Prefix": "decisions/", "ExpirationInDays": 30, "Status": "Enabled"}, {"Prefix": "removals/", "ExpirationInDays": 30, "Status": "Enabled"},
				{"Prefix": "shadow/", "ExpirationInDays": 30, "Status": "Enabled"},
				{"Prefix": "relay/", "ExpirationInDays": 1, "Status": "Enabled"}, {"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}}]},
			"OwnershipControls": {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]},
			"PublicAccessBlockConfiguration": {"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true}}`},
		"BucketPolicy": {"AWS::S3::BucketPolicy", `{"Bucket": {"Ref": "Bucket"}, "PolicyDocument": {"Statement": [` + tlsOnly + `]}}`},
		"Stop":         {"AWS::SSM::Parameter", `{"Name": "/joiner/stop", "Type": "String", "Value": "go", "AllowedPattern": "^(go|disruption|everything)$"}`},
		"Installation": {"AWS::SSM::Parameter", `{"Name": "/joiner/installation", "Type": "String"}`},
		"TickRule": {"AWS::Events::Rule", `{"Name": "joiner-tick", "State": "ENABLED", "ScheduleExpression": "rate(1 minute)", "Targets": [` +
			tickTarget("Provision") + `, ` + tickTarget("Interruption") + `, ` + tickTarget("Catalog") + `, ` + tickTarget("Disrupt") + `]}`},
		"CapacityDashboard": {"AWS::CloudWatch::Dashboard", `{"DashboardName": ` + filled("Joiner-Capacity-${AWS::Region}") + `}`},
		"HealthDashboard":   {"AWS::CloudWatch::Dashboard", `{"DashboardName": ` + filled("Joiner-Health-${AWS::Region}") + `}`},
	}
	for id, q := range map[string]struct {
		name       string
		visibility int
		fifo       bool
	}{
		"Catalog": {"joiner-catalog", 130, false}, "Interruption": {"joiner-interruption", 40, false},
		"Disruption": {"joiner-disruption", 65, false}, "Notices": {"joiner-notices", 40, false},
	} {
		suffix, fifo := "", ""
		if q.fifo {
			suffix, fifo = ".fifo", `"FifoQueue": true, `
		}
		all[id+"Queue"] = wanted{"AWS::SQS::Queue", fmt.Sprintf(`{"QueueName": %q, %s"VisibilityTimeout": %d, "SqsManagedSseEnabled": true,
			"RedrivePolicy": {"maxReceiveCount": 5, "deadLetterTargetArn": %s}}`, q.name+suffix, fifo, q.visibility, attribute(id+"DeadQueue", "Arn"))}
		all[id+"DeadQueue"] = wanted{"AWS::SQS::Queue", fmt.Sprintf(`{"QueueName": %q, %s"MessageRetentionPeriod": 1209600, "SqsManagedSseEnabled": true}`, q.name+"-dead"+suffix, fifo)}
		for _, each := range []string{id, id + "Dead"} {
			statements := tlsOnly
			if id == "Notices" {
				statements += `, {"Sid": "EventsOfOurRules", "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": ["sqs:SendMessage"],
					"Condition": {"StringEquals": {"aws:SourceAccount": {"Fn::Sub": "${AWS::AccountId}"}}, "ArnEquals": {"aws:SourceArn": [` +
					strings.Join([]string{attribute("SpotRule", "Arn"), attribute("RebalanceRule", "Arn"), attribute("ReservationRule", "Arn"), attribute("StateRule", "Arn"), attribute("HealthRule", "Arn"), attribute("ShiftRule", "Arn")}, ", ") + `]}}}`
			}
			all[each+"QueuePolicy"] = wanted{"AWS::SQS::QueuePolicy", fmt.Sprintf(`{"Queues": [%s], "PolicyDocument": {"Statement": [%s]}}`, ref(each+"Queue"), statements)}
		}
	}
	all["PlanDeadQueue"] = wanted{"AWS::SQS::Queue", `{"QueueName": "joiner-plan-dead.fifo", "FifoQueue": true, "MessageRetentionPeriod": 1209600, "SqsManagedSseEnabled": true}`}
	all["PlanDeadQueuePolicy"] = wanted{"AWS::SQS::QueuePolicy", fmt.Sprintf(`{"Queues": [%s], "PolicyDocument": {"Statement": [%s]}}`, ref("PlanDeadQueue"), tlsOnly)}
	for id, f := range map[string]struct {
		name            string
		memory, timeout int
		sources         map[string]int // with how many batches at once; 0 = no bound
	}{
		"Provision":    {"joiner-provision", 1769, 30, nil}, // by the stacks of clusters
		"Interruption": {"joiner-interruption", 884, 30, map[string]int{"Interruption": 0, "Notices": 0}},
		"Catalog":      {"joiner-catalog", 1024, 120, map[string]int{"Catalog": 0}},
		"Disrupt":      {"joiner-disrupt", 1769, 55, map[string]int{"Disruption": 0}},
	} {
		all[id] = wanted{"AWS::Lambda::Function", fmt.Sprintf(`{"FunctionName": %q, "Runtime": "provided.al2023", "Handler": "bootstrap", "Architectures": ["arm64"],
			"MemorySize": %d, "Timeout": %d, "RecursiveLoop": "Allow", "Role": %s,
			"LoggingConfig": {"LogGroup": %s}, "Code": {"S3Key": "ASSET-%s-arm64"}}`, f.name, f.memory, f.timeout, attribute(id+"Role", "Arn"), ref(id+"Logs"), f.name)}
		all[id+"Logs"] = wanted{"AWS::Logs::LogGroup", fmt.Sprintf(`{"LogGroupName": "/aws/lambda/%s", "RetentionInDays": 14}`, f.name)}
		all[id+"Invoke"] = wanted{"AWS::Lambda::EventInvokeConfig", fmt.Sprintf(`{"FunctionName": %s, "Qualifier": "$LATEST", "MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 0}`, ref(id))}
		all[id+"Role"] = wanted{"AWS::IAM::Role", fmt.Sprintf(`{"RoleName": {"Fn::Sub": "%s-${AWS::Region}"}, "AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}]}}`, f.name)}
		all[id+"Ticks"] = wanted{"AWS::Lambda::Permission", fmt.Sprintf(`{"Action": "lambda:InvokeFunction", "FunctionName": %s, "Principal": "events.amazonaws.com",
			"SourceAccount": {"Fn::Sub": "${AWS::AccountId}"}, "SourceArn": %s}`, attribute(id, "Arn"), attribute("TickRule", "Arn"))}
		for queue, most := range f.sources {
			bound := ""
			if most > 0 {
				bound = fmt.Sprintf(`, "ScalingConfig": {"MaximumConcurrency": %d}`, most)
			}
			all[id+"From"+queue] = wanted{"AWS::Lambda::EventSourceMapping", fmt.Sprintf(`{"FunctionName": %s, "EventSourceArn": %s, "BatchSize": 10, "Enabled": true,
				"FunctionResponseTypes": ["ReportBatchItemFailures"]%s}`, ref(id), attribute(queue+"Queue", "Arn"), bound)}
		}
	}
	for id, r := range map[string][3]string{
		"SpotRule":        {"joiner-spot", "aws.ec2", "EC2 Spot Instance Interruption Warning"},
		"RebalanceRule":   {"joiner-rebalance", "aws.ec2", "EC2 Instance Rebalance Recommendation"},
		"ReservationRule": {"joiner-reservation", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"},
		"StateRule":       {"joiner-state", "aws.ec2", "EC2 Instance State-change Notification"},
		"HealthRule":      {"joiner-health", "aws.health", "AWS Health Event"},
	} {
		detail := map[string]string{
			"StateRule":  `, "detail": {"state": ["stopping", "stopped", "shutting-down", "terminated"]}`,
			"HealthRule": `, "detail": {"service": ["EC2"], "eventTypeCategory": ["scheduledChange"]}`,
		}[id]
		all[id] = wanted{"AWS::Events::Rule", fmt.Sprintf(`{"Name": %q, "State": "ENABLED", "EventPattern": {"source": [%q], "detail-type": [%q]%s},
			"Targets": [{"Arn": %s, "RetryPolicy": {"MaximumEventAgeInSeconds": 300}, "DeadLetterConfig": {"Arn": %s}}]}`,
			r[0], r[1], r[2], detail, attribute("NoticesQueue", "Arn"), attribute("NoticesDeadQueue", "Arn"))}
	}
	all["ShiftRule"] = wanted{"AWS::Events::Rule", fmt.Sprintf(`{"Name": "joiner-shift", "State": "ENABLED", "EventPattern": {"source": ["aws.arc-zonal-shift"]},
		"Targets": [{"Arn": %s, "RetryPolicy": {"MaximumEventAgeInSeconds": 300}, "DeadLetterConfig": {"Arn": %s}}]}`,
		attribute("NoticesQueue", "Arn"), attribute("NoticesDeadQueue", "Arn"))}
	for id, a := range alarmsWanted {
		all[id] = wanted{"AWS::CloudWatch::Alarm", a}
	}
	return all
}

// tickTarget is how the rule of each minute invokes a function.
func tickTarget(id string) string {
	return fmt.Sprintf(`{"Arn": %s, "InputTransformer": {"InputPathsMap": {"time": "$.time"}, "InputTemplate": "{\"sweep\":<time>}"},
		"RetryPolicy": {"MaximumEventAgeInSeconds": 60, "MaximumRetryAttempts": 1}}`, attribute(id, "Arn"))
}

const (
	lasting  = `"DatapointsToAlarm": 3, "EvaluationPeriods": 5, "TreatMissingData": "notBreaching"`
	atOnce   = `"DatapointsToAlarm": 1, "EvaluationPeriods": 1, "TreatMissingData": "notBreaching"`
	reaching = `"ComparisonOperator": "GreaterThanOrEqualToThreshold"`
)

var alarmsWanted = map[string]string{
	"PlanDeadAlarm":         `{"MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": [{"Name": "QueueName", "Value": "joiner-plan-dead.fifo"}], "Threshold": 1, ` + reaching + `, ` + atOnce + `}`,
	"CatalogDeadAlarm":      `{"MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": [{"Name": "QueueName", "Value": "joiner-catalog-dead"}], "Threshold": 1, ` + reaching + `, ` + atOnce + `}`,
	"InterruptionDeadAlarm": `{"MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": [{"Name": "QueueName", "Value": "joiner-interruption-dead"}], "Threshold": 1, ` + reaching + `, ` + atOnce + `}`,
	"DisruptionDeadAlarm":   `{"MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": [{"Name": "QueueName", "Value": "joiner-disruption-dead"}], "Threshold": 1, ` + reaching + `, ` + atOnce + `}`,
	"NoticesDeadAlarm":      `{"MetricName": "ApproximateNumberOfMessagesVisible", "Dimensions": [{"Name": "QueueName", "Value": "joiner-notices-dead"}], "Threshold": 1, ` + reaching + `, ` + atOnce + `}`,
	"EventsAlarm": `{"AlarmName": "Joiner-Events", "Metrics": [{"Expression": "SUM(METRICS())"},
		{"MetricStat": {"Metric": {"Namespace": "AWS/Events", "MetricName": "FailedInvocations", "Dimensions": [{"Name": "RuleName", "Value": "joiner-state"}]}}},
		{"MetricStat": {"Metric": {"Namespace": "AWS/Events", "MetricName": "InvocationsFailedToBeSentToDlq", "Dimensions": [{"Name": "RuleName", "Value": "joiner-state"}]}}}],
		"Threshold": 1, ` + reaching + `, ` + atOnce + `}`,
	"NoticesAgeAlarm":        `{"MetricName": "ApproximateAgeOfOldestMessage", "Dimensions": [{"Name": "QueueName", "Value": "joiner-notices"}], "Threshold": 60, "Statistic": "Maximum", ` + reaching + `, ` + lasting + `}`,
	"ProvisionErrorAlarm":    `{"Namespace": "AWS/Lambda", "MetricName": "Errors", "Dimensions": [{"Name": "FunctionName", "Value": "joiner-provision"}], "Statistic": "Sum", "Threshold": 1, ` + lasting + `}`,
	"InterruptionErrorAlarm": `{"Namespace": "AWS/Lambda", "MetricName": "Errors", "Dimensions": [{"Name": "FunctionName", "Value": "joiner-interruption"}], "Statistic": "Sum", "Threshold": 1, ` + lasting + `}`,
	"CatalogErrorAlarm":      `{"Namespace": "AWS/Lambda", "MetricName": "Errors", "Dimensions": [{"Name": "FunctionName", "Value": "joiner-catalog"}], "Statistic": "Sum", "Threshold": 1, ` + lasting + `}`,
	"DisruptErrorAlarm":      `{"Namespace": "AWS/Lambda", "MetricName": "Errors", "Dimensions": [{"Name": "FunctionName", "Value": "joiner-disrupt"}], "Statistic": "Sum", "Threshold": 1, ` + lasting + `}`,
	"ThrottleAlarm":          `{"Metrics": [{"Expression": "SUM(METRICS())", "ReturnData": true}, {"ReturnData": false}, {}, {}, {}], "Threshold": 1, ` + lasting + `}`,
	"RecursionAlarm":         `{"Metrics": [{"Expression": "SUM(METRICS())"}, {"MetricStat": {"Metric": {"MetricName": "RecursiveInvocationsDropped"}}}, {}, {}, {}], "Threshold": 1, ` + atOnce + `}`,
	"TickAlarm":              `{"MetricName": "Invocations", "Threshold": 1, "ComparisonOperator": "LessThanThreshold", "TreatMissingData": "breaching", "Period": 300}`,
	"TableAlarm":             `{"Metrics": [{"Expression": "SUM(METRICS())"}, {"MetricStat": {"Metric": {"MetricName": "ReadThrottleEvents"}}}, {"MetricStat": {"Metric": {"MetricName": "WriteThrottleEvents"}}}], "Threshold": 1, ` + lasting + `}`,
	"SilentAlarm":            `{"Namespace": "Joiner", "MetricName": "SilentWatchers", "Threshold": 1, "DatapointsToAlarm": 5, "EvaluationPeriods": 10}`,
	"FailedAlarm":            `{"Namespace": "Joiner", "MetricName": "LaunchesFailed", "Threshold": 10, "Period": 300, "DatapointsToAlarm": 3, "EvaluationPeriods": 3}`,
	"BrakeAlarm":             `{"Namespace": "Joiner", "MetricName": "RemovalsPutOff", "Threshold": 1, "Period": 300, ` + atOnce + `}`,
}

func TestEveryResourceOfTheRegion(t *testing.T) {
	expect(t, "region", regionWanted())
	for _, id := range []string{"Table", "Bucket"} {
		if r := parsed(t, "region").Resources[id]; r.DeletionPolicy != "RetainExceptOnCreate" || r.UpdateReplacePolicy != "Retain" {
			t.Errorf("%s has policies %q and %q; people's data stays", id, r.DeletionPolicy, r.UpdateReplacePolicy)
		}
	}
}

// The names that other modules compile in are those of the templates.
func TestInstallationTellsWhatThereIs(t *testing.T) {
	sub := parsed(t, "region").Resources["Installation"].Properties["Value"].(map[string]any)["Fn::Sub"].([]any)[0].(string)
	var reported struct {
		Version, Account, Region, Table, Bucket, Stop string
		Queues, Functions, Roles                      map[string]string
	}
	if err := strictly([]byte(sub), &reported); err != nil {
		t.Fatal(err)
	}
	if reported.Table != "${Table}" || reported.Bucket != "${Bucket}" || reported.Stop != "/joiner/stop" || reported.Version != "dev" {
		t.Errorf("told %+v", reported)
	}
	if got := slices.Sorted(maps.Keys(reported.Queues)); !slices.Equal(got, []string{"catalog", "disruption", "interruption", "notices", "plan"}) {
		t.Errorf("told queues %v", got)
	}
	for _, of := range []map[string]string{reported.Functions, reported.Roles} {
		if got := slices.Sorted(maps.Keys(of)); !slices.Equal(got, []string{"catalog", "disrupt", "interruption", "provision"}) {
			t.Errorf("told programs %v", got)
		}
	}
}

// The template of another cluster is the committed one with its name for that one's, as long as the name needs no shortening: testenv
// deploys clusters by that.
func TestAnotherClusterIsTheSameWithItsName(t *testing.T) {
	zips := t.TempDir()
	if err := emptyZips(zips, Options{Webhook: true}); err != nil {
		t.Fatal(err)
	}
	type made struct {
		name, file string
		stack      awscdk.Stack
	}
	var all []made // before the first is looked at: that ends the making
	app := awscdk.NewApp(&awscdk.AppProps{AnalyticsReporting: jsii.Bool(false)})
	for i, name := range []string{"a", "Prod_7-b", strings.Repeat("n", 29)} {
		for file, relay := range map[string]bool{"cluster": false, "cluster-relay": true} {
			o, err := readOptions(contextFrom(t, fmt.Sprintf(`{"cluster": %q, "zips": %q, "relay": %v}`, name, zips, relay)))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, made{name, file, newCluster(app, fmt.Sprint(file, i), o.Clusters[0], o)})
		}
	}
	for _, one := range all {
		got, err := normal(*assertions.Template_FromStack(one.stack, nil).ToJSON())
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join("templates", one.file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if want := bytes.ReplaceAll(committed, []byte("joiner-demo"), []byte(one.name)); !bytes.Equal(got, want) {
			t.Errorf("%s of %s differs from the committed one from line %d on", one.file, one.name, firstDifference(got, want))
		}
	}
}
