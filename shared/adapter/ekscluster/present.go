package ekscluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Present returns the pods that are on a node, or on none where node is "", and have not ended, by UID, each with whether it is
// being deleted. The API server picks them out, so that it costs what they are and not what the cluster is.
func (c *Client) Present(ctx context.Context, node string) (map[string]bool, error) {
	present := make(map[string]bool)
	pods := of("pods", func(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
		o.FieldSelector = livePods + ",spec.nodeName=" + node
		return c.core.CoreV1().Pods("").List(ctx, o)
	}, func(l *corev1.PodList) []corev1.Pod { return l.Items })
	err := listAll(ctx, pods, func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName == node {
			present[string(pod.UID)] = pod.DeletionTimestamp != nil
		}
	})
	if err != nil {
		return nil, err
	}
	return present, nil
}
