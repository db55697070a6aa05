package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// actors are those who have rights by the chart: the group the audit log knows them by, and their roles.
var actors = []struct{ group, clusterRole, role string }{
	{"joiner:functions", "joiner-provision", ""},
	{"joiner:interruption", "joiner-interruption", ""},
	{"joiner:catalog", "joiner-catalog", ""},
	{"joiner:disrupt", "joiner-disrupt", ""},
	{"system:serviceaccounts:joiner", "joiner-watcher", "joiner-watcher-lease"},
}

// seldom are rights that a short day does not use, by who has them, with when they are.
var seldom = map[string]map[string]string{
	"joiner:functions": {
		"list /podtemplates": unwatched, "list apps/deployments": unwatched, "list /services": unwatched, "list /replicationcontrollers": unwatched,
		"list apps/replicasets": unwatched, "list apps/statefulsets": unwatched,
		"patch /events":      again,
		"patch /pods/status": "pods were planned ahead of older ones of another namespace",

		"get karpenter.k8s.aws/ec2nodeclasses": first, "patch karpenter.k8s.aws/ec2nodeclasses/status": first,
	},
	"joiner:interruption": {
		"delete /pods":                     "a pod did not leave by its deadline",
		"get /pods":                        several,
		"list policy/poddisruptionbudgets": several,
		"get /persistentvolumes":           attached,
		"patch /events":                    again,

		"get apiextensions.k8s.io/customresourcedefinitions": "somebody deletes a NodeClaim or a Node",
	},
	"joiner:catalog": {
		"get apiextensions.k8s.io/customresourcedefinitions": "somebody deletes an EC2NodeClass",

		"create /events":                       "a class is wrong, or what it was has ended",
		"patch /events":                        again,
		"get /nodes":                           "a reservation has ended, which its nodes' labels speak of",
		"patch /nodes":                         "the same",
		"get karpenter.sh/nodeclaims":          drift,
		"patch karpenter.sh/nodeclaims":        drift,
		"patch karpenter.sh/nodeclaims/status": drift,
	},
	"joiner:disrupt": {
		"get /persistentvolumes": attached,
		"patch /events":          again,
	},
	"system:serviceaccounts:joiner": {
		"watch /services": controllers, "watch /replicationcontrollers": controllers, "watch apps/deployments": controllers,
		"watch apps/replicasets": controllers, "watch apps/statefulsets": controllers,
	},
}

const (
	unwatched   = "a cluster is listed without its watcher, and has a CapacityBuffer, or spreads by default"
	controllers = "a CapacityBuffer is of a controller, or kube-scheduler spreads by default"
	again       = "people are told the same again, which is counted"
	several     = "several budgets speak of a pod, and are named"
	attached    = "a volume is still attached"
	drift       = "a claim has drifted"
	first       = "the catalog function has recorded no class of the cluster yet, so that who provisions tells how a class stands"
)

// isSeldom reports whether a right is known to be for rarer days. Watchers list where an API server cannot stream what there is.
func isSeldom(group, right string) bool {
	// A watcher lists until a server lets it watch from the start, and those who provision while no watcher has published.
	lists := group == "system:serviceaccounts:joiner" || group == "joiner:functions"
	return seldom[group][right] != "" || lists && strings.HasPrefix(right, "list ")
}

// TestRightsOfTheChartAreEnoughAndAllUsed is a day of a cluster with the chart's rights: pods get instances, one is taken back by
// AWS, some are given back. Nothing is forbidden, by a role or by a policy, and every right was used or is known to be for rarer days.
func TestRightsOfTheChartAreEnoughAndAllUsed(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{Watchers: -1, KubeOptions: kube.Options{AuditPolicy: kube.AuditEnds}})
	watcher, err := c.StartWatcher()
	if err != nil {
		t.Fatal(err)
	}
	c.quicken(t)
	c.apply(t, namespace("day"), class("default"), class("unused"),
		pool("given", "default", twoSizes, nil, []string{giving(patience, "50%")}), pool("taken", "default", fourCPUs, nil, nil))
	c.awaitReady(t, nodePools, "given")
	c.awaitReady(t, nodePools, "taken")
	c.awaitReady(t, classes, "unused")
	c.apply(t, "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {name: dearer}\nspec: "+
		"{priceAdjustment: '+1%', requirements: "+
		"[{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large]}]}")
	await(t, 2*time.Minute, "the NodeOverlay is applied", func(ctx context.Context) string {
		status, reason, message := c.condition(ctx, overlays, "dearer", "ValidationSucceeded")
		if status != "True" {
			return status + " " + reason + " " + message + "."
		}
		return ""
	})
	const pods = 16
	c.apply(t, guarded("day", "web", pods, 1, fmt.Sprintf("%dm", sixHundred), "nodeSelector: {karpenter.sh/nodepool: given}"),
		guarded("day", "one", 1, 0, "3", "nodeSelector: {karpenter.sh/nodepool: taken}"), buffer("day", "spare", 1, "600m"))
	c.awaitRunning(t, "day", pods+1, 3*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	// By now the catalog function has recorded all classes, and writes alone that one is not ready any more.
	c.apply(t, classWith("unused", "nowhere"))
	await(t, time.Minute, "the class that selects nothing is not ready", func(ctx context.Context) string {
		if status, reason, message := c.condition(ctx, classes, "unused", "Ready"); status != "False" {
			return status + " " + reason + " " + message
		}
		return ""
	})

	var warned []model.Claim
	for _, claim := range c.ledger(t).Claims {
		if claim.Pool == "taken" {
			warned = append(warned, claim)
		}
	}
	if len(warned) == 0 {
		t.Fatal("there is no machine to take back")
	}
	instances := len(c.running())
	c.warn(t, warned[0])
	c.scale(t, "day", "web", 4)
	await(t, 3*time.Minute, "what was warned is gone, and machines were given back", func(ctx context.Context) string {
		if left := c.allGone(ctx, t, warned[:1]); left != "" {
			return left
		}
		if now := len(c.running()); now >= instances {
			return fmt.Sprintf("%d machines of %d", now, instances)
		}
		return c.settled(t)(ctx)
	})
	watcher.Kill() // its watches are in the log once they end

	log := audit(t, c.Kube, time.Time{})
	for _, actor := range actors {
		used := log.By(actor.group).Rights()
		for _, right := range c.granted(t, actor.clusterRole, actor.role) {
			if !slices.Contains(used, right) && !isSeldom(actor.group, right) {
				t.Errorf("%s may %s, and never does; take that away, or say when it does", actor.group, right)
			}
		}
	}
}

// granted returns what a ClusterRole and a Role in the chart's namespace, if any, allow, spelled as the audit log has it.
func (c *cluster) granted(t *testing.T, clusterRole, role string) []string {
	t.Helper()
	cluster, err := c.kube.RbacV1().ClusterRoles().Get(t.Context(), clusterRole, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := cluster.Rules
	if role != "" {
		own, err := c.kube.RbacV1().Roles("joiner").Get(t.Context(), role, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, own.Rules...)
	}
	return rightsOf(rules)
}

func rightsOf(rules []rbacv1.PolicyRule) []string {
	var out []string
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					out = append(out, verb+" "+group+"/"+resource)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
