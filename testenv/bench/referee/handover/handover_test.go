package handover

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/infra/examples"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// Pods that want a node each.
const apart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: default}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}
      containers: [{name: web, image: web, resources: {requests: {cpu: 500m, memory: 512Mi}}}]
`

// settled is how long nobody may have replaced anything after a change of hands: Karpenter's slowest loops come every five minutes or less, what
// drifts is found within one.
const settled = 90 * time.Second

// A cluster is run by Karpenter itself, adopted, run by Joiner, handed back, and all of it once more. Each of the two launches a node of its own in its
// turns, and not one node, machine or pod is ever replaced.
func TestA5KarpenterItselfHandsOverAndTakesBackTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("the long form: make handover")
	}
	k := &karpenter{binary: build(t, "..", controller)}
	s, err := stack.Start(t.Context(), stack.Options{
		Adopters: true, Watchers: -1, EC2: ec2.Timing{Boot: ec2.Delay{Min: time.Second, Max: 2 * time.Second}, Gone: time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	k.stack = s
	h := &hands{stack: s, joiner: build(t, "../../../..", "./cmd/joiner")}
	registration, err := s.Ledger.Cluster(t.Context(), s.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	registration.Paused = true
	h.register(t, registration)

	k.start(t)
	if err := s.Kube.Apply(t.Context(), examples.NodePool, []byte(apart)); err != nil {
		t.Fatal(err)
	}
	h.running(t, 3)
	h.remember(t)
	for round := range 2 {
		replicas := 3 + 2*round
		reported := h.adopt(t, 0)
		if n := len(reported.NodeClaims); n != replicas || len(reported.Karpenter) == 0 {
			t.Errorf("adopt lists %d NodeClaims and of Karpenter %q, want %d, and that it runs", n, reported.Karpenter, replicas)
		}
		h.adopt(t, 2, "--yes") // while it runs
		k.stop(t)
		h.takeOver(t)
		registration.Paused = false
		h.register(t, registration)
		watcher, err := s.StartWatcher()
		if err != nil {
			t.Fatal(err)
		}
		h.stay(t, fmt.Sprintf("Joiner has taken over, round %d", round+1))
		h.scale(t, replicas+1)
		h.remember(t)

		h.run(t, 0, nil, "detach", s.Options.Cluster, "--hand-over=karpenter", "--yes", "--table", s.Table)
		watcher.Kill()
		k.start(t)
		h.stay(t, fmt.Sprintf("Karpenter has taken back, round %d", round+1))
		h.scale(t, replicas+2)
		h.remember(t)
		registration.Paused = true
		h.register(t, registration)
	}
}

// hands is the cluster in whoever's hands it is.
type hands struct {
	stack  *stack.Stack
	joiner string
	were   map[string]string // UIDs of pods, nodes and NodeClaims, and states of machines, by kind and name
}

func (h *hands) register(t *testing.T, registration model.Registration) {
	t.Helper()
	if err := h.stack.Ledger.Register(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
}

// running waits until so many pods run.
func (h *hands) running(t *testing.T, n int) {
	t.Helper()
	await(t, 4*time.Minute, fmt.Sprintf("%d pods run", n), func(ctx context.Context) string {
		out, _, err := h.stack.Kube.Kubectl(ctx, nil, "get", "pods", "-n", "default", "--field-selector=status.phase=Running", "-o", "name")
		if running := len(strings.Fields(out)); err != nil || running != n {
			return fmt.Sprintf("%d run (%v)", running, err)
		}
		out, _, err = h.stack.Kube.Kubectl(ctx, nil, "get", "nodeclaims", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Initialized")].status}{"\n"}{end}`)
		if initialized := strings.Count(out, "True"); err != nil || initialized != n {
			return fmt.Sprintf("%d NodeClaims are initialized (%v)", initialized, err)
		}
		return ""
	})
}

// scale has the Deployment be of so many pods, which takes one more node.
func (h *hands) scale(t *testing.T, n int) {
	t.Helper()
	if _, said, err := h.stack.Kube.Kubectl(t.Context(), nil, "scale", "deployment", "web", "-n", "default", fmt.Sprintf("--replicas=%d", n)); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	h.running(t, n)
}

// now reads what must stay.
func (h *hands) now(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, kind := range []string{"pods", "nodes", "nodeclaims", "nodepools", "ec2nodeclasses"} {
		printed, said, err := h.stack.Kube.Kubectl(ctx, nil, "get", kind, "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.metadata.deletionTimestamp}{"\n"}{end}`)
		if err != nil {
			return nil, fmt.Errorf("%w: %s", err, said)
		}
		for line := range strings.Lines(printed) {
			name, is, _ := strings.Cut(strings.TrimSpace(line), " ")
			out[name] = is
		}
	}
	for _, i := range h.stack.EC2.Instances() {
		if i.State != "terminated" {
			out["instance/"+i.ID] = string(i.State)
		}
	}
	return out, nil
}

func (h *hands) remember(t *testing.T) {
	t.Helper()
	var err error
	if h.were, err = h.now(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// stay fails where anything that was remembered is gone, going, or has been joined by another within a while.
func (h *hands) stay(t *testing.T, what string) {
	t.Helper()
	for deadline := time.Now().Add(settled); time.Now().Before(deadline); time.Sleep(5 * time.Second) {
		are, err := h.now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(h.were, are) {
			for _, name := range slices.Sorted(maps.Keys(h.were)) {
				if are[name] != h.were[name] {
					t.Errorf("%s: %s was %q and is %q", what, name, h.were[name], are[name])
				}
			}
			for _, name := range slices.Sorted(maps.Keys(are)) {
				if _, known := h.were[name]; !known {
					t.Errorf("%s: %s is new", what, name)
				}
			}
			t.FailNow()
		}
	}
}

// adoption is what joiner adopt prints.
type adoption struct {
	Applied    bool
	Karpenter  []string
	NodeClaims []struct{ Name, Verdict, Code, Message string }
}

// adopt runs joiner adopt and expects an exit status.
func (h *hands) adopt(t *testing.T, code int, args ...string) adoption {
	t.Helper()
	var out adoption
	h.run(t, code, &out, append([]string{"adopt", h.stack.Options.Cluster, "-o", "json", "--table", h.stack.Table, "--bucket", h.stack.Bucket}, args...)...)
	return out
}

// takeOver adopts a cluster whose Karpenter was just stopped, which is waited for.
func (h *hands) takeOver(t *testing.T) {
	t.Helper()
	done := h.adopt(t, 0, "--yes")
	if !done.Applied {
		t.Errorf("%+v", done)
	}
	for _, claim := range done.NodeClaims {
		if claim.Verdict != "adopt" {
			t.Errorf("%+v", claim)
		}
	}
}

// run runs the command line as somebody who may take on the cluster's roles for people, and expects an exit status.
func (h *hands) run(t *testing.T, code int, into any, args ...string) {
	t.Helper()
	keys := h.stack.Cloud.STS.AddUser("person")
	command := exec.CommandContext(t.Context(), h.joiner, args...)
	command.Env = append(os.Environ(), "AWS_REGION="+h.stack.Cloud.Region(), "AWS_ENDPOINT_URL="+h.stack.Cloud.Endpoint(), "AWS_ACCESS_KEY_ID="+keys.AccessKeyID,
		"AWS_SECRET_ACCESS_KEY="+keys.SecretAccessKey, "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	_ = command.Run()
	if got := command.ProcessState.ExitCode(); got != code {
		t.Fatalf("joiner %q: exit status %d, want %d\n%s\n%s", args, got, code, stdout.String(), stderr.String())
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(stdout.Bytes(), into); err != nil {
		t.Fatalf("joiner %q: %v\n%s", args, err, stdout.String())
	}
}
