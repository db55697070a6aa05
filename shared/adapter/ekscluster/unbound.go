package ekscluster

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unbound returns the UIDs of the pods that are on no node, have not ended and are not being deleted. The API server picks
// them out, so that it costs what they are and not what the cluster is.
func (c *Client) Unbound(ctx context.Context) ([]string, error) {
	uids := []string{}
	pods := of("pods", func(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
		o.FieldSelector = livePods + ",spec.nodeName="
		return c.core.CoreV1().Pods("").List(ctx, o)
	}, func(l *corev1.PodList) []corev1.Pod { return l.Items })
	err := listAll(ctx, pods, func(object any) {
		if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
			uids = append(uids, string(pod.UID))
		}
	})
	if err != nil {
		return nil, err
	}
	return uids, nil
}
