package crds_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const minimalClaim = `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: default-abcde}
spec:
  requirements:
  - {key: karpenter.sh/nodepool, operator: In, values: [default]}
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  resources: {requests: {cpu: 3900m, memory: 7Gi, pods: "12"}}
`

func TestNodeClaimIsStoredWithDefaults(t *testing.T) {
	stored, errs := newServer(t)["NodeClaim"].admit(t, readOne(t, minimalClaim), nil)
	if len(errs) > 0 {
		t.Fatalf("a minimal claim is refused: %v", errs)
	}
	if got, _, _ := unstructured.NestedString(stored, "spec", "expireAfter"); got != "720h" {
		t.Errorf("expireAfter = %q, want 720h", got)
	}
}

func TestNodeClaimAdmission(t *testing.T) {
	claim := func(spec string) string { return "spec: " + spec }
	run(t, newServer(t)["NodeClaim"], minimalClaim, false, []admission{
		{name: "F006 requirement on nodepool is for claims", patch: claim("{requirements: [{key: karpenter.sh/nodepool, operator: Exists}]}")},
		{name: "F006 requirement on hostname", patch: claim("{requirements: [{key: kubernetes.io/hostname, operator: Exists}]}"), path: "spec.requirements[0].key", message: "restricted"},
		{name: "F007 101 requirements", patch: claim("{requirements: " + repeat(101, "{key: k%d, operator: Exists}") + "}"), path: "spec.requirements", message: "Too many"},
		{name: "F008 empty class name", patch: claim("{nodeClassRef: {name: ''}}"), path: "spec.nodeClassRef.name", message: "at least 1"},
		{name: "F010 grace period of Never", patch: claim("{terminationGracePeriod: Never}"), path: "spec.terminationGracePeriod", message: "should match"},
		{name: "taint without effect", patch: claim("{taints: [{key: a}]}"), path: "spec.taints[0].effect", message: "Required value"},
		{name: "no class", patch: claim("{nodeClassRef: null}"), path: "spec.nodeClassRef", message: "Required value"},
		{name: "condition without reason and message", patch: "status: {conditions: [{type: Launched, status: 'True', lastTransitionTime: '2026-03-01T12:00:00Z'}]}"},
		{name: "condition with an empty reason", patch: "status: {conditions: [{type: Launched, status: 'True', reason: '', lastTransitionTime: '2026-03-01T12:00:00Z'}]}"},
		{name: "condition with a sentence as reason", patch: "status: {conditions: [{type: Launched, status: 'True', reason: 'no idea', lastTransitionTime: '2026-03-01T12:00:00Z'}]}", path: "status.conditions[0].reason", message: "should match"},
		{name: "condition without time", patch: "status: {conditions: [{type: Launched, status: 'True'}]}", path: "status.conditions[0].lastTransitionTime", message: "Required value"},
	})
}

func TestNodeClaimUpdate(t *testing.T) {
	const refused = "the spec of a claim cannot change"
	run(t, newServer(t)["NodeClaim"], minimalClaim, true, []admission{
		{name: "F013 nothing changes", patch: "{}"},
		{name: "F013 labels and status change", patch: "{metadata: {labels: {a: b}}, status: {nodeName: ip-10-0-0-1}}"},
		{name: "F013 expireAfter", patch: "spec: {expireAfter: Never}", path: "spec", message: refused},
		{name: "F013 requests", patch: "spec: {resources: {requests: {cpu: 1}}}", path: "spec", message: refused},
		{name: "F013 taints", patch: "spec: {taints: [{key: a, effect: NoSchedule}]}", path: "spec", message: refused},
		{name: "F013 class", patch: "spec: {nodeClassRef: {name: other}}", path: "spec", message: refused},
	})
}
