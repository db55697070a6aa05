package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// owned are the definitions that another release may own, and take with it.
var owned = []string{"nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws"}

// TestDefinitionsThatVanishEndNoNode deletes the definitions under running nodes, as the uninstallation of another release does that
// owned them, and applies them anew: no node ends, every object is back, and no instance is another. A person who then deletes the
// NodePools, with the definitions in place, still means it: every instance ends.
func TestDefinitionsThatVanishEndNoNode(t *testing.T) {
	t.Parallel()
	nodes := 4
	if full() {
		nodes = 30
	}
	c := start(t, stack.Options{})
	objects := []string{class("default"), pool("default", "default", fourCPUs, nil, nil)}
	c.apply(t, append([]string{namespace("stays")}, objects...)...)
	c.awaitReady(t, nodePools, "default")
	c.apply(t, guarded("stays", "web", nodes, 0, "2500m"))
	c.awaitRunning(t, "stays", nodes, 3*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	before := c.runningIDs()
	names := c.nodeUIDs(t)
	if len(before) != nodes || len(names) != nodes {
		t.Fatalf("%d machines and %d nodes, want %d", len(before), len(names), nodes)
	}

	for _, name := range owned {
		if err := c.dynamic.Resource(definitions).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	await(t, 3*time.Minute, "the definitions are gone, and nothing holds their objects", func(ctx context.Context) string {
		for _, name := range owned {
			if _, err := c.dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%s is there: %v", name, err)
			}
		}
		return ""
	})
	c.stays(t, before, names)
	for _, claim := range c.ledger(t).Claims {
		if claim.Ending() || !claim.Vanished {
			t.Errorf("claim %s is %s: %s; vanished %t", claim.Name, claim.State, claim.FailureMessage, claim.Vanished)
		}
	}

	var manifests []string
	for _, manifest := range crds.Manifests() {
		manifests = append(manifests, string(manifest))
	}
	c.apply(t, manifests...)
	await(t, time.Minute, "the definitions serve", func(ctx context.Context) string {
		if _, err := c.dynamic.Resource(nodePools).List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		if _, err := c.dynamic.Resource(classes).List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		return ""
	})
	c.apply(t, objects...)
	await(t, 3*time.Minute, "every NodeClaim is back and owns its node", func(ctx context.Context) string {
		list, err := c.dynamic.Resource(nodeClaims).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		if len(list.Items) != nodes {
			return fmt.Sprintf("%d NodeClaims of %d", len(list.Items), nodes)
		}
		for i := range list.Items {
			if object := &list.Items[i]; object.GetDeletionTimestamp() != nil || len(object.GetOwnerReferences()) != 1 {
				return fmt.Sprintf("NodeClaim %s: being deleted %v, owners %v", object.GetName(), object.GetDeletionTimestamp(), object.GetOwnerReferences())
			}
		}
		for _, claim := range c.ledger(t).Claims {
			if claim.Vanished || claim.ObjectUID == "" {
				return "claim " + claim.Name + " has no object"
			}
		}
		return c.settled(t)(ctx)
	})
	c.awaitReady(t, nodePools, "default")
	if _, err := c.Disrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.stays(t, before, names)
	c.oneEach(t)
	for _, claim := range c.ledger(t).Claims {
		if claim.Drift != "" {
			t.Errorf("claim %s has drifted: %s %s", claim.Name, claim.Drift, claim.DriftMessage)
		}
	}

	// And what people delete ends.
	if err := c.dynamic.Resource(nodePools).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, 4*time.Minute, "the NodePools were deleted and every machine has ended", func(context.Context) string {
		for _, id := range before {
			if i, _ := c.EC2.Lookup(id); i.State != ec2.Terminated {
				return fmt.Sprintf("%s is %s", id, i.State)
			}
		}
		return ""
	})
}

func (c *cluster) runningIDs() []string {
	var out []string
	for _, i := range c.running() {
		out = append(out, i.ID)
	}
	slices.Sort(out)
	return out
}

// nodeUIDs are the UIDs of the nodes that instances of ours are, by name.
func (c *cluster) nodeUIDs(t *testing.T) map[string]string {
	t.Helper()
	list, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: model.LabelNodePool})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for i := range list.Items {
		out[list.Items[i].Name] = string(list.Items[i].UID)
	}
	return out
}

// stays fails unless the instances are those there were, and their nodes are neither gone, nor being deleted, nor tainted.
func (c *cluster) stays(t *testing.T, instances []string, nodes map[string]string) {
	t.Helper()
	if now := c.runningIDs(); !slices.Equal(now, instances) {
		t.Fatalf("machines %v, were %v", now, instances)
	}
	list, err := c.kube.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{LabelSelector: model.LabelNodePool})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Items) != len(nodes) {
		t.Fatalf("%d nodes, were %d", len(list.Items), len(nodes))
	}
	for i := range list.Items {
		node := &list.Items[i]
		if nodes[node.Name] != string(node.UID) || node.DeletionTimestamp != nil || len(node.Spec.Taints) > 0 {
			t.Errorf("node %s of UID %s (was %s) is being deleted %v, with taints %v", node.Name, node.UID, nodes[node.Name], node.DeletionTimestamp, node.Spec.Taints)
		}
	}
}
