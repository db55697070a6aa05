package ekscluster

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/joiner-sh/joiner/shared/api/v1"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// PatchNode writes labels, annotations, taints, owner and finalizer of a node, on condition that it is the node that
// was evaluated and that nobody wrote in between; then it starts again, a few times. Nothing is written where nothing
// is missing. NotFound where the node is gone or another, Conflict where others kept writing.
//
// It costs a read and a write; of a node that is Plain, as it was thought, the write alone.
func (c Nodes) PatchNode(ctx context.Context, patch model.NodePatch) error {
	if done, err := c.patchPlain(ctx, &patch); done {
		return err
	}
	return again(func() error { return c.patchNode(ctx, &patch) })
}

func (c Nodes) patchNode(ctx context.Context, patch *model.NodePatch) error {
	node, err := c.core.CoreV1().Nodes().Get(ctx, patch.Name, metav1.GetOptions{})
	if err != nil {
		return translateError(err, "read node %s", patch.Name)
	}
	if err := isAnother("node", patch.Name, patch.UID, node.UID); err != nil {
		return err
	}
	body := nodePatch(node, patch)
	if body == nil {
		return nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return fault.Wrap(fault.Internal, "", err, "patch node %s", patch.Name)
	}
	_, err = c.core.CoreV1().Nodes().Patch(ctx, patch.Name, types.MergePatchType, data, metav1.PatchOptions{})
	return translateError(err, "patch node %s", patch.Name)
}

// patchPlain does what is asked to a node that is Plain by one request, which the API server carries out on condition
// that the node is that, and the one that was evaluated. It reports whether that settles it.
func (c Nodes) patchPlain(ctx context.Context, patch *model.NodePatch) (done bool, err error) {
	body := plainPatch(patch)
	if body == nil {
		return false, nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return true, fault.Wrap(fault.Internal, "", err, "patch node %s", patch.Name)
	}
	_, err = c.core.CoreV1().Nodes().Patch(ctx, patch.Name, types.JSONPatchType, data, metav1.PatchOptions{})
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) { // it is not as was thought, or others keep writing
		return false, nil
	}
	return true, translateError(err, "patch node %s", patch.Name)
}

// operation is one of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// plainPatch returns the patch that does what is asked to a node that is Plain, and nothing to any other; nil where
// more is asked than taints, labels and a finalizer.
func plainPatch(patch *model.NodePatch) []operation {
	if !patch.Plain || len(patch.AddTaints) == 0 || !patch.Finalizer ||
		len(patch.RemoveLabels)+len(patch.Annotations) > 0 || patch.Owner != nil || patch.Disown != "" {
		return nil
	}
	out := []operation{
		{"test", "/metadata/uid", patch.UID},
		{"test", "/metadata/finalizers", []string{model.Finalizer}},
		{"test", "/spec/taints", nil}, // there are none
		{"add", "/spec/taints", kubeTaints(patch.AddTaints)},
	}
	for _, key := range slices.Sorted(maps.Keys(patch.Labels)) {
		escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
		out = append(out, operation{"add", "/metadata/labels/" + escaped, patch.Labels[key]})
	}
	return out
}

// nodePatch returns the merge patch that does to the node what is asked, with the conditions it holds under; nil where
// the node is so already.
func nodePatch(node *corev1.Node, patch *model.NodePatch) map[string]any {
	meta := map[string]any{}
	labels := map[string]any{}
	for key, value := range missing(node.Labels, patch.Labels) {
		labels[key] = value
	}
	for _, key := range patch.RemoveLabels {
		if _, there := node.Labels[key]; there {
			labels[key] = nil
		}
	}
	if len(labels) > 0 {
		meta["labels"] = labels
	}
	if annotations := missing(node.Annotations, patch.Annotations); len(annotations) > 0 {
		meta["annotations"] = annotations
	}
	if owners, changed := owners(node.OwnerReferences, patch); changed {
		meta["ownerReferences"] = owners
	}
	// The API server refuses a new finalizer on an object that is being deleted.
	if patch.Finalizer && node.DeletionTimestamp == nil && !slices.Contains(node.Finalizers, model.Finalizer) {
		meta["finalizers"] = append(slices.Clone(node.Finalizers), model.Finalizer)
	}
	body := map[string]any{"metadata": meta}
	if taints := withTaints(node.Spec.Taints, patch); !slices.Equal(taints, node.Spec.Taints) {
		body["spec"] = map[string]any{"taints": taints}
	}
	if len(meta) == 0 && len(body) == 1 {
		return nil
	}
	meta["uid"], meta["resourceVersion"] = node.UID, node.ResourceVersion
	return body
}

func missing(have, want map[string]string) map[string]string {
	out := make(map[string]string)
	for key, value := range want {
		if old, ok := have[key]; !ok || old != value {
			out[key] = value
		}
	}
	return out
}

// owners returns a node's owners as they are to be, and whether that changes anything.
func owners(have []metav1.OwnerReference, patch *model.NodePatch) ([]metav1.OwnerReference, bool) {
	left := have
	if patch.Disown != "" {
		left = slices.DeleteFunc(slices.Clone(have),
			func(o metav1.OwnerReference) bool { return string(o.UID) == patch.Disown })
	}
	owned, changed := withOwner(left, patch.Owner)
	return owned, changed || len(left) != len(have)
}

func withOwner(have []metav1.OwnerReference, owner *model.Object) ([]metav1.OwnerReference, bool) {
	if owner == nil || slices.ContainsFunc(have,
		func(o metav1.OwnerReference) bool { return string(o.UID) == owner.UID }) {
		return have, false
	}
	block := true
	return append(slices.Clone(have), metav1.OwnerReference{
		APIVersion: apiv1.GroupVersion.String(), Kind: apiv1.KindNodeClaim, Name: owner.Name, UID: uid(owner.UID),
		BlockOwnerDeletion: &block,
	}), true
}

// withTaints returns the node's taints without those to remove, where no effect means every effect, and with those to
// add: a taint of the same key and effect is there already, whatever its value, unless that is to be removed.
func withTaints(have []corev1.Taint, patch *model.NodePatch) []corev1.Taint {
	add := kubeTaints(patch.AddTaints)
	removed := func(t corev1.Taint) bool {
		t.TimeAdded = nil // when it came makes it no other taint
		return !slices.Contains(add, t) && slices.ContainsFunc(patch.RemoveTaints, func(r model.Taint) bool {
			return r.Key == t.Key && (r.Effect == "" || r.Effect == string(t.Effect))
		})
	}
	out := slices.DeleteFunc(slices.Clone(have), removed)
	for _, t := range add {
		if !slices.ContainsFunc(out, func(o corev1.Taint) bool { return o.Key == t.Key && o.Effect == t.Effect }) {
			out = append(out, t)
		}
	}
	return out
}
