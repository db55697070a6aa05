package kube

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"
)

// Objects are those of the manifests, Lists taken apart, in their order.
func Objects(manifests ...[]byte) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for i, manifest := range manifests {
		objects, err := decodeManifest(manifest)
		if err != nil {
			return nil, fmt.Errorf("read manifest %d: %w", i+1, err)
		}
		all = append(all, objects...)
	}
	return all, nil
}

// Restore has kubectl apply what it printed of another cluster, object by
// object as they are, owners first, and then writes what their status says.
// Only the UIDs in owner references become those of this cluster: whoever is
// owned by an object that is not there is garbage.
//
// It returns the objects as the API server has them, in the order of the dump.
func (c *ControlPlane) Restore(ctx context.Context, dump []byte) ([]*unstructured.Unstructured, error) {
	objects, err := Objects(dump)
	if err != nil {
		return nil, err
	}
	a, err := newApplier(c)
	if err != nil {
		return nil, err
	}
	here, restored := map[types.UID]types.UID{}, make([]*unstructured.Unstructured, 0, len(objects))
	for _, object := range objects {
		one, err := c.restore(ctx, a, object, here)
		if err != nil {
			return nil, fmt.Errorf("restore %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		here[object.GetUID()] = one.GetUID()
		restored = append(restored, one)
	}
	return restored, nil
}

func (c *ControlPlane) restore(ctx context.Context, a *applier, object *unstructured.Unstructured, here map[types.UID]types.UID) (*unstructured.Unstructured, error) {
	owned := object.DeepCopy()
	owners := owned.GetOwnerReferences()
	for i := range owners {
		owners[i].UID = here[owners[i].UID]
	}
	if len(owners) > 0 {
		owned.SetOwnerReferences(owners)
	}
	manifest, err := yaml.Marshal(owned.Object)
	if err != nil {
		return nil, err
	}
	if _, _, err := c.Kubectl(ctx, manifest, "apply", "-f", "-"); err != nil {
		return nil, err
	}
	mapping, err := a.mapping(ctx, object)
	if err != nil {
		return nil, err
	}
	resource := a.client.Resource(mapping.Resource)
	var one *unstructured.Unstructured
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error { // controllers look at new nodes, too
		if one, err = resource.Get(ctx, object.GetName(), metav1.GetOptions{}); err != nil || object.Object["status"] == nil {
			return err
		}
		one.Object["status"] = object.DeepCopy().Object["status"]
		one, err = resource.UpdateStatus(ctx, one, metav1.UpdateOptions{})
		return err
	})
	return one, err
}
