package ekscluster

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestKarpenterIsFoundInWhateverNamespace(t *testing.T) {
	space := unique("karpenter")
	renewed := time.Now().Add(-time.Hour).UTC().Truncate(time.Second)
	apply(t, `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: karpenter, namespace: %[1]s, labels: {app.kubernetes.io/name: karpenter, app.kubernetes.io/instance: karpenter}}
spec:
  replicas: 2
  selector: {matchLabels: {app.kubernetes.io/name: karpenter}}
  template:
    metadata: {labels: {app.kubernetes.io/name: karpenter}}
    spec: {containers: [{name: controller, image: example.com/karpenter}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: other, namespace: %[1]s, labels: {app.kubernetes.io/name: other}}
spec:
  selector: {matchLabels: {app: other}}
  template:
    metadata: {labels: {app: other}}
    spec: {containers: [{name: main, image: example.com/other}]}
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: {name: karpenter-leader-election, namespace: %[1]s}
spec: {holderIdentity: karpenter-0_1, leaseDurationSeconds: 15, renewTime: "%[2]s"}
`, space, renewed.Format("2006-01-02T15:04:05.000000Z"))
	client := asAdmin(t)
	got, err := client.Karpenter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := model.Controller{Namespace: space, Name: "karpenter", Replicas: 2}
	found := false
	for _, d := range got.Deployments {
		d.Running = 0 // the controller manager may have made some
		found = found || d == want
		if d.Name == "other" {
			t.Errorf("%+v is no Karpenter", d)
		}
	}
	if !found {
		t.Errorf("deployments %+v, want %+v among them", got.Deployments, want)
	}
	if l := got.Lease; l == nil || l.Namespace != space || l.Holder != "karpenter-0_1" || l.RenewedUnix != renewed.Unix() {
		t.Errorf("lease %+v", got.Lease)
	}
	if _, err := connect(t).Karpenter(t.Context()); !fault.Is(err, fault.Denied) {
		t.Errorf("who may not list Deployments: %v", err)
	}
}

// asAdmin returns a client that may do everything, as one that a kubeconfig leads to.
func asAdmin(t *testing.T) *Client {
	t.Helper()
	client, err := New(plane(t).Config(), clusterName, "us-west-2")
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A claim's drift and the times of its conditions outlive the loss of the ledger, and a change of hands.
func TestS31_ReadLiveShowsTheDriftAndTheTimesOfAClaim(t *testing.T) {
	name := unique("drifted")
	apply(t, `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s}
spec:
  requirements: []
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: %s-auto}
spec:
  requirements: []
  nodeClassRef: {group: eks.amazonaws.com, kind: NodeClass, name: default}
`, name, name)
	status := []byte(`{"status": {"providerID": "aws:///us-west-2a/i-0123456789", "conditions": [
		{"type": "Launched", "status": "True", "reason": "Launched", "message": "", "lastTransitionTime": "2026-01-02T15:00:00Z"},
		{"type": "Registered", "status": "True", "reason": "Registered", "message": "", "lastTransitionTime": "2026-01-02T15:01:00Z"},
		{"type": "Initialized", "status": "Unknown", "reason": "NodeNotReady", "message": "", "lastTransitionTime": "2026-01-02T15:00:00Z"},
		{"type": "Drifted", "status": "True", "reason": "AMIDrift", "message": "AMIDrift", "lastTransitionTime": "2026-01-02T16:00:00Z"}]}}`)
	objects := asAdmin(t).custom.Resource(apiv1.NodeClaimResource)
	if _, err := objects.Patch(t.Context(), name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	live, err := connect(t).ReadLive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]model.ClaimObject{}
	for _, object := range live.Objects {
		shown[object.Claim.Name] = object
	}
	claim := shown[name].Claim
	at := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC).Unix()
	if claim.LaunchedUnix != at || claim.RegisteredUnix != at+60 || claim.InitializedUnix != 0 || claim.Drift != "AMIDrift" || claim.DriftUnix != at+3600 {
		t.Errorf("%+v", claim)
	}
	if kind := shown[name].ClassKind; kind != "" {
		t.Errorf("an EC2NodeClass is %q", kind)
	}
	if kind := shown[name+"-auto"].ClassKind; kind != "NodeClass.eks.amazonaws.com" {
		t.Errorf("another's class is %q", kind)
	}
}
