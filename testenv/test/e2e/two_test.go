package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestB7_WhatEndsInOneClusterTouchesNoOther runs two clusters of one account and region by the same functions, with the same
// pools and pods by name. In one every instance is warned but one, whose NodeClaim is deleted. In the other nobody notices:
// its interruption function writes nothing there, and instances, claims and pods stay what they were.
func TestB7_WhatEndsInOneClusterTouchesNoOther(t *testing.T) {
	t.Parallel()
	pods := 3
	if full() {
		pods = 20
	}
	c := start(t, stack.Options{KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}})
	other := c.second(t, "joiner-twin")
	both := []*cluster{c, other}
	for _, c := range both {
		role := "role: joiner-" + c.Options.Cluster + "-us-west-2-node"
		c.apply(t, namespace("same"), strings.Replace(class("default"), "role: joiner-joiner-demo-us-west-2-node", role, 1), pool("default", "default", spotOnly, nil, nil))
		c.awaitReady(t, nodePools, "default")
		c.apply(t, stateful("same", "web", pods))
	}
	for _, c := range both {
		c.awaitRunning(t, "same", pods, 2*time.Minute)
		await(t, time.Minute, "the claims are initialised", c.settled(t))
	}
	if a, b := c.podsOf(t, "same"), other.podsOf(t, "same"); !slices.Equal(firstWords(a), firstWords(b)) {
		t.Fatalf("pods are %q and %q", a, b)
	}

	before, pods0 := other.ledger(t).Claims, other.podsOf(t, "same")
	claims := c.ledger(t).Claims
	began := time.Now()
	c.deleteClaim(t, claims[0])
	for _, claim := range claims[1:] {
		c.warn(t, claim)
	}
	await(t, 3*time.Minute, "nothing is left of the machines of the one", func(ctx context.Context) string { return c.allGone(ctx, t, claims) })
	took := time.Since(began)
	c.awaitRunning(t, "same", pods, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	if _, err := c.Collect(t.Context()); err != nil { // looks at both
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second)

	log := audit(t, other.Kube, began)
	for _, entry := range log.By("joiner:interruption") {
		if entry.Verb != "get" && entry.Verb != "list" && entry.Verb != "watch" {
			t.Errorf("written to the other cluster: %s", entry.String())
		}
	}
	for _, group := range ours {
		for _, entry := range log.By(group) {
			if strings.HasPrefix(entry.Verb, "delete") || entry.Resource == "pods/eviction" || strings.HasPrefix(entry.Resource, "nodes") && entry.Verb != "get" && entry.Verb != "list" && entry.Verb != "watch" {
				t.Errorf("done to the other cluster: %s", entry.String())
			}
		}
	}
	if now := other.podsOf(t, "same"); !slices.Equal(now, pods0) {
		t.Errorf("pods of the other were\n%q, and are\n%q", pods0, now)
	}
	for _, claim := range before {
		if i, _ := c.EC2.Lookup(claim.InstanceID); i.State != "running" {
			t.Errorf("machine %s of the other cluster is %s", i.ID, i.State)
		}
	}
	if now := other.ledger(t).Claims; len(now) != len(before) || slices.ContainsFunc(now, func(claim model.Claim) bool { return claim.State != model.Initialized || claim.Drain != nil }) {
		t.Errorf("claims of the other are %+v", now)
	}
	byEviction(t, audit(t, c.Kube, began), "same", time.Time{})
	t.Logf("%d machines of one cluster ended after %s; %d requests of ours to the other were looks", len(claims), took.Round(100*time.Millisecond), len(log.By("joiner:interruption")))
}

// second attaches another cluster, with a watcher, to the same functions.
func (c *cluster) second(t *testing.T, name string) *cluster {
	t.Helper()
	other := c.beside(t, name)
	if _, err := c.StartWatcherOf(other.Cluster); err != nil {
		t.Fatal(err)
	}
	return other
}

// beside attaches another cluster to the same functions. It has no watcher.
func (c *cluster) beside(t *testing.T, name string) *cluster {
	t.Helper()
	twin, err := c.AddCluster(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return c.around(t, twin, c.EC2)
}

// around has the helpers name another cluster of the stack, whose instances are in a model of EC2.
func (c *cluster) around(t *testing.T, twin *stack.Cluster, instances *ec2.Model) *cluster {
	t.Helper()
	// What the helpers ask a stack for is of this cluster, and the rest of it is shared.
	s := &stack.Stack{
		Options: c.Options, Cloud: c.Cloud, EC2: instances, Cluster: twin, Kube: twin.Kube, Instances: twin.Instances, Runtime: c.Runtime,
		Ledger: c.Stack.Ledger, Store: c.Store, QueueURL: twin.PlanURL, PassesURL: c.PassesURL, Table: c.Table, Bucket: c.Bucket, Region: c.Region,
	}
	s.Options.Cluster = twin.Name
	other := &cluster{Stack: s, logs: c.logs}
	var err error
	if other.kube, err = kubernetes.NewForConfig(twin.Kube.Config()); err != nil {
		t.Fatal(err)
	}
	if other.dynamic, err = dynamic.NewForConfig(twin.Kube.Config()); err != nil {
		t.Fatal(err)
	}
	return other
}

// firstWords are the names of what podsOf returns.
func firstWords(lines []string) []string {
	var out []string
	for _, line := range lines {
		out = append(out, strings.Fields(line)[0])
	}
	return out
}

// stateful is a StatefulSet, whose pods have the same names everywhere, one on a node.
func stateful(namespace, name string, n int) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: StatefulSet
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  serviceName: %[2]s
  podManagementPolicy: Parallel
  replicas: %[3]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 5
      %[4]s
      containers: [{name: main, image: example.com/pause, resources: {requests: {cpu: "1", memory: 256Mi}}}]
`, namespace, name, n, apart(name))
}
