package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestRelayMode runs a cluster whose API server lets no function in: 20 pods get nodes, a spot instance is taken back, and the cluster
// shrinks. Whatever functions ask for travels by the cluster's queue and is carried out by two watchers. No call of AWS is denied, and none
// of the API server.
func TestRelayMode(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Relay: true, Watchers: 2, KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}})
	c.quicken(t)
	began := time.Now()
	spot := `{key: karpenter.sh/capacity-type, operator: In, values: [spot]}, {key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large, m6i.xlarge]}`
	c.apply(t, namespace("relayed"), class("default"), pool("default", "default", spot, nil, []string{giving(patience, "100%")}))
	c.awaitReady(t, nodePools, "default")
	c.apply(t, guarded("relayed", "web", 20, 1, "600m"))
	c.awaitRunning(t, "relayed", 20, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	t.Logf("20 pods run after %s", time.Since(began).Round(time.Second))

	claim := c.ledger(t).Claims[0]
	c.warn(t, claim)
	await(t, 2*time.Minute, "the machine that was taken back is gone, and its pods run", func(ctx context.Context) string {
		if slices.ContainsFunc(c.ledger(t).Claims, func(k model.Claim) bool {
			return k.Name == claim.Name && k.InstanceID == claim.InstanceID && k.State != model.Gone
		}) {
			return claim.Name + " is not gone"
		}
		return c.appRuns(ctx, "relayed", "web", 20)
	})
	await(t, time.Minute, "the claims are initialised", c.settled(t))

	instances := len(c.running())
	c.scale(t, "relayed", "web", 4)
	await(t, 2*time.Minute, "nodes are given back", func(ctx context.Context) string {
		if left := len(c.running()); left >= instances || left > 3 {
			return fmt.Sprintf("%d of %d machines run", left, instances)
		}
		return c.appRuns(ctx, "relayed", "web", 4)
	})
	log := audit(t, c.Kube, began)
	for _, group := range []string{"joiner:functions", "joiner:interruption", "joiner:catalog", "joiner:disrupt"} {
		asked := log.By(group)
		if len(asked) == 0 {
			t.Errorf("nobody of %s asked anything", group)
		}
		for _, e := range asked {
			if e.User != "joiner:relay" || e.Code == 401 || e.Code == 403 {
				t.Errorf("%s: %s", e.User, e.String())
			}
		}
	}
}
