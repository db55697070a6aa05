package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	ec2sdk "github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// The hashes Karpenter left: of its own rules, so that they are equal to none of ours.
const (
	karpenterPoolHash  = "16553871846239834014"
	karpenterClassHash = "3787823467582339877"
)

// TestS31_F136_R18_AClusterOfKarpenterBecomesOurs takes over a running cluster as Karpenter 1.14 leaves it: told first, refused
// while Karpenter runs, done once, found done the second time. Nothing drifts by it but what had drifted, nothing ends, and
// no pod notices. Then it is a cluster as any other: it gets nodes for more pods, and a node whose NodeClaim somebody deletes
// is drained without losing a pod.
func TestS31_F136_R18_AClusterOfKarpenterBecomesOurs(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Adopters: true, FunctionEnv: map[string]string{"JOINER_CONFIRM_AFTER": "2s"}})
	// The hostname rule makes three instances of three pods.
	apart := `affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}`
	c.apply(t, namespace("shop"), class("default"), pool("default", "default", general, nil, nil))
	c.awaitReady(t, nodePools, "default")
	c.apply(t, deployment("shop", "web", 3, "500m", apart))
	c.awaitRunning(t, "shop", 3, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised and tagged", func(ctx context.Context) string {
		for _, claim := range c.ledger(t).Claims {
			if claim.State != model.Initialized || claim.Annotations[model.AnnotationTagged] != "true" {
				return claim.Name + " is " + string(claim.State)
			}
		}
		return ""
	})
	k := c.karpenterWas(t, 3)
	before := c.podsOf(t, "shop")

	// Told, with nothing written.
	versions := c.versions(t)
	reported := c.adopt(t, 0, "-o", "json")
	if n := reported.verdicts(); n["adopt"] != 3 || n["wait"] != 1 || len(n) != 2 || reported.Applied || len(reported.Karpenter) != 2 {
		t.Fatalf("told %v, Karpenter: %q", n, reported.Karpenter)
	}
	for _, claim := range reported.NodeClaims {
		if claim.Verdict == "adopt" && (claim.State != "Initialized" || claim.PricePerHour <= 0 || !strings.HasPrefix(strings.Join(claim.Due, " "), "record tag stamp") || claim.InstanceID == "" || claim.Node == "") {
			t.Errorf("%+v", claim)
		}
	}
	if !slices.Contains(reported.named(k.tainted).Due, "untaint") || reported.named(k.drifted).Drift != "NodeClassDrift" || reported.named(k.waiting).Code != "NotLaunched" {
		t.Errorf("%+v\n%+v\n%+v", reported.named(k.tainted), reported.named(k.drifted), reported.named(k.waiting))
	}
	refused := c.adopt(t, 2, "-o", "json", "--yes")
	if refused.Applied || len(c.ledger(t).Claims) != 0 || !slices.Equal(versions, c.versions(t)) {
		t.Errorf("something was written: %d claims, NodeClaims and nodes\n%q, before\n%q", len(c.ledger(t).Claims), c.versions(t), versions)
	}
	for _, i := range c.running() {
		if i.Tags["joiner.sh/intent"] != "" {
			t.Errorf("instance %s was tagged", i.ID)
		}
	}

	// Done, by the role for it and then, to find nothing more to do, through a kubeconfig.
	k.stop(t)
	if done := c.adopt(t, 0, "-o", "json", "--yes"); done.verdicts()["adopt"] != 3 || len(done.Karpenter) != 0 {
		t.Fatalf("did %v, Karpenter: %q", done.verdicts(), done.Karpenter)
	}
	c.adopted(t, k)
	await(t, time.Minute, "EC2 shows the tags", func(ctx context.Context) string {
		if n, err := c.shownWith(ctx, "joiner.sh/intent"); err != nil || n < 3 {
			return fmt.Sprintf("those of %d machines, %v", n, err)
		}
		return ""
	})
	versions = c.versions(t)
	again := c.adopt(t, 0, "-o", "json", "--yes", "--own-rights", "--kubeconfig", c.Kube.KubeconfigPath())
	if n := again.verdicts(); n["ours"] != 3 || n["wait"] != 1 || !slices.Equal(versions, c.versions(t)) {
		t.Errorf("the second time: %v", n)
	}

	// Ours: the functions resync, and find nothing wrong.
	k.giveUp(t)
	time.Sleep(6 * time.Second) // the watcher publishes what nobody waits for every five seconds: the taint was Karpenter's
	c.pause(t, false)
	for range 3 {
		for _, tick := range []func(context.Context) error{c.resync, c.collect, c.resolve} {
			if err := tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(3 * time.Second)
	}
	c.oneEach(t)
	c.adopted(t, k)
	for _, claim := range c.ledger(t).Claims {
		status, reason, _ := c.condition(t.Context(), nodeClaims, claim.Name, "Drifted")
		if drifted := claim.Name == k.drifted; drifted != (status == "True") || drifted && reason != "NodeClassDrift" {
			t.Errorf("claim %s: Drifted is %s %s", claim.Name, status, reason)
		}
	}
	if now := c.podsOf(t, "shop"); !slices.Equal(now, before) {
		t.Errorf("pods were\n%q, and are\n%q", before, now)
	}

	// A cluster as any other.
	c.apply(t, deployment("shop", "web", 4, "500m", apart))
	c.awaitRunning(t, "shop", 4, 2*time.Minute)
	await(t, time.Minute, "the fourth is initialised", c.settled(t))
	c.oneEach(t)
	c.drainsWithoutLoss(t, k.drifted)
}

// TestANodeKarpenterWasDrainingIsDrainedOn takes over a cluster whose Karpenter was stopped after it had tainted a node and
// deleted its objects, which its finalizers keep, and before the pod had left.
func TestANodeKarpenterWasDrainingIsDrainedOn(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Adopters: true, FunctionEnv: map[string]string{"JOINER_CONFIRM_AFTER": "2s"}})
	c.apply(t, namespace("shop"), class("default"), pool("default", "default", general, nil, nil))
	c.awaitReady(t, nodePools, "default")
	c.apply(t, deployment("shop", "web", 1, "500m"))
	c.awaitRunning(t, "shop", 1, 2*time.Minute)
	await(t, time.Minute, "the claim is initialised", c.settled(t))
	claim := c.ledger(t).Claims[0]
	k := c.karpenterWas(t, 1)
	for resource, name := range map[schema.GroupVersionResource]string{nodeClaims: claim.Name, {Version: "v1", Resource: "nodes"}: claim.NodeName} {
		if err := c.dynamic.Resource(resource).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	k.stop(t)
	k.giveUp(t)
	done := c.adopt(t, 0, "-o", "json", "--yes")
	if got := done.named(claim.Name); got.Verdict != "adopt" || got.State != "Draining" || strings.Join(got.Done, " ") != "record tag" {
		t.Fatalf("%+v", got)
	}
	if now := c.podsOf(t, "shop"); len(now) != 1 || !strings.Contains(now[0], claim.NodeName) {
		t.Errorf("the pod was touched: %q", now)
	}
	c.pause(t, false)
	if err := c.collect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.ended(t, claim.Name, claim.InstanceID, claim.NodeName, func(context.Context) {})
	c.awaitRunning(t, "shop", 1, 2*time.Minute)
	c.adoptedIsGone(t, claim.Name)
}

// karpenters is what a cluster of Karpenter has that the test names.
type karpenters struct {
	c                         *cluster
	drifted, tainted, waiting string // names of NodeClaims
	resign                    func() // ends its leadership; returns once that is renewed no more
}

// karpenterWas makes the cluster, which is paused from then on, one that Karpenter made and runs: no ledger, no tag of ours,
// and what Karpenter 1.14 writes to objects.
func (c *cluster) karpenterWas(t *testing.T, n int) *karpenters {
	t.Helper()
	c.pause(t, true)
	time.Sleep(3 * time.Second) // what is under way ends
	claims := c.ledger(t).Claims
	if len(claims) != n {
		t.Fatalf("%d claims", len(claims))
	}
	k := &karpenters{c: c, drifted: claims[0].Name, tainted: claims[n/2].Name, waiting: "default-waits"}
	c.loseLedger(t)
	ec2 := ec2sdk.NewFromConfig(c.Cloud.Config())
	for _, i := range c.running() {
		_, err := ec2.DeleteTags(t.Context(), &ec2sdk.DeleteTagsInput{Resources: []string{i.ID}, Tags: []ec2types.Tag{{Key: awssdk.String("joiner.sh/intent")}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"kubernetes.io/cluster/joiner-demo", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass", "eks:eks-cluster-name"} {
			if i.Tags[key] == "" {
				t.Errorf("instance %s has no tag %s, which Karpenter gives its own", i.ID, key)
			}
		}
	}
	await(t, time.Minute, "EC2 shows no tag of ours", func(ctx context.Context) string {
		if n, err := c.shownWith(ctx, "joiner.sh/intent"); err != nil || n > 0 {
			return fmt.Sprintf("%d machines have one, %v", n, err)
		}
		return ""
	})
	hashes := fmt.Sprintf(`"karpenter.k8s.aws/ec2nodeclass-hash": %q, "karpenter.k8s.aws/ec2nodeclass-hash-version": "v6"`, karpenterClassHash)
	c.patch(t, classes, "default", `{"metadata": {"finalizers": ["karpenter.k8s.aws/termination"], "annotations": {`+hashes+`}}}`)
	hashes += fmt.Sprintf(`, "karpenter.sh/nodepool-hash": %q, "karpenter.sh/nodepool-hash-version": "v3"`, karpenterPoolHash)
	c.patch(t, nodePools, "default", `{"metadata": {"annotations": {"karpenter.sh/nodepool-hash": "`+karpenterPoolHash+`", "karpenter.sh/nodepool-hash-version": "v3"}}}`)
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	for _, claim := range claims {
		c.patch(t, nodeClaims, claim.Name, `{"metadata": {"finalizers": ["karpenter.sh/termination"], "annotations": {`+hashes+`}}}`)
		c.addConditions(t, claim.Name, claim.Name == k.drifted)
		c.patch(t, nodes, claim.NodeName, `{"metadata": {"finalizers": ["karpenter.sh/termination"], "annotations": {`+hashes+`}}}`)
		if claim.Name == k.tainted {
			c.patch(t, nodes, claim.NodeName, `{"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}}`)
		}
	}
	c.apply(t, fmt.Sprintf(`apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: %s
  finalizers: [karpenter.sh/termination]
  labels: {karpenter.sh/nodepool: default, karpenter.k8s.aws/ec2nodeclass: default}
spec:
  requirements: [{key: karpenter.sh/nodepool, operator: In, values: [default]}]
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: kube-system, labels: {app.kubernetes.io/name: karpenter, app.kubernetes.io/instance: karpenter}}
spec:
  replicas: 2
  selector: {matchLabels: {app.kubernetes.io/name: karpenter}}
  template:
    metadata: {labels: {app.kubernetes.io/name: karpenter}}
    spec:
      nodeSelector: {example.com/none: such}
      containers: [{name: controller, image: example.com/karpenter}]
---
%s`, k.waiting, leaderLease(time.Now())))
	k.lead(t)
	return k
}

// shownWith returns how many instances that run EC2 shows with a tag of that key. What was changed a moment ago it does not show yet.
func (c *cluster) shownWith(ctx context.Context, key string) (int, error) {
	shown, err := ec2sdk.NewFromConfig(c.Cloud.Config()).DescribeInstances(ctx, &ec2sdk.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: awssdk.String("tag-key"), Values: []string{key}}, {Name: awssdk.String("instance-state-name"), Values: []string{"pending", "running"}},
	}})
	if err != nil {
		return 0, err
	}
	n := 0
	for _, reservation := range shown.Reservations {
		n += len(reservation.Instances)
	}
	return n, nil
}

// lead renews Karpenter's lease, as its leader does, until it resigns or the test is over.
func (k *karpenters) lead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	leases := k.c.dynamic.Resource(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}).Namespace("kube-system")
	var leader sync.WaitGroup
	leader.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Second):
			}
			patch := fmt.Sprintf(`{"spec": {"renewTime": %q}}`, leaseTime(time.Now()))
			_, _ = leases.Patch(ctx, "karpenter-leader-election", types.MergePatchType, []byte(patch), metav1.PatchOptions{}) // it is renewed again before long
		}
	})
	k.resign = func() {
		cancel()
		leader.Wait()
	}
	t.Cleanup(k.resign)
}

func leaseTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

func leaderLease(renewed time.Time) string {
	return fmt.Sprintf(`apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: karpenter-leader-election, namespace: kube-system}
spec: {holderIdentity: karpenter-0_1, leaseDurationSeconds: 15, renewTime: %q}
`, leaseTime(renewed))
}

// stop scales Karpenter down, a while ago.
func (k *karpenters) stop(t *testing.T) {
	t.Helper()
	c := k.c
	c.patch(t, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "karpenter", `{"spec": {"replicas": 0}}`)
	await(t, time.Minute, "Karpenter has no pods", func(ctx context.Context) string {
		d, err := c.kube.AppsV1().Deployments("kube-system").Get(ctx, "karpenter", metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if d.Status.Replicas > 0 || d.Status.ObservedGeneration < d.Generation {
			return fmt.Sprintf("%d are there", d.Status.Replicas)
		}
		return ""
	})
	k.resign()
	c.apply(t, leaderLease(time.Now().Add(-5*time.Minute)))
}

// giveUp deletes the NodeClaim that waits for an instance.
func (k *karpenters) giveUp(t *testing.T) {
	t.Helper()
	if err := k.c.dynamic.Resource(nodeClaims).Delete(t.Context(), k.waiting, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	k.c.patch(t, nodeClaims, k.waiting, `{"metadata": {"finalizers": null}}`)
}

// addConditions adds what Karpenter's status says beside Joiner's.
func (c *cluster) addConditions(t *testing.T, name string, drifted bool) {
	t.Helper()
	object, err := c.dynamic.Resource(nodeClaims).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status, _ := object.Object["status"].(map[string]any)
	conditions, _ := status["conditions"].([]any)
	add := []string{"ConsistentStateFound", "Consolidatable"}
	if drifted {
		add = append(add, "Drifted")
	}
	for _, kind := range add {
		reason := kind
		if kind == "Drifted" {
			reason = "NodeClassDrift"
		}
		conditions = slices.DeleteFunc(conditions, func(c any) bool { return c.(map[string]any)["type"] == kind })
		conditions = append(conditions, map[string]any{
			"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339), "observedGeneration": int64(1),
		})
	}
	status["conditions"] = conditions
	status["lastPodEventTime"] = time.Now().UTC().Format(time.RFC3339)
	if _, err := c.dynamic.Resource(nodeClaims).UpdateStatus(t.Context(), object, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// loseLedger deletes everything the ledger has of the cluster but its registration and its watcher's pointer.
func (c *cluster) loseLedger(t *testing.T) {
	t.Helper()
	client := dynamodb.NewFromConfig(c.Cloud.Config())
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &c.Table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			pk, _ := item["PK"].(*dynamotypes.AttributeValueMemberS)
			sk, _ := item["SK"].(*dynamotypes.AttributeValueMemberS)
			if pk == nil || sk == nil || !strings.HasPrefix(pk.Value, "C#joiner-demo#") || strings.HasPrefix(sk.Value, "SNAP") {
				continue
			}
			key := map[string]dynamotypes.AttributeValue{"PK": item["PK"], "SK": item["SK"]}
			if _, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &c.Table, Key: key}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pause has the functions leave the cluster alone, or not any more.
func (c *cluster) pause(t *testing.T, paused bool) {
	t.Helper()
	reg, err := c.Ledger.Cluster(t.Context(), c.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	reg.Paused = paused
	if err := c.Ledger.Register(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) patch(t *testing.T, resource schema.GroupVersionResource, name, patch string) {
	t.Helper()
	in := c.dynamic.Resource(resource).Namespace("")
	if resource.Group == "apps" {
		in = c.dynamic.Resource(resource).Namespace("kube-system")
	}
	if _, err := in.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// adoption is what joiner adopt prints.
type adoption struct {
	Applied    bool
	Karpenter  []string
	NodeClaims []adoptedClaim
}

type adoptedClaim struct {
	Name, Verdict, State, Code, Message, Drift, Node, InstanceID, Problem string
	Due, Done                                                             []string
	PricePerHour                                                          float64
}

func (a *adoption) verdicts() map[string]int {
	counts := map[string]int{}
	for _, claim := range a.NodeClaims {
		counts[claim.Verdict]++
	}
	return counts
}

func (a *adoption) named(name string) adoptedClaim {
	for _, claim := range a.NodeClaims {
		if claim.Name == name {
			return claim
		}
	}
	return adoptedClaim{}
}

// adopt runs joiner adopt and expects an exit status.
func (c *cluster) adopt(t *testing.T, code int, args ...string) *adoption {
	t.Helper()
	out := &adoption{}
	c.joiner(t, code, out, append([]string{"adopt", c.Options.Cluster, "--table", c.Table, "--bucket", c.Bucket}, args...)...)
	return out
}

// joiner runs the command line as somebody who may take on the cluster's roles for people, expects an exit status (-1 = any) and
// reads the JSON it prints.
func (c *cluster) joiner(t *testing.T, code int, into any, args ...string) {
	t.Helper()
	stdout, stderr := c.says(t, code, args...)
	if err := json.Unmarshal([]byte(stdout), into); err != nil {
		t.Fatalf("joiner %q: %v\n%s\n%s", args, err, stdout, stderr)
	}
}

// says runs the command line in the same way and returns what it prints.
func (c *cluster) says(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	binary := filepath.Join(c.Dir(), "joiner")
	if _, err := os.Stat(binary); err != nil {
		build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/joiner")
		build.Dir = "../../.."
		if text, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build: %v: %s", err, text)
		}
	}
	keys := c.Cloud.STS.AddUser("person")
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Env = append(os.Environ(), "AWS_REGION="+c.Cloud.Region(), "AWS_ENDPOINT_URL="+c.Cloud.Endpoint(), "AWS_ACCESS_KEY_ID="+keys.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+keys.SecretAccessKey, "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := command.ProcessState.ExitCode(); got != code && code >= 0 {
		t.Fatalf("joiner %q: exit status %d, want %d\n%s\n%s", args, got, code, stdout.String(), stderr.String())
	}
	return stdout.String(), stderr.String()
}

// adopted holds ledger, instances and objects to what they must be after the adoption.
func (c *cluster) adopted(t *testing.T, k *karpenters) {
	t.Helper()
	ledger := c.ledger(t)
	if len(ledger.Claims) != 3 {
		t.Fatalf("%d claims", len(ledger.Claims))
	}
	for _, claim := range ledger.Claims {
		if claim.State != model.Initialized || !strings.HasPrefix(claim.Intent, "adopted-") || claim.Price <= 0 || claim.NodeUID == "" || claim.Reserved[model.Nodes] != 1 || claim.Reserved[model.CPU] == 0 {
			t.Errorf("%+v", claim)
		}
		if i, _ := c.EC2.Lookup(claim.InstanceID); i.State != "running" || i.Tags["joiner.sh/intent"] != claim.Intent {
			t.Errorf("instance %s is %s with tags %v", i.ID, i.State, i.Tags)
		}
		object, err := c.dynamic.Resource(nodeClaims).Get(t.Context(), claim.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		annotations := object.GetAnnotations()
		if annotations[model.AnnotationPoolHashVersion] != model.PoolHashVersion || annotations[model.AnnotationClassHashVersion] != model.ClassHashVersion ||
			annotations[model.AnnotationPoolHash] == karpenterPoolHash || (annotations[model.AnnotationClassHash] == karpenterClassHash) != (claim.Name == k.drifted) {
			t.Errorf("NodeClaim %s: %v", claim.Name, annotations)
		}
		if !slices.Contains(object.GetFinalizers(), model.Finalizer) || object.GetDeletionTimestamp() != nil {
			t.Errorf("NodeClaim %s: finalizers %q, deleted %v", claim.Name, object.GetFinalizers(), object.GetDeletionTimestamp())
		}
		node, err := c.kube.CoreV1().Nodes().Get(t.Context(), claim.NodeName, metav1.GetOptions{})
		if err != nil || string(node.UID) != claim.NodeUID || slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == model.TaintDisrupted }) {
			t.Errorf("node %s: %v %+v", claim.NodeName, err, node.Spec.Taints)
		}
	}
	if len(ledger.Usage) != 1 || ledger.Usage[0].Reserved[model.Nodes] != 3 || ledger.Usage[0].Reserved[model.Dollars] == 0 {
		t.Errorf("usage %+v", ledger.Usage)
	}
}

// versions are those of every NodeClaim, and what nodes carry, to see whether anybody wrote.
func (c *cluster) versions(t *testing.T) []string {
	t.Helper()
	var out []string
	objects, err := c.dynamic.Resource(nodeClaims).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects.Items {
		out = append(out, object.GetName()+" "+object.GetResourceVersion())
	}
	nodes, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes.Items { // kubelets write their status all the time
		taints := slices.DeleteFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Key == corev1.TaintNodeUnreachable || taint.Key == corev1.TaintNodeNotReady
		})
		out = append(out, fmt.Sprint(node.Name, node.UID, node.Labels, node.Annotations, taints, node.Finalizers))
	}
	return out
}

// podsOf are the pods of a namespace with where they run.
func (c *cluster) podsOf(t *testing.T, namespace string) []string {
	t.Helper()
	list, err := c.kube.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, pod := range list.Items {
		out = append(out, fmt.Sprintf("%s %s on %s is %s", pod.Name, pod.UID, pod.Spec.NodeName, pod.Status.Phase))
	}
	return out
}

func (c *cluster) resync(ctx context.Context) error  { _, err := c.Resync(ctx); return err }
func (c *cluster) collect(ctx context.Context) error { _, err := c.Collect(ctx); return err }
func (c *cluster) resolve(ctx context.Context) error { _, err := c.Resolve(ctx); return err }

// drainsWithoutLoss deletes an adopted NodeClaim under a budget that lets one pod go at a time: the budget is never broken,
// the pod runs elsewhere, and then nothing is left of the node.
func (c *cluster) drainsWithoutLoss(t *testing.T, name string) {
	t.Helper()
	c.apply(t, `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: shop}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`)
	var instance, node string
	for _, claim := range c.ledger(t).Claims {
		if claim.Name == name {
			instance, node = claim.InstanceID, claim.NodeName
		}
	}
	if err := c.dynamic.Resource(nodeClaims).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.ended(t, name, instance, node, func(ctx context.Context) {
		if running := c.runningOf(ctx, "shop"); running < 3 {
			t.Fatalf("only %d of 4 pods run", running)
		}
	})
	c.awaitRunning(t, "shop", 4, 2*time.Minute)
	c.adoptedIsGone(t, name)
}

// ended waits until nothing is left of an instance, and holds on the way to what must always be so.
func (c *cluster) ended(t *testing.T, name, instance, node string, always func(context.Context)) {
	t.Helper()
	await(t, 3*time.Minute, "its machine has ended and nothing is left of it", func(ctx context.Context) string {
		always(ctx)
		if i, _ := c.EC2.Lookup(instance); i.State != "terminated" {
			return instance + " is " + string(i.State)
		}
		if _, err := c.dynamic.Resource(nodeClaims).Get(ctx, name, metav1.GetOptions{}); err == nil {
			return "its NodeClaim is there"
		}
		if _, err := c.kube.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{}); err == nil {
			return "its Node is there"
		}
		return ""
	})
}

// runningOf counts the pods of a namespace that run and are not leaving.
func (c *cluster) runningOf(ctx context.Context, namespace string) int {
	list, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 1 << 30 // nothing is known
	}
	n := 0
	for _, pod := range list.Items {
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			n++
		}
	}
	return n
}

func (c *cluster) adoptedIsGone(t *testing.T, name string) {
	t.Helper()
	await(t, time.Minute, "its claim is gone", func(context.Context) string {
		for _, claim := range c.ledger(t).Claims {
			if claim.Name == name {
				return "it is " + string(claim.State)
			}
		}
		return ""
	})
	await(t, 2*time.Minute, "everything is settled", c.settled(t))
	c.oneEach(t)
}
