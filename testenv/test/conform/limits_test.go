package conform_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

// The longest names there are: of a cluster (EKS API reference, CreateCluster), of what is the value of a label (NodePools), of any other
// object (classes), and of a tag's key and value (EC2 user guide, "Tag your resources").
var (
	longCluster = strings.Repeat("c", 100)
	longPool    = strings.Repeat("p", 63)
	longClass   = strings.Repeat("k", 253)
	longKey     = strings.Repeat("t", 128)
	longValue   = strings.Repeat("v", 256)
)

// atLimits is a model of AWS, and what every adapter says to it is written down where a record is asked for.
type atLimits struct {
	*testing.T
	cloud *cloud.Cloud
	ec2   *ec2.Model
}

// A63: what the adapters send where names are as long as they may be is taken by the models, and, held against the published ones by
// `make conform`, within their lengths and patterns.
func TestA63InputsAtTheirLimitsAreTaken(t *testing.T) {
	reads := reading.Strict(reading.Delays()...)
	c, err := cloud.Start(t.Context(), cloud.Options{Readings: reads, Latency: func(string, string) time.Duration { return time.Millisecond }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	l := atLimits{t, c, ec2.New(ec2.Options{Clock: clock.System(), Readings: reads, Timing: &ec2.Timing{Gone: time.Hour}})}
	l.ec2.AddInstanceProfile("nodes", "nodes")
	l.ec2.AddRole(ec2.Role{Name: strings.Repeat("r", 64)})
	c.Register("ec2", ec2.NewHandler(l.ec2))
	c.Register("iam", iam.NewHandler(l.ec2))
	c.Register("dynamodb", dynamodb.NewHandler(dynamodb.NewModel(dynamodb.Options{Account: c.Account(), Region: c.Region()})))
	l.instances()
	l.profiles()
	l.queues()
	l.ledger()
}

func (l atLimits) check(what string, err error) {
	l.Helper()
	if err != nil {
		l.Errorf("%s: %v", what, err)
	}
}

func (l atLimits) instances() {
	l.Helper()
	ctx, fleet := l.Context(), ec2fleet.New(awsec2.NewFromConfig(l.cloud.Config()))
	subnet := l.ec2.Subnets()[0]
	tags := map[string]string{longKey: longValue}
	for i := range 30 {
		tags[fmt.Sprintf("team-%d", i)] = longValue
	}
	image := ""
	for _, i := range catalog.Images() {
		if i.Architecture == catalog.X86_64 && i.Platform == "Linux/UNIX" {
			image = i.ID
		}
	}
	var overrides []model.Override
	for _, typ := range catalog.Types() {
		if typ.Architecture == catalog.X86_64 && typ.OfferedIn(subnet.Zone) && !typ.NoSpot && len(overrides) < 299 {
			overrides = append(overrides, model.Override{InstanceType: typ.Name, Zone: subnet.Zone, SubnetID: subnet.ID, Price: 1000})
		}
	}
	launch := model.Launch{
		Intent: "01M82CMVF80000000000000000", Token: strings.Repeat("a", 52), Cluster: longCluster, Pool: longPool, CapacityType: model.Spot,
		Claims: []string{longPool + "-abcde"},
		Class: model.Class{Name: longClass, UID: "00000000-0000-0000-0000-000000000000", Family: "AL2023", Tags: tags,
			Metadata: model.MetadataOptions{HTTPEndpoint: "enabled", HTTPProtocolIPv6: "disabled", HTTPPutResponseHopLimit: 64, HTTPTokens: "required"},
			Status:   model.ClassStatus{InstanceProfile: "nodes", SecurityGroups: []model.SecurityGroup{{ID: l.ec2.SecurityGroups()[0].ID}}}},
		Templates: []model.LaunchTemplate{{ImageID: image, UserData: []byte(strings.Repeat("u", 16384)), Overrides: overrides}},
	}
	trial := launch
	trial.CapacityType = model.OnDemand // as the catalog tries classes: RunInstances would have to make a spot request
	request, err := fleet.PrepareRequest(ctx, trial)
	l.check("make a launch template to try", err)
	l.check("try a fleet", fleet.DryRunFleet(ctx, request))
	l.check("try a launch", fleet.DryRun(ctx, trial, request, subnet.ID))
	request, err = fleet.PrepareRequest(ctx, launch)
	l.check("make a launch template", err)
	result, err := fleet.Launch(ctx, request)
	l.check("launch", err)
	if len(result.Instances) != 1 {
		l.Fatalf("launched %+v", result)
	}
	id := result.Instances[0].ID
	ids := []string{id}
	for i := range 450 {
		ids = append(ids, fmt.Sprintf("i-%017x", i))
	}
	found, err := fleet.DescribeInstances(ctx, ids)
	l.check("describe 451 instances", err)
	if len(found) != 1 {
		l.Errorf("described %d", len(found))
	}
	_, err = fleet.FindInstances(ctx, launch.Intent)
	l.check("find", err)
	_, err = fleet.Interrupted(ctx, longCluster)
	l.check("list interrupted machines", err)
	_, err = fleet.Tag(ctx, id, map[string]string{"Name": strings.Repeat("n", 255), "karpenter.sh/nodeclaim": longPool + "-abcde", "eks:eks-cluster-name": longCluster})
	l.check("tag", err)
	owned, err := fleet.Owned(ctx, longCluster)
	l.check("list", err)
	ended, err := fleet.Terminate(ctx, longCluster, ids)
	l.check("end", err)
	if len(owned) != 1 || len(ended) != 1 {
		l.Errorf("%d are owned, %d ended", len(owned), len(ended))
	}
	l.check("delete the class's templates", fleet.DeleteTemplates(ctx, longCluster, longClass))
}

func (l atLimits) profiles() {
	l.Helper()
	known := ec2catalog.New(ec2catalog.Clients{EC2: awsec2.NewFromConfig(l.cloud.Config()), IAM: awsiam.NewFromConfig(l.cloud.Config())}, ec2catalog.Settings{Region: l.cloud.Region()})
	profile := model.InstanceProfile{
		Name: longCluster + "_" + strings.Repeat("d", 24), Path: "/karpenter/ap-southeast-7/" + longCluster + "/00000000-0000-0000-0000-000000000000/", Role: strings.Repeat("r", 64),
		Tags: map[string]string{"kubernetes.io/cluster/" + longCluster: "owned", "eks:eks-cluster-name": longCluster, "karpenter.k8s.aws/ec2nodeclass": longClass, longKey: longValue},
	}
	l.check("make a profile", known.EnsureProfile(l.Context(), profile))
	_, err := known.Profile(l.Context(), profile.Name)
	l.check("read it", err)
	_, err = known.Profiles(l.Context(), "/karpenter/ap-southeast-7/"+longCluster+"/")
	l.check("list profiles", err)
	l.check("delete it", known.DeleteProfile(l.Context(), profile))
}

func (l atLimits) queues() {
	l.Helper()
	client := awssqs.NewFromConfig(l.cloud.Config())
	plan, checks := wire.PlanQueue(longCluster), "looks"
	out, err := client.CreateQueue(l.Context(), &awssqs.CreateQueueInput{QueueName: &plan, Attributes: map[string]string{"FifoQueue": "true"}})
	l.check("make the plan queue", err)
	other, err := client.CreateQueue(l.Context(), &awssqs.CreateQueueInput{QueueName: &checks})
	l.check("make a queue", err)
	hint := wire.Hint{Cluster: longCluster, Epoch: 1, Seq: 1, Number: 1, Reason: wire.ReasonBatch}
	for i := range wire.MaxHintPods {
		hint.Pods = append(hint.Pods, model.PodRef{Namespace: strings.Repeat("n", 63), Name: fmt.Sprintf("%s-%d", strings.Repeat("p", 240), i), UID: "00000000-0000-0000-0000-000000000000"})
	}
	l.check("hint", sqsqueue.New(client, *out.QueueUrl).Send(l.Context(), hint))
	l.check("tell", sqsqueue.New(client, *out.QueueUrl).Forward(l.Context(), hint))
	l.check("hint by the cluster", sqsqueue.NewPlanQueues(client, *other.QueueUrl).Send(l.Context(), hint))
	l.check("hint later", sqsqueue.NewDelayQueue(client, *other.QueueUrl).Send(l.Context(), hint, 24*time.Hour))
}

func (l atLimits) ledger() {
	l.Helper()
	ctx, ledger := l.Context(), dynamoledger.New(awsdynamodb.NewFromConfig(l.cloud.Config()), "joiner")
	l.check("make the table", ledger.EnsureTable(ctx))
	reg := model.Registration{Cluster: longCluster, Account: l.cloud.Account(), Region: l.cloud.Region()}
	l.check("register", ledger.Register(ctx, reg))
	now := time.Now().Unix()
	fence, err := ledger.Acquire(ctx, longCluster, strings.Repeat("o", 64), now, now+60)
	l.check("take the lease", err)
	intent := model.Intent{ID: "01M82CMVF80000000000000000", Cluster: longCluster, Pool: longPool, State: model.IntentCalling, Attempt: 1, Request: []byte(strings.Repeat("r", 20_000))}
	var claims []model.Claim
	for i := range 25 { // of one launch
		name := fmt.Sprintf("%s-%05d", longPool, i)
		intent.Claims = append(intent.Claims, name)
		claims = append(claims, model.Claim{Name: name, Pool: longPool, Class: longClass, Intent: intent.ID, State: "Launching"})
	}
	l.check("record a launch", ledger.Record(ctx, fence, intent, claims, nil))
	_, err = ledger.PutClass(ctx, longCluster, model.ClassRecord{Name: longClass})
	l.check("keep a class", err)
	_, err = ledger.Load(ctx, reg)
	l.check("load", err)
	l.check("give the lease back", ledger.Release(ctx, fence))
}
