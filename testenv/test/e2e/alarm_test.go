package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/cloudwatch"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestM87AnAlarmKeepsAnEmptyNodeUntilItIsOff leaves a node empty while an alarm that its NodePool names is in ALARM,
// and then while the alarm does not exist. The node stays, and its event says why. A pod gets its instance all the
// same. Once the alarm is OK, both nodes go.
func TestM87AnAlarmKeepsAnEmptyNodeUntilItIsOff(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Adopters: true})
	c.quicken(t)
	const name = "checkout-errors"
	c.Cloud.Alarms.PutMetric(name)
	c.Cloud.Alarms.Set(name, cloudwatch.On)
	c.apply(t, namespace("alarmed"), class("default"),
		pool("default", "default", twoSizes, nil, []string{giving(patience, "100%")}))
	c.annotatePool(t, "default", map[string]string{model.AnnotationStopAlarms: name})
	c.awaitReady(t, nodePools, "default")
	c.apply(t, deployment("alarmed", "web", 1, "1500m"))
	c.awaitRunning(t, "alarmed", 1, 3*time.Minute)
	await(t, time.Minute, "the claim is initialized", c.settled(t))

	c.scale(t, "alarmed", "web", 0)
	c.awaitLeft(t, "alarmed", 0)
	c.nodeStaysBecause(t, `CloudWatch alarm "checkout-errors" is in state ALARM`)
	c.apply(t, deployment("alarmed", "api", 1, "3500m"))
	c.awaitRunning(t, "alarmed", 1, 2*time.Minute)
	if n := len(c.running()); n != 2 {
		t.Errorf("%d instances run, want the empty one and one for the pod that needs more", n)
	}
	c.scale(t, "alarmed", "api", 0)
	c.awaitLeft(t, "alarmed", 0)
	c.Cloud.Alarms.Delete(name)
	c.nodeStaysBecause(t, `"checkout-errors" does not exist`)

	c.Cloud.Alarms.PutMetric(name)
	c.Cloud.Alarms.Set(name, cloudwatch.OK)
	if !full() { // a quiet cluster is looked at every five minutes, and one whose NodePools change at once
		c.annotatePool(t, "default", map[string]string{"example.com/alarms": "off"})
	}
	await(t, 6*time.Minute, "no claim is left", func(context.Context) string {
		if claims := c.ledger(t).Claims; len(claims) > 0 {
			return fmt.Sprintf("there are %d", len(claims))
		}
		return ""
	})
	if left := c.running(); len(left) > 0 {
		t.Errorf("%d instances run", len(left))
	}
}

// nodeStaysBecause waits until the event of a node says why disruption is stopped, and fails the test where an
// instance ends within ten times as long as an empty node is kept otherwise.
func (c *cluster) nodeStaysBecause(t *testing.T, why string) {
	t.Helper()
	before := len(c.running())
	nodes, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) == 0 {
		t.Fatalf("there are %d nodes: %v", len(nodes.Items), err)
	}
	await(t, 2*time.Minute, "an event says: "+why, func(ctx context.Context) string {
		var all []string
		for i := range nodes.Items {
			reported := c.events(ctx, "Node", nodes.Items[i].Name)
			if strings.Contains(reported, "DisruptionBlocked") && strings.Contains(reported, why) {
				return ""
			}
			all = append(all, reported)
		}
		return "events of nodes are: " + strings.Join(all, "\n")
	})
	pause(t, 10*patience)
	if after := len(c.running()); after != before {
		t.Errorf("%d instances run, and %d did before", after, before)
	}
}

// annotatePool annotates a NodePool.
func (c *cluster) annotatePool(t *testing.T, name string, annotations map[string]string) {
	t.Helper()
	c.mergePool(t, name, map[string]any{"metadata": map[string]any{"annotations": annotations}})
}
