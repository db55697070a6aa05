package machine

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
)

// patchStatus merges what is set into the Node's status, as the kubelet. The
// UID keeps it off a Node of the same name that is not ours.
func (m *instance) patchStatus(ctx context.Context, status corev1.NodeStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": m.nodeUID},
		"status":   statusFields(status),
	})
	if err != nil {
		return err
	}
	_, err = m.client.CoreV1().Nodes().Patch(ctx, m.nodeName, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return m.goneIfReplaced(err)
}

// statusFields leaves out what is not set: some fields of a NodeStatus are
// written even when they are empty.
func statusFields(status corev1.NodeStatus) map[string]any {
	fields := map[string]any{}
	if status.Capacity != nil {
		fields["capacity"] = status.Capacity
	}
	if status.Allocatable != nil {
		fields["allocatable"] = status.Allocatable
	}
	if status.Conditions != nil {
		fields["conditions"] = status.Conditions
	}
	return fields
}

// goneIfReplaced turns a conflict, which a patch with a UID has only where the
// Node is another one, into NotFound.
func (m *instance) goneIfReplaced(err error) error {
	if apierrors.IsConflict(err) {
		return apierrors.NewNotFound(corev1.Resource("nodes"), m.nodeName)
	}
	return err
}

// initialize does what the cloud controller manager does with a new Node: it
// adds what EC2 knows and takes away the taint that waits for it.
func (m *instance) initialize(ctx context.Context) error {
	nodes := m.fleet.cloud.CoreV1().Nodes()
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		node, err := nodes.Get(ctx, m.nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if node.UID != m.nodeUID {
			return apierrors.NewNotFound(corev1.Resource("nodes"), m.nodeName)
		}
		if node.Spec.ProviderID == "" {
			node.Spec.ProviderID = m.instance.providerID()
		}
		for key, value := range cloudLabels(m.instance) {
			node.Labels[key] = value
		}
		kept := node.Spec.Taints[:0]
		for _, taint := range node.Spec.Taints {
			if taint.Key != cloudProviderTaint {
				kept = append(kept, taint)
			}
		}
		node.Spec.Taints = kept
		if _, err := nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
		addresses, err := json.Marshal(map[string]any{"status": map[string]any{"addresses": []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: m.instance.PrivateIP},
			{Type: corev1.NodeInternalDNS, Address: m.instance.PrivateDNSName},
			{Type: corev1.NodeHostName, Address: m.nodeName},
		}}})
		if err != nil {
			return err
		}
		_, err = nodes.Patch(ctx, m.nodeName, types.MergePatchType, addresses, metav1.PatchOptions{}, "status")
		return err
	})
}

// fallSilent has kwok release the Node, so that its pods stay as they are.
// Its lease is not renewed any more already.
func (m *instance) fallSilent(ctx context.Context) {
	if m.nodeUID == "" {
		return
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": m.nodeUID, "labels": map[string]any{livingLabel: nil},
	}})
	if err != nil {
		panic(err) // a map of strings
	}
	silent := m.insist(ctx, func(ctx context.Context) error {
		_, err := m.fleet.cloud.CoreV1().Nodes().Patch(ctx, m.nodeName, types.MergePatchType, patch, metav1.PatchOptions{})
		return m.goneIfReplaced(err)
	})
	if silent {
		m.report(Silent, nil)
	}
}

// depart waits for the instance's end and has the cloud controller manager
// delete its Node, which it does for instances that are gone.
func (m *instance) depart(ctx context.Context) {
	select {
	case <-m.terminated:
	case <-ctx.Done():
		return
	}
	o := m.fleet.options
	if m.nodeUID == "" || o.KeepNodes || o.NoCloudController || !sleep(ctx, o.Timing.Delete) {
		return
	}
	deleted := m.insist(ctx, func(ctx context.Context) error {
		uid := m.nodeUID
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}
		return m.goneIfReplaced(m.fleet.cloud.CoreV1().Nodes().Delete(ctx, m.nodeName, options))
	})
	if deleted {
		m.report(Deleted, nil)
	}
}

func quantityOf(count int) resource.Quantity {
	return *resource.NewQuantity(int64(count), resource.DecimalSI)
}
