package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	awsaccount "github.com/joiner-sh/joiner/cmd/joiner/internal/account"
	"github.com/joiner-sh/joiner/cmd/joiner/internal/check"
	"github.com/joiner-sh/joiner/cmd/joiner/preflight"
	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	ec2model "github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/cloud/eks"
	"github.com/joiner-sh/joiner/testenv/local/cloud/kms"
	"github.com/joiner-sh/joiner/testenv/local/cloud/wire"
	"github.com/joiner-sh/joiner/testenv/local/lambdaruntime"
)

// stackList answers DescribeStacks by name, and nothing else: which stacks there are is the test's to say.
type stackList struct {
	mu     sync.Mutex
	byName map[string]stackView
}

type stackView struct {
	StackName                   string
	StackStatus                 string
	CreationTime                string
	EnableTerminationProtection bool
}

func (l *stackList) set(name, status string, protected bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName[name] = (stackView{name, status, "2026-01-01T00:00:00Z", protected}); status == "" {
		delete(l.byName, name)
	}
}

func (l *stackList) handler() http.Handler {
	type input struct{ StackName string }
	type output struct{ Stacks wire.Members[stackView] }
	return wire.Query{Namespace: "http://cloudformation.amazonaws.com/doc/2010-05-15/", Actions: map[string]wire.QueryAction{
		"DescribeStacks": wire.QueryFunc(func(_ context.Context, in *input) (*output, error) {
			l.mu.Lock()
			defer l.mu.Unlock()
			stack, there := l.byName[in.StackName]
			if !there {
				return nil, wire.Errorf("ValidationError", "Stack with id %s does not exist", in.StackName)
			}
			return &output{wire.MembersOf([]stackView{stack})}, nil
		}),
	}}
}

// preflight runs the command and returns what is not in order, by check and object.
func (a *installedAccount) preflight(t *testing.T, args ...string) (status int, problems map[string]check.Finding) {
	t.Helper()
	status, out, errs := joiner("", append([]string{"preflight", "shop", "-o", "json"}, args...)...)
	var read struct {
		Findings []check.Finding
		Status   int
	}
	if err := json.Unmarshal([]byte(out), &read); err != nil || read.Status != status {
		t.Fatalf("exit status %d, %v, %s, %s", status, err, out, errs)
	}
	problems = map[string]check.Finding{}
	for _, f := range read.Findings {
		if f.Level == check.OK {
			continue
		}
		problems[f.Check+": "+f.Object] = f
		if f.Do == "" || f.Seen == "" || f.Object == "" {
			t.Errorf("%+v says too little", f)
		}
	}
	return status, problems
}

// readyAccount is an account in which everything is as preflight wants it.
func readyAccount(t *testing.T) *installedAccount {
	t.Helper()
	a := bareAccount(t)
	a.put(t, "/cdk-bootstrap/hnb659fds/version", "28")
	return a
}

// list has the server answer a list of a kind.
func (s *apiServer) list(path, version, kind string, items ...map[string]any) (back func()) {
	if items == nil {
		items = []map[string]any{}
	}
	return s.without(path, map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"resourceVersion": "1"}, "items": items})
}

// helmSecret is the Secret of a release of Helm's with a manifest.
func helmSecret(t *testing.T, namespace, name, manifest string) map[string]any {
	t.Helper()
	text, err := json.Marshal(map[string]any{"name": name, "namespace": namespace, "manifest": manifest})
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	inner := base64.StdEncoding.EncodeToString(packed.Bytes())
	return map[string]any{"apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "metadata": map[string]any{
		"namespace": namespace, "name": "sh.helm.release.v1." + name + ".v1", "labels": map[string]any{"owner": "helm", "name": name, "status": "deployed"},
	}, "data": map[string]any{"release": base64.StdEncoding.EncodeToString([]byte(inner))}}
}

// karpenterCRD is what the chart karpenter-crd makes, as far as it matters here; keep = the annotation that has it stay.
func karpenterCRD(keep bool) string {
	annotations := "{}"
	if keep {
		annotations = "{helm.sh/resource-policy: keep}"
	}
	return "---\n# Source: karpenter-crd/templates/a.yaml\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: " + crds.NodePools + "\n  annotations: " + annotations + "\n"
}

const keyARN = "arn:aws:kms:us-west-2:123456789012:key/11111111-2222-3333-4444-555555555555"

// keyPolicy lets in whom it names.
func keyPolicy(principals ...string) string {
	var statements []string
	for _, p := range principals {
		statements = append(statements, `{"Effect": "Allow", "Principal": `+p+`, "Action": "kms:*", "Resource": "*"}`)
	}
	return `{"Version": "2012-10-17", "Statement": [` + strings.Join(statements, ", ") + `]}`
}

const (
	theAccount = `{"AWS": "arn:aws:iam::123456789012:root"}`
	theLogs    = `{"Service": "logs.us-west-2.amazonaws.com"}`
	theEvents  = `{"Service": ["sns.amazonaws.com", "events.amazonaws.com"]}`
)

// Where all is in order preflight says so; each thing that would make a deployment or a launch fail is found with the command that
// mends it, and nothing else is found. Rows A2, A4, A5, A7, A10, A13.
func TestA10PreflightFindsWhatWouldFail(t *testing.T) {
	a := readyAccount(t)
	config, ctx := a.Config(), t.Context()
	cluster := func(change func(*eks.Cluster)) func(*testing.T) func() {
		return func(*testing.T) func() {
			c := eks.Cluster{Name: "shop", Version: "1.36", Endpoint: a.server.URL, CertificateAuthority: a.ca, SubnetIDs: []string{"subnet-1"}, SecurityGroupIDs: []string{"sg-1"}}
			plain := c
			change(&c)
			a.planes.AddCluster(c)
			return func() { a.planes.AddCluster(plain) }
		}
	}
	role := func(name string) func(*testing.T) func() {
		return func(*testing.T) func() {
			a.instances.AddRole(ec2model.Role{Name: name})
			return func() { a.instances.RemoveRole(name) }
		}
	}
	both := func(first, second func(*testing.T) func()) func(*testing.T) func() {
		return func(t *testing.T) func() {
			one, two := first(t), second(t)
			return func() { one(); two() }
		}
	}
	stack := func(name, status string, protected bool) func(*testing.T) func() {
		return func(*testing.T) func() {
			a.stacks.set(name, status, protected)
			return func() { a.stacks.set(name, "", false) }
		}
	}
	key := func(k kms.Key) func(*testing.T) func() {
		return func(*testing.T) func() {
			k.ARN = keyARN
			a.kms.Put(k)
			return func() {}
		}
	}
	nothing := func(*testing.T) func() { return func() {} }
	network := func(tag string) func(*testing.T) func() {
		return func(*testing.T) func() {
			made := ec2model.DefaultNetwork(tag)
			a.Register("ec2", ec2model.NewHandler(ec2model.New(ec2model.Options{Clock: clock.System(), Account: a.Account(), Network: &made})))
			return func() { a.Register("ec2", ec2model.NewHandler(a.instances)) }
		}
	}
	full := keyPolicy(theAccount, theLogs, theEvents)
	withKey := []string{"-c", "kmsKeyArn=" + keyARN}
	nodeRole := "arn:aws:iam::123456789012:role/KarpenterNodeRole-shop"

	tests := []struct {
		name   string
		breaks func(*testing.T) func()
		args   []string
		status int
		at     string // check and object
		seen   string
		do     string
	}{
		{name: "nothing", breaks: nothing},
		{"no bootstrap", func(t *testing.T) func() {
			a.put(t, "/cdk-bootstrap/hnb659fds/version", "5")
			return func() { a.put(t, "/cdk-bootstrap/hnb659fds/version", "28") }
		}, nil, 2, "bootstrap: account 123456789012 in us-west-2", "of version 5", "npx cdk bootstrap aws://123456789012/us-west-2"},
		{"a first deployment that failed", stack("joiner", "ROLLBACK_COMPLETE", false), nil, 1, "stacks: stack joiner", "its first deployment failed", "cdk deploy deletes it"},
		{"one that is protected", stack("joiner", "ROLLBACK_COMPLETE", true), nil, 2, "stacks: stack joiner", "nothing can be deployed to it", "update-termination-protection --no-enable-termination-protection --stack-name joiner && aws cloudformation delete-stack --stack-name joiner"},
		{"a cluster's stack that hangs", stack("joiner-cluster-shop", "UPDATE_ROLLBACK_FAILED", false), nil, 2, "stacks: stack joiner-cluster-shop", "UPDATE_ROLLBACK_FAILED", "continue-update-rollback --stack-name joiner-cluster-shop"},
		{"a deployment that is under way", stack("joiner", "CREATE_IN_PROGRESS", false), nil, 1, "stacks: stack joiner", "CREATE_IN_PROGRESS", "wait until it is done"},
		{name: "stacks that are there", breaks: both(stack("joiner", "UPDATE_COMPLETE", true), stack("joiner-cluster-shop", "CREATE_COMPLETE", false))},
		{"a table that was kept", func(t *testing.T) func() {
			client := dynamodb.NewFromConfig(config)
			_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
				TableName: aws.String("joiner"), BillingMode: dynamotypes.BillingModePayPerRequest,
				AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: aws.String("PK"), AttributeType: "S"}},
				KeySchema:            []dynamotypes.KeySchemaElement{{AttributeName: aws.String("PK"), KeyType: "HASH"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: aws.String("joiner")}); err != nil {
					t.Fatal(err)
				}
			}
		}, nil, 2, "names: table joiner", "an earlier installation left it", "--import-existing-resources"},
		{"a queue", func(t *testing.T) func() {
			made, err := sqs.NewFromConfig(config).CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String("joiner-notices-dead")})
			if err != nil {
				t.Fatal(err)
			}
			return func() {
				if _, err := sqs.NewFromConfig(config).DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: made.QueueUrl}); err != nil {
					t.Fatal(err)
				}
			}
		}, nil, 2, "names: queue joiner-notices-dead", "it exists, and stack joiner does not", "aws sqs delete-queue"},
		{"a log group", func(*testing.T) func() {
			a.logs.Add("/aws/lambda/joiner-catalog")
			a.logs.Add("/aws/lambda/joiner-disrupt-of-mine")
			return func() { a.logs.Remove("/aws/lambda/joiner-catalog") }
		}, nil, 2, "names: log group /aws/lambda/joiner-catalog", "it exists", "aws logs delete-log-group --log-group-name /aws/lambda/joiner-catalog"},
		{"a function", func(t *testing.T) func() {
			own, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			if err := a.functions.Deploy(lambdaruntime.Function{Name: "joiner-provision", Path: own}); err != nil {
				t.Fatal(err)
			}
			return func() { a.concurrency(t, 1000) }
		}, nil, 2, "names: function joiner-provision", "it exists", "aws lambda delete-function --function-name joiner-provision"},
		{"a role of the region", role("joiner-interruption-us-west-2"), nil, 2, "names: role joiner-interruption-us-west-2", "it exists", "IAM console"},
		{"a role of the cluster", role("joiner-shop-us-west-2-watcher"), nil, 2, "names: role joiner-shop-us-west-2-watcher", "stack joiner-cluster-shop does not", "IAM console"},
		{"a role of nodes", role("joiner-shop-us-west-2-node"), nil, 2, "names: role joiner-shop-us-west-2-node", "stack joiner-cluster-shop does not", "IAM console"},
		{"an identity of the watcher", func(t *testing.T) func() {
			if err := a.planes.AddPodIdentity(eks.PodIdentity{Cluster: "shop", Namespace: "joiner", ServiceAccount: "joiner-watcher", RoleARN: a.role("x")}); err != nil {
				t.Fatal(err)
			}
			return func() { // replaced by one of another service account
				a.planes = eks.New(eks.Options{Account: a.Account(), Region: a.Region()})
				a.planes.AddCluster(eks.Cluster{Name: "shop", Version: "1.36", Endpoint: a.server.URL, CertificateAuthority: a.ca})
				if err := a.planes.AddAddon(eks.Addon{Cluster: "shop", Name: "eks-pod-identity-agent"}); err != nil {
					t.Fatal(err)
				}
				a.Register("eks", eks.NewHandler(a.planes))
			}
		}, nil, 2, "names: Pod Identity association joiner/joiner-watcher", "it exists", "delete-pod-identity-association"},
		{"a bucket that was kept", func(t *testing.T) func() {
			client := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
			if _, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String("joiner-123456789012-us-west-2"), CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "us-west-2"}}); err != nil {
				t.Fatal(err)
			}
			return func() {
				if _, err := client.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: aws.String("joiner-123456789012-us-west-2")}); err != nil {
					t.Fatal(err)
				}
			}
		}, nil, 2, "names: bucket joiner-123456789012-us-west-2", "an earlier installation left it", "--import-existing-resources"},
		{"a small quota of concurrency", func(t *testing.T) func() { a.concurrency(t, 10); return func() { a.concurrency(t, 1000) } }, nil, 1, "concurrency: Lambda", "10 of 10 concurrent executions are unreserved: bursts of messages are throttled", "-c batches=2, or aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384"},
		{"a quota that is too small for anybody", func(t *testing.T) func() { a.concurrency(t, 10); return func() { a.concurrency(t, 1000) } }, []string{"-c", "batches=2"}, 1, "concurrency: Lambda", "functions compete with each other", "--service-code lambda"},
		{name: "a small quota that is planned for", breaks: func(t *testing.T) func() { a.concurrency(t, 50); return func() { a.concurrency(t, 1000) } }, args: []string{"-c", "batches=2"}},
		{"one that lets nothing be reserved", func(t *testing.T) func() { a.concurrency(t, 150); return func() { a.concurrency(t, 1000) } }, []string{"-c", "reserve=true"}, 2, "concurrency: Lambda", "the functions reserve 75", "leave -c reserve=true out"},
		{name: "that quota where nothing is", breaks: func(t *testing.T) func() { a.concurrency(t, 150); return func() { a.concurrency(t, 1000) } }},
		{"few vCPUs of spot", func(*testing.T) func() {
			a.quotas.Set("L-34B43A08", 5)
			return func() { a.quotas.Set("L-34B43A08", 1152) }
		}, nil, 1, "quotas: vCPUs", "standard spot: 0 of 5 vCPUs run", "--quota-code L-34B43A08"},
		{"no vCPUs", func(*testing.T) func() {
			a.quotas.Set("L-1216C47A", 0)
			return func() { a.quotas.Set("L-1216C47A", 1152) }
		}, nil, 2, "quotas: vCPUs", "standard on-demand: 0 of 0", "--quota-code L-1216C47A"},
		{name: "no accelerators, which nobody asked for", breaks: func(*testing.T) func() {
			a.quotas.Set("L-417A185B", 0)
			return func() { a.quotas.Set("L-417A185B", 1152) }
		}},
		{name: "a small quota, of an account that has none of the functions", breaks: func(t *testing.T) func() { a.concurrency(t, 10); return func() { a.concurrency(t, 1000) } }, args: []string{"-c", "clusterAccount=123456789012"}},
		{"no role for spot", func(*testing.T) func() {
			a.instances.RemoveRole("AWSServiceRoleForEC2Spot")
			return func() { role("AWSServiceRoleForEC2Spot")(t) }
		}, nil, 1, "spot role: AWSServiceRoleForEC2Spot", "no spot instance can be launched", "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com"},
		{name: "a key that lets all in", breaks: key(kms.Key{Policy: full}), args: withKey},
		{"a key without logs", key(kms.Key{Policy: keyPolicy(theAccount, theEvents)}), withKey, 2, "key: " + keyARN, "does not allow logs.us-west-2.amazonaws.com to kms:Encrypt", `"Principal":{"Service":"logs.us-west-2.amazonaws.com"}`},
		{"a key without events", key(kms.Key{Policy: keyPolicy(theAccount, theLogs)}), withKey, 2, "key: " + keyARN, "every spot warning", `"Action":["kms:Decrypt","kms:GenerateDataKey"],"Effect":"Allow","Principal":{"Service":"events.amazonaws.com"}`},
		{"a key without the account", key(kms.Key{Policy: keyPolicy(theLogs, theEvents)}), withKey, 2, "key: " + keyARN, "no role of the account can use it", `"AWS":"arn:aws:iam::123456789012:root"`},
		{"a key that denies", key(kms.Key{Policy: strings.Replace(full, `[{`, `[{"Effect": "Deny", "Principal": "*", "Action": "kms:Generate*", "Resource": "*"}, {`, 1)}), withKey, 2, "key: " + keyARN, "kms:GenerateDataKey", "add to its policy"},
		{"a key that is disabled", key(kms.Key{Policy: full, Disabled: true}), withKey, 2, "key: " + keyARN, "it is Disabled", "aws kms enable-key"},
		{"a key that signs", key(kms.Key{Policy: full, KeySpec: "RSA_2048", Usage: "SIGN_VERIFY"}), withKey, 2, "key: " + keyARN, "RSA_2048 for SIGN_VERIFY", "aws kms create-key"},
		{"a key that is not there", nothing, []string{"-c", "kmsKeyArn=" + keyARN[:len(keyARN)-1] + "0"}, 2, "key: " + keyARN[:len(keyARN)-1] + "0", "there is no such key", "aws kms list-keys"},
		{"an old cluster", cluster(func(c *eks.Cluster) { c.Version = "1.29" }), nil, 2, "control plane: cluster shop", "Kubernetes 1.29", "--kubernetes-version 1.30"},
		{"a cluster without access entries", cluster(func(c *eks.Cluster) { c.AuthenticationMode = "CONFIG_MAP" }), nil, 2, "control plane: cluster shop", "CONFIG_MAP", "authenticationMode=API_AND_CONFIG_MAP"},
		{"IPv6", cluster(func(c *eks.Cluster) { c.IPFamily = "ipv6" }), nil, 2, "control plane: cluster shop", "IPv6", "-c ipv6=true"},
		{name: "IPv6 that is planned for", breaks: cluster(func(c *eks.Cluster) { c.IPFamily = "ipv6" }), args: []string{"-c", "ipv6=true"}},
		{"a private endpoint", cluster(func(c *eks.Cluster) { c.NoPublicAccess = true }), nil, 2, "endpoint: cluster shop", "it is private: functions outside of your VPC", "-c relay=true"},
		{"allowed addresses", cluster(func(c *eks.Cluster) { c.PublicAccessCIDRs = []string{"192.0.2.0/24"} }), nil, 2, "endpoint: cluster shop", "it is public for 192.0.2.0/24, and private", "-c subnetIds=subnet-1 -c securityGroupIds=sg-1"},
		{name: "a private endpoint by relay", breaks: cluster(func(c *eks.Cluster) { c.NoPublicAccess = true }), args: []string{"-c", "relay=true"}},
		{name: "a private endpoint from within", breaks: cluster(func(c *eks.Cluster) { c.NoPublicAccess = true }), args: []string{"-c", "subnetIds=subnet-1", "-c", "securityGroupIds=sg-1"}},
		{"from within where it is public for some", cluster(func(c *eks.Cluster) { c.NoPrivateAccess, c.PublicAccessCIDRs = true, []string{"192.0.2.0/24"} }), []string{"-c", "subnetIds=subnet-1"}, 2, "endpoint: cluster shop", "NAT gateways", "endpointPrivateAccess=true"},
		{"no agent of Pod Identity", func(t *testing.T) func() {
			a.planes.RemoveAddon("shop", "eks-pod-identity-agent")
			return func() {
				if err := a.planes.AddAddon(eks.Addon{Cluster: "shop", Name: "eks-pod-identity-agent"}); err != nil {
					t.Fatal(err)
				}
			}
		}, nil, 2, "pod identity: cluster shop", "is not installed", "aws eks create-addon --cluster-name shop --addon-name eks-pod-identity-agent"},
		{"no tags of discovery", network("other"), nil, 1, "network: cluster shop", "karpenter.sh/discovery=shop", "aws ec2 create-tags --resources"},
		{"a role of nodes that is not there", nothing, []string{"-c", "nodeRole=mine"}, 2, "node role: cluster shop", "there is no role mine", "leave -c nodeRole out"},
		{"Karpenter's role, that nothing lets in", role("KarpenterNodeRole-shop"), nil, 1, "node role: cluster shop", "has no access entry", "create-access-entry --cluster-name shop --principal-arn " + nodeRole + " --type EC2_LINUX"},
		{name: "Karpenter's role, that is let in", breaks: both(role("KarpenterNodeRole-shop"), func(t *testing.T) func() {
			if err := a.planes.AddAccessEntry(eks.AccessEntry{Cluster: "shop", PrincipalARN: nodeRole, Type: "EC2_LINUX"}); err != nil {
				t.Fatal(err)
			}
			return func() {}
		}), args: []string{"-c", "nodeRole=KarpenterNodeRole-shop"}},
		{"Karpenter that runs", func(*testing.T) func() {
			return a.objects.list("/apis/apps/v1/deployments", "apps/v1", "DeploymentList", map[string]any{
				"metadata": map[string]any{"namespace": "kube-system", "name": "karpenter"}, "spec": map[string]any{"replicas": 2}, "status": map[string]any{"replicas": 2},
			})
		}, nil, 1, "Karpenter: cluster shop", "Deployment kube-system/karpenter, 2 replicas", "-c paused=true"},
		{"machines of a Karpenter that does not", func(*testing.T) func() {
			return a.objects.list("/apis/karpenter.sh/v1/nodeclaims", "karpenter.sh/v1", "NodeClaimList", map[string]any{
				"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{},
			})
		}, nil, 1, "Karpenter: cluster shop", "1 NodeClaims exist", "joiner adopt shop"},
		{"Karpenter's release", func(t *testing.T) func() {
			return a.objects.list("/api/v1/secrets", "v1", "SecretList", helmSecret(t, "kube-system", "karpenter-crd", karpenterCRD(false)))
		}, nil, 1, "Karpenter: Helm release kube-system/karpenter-crd", "helm uninstall karpenter-crd would delete the CustomResourceDefinitions nodepools.karpenter.sh", "kubectl delete secret -n kube-system -l owner=helm,name=karpenter-crd"},
		{name: "a release that keeps them", breaks: func(t *testing.T) func() {
			return a.objects.list("/api/v1/secrets", "v1", "SecretList", helmSecret(t, "joiner", "joiner", karpenterCRD(true)), helmSecret(t, "web", "shop", "kind: Service\n"))
		}},
		{"an API server that does not answer", cluster(func(c *eks.Cluster) { c.Endpoint = "https://127.0.0.1:1" }), nil, 1, "Karpenter: cluster shop", "it could not be checked", "can be reached from here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			back := tt.breaks(t)
			defer back()
			status, problems := a.preflight(t, tt.args...)
			if tt.at == "" {
				if status != 0 || len(problems) > 0 {
					t.Errorf("exit status %d, %+v", status, problems)
				}
				return
			}
			f := problems[tt.at]
			if status != tt.status || !strings.Contains(f.Seen, tt.seen) || !strings.Contains(f.Do, tt.do) {
				t.Errorf("exit status %d, want %d; %q is %+v, want %q and %q\nall: %+v", status, tt.status, tt.at, f, tt.seen, tt.do, problems)
			}
			for at, other := range problems { // a network without tags lacks two kinds of things
				if at != tt.at {
					t.Errorf("found beside it: %+v", other)
				}
			}
		})
	}
}

// A cluster that is not there is said once, and what hangs on it is left.
func TestPreflightOfAClusterThatIsNotThere(t *testing.T) {
	readyAccount(t)
	status, out, errs := joiner("", "preflight", "shpo")
	if status != 2 || !strings.Contains(out, "EKS has no cluster of that name in us-west-2") || !strings.Contains(out, " 0 warnings, 1 failed.") {
		t.Errorf("exit status %d, %s, %s", status, out, errs)
	}
}

// The account that has not opted in to a region learns the command that does.
func TestPreflightOfARegionThatIsNotOptedIn(t *testing.T) {
	readyAccount(t)
	status, out, _ := joiner("", "preflight", "shop", "--region", "af-south-1")
	if status != 2 || !strings.Contains(out, "fail  region: af-south-1: the account has not opted in to it") || !strings.Contains(out, "aws account enable-region --region-name af-south-1") {
		t.Errorf("exit status %d, %s", status, out)
	}
}

// The options of the deployment are those of cdk.json, and -c over them, as for cdk deploy; what makes no sense is refused by name.
func TestPreflightReadsTheOptionsOfTheDeployment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cdk.json")
	if err := os.WriteFile(path, []byte(`{"app": "go run .", "context": {"relay": true, "subnetIds": ["subnet-1", "subnet-2"], "maxClusters": 30, "@aws-cdk/x": true, "nodeRole": "all", "cluster": "web",
		"clusters": ["web", {"name": "shop", "nodeRole": "mine", "account": "222222222222"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	plan, err := preflight.Parse("shop", path, []string{"relay=false", "reserve=true"})
	if err != nil || plan.Relay || !plan.Reserve || plan.NodeRole != "mine" || !plan.Foreign || !slices.Equal(plan.Subnets, []string{"subnet-1", "subnet-2"}) || plan.ReservedConcurrency() != 2*30+1+2*30+11+30+2+30+1 {
		t.Errorf("%+v %v", plan, err)
	}
	for want, options := range map[string][]string{
		`option relay: "yes please" is neither`: {"relay=yes please"}, `-c relay: give KEY=VALUE`: {"relay"}, `option maxClusters: "0"`: {"maxClusters=0"}, `it names "web"`: {"cluster=web"},
	} {
		if _, err := preflight.Parse("shop", "", options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", options, err, want)
		}
	}
	if code, _, errs := joiner("", "preflight", "shop", "--cdk-json", "/nowhere"); code != 2 || !strings.Contains(errs, "read the options of the deployment") {
		t.Errorf("exit status %d, %s", code, errs)
	}
}

var parameterOfRegion = regexp.MustCompile(`\$\{AWS::(AccountId|Region|Partition)\}`)

// templateNames are the names that a template gives to what preflight looks for, as they are in an account.
func templateNames(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile("../../infra/cdk/templates/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	by := map[string]string{
		"AWS::DynamoDB::Table": "TableName", "AWS::S3::Bucket": "BucketName", "AWS::SQS::Queue": "QueueName", "AWS::Lambda::Function": "FunctionName",
		"AWS::Logs::LogGroup": "LogGroupName", "AWS::IAM::Role": "RoleName", "AWS::SSM::Parameter": "Name",
	}
	var out []string
	for _, r := range template.Resources {
		property, checked := by[r.Type]
		if !checked {
			continue
		}
		name, is := r.Properties[property].(string)
		if object, composed := r.Properties[property].(map[string]any); composed {
			name, is = object["Fn::Sub"].(string)
		}
		if !is {
			t.Fatalf("%s: a resource of type %s is called %v", file, r.Type, r.Properties[property])
		}
		values := map[string]string{"AccountId": "123456789012", "Region": "us-west-2", "Partition": "aws"}
		out = append(out, parameterOfRegion.ReplaceAllStringFunc(name, func(found string) string { return values[parameterOfRegion.FindStringSubmatch(found)[1]] }))
	}
	slices.Sort(out)
	return out
}

// Preflight looks for every name that the stacks' templates give to what it knows of, and for no other.
func TestA7PreflightKnowsTheNamesOfTheTemplates(t *testing.T) {
	a := readyAccount(t)
	caller, err := awsaccount.New(t.Context(), a.Config())
	if err != nil {
		t.Fatal(err)
	}
	site := preflight.New(caller, preflight.Plan{Cluster: "joiner-demo", Namespace: "joiner"}, nil)
	for file, got := range map[string][]string{"region.json": site.RegionNames(), "cluster.json": site.ClusterNames()} {
		want := templateNames(t, file)
		slices.Sort(got)
		if len(want) < 5 || !slices.Equal(got, want) {
			t.Errorf("%s: preflight looks for\n%v, the template makes\n%v", file, got, want)
		}
	}
}

// reserved are the executions that a template's functions reserve, by name.
func reserved(t *testing.T, file string) map[string]int {
	t.Helper()
	text, err := os.ReadFile("../../infra/cdk/templates/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				FunctionName                 any
				ReservedConcurrentExecutions int
			}
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, r := range template.Resources {
		if r.Type == "AWS::Lambda::Function" {
			out[fmt.Sprint(r.Properties.FunctionName)] = r.Properties.ReservedConcurrentExecutions
		}
	}
	return out
}

// What functions reserve, where people want that, is what the template says; as deployed they reserve nothing.
func TestA2PreflightKnowsWhatTheTemplatesReserve(t *testing.T) {
	for name, n := range reserved(t, "region.json") {
		if n != 0 {
			t.Errorf("function %s reserves %d as deployed, and preflight takes it to reserve nothing", name, n)
		}
	}
	all, sum := reserved(t, "region-hardened.json"), 0
	for name, n := range all {
		if name != "joiner-webhook" {
			sum += n
		}
	}
	clusters := (all["joiner-provision"] - 1) / 2
	if plan := (preflight.Plan{MaxClusters: clusters}); clusters < 2 || sum != plan.ReservedConcurrency() {
		t.Errorf("preflight takes functions for %d clusters to reserve %d, the template says %d: %v", clusters, plan.ReservedConcurrency(), sum, all)
	}
}

// Help names the permissions it takes: what is asked of AWS, and nothing else.
func TestPreflightNamesItsRights(t *testing.T) {
	a := readyAccount(t)
	a.kms.Put(kms.Key{ARN: keyARN, Policy: keyPolicy(theAccount, theLogs, theEvents)})
	client := ec2.NewFromConfig(a.Config())
	images, err := client.DescribeImages(t.Context(), &ec2.DescribeImagesInput{Filters: []ec2types.Filter{{Name: aws.String("architecture"), Values: []string{"x86_64"}}}})
	if err != nil || len(images.Images) == 0 {
		t.Fatal(err)
	}
	if _, err := client.RunInstances(t.Context(), &ec2.RunInstancesInput{ImageId: images.Images[0].ImageId, InstanceType: "m5.large", MinCount: aws.Int32(1), MaxCount: aws.Int32(1)}); err != nil {
		t.Fatal(err)
	}
	for seen := false; !seen; time.Sleep(50 * time.Millisecond) { // EC2 shows new instances a moment later
		out, err := client.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{})
		if err != nil {
			t.Fatal(err)
		}
		seen = len(out.Reservations) > 0
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	a.Watch(func(r cloud.Request) {
		mu.Lock()
		defer mu.Unlock()
		name := r.Service + ":" + r.Action
		if name == "s3:HeadBucket" { // whose right has another name
			name = "s3:ListBucket"
		}
		asked[name] = true
	})
	if status, problems := a.preflight(t, "-c", "kmsKeyArn="+keyARN, "-c", "relay=true"); status != 0 {
		t.Errorf("exit status %d, %+v", status, problems)
	}
	mu.Lock()
	got := slices.Sorted(maps.Keys(asked))
	mu.Unlock()
	want := slices.Sorted(slices.Values(preflight.Permissions))
	if !slices.Equal(got, want) {
		t.Errorf("it asks for\n%v, and names\n%v", got, want)
	}
	_, out, _ := joiner("", "preflight", "--help")
	for _, right := range preflight.Permissions {
		if !strings.Contains(out, right) {
			t.Errorf("%s is not in the help", right)
		}
	}
	for _, line := range strings.Split(out, "\n") {
		if len(line) > 124 {
			t.Errorf("too wide: %s", line)
		}
	}
}
