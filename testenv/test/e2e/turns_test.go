package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestM2ANamespacesPodIsBoundToItsInstanceBesideOlderPods has one namespace fill a limit, with more of its pods waiting, when another one's
// pod comes. The next room of the limit is that one's, and kube-scheduler binds it to the instance although the others are older and of
// its priority: provisioning has nominated it before the node took pods.
func TestM2ANamespacesPodIsBoundToItsInstanceBesideOlderPods(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{})
	large := `{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}`
	limit := func(nodes string) {
		c.apply(t, pool("default", "default", large, nil, []string{"limits: {nodes: " + nodes + "}"}))
	}
	c.apply(t, namespace("hostile"), namespace("normal"), class("default"))
	limit("2")
	c.awaitReady(t, nodePools, "default")
	c.apply(t, deployment("hostile", "many", 8, "1500m"))
	c.awaitRunning(t, "hostile", 2, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))

	c.apply(t, deployment("normal", "one", 1, "1500m"))
	await(t, time.Minute, "kube-scheduler has no room for it", func(ctx context.Context) string {
		list, err := c.kube.CoreV1().Pods("normal").List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			return fmt.Sprintf("%d pods, %v", len(list.Items), err)
		}
		for _, condition := range list.Items[0].Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
				return ""
			}
		}
		return "it is not said to be unschedulable"
	})
	limit("3")
	c.awaitRunning(t, "normal", 1, time.Minute)
	running, err := c.kube.CoreV1().Pods("hostile").List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=" + string(corev1.PodRunning)})
	if err != nil || len(running.Items) != 2 || len(c.running()) != 3 {
		t.Errorf("%d of hostile's pods run on %d machines, %v: want 2 on 3", len(running.Items), len(c.running()), err)
	}
}
