package translate

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// K11: NodePools, static ones too, and NodeClaims that name another controller's NodeClass are in no snapshot: nothing is filled,
// registered, or disrupted by them.
func TestK11ObjectsOfAnotherControllersNodeClassAreInNoSnapshot(t *testing.T) {
	object := func(kind, name, group, class string) *unstructured.Unstructured {
		ref := map[string]any{"group": group, "kind": class, "name": "default"}
		spec := map[string]any{"nodeClassRef": ref, "requirements": []any{}}
		if kind == "NodePool" {
			spec = map[string]any{"replicas": int64(3), "template": map[string]any{"spec": spec}}
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": kind, "metadata": map[string]any{"name": name, "uid": name}, "spec": spec,
		}}
	}
	builder := &Builder{}
	for _, kind := range []string{"NodePool", "NodeClaim"} {
		builder.Add(object(kind, "ours", "karpenter.k8s.aws", "EC2NodeClass"))
		builder.Add(object(kind, "kind", "karpenter.k8s.aws", "NodeClass"))
		builder.Add(object(kind, "group", "eks.amazonaws.com", "EC2NodeClass"))
		builder.Add(object(kind, "both", "eks.amazonaws.com", "NodeClass"))
	}
	snapshot := builder.Snapshot("prod", 1)
	if len(snapshot.Pools) != 1 || snapshot.Pools[0].Name != "ours" || len(snapshot.Claims) != 1 || snapshot.Claims[0].Name != "ours" {
		t.Errorf("NodePools %+v, NodeClaims %+v", snapshot.Pools, snapshot.Claims)
	}
}
