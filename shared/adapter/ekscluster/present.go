package ekscluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Present returns the pods that are on a node, or on none where node is "", and have not ended, by UID, each with
// whether it is being deleted. The API server picks them out, so that it costs what they are and not what the cluster
// is.
func (c Reader) Present(ctx context.Context, node string) (map[string]bool, error) {
	present := make(map[string]bool)
	pods := c.pods(livePods + ",spec.nodeName=" + node)
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
