package main

import (
	"encoding/json"
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsssm"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// Names that others know.
const (
	stopParameter         = "/joiner/stop"
	installationParameter = "/joiner/installation"
	externalIDExport      = "joiner-external-id"
)

// region is the stack of an account and region while it is made.
type region struct {
	stack  awscdk.Stack
	o      Options
	table  awsdynamodb.CfnTable
	bucket awss3.CfnBucket
	queues map[string]awssqs.CfnQueue // by id, dead ones by id + "Dead"
	roles  map[string]awsiam.CfnRole  // of functions, by the function's id
	rules  []*string                  // ARNs
}

// newRegion makes the stack that every cluster of an account and region shares.
func newRegion(scope constructs.Construct, id string, o Options) awscdk.Stack {
	stack := awscdk.NewStack(scope, s(id), &awscdk.StackProps{
		StackName: s("joiner"), Description: s("Joiner: what every cluster of this account and region shares"), AnalyticsReporting: jsii.Bool(false),
		TerminationProtection: jsii.Bool(o.Protect), Env: in(o.HubAccount),
	})
	r := &region{stack: stack, o: o, queues: map[string]awssqs.CfnQueue{}, roles: map[string]awsiam.CfnRole{}}
	r.makeTable()
	r.makeBucket()
	r.makeQueues()
	r.makeSwitch()
	ticking := map[string]awslambda.CfnFunction{}
	for _, f := range functions(o) {
		made := r.program(f)
		for _, from := range f.Queues {
			r.feed(f, made, from)
		}
		if f.Ticks {
			ticking[f.ID] = made
		}
		if f.Program == "webhook" {
			r.makeWebhook(f, made)
		}
	}
	r.makeTicks(ticking)
	r.makeRules()
	r.protectQueues()
	r.makeAlarms()
	r.makeDashboards()
	r.describe()
	return stack
}

// makeTable makes the ledger.
func (r *region) makeTable() {
	key := func(name, kind string) any {
		return &awsdynamodb.CfnTable_KeySchemaProperty{AttributeName: s(name), KeyType: s(kind)}
	}
	text := func(name string) any {
		return &awsdynamodb.CfnTable_AttributeDefinitionProperty{AttributeName: s(name), AttributeType: s("S")}
	}
	properties := &awsdynamodb.CfnTableProps{
		TableName: s("joiner"), BillingMode: s("PAY_PER_REQUEST"),
		AttributeDefinitions: []any{text("PK"), text("SK"), text("instanceId")},
		KeySchema:            []any{key("PK", "HASH"), key("SK", "RANGE")},
		GlobalSecondaryIndexes: []any{&awsdynamodb.CfnTable_GlobalSecondaryIndexProperty{
			IndexName: s("byInstance"), KeySchema: []any{key("instanceId", "HASH")},
			Projection: &awsdynamodb.CfnTable_ProjectionProperty{ProjectionType: s("KEYS_ONLY")},
		}},
		TimeToLiveSpecification:          &awsdynamodb.CfnTable_TimeToLiveSpecificationProperty{AttributeName: s("ttl"), Enabled: jsii.Bool(true)},
		PointInTimeRecoverySpecification: &awsdynamodb.CfnTable_PointInTimeRecoverySpecificationProperty{PointInTimeRecoveryEnabled: jsii.Bool(true)},
		DeletionProtectionEnabled:        jsii.Bool(r.o.Protect),
	}
	if r.o.KMSKeyARN != "" {
		properties.SseSpecification = &awsdynamodb.CfnTable_SSESpecificationProperty{SseEnabled: jsii.Bool(true), SseType: s("KMS"), KmsMasterKeyId: kmsOf(r.o)}
	}
	r.table = awsdynamodb.NewCfnTable(r.stack, s("Table"), properties)
	keep(r.table)
}

// makeBucket makes the bucket of snapshots, decisions and catalogs. A watcher writes a new base long before its last one is
// 30 days old; what decisions of 30 days went by is forgotten after they are.
func (r *region) makeBucket() {
	encryption := &awss3.CfnBucket_ServerSideEncryptionByDefaultProperty{SseAlgorithm: s("AES256")}
	if r.o.KMSKeyARN != "" {
		encryption = &awss3.CfnBucket_ServerSideEncryptionByDefaultProperty{SseAlgorithm: s("aws:kms"), KmsMasterKeyId: kmsOf(r.o)}
	}
	expire := func(id, prefix string, days int) any {
		return &awss3.CfnBucket_RuleProperty{Id: s(id), Prefix: s(prefix), Status: s("Enabled"), ExpirationInDays: n(days)}
	}
	r.bucket = awss3.NewCfnBucket(r.stack, s("Bucket"), &awss3.CfnBucketProps{
		BucketName: sub("joiner-${AWS::AccountId}-${AWS::Region}"),
		BucketEncryption: &awss3.CfnBucket_BucketEncryptionProperty{ServerSideEncryptionConfiguration: []any{
			&awss3.CfnBucket_ServerSideEncryptionRuleProperty{ServerSideEncryptionByDefault: encryption, BucketKeyEnabled: jsii.Bool(r.o.KMSKeyARN != "")},
		}},
		LifecycleConfiguration: &awss3.CfnBucket_LifecycleConfigurationProperty{Rules: []any{
			expire("snapshots", "snap/", 32), expire("versions", "versions/", 32), expire("decisions", "decisions/", 30),
			expire("removals", "removals/", 30), expire("shadow", "shadow/", 30), expire("answers", "relay/", 1),
			&awss3.CfnBucket_RuleProperty{Id: s("uploads"), Status: s("Enabled"), AbortIncompleteMultipartUpload: &awss3.CfnBucket_AbortIncompleteMultipartUploadProperty{DaysAfterInitiation: n(1)}},
		}},
		OwnershipControls: &awss3.CfnBucket_OwnershipControlsProperty{Rules: []any{&awss3.CfnBucket_OwnershipControlsRuleProperty{ObjectOwnership: s("BucketOwnerEnforced")}}},
		PublicAccessBlockConfiguration: &awss3.CfnBucket_PublicAccessBlockConfigurationProperty{
			BlockPublicAcls: jsii.Bool(true), BlockPublicPolicy: jsii.Bool(true), IgnorePublicAcls: jsii.Bool(true), RestrictPublicBuckets: jsii.Bool(true),
		},
	})
	keep(r.bucket)
	excuse(r.bucket, "AwsSolutions-S1", "Nothing in it is secret and all of it can be generated again; CloudTrail's data events log access where that is wanted")
	awss3.NewCfnBucketPolicy(r.stack, s("BucketPolicy"), &awss3.CfnBucketPolicyProps{
		Bucket:         r.bucket.Ref(),
		PolicyDocument: document(overTLS("s3:*", r.bucket.AttrArn(), sub("${Bucket.Arn}/*"))),
	})
}

// keep has a resource stay when its stack is deleted, or when it is replaced. Where the deployment that made it fails it goes, as everything
// does that was made with it: under its name nothing else could be made, and the next deployment would fail over that. Source:
// CloudFormation user guide, "DeletionPolicy attribute", RetainExceptOnCreate.
func keep(resource awscdk.CfnResource) {
	resource.ApplyRemovalPolicy(awscdk.RemovalPolicy_RETAIN_ON_UPDATE_OR_DELETE, &awscdk.RemovalPolicyOptions{ApplyToUpdateReplacePolicy: jsii.Bool(true)})
}

// overTLS denies whatever does not come over TLS.
func overTLS(action string, resources ...*string) statement {
	out := deny("OverTLSOnly", []string{action}, resources, map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}})
	out["Principal"] = map[string]any{"AWS": "*"}
	return out
}

// queue is one of the region's, which has another for what nobody could handle.
type queue struct {
	ID, Name string
	Fifo     bool
	TimeoutS int // of the function it feeds
}

// planQueue is a cluster's: each has its own, which its stack makes, so that a queue proves whose hints are in it. What nobody could
// handle of all of them goes to one queue of the region.
var planQueue = queue{"Plan", "joiner-plan", true, 30}

// queuesOf are the region's queues. A hint that was not deleted comes again 10 s after the function it was given to is dead for
// sure: the lease of that one has ended by then.
var queuesOf = []queue{
	{"Catalog", "joiner-catalog", false, 120},
	{"Interruption", "joiner-interruption", false, 30},
	{"Disruption", "joiner-disruption", false, 55},
	{"Notices", "joiner-notices", false, 30},
}

// fullName is the queue's, or with -dead that of the other one.
func (q queue) fullName(suffix string) string {
	if q.Fifo {
		return q.Name + suffix + ".fifo"
	}
	return q.Name + suffix
}

// maxReceives is how often a message is received before it goes to the queue for what nobody could handle. A message that Lambda received and
// had no room to invoke the function with counts as received. Source: Lambda developer guide, "Configuring an Amazon SQS event source":
// five at least.
const maxReceives = 5

func (r *region) makeQueues() {
	r.queues["PlanDead"] = planQueue.makeDead(r.stack, r.o)
	excuse(r.queues["PlanDead"], "AwsSolutions-SQS3", "It is itself the dead-letter queue of the plan queues that the clusters' stacks create")
	for _, q := range queuesOf {
		dead := q.makeDead(r.stack, r.o)
		r.queues[q.ID+"Dead"], r.queues[q.ID] = dead, q.make(r.stack, r.o, q.fullName(""), dead.AttrArn())
	}
}

// makeDead makes the queue for what nobody could handle.
func (q queue) makeDead(stack awscdk.Stack, o Options) awssqs.CfnQueue {
	return q.encrypted(stack, o, q.ID+"DeadQueue", awssqs.CfnQueueProps{QueueName: s(q.fullName("-dead")), MessageRetentionPeriod: n(14 * 24 * 3600)})
}

// make makes the queue under a name.
func (q queue) make(stack awscdk.Stack, o Options, name string, dead *string) awssqs.CfnQueue {
	return q.encrypted(stack, o, q.ID+"Queue", awssqs.CfnQueueProps{
		QueueName: s(name), VisibilityTimeout: n(q.TimeoutS + 10), MessageRetentionPeriod: n(3600),
		RedrivePolicy: map[string]any{"deadLetterTargetArn": dead, "maxReceiveCount": maxReceives},
	})
}

func (q queue) encrypted(stack awscdk.Stack, o Options, id string, properties awssqs.CfnQueueProps) awssqs.CfnQueue {
	if q.Fifo {
		properties.FifoQueue = jsii.Bool(true)
	}
	if o.KMSKeyARN == "" {
		properties.SqsManagedSseEnabled = jsii.Bool(true)
	} else {
		properties.KmsMasterKeyId = kmsOf(o)
	}
	return awssqs.NewCfnQueue(stack, s(id), &properties)
}

// planQueueName is the name of a cluster's plan queue; shared/wire gives the same.
func planQueueName(cluster string) string { return planQueue.Name + "-" + short(cluster) + ".fifo" }

// plansAtOnce is how many batches of one cluster's plan queue are under way at once where there are several clusters: one of hints to plan
// by and one of hints to pass on. Without a bound Lambda runs a batch for each group that has messages (Lambda developer guide, "Using
// Lambda with Amazon SQS"), senders choose groups, and 300 receives a second of batches that each take 40 ms to read are twelve at once:
// one watcher could use up what is reserved for all clusters.
const plansAtOnce = 2

// makePlanQueue makes a cluster's plan queue and has it feed the function that plans, in the account of the region's stack. It asks for no
// high throughput, since 300 calls a second are part of what bounds a watcher. Where the installation has one cluster there is nobody to
// keep it from, and no bound: Lambda polls the queue with two pollers then while it is idle, instead of five.
func makePlanQueue(stack awscdk.Stack, c Cluster, o Options) {
	dead := sub("arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:%s", planQueue.fullName("-dead"))
	made := planQueue.make(stack, o, planQueueName(c.Name), dead)
	awssqs.NewCfnQueuePolicy(stack, s("PlanQueuePolicy"), &awssqs.CfnQueuePolicyProps{
		Queues: &[]*string{made.Ref()}, PolicyDocument: document(overTLS("sqs:*", made.AttrArn())),
	})
	mapping := &awslambda.CfnEventSourceMappingProps{
		FunctionName: sub("arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:function:joiner-provision"), EventSourceArn: made.AttrArn(),
		BatchSize: n(10), Enabled: jsii.Bool(true), FunctionResponseTypes: texts("ReportBatchItemFailures"),
	}
	if len(o.Clusters) > 1 || c.Account != "" || o.Batches > 0 {
		mapping.ScalingConfig = &awslambda.CfnEventSourceMapping_ScalingConfigProperty{MaximumConcurrency: n(plansAtOnce)}
	}
	awslambda.NewCfnEventSourceMapping(stack, s("ProvisionFromPlan"), mapping)
	ageAlarm("Plan", planQueueName(c.Name)).make(stack, o, c.Name)
}

// planQueuesURL is what URLs of plan queues look like: CLUSTER stands for the cluster's name.
func (r *region) planQueuesURL() *string {
	account := awscdk.Fn_Select(n(0), awscdk.Fn_Split(s("joiner-catalog"), r.queues["Catalog"].Ref(), nil))
	return awscdk.Fn_Join(s(""), &[]*string{account, s(planQueue.Name + "-CLUSTER.fifo")})
}

// protectQueues says who may send to queues by their own policies: EventBridge, to that of notices and by our rules alone.
func (r *region) protectQueues() {
	for _, q := range append([]queue{planQueue}, queuesOf...) {
		for _, id := range []string{q.ID, q.ID + "Dead"} {
			made := r.queues[id]
			if made == nil {
				continue // of a cluster's stack
			}
			var events statement
			if q.ID == "Notices" {
				events = allow("EventsOfOurRules", []string{"sqs:SendMessage"}, []*string{made.AttrArn()}, map[string]any{
					"StringEquals": map[string]any{"aws:SourceAccount": sub("${AWS::AccountId}")}, "ArnEquals": map[string]any{"aws:SourceArn": r.rules},
				})
				events["Principal"] = map[string]any{"Service": "events.amazonaws.com"}
			}
			awssqs.NewCfnQueuePolicy(r.stack, s(id+"QueuePolicy"), &awssqs.CfnQueuePolicyProps{
				Queues: &[]*string{made.Ref()}, PolicyDocument: document(overTLS("sqs:*", made.AttrArn()), events),
			})
		}
	}
}

// makeSwitch makes the parameter by which people stop an installation from the console.
func (r *region) makeSwitch() {
	awsssm.NewCfnParameter(r.stack, s("Stop"), &awsssm.CfnParameterProps{
		Name: s(stopParameter), Type: s("String"), Value: s("go"), AllowedPattern: s("^(go|disruption|everything)$"),
		Description: s("Stop switch of Joiner in this region: go; disruption = no voluntary disruption; everything = nothing is launched either. What AWS and users terminate is still handled"),
	})
}

// tickRule is the rule by which functions are invoked each minute.
const tickRule = "joiner-tick"

// makeTicks invokes functions each minute, by one rule with a target for each: a rule has five at most, and what EventBridge itself puts
// on the bus by the clock is not billed, where EventBridge Scheduler asks for $1 a million invocations. Functions say in policies of
// their own who may invoke them. A tick that is late by a minute is of no use: the next one is there.
func (r *region) makeTicks(ticking map[string]awslambda.CfnFunction) {
	var targets []any
	for _, f := range functions(r.o) {
		made := ticking[f.ID]
		if made == nil {
			continue
		}
		targets = append(targets, &awsevents.CfnRule_TargetProperty{
			Id: s(f.Program), Arn: made.AttrArn(),
			InputTransformer: &awsevents.CfnRule_InputTransformerProperty{
				InputPathsMap: map[string]*string{"time": s("$.time")}, InputTemplate: s(`{"sweep":<time>}`),
			},
			RetryPolicy: &awsevents.CfnRule_RetryPolicyProperty{MaximumEventAgeInSeconds: n(60), MaximumRetryAttempts: n(1)},
		})
	}
	rule := awsevents.NewCfnRule(r.stack, s("TickRule"), &awsevents.CfnRuleProps{
		Name: s(tickRule), Description: s("The schedule of each minute"), State: s("ENABLED"), ScheduleExpression: s("rate(1 minute)"), Targets: targets,
	})
	for _, f := range functions(r.o) {
		if made := ticking[f.ID]; made != nil {
			awslambda.NewCfnPermission(r.stack, s(f.ID+"Ticks"), &awslambda.CfnPermissionProps{
				Action: s("lambda:InvokeFunction"), FunctionName: made.AttrArn(), Principal: s("events.amazonaws.com"),
				SourceAccount: sub("${AWS::AccountId}"), SourceArn: rule.AttrArn(),
			})
		}
	}
}

// rule is what of EventBridge's events goes to the queue of notices.
type rule struct {
	ID, Name, About string
	Pattern         map[string]any
}

// rules are all that announces the end of an instance, or that a zone is not to be used. States an instance goes
// through while it starts are of no use to anybody and stay out.
var rules = []rule{
	{"SpotRule", "joiner-spot", "Spot instances that are interrupted in two minutes",
		ec2Event("EC2 Spot Instance Interruption Warning", nil)},
	{"RebalanceRule", "joiner-rebalance", "Spot instances that are likely to be interrupted",
		ec2Event("EC2 Instance Rebalance Recommendation", nil)},
	{"ReservationRule", "joiner-reservation", "Instances of interruptible capacity reservations that are reclaimed",
		ec2Event("EC2 Capacity Reservation Instance Interruption Warning", nil)},
	{"StateRule", "joiner-state", "Instances that stop or terminate",
		ec2Event("EC2 Instance State-change Notification", map[string]any{"state": []string{"stopping", "stopped", "shutting-down", "terminated"}})},
	{"HealthRule", "joiner-health", "Maintenance of instances",
		map[string]any{"source": []string{"aws.health"}, "detail-type": []string{"AWS Health Event"},
			"detail": map[string]any{"service": []string{"EC2"}, "eventTypeCategory": []string{"scheduledChange"}}}},
	{"ShiftRule", "joiner-shift", "Zonal shifts that begin, change or end",
		map[string]any{"source": []string{"aws.arc-zonal-shift"}}},
}

func ec2Event(kind string, detail map[string]any) map[string]any {
	pattern := map[string]any{"source": []string{"aws.ec2"}, "detail-type": []string{kind}}
	if detail != nil {
		pattern["detail"] = detail
	}
	return pattern
}

// makeRules sends what AWS says of instances to the queue of notices. What could not be delivered within five minutes is kept
// beside what could not be handled; functions ask EC2 for the same each half minute.
func (r *region) makeRules() {
	for _, one := range rules {
		made := awsevents.NewCfnRule(r.stack, s(one.ID), &awsevents.CfnRuleProps{
			Name: s(one.Name), Description: s(one.About), State: s("ENABLED"), EventPattern: one.Pattern,
			Targets: []any{&awsevents.CfnRule_TargetProperty{
				Id: s("notices"), Arn: r.queues["Notices"].AttrArn(),
				RetryPolicy:      &awsevents.CfnRule_RetryPolicyProperty{MaximumEventAgeInSeconds: n(300), MaximumRetryAttempts: n(20)},
				DeadLetterConfig: &awsevents.CfnRule_DeadLetterConfigProperty{Arn: r.queues["NoticesDead"].AttrArn()},
			}},
		})
		r.rules = append(r.rules, made.AttrArn())
	}
}

// describe writes what others must know of the installation: clusters' stacks by an export, the command line by a parameter.
func (r *region) describe() {
	queues, roles, programs := map[string]string{"plan": "${PlanQueues}"}, map[string]string{}, map[string]string{}
	for _, q := range queuesOf {
		queues[lower(q.ID)] = fmt.Sprintf("${%sQueue}", q.ID)
	}
	for _, f := range functions(r.o) {
		roles[f.Program], programs[f.Program] = fmt.Sprintf("${%sRole.Arn}", f.ID), fmt.Sprintf("${%s.Arn}", f.ID)
	}
	text, err := json.Marshal(map[string]any{
		"version": r.o.Version, "account": "${AWS::AccountId}", "region": "${AWS::Region}", "table": "${Table}", "bucket": "${Bucket}",
		"queues": queues, "functions": programs, "roles": roles, "stop": stopParameter,
	})
	if err != nil {
		panic(err) // maps of text
	}
	value := awscdk.Fn_Sub(s(string(text)), &map[string]*string{"PlanQueues": r.planQueuesURL()})
	awsssm.NewCfnParameter(r.stack, s("Installation"), &awsssm.CfnParameterProps{
		Name: s(installationParameter), Type: s("String"), Value: value, Description: s("The names that the joiner command reads of this installation"),
	})
	output := func(id, about, export string, value *string) {
		properties := &awscdk.CfnOutputProps{Description: s(about), Value: value}
		if export != "" {
			properties.ExportName = s(export)
		}
		awscdk.NewCfnOutput(r.stack, s(id), properties)
	}
	// Clusters' stacks of earlier versions import it, and CloudFormation deletes no export that is imported. It goes with the version after next.
	output("ExternalID", "Of clusters' stacks that were deployed by an earlier version; each has an id of its own now", externalIDExport, stackUUID(r.stack))
	output("TableName", "The ledger", "", r.table.Ref())
	output("BucketName", "Snapshots, decisions, catalogs", "", r.bucket.Ref())
}

func lower(id string) string { return string(id[0]|0x20) + id[1:] }
