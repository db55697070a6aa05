package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestMixedPodsAreBoundToExactlyThePlannedNodes is the main job in breadth: arm64 only, pinned to a zone, tolerating a
// pool's taint, two pools with weights, a GPU, a DaemonSet beside them.
func TestMixedPodsAreBoundToExactlyThePlannedNodes(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{})
	c.apply(t, namespace("mixed"), class("default"),
		pool("preferred", "default", general, nil, []string{"weight: 50", "limits: {cpu: 40}"}),
		pool("fallback", "default", general, nil, []string{"weight: 10"}),
		pool("batch", "default", general, []string{"taints: [{key: dedicated, value: batch, effect: NoSchedule}]"}, nil),
		pool("gpu", "default", `{key: karpenter.k8s.aws/instance-category, operator: In, values: [g]}, {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}`,
			[]string{"taints: [{key: nvidia.com/gpu, effect: NoSchedule}]"}, nil),
	)
	for _, name := range []string{"preferred", "fallback", "batch", "gpu"} {
		c.awaitReady(t, nodePools, name)
	}
	c.apply(t, daemonSet("mixed"),
		deployment("mixed", "plain", 80, "500m"),
		deployment("mixed", "arm", 40, "700m", "nodeSelector: {kubernetes.io/arch: arm64}"),
		deployment("mixed", "pinned", 39, "300m", "nodeSelector: {topology.kubernetes.io/zone: us-west-2b}"),
		deployment("mixed", "batch", 40, "1",
			"tolerations: [{key: dedicated, operator: Equal, value: batch, effect: NoSchedule}]", "nodeSelector: {karpenter.sh/nodepool: batch}"),
		gpuPod("mixed"),
	)
	const pods = 80 + 40 + 39 + 40 + 1
	bound := c.awaitRunning(t, "mixed", pods, 4*time.Minute)
	await(t, time.Minute, "every pod beside the daemons' runs too", func(ctx context.Context) string {
		list, err := c.kube.CoreV1().Pods("mixed").List(ctx, metav1.ListOptions{LabelSelector: "app!=agent"})
		if err != nil {
			return err.Error()
		}
		for _, pod := range list.Items {
			if pod.Spec.NodeName == "" {
				return pod.Name + " is on no node"
			}
		}
		return ""
	})
	await(t, time.Minute, "every node is initialised", func(context.Context) string {
		for _, claim := range c.ledger(t).Claims {
			if claim.State != model.Initialized {
				return claim.Name + " is " + string(claim.State)
			}
		}
		return ""
	})
	c.oneEach(t)
	c.asPlanned(t)
	c.asAsked(t)
	if len(bound) < pods {
		t.Errorf("%d pods", len(bound))
	}
}

// asPlanned fails unless instances and the recorded decisions' claims are the same, each of a type its plan listed. The record of a run that
// was killed is open: it has the plan, and does not say which of its claims were launched.
func (c *cluster) asPlanned(t *testing.T) {
	t.Helper()
	ledger := c.ledger(t)
	now := time.Now().Unix()
	decisions, err := c.Store.Decisions(t.Context(), c.Options.Cluster, now-24*3600, now+60)
	if err != nil {
		t.Fatalf("read decisions: %v", err)
	}
	planned := map[string]model.PlannedClaim{}
	launched := map[string]bool{}
	open := map[string]bool{} // claims of open records, by name
	for _, decision := range decisions {
		for _, round := range decision.Rounds {
			for _, claim := range round.Plan.Claims {
				planned[claim.Name] = claim
				open[claim.Name] = decision.Open
			}
		}
		for _, name := range decision.Launched {
			launched[name] = true
		}
	}
	for _, claim := range ledger.Claims {
		plan, ok := planned[claim.Name]
		if !ok || !launched[claim.Name] && !open[claim.Name] {
			t.Errorf("claim %s (%s) is in no recorded plan", claim.Name, claim.InstanceType)
			continue
		}
		if !slices.Contains(plan.InstanceTypes, claim.InstanceType) || !slices.Contains(plan.Zones, claim.Zone) || !slices.Contains(plan.CapacityTypes, claim.CapacityType) {
			t.Errorf("claim %s became a %s %s in %s; planned were %v in %v, %v", claim.Name, claim.CapacityType, claim.InstanceType, claim.Zone, plan.InstanceTypes, plan.Zones, plan.CapacityTypes)
		}
		delete(launched, claim.Name)
	}
	for name := range launched {
		t.Errorf("the record says %s was launched, and the ledger does not have it", name)
	}
}

// asAsked fails unless pods are where they asked to be.
func (c *cluster) asAsked(t *testing.T) {
	t.Helper()
	nodes, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]map[string]string{}
	usedPools := map[string]int{}
	for _, node := range nodes.Items {
		labels[node.Name] = node.Labels
		usedPools[node.Labels[model.LabelNodePool]]++
		for _, key := range []string{model.LabelNodePool, model.LabelCapacityType, model.LabelRegistered, model.LabelInitialized, model.LabelInstanceType, model.LabelZone} {
			if node.Labels[key] == "" {
				t.Errorf("node %s has no label %s", node.Name, key)
			}
		}
	}
	pods, err := c.kube.CoreV1().Pods("mixed").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		at := labels[pod.Spec.NodeName]
		for key, value := range pod.Spec.NodeSelector {
			if at[key] != value {
				t.Errorf("pod %s asked for %s=%s and is on %s", pod.Name, key, value, at[key])
			}
		}
		if pod.Labels["app"] != "gpu" && at[model.LabelNodePool] == "gpu" && pod.Labels["app"] != "agent" {
			t.Errorf("pod %s is on a GPU node", pod.Name)
		}
	}
	for _, name := range []string{"preferred", "fallback", "batch", "gpu"} {
		if usedPools[name] == 0 {
			t.Errorf("no node of pool %s: %v", name, usedPools)
		}
	}
}

func gpuPod(namespace string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: gpu, namespace: %s, labels: {app: gpu}}
spec:
  terminationGracePeriodSeconds: 0
  tolerations: [{key: nvidia.com/gpu, operator: Exists}]
  containers:
    - name: main
      image: example.com/train
      resources: {limits: {nvidia.com/gpu: 1}, requests: {cpu: "2"}}
`, namespace)
}

func daemonSet(namespace string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent, namespace: %s}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      terminationGracePeriodSeconds: 0
      tolerations: [{operator: Exists}]
      containers:
        - name: main
          image: example.com/agent
          resources: {requests: {cpu: 150m, memory: 200Mi}}
`, namespace)
}
