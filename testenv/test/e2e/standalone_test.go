package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// byHand is a NodeClaim as people write it.
func byHand(name, className, cpu string, spec ...string) string {
	return fmt.Sprintf(`apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s, labels: {team: %s}}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: %s}
  requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, {key: karpenter.k8s.aws/instance-category, operator: In, values: [m]}]
  resources: {requests: {cpu: %q}}
  %s
`, name, name, className, cpu, strings.Join(spec, "\n  "))
}

// TestF107_NodeClaimMadeByHandLivesAndEnds applies NodeClaims where there is no NodePool: one becomes a node that a pod selects
// and runs on, and one that cannot be had says why. Deleted, the first drains and ends, the second goes at once.
func TestF107_NodeClaimMadeByHandLivesAndEnds(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{})
	c.apply(t, namespace("hand"), class("default"), byHand("mine", "default", "3", "expireAfter: 24h"), byHand("bad", "nowhere", "1"))
	c.awaitReady(t, nodeClaims, "mine")
	claims := c.ledger(t).Claims
	if len(claims) != 1 || claims[0].Name != "mine" || claims[0].Pool != "" || *claims[0].ExpireSeconds != 24*3600 {
		t.Fatalf("claims %+v", claims)
	}
	claim := claims[0]
	if i, _ := c.EC2.Lookup(claim.InstanceID); i.Tags[model.LabelNodePool] != model.NoPool || i.Tags["karpenter.sh/nodeclaim"] != "mine" {
		t.Errorf("tags %v", i.Tags)
	}
	node, err := c.kube.CoreV1().Nodes().Get(t.Context(), claim.NodeName, metav1.GetOptions{})
	if err != nil || node.Labels["team"] != "mine" || node.Labels[model.LabelNodePool] != "" || node.Labels[model.LabelInitialized] != "true" {
		t.Errorf("node %+v: %v", node, err)
	}
	await(t, time.Minute, "the other says why it has no machine", func(ctx context.Context) string {
		status, reason, message := c.condition(ctx, nodeClaims, "bad", "Launched")
		if status != "Unknown" || !strings.Contains(message, `EC2NodeClass "nowhere" does not exist`) || !strings.Contains(c.events(ctx, "NodeClaim", "bad"), "nowhere") {
			return status + " " + reason + " " + message + "; " + c.events(ctx, "NodeClaim", "bad")
		}
		return ""
	})

	c.apply(t, deployment("hand", "web", 1, "500m", "nodeSelector: {team: mine}"))
	first := c.awaitRunning(t, "hand", 1, time.Minute)[0]
	if first.Spec.NodeName != claim.NodeName {
		t.Errorf("pod runs on %s", first.Spec.NodeName)
	}
	if n := len(c.running()); n != 1 {
		t.Errorf("%d machines", n)
	}

	for _, name := range []string{"mine", "bad"} {
		if err := c.dynamic.Resource(nodeClaims).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, 4*time.Minute, "nothing is left of them", func(ctx context.Context) string {
		if _, err := c.dynamic.Resource(nodeClaims).Get(ctx, "bad", metav1.GetOptions{}); err == nil {
			return "NodeClaim bad is there"
		}
		return c.isGone(ctx, t, "mine", claim.NodeName, claim.InstanceID)
	})
	list, err := c.kube.CoreV1().Pods("hand").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range list.Items {
		if pod.UID == first.UID || pod.Spec.NodeName != "" {
			t.Errorf("pod %s, which was made at %s, is on node %q", pod.Name, pod.CreationTimestamp, pod.Spec.NodeName)
		}
	}
	c.usageIsOf(t)
}
