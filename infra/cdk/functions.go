package main

import (
	"cmp"
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3assets"
	"github.com/aws/jsii-runtime-go"
)

// function is one program of ../../functions as it is deployed.
type function struct {
	Name        string // physical; the role's is the same with the region
	ID          string // logical, of the function; others begin with it
	Program     string // folder of functions, and name of the zip
	About       string
	MemoryMB    int
	TimeoutS    int
	Concurrency int      // reserved where people want that, and more than what its queues may take together, so that a tick always finds room
	Queues      []source // of the region that feed it
	Plans       bool     // fed by the plan queues of clusters
	Sends       []string // ids of queues it sends to
	Ticks       bool     // invoked each minute
	Recursive   bool     // sends to a queue that feeds it
	Table       []string // actions of DynamoDB
	Index       bool     // asks the index of instances
	Reads       []string // prefixes of keys in the bucket
	Writes      []string
	Assumes     bool     // a role of each cluster
	Switch      bool     // reads the stop switch
	Settings    []string // names of what people may set by context settings
}

// source is a queue that feeds a function.
type source struct {
	Queue       string // id
	Concurrency int    // at most so many batches at once where there are more than a few clusters; 0 = as many as there are
}

// functions are those of the region.
func functions(o Options) []function {
	const own = 1769 // MB: one vCPU
	each := max(2, o.MaxClusters)
	read := []string{"GetItem", "Query"}
	written := []string{"PutItem", "UpdateItem", "ConditionCheckItem"}
	all := []function{{
		Name: "joiner-provision", ID: "Provision", Program: "provision", About: "Launches instances and registers them as nodes",
		MemoryMB: o.PlannerMemoryMB, TimeoutS: 30, Concurrency: plansAtOnce*each + 1,
		Plans: true, Sends: []string{"Plan", "Catalog", "Interruption", "Disruption"}, Ticks: true, Recursive: true,
		Table: join(read, written, []string{"DeleteItem", "BatchGetItem"}), Reads: []string{"snap", "catalog"}, Writes: []string{"decisions"}, Assumes: true, Switch: true,
		Settings: join(ofCatalog, ofPolicies, ofJoins),
	}, {
		Name: "joiner-interruption", ID: "Interruption", Program: "interruption", About: "Drains nodes, terminates instances and closes their claims",
		MemoryMB: own / 2, TimeoutS: 30, Concurrency: 2*each + 11,
		Queues: []source{{"Interruption", 2 * each}, {"Notices", 10}}, Sends: []string{"Interruption", "Plan",
			"Disruption", "Catalog"}, Ticks: true, Recursive: true,
		Table: join(read, written, []string{"DeleteItem", "BatchGetItem"}), Index: true, Writes: []string{"removals"},
		Assumes: true, Settings: join(ofJoins, ofEnds),
	}, {
		Name: "joiner-catalog", ID: "Catalog", Program: "catalog", About: "Resolves EC2NodeClasses and reads instance types and prices",
		MemoryMB: 1024, TimeoutS: 120, Concurrency: each + 2,
		Queues: []source{{"Catalog", each}}, Sends: []string{"Catalog", "Plan", "Disruption"}, Ticks: true, Recursive: true,
		Table: join(read, []string{"PutItem", "UpdateItem", "DeleteItem", "BatchGetItem"}), Reads: []string{"snap", "catalog"}, Writes: []string{"catalog", "versions"}, Assumes: true,
		Settings: join(ofCatalog, ofShifts),
	}, {
		Name: "joiner-disrupt", ID: "Disrupt", Program: "disrupt", About: "Decides voluntary disruption: consolidation, drift, expiry",
		MemoryMB: o.PlannerMemoryMB, TimeoutS: 55, Concurrency: each + 1,
		Queues: []source{{"Disruption", each}}, Sends: []string{"Disruption", "Plan", "Interruption"}, Ticks: true, Recursive: true,
		Table: join(read, written, []string{"BatchGetItem"}), Reads: []string{"snap", "catalog"}, Writes: []string{"decisions"}, Assumes: true, Switch: true,
		Settings: join(ofCatalog, ofPolicies, ofDisrupt),
	}}
	if o.Webhook {
		all = append(all, function{
			Name: "joiner-webhook", ID: "Webhook", Program: "webhook", About: "Validates NodePools and EC2NodeClasses before they are stored",
			MemoryMB: 512, TimeoutS: 5, Concurrency: 2, Reads: []string{"catalog"}, Settings: ofCatalog,
		})
	}
	return all
}

// Settings of functions that people may change, by the programs that read them. Whoever computes what an instance offers must
// do it with the same ones.
var (
	ofCatalog  = []string{"JOINER_VM_MEMORY_OVERHEAD_PERCENT", "JOINER_RESERVED_ENIS", "JOINER_NODE_CLASS_CEL", "JOINER_LOG_LEVEL"}
	ofShifts   = []string{"JOINER_DISABLE_ZONAL_SHIFT"}
	ofPolicies = []string{"JOINER_PREFERENCE_POLICY", "JOINER_MIN_VALUES_POLICY"}
	ofDisrupt  = []string{"JOINER_SPOT_TO_SPOT", "JOINER_VALIDATE_AFTER", "JOINER_REPLACE_WITHIN"}
	ofJoins    = []string{"JOINER_JOIN_WITHIN"} // the same for both that go by it
	ofEnds     = []string{"JOINER_REPAIR_AFTER", "JOINER_REPAIR_PERCENT", "JOINER_LOG_LEVEL"}
)

func join(lists ...[]string) []string {
	var out []string
	for _, l := range lists {
		out = append(out, l...)
	}
	return out
}

// program makes a function with its role, log group and code.
func (r *region) program(f function) awslambda.CfnFunction {
	logs := awslogs.NewCfnLogGroup(r.stack, s(f.ID+"Logs"), &awslogs.CfnLogGroupProps{
		LogGroupName: s("/aws/lambda/" + f.Name), RetentionInDays: n(r.o.LogRetentionDays), KmsKeyId: kmsOf(r.o),
	})
	role := r.role(f)
	code := awss3assets.NewAsset(r.stack, s(f.ID+"Code"), &awss3assets.AssetProps{Path: s(zipOf(f.Program, r.o))})
	properties := &awslambda.CfnFunctionProps{
		FunctionName: s(f.Name), Description: s(f.About), Role: role.AttrArn(),
		Runtime: s("provided.al2023"), Handler: s("bootstrap"), Architectures: texts(r.o.Architecture),
		Code:          &awslambda.CfnFunction_CodeProperty{S3Bucket: code.S3BucketName(), S3Key: code.S3ObjectKey()},
		MemorySize:    n(f.MemoryMB),
		Timeout:       n(f.TimeoutS),
		LoggingConfig: &awslambda.CfnFunction_LoggingConfigProperty{LogGroup: logs.Ref(), LogFormat: s("Text")},
		Environment:   &awslambda.CfnFunction_EnvironmentProperty{Variables: r.environment(f)},
		KmsKeyArn:     kmsOf(r.o),
	}
	if r.o.Reserve {
		properties.ReservedConcurrentExecutions = n(f.Concurrency)
	}
	if f.Recursive {
		properties.RecursiveLoop = s("Allow")
	}
	if len(r.o.VPCSubnets) > 0 {
		properties.VpcConfig = &awslambda.CfnFunction_VpcConfigProperty{SubnetIds: texts(r.o.VPCSubnets...), SecurityGroupIds: texts(r.o.VPCGroups...)}
	}
	made := awslambda.NewCfnFunction(r.stack, s(f.ID), properties)
	if !f.Ticks {
		return made
	}
	// A tick nobody could take within a minute is of no use any more: the next one says the same.
	awslambda.NewCfnEventInvokeConfig(r.stack, s(f.ID+"Invoke"), &awslambda.CfnEventInvokeConfigProps{
		FunctionName: made.Ref(), Qualifier: s("$LATEST"), MaximumEventAgeInSeconds: n(60), MaximumRetryAttempts: n(0),
	})
	return made
}

// environment is what the program's settings struct reads.
func (r *region) environment(f function) *map[string]*string {
	env := map[string]*string{}
	if len(f.Table) > 0 {
		env["JOINER_TABLE"] = r.table.Ref()
	}
	if len(f.Reads)+len(f.Writes) > 0 || f.Assumes { // answers of watchers are read
		env["JOINER_BUCKET"] = r.bucket.Ref()
	}
	urls := map[string]string{
		"Plan": "JOINER_QUEUE_URL", "Interruption": "JOINER_INTERRUPTION_QUEUE_URL", "Catalog": "JOINER_CATALOG_QUEUE_URL", "Disruption": "JOINER_DISRUPTION_QUEUE_URL",
	}
	for _, id := range f.Sends {
		if id == "Plan" {
			env[urls[id]] = r.planQueuesURL()
			continue
		}
		env[urls[id]] = r.queues[id].Ref()
	}
	if f.Switch {
		env["JOINER_STOP_PARAMETER"] = s(stopParameter)
	}
	switch f.Program {
	case "interruption":
		env["JOINER_NOTICES_QUEUE_ARN"] = r.queues["Notices"].AttrArn()
	case "provision", "catalog":
		if r.o.IsolatedVPC {
			env["JOINER_ISOLATED_VPC"] = s("true")
		}
	case "webhook":
		env["JOINER_ACCOUNT"], env["JOINER_WEBHOOK_PARAMETER"] = sub("${AWS::AccountId}"), s(webhookParameter)
	}
	if f.Program == "catalog" && !r.o.DryRun {
		env["JOINER_DISABLE_DRY_RUN"] = s("true")
	}
	if r.o.Metrics && f.Program != "webhook" {
		env["JOINER_METRICS"] = s("on")
	}
	for _, name := range f.Settings {
		if value, ok := r.o.Settings[name]; ok {
			env[name] = s(value)
		}
	}
	return &env
}

// fewClusters is for how many clusters queues are read without a bound. Lambda polls a queue that is idle with two pollers where no bound
// is set, else with five, and every ask is billed: that is the most of what an idle installation costs. A cluster has one or two batches
// of a queue under way, because whoever holds its lease does all there is to do. Notices come in rushes, of ten to a batch: Lambda begins with
// five batches at once and adds five a second, and the function has room for more than it adds in the seconds a rush of hundreds lasts. Source: Lambda
// developer guide, "Configuring scaling behavior for SQS event source mappings". In an account whose quota of executions is small there is no
// such room: a batch that Lambda received and cannot invoke the function with comes again after the visibility timeout, 40 s, and there people
// set a bound by context batches, so that batches wait in the queue.
const fewClusters = 10

// feed has a queue feed a function. What a batch could not handle comes back alone.
func (r *region) feed(f function, made awslambda.CfnFunction, from source) {
	properties := &awslambda.CfnEventSourceMappingProps{
		FunctionName: made.Ref(), EventSourceArn: r.queues[from.Queue].AttrArn(), BatchSize: n(10), Enabled: jsii.Bool(true),
		FunctionResponseTypes: texts("ReportBatchItemFailures"),
	}
	most := 0
	if r.o.MaxClusters > fewClusters {
		most = from.Concurrency
	}
	if r.o.Batches > 0 {
		most = min(cmp.Or(most, r.o.Batches), r.o.Batches)
	}
	if most > 0 {
		properties.ScalingConfig = &awslambda.CfnEventSourceMapping_ScalingConfigProperty{MaximumConcurrency: n(most)}
	}
	mapping := awslambda.NewCfnEventSourceMapping(r.stack, s(f.ID+"From"+from.Queue), properties)
	mapping.AddResourceDependency(r.roles[f.ID], nil)
}

// role is what a function may do with its own permissions: take from its queues, send to others, read and write the ledger, and
// take on the cluster's role of the same program. Whatever it does to instances it does with that.
func (r *region) role(f function) awsiam.CfnRole {
	var policies []statement
	policies = append(policies, allow("WriteOwnLogs", []string{"logs:CreateLogStream", "logs:PutLogEvents"},
		[]*string{sub("arn:${AWS::Partition}:logs:${AWS::Region}:${AWS::AccountId}:log-group:/aws/lambda/%s:*", f.Name)}, nil))
	for _, from := range f.Queues {
		policies = append(policies, allow("TakeFrom"+from.Queue,
			[]string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, []*string{r.queues[from.Queue].AttrArn()}, nil))
	}
	plans := sub("arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:%s-*.fifo", planQueue.Name)
	if f.Plans {
		policies = append(policies, allow("TakeFromPlan", []string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}, []*string{plans}, nil))
	}
	var sends []*string
	for _, id := range f.Sends {
		if id == "Plan" {
			sends = append(sends, plans)
			continue
		}
		sends = append(sends, r.queues[id].AttrArn())
	}
	if len(sends) > 0 {
		policies = append(policies, allow("SendHints", []string{"sqs:SendMessage"}, sends, nil))
	}
	policies = append(policies, r.dataRights(f)...)
	if f.Assumes {
		policies = append(policies, allow("TakeOnClusterRoles", []string{"sts:AssumeRole"},
			[]*string{sub("arn:${AWS::Partition}:iam::*:role/joiner-*-%s", f.Program)},
			map[string]any{"Null": map[string]any{"sts:ExternalId": "false"}})) // each cluster's role asks for an id of its own
	}
	if f.Switch {
		policies = append(policies, allow("ReadStopSwitch", []string{"ssm:GetParameter"}, []*string{parameterARN(stopParameter)}, nil))
	}
	if f.Program == "webhook" {
		policies = append(policies, allow("ReadSecrets", []string{"ssm:GetParameter"}, []*string{parameterARN(webhookParameter)}, nil))
	}
	policies = append(policies, kmsRights(r.o)...)
	if len(r.o.VPCSubnets) > 0 {
		policies = append(policies, vpcRights()...)
	}
	made := newRole(r.stack, r.o, roleOf{
		ID: f.ID + "Role", Name: sub("%s-${AWS::Region}", f.Name), About: fmt.Sprintf("Function %s: %s", f.Name, f.About),
		Trust: document(trust("lambda.amazonaws.com", nil)), Rights: document(policies...),
	})
	r.roles[f.ID] = made
	return made
}

// dataRights are a function's to table and bucket.
func (r *region) dataRights(f function) []statement {
	var out []statement
	if len(f.Table) > 0 {
		actions := make([]string, len(f.Table))
		for i, action := range f.Table {
			actions[i] = "dynamodb:" + action
		}
		out = append(out, allow("UseLedger", actions, []*string{r.table.AttrArn()}, nil))
	}
	if f.Index {
		out = append(out, allow("FindClaims", []string{"dynamodb:Query"}, []*string{sub("${Table.Arn}/index/byInstance")}, nil))
	}
	objects := func(prefixes []string) []*string {
		var out []*string
		for _, prefix := range prefixes {
			out = append(out, sub("${Bucket.Arn}/%s/*", prefix))
		}
		return out
	}
	if len(f.Reads) > 0 {
		// Without the permission to list, S3 does not say that an object is not there.
		out = append(out, allow("ReadObjects", []string{"s3:GetObject"}, objects(f.Reads), nil),
			allow("KnowWhatIsMissing", []string{"s3:ListBucket"}, []*string{r.bucket.AttrArn()}, nil))
	}
	if f.Assumes { // and so asks clusters' API servers, through their watchers where there is no other way
		out = append(out, allow("FindRelayedAnswers", []string{"dynamodb:BatchGetItem"}, []*string{r.table.AttrArn()},
			map[string]any{"ForAllValues:StringLike": map[string]any{"dynamodb:LeadingKeys": []string{"C#*#R#*"}}}),
			allow("ReadRelayedAnswers", []string{"s3:GetObject"}, objects([]string{"relay"}), nil))
	}
	if len(f.Writes) > 0 {
		out = append(out, allow("WriteObjects", []string{"s3:PutObject"}, objects(f.Writes), nil))
	}
	return out
}
