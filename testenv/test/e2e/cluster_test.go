package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/machine"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// full reports whether the long form was asked for.
func full() bool { return os.Getenv("JOINER_E2E") == "full" }

var (
	nodeClaims = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodeclaims"}
	nodePools  = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1", Resource: "nodepools"}
	overlays   = schema.GroupVersionResource{Group: "karpenter.sh", Version: "v1alpha1", Resource: "nodeoverlays"}
	classes    = schema.GroupVersionResource{Group: "karpenter.k8s.aws", Version: "v1", Resource: "ec2nodeclasses"}
)

// cluster is a stack with clients and what a failing test wants to print.
type cluster struct {
	*stack.Stack
	kube    kubernetes.Interface
	dynamic dynamic.Interface
	logs    *recorder
	hostile []string // names of roles that are expected to be refused things
}

// start starts a stack of the test's own. What the function logged is printed when the test fails.
func start(t *testing.T, o stack.Options) *cluster {
	t.Helper()
	logs := &recorder{}
	o.OnLog, o.OnExit = logs.line, logs.exit
	o.OnInstance = func(e machine.Event) { logs.add("machine: " + e.String()) }
	o.Cluster = cmp.Or(o.Cluster, "joiner-demo")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	s, err := stack.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	c := &cluster{Stack: s, logs: logs}
	t.Cleanup(func() {
		for _, use := range s.Cloud.Policies.Denied() {
			if !slices.ContainsFunc(c.hostile, func(role string) bool { return of(use, role) }) {
				t.Errorf("the templates' policies do not allow: %v", use)
			}
		}
		if t.Failed() {
			t.Logf("what the function and the machines said:\n%s", logs.text())
			printLogs(t, filepath.Join(s.Dir(), "logs", "*.log"))
			printLogs(t, filepath.Join(s.Kube.LogDir(), "kube-controller-manager.log"))
		}
	})
	if c.kube, err = kubernetes.NewForConfig(s.Kube.Config()); err != nil {
		t.Fatal(err)
	}
	if c.dynamic, err = dynamic.NewForConfig(s.Kube.Config()); err != nil {
		t.Fatal(err)
	}
	return c
}

// quicken has the disruption function's tick come every five seconds instead of once in a minute until the test ends, in the short form: what
// only a tick finds (pods that have left a node that is not empty, room in a budget) is found sooner, and nothing else differs.
func (c *cluster) quicken(t *testing.T) {
	if full() {
		return
	}
	ended := t.Context().Done()
	go func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(5 * time.Second):
			}
			_, _ = c.Disrupt(t.Context()) // the next tick finds what this one did not
		}
	}()
}

func printLogs(t *testing.T, pattern string) {
	files, _ := filepath.Glob(pattern)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		const most = 6000
		if len(text) > most {
			text = text[len(text)-most:]
		}
		t.Logf("the end of %s:\n%s", filepath.Base(file), text)
	}
}

func (c *cluster) apply(t *testing.T, manifests ...string) {
	t.Helper()
	var all [][]byte
	for _, m := range manifests {
		all = append(all, []byte(m))
	}
	if err := c.Kube.Apply(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
}

// slack is how many times as long as it says a wait may take. What is awaited comes in time on a machine that has nothing else to
// do, and one where other tests run is slower than that; what must not be late is measured and not awaited.
const slack = 2

// pause lets the time pass.
func pause(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
		t.Fatal("the test's time is over")
	}
}

// await polls until the condition is empty, which says that it holds, and fails with what it says at the end.
func await(t *testing.T, within time.Duration, what string, condition func(ctx context.Context) string) time.Duration {
	t.Helper()
	began := time.Now()
	within *= slack
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	last := ""
	for {
		if last = condition(ctx); last == "" {
			return time.Since(began)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s, not within %s: %s", what, within, last)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// awaitRunning waits until n pods of the namespace run, all of them bound by kube-scheduler.
func (c *cluster) awaitRunning(t *testing.T, namespace string, n int, within time.Duration) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	await(t, within, fmt.Sprintf("%d pods of %s run", n, namespace), func(ctx context.Context) string {
		list, err := c.kube.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		pods = list.Items
		running, example := 0, ""
		for _, pod := range pods {
			if pod.Status.Phase == corev1.PodRunning && pod.Spec.NodeName != "" {
				running++
			} else if example == "" {
				example = fmt.Sprintf("%s is %s: %v", pod.Name, pod.Status.Phase, pod.Status.Conditions)
			}
		}
		if running >= n {
			return ""
		}
		return fmt.Sprintf("%d run; %s", running, example)
	})
	return pods
}

// running returns the instances EC2 has not terminated.
func (c *cluster) running() []ec2.Instance {
	var out []ec2.Instance
	for _, i := range c.EC2.Instances() {
		if i.State == "pending" || i.State == "running" {
			out = append(out, i)
		}
	}
	return out
}

func (c *cluster) ledger(t *testing.T) model.Ledger {
	t.Helper()
	reg, err := c.Ledger.Cluster(t.Context(), c.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	ledger, err := c.Stack.Ledger.Load(t.Context(), reg)
	if err != nil {
		t.Fatal(err)
	}
	return ledger
}

// oneEach fails unless instances, live claims and NodeClaim objects are the same set, one of each for one of the others,
// and no launch is left open. A claim is closed before its objects are let go, so a NodeClaim that is being deleted has a moment left.
func (c *cluster) oneEach(t *testing.T) {
	t.Helper()
	ledger := c.ledger(t)
	if len(ledger.Intents) != 0 {
		t.Errorf("%d launches are still open", len(ledger.Intents))
	}
	byInstance := map[string]string{}
	for _, claim := range ledger.Claims {
		if other, taken := byInstance[claim.InstanceID]; taken || claim.InstanceID == "" {
			t.Errorf("claim %s (%s) has instance %q, and so has %q", claim.Name, claim.State, claim.InstanceID, other)
		}
		byInstance[claim.InstanceID] = claim.Name
	}
	instances := c.running()
	for _, i := range instances {
		if byInstance[i.ID] == "" {
			t.Errorf("instance %s belongs to no claim: %v", i.ID, i.Tags)
		}
	}
	if len(instances) != len(ledger.Claims) {
		t.Errorf("%d machines for %d claims", len(instances), len(ledger.Claims))
	}
	named := map[string]bool{}
	for _, claim := range ledger.Claims {
		named[claim.Name] = true
	}
	shown := map[string]bool{}
	await(t, 20*time.Second, "NodeClaims whose claims were closed are let go", func(ctx context.Context) string {
		objects, err := c.dynamic.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		clear(shown)
		for _, object := range objects.Items {
			shown[object.GetName()] = true
			if name := object.GetName(); !named[name] && object.GetDeletionTimestamp() == nil {
				t.Fatalf("NodeClaim %s is of no claim in the ledger", name)
			} else if !named[name] {
				return "NodeClaim " + name + " is being deleted"
			}
		}
		return ""
	})
	for name := range shown {
		delete(named, name)
	}
	for name := range named {
		t.Errorf("claim %s has no NodeClaim", name)
	}
}

// awaitReady waits until the object's Ready condition is True.
func (c *cluster) awaitReady(t *testing.T, resource schema.GroupVersionResource, name string) {
	t.Helper()
	await(t, time.Minute, resource.Resource+" "+name+" is Ready", func(ctx context.Context) string {
		status, reason, message := c.condition(ctx, resource, name, "Ready")
		if status == "True" {
			return ""
		}
		return status + " " + reason + " " + message
	})
}

// condition returns a condition of an object; empty strings where it has none yet.
func (c *cluster) condition(ctx context.Context, resource schema.GroupVersionResource, name, kind string) (status, reason, message string) {
	object, err := c.dynamic.Resource(resource).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", "", err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if m, ok := entry.(map[string]any); ok && m["type"] == kind {
			return text(m["status"]), text(m["reason"]), text(m["message"])
		}
	}
	return "", "", ""
}

func text(value any) string {
	s, _ := value.(string)
	return s
}

// events returns reason: message of the events on an object.
func (c *cluster) events(ctx context.Context, kind, name string) string {
	list, err := c.kube.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.kind=" + kind + ",involvedObject.name=" + name})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, event := range list.Items {
		lines = append(lines, event.Reason+": "+event.Message)
	}
	return strings.Join(lines, "\n")
}
