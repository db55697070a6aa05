package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/infra/chart"
	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/api/crds"
	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/local/cloud"
	clouddynamodb "github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb"
	"github.com/joiner-sh/joiner/testenv/local/cloud/sts"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/timed"
)

// place is a control plane and our model of AWS, with what a watcher needs in both.
type place struct {
	t      testing.TB
	cloud  *cloud.Cloud
	plane  *kube.ControlPlane
	ledger *dynamoledger.Ledger
	store  *s3snapshot.Store
	queue  *sqs.Client
	url    string
	binary string
}

const bucketName, tableName, clusterName = "snapshots", "joiner", "prod"

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{t: t, binary: filepath.Join(t.TempDir(), "watcher")}
	built := make(chan error, 1)
	go func() {
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.binary, ".").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("build the watcher: %w: %s", err, out)
		}
		built <- err
	}()
	p.startCloud()
	var err error
	if p.plane, err = kube.Start(t.Context(), kube.Options{Progress: os.Stderr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.plane.Stop)
	p.apply(append(crds.Manifests(), chart.Rights())...)
	if err := <-built; err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) startCloud() {
	t := p.t
	t.Helper()
	var err error
	if p.cloud, err = cloud.Start(t.Context(), cloud.Options{}); err != nil {
		t.Fatal(err)
	}
	p.cloud.STS.AddRole(sts.Role{Name: "joiner-watcher"})
	p.cloud.Register("dynamodb", clouddynamodb.NewHandler(clouddynamodb.NewModel(clouddynamodb.Options{Account: p.cloud.Account(), Region: p.cloud.Region()})))
	config := p.cloud.Config()
	p.ledger = dynamoledger.New(dynamodb.NewFromConfig(config), tableName)
	if err := p.ledger.EnsureTable(t.Context()); err != nil {
		t.Fatal(err)
	}
	objects := s3.NewFromConfig(config, func(o *s3.Options) { o.UsePathStyle = true })
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket:                    aws.String(bucketName),
		CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: types.BucketLocationConstraint(p.cloud.Region())},
	}); err != nil {
		t.Fatal(err)
	}
	p.store = s3snapshot.New(objects, bucketName)
	p.queue = sqs.NewFromConfig(config)
	out, err := p.queue.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("plan.fifo"), Attributes: map[string]string{"FifoQueue": "true"}})
	if err != nil {
		t.Fatal(err)
	}
	p.url = *out.QueueUrl
}

func (p *place) apply(manifests ...[]byte) {
	p.t.Helper()
	if err := p.plane.Apply(p.t.Context(), manifests...); err != nil {
		p.t.Fatal(err)
	}
}

// replica is one running watcher.
type replica struct {
	command *exec.Cmd
	done    chan struct{}

	mu        sync.Mutex
	addresses map[string]string // it serves at, by what it said of it
	log       []string
}

// start runs a replica with the permissions and roles we ship. Its log is shown when the test fails.
func (p *place) start(name string, env ...string) *replica {
	t := p.t
	t.Helper()
	config, err := p.plane.ServiceAccount(t.Context(), "joiner", "joiner-watcher")
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := kube.Kubeconfig(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := p.cloud.STS.Assume("arn:aws:iam::"+p.cloud.Account()+":role/joiner-watcher", name, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{command: exec.Command(p.binary), done: make(chan struct{})}
	r.command.Env = append(append(append(os.Environ(), p.cloud.Environment(keys)...),
		"KUBECONFIG="+path, "JOINER_CLUSTER="+clusterName, "JOINER_QUEUE_URL="+p.url, "JOINER_BUCKET="+bucketName,
		"JOINER_TABLE="+tableName, "JOINER_IDENTITY="+name, "JOINER_HEALTH_ADDRESS=127.0.0.1:0", "JOINER_LEASE_DURATION=3s"), env...)
	output, err := r.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.command.Stderr = os.Stderr
	if err := r.command.Start(); err != nil {
		t.Fatal(err)
	}
	go r.read(output)
	t.Cleanup(func() {
		r.command.Process.Kill()
		<-r.done
		if t.Failed() {
			t.Logf("log of %s:\n%s", name, strings.Join(r.lines(), "\n"))
		}
	})
	return r
}

func (r *replica) read(output io.Reader) {
	defer close(r.done)
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var line struct{ Msg, Address string }
		_ = json.Unmarshal(lines.Bytes(), &line) // a line that is no JSON is kept all the same
		r.mu.Lock()
		r.log = append(r.log, lines.Text())
		if line.Address != "" {
			if r.addresses == nil {
				r.addresses = map[string]string{}
			}
			r.addresses[line.Msg] = line.Address
		}
		r.mu.Unlock()
	}
	_ = r.command.Wait() // how it ended is the test's to evaluate
}

func (r *replica) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.log)
}

// address is where it answers the kubelet, empty until it is said.
func (r *replica) address() string { return r.served("serving health") }

// served is where it serves something, empty until it is said.
func (r *replica) served(what string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.addresses[what]
}

// hints receives until one satisfies ok, and returns it; the test fails when none comes in a time no healthy watcher takes.
func (p *place) hint(what string, ok func(wire.Hint) bool) wire.Hint {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	for {
		out, err := p.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &p.url, WaitTimeSeconds: 20, MaxNumberOfMessages: 1})
		if err != nil {
			p.t.Fatalf("no hint came: %s: %v", what, err)
		}
		for _, m := range out.Messages {
			hint, err := wire.DecodeHint([]byte(*m.Body))
			if err != nil {
				p.t.Fatal(err)
			}
			if _, err := p.queue.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &p.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				p.t.Fatal(err)
			}
			if ok(hint) {
				return hint
			}
		}
	}
}

// published returns the manifest and the state a function would read now.
func (p *place) published() (model.Manifest, *model.Snapshot) {
	p.t.Helper()
	ledger, err := p.ledger.Load(p.t.Context(), model.Registration{Cluster: clusterName, Account: p.cloud.Account(), Region: p.cloud.Region()})
	if err != nil || ledger.Manifest == nil {
		p.t.Fatalf("pointer %v, %v", ledger.Manifest, err)
	}
	s, err := p.store.SnapshotAt(p.t.Context(), *ledger.Manifest)
	if err != nil {
		p.t.Fatal(err)
	}
	return *ledger.Manifest, s
}

func deployment(name string, replicas int) []byte {
	return fmt.Appendf(nil, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s, namespace: default}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: a, image: x, env: [{name: PASSWORD, value: SECRET}], resources: {requests: {cpu: 250m}}}]}
`, name, replicas)
}

func podsNamed(hint wire.Hint, prefix string) int {
	n := 0
	for _, p := range hint.Pods {
		if strings.HasPrefix(p.Name, prefix) {
			n++
		}
	}
	return n
}

// M52: pods that nothing can hold become a hint that names them, over a published state that shows them; when the
// leader is killed the other replica goes on, and what the first may still do is without effect.
func TestTwoReplicasForwardAClusterThroughTheLossOfTheLeader(t *testing.T) {
	p := newPlace(t)
	first := p.start("watcher-0")
	p.hint("the first leadership", func(h wire.Hint) bool { return h.Reason == wire.ReasonConfig })
	second := p.start("watcher-1")

	p.apply(deployment("web", 12))
	seen := 0
	hint := p.hint("12 pods", func(h wire.Hint) bool { seen += podsNamed(h, "web-"); return seen >= 12 })
	manifest, s := p.published()
	if manifest.Epoch != 1 || manifest.HeadSeq < hint.Seq || manifest.WatcherOwner != "watcher-0" {
		t.Errorf("pointer %+v, hint %d/%d", manifest, hint.Epoch, hint.Seq)
	}
	if waited := hint.ClosedMillis - hint.FirstSeenMillis; waited < 300 {
		t.Errorf("the batch was open for %d ms", waited)
	} else {
		timed.Within(t, "the batch is open", time.Duration(waited)*time.Millisecond, 5*time.Second)
	}
	unschedulable := 0
	for i := range s.Pods {
		if s.Pods[i].Unschedulable && s.ShapeOf(&s.Pods[i]).Labels["app"] == "web" {
			unschedulable++
		}
	}
	if unschedulable != 12 {
		t.Errorf("the published state shows %d pods waiting, want 12", unschedulable)
	}
	if data, err := json.Marshal(s); err != nil || strings.Contains(string(data), "SECRET") {
		t.Errorf("a secret left the cluster, or %v", err)
	}

	for _, r := range []*replica{first, second} {
		for _, path := range []string{"/healthz", "/readyz"} {
			response, err := http.Get("http://" + r.address() + path)
			if err != nil || response.StatusCode != http.StatusOK {
				t.Fatalf("%s: %v, %v", path, response, err)
			}
			response.Body.Close()
		}
	}

	first.command.Process.Kill()
	p.apply(deployment("api", 3))
	hint = p.hint("3 pods after the leader's death", func(h wire.Hint) bool { return h.Epoch == 2 && podsNamed(h, "api-") == 3 })
	if podsNamed(hint, "web-") != 12 {
		t.Errorf("what waited before is not in the new leader's first hint: %d", podsNamed(hint, "web-"))
	}
	if manifest, _ := p.published(); manifest.WatcherOwner != "watcher-1" {
		t.Errorf("pointer %+v", manifest)
	}
}

// M53: somebody deletes NodeClaims and a Node of ours: one hint of it goes to those who empty nodes, and none to those
// who plan.
func TestDeletedNodesAndClaimsAreTold(t *testing.T) {
	p := newPlace(t)
	p.start("watcher-0")
	p.hint("the first leadership", func(h wire.Hint) bool { return h.Reason == wire.ReasonConfig })
	var manifests [][]byte
	for _, name := range []string{"a", "b", "c"} {
		manifests = append(manifests, fmt.Appendf(nil, `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %[1]s, labels: {karpenter.sh/nodepool: general}, finalizers: [karpenter.sh/termination]}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: []
---
apiVersion: v1
kind: Node
metadata: {name: %[1]s, labels: {karpenter.sh/nodepool: general, karpenter.sh/registered: "true"}, finalizers: [karpenter.sh/termination]}
`, name))
	}
	p.apply(manifests...)
	p.hint("the nodes", func(h wire.Hint) bool { return h.Reason == wire.ReasonNode })
	config := p.plane.Config()
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	custom, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := custom.Resource(apiv1.NodeClaimResource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := core.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	hint := p.hint("what is being deleted", func(h wire.Hint) bool { return h.Reason == wire.ReasonEnd })
	if hint.Cluster != clusterName || hint.Epoch != 1 {
		t.Errorf("%+v", hint)
	}
	timed.Within(t, "what is being deleted is told", time.Since(began), 5*time.Second)
	time.Sleep(time.Second)
	out, err := p.queue.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &p.url})
	if err != nil || len(out.Messages) != 0 {
		t.Errorf("told more than once: %v, %v", out, err)
	}
}

func TestALeaderThatIsToldToStopGivesItsLeaseBack(t *testing.T) {
	p := newPlace(t)
	first := p.start("watcher-0", "JOINER_LEASE_DURATION=1h") // nobody could wait for that to pass
	p.hint("the first leadership", func(h wire.Hint) bool { return h.Epoch == 1 })
	if err := first.command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-first.done
	if code := first.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p.start("watcher-1")
	p.hint("the second leadership", func(h wire.Hint) bool { return h.Epoch == 2 })
}

func TestAWatcherIsReadyOnceItHasSeenTheCluster(t *testing.T) {
	ready := false
	server := httptest.NewServer(health(func() bool { return ready }))
	defer server.Close()
	get := func(path string) int {
		t.Helper()
		response, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	if get("/healthz") != http.StatusOK || get("/readyz") != http.StatusServiceUnavailable || get("/debug/pprof/") != http.StatusNotFound {
		t.Error("before the cluster is seen: want alive, not ready, and no profiles")
	}
	ready = true
	if get("/readyz") != http.StatusOK {
		t.Error("afterwards: want ready")
	}
}
