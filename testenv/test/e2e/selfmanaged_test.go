package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/local/cloud/ec2"
	"github.com/joiner-sh/joiner/testenv/local/kube"
	"github.com/joiner-sh/joiner/testenv/test/stack"
)

// ownCluster is a self-managed cluster by the page of such.
type ownCluster struct {
	*cluster
	began time.Time
}

// past logs when a step was done.
func (c ownCluster) past(t *testing.T, step string) {
	t.Helper()
	t.Logf("%s after %s", step, time.Since(c.began).Round(time.Second))
}

// TestSelfManagedCluster: functions reach the API server of a cluster that EKS does not run themselves, by
// aws-iam-authenticator. People create its roles and attach it by joiner attach.
func TestSelfManagedCluster(t *testing.T) {
	t.Parallel()
	c := startOwn(t, stack.Options{})
	c.attach(t)
	c.past(t, "the cluster is attached")
	began := time.Now()
	c.works(t)
	c.asked(t, began, func(e kube.Entry) bool {
		return strings.HasPrefix(e.User, "joiner:") && e.User != "joiner:relay"
	})
	c.detach(t)
}

// TestSelfManagedClusterByRelay: nobody lets functions in, and the watcher executes their requests. The cluster's
// stack attaches it.
func TestSelfManagedClusterByRelay(t *testing.T) {
	if !full() {
		t.Skip("the short form is that without the relay")
	}
	t.Parallel()
	c := startOwn(t, stack.Options{Relay: true, Watchers: 2})
	began := time.Now()
	c.works(t)
	c.asked(t, began, func(e kube.Entry) bool { return e.User == "joiner:relay" })
	c.knowsNothingOfEKS(t)
}

func startOwn(t *testing.T, o stack.Options) ownCluster {
	t.Helper()
	o.SelfManaged, o.Cluster, o.KubeOptions = true, "own", kube.Options{AuditPolicy: kube.AuditEnds}
	began := time.Now()
	c := start(t, o)
	c.quicken(t)
	own := ownCluster{c, began}
	own.past(t, "the stack runs")
	return own
}

// attach attaches the cluster by what its page says, with the roles that its stack made and no registration.
func (c ownCluster) attach(t *testing.T) {
	t.Helper()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, c.Kube.CertificateAuthority(), 0o600); err != nil {
		t.Fatal(err)
	}
	outputs, err := c.Cluster.Outputs()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"attach", "own", "--self-managed", "--endpoint", c.Kube.Endpoint(), "--ca", authority, "--kubernetes-version",
		minor(), "--service-cidr", c.Kube.ServiceCIDR(), "--external-id", outputs["ExternalID"],
	}
	for _, function := range []string{"provision", "interruption", "catalog", "disrupt"} {
		role := "arn:aws:iam::" + c.Cloud.Account() + ":role/joiner-own-us-west-2-" + function
		args = append(args, "--role-"+function, role)
	}
	out, errs := c.says(t, 0, args...)
	port := c.Kube.Endpoint()[strings.LastIndexByte(c.Kube.Endpoint(), ':')+1:]
	attached := "Cluster own (self-managed, " + c.Kube.Endpoint()
	for _, want := range []string{attached, "networkPolicy.ports={" + port + "}"} {
		if !strings.Contains(out, want) {
			t.Errorf("attach says %s, want %q", out, want)
		}
	}
	for _, want := range []string{"aws-iam-authenticator", "serviceAccount.roleARN"} {
		if !strings.Contains(errs, want) {
			t.Errorf("attach warns %s, want %q", errs, want)
		}
	}
	if result, err := c.Resolve(t.Context()); err != nil || result.Err() != nil { // what the next minute brings
		t.Fatal(err, result.Err())
	}
}

// minor is the cluster's version as people say it.
func minor() string {
	return strings.Join(strings.SplitN(strings.TrimPrefix(kube.KubernetesVersion(), "v"), ".", 3)[:2], ".")
}

// works has pods pend and get nodes that join by the page's user data, nodes consolidated, and a NodeClaim deleted.
func (c ownCluster) works(t *testing.T) {
	t.Helper()
	class, err := stack.OwnYAML(c.Cloud.Account(), "kind: EC2NodeClass")
	if err != nil {
		t.Fatal(err)
	}
	const own = `{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}, ` +
		`{key: node.kubernetes.io/instance-type, operator: In, values: [m6i.large, m6i.xlarge]}`
	c.apply(t, namespace("shop"), class, pool("default", "kubeadm", own, nil, []string{giving(patience, "100%")}))
	c.awaitReady(t, classes, "kubeadm")
	c.awaitReady(t, nodePools, "default")
	c.apply(t, deployment("shop", "web", 5, "600m"))
	c.awaitRunning(t, "shop", 5, 2*time.Minute)
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	c.past(t, "the pods run")
	c.oneEach(t)
	c.nodes(t)
	await(t, time.Minute, "doctor asks for the second step alone", func(context.Context) string {
		if found := c.ailments(t, -1); !slices.Equal(found, []string{"ledger: it is not protected against deletion"}) {
			return strings.Join(found, "\n")
		}
		return ""
	})

	c.past(t, "doctor is content")
	instances := len(c.running())
	c.scale(t, "shop", "web", 1)
	await(t, 2*time.Minute, "nodes are consolidated", func(ctx context.Context) string {
		if left := c.running(); len(left) > 1 || len(left) == instances && left[0].Type != "m6i.large" {
			return fmt.Sprintf("%d of %d instances run, %s", len(left), instances, left[0].Type)
		}
		return c.appRuns(ctx, "shop", "web", 1)
	})
	await(t, time.Minute, "the claims are initialised", c.settled(t))
	c.nodes(t)

	c.past(t, "nodes are consolidated")
	claim := c.ledger(t).Claims[0]
	if err := c.dynamic.Resource(nodeClaims).Delete(t.Context(), claim.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, 2*time.Minute, "nothing is left of the NodeClaim that was deleted", func(ctx context.Context) string {
		return c.isGone(ctx, t, claim.Name, claim.NodeName, claim.InstanceID)
	})
	await(t, 2*time.Minute, "its pod runs on another node", func(ctx context.Context) string {
		return c.appRuns(ctx, "shop", "web", 1)
	})
	c.nodes(t)
	c.past(t, "the NodeClaim is replaced")
}

// nodes holds the cluster's Nodes to what the page promises: each is of a running instance of the cluster's own
// image, by the provider ID that its kubelet says, has the labels of EC2 though there is no cloud controller manager,
// and nobody's taints. Instances that are gone have none.
func (c ownCluster) nodes(t *testing.T) {
	t.Helper()
	var list *corev1.NodeList
	instanceOf := func(n *corev1.Node) string {
		return n.Spec.ProviderID[strings.LastIndexByte(n.Spec.ProviderID, '/')+1:]
	}
	await(t, time.Minute, "instances that are gone have no node", func(ctx context.Context) (missing string) {
		var err error
		if list, err = c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil {
			return err.Error()
		}
		for i := range list.Items {
			if instance, _ := c.EC2.Lookup(instanceOf(&list.Items[i])); instance.State == ec2.Terminated {
				missing = list.Items[i].Name + " is there"
			}
		}
		return missing
	})
	for _, n := range list.Items {
		id := instanceOf(&n)
		i, known := c.EC2.Lookup(id)
		if !known || i.State != "running" || !strings.HasPrefix(i.ImageName, "kubeadm-") ||
			n.Spec.ProviderID != "aws:///"+i.Zone+"/"+id {
			t.Errorf("node %s is of %s, which is %s of image %s", n.Name, n.Spec.ProviderID, i.State, i.ImageName)
		}
		for label, want := range map[string]string{
			"topology.kubernetes.io/zone": i.Zone, "topology.kubernetes.io/region": i.Region,
			"node.kubernetes.io/instance-type": i.Type,
			model.LabelNodePool:                "default", model.LabelInitialized: "true",
		} {
			if n.Labels[label] != want {
				t.Errorf("node %s: label %s is %q, want %q", n.Name, label, n.Labels[label], want)
			}
		}
		if len(n.Spec.Taints) != 0 {
			t.Errorf("node %s has taints %v", n.Name, n.Spec.Taints)
		}
	}
	if instances := len(c.running()); len(list.Items) != instances {
		t.Errorf("%d nodes of %d instances", len(list.Items), instances)
	}
}

// asked fails the test where a request of functions was refused, or was not by whom the page says. Nodes joined by
// certificates of their own.
func (c ownCluster) asked(t *testing.T, since time.Time, by func(kube.Entry) bool) {
	t.Helper()
	log := audit(t, c.Kube, since)
	for _, group := range []string{"joiner:functions", "joiner:interruption", "joiner:catalog", "joiner:disrupt"} {
		requests := log.By(group)
		if len(requests) == 0 {
			t.Errorf("nobody of %s asked anything", group)
		}
		for _, e := range requests {
			if !by(e) {
				t.Errorf("%s: %s", e.User, e.String())
			}
		}
	}
	list, err := c.kube.CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	issued := 0
	for _, r := range list.Items {
		if strings.HasPrefix(r.Spec.Username, "system:bootstrap:") && len(r.Status.Certificate) > 0 {
			issued++
		}
	}
	if launched := len(c.EC2.Launches()); issued != launched {
		t.Errorf("%d certificates were issued for a bootstrap token, and %d instances were launched", issued, launched)
	}
}

// knowsNothingOfEKS fails the test where EKS was asked anything, or ARC, which knows EKS's clusters alone; and where
// the watcher got its role by something else than a token of the cluster's issuer.
func (c ownCluster) knowsNothingOfEKS(t *testing.T) {
	t.Helper()
	became := false
	for _, count := range c.Cloud.Counts() {
		if count.Service == "eks" || count.Service == "arc-zonal-shift" {
			t.Errorf("%s was asked %s, %d times", count.Service, count.Action, count.Requests)
		}
		became = became || count.Action == "AssumeRoleWithWebIdentity" && count.Requests > count.Errors
	}
	if !became {
		t.Error("no watcher got its role by a token of the cluster's issuer")
	}
}

// detach ends what there is of the cluster, and detaches it.
func (c ownCluster) detach(t *testing.T) {
	t.Helper()
	if _, errs := c.says(t, 2, "detach", "own", "--yes"); !strings.Contains(errs, "instance") {
		t.Errorf("with a running instance detach says %s", errs)
	}
	if err := c.dynamic.Resource(nodePools).Delete(t.Context(), "default", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, 2*time.Minute, "the instances of the NodePool end", func(context.Context) string {
		if left := c.running(); len(left) > 0 || len(c.ledger(t).Claims) > 0 {
			return fmt.Sprintf("%d instances run, claims %v", len(left), c.ledger(t).Claims)
		}
		return ""
	})
	await(t, time.Minute, "the cluster is detached", func(ctx context.Context) string {
		out, errs := c.says(t, -1, "detach", "own", "--yes")
		if _, err := c.Ledger.Cluster(ctx, "own"); !fault.Is(err, fault.NotFound) {
			return out + errs
		}
		return ""
	})
	c.past(t, "the cluster is detached")
	c.knowsNothingOfEKS(t)
	await(t, time.Minute, "no node is left", func(ctx context.Context) string {
		nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil || len(nodes.Items) > 0 {
			return fmt.Sprintf("%d nodes are left: %v", len(nodes.Items), err)
		}
		return ""
	})
	for _, i := range c.EC2.Launches() {
		if !bytes.Contains(i.UserData, []byte("sha256:")) || bytes.Contains(i.UserData, []byte("JOINER_")) {
			t.Errorf("user data of %s:\n%s", i.ID, i.UserData)
		}
	}
}
