package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"sigs.k8s.io/yaml"

	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/doctor"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/installation"
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	iammodel "github.com/joiner-sh/joiner/testenv/local/cloud/iam"
	"github.com/joiner-sh/joiner/testenv/local/cloud/kms"
	"github.com/joiner-sh/joiner/testenv/local/cloud/logs"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/local/cloud/servicequotas"
	ssmmodel "github.com/joiner-sh/joiner/testenv/local/cloud/ssm"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/events"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime/schedule"
)

// installedAccount is an AWS account with an installation and one EKS cluster, shop, that nobody has attached.
type installedAccount struct {
	*cloud.Cloud
	planes    *eks.Model
	instances *ec2model.Model
	kms       *kms.Model
	logs      *logs.Model
	stacks    *stackList
	functions *lambdaruntime.Runner
	quotas    *servicequotas.Model
	schedules *schedule.Scheduler
	bus       *events.Bus
	objects   *apiServer
	ledger    *dynamoledger.Ledger
	server    *httptest.Server // its API server
	ca        []byte
}

// bareAccount starts an account in which nothing of Joiner's is, with an EKS cluster, shop, and has the command line find it as it
// finds everything of AWS's.
func bareAccount(t *testing.T) *installedAccount {
	t.Helper()
	c, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	a := &installedAccount{Cloud: c, planes: eks.New(eks.Options{Account: c.Account(), Region: c.Region()}), kms: kms.New(c.Region()), logs: logs.New(), stacks: &stackList{byName: map[string]stackView{}}}
	c.Register("eks", eks.NewHandler(a.planes))
	network := ec2model.DefaultNetwork("shop")
	a.instances = ec2model.New(ec2model.Options{Clock: clock.System(), Account: c.Account(), Network: &network})
	a.quotas, a.schedules, a.objects = servicequotas.New(), schedule.New(schedule.Config{Account: c.Account(), Region: c.Region()}), newAPIServer(t)
	t.Cleanup(a.schedules.Stop)
	a.instances.AddRole(ec2model.Role{Name: "AWSServiceRoleForEC2Spot", Path: "/aws-service-role/spot.amazonaws.com/"})
	c.Register("ec2", ec2model.NewHandler(a.instances))
	c.Register("iam", iammodel.NewHandler(a.instances, c.Policies))
	c.Register("servicequotas", servicequotas.NewHandler(a.quotas))
	c.Register("kms", kms.NewHandler(a.kms))
	c.Register("logs", logs.NewHandler(a.logs))
	c.Register("cloudformation", a.stacks.handler())
	a.concurrency(t, 1000)
	a.bus = events.NewBus(events.Config{Account: c.Account(), Region: c.Region()})
	c.Register("events", schedule.NewHandler(a.schedules, a.bus, nil))
	c.Register("ssm", ssmmodel.NewHandler(ssmmodel.New(ssmmodel.Options{})))
	c.Register("dynamodb", dynamodel.NewHandler(dynamodel.NewModel(dynamodel.Options{Account: c.Account(), Region: c.Region()})))
	keys, err := c.Config().Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": c.Endpoint(), "AWS_ACCESS_KEY_ID": keys.AccessKeyID, "AWS_SECRET_ACCESS_KEY": keys.SecretAccessKey, "AWS_SESSION_TOKEN": keys.SessionToken,
		"AWS_REGION": c.Region(), "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true", "JOINER_TABLE": "",
	} {
		t.Setenv(name, value)
	}
	a.server = httptest.NewTLSServer(a.objects)
	t.Cleanup(a.server.Close)
	a.ca = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	a.planes.AddCluster(eks.Cluster{Name: "shop", Version: "1.36", Endpoint: a.server.URL, CertificateAuthority: a.ca})
	if err := a.planes.AddAddon(eks.Addon{Cluster: "shop", Name: "eks-pod-identity-agent", Version: "v1.3.4-eksbuild.1"}); err != nil {
		t.Fatal(err)
	}
	return a
}

// concurrency has the account's Lambda allow so many executions at once, with no function deployed.
func (a *installedAccount) concurrency(t *testing.T, limit int) {
	t.Helper()
	runner, err := lambdaruntime.New(lambdaruntime.Config{AccountID: a.Account(), Region: a.Region(), AccountConcurrency: limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Stop)
	a.functions = runner
	a.Register("lambda", lambdaruntime.NewHandler(runner))
}

// newAccount is an account with an installation.
func newAccount(t *testing.T) *installedAccount {
	t.Helper()
	a := bareAccount(t)
	a.ledger = dynamoledger.New(dynamodb.NewFromConfig(a.Config()), "joiner")
	if err := a.ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.install(t, a.Config())
	return a
}

// install makes what the region's stack would.
func (a *installedAccount) install(t *testing.T, config aws.Config) {
	t.Helper()
	dynamo := dynamodb.NewFromConfig(config)
	if _, err := dynamo.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("joiner"), DeletionProtectionEnabled: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	objects := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("joiner-data"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
		LocationConstraint: s3types.BucketLocationConstraint(a.Region()),
	}}); err != nil {
		t.Fatal(err)
	}
	queues := sqs.NewFromConfig(config)
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("joiner-plan-dead")}); err != nil {
		t.Fatal(err)
	}
	if _, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("joiner-plan-dead.fifo"), Attributes: map[string]string{"FifoQueue": "true"}}); err != nil {
		t.Fatal(err)
	}
	a.makePlanQueue(t)
	notices := a.noticesURL(t, queues)
	text, _ := json.Marshal(installation.Installation{
		Version: "0.1.0", Account: a.Account(), Region: a.Region(), Table: "joiner", Bucket: "joiner-data", Stop: "/joiner/stop",
		Queues: map[string]string{"plan": wire.PlanQueueURL(notices, "CLUSTER"), "notices": notices}, Functions: map[string]string{"provision": "arn:1", "catalog": "arn:2", "webhook": "arn:3"},
	})
	for name, arn := range map[string]string{"provision": "arn:1", "catalog": "arn:2"} {
		never := func(context.Context, []byte) error { return nil }
		if err := a.schedules.Create(schedule.Schedule{Name: name, Group: doctor.TickRule, TargetARN: arn, Expression: "rate(1 minute)", Input: "{}", Target: never}); err != nil {
			t.Fatal(err)
		}
	}
	a.put(t, installation.Parameter, string(text))
	a.put(t, "/joiner/stop", "go")
}

// makePlanQueue makes what the stack of the cluster would.
func (a *installedAccount) makePlanQueue(t *testing.T) {
	t.Helper()
	_, err := sqs.NewFromConfig(a.Config()).CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(wire.PlanQueue("shop")), Attributes: map[string]string{
		"FifoQueue": "true", "RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:%s:%s:joiner-plan-dead.fifo","maxReceiveCount":3}`, a.Region(), a.Account()),
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// noticesURL makes the queue of notices and the rules that the template of the region's stack has send to it.
func (a *installedAccount) noticesURL(t *testing.T, queues *sqs.Client) string {
	t.Helper()
	redrive := fmt.Sprintf(`{"deadLetterTargetArn":"arn:aws:sqs:%s:%s:joiner-plan-dead","maxReceiveCount":3}`, a.Region(), a.Account())
	made, err := queues.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("joiner-notices"), Attributes: map[string]string{"RedrivePolicy": redrive}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range templateRules(t) {
		a.ruled(t, events.Rule{Name: name, Targets: []events.Target{{ID: "notices", ARN: "arn:aws:sqs:" + a.Region() + ":" + a.Account() + ":joiner-notices"}}})
	}
	return aws.ToString(made.QueueUrl)
}

func (a *installedAccount) ruled(t *testing.T, rule events.Rule) {
	t.Helper()
	if err := a.bus.PutRule(rule); err != nil {
		t.Fatal(err)
	}
}

// templateRules are the names of the rules on events that the region's stack makes.
func templateRules(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../infra/cdk/templates/region.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				Name         string
				EventPattern json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range template.Resources {
		if r.Type == "AWS::Events::Rule" && r.Properties.EventPattern != nil {
			names = append(names, r.Properties.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Doctor looks at every rule on events that the region's stack makes, and at no other.
func TestDoctorKnowsTheRulesOfTheTemplate(t *testing.T) {
	if got, want := slices.Sorted(maps.Keys(doctor.NoticeRules)), templateRules(t); len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("doctor looks at %v, the template has %v", got, want)
	}
}

// apiServer is one that has definitions and the watcher's Deployment, as JSON by path.
type apiServer struct {
	mu      sync.Mutex
	objects map[string]map[string]any
}

func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{objects: map[string]map[string]any{}}
	for _, manifest := range crds.Manifests() {
		var object map[string]any
		if err := yaml.Unmarshal(manifest, &object); err != nil {
			t.Fatal(err)
		}
		name := object["metadata"].(map[string]any)["name"].(string)
		s.objects["/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name] = object
	}
	s.objects[watcherPath] = map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{
		"name": "joiner-watcher", "namespace": "joiner", "labels": map[string]any{"app.kubernetes.io/version": "0.1.0"},
	}}
	s.list("/api/v1/nodes", "v1", "NodeList")
	s.list("/apis/apps/v1/deployments", "apps/v1", "DeploymentList")
	s.list("/apis/coordination.k8s.io/v1/leases", "coordination.k8s.io/v1", "LeaseList")
	s.list("/apis/karpenter.sh/v1/nodeclaims", "karpenter.sh/v1", "NodeClaimList")
	s.list("/apis/karpenter.sh/v1/nodepools", "karpenter.sh/v1", "NodePoolList")
	s.list("/api/v1/secrets", "v1", "SecretList")
	return s
}

const (
	watcherPath = "/apis/apps/v1/namespaces/joiner/deployments/joiner-watcher"
	poolsPath   = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.karpenter.sh"
)

// without has the server forget an object, or have another in its place; the function that is returned takes that back.
func (s *apiServer) without(path string, instead map[string]any) (back func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.objects[path]
	if delete(s.objects, path); instead != nil {
		s.objects[path] = instead
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.objects[path] = was
	}
}

// ServeHTTP answers reads of what there is.
func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, there := s.objects[r.URL.Path]
	if w.Header().Set("Content-Type", "application/json"); !there {
		w.WriteHeader(http.StatusNotFound)
		object = map[string]any{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
	}
	_ = json.NewEncoder(w).Encode(object)
}

func (a *installedAccount) put(t *testing.T, name, value string) {
	t.Helper()
	_, err := ssm.NewFromConfig(a.Config()).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: &name, Value: &value, Type: ssmtypes.ParameterTypeString, Overwrite: aws.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (a *installedAccount) role(name string) string {
	return "arn:aws:iam::" + a.Account() + ":role/shop-" + name
}

// instance gives shop an instance in the ledger.
func (a *installedAccount) instance(t *testing.T, name string) {
	t.Helper()
	now := time.Now().Unix()
	fence, err := a.ledger.AcquireLease(t.Context(), "shop", model.LeaseCollector, "test", now, now+60)
	if err != nil {
		t.Fatal(err)
	}
	err = a.ledger.Adopt(t.Context(), fence, model.Claim{Name: name, Pool: "default", State: model.Launched, InstanceID: "i-" + name, Version: 1, Reserved: model.Resources{model.Nodes: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.ledger.Release(t.Context(), fence); err != nil {
		t.Fatal(err)
	}
}

func TestAttachClustersDetach(t *testing.T) {
	a := newAccount(t)
	if code, _, errs := joiner("", "attach", "shpo"); code != 2 || !strings.Contains(errs, "EKS has no cluster shpo in "+a.Region()) {
		t.Errorf("a wrong name: exit status %d, %s", code, errs)
	}
	if code, _, errs := joiner("", "attach", "shop", "--role-catalog", "me"); code != 2 || !strings.Contains(errs, `roles.catalog: "me" is not the ARN`) {
		t.Errorf("a wrong role: exit status %d, %s", code, errs)
	}
	if code, out, _ := joiner("", "clusters"); code != 0 || out != "No cluster is attached.\n" {
		t.Errorf("exit status %d, %s", code, out)
	}
	code, out, errs := joiner("", "attach", "shop", "--paused", "--role-provision", a.role("provision"), "--role-interruption", a.role("interruption"),
		"--external-id", "9b1c", "--default-spread", "[{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]")
	for _, want := range []string{"Cluster shop (arn:aws:eks:", "is attached; it is paused", "helm upgrade --install joiner infra/chart", "cluster=shop", `"bucket":"joiner-data"`, `"plan":"http`, `defaultSpread=[{"maxSkew":1`} {
		if code != 0 || errs != "" || !strings.Contains(out, want) {
			t.Errorf("attach: exit status %d, %s, %s, want %q", code, out, errs, want)
		}
	}
	reg, err := a.ledger.Cluster(t.Context(), "shop")
	if err != nil || !reg.Paused || reg.ExternalID != "9b1c" || reg.Roles.Provision != a.role("provision") || reg.Endpoint != a.server.URL {
		t.Fatalf("%+v %v", reg, err)
	}
	// What is not said again stays.
	if code, out, errs := joiner("", "attach", "shop", "--paused=false", "-o", "json"); code != 0 || !strings.Contains(out, `"changed": [
    "paused"
  ]`) {
		t.Errorf("exit status %d, %s, %s", code, out, errs)
	}
	a.instance(t, "a")
	if code, out, errs := joiner("", "clusters"); code != 0 || !strings.Contains(out, "shop     "+a.Account()) || !strings.Contains(out, "active  never              1") {
		t.Errorf("exit status %d, %s, %s", code, out, errs)
	}
	if code, _, errs := joiner("", "detach", "shop", "--yes"); code != 2 || !strings.Contains(errs, "1 instance (default: 1)") {
		t.Errorf("exit status %d, %s", code, errs)
	}
	if code, _, errs := joiner("", "detach", "shop", "--hand-over=cas"); code != 2 || !strings.Contains(errs, "must be karpenter or people") {
		t.Errorf("exit status %d, %s", code, errs)
	}
	if err := a.ledger.Forget(t.Context(), "shop", time.Now().Unix()); err != nil { // as if its instance had ended
		t.Fatal(err)
	}
	if code, out, errs := joiner("", "detach", "shop"); code != 0 || !strings.Contains(out, "can be detached") {
		t.Errorf("exit status %d, %s, %s", code, out, errs)
	}
	if _, err := a.ledger.Cluster(t.Context(), "shop"); err != nil {
		t.Errorf("it was detached without --yes: %v", err)
	}
	if code, out, errs := joiner("", "detach", "shop", "--yes"); code != 0 || !strings.Contains(out, "helm uninstall joiner") {
		t.Errorf("exit status %d, %s, %s", code, out, errs)
	}
	if _, err := a.ledger.Cluster(t.Context(), "shop"); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is attached still: %v", err)
	}
	if code, _, errs := joiner("", "detach", "shop", "--yes"); code != 2 || !strings.Contains(errs, "is not attached") {
		t.Errorf("exit status %d, %s", code, errs)
	}
}

// groups are what API servers know the functions' roles as.
var groups = []struct{ name, group string }{
	{"provision", "joiner:functions"}, {"interruption", "joiner:interruption"}, {"catalog", "joiner:catalog"}, {"disrupt", "joiner:disrupt"},
}

// In relay mode the watcher knows functions by the unique ids of their roles, and the command that installs it names them. What
// cannot be known from here is said, with where it is found.
func TestAttachPrintsWhatTheChartNeedsInRelayMode(t *testing.T) {
	a := newAccount(t)
	client, ids := iam.NewFromConfig(a.Config()), map[string]string{}
	args := []string{"attach", "shop", "--relay", "https://sqs.us-west-2.amazonaws.com/1/joiner-relay-shop", "--image", "registry.example:5000/watcher@sha256:12", "-o", "json"}
	for _, g := range groups {
		args = append(args, "--role-"+g.name, a.role(g.name))
		if g.name == "disrupt" {
			continue // nobody made it yet
		}
		out, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("shop-" + g.name), AssumeRolePolicyDocument: aws.String("{}")})
		if err != nil {
			t.Fatal(err)
		}
		ids[aws.ToString(out.Role.RoleId)] = g.name
	}
	attach := func() (helm []string, warnings string) {
		t.Helper()
		code, text, errs := joiner("", args...)
		var out struct{ Helm, Warnings []string }
		if err := json.Unmarshal([]byte(text), &out); code != 0 || err != nil {
			t.Fatalf("exit status %d, %v, %s, %s", code, err, text, errs)
		}
		return out.Helm, strings.Join(out.Warnings, "\n")
	}
	relay := func(helm []string) (value struct {
		Enabled  bool
		QueueURL string
		Senders  map[string]string
	}) {
		t.Helper()
		for _, word := range helm {
			if text, is := strings.CutPrefix(word, "relay="); is {
				if err := json.Unmarshal([]byte(text), &value); err != nil {
					t.Fatal(err)
				}
			}
		}
		return value
	}
	helm, warnings := attach()
	if got := relay(helm); !got.Enabled || got.QueueURL != args[3] || !maps.Equal(got.Senders, ids) {
		t.Errorf("relay %+v, want senders %v", got, ids)
	}
	if !strings.Contains(warnings, "aws iam get-role --role-name shop-disrupt --query Role.RoleId") || strings.Contains(warnings, "shop-catalog") {
		t.Errorf("warned of %q", warnings)
	}
	if all := strings.Join(helm, " "); !strings.HasSuffix(all, "--set image.repository=registry.example:5000/watcher --set image.digest=sha256:12") {
		t.Errorf("%s", all)
	}
	if _, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{RoleName: aws.String("shop-disrupt"), AssumeRolePolicyDocument: aws.String("{}")}); err != nil {
		t.Fatal(err)
	}
	if helm, warnings = attach(); len(relay(helm).Senders) != 4 || strings.Contains(warnings, "get-role") {
		t.Errorf("%q, warned of %q", helm, warnings)
	}
	// A role of the name in another account is another role.
	args = append(args, "--role-disrupt", "arn:aws:iam::"+a.Account()+":role/else/shop-disrupt")
	if helm, warnings = attach(); len(relay(helm).Senders) != 3 || !strings.Contains(warnings, "your credentials are of another account") {
		t.Errorf("%q, warned of %q", helm, warnings)
	}
}

// Every command that reaches the ledger finds it by what the region's stack says of itself.
func TestTheTableIsFoundByTheInstallation(t *testing.T) {
	newAccount(t)
	if code, _, errs := joiner("", "attach", "shop"); code != 0 {
		t.Fatalf("exit status %d, %s", code, errs)
	}
	for _, c := range []struct {
		args       string
		code       int
		out, onErr string
	}{
		{"stop disruption --cluster shop --why test", 0, "Disruption is stopped", ""},
		{"stops", 0, "test", ""},
		{"stops --cluster shpo", 2, "", `cluster "shpo" is not attached; table joiner has shop`},
		{"resume disruption --cluster shop", 0, "Disruption is resumed", ""},
		{"adopt shpo", 2, "", "shpo"},
		{"stops --table other", 2, "", "list the clusters of table other"},
	} {
		code, out, errs := joiner("", strings.Fields(c.args)...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.onErr) || strings.Contains(errs, "--table") {
			t.Errorf("joiner %s: exit status %d, %s, %s", c.args, code, out, errs)
		}
	}
}

// doctor runs doctor and returns what is said of each check that is not in order, by its name.
func (a *installedAccount) doctor(t *testing.T) (status int, problems map[string]check.Finding) {
	t.Helper()
	status, out, errs := joiner("", "doctor", "-o", "json")
	var read struct {
		Findings []check.Finding
		Status   int
	}
	if err := json.Unmarshal([]byte(out), &read); err != nil || read.Status != status {
		t.Fatalf("exit status %d, %v, %s, %s", status, err, out, errs)
	}
	problems = map[string]check.Finding{}
	for _, f := range read.Findings {
		if f.Level != check.OK {
			problems[f.Check] = f
			if f.Do == "" || f.Seen == "" || f.Object == "" {
				t.Errorf("%+v says too little", f)
			}
		}
	}
	return status, problems
}

// allow gives one of shop's roles actions, and no others.
func (a *installedAccount) allow(t *testing.T, role string, actions ...string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": map[string]any{"Sid": "Own", "Effect": "Allow", "Action": actions, "Resource": "*"}})
	if err != nil {
		t.Fatal(err)
	}
	document, err := policy.Parse(text, policy.Identity)
	if err != nil {
		t.Fatal(err)
	}
	a.Policies.SetRole(a.role(role), access.Role{Identity: []policy.Attached{{Name: "own", Document: document}}})
}

// text is a parameter's.
func (a *installedAccount) text(t *testing.T, name string) string {
	t.Helper()
	out, err := ssm.NewFromConfig(a.Config()).GetParameter(t.Context(), &ssm.GetParameterInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	return aws.ToString(out.Parameter.Value)
}

// Where all is in order doctor says so; each thing that is not is found, and nothing else is.
func TestDoctorFindsWhatIsNotAsItShouldBe(t *testing.T) {
	a := newAccount(t)
	healthy := func(t *testing.T) {
		t.Helper()
		now := time.Now().Unix()
		a.planes.AddCluster(eks.Cluster{Name: "shop", Version: "1.36", Endpoint: a.server.URL, CertificateAuthority: a.ca})
		reg := model.Registration{
			Cluster: "shop", ARN: fmt.Sprintf("arn:aws:eks:%s:%s:cluster/shop", a.Region(), a.Account()), Account: a.Account(), Region: a.Region(), Version: "1.36", Endpoint: a.server.URL, CA: a.ca,
			Roles: model.Roles{Provision: a.role("provision"), Interruption: a.role("interruption"), Catalog: a.role("catalog"), Disrupt: a.role("disrupt")}, RegisteredUnix: now - 9000,
		}
		if err := a.ledger.Register(t.Context(), reg); err != nil {
			t.Fatal(err)
		}
		for _, lease := range []string{model.LeasePlanner, model.LeaseCollector, model.LeaseCatalog} {
			if _, err := a.ledger.AcquireLease(t.Context(), "shop", lease, "test", now, now+60); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := a.ledger.AdvanceManifest(t.Context(), model.Manifest{Cluster: "shop", Epoch: now, HeadSeq: now, HeartbeatAt: now, WrittenUnix: now}); err != nil {
			t.Fatal(err)
		}
		a.put(t, "/joiner/stop", "go")
	}
	for _, g := range groups {
		if err := a.planes.AddAccessEntry(eks.AccessEntry{Cluster: "shop", PrincipalARN: a.role(g.name), Groups: []string{g.group}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.planes.AddPodIdentity(eks.PodIdentity{Cluster: "shop", Namespace: "joiner", ServiceAccount: "joiner-watcher", RoleARN: a.role("watcher")}); err != nil {
		t.Fatal(err)
	}
	a.allow(t, "provision", "ec2:DescribeInstances", "ec2:CreateLaunchTemplate", "ec2:CreateFleet", "ec2:RunInstances")
	a.allow(t, "interruption", "ec2:DescribeInstances", "ec2:TerminateInstances")
	a.allow(t, "catalog", "eks:DescribeCluster", "ec2:DescribeSubnets", "iam:CreateInstanceProfile")
	a.allow(t, "disrupt", "sqs:SendMessage")
	var back []func()
	change := func(f func(*model.Registration)) func(*testing.T) {
		return func(t *testing.T) {
			reg, err := a.ledger.Cluster(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			f(&reg)
			if err := a.ledger.Register(t.Context(), reg); err != nil {
				t.Fatal(err)
			}
		}
	}
	yes := true
	tests := []struct {
		name        string
		breaks      func(*testing.T)
		status      int
		check, seen string
	}{
		{name: "nothing", breaks: func(*testing.T) {}},
		{"the stop switch", func(t *testing.T) { a.put(t, "/joiner/stop", "everything") }, 1, "stop switch", `"everything"`},
		{"a paused cluster", change(func(r *model.Registration) { r.Paused = true }), 1, "registration", "paused"},
		{"half a detach", change(func(r *model.Registration) { r.Paused, r.WasPaused = true, &yes }), 1, "registration", "a detach was started"},
		{"another version", func(*testing.T) {
			a.planes.AddCluster(eks.Cluster{Name: "shop", Version: "1.37", Endpoint: a.server.URL, CertificateAuthority: a.ca})
		}, 1, "control plane", "1.37"},
		{"another endpoint", func(*testing.T) {
			a.planes.AddCluster(eks.Cluster{Name: "shop", Version: "1.36", Endpoint: "https://else", CertificateAuthority: a.ca})
		}, 2, "control plane", "endpoint"},
		{"a role that is not let in", change(func(r *model.Registration) { r.Roles.Catalog = a.role("else") }), 2, "access entries", "function catalog is refused"},
		{"one that comes in as another", change(func(r *model.Registration) { r.Roles.Catalog = a.role("disrupt") }), 2, "access entries", "has the groups joiner:disrupt and not joiner:catalog"},
		{"an endpoint nobody reaches", change(func(r *model.Registration) { r.Endpoint = "https://127.0.0.1:1" }), 2, "API server", "cannot be reached"},
		{"a role that lacks a permission", func(t *testing.T) {
			a.allow(t, "provision", "ec2:DescribeInstances", "ec2:CreateLaunchTemplate", "ec2:RunInstances")
			back = append(back, func() {
				a.allow(t, "provision", "ec2:DescribeInstances", "ec2:CreateLaunchTemplate", "ec2:CreateFleet", "ec2:RunInstances")
			})
		}, 2, "permissions", "function provision may not ec2:CreateFleet"},
		{"a role that may too much", func(t *testing.T) {
			a.allow(t, "disrupt", "ec2:*")
			back = append(back, func() { a.allow(t, "disrupt", "sqs:SendMessage") })
		}, 1, "permissions", "function disrupt may ec2:TerminateInstances"},
		{"ticks that are disabled", func(*testing.T) {
			a.schedules.SetDisabled(doctor.TickRule, true)
			back = append(back, func() { a.schedules.SetDisabled(doctor.TickRule, false) })
		}, 2, "ticks", "the rule is DISABLED"},
		{"a function that is not ticked", func(*testing.T) {
			a.put(t, installation.Parameter, strings.Replace(a.text(t, installation.Parameter), `"provision":"arn:1"`, `"interruption":"arn:9"`, 1))
			back = append(back, func() {
				a.put(t, installation.Parameter, strings.Replace(a.text(t, installation.Parameter), `"interruption":"arn:9"`, `"provision":"arn:1"`, 1))
			})
		}, 2, "ticks", "the rule joiner-tick does not invoke it"},
		{"a rule that is disabled", func(t *testing.T) {
			rule, _ := a.bus.Rule("joiner-spot")
			back = append(back, func() { a.ruled(t, rule) })
			disabled := rule
			disabled.Disabled = true
			a.ruled(t, disabled)
		}, 2, "notices", "the rule is DISABLED: spot interruptions"},
		{"a rule that is gone", func(t *testing.T) {
			rule, _ := a.bus.Rule("joiner-health")
			back = append(back, func() { a.ruled(t, rule) })
			a.bus.DeleteRule("joiner-health")
		}, 2, "notices", "there is no such rule: nodes are not drained"},
		{"a rule without a target", func(t *testing.T) {
			rule, _ := a.bus.Rule("joiner-state")
			back = append(back, func() { a.ruled(t, rule) })
			a.ruled(t, events.Rule{Name: "joiner-state"})
		}, 2, "notices", "the rule does not send to the queue joiner-notices"},
		{"a rule that sends elsewhere", func(t *testing.T) {
			rule, _ := a.bus.Rule("joiner-rebalance")
			back = append(back, func() { a.ruled(t, rule) })
			a.ruled(t, events.Rule{Name: "joiner-rebalance", Targets: []events.Target{{ID: "x", ARN: "arn:aws:sqs:us-west-2:123456789012:other-notices-of-mine"}}})
		}, 2, "notices", "the rule does not send to the queue joiner-notices"},
		{"a quota that is used up", func(*testing.T) {
			a.quotas.Set("L-1216C47A", 0)
			back = append(back, func() { a.quotas.Set("L-1216C47A", 5) })
		}, 2, "quotas", "standard on-demand: 0 of 0 vCPUs run"},
		{"a definition that is another", func(*testing.T) {
			back = append(back, a.objects.without(poolsPath, map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": map[string]any{"versions": []any{map[string]any{"name": "v1"}}}}))
		}, 1, "definitions", "nodepools.karpenter.sh is not that of this version"},
		{"a definition that is missing", func(*testing.T) { back = append(back, a.objects.without(poolsPath, nil)) }, 2, "definitions", "nodepools.karpenter.sh does not exist"},
		{"no chart", func(*testing.T) { back = append(back, a.objects.without(watcherPath, nil)) }, 1, "definitions", "the chart is not installed"},
		{"an older watcher", func(*testing.T) {
			back = append(back, a.objects.without(watcherPath, map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/version": "0.0.9"}}}))
		}, 1, "definitions", "the watcher is of version 0.0.9 and the functions are of 0.1.0"},
		{"a class that finds no subnet", func(t *testing.T) {
			record, err := a.ledger.PutClass(t.Context(), "shop", model.ClassRecord{Name: "default", UID: "u", Status: model.ClassStatus{Problems: []model.ClassProblem{
				{Condition: model.SubnetsReady, Reason: "SubnetsNotFound", Message: "spec.subnetSelectorTerms: no subnet has karpenter.sh/discovery=shop. Remedy: Tag one."}}}})
			if err != nil {
				t.Fatal(err)
			}
			back = append(back, func() {
				if err := a.ledger.DeleteClass(t.Context(), "shop", record); err != nil {
					t.Error(err)
				}
			})
		}, 2, "node classes", "SubnetsNotFound: spec.subnetSelectorTerms"},
		{"a release of Karpenter's that lists definitions (A4)", func(t *testing.T) {
			back = append(back, a.objects.list("/api/v1/secrets", "v1", "SecretList", helmSecret(t, "kube-system", "karpenter-crd", karpenterCRD(false))))
		}, 1, "Karpenter", "helm uninstall karpenter-crd would delete the CustomResourceDefinitions nodepools.karpenter.sh"},
		{"a Karpenter that runs (A4)", func(t *testing.T) {
			back = append(back, a.objects.list("/apis/apps/v1/deployments", "apps/v1", "DeploymentList", map[string]any{
				"metadata": map[string]any{"namespace": "kube-system", "name": "karpenter"}, "spec": map[string]any{"replicas": 1},
			}))
		}, 1, "Karpenter", "both launch for the same pods"},
		{"no agent of Pod Identity (A10)", func(t *testing.T) {
			a.planes.RemoveAddon("shop", "eks-pod-identity-agent")
			back = append(back, func() {
				if err := a.planes.AddAddon(eks.Addon{Cluster: "shop", Name: "eks-pod-identity-agent"}); err != nil {
					t.Fatal(err)
				}
			})
		}, 1, "pod identity", "joiner/joiner-watcher has a role; the add-on eks-pod-identity-agent is not installed"},
		{"no role for spot (A10)", func(t *testing.T) {
			a.instances.RemoveRole("AWSServiceRoleForEC2Spot")
			back = append(back, func() { a.instances.AddRole(ec2model.Role{Name: "AWSServiceRoleForEC2Spot"}) })
		}, 1, "spot role", "no spot instance can be launched"},
		{"a small quota of concurrency (A2)", func(t *testing.T) {
			a.concurrency(t, 10)
			back = append(back, func() { a.concurrency(t, 1000) })
		}, 1, "concurrency", "10 of 10 concurrent executions are unreserved"},
		{"a key that does not let EventBridge in (A13)", func(t *testing.T) {
			encrypt := func(key string) {
				t.Helper()
				_, err := dynamodb.NewFromConfig(a.Config()).UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String("joiner"), SSESpecification: &dynamotypes.SSESpecification{Enabled: aws.Bool(true), KMSMasterKeyId: &key}})
				if err != nil {
					t.Fatal(err)
				}
			}
			a.kms.Put(kms.Key{ARN: keyARN, Policy: keyPolicy(theAccount, theLogs)})
			encrypt(keyARN)
			back = append(back, func() { encrypt("") })
		}, 2, "key", "does not allow events.amazonaws.com to kms:Decrypt, kms:GenerateDataKey"},
		{"an endpoint that became private (A36)", func(*testing.T) {
			a.planes.AddCluster(eks.Cluster{Name: "shop", Version: "1.36", Endpoint: a.server.URL, CertificateAuthority: a.ca, NoPublicAccess: true})
		}, 2, "endpoint", "functions outside of your VPC have no fixed addresses"},
		{"a stop", func(t *testing.T) {
			if err := a.ledger.Stop(t.Context(), model.Registration{Cluster: "shop"}, model.Stop{Scope: model.StopCluster, Why: "x"}); err != nil {
				t.Fatal(err)
			}
		}, 1, "stops", "1 stops hold"},
	}
	for _, tt := range tests {
		healthy(t)
		tt.breaks(t)
		status, problems := a.doctor(t)
		if status != tt.status || tt.check == "" && len(problems) > 0 || tt.check != "" && !strings.Contains(problems[tt.check].Seen, tt.seen) {
			t.Errorf("%s: exit status %d, %+v", tt.name, status, problems)
		}
		for ; len(back) > 0; back = back[1:] {
			back[0]()
		}
	}
	if err := a.ledger.Forget(t.Context(), "shop", 0); err != nil { // as if no watcher had been there
		t.Fatal(err)
	}
	status, problems := a.doctor(t)
	if status != 1 || !strings.Contains(problems["watcher"].Seen, "never published") || len(problems) != 1 {
		t.Errorf("exit status %d, %+v", status, problems)
	}
	// A cluster that no function ever looked at.
	reg, err := a.ledger.Cluster(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	reg.Cluster = "quiet"
	if err := a.ledger.Register(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
	if status, problems = a.doctor(t); status != 2 || !strings.Contains(problems["functions"].Seen, "for it was: never") {
		t.Errorf("exit status %d, %+v", status, problems)
	}
	if got := problems["plan queue"]; got.Level != check.Fail || !strings.Contains(got.Seen, "there is no queue joiner-plan-quiet.fifo") { // no stack made it
		t.Errorf("%+v", got)
	}
	if code, _, errs := joiner("", "doctor", "shpo"); code != 2 || !strings.Contains(errs, `"shpo" is not attached`) {
		t.Errorf("exit status %d, %s", code, errs)
	}
}

// What cannot be read is said, and what can is looked at all the same.
func TestDoctorGoesOnWhereItIsDenied(t *testing.T) {
	a := newAccount(t)
	t.Setenv("JOINER_TABLE", "joiner")
	a.put(t, installation.Parameter, "no JSON")
	if code, out, _ := joiner("", "doctor"); code != 1 || !strings.Contains(out, "is not what the region's stack writes") || !strings.Contains(out, "ok    ledger: table joiner") {
		t.Errorf("exit status %d, %s", code, out)
	}
	t.Setenv("JOINER_TABLE", "")
	if code, _, errs := joiner("", "doctor"); code != 2 || !strings.Contains(errs, "--table") {
		t.Errorf("exit status %d, %s", code, errs)
	}
}

// TestW2DoctorTellsRegistrationsOfEarlierVersions: one that a tenant's stack made, and two clusters with one external id.
func TestW2DoctorTellsRegistrationsOfEarlierVersions(t *testing.T) {
	a := newAccount(t)
	if code, _, errs := joiner("", "attach", "shop", "--external-id", "9b1c"); code != 0 {
		t.Fatalf("attach: %s", errs)
	}
	if _, problems := a.doctor(t); problems["registration"].Seen != "" {
		t.Errorf("before: %+v", problems["registration"])
	}
	reg, err := a.ledger.Cluster(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		change func()
		want   string
	}{
		{func() { reg.Stack = "arn:aws:cloudformation:us-west-2:999999999999:stack/joiner-cluster-shop/1" }, "of another account than the installation's"},
		{func() {
			reg.Stack = "arn:aws:cloudformation:us-west-2:" + a.Account() + ":stack/joiner-cluster-shop-hub/1"
		}, ""},
	} {
		c.change()
		if err := a.ledger.Register(t.Context(), reg); err != nil {
			t.Fatal(err)
		}
		if _, problems := a.doctor(t); (problems["registration"].Seen == "") != (c.want == "") || !strings.Contains(problems["registration"].Seen, c.want) {
			t.Errorf("registered by %s: %+v, want %q", reg.Stack, problems["registration"], c.want)
		}
	}
	other := reg
	other.Cluster = "web"
	if err := a.ledger.Register(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	if _, problems := a.doctor(t); !strings.Contains(problems["registration"].Seen, "its external id is cluster ") {
		t.Errorf("one external id for two: %+v", problems["registration"])
	}
}
