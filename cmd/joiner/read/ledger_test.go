package read_test

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/cmd/joiner/read"
	"github.com/joiner-sh/joiner/shared/model"
)

const ledgerPool = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default, uid: pool-uid}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: nodes}
      expireAfter: 48h
      terminationGracePeriod: 10m
`

func ledgerNode(name, more string) string {
	return `---
apiVersion: v1
kind: Node
metadata:
  name: ` + name + `
  uid: uid-` + name + `
  creationTimestamp: 2026-01-01T00:00:00Z
  labels: {karpenter.sh/nodepool: default, karpenter.sh/registered: "true", karpenter.sh/initialized: "true", karpenter.sh/capacity-type: spot,
    node.kubernetes.io/instance-type: m5.large, topology.kubernetes.io/zone: us-west-2a, tier: front}
  ` + more + `
spec: {providerID: "aws:///us-west-2a/i-` + name + `"}
status: {conditions: [{type: Ready, status: "True", lastTransitionTime: 2026-01-01T00:01:00Z}]}
`
}

func ledgerClaim(name, more, status string) string {
	return `---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: ` + name + `
  uid: uid-` + name + `
  creationTimestamp: 2026-01-01T00:00:30Z
  labels: {karpenter.sh/nodepool: default, tier: back}
  annotations: {karpenter.sh/nodepool-hash: "11"}
  ` + more + `
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: nodes}
  requirements: []
  expireAfter: 24h
status: ` + status + "\n"
}

// ledgerOf reads documents and returns the claims by name.
func ledgerOf(t *testing.T, text string) (map[string]model.Claim, int, *read.Cluster) {
	t.Helper()
	cluster := mustRead(t, file(t, "a.yaml", text))
	claims, madeUp := cluster.LedgerClaims()
	out := map[string]model.Claim{}
	for i, claim := range claims {
		if out[claim.Name] = claim; i > 0 && claims[i-1].Name >= claim.Name {
			t.Errorf("%s comes after %s", claim.Name, claims[i-1].Name)
		}
	}
	if len(out) != len(claims) {
		t.Errorf("%d claims of %d names", len(claims), len(out))
	}
	return out, madeUp, cluster
}

func TestLedgerJoinsNodeClaimsWithTheirNodes(t *testing.T) {
	claims, madeUp, cluster := ledgerOf(t, ledgerPool+ledgerNode("a", "")+ledgerClaim("claim-a", "",
		`{providerID: "aws:///us-west-2a/i-a", imageID: ami-1, lastPodEventTime: 2026-01-02T03:04:05Z, conditions: [
  {type: Launched, status: "True", lastTransitionTime: 2026-01-01T00:00:40Z},
  {type: Drifted, status: "True", reason: AMIDrift, message: another image, lastTransitionTime: 2026-01-02T00:00:00Z}]}`))
	c := claims["claim-a"]
	if madeUp != 0 || len(claims) != 1 {
		t.Fatalf("%d made up of %v", madeUp, claims)
	}
	if c.NodeName != "a" || c.NodeUID != "uid-a" || c.InstanceID != "i-a" || c.InstanceType != "m5.large" || c.Zone != "us-west-2a" || c.CapacityType != model.Spot {
		t.Errorf("what only the node says: %+v", c)
	}
	if c.State != model.Initialized || c.PoolUID != "pool-uid" || c.Class != "nodes" || c.Labels["tier"] != "back" || c.ImageID != "ami-1" {
		t.Errorf("what is joined: %+v", c)
	}
	if *c.ExpireSeconds != 24*3600 || c.CreatedUnix != 1767225630 || c.InitializedUnix != 1767225660 || c.Annotations[model.AnnotationPoolHash] != "11" {
		t.Errorf("what the claim says: %+v", c)
	}
	if c.Drift != "AMIDrift" || c.DriftMessage != "another image" || c.DriftUnix != 1767312000 {
		t.Errorf("its drift: %+v", c)
	}
	if got := cluster.Snapshot.Nodes[0].PodEventUnix; got != 1767323045 {
		t.Errorf("last pod event at %d", got)
	}
}

// A node whose NodeClaim is not there gets a claim of what it and its pool say; a node of no NodePool gets none.
func TestLedgerMakesUpTheClaimsThatAreMissing(t *testing.T) {
	foreign := strings.Replace(ledgerNode("foreign", ""), "karpenter.sh/nodepool: default, ", "", 1)
	claims, madeUp, _ := ledgerOf(t, ledgerPool+ledgerNode("a", "annotations: {karpenter.sh/nodepool-hash: \"11\", joiner.sh/x: \"1\", other: z}")+foreign)
	c := claims["a"]
	if madeUp != 1 || len(claims) != 1 {
		t.Fatalf("%d made up of %v", madeUp, claims)
	}
	if c.Pool != "default" || c.PoolUID != "pool-uid" || c.Class != "nodes" || c.State != model.Initialized || c.NodeName != "a" || c.InstanceID != "i-a" {
		t.Errorf("%+v", c)
	}
	if *c.ExpireSeconds != 48*3600 || *c.GraceSeconds != 600 || c.CreatedUnix != 1767225600 || c.InitializedUnix != 1767225660 || c.Annotations[model.AnnotationPoolHash] != "11" {
		t.Errorf("%+v", c)
	}
}

// A node without a NodeClaim that says nothing of how far it has come is taken for initialized where it is Ready, and only there.
func TestLedgerTakesReadyNodesThatSayNothingForInitialized(t *testing.T) {
	const pool, labels = "karpenter.sh/nodepool: default, ", "karpenter.sh/registered: \"true\", karpenter.sh/initialized: \"true\", "
	silent := strings.Replace(ledgerNode("a", ""), labels, "", 1)
	if !strings.Contains(ledgerNode("a", ""), labels) || !strings.Contains(silent, pool) {
		t.Fatalf("the node of these tests has changed: %s", silent)
	}
	for name, c := range map[string]struct {
		node string
		want model.ClaimState
	}{
		"Ready":               {silent, model.Initialized},
		"not Ready":           {strings.Replace(silent, `type: Ready, status: "True"`, `type: Ready, status: "False"`, 1), model.Launched},
		"only registered":     {strings.Replace(silent, pool, pool+"karpenter.sh/registered: \"true\", ", 1), model.Registered},
		"of NodeClaim a":      {silent + ledgerClaim("a", "", `{nodeName: a, providerID: "aws:///us-west-2a/i-a"}`), model.Launched},
		"being deleted there": {strings.Replace(silent, "  uid: uid-a", "  deletionTimestamp: 2026-01-03T00:00:00Z\n  uid: uid-a", 1), model.Draining},
	} {
		claims, _, _ := ledgerOf(t, ledgerPool+c.node)
		if got := claims["a"].State; got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestLedgerNamesEveryClaimOnce(t *testing.T) {
	claims, madeUp, _ := ledgerOf(t, ledgerPool+ledgerNode("a", "")+ledgerClaim("a", "", "{}"))
	if madeUp != 1 || claims["a"].NodeName != "" || claims["a-node"].NodeName != "a" {
		t.Errorf("%d made up: %+v", madeUp, claims)
	}
}

// What is being deleted is on its way out: drained where it has a node, terminated where none is known.
func TestLedgerOfWhatIsBeingDeleted(t *testing.T) {
	const deleted = "deletionTimestamp: 2026-01-03T00:00:00Z"
	claims, _, _ := ledgerOf(t, ledgerPool+ledgerNode("a", "")+ledgerNode("b", deleted)+
		ledgerClaim("claim-a", deleted, `{providerID: "aws:///us-west-2a/i-a"}`)+ledgerClaim("claim-c", deleted, `{providerID: "aws:///us-west-2a/i-c", nodeName: c}`))
	for name, want := range map[string]model.ClaimState{"claim-a": model.Draining, "b": model.Draining, "claim-c": model.Terminating} {
		if got := claims[name]; got.State != want {
			t.Errorf("%s is %s, want %s", name, got.State, want)
		}
	}
}

func TestChangesReadsPoolsAndClassesAlone(t *testing.T) {
	class := "---\n{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: nodes}, spec: {role: a}}\n"
	pools, classes, _, err := read.Changes("--with", []string{file(t, "a.yaml", ledgerPool+class)}, read.Options{})
	if err != nil || len(pools) != 1 || pools[0].Name != "default" || len(classes) != 1 || classes[0].Name != "nodes" {
		t.Errorf("%+v %+v %v", pools, classes, err)
	}
	for text, want := range map[string]string{
		"":                               "--with ",
		ledgerPool + ledgerNode("a", ""): "document 2: Node a: not a EC2NodeClass or NodeOverlay or NodePool; include it with -f",
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}":                                                 "document 1: ConfigMap: not a EC2NodeClass or NodeOverlay or NodePool",
		strings.Replace(ledgerPool, "kind: EC2NodeClass", "kind: Other", 1):                                      "--with: NodePool default is left out: spec.template.spec.nodeClassRef",
		strings.Replace(ledgerPool, "expireAfter: 48h", "requirements: [{key: team, operator: In}]", 1):          "NodePool default: spec.template.spec.requirements[0]",
		"{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {template: none}}":       "spec.template: \"none\": not an object",
		"{apiVersion: karpenter.sh/v1beta1, kind: NodePool, metadata: {name: default}, spec: {template: {}}}":    "convert it",
		"{apiVersion: karpenter.k8s.aws/v1, kind: EC2NodeClass, metadata: {name: nodes}, spec: {userData: [x]}}": "spec.userData",
	} {
		_, _, _, err := read.Changes("--with", []string{file(t, "a.yaml", text)}, read.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
	}
}
