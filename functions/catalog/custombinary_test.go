package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	dynamodel "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// newAccount starts an account with the role of the catalog's function, whose ARN it returns, and EKS with clusters of another account; "" =
// of the same.
func newAccount(t *testing.T, tenant string) (account *cloud.Cloud, planes *eks.Model, function string) {
	t.Helper()
	account, err := cloud.Start(t.Context(), cloud.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { account.Close() })
	planes = eks.New(eks.Options{Account: cmp.Or(tenant, account.Account()), Region: account.Region()})
	account.Register("eks", eks.NewHandler(planes))
	account.Register("dynamodb", dynamodel.NewHandler(dynamodel.NewModel(dynamodel.Options{Account: account.Account(), Region: account.Region()})))
	return account, planes, account.STS.AddRole(sts.Role{Name: "joiner-catalog"})
}

// The function as it ships registers a cluster for CloudFormation with the permissions of the cluster's role, refuses to take one
// out whose instances live, and takes it out when they are gone.
func TestCustomResourceOfTheRealBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the function")
	}
	account, planes, function := newAccount(t, "")
	account.STS.AddRole(sts.Role{Name: "joiner-web-catalog", TrustedARNs: []string{function}, ExternalID: "9b1c"})
	arn := planes.AddCluster(eks.Cluster{Name: "web", Version: "1.36", Endpoint: "https://127.0.0.1:1", CertificateAuthority: []byte("PEM")})
	keys, err := account.STS.Assume("arn:aws:iam::"+account.Account()+":role/joiner-catalog", "test", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	ledger := dynamoledger.New(dynamodb.NewFromConfig(aws.Config{
		Region: account.Region(), BaseEndpoint: aws.String(account.Endpoint()), Credentials: credentials.NewStaticCredentialsProvider(keys.AccessKeyID, keys.SecretAccessKey, keys.SessionToken),
	}), "joiner")
	if err := ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	runner := deployed(t, account)
	in := newInbox(t)
	ask := func(kind cfn.RequestType, id string) cfn.Response {
		p := properties()
		p["arn"], p["account"], p["region"] = arn, account.Account(), account.Region()
		p["roles"] = map[string]any{"catalog": "arn:aws:iam::" + account.Account() + ":role/joiner-web-catalog"}
		r := request(kind, in, p)
		r["StackId"] = "arn:aws:cloudformation:us-west-2:" + account.Account() + ":stack/joiner-cluster-web/1"
		if id != "" {
			r["PhysicalResourceId"] = id
		}
		raw, _ := json.Marshal(r)
		if result, err := runner.Invoke(t.Context(), "joiner-catalog", raw); err != nil || result.FunctionError != "" {
			t.Fatalf("%s: %v %s\n%v", kind, err, result.ErrorMessage, runner.Logs("joiner-catalog"))
		}
		return in.last(t)
	}
	if got := ask(cfn.RequestCreate, ""); got.Status != cfn.StatusSuccess || got.PhysicalResourceID != "joiner/web" {
		t.Fatalf("create: %+v", got)
	}
	reg, err := ledger.Cluster(t.Context(), "web")
	if err != nil || reg.ARN != arn || reg.Endpoint != "https://127.0.0.1:1" || string(reg.CA) != "PEM" || reg.ExternalID != "9b1c" || reg.Roles.Catalog == "" || reg.Paused {
		t.Fatalf("registered %+v %v", reg, err)
	}
	fence, err := ledger.AcquireLease(t.Context(), "web", model.LeaseCollector, "test", time.Now().Unix(), time.Now().Unix()+60)
	if err != nil {
		t.Fatal(err)
	}
	claim := model.Claim{Name: "default-a", Pool: "default", State: model.Launched, InstanceID: "i-a", Version: 1, Reserved: model.Resources{model.Nodes: 1}}
	if err := ledger.Adopt(t.Context(), fence, claim); err != nil {
		t.Fatal(err)
	}
	if got := ask(cfn.RequestDelete, "joiner/web"); got.Status != cfn.StatusFailed || !strings.Contains(got.Reason, "1 instance (default: 1)") || !strings.Contains(got.Reason, "--hand-over") {
		t.Errorf("delete while a machine lives: %+v", got)
	}
	if reg, err := ledger.Cluster(t.Context(), "web"); err != nil || reg.Paused {
		t.Errorf("after that it is %+v %v", reg, err)
	}
	records, err := ledger.Records(t.Context(), reg)
	if err != nil || len(records.Claims) != 1 {
		t.Fatalf("%+v %v", records, err)
	}
	gone := records.Claims[0]
	gone.State = model.Gone
	if err := ledger.CloseClaim(t.Context(), fence, gone, time.Now().Unix()); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Release(t.Context(), fence); err != nil {
		t.Fatal(err)
	}
	if got := ask(cfn.RequestDelete, "joiner/web"); got.Status != cfn.StatusSuccess {
		t.Errorf("delete: %+v", got)
	}
	if _, err := ledger.Cluster(t.Context(), "web"); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is attached still: %v", err)
	}
}

// TestW2AClusterOfAnotherAccountIsRegisteredByTheHubsStackAlone: the function as it ships, in the hub's account, and a cluster with its role in a
// tenant's. The hub's stack registers it with the external id of the tenant's stack; nobody gets anywhere in the name of the tenant's, with
// another cluster's external id, or under the address of another server.
func TestW2AClusterOfAnotherAccountIsRegisteredByTheHubsStackAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the function")
	}
	const tenant, own, others = "222222222222", "c0ffee00-0000-4000-8000-000000000001", "c0ffee00-0000-4000-8000-000000000002"
	account, planes, function := newAccount(t, tenant)
	role := account.STS.AddRole(sts.Role{Account: tenant, Name: "joiner-web-us-west-2-catalog", TrustedARNs: []string{function}, ExternalID: own})
	arn := planes.AddCluster(eks.Cluster{Name: "web", Version: "1.36", Endpoint: "https://127.0.0.1:1", CertificateAuthority: []byte("PEM")})
	ledger := dynamoledger.New(dynamodb.NewFromConfig(account.Config()), "joiner")
	if err := ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	runner, in := deployed(t, account), newInbox(t)
	ask := func(kind cfn.RequestType, stack string, change map[string]any) cfn.Response {
		t.Helper()
		p := map[string]any{"cluster": "web", "arn": arn, "account": tenant, "region": account.Region(), "externalID": own, "roles": map[string]any{"catalog": role}}
		maps.Copy(p, change)
		r := request(kind, in, p)
		r["StackId"], r["PhysicalResourceId"] = stack, "joiner/web"
		raw, _ := json.Marshal(r)
		if result, err := runner.Invoke(t.Context(), "joiner-catalog", raw); err != nil || result.FunctionError != "" {
			t.Fatalf("%s: %v %s\n%v", kind, err, result.ErrorMessage, runner.Logs("joiner-catalog"))
		}
		return in.last(t)
	}
	stackOf := func(account, name string) string {
		return "arn:aws:cloudformation:us-west-2:" + account + ":stack/" + name + "/1"
	}
	hub, theirs := stackOf(account.Account(), "joiner-cluster-web-hub"), stackOf(tenant, "joiner-cluster-web")
	if got := ask(cfn.RequestCreate, theirs, nil); got.Status != cfn.StatusFailed || !strings.Contains(got.Reason, "is of account 222222222222") {
		t.Errorf("the tenant's stack: %+v", got)
	}
	if _, err := ledger.Cluster(t.Context(), "web"); !fault.Is(err, fault.NotFound) {
		t.Errorf("it registered the cluster: %v", err)
	}
	if got := ask(cfn.RequestCreate, hub, nil); got.Status != cfn.StatusSuccess {
		t.Fatalf("the hub's stack: %+v", got)
	}
	before, err := ledger.Cluster(t.Context(), "web")
	if err != nil || before.Account != tenant || before.ExternalID != own || before.Stack != hub || before.Roles.Catalog != role {
		t.Fatalf("registered %+v %v", before, err)
	}
	for name, attack := range map[string]struct {
		kind   cfn.RequestType
		stack  string
		change map[string]any
	}{
		"another DNS server in the name of the tenant's stack": {cfn.RequestUpdate, theirs, map[string]any{"clusterDNS": "203.0.113.66", "paused": "true"}},
		"a delete in its name":                                 {cfn.RequestDelete, theirs, nil},
		"another stack of the hub's account":                   {cfn.RequestUpdate, stackOf(account.Account(), "other"), map[string]any{"paused": "true"}},
		"the role of a cluster with another cluster's id":      {cfn.RequestUpdate, hub, map[string]any{"externalID": others}},
	} {
		got := ask(attack.kind, attack.stack, attack.change)
		if got.Status != cfn.StatusFailed && attack.kind != cfn.RequestDelete {
			t.Errorf("%s: %+v", name, got)
		}
		if after, err := ledger.Cluster(t.Context(), "web"); err != nil || !reflect.DeepEqual(after, before) {
			t.Errorf("%s: registered %+v %v, before %+v", name, after, err, before)
		}
	}
	if got := ask(cfn.RequestDelete, hub, nil); got.Status != cfn.StatusSuccess {
		t.Errorf("the hub's stack takes it out: %+v", got)
	}
	if _, err := ledger.Cluster(t.Context(), "web"); !fault.Is(err, fault.NotFound) {
		t.Errorf("it is attached still: %v", err)
	}
}

// deployed returns a runtime with the function of this folder.
func deployed(t *testing.T, of *cloud.Cloud) *lambdaruntime.Runner {
	t.Helper()
	path, err := lambdaruntime.Build(t.Context(), ".", ".", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	runner, err := lambdaruntime.New(lambdaruntime.Config{
		Region: of.Region(), AccountID: of.Account(), EndpointURL: of.Endpoint(),
		Credentials: func(_ context.Context, f lambdaruntime.Function) (aws.Credentials, error) {
			c, err := of.STS.Assume(f.Role, f.Name, time.Hour)
			return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, SessionToken: c.SessionToken}, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Stop)
	err = runner.Deploy(lambdaruntime.Function{
		Name: "joiner-catalog", Path: path, MemoryMB: 1024, Timeout: 60 * time.Second, Role: "arn:aws:iam::" + of.Account() + ":role/joiner-catalog",
		Env: map[string]string{"JOINER_TABLE": "joiner", "JOINER_BUCKET": "joiner", "JOINER_CATALOG_QUEUE_URL": "http://127.0.0.1/1/c.fifo", "JOINER_QUEUE_URL": "http://127.0.0.1/1/p.fifo"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return runner
}
