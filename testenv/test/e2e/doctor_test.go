package e2e

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/joiner-sh/joiner/shared/api/crds"
	"github.com/joiner-sh/joiner/testenv/local/cloud/access"
	"github.com/joiner-sh/joiner/testenv/local/cloud/policy"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// TestDoctorOfAWholeInstallation: where the templates and the chart were installed, doctor finds everything in order; what is then
// broken it finds, and says what to do. joiner attach prints a command that Helm renders the chart by.
func TestDoctorOfAWholeInstallation(t *testing.T) {
	t.Parallel()
	c := start(t, stack.Options{})
	c.apply(t, class("default"))
	const unprotected = "ledger: it is not protected against deletion"
	await(t, time.Minute, "doctor asks for the second step alone", func(context.Context) string {
		if found := c.ailments(t, -1); !slices.Equal(found, []string{unprotected}) {
			return strings.Join(found, "\n")
		}
		return ""
	})
	if _, err := dynamodb.NewFromConfig(c.Cloud.Config()).UpdateTable(t.Context(), &dynamodb.UpdateTableInput{ // as context protect does (A7)
		TableName: &c.Table, DeletionProtectionEnabled: new(true),
	}); err != nil {
		t.Fatal(err)
	}
	await(t, time.Minute, "doctor finds everything in order", func(context.Context) string {
		return strings.Join(c.ailments(t, -1), "\n")
	})
	c.helmTakes(t)

	provision := c.roleOf(t, "Provision")
	definition := c.dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, tt := range []struct {
		name   string
		breaks func(*testing.T)
		status int
		says   string
	}{
		{"the rule of each minute", func(*testing.T) { c.SetTicksDisabled(true) }, 2, "ticks: the rule is DISABLED"},
		{"a rule of notices", func(*testing.T) { c.Bus.DeleteRule("joiner-health") }, 2, "notices: there is no such rule: nodes are not drained"},
		{"a quota", func(*testing.T) { c.Quotas.Set("L-34B43A08", 0) }, 2, "quotas: standard spot: 0 of 0 vCPUs run"},
		{"a role", func(t *testing.T) {
			all, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": {"Sid": "Nearly", "Effect": "Allow", "NotAction": "ec2:CreateFleet", "Resource": "*"}}`), policy.Identity)
			if err != nil {
				t.Fatal(err)
			}
			trust, err := policy.Parse([]byte(`{"Version": "2012-10-17", "Statement": {"Sid": "Anybody", "Effect": "Allow", "Principal": "*", "Action": "sts:*"}}`), policy.Trust)
			if err != nil {
				t.Fatal(err)
			}
			c.Cloud.Policies.SetRole(provision, access.Role{Trust: trust, Identity: []policy.Attached{{Name: "own", Document: all}}})
		}, 2, "permissions: function provision may not ec2:CreateFleet"},
		{"an access entry", func(t *testing.T) {
			if _, err := eks.NewFromConfig(c.Cloud.Config()).DeleteAccessEntry(t.Context(), &eks.DeleteAccessEntryInput{ClusterName: &c.Options.Cluster, PrincipalArn: &provision}); err != nil {
				t.Fatal(err)
			}
		}, 2, "access entries: function provision is refused"},
		{"a definition", func(t *testing.T) {
			object, err := definition.Get(t.Context(), crds.NodePools, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			versions, _, _ := unstructured.NestedSlice(object.Object, "spec", "versions")
			if err := unstructured.SetNestedField(versions[0].(map[string]any), "of another version", "schema", "openAPIV3Schema", "description"); err != nil {
				t.Fatal(err)
			}
			if err := unstructured.SetNestedSlice(object.Object, versions, "spec", "versions"); err != nil {
				t.Fatal(err)
			}
			if _, err := definition.Update(t.Context(), object, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}, 2, "definitions: the CustomResourceDefinition nodepools.karpenter.sh is not that of this version"},
		{"a class", func(t *testing.T) { c.apply(t, classWith("lost", "nowhere")) }, 2, "node classes: SubnetsNotFound"},
	} {
		tt.breaks(t)
		await(t, time.Minute, "doctor finds "+tt.name, func(context.Context) string {
			found := c.ailments(t, tt.status)
			if slices.ContainsFunc(found, func(line string) bool { return strings.HasPrefix(line, tt.says) }) {
				return ""
			}
			return strings.Join(found, "\n")
		})
	}
}

// ailments runs doctor and returns what is not in order, as "check: what was seen"; status is what it must exit with, -1 = whatever.
func (c *cluster) ailments(t *testing.T, status int) []string {
	t.Helper()
	var out struct {
		Findings []struct{ Level, Check, Object, Seen, Do string }
		Status   int
	}
	c.joiner(t, status, &out, "doctor", "-o", "json", "--kubeconfig", c.Kube.KubeconfigPath())
	var found []string
	for _, f := range out.Findings {
		if f.Level != "ok" {
			found = append(found, f.Check+": "+f.Seen)
			if f.Do == "" {
				t.Errorf("%+v does not say what to do", f)
			}
		}
	}
	if (len(found) == 0) != (out.Status == 0) {
		t.Errorf("status %d with %q", out.Status, found)
	}
	return found
}

// roleOf is the ARN of the role by which a function acts for the cluster.
func (c *cluster) roleOf(t *testing.T, function string) string {
	t.Helper()
	reg, err := c.Ledger.Cluster(t.Context(), c.Options.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]string{"Provision": reg.Roles.Provision, "Interruption": reg.Roles.Interruption, "Catalog": reg.Roles.Catalog, "Disrupt": reg.Roles.Disrupt}[function]
}

// helmTakes has Helm render the chart with the values that joiner attach prints, which must say what the watcher was told.
func (c *cluster) helmTakes(t *testing.T) {
	t.Helper()
	var attached struct{ Helm []string }
	c.joiner(t, 0, &attached, "attach", c.Options.Cluster, "-o", "json", "--image", "registry.example/watcher@sha256:"+strings.Repeat("0a", 32))
	if len(attached.Helm) < 6 || strings.Join(attached.Helm[:5], " ") != "helm upgrade --install joiner infra/chart" {
		t.Fatalf("attach prints %q", attached.Helm)
	}
	args := slices.DeleteFunc(slices.Clone(attached.Helm[5:]), func(word string) bool { return word == "--create-namespace" })
	command := exec.CommandContext(t.Context(), c.Kube.Assets().Helm, append([]string{"template", "joiner", "../../../infra/chart", "--set", "webhook.enabled=false"}, args...)...)
	rendered, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v: %s", args, err, rendered)
	}
	deployment, err := c.kube.AppsV1().Deployments("joiner").Get(t.Context(), "joiner-watcher", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range deployment.Spec.Template.Spec.Containers[0].Env {
		if !strings.Contains(string(rendered), "name: "+e.Name) || !strings.Contains(string(rendered), e.Value) {
			t.Errorf("the watcher's setting %s=%s does not come of the command that attach prints", e.Name, e.Value)
		}
	}
}
