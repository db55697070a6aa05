package conform_test

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	awsiam "github.com/aws/aws-sdk-go-v2/service/iam"
	awspricing "github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/ec2catalog"
	"github.com/joiner-sh/joiner/shared/adapter/ec2fleet"
	"github.com/joiner-sh/joiner/shared/adapter/s3catalog"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/world"
	"github.com/joiner-sh/joiner/testenv/test/conform"
)

// account is what one cluster has on a target: a table, a bucket, queues, a role, and a tag of its own on a network; and
// beside it an API server in memory. Invocations are as the functions make them: a tick is fanned out into the queue, and
// the hint that arrives there is handled by a flow with the adapters the function wires.
type account struct {
	t         conform.T
	config    aws.Config
	reg       model.Registration
	cluster   *world.Cluster
	scheduler *world.Scheduler
	settings  catalog.Settings

	table, bucket, role                        string
	planURL, catalogURL, checksURL, disruptURL string
	tagKey, image, group                       string
	subnets                                    []string // sorted
}

func newAccount(t conform.T, target conform.Target) *account {
	t.Helper()
	a := &account{t: t, config: target.Config, table: conform.Unique("joiner"), bucket: conform.Unique("joiner"), role: conform.Unique("nodes")}
	a.reg = world.Registration()
	a.reg.Cluster, a.reg.Region = conform.Unique("cluster"), conform.Region
	a.tagKey = "discovery/" + a.reg.Cluster
	a.cluster = world.NewCluster(a.reg.Cluster, time.Now, world.NewLog(time.Now))
	a.scheduler = world.NewScheduler(a.cluster, 0)
	a.makeStores()
	a.makeQueues()
	a.tagNetwork()
	a.newRole(a.role)
	return a
}

// makeStores makes table and bucket and attaches the cluster.
func (a *account) makeStores() {
	a.t.Helper()
	ledger := a.ledger()
	a.must(ledger.EnsureTable(a.t.Context()))
	a.must(ledger.Register(a.t.Context(), a.reg))
	_, err := a.objects().CreateBucket(a.t.Context(), &s3.CreateBucketInput{
		Bucket: &a.bucket, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: s3types.BucketLocationConstraint(conform.Region)},
	})
	a.must(err)
}

func (a *account) makeQueues() {
	a.t.Helper()
	for url, fifo := range map[*string]bool{&a.planURL: true, &a.catalogURL: false, &a.checksURL: false, &a.disruptURL: false} {
		name, attributes := conform.Unique("joiner"), map[string]string{"VisibilityTimeout": "40"}
		if fifo {
			name, attributes["FifoQueue"] = wire.PlanQueue(a.reg.Cluster), "true"
		}
		out, err := sqs.NewFromConfig(a.config).CreateQueue(a.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
		a.must(err)
		*url = aws.ToString(out.QueueUrl)
	}
}

// tagNetwork puts a tag on the subnets and a security group of the account's network, and picks an image.
func (a *account) tagNetwork() {
	a.t.Helper()
	c := awsec2.NewFromConfig(a.config)
	filter := func(name string, values ...string) types.Filter { return types.Filter{Name: &name, Values: values} }
	subnets, err := c.DescribeSubnets(a.t.Context(), &awsec2.DescribeSubnetsInput{Filters: []types.Filter{filter("default-for-az", "true")}})
	a.must(err)
	if len(subnets.Subnets) < 2 {
		a.t.Fatalf("the network has %d subnets", len(subnets.Subnets))
	}
	for _, s := range subnets.Subnets {
		a.subnets = append(a.subnets, aws.ToString(s.SubnetId))
	}
	slices.Sort(a.subnets)
	groups, err := c.DescribeSecurityGroups(a.t.Context(), &awsec2.DescribeSecurityGroupsInput{Filters: []types.Filter{filter("vpc-id", aws.ToString(subnets.Subnets[0].VpcId))}})
	a.must(err)
	a.group = a.groupOf(groups.SecurityGroups, aws.ToString(subnets.Subnets[0].VpcId))
	_, err = c.CreateTags(a.t.Context(), &awsec2.CreateTagsInput{Resources: append(slices.Clone(a.subnets), a.group), Tags: []types.Tag{{Key: &a.tagKey, Value: aws.String("yes")}}})
	a.must(err)
	a.until("the network shows its tag", func() bool {
		tagged, err := c.DescribeSubnets(a.t.Context(), &awsec2.DescribeSubnetsInput{Filters: []types.Filter{filter("tag:"+a.tagKey, "yes")}})
		a.must(err)
		return len(tagged.Subnets) == len(a.subnets)
	})
	images, err := c.DescribeImages(a.t.Context(), &awsec2.DescribeImagesInput{Owners: []string{"amazon"}, Filters: []types.Filter{
		filter("architecture", "x86_64"), filter("state", "available"), filter("name", "am*")}})
	a.must(err)
	if len(images.Images) == 0 {
		a.t.Fatalf("there is no image")
	}
	a.image = aws.ToString(images.Images[0].ImageId)
}

// groupOf returns a security group instances do not get by themselves, made where there is none.
func (a *account) groupOf(groups []types.SecurityGroup, vpc string) string {
	a.t.Helper()
	for _, g := range groups {
		if aws.ToString(g.GroupName) != "default" {
			return aws.ToString(g.GroupId)
		}
	}
	out, err := awsec2.NewFromConfig(a.config).CreateSecurityGroup(a.t.Context(), &awsec2.CreateSecurityGroupInput{
		GroupName: aws.String(conform.Unique("nodes")), Description: aws.String("nodes"), VpcId: &vpc})
	a.must(err)
	return aws.ToString(out.GroupId)
}

func (a *account) newRole(name string) {
	a.t.Helper()
	_, err := awsiam.NewFromConfig(a.config).CreateRole(a.t.Context(), &awsiam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`)})
	a.must(err)
}

// newProfile makes an instance profile with a role, as people do who do not want us to.
func (a *account) newProfile() string {
	a.t.Helper()
	c, name := awsiam.NewFromConfig(a.config), conform.Unique("profile")
	_, err := c.CreateInstanceProfile(a.t.Context(), &awsiam.CreateInstanceProfileInput{InstanceProfileName: &name})
	a.must(err)
	_, err = c.AddRoleToInstanceProfile(a.t.Context(), &awsiam.AddRoleToInstanceProfileInput{InstanceProfileName: &name, RoleName: &a.role})
	a.must(err)
	return name
}

// addClass applies an EC2NodeClass named default of the tagged network, the picked image and the role, changed as told.
func (a *account) addClass(change func(*model.Class)) {
	network := []model.SelectorTerm{{Tags: map[string]string{a.tagKey: "yes"}}}
	class := world.Class("default")
	class.Role, class.Subnets, class.SecurityGroups, class.Images = a.role, network, network, []model.SelectorTerm{{ID: a.image}}
	if change != nil {
		change(&class)
	}
	a.cluster.AddClass(class)
}

func (a *account) ledger() *dynamoledger.Ledger {
	return dynamoledger.New(dynamodb.NewFromConfig(a.config), a.table)
}

func (a *account) objects() *s3.Client { return s3.NewFromConfig(a.config) }

func (a *account) fleet() *ec2fleet.Fleet { return ec2fleet.New(awsec2.NewFromConfig(a.config)) }

func (a *account) instances() *ec2catalog.Catalog {
	return ec2catalog.New(ec2catalog.Clients{
		EC2: awsec2.NewFromConfig(a.config), IAM: awsiam.NewFromConfig(a.config), SSM: awsssm.NewFromConfig(a.config),
		Pricing: awspricing.NewFromConfig(a.config, func(o *awspricing.Options) { o.Region = ec2catalog.PricingRegion(a.reg.Region) }),
	}, ec2catalog.Settings{Region: a.reg.Region})
}

// connect opens the cluster as one function does.
type connect[S any] func() S

func (c connect[S]) Connect(context.Context, model.Registration) (S, error) { return c(), nil }

type markets struct{ *account }

func (m markets) Connect(context.Context, model.Registration) (catalog.CatalogSource, error) {
	return m.instances(), nil
}

type catalogHints struct {
	own  *sqsqueue.DelayQueue
	plan *sqsqueue.Queue
}

func (h catalogHints) RequestPass(ctx context.Context, cluster, key string) error {
	return h.own.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, 0)
}

func (h catalogHints) Ready(ctx context.Context, cluster, key string) error {
	return h.plan.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonConfig, Tick: key})
}

type planHints struct{ queue *sqsqueue.Queue }

func (h planHints) Resync(ctx context.Context, cluster, tick string) error {
	return h.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: tick})
}

type checkHints struct{ queue *sqsqueue.DelayQueue }

func (h checkHints) RequestPass(ctx context.Context, cluster, key string, after time.Duration) error {
	return h.queue.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, after)
}

// resolve is a tick of the catalog function: one pass over the cluster's classes, without a problem.
func (a *account) resolve() catalog.Outcome {
	a.t.Helper()
	ledger, queues := a.ledger(), sqs.NewFromConfig(a.config)
	hints := catalogHints{own: sqsqueue.NewDelayQueue(queues, a.catalogURL), plan: sqsqueue.New(queues, a.planURL)}
	flow := &catalog.Flow{
		Registry: ledger, Leases: ledger, Records: ledger, Allowances: ledger, Catalogs: s3catalog.New(a.objects(), a.bucket, s3catalog.Settings{}),
		RequestPass: hints.RequestPass, ReportReady: hints.Ready,
		Connector: connect[catalog.Clients](func() catalog.Clients {
			instances, fleet := a.instances(), a.fleet()
			return catalog.Clients{Cluster: a.cluster, Claims: a.cluster, Reporter: a.cluster, Catalog: instances, Profiles: instances, Trials: fleet, InstanceTypes: fleet}
		}),
		Now: time.Now, Settings: a.settings,
	}
	a.fannedOut(flow.FanOut(a.t.Context(), tick()))
	hint := a.receive(a.catalogURL)
	out, err := flow.Run(a.t.Context(), catalog.Request{Cluster: hint.Cluster, Owner: tick(), Deadline: time.Now().Add(time.Minute)})
	if err != nil || out.Skipped != "" || len(out.Problems) > 0 {
		a.t.Fatalf("the pass over the classes: %+v, %v", out, err)
	}
	return out
}

// keepInstances is what a tick of the catalog function does for the region. It returns the catalog as other functions
// read it.
func (a *account) keepInstances() (model.InstanceCatalog, catalog.RegionOutcome) {
	a.t.Helper()
	ledger := a.ledger()
	flow := &catalog.Region{
		Registry: ledger, Ledgers: ledger, Snapshots: s3snapshot.New(a.objects(), a.bucket), Catalogs: s3catalog.New(a.objects(), a.bucket, s3catalog.Settings{}),
		Learnings: ledger, Allowances: ledger, CatalogSources: markets{a}, Now: time.Now,
	}
	outcomes, err := flow.Run(a.t.Context())
	if err != nil || len(outcomes) != 1 {
		a.t.Fatalf("the region pass: %+v, %v", outcomes, err)
	}
	catalog, err := s3catalog.New(a.objects(), a.bucket, s3catalog.Settings{}).RegionCatalog(a.t.Context(), a.reg)
	if err != nil {
		a.t.Fatalf("the catalogue in the bucket: %v; %+v", err, outcomes)
	}
	return catalog, outcomes[0]
}

// provision is a tick of the plan function: one run for the cluster.
func (a *account) provision() provision.Outcome {
	a.t.Helper()
	ledger, store := a.ledger(), s3snapshot.New(a.objects(), a.bucket)
	flow := &provision.Flow{
		Registry: ledger, Leases: ledger, Claims: ledger, ClaimStates: ledger, Unavailable: ledger, Allowances: ledger, Memory: ledger,
		Decisions: store, Snapshots: store, Catalogs: s3catalog.New(a.objects(), a.bucket, s3catalog.Settings{}), Memories: ledger, UsageRecounts: ledger, Losses: ledger,
		Connector: connect[provision.Clients](func() provision.Clients {
			fleet := a.fleet()
			return provision.Clients{Cluster: a.cluster, Nominator: a.cluster, Standalone: a.cluster, Reporter: a.cluster, Fleet: fleet, Templates: fleet, Tagger: fleet, Catalog: a.instances()}
		}),
		RequestResync: planHints{sqsqueue.New(sqs.NewFromConfig(a.config), a.planURL)}.Resync,
		Now:           time.Now, NewID: func() string { return strings.ToUpper(conform.Unique("id")) },
	}
	a.fannedOut(flow.FanOut(a.t.Context(), tick()))
	hint := a.receive(a.planURL)
	for hint.Reason == wire.ReasonConfig { // of a class that became ready before
		hint = a.receive(a.planURL)
	}
	request := provision.Request{Cluster: hint.Cluster, Owner: tick(), Deadline: time.Now().Add(time.Minute)}
	request.Take(hint)
	out, err := flow.Run(a.t.Context(), request)
	if err != nil || out.Skipped != "" {
		a.t.Fatalf("the run of the plan function: %+v, %v", out, err)
	}
	return out
}

// collect is a tick of the interruption function: one look, without a problem.
func (a *account) collect() interruption.Outcome {
	a.t.Helper()
	ledger := a.ledger()
	flow := &interruption.Flow{
		Registry: ledger, Leases: ledger, Collector: ledger, Claims: ledger, Removals: s3snapshot.New(a.objects(), a.bucket),
		RequestPass: checkHints{sqsqueue.NewDelayQueue(sqs.NewFromConfig(a.config), a.checksURL)}.RequestPass,
		Connector: connect[interruption.Clients](func() interruption.Clients {
			fleet := a.fleet()
			return interruption.Clients{Cluster: a.cluster, Fleet: fleet, Health: fleet}
		}),
		Now: time.Now, Settings: interruption.Settings{Confirm: time.Second},
	}
	a.fannedOut(flow.FanOut(a.t.Context(), tick()))
	hint := a.receive(a.checksURL)
	out, err := flow.Run(a.t.Context(), interruption.Request{Cluster: hint.Cluster, Owner: tick(), Deadline: time.Now().Add(time.Minute)})
	if err != nil || out.Skipped != "" || len(out.Problems) > 0 {
		a.t.Fatalf("the look of the interruption function: %+v, %v", out, err)
	}
	return out
}

// tick is a moment that was never before.
func tick() string { return conform.Unique(time.Now().UTC().Format(time.RFC3339)) }

func (a *account) fannedOut(sent int, err error) {
	a.t.Helper()
	if err != nil || sent != 1 {
		a.t.Fatalf("fan out: %d hints, %v", sent, err)
	}
}

// receive takes the next hint out of a queue, as the event source of a function does.
func (a *account) receive(url string) wire.Hint {
	a.t.Helper()
	c := sqs.NewFromConfig(a.config)
	out, err := c.ReceiveMessage(a.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url, WaitTimeSeconds: 5, MaxNumberOfMessages: 1})
	if err != nil || len(out.Messages) != 1 {
		a.t.Fatalf("receive: %+v, %v", out, err)
	}
	hint, err := wire.DecodeHint([]byte(aws.ToString(out.Messages[0].Body)))
	a.must(err)
	_, err = c.DeleteMessage(a.t.Context(), &sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: out.Messages[0].ReceiptHandle})
	a.must(err)
	return hint
}

func (a *account) load() model.Ledger {
	a.t.Helper()
	ledger, err := a.ledger().Load(a.t.Context(), a.reg)
	a.must(err)
	return ledger
}

// instance is an instance as EC2 shows it; the zero value where it does not.
func (a *account) instance(id string) model.Instance {
	a.t.Helper()
	found, err := a.fleet().DescribeInstances(a.t.Context(), []string{id})
	a.must(err)
	if len(found) != 1 {
		return model.Instance{}
	}
	return found[0]
}

func (a *account) owned() []model.Instance {
	a.t.Helper()
	found, err := a.fleet().Owned(a.t.Context(), a.reg.Cluster)
	a.must(err)
	return found
}

// templates are the names of the cluster's launch templates.
func (a *account) templates() (names []string) {
	a.t.Helper()
	out, err := awsec2.NewFromConfig(a.config).DescribeLaunchTemplates(a.t.Context(), &awsec2.DescribeLaunchTemplatesInput{
		Filters: []types.Filter{{Name: aws.String("tag:kubernetes.io/cluster/" + a.reg.Cluster), Values: []string{"owned"}}}})
	a.must(err)
	for _, t := range out.LaunchTemplates {
		names = append(names, aws.ToString(t.LaunchTemplateName))
	}
	return names
}

// until waits for something that takes a moment.
func (a *account) until(what string, done func() bool) {
	a.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !done(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			a.t.Fatalf("in vain: %s", what)
		}
	}
}

func (a *account) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatalf("%v", err)
	}
}
