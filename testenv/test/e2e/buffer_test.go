package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/joiner-sh/joiner/shared/api/autoscalingv1beta1"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// buffer is a CapacityBuffer of the pods of a PodTemplate that ask for cpu, and the template.
func buffer(namespace, name string, n int, cpu string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: PodTemplate
metadata: {name: %[2]s, namespace: %[1]s}
template:
  metadata: {labels: {app: spare}}
  spec: {containers: [{name: main, image: example.com/pause, resources: {requests: {cpu: %[4]s, memory: 256Mi}}}]}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: %[2]s, namespace: %[1]s}
spec: {podTemplateRef: {name: %[2]s}, replicas: %[3]d}
`, namespace, name, n, cpu)
}

// saysOfBuffer waits until a buffer's status has so many replicas and its conditions are as wanted, "Type=Status/Reason" each.
func saysOfBuffer(t *testing.T, c *cluster, namespace, name string, replicas int64, conditions ...string) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	await(t, time.Minute, "the buffer says "+strings.Join(conditions, " "), func(ctx context.Context) string {
		object, err := client.Resource(autoscalingv1beta1.CapacityBufferResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		var said []string
		list, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, item := range list {
			condition := item.(map[string]any)
			said = append(said, fmt.Sprintf("%s=%s/%s", condition["type"], condition["status"], condition["reason"]))
		}
		got, _, _ := unstructured.NestedInt64(object.Object, "status", "replicas")
		for _, want := range conditions {
			if !strings.Contains(strings.Join(said, " "), want) || got != replicas {
				return fmt.Sprintf("%d replicas, %v, message %v", got, said, list)
			}
		}
		return ""
	})
}

// TestF090_HeadroomIsThereIsTakenAtOnceAndGoes asks for room for five pods, scales a Deployment into it, which runs without a new
// instance having to be waited for, and sees the room made up for. Once the buffer is deleted its instances are given back.
func TestF090_HeadroomIsThereIsTakenAtOnceAndGoes(t *testing.T) {
	t.Parallel()
	const size = 5
	cpu := fmt.Sprintf("%dm", sixHundred)
	c := start(t, stack.Options{})
	c.apply(t, namespace("spare"), class("default"), pool("default", "default", twoSizes, nil, []string{giving(5*time.Second, "100%")}))
	c.awaitReady(t, nodePools, "default")

	// 1. Instances come for the room alone, and stay.
	began := time.Now()
	c.apply(t, buffer("spare", "room", size, cpu))
	saysOfBuffer(t, c, "spare", "room", size, "ReadyForProvisioning=True/Resolved", "Provisioning=True/FitsExistingCapacity")
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	first := c.running()
	t.Logf("room for %d pods on %d machines after %s", size, len(first), time.Since(began).Round(time.Second))
	if len(first) == 0 {
		t.Fatal("no machine")
	}

	// 2. Pods take it at once: each is on an instance that was there before it.
	homes := map[string]bool{}
	for _, claim := range c.ledger(t).Claims {
		homes[claim.NodeName] = true
	}
	scaled := time.Now()
	c.apply(t, deployment("spare", "web", size, cpu))
	pods := c.awaitRunning(t, "spare", size, 30*time.Second)
	t.Logf("%d pods run after %s", size, time.Since(scaled).Round(time.Millisecond))
	for _, pod := range pods {
		if !homes[pod.Spec.NodeName] {
			t.Errorf("pod %s runs on %s, which was not there for it: %v", pod.Name, pod.Spec.NodeName, homes)
		}
	}

	// 3. The room is made up for.
	await(t, time.Minute, "there are machines for twice as many", func(ctx context.Context) string {
		if n := len(c.running()); n <= len(first) {
			return fmt.Sprintf("%d machines", n)
		}
		return c.settled(t)(ctx)
	})
	saysOfBuffer(t, c, "spare", "room", size, "Provisioning=True/FitsExistingCapacity")
	full := len(c.running())
	time.Sleep(10 * time.Second) // twice consolidateAfter: what only the room needs is not given back, nor bought again
	if n := len(c.running()); n > full {
		t.Errorf("%d machines, and nothing but time has passed since there were %d", n, full)
	}
	saysOfBuffer(t, c, "spare", "room", size, "Provisioning=True/FitsExistingCapacity")

	// 4. Without the buffer its instances go.
	c.deleteBuffer(t, "spare", "room")
	await(t, 2*time.Minute, "the machines of the room are given back", func(ctx context.Context) string {
		if n := len(c.running()); n > len(first) {
			return fmt.Sprintf("%d machines", n)
		}
		if missing := c.appRuns(ctx, "spare", "web", size); missing != "" {
			return missing
		}
		return c.settled(t)(ctx)
	})
	c.oneEach(t)
	c.usageIsOf(t)
}

// deleteBuffer deletes a CapacityBuffer.
func (c *cluster) deleteBuffer(t *testing.T, namespace, name string) {
	t.Helper()
	client, err := dynamic.NewForConfig(c.Kube.Config())
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Resource(autoscalingv1beta1.CapacityBufferResource).Namespace(namespace).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}
