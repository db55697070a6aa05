package ekscluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

func createNode(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := admin(t).CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"kubernetes.io/os": "linux"}},
		Spec: corev1.NodeSpec{ProviderID: "aws:///us-west-2a/i-" + name, Taints: []corev1.Taint{
			{Key: model.TaintUnregistered, Effect: corev1.TaintEffectNoExecute}, {Key: "kept", Value: "x", Effect: corev1.TaintEffectNoSchedule},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

func taintsOf(node *corev1.Node) map[string]string {
	out := map[string]string{}
	for _, t := range node.Spec.Taints {
		out[t.Key+":"+string(t.Effect)] = t.Value
	}
	return out
}

func TestPatchNodeRegistersANode(t *testing.T) {
	c, name := connect(t), unique("registered")
	node := createNode(t, name)
	patch := model.NodePatch{
		Name: name, UID: string(node.UID),
		Labels: map[string]string{model.LabelRegistered: "true", "team": "a"}, Annotations: map[string]string{"karpenter.sh/nodepool-hash": "1"},
		AddTaints:    []model.Taint{{Key: "team", Value: "a", Effect: "NoSchedule"}, {Key: "kept", Value: "other", Effect: "NoSchedule"}},
		RemoveTaints: []model.Taint{{Key: model.TaintUnregistered, Effect: "NoExecute"}},
		Owner:        &model.Object{Name: "claim", UID: "11111111-0000-4000-8000-000000000000"},
	}
	if err := c.PatchNode(t.Context(), patch); err != nil {
		t.Fatal(err)
	}
	// Owned by a claim that does not exist, the node is soon collected; what it was shows in the patch's own answer, read
	// here at once.
	got, err := admin(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	taints := taintsOf(got)
	if got.Labels["team"] != "a" || got.Labels[model.LabelRegistered] != "true" || got.Labels["kubernetes.io/os"] != "linux" || got.Annotations["karpenter.sh/nodepool-hash"] != "1" {
		t.Errorf("labels %v, annotations %v", got.Labels, got.Annotations)
	}
	if taints["team:NoSchedule"] != "a" || taints["kept:NoSchedule"] != "x" {
		t.Errorf("taints %v", taints)
	}
	if _, ok := taints[model.TaintUnregistered+":NoExecute"]; ok {
		t.Errorf("taints %v", taints)
	}
	if len(got.OwnerReferences) != 1 || got.OwnerReferences[0].Kind != "NodeClaim" || got.OwnerReferences[0].Name != "claim" {
		t.Errorf("owners %+v", got.OwnerReferences)
	}
	if body := nodePatch(got, &patch); body != nil {
		t.Errorf("the same patch again would write %v", body)
	}
}

func TestPatchNodeTouchesOnlyTheNodeOfThatUID(t *testing.T) {
	c, name := connect(t), unique("judged")
	node := createNode(t, name)
	patch := model.NodePatch{Name: name, UID: string(node.UID) + "x", Labels: map[string]string{"team": "a"}}
	if err := c.PatchNode(t.Context(), patch); !fault.Is(err, fault.NotFound) {
		t.Errorf("another node of the name: got %v, want NotFound", err)
	}
	patch.Name, patch.UID = "absent", "x"
	if err := c.PatchNode(t.Context(), patch); !fault.Is(err, fault.NotFound) {
		t.Errorf("no node: got %v, want NotFound", err)
	}
}

func TestPatchNodeWritesNothingWhereNothingIsMissing(t *testing.T) {
	c, name := connect(t), unique("complete")
	node := createNode(t, name)
	patch := model.NodePatch{Name: name, UID: string(node.UID), Labels: map[string]string{"kubernetes.io/os": "linux"},
		RemoveTaints: []model.Taint{{Key: "absent", Effect: "NoSchedule"}}}
	if body := nodePatch(node, &patch); body != nil {
		t.Errorf("would write %v", body)
	}
	if err := c.PatchNode(t.Context(), patch); err != nil {
		t.Error(err)
	}
}

func TestNodePatchIsConditional(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", ResourceVersion: "7"}}
	body := nodePatch(node, &model.NodePatch{Name: "n", UID: "u", Labels: map[string]string{"a": "b"}})
	meta, ok := body["metadata"].(map[string]any)
	if !ok || meta["resourceVersion"] != "7" || meta["uid"] != node.UID {
		t.Errorf("got %v", body)
	}
}

func TestF109ATaintOfADrainReplacesThoseOfItsKey(t *testing.T) {
	c, name := connectAs(t, collectorRole), unique("drained")
	node := createNode(t, name)
	old := node.DeepCopy()
	old.ResourceVersion = "" // others may have written to it
	old.Spec.Taints = append(old.Spec.Taints, corev1.Taint{Key: model.TaintDisrupted, Value: "old", Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: model.TaintDisrupted, Effect: corev1.TaintEffectPreferNoSchedule})
	if _, err := admin(t).CoreV1().Nodes().Update(t.Context(), old, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	patch := model.NodePatch{
		Name: name, UID: string(node.UID), Labels: map[string]string{model.LabelExcludeBalancers: model.ExcludedForDrain},
		AddTaints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}, RemoveTaints: []model.Taint{{Key: model.TaintDisrupted}},
	}
	version := ""
	for i := range 3 {
		if err := c.PatchNode(t.Context(), patch); err != nil {
			t.Fatal(err)
		}
		got, err := admin(t).CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		taints := taintsOf(got)
		value, there := taints[model.TaintDisrupted+":NoSchedule"]
		_, prefers := taints[model.TaintDisrupted+":PreferNoSchedule"]
		if !there || value != "" || prefers || taints["kept:NoSchedule"] != "x" || got.Labels[model.LabelExcludeBalancers] != "karpenter" {
			t.Errorf("taints %v, labels %v", taints, got.Labels)
		}
		if i == 0 {
			version = got.ResourceVersion
		} else if body := nodePatch(got, &patch); body != nil {
			t.Errorf("at version %s, first %s, the same patch would write %v", got.ResourceVersion, version, body)
		}
	}
}

// A node that is as it is thought to be is tainted by one request; any other is read first, and comes out the same. Controllers
// write to nodes, too: one that was plain may have a taint by then, so that another is tried.
func TestAPlainNodeIsTaintedWithoutBeingRead(t *testing.T) {
	c := connectAs(t, collectorRole)
	eventually(t, "a plain node is not read", func() error {
		reads, taints := taintOnce(t, c, func(n *corev1.Node) { n.Spec.Taints = nil })
		if reads != 0 {
			return fmt.Errorf("it was read %d times; taints %v", reads, taints)
		}
		if len(taints) != 1 {
			t.Errorf("taints %v", taints)
		}
		return nil
	})
	for what, change := range map[string]func(*corev1.Node){
		"with a taint":      func(n *corev1.Node) {},
		"with no finalizer": func(n *corev1.Node) { n.Spec.Taints, n.Finalizers = nil, nil },
		"with another's":    func(n *corev1.Node) { n.Spec.Taints, n.Finalizers = nil, append(n.Finalizers, "example.com/held") },
	} {
		if reads, taints := taintOnce(t, c, change); reads == 0 || what == "with a taint" && taints["kept:NoSchedule"] != "x" {
			t.Errorf("%s: %d reads, taints %v", what, reads, taints)
		}
	}
	gone := drained(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: unique("absent"), UID: "x"}})
	if err := c.PatchNode(t.Context(), gone); !fault.Is(err, fault.NotFound) {
		t.Errorf("of none: %v", err)
	}
}

// taintOnce has a node, changed from one that is plain, tainted for a drain, twice, and another of its name not. It returns how
// often it was read the first time, and its taints.
func taintOnce(t *testing.T, c *Client, change func(*corev1.Node)) (reads int, taints map[string]string) {
	t.Helper()
	made := createNode(t, unique("plain")).DeepCopy()
	made.ResourceVersion, made.Finalizers, made.Labels[model.LabelNodePool] = "", []string{model.Finalizer}, "default"
	change(made)
	made, err := admin(t).CoreV1().Nodes().Update(t.Context(), made, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	patch, began := drained(made), time.Now().Add(-time.Millisecond)
	for i := range 2 {
		if err := c.PatchNode(t.Context(), patch); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			eventually(t, "the audit log has the write", func() error {
				var writes int
				if reads, writes = requestsOf(t, began, made.Name); writes != 1 {
					return fmt.Errorf("%d writes", writes)
				}
				return nil
			})
		}
	}
	if _, writes := requestsOf(t, began, made.Name); writes != 1 {
		t.Errorf("the same patch wrote again")
	}
	got, err := admin(t).CoreV1().Nodes().Get(t.Context(), made.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	taints = taintsOf(got)
	if _, there := taints[model.TaintDisrupted+":NoSchedule"]; !there || got.Labels[model.LabelExcludeBalancers] != "karpenter" || got.Labels[model.LabelNodePool] != "default" ||
		!slices.Contains(got.Finalizers, model.Finalizer) || len(got.Finalizers) != max(1, len(made.Finalizers)) {
		t.Errorf("taints %v, labels %v, finalizers %v", taints, got.Labels, got.Finalizers)
	}
	patch.UID = "00000000-0000-4000-8000-000000000000"
	if err := c.PatchNode(t.Context(), patch); !fault.Is(err, fault.NotFound) {
		t.Errorf("another of the name: %v", err)
	}
	return reads, taints
}

// drained is the patch of a node that is thought to be plain and is to be emptied.
func drained(node *corev1.Node) model.NodePatch {
	return model.NodePatch{
		Name: node.Name, UID: string(node.UID), Finalizer: true, Plain: true, Labels: map[string]string{model.LabelExcludeBalancers: model.ExcludedForDrain},
		AddTaints:    []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}},
		RemoveTaints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoExecute}},
	}
}

// requestsOf is how often those who end instances have read a node since a time, and written to it.
func requestsOf(t *testing.T, since time.Time, node string) (reads, writes int) {
	t.Helper()
	audit, err := plane(t).Audit(since)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range audit.By("joiner:interruption") {
		switch {
		case e.Resource != "nodes" || e.Name != node:
		case e.Verb == "get":
			reads++
		case e.Done():
			writes++
		}
	}
	return reads, writes
}

func TestATaintToAddThatIsThereAlreadyStaysInItsPlace(t *testing.T) {
	at := metav1.Now()
	have := []corev1.Taint{{Key: "a", Effect: "NoExecute", TimeAdded: &at}, {Key: "b", Effect: "NoSchedule"}, {Key: "c", Value: "1", Effect: "NoSchedule"}}
	same := &model.NodePatch{RemoveTaints: []model.Taint{{Key: "a"}, {Key: "absent"}}, AddTaints: []model.Taint{{Key: "a", Effect: "NoExecute"}}}
	if got := withTaints(have, same); !slices.Equal(got, have) {
		t.Errorf("got %v", got)
	}
	other := &model.NodePatch{RemoveTaints: []model.Taint{{Key: "c"}}, AddTaints: []model.Taint{{Key: "c", Value: "2", Effect: "NoSchedule"}}}
	if got := withTaints(have, other); len(got) != 3 || got[2].Value != "2" || len(have) != 3 || have[2].Value != "1" {
		t.Errorf("got %v of %v", got, have)
	}
}
