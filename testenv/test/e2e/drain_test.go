package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestF108_F110_F119_WhatPeopleDeleteDrains deletes a Node, a NodeClaim and a NodePool in the same moment, as kubectl does.
// Each ends in a graceful drain: pods leave by evictions alone and in tiers, their budget is kept at every instant, they run
// elsewhere, and of instances, objects, records and what they held against limits nothing is left.
func TestF108_F110_F119_WhatPeopleDeleteDrains(t *testing.T) {
	t.Parallel()
	pods, leaving := 5, 2
	if full() {
		pods, leaving = 12, 5
	}
	c := start(t, stack.Options{KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}})
	c.apply(t, namespace("ends"), class("default"),
		pool("leaving", "default", general, nil, []string{"weight: 90", fmt.Sprintf("limits: {nodes: %d}", leaving)}),
		pool("default", "default", general, nil, []string{"weight: 10", "limits: {nodes: 100}"}),
		daemons("ends", "ordinary", ""), daemons("ends", "critical", "system-node-critical"))
	c.awaitReady(t, nodePools, "leaving")
	c.awaitReady(t, nodePools, "default")
	house := watchPods(t, c.kube, "ends")
	c.apply(t, guarded("ends", "web", pods, pods-1, "500m", apart("web")))
	c.awaitRunning(t, "ends", 3*pods, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	house.hold(map[string]int{"web": pods - 1})

	claims := map[string][]model.Claim{}
	for _, claim := range c.ledger(t).Claims {
		claims[claim.Pool] = append(claims[claim.Pool], claim)
	}
	if len(claims["leaving"]) != leaving || len(claims["default"]) != pods-leaving {
		t.Fatalf("%d and %d claims", len(claims["leaving"]), len(claims["default"]))
	}
	ends := append(slices.Clone(claims["leaving"]), claims["default"][:2]...)
	before := c.byInstance(t)
	background, began := metav1.DeletePropagationBackground, time.Now()
	how := metav1.DeleteOptions{PropagationPolicy: &background}
	for _, err := range []error{
		c.kube.CoreV1().Nodes().Delete(t.Context(), claims["default"][0].NodeName, how),
		c.dynamic.Resource(nodeClaims).Delete(t.Context(), claims["default"][1].Name, how),
		c.dynamic.Resource(nodePools).Delete(t.Context(), "leaving", how),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	await(t, 4*time.Minute, "nothing is left of what was deleted", func(ctx context.Context) string {
		for _, claim := range ends {
			if left := c.isGone(ctx, t, claim.Name, claim.NodeName, claim.InstanceID); left != "" {
				return left
			}
		}
		if _, err := c.dynamic.Resource(nodePools).Get(ctx, "leaving", metav1.GetOptions{}); err == nil {
			return "the NodePool is there"
		}
		return c.appRuns(ctx, "ends", "web", pods)
	})
	took := time.Since(began)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	c.oneEach(t)
	c.usageIsOf(t)
	c.onlyTheseEnded(t, before, ends)
	t.Logf("%d nodes ended %s after a Node, a NodeClaim and a NodePool were deleted; of %d pods at least %s were ready", len(ends), took.Round(time.Second), pods, house.kept(t))

	granted, refused := byEviction(t, audit(t, c.Kube, began), "ends", time.Time{})
	inTiers(t, house, granted, ends, "web", "ordinary", "critical")
	t.Logf("%d evictions granted, %d refused by the budget", len(granted), refused)
}

// byInstance are the instances that run, with the claims they are of.
func (c *cluster) byInstance(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, claim := range c.ledger(t).Claims {
		if claim.Live() {
			out[claim.InstanceID] = claim.Name
		}
	}
	return out
}

// onlyTheseEnded fails the test unless of the instances there were before exactly those of the claims have ended.
func (c *cluster) onlyTheseEnded(t *testing.T, before map[string]string, claims []model.Claim) {
	t.Helper()
	ended := map[string]bool{}
	for _, claim := range claims {
		ended[claim.InstanceID] = true
	}
	for id, name := range before {
		if i, _ := c.EC2.Lookup(id); (i.State == "terminated") != ended[id] {
			t.Errorf("machine %s of claim %s is %s", id, name, i.State)
		}
	}
}

// usageIsOf fails the test unless each pool holds against its limits what its live claims hold.
func (c *cluster) usageIsOf(t *testing.T) {
	t.Helper()
	ledger, want := c.ledger(t), map[string]model.Resources{}
	for _, claim := range ledger.Claims {
		if want[claim.Pool] == nil {
			want[claim.Pool] = model.Resources{}
		}
		for name, amount := range claim.Reserved {
			want[claim.Pool][name] += amount
		}
	}
	for _, usage := range ledger.Usage {
		held := maps.Clone(usage.Reserved)
		maps.DeleteFunc(held, func(_ string, amount int64) bool { return amount == 0 })
		if sum := want[usage.Pool]; len(held) != len(sum) || !maps.Equal(held, sum) {
			t.Errorf("pool %s holds %v, its claims %v", usage.Pool, held, sum)
		}
		delete(want, usage.Pool)
	}
	if len(want) > 0 {
		t.Errorf("nothing is recorded of what these pools hold: %v", want)
	}
}

// inTiers fails the test unless of each claim's node a pod of every app was evicted, each app after the one before.
func inTiers(t *testing.T, house *house, granted []kube.Entry, claims []model.Claim, apps ...string) {
	t.Helper()
	for _, claim := range claims {
		var order []string
		for _, entry := range granted {
			if house.home(entry.Name) == claim.NodeName {
				order = append(order, appOf(entry.Name, apps))
			}
		}
		if !slices.Equal(order, apps) {
			t.Errorf("from node %s of claim %s left %v, want %v", claim.NodeName, claim.Name, order, apps)
		}
	}
}

// appOf is the app whose name a pod's begins with.
func appOf(pod string, apps []string) string {
	for _, app := range apps {
		if len(pod) > len(app) && pod[:len(app)+1] == app+"-" {
			return app
		}
	}
	return pod
}
