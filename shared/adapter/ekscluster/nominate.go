package ekscluster

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Nominate sets status.nominatedNodeName of a pod, on condition of its UID, and nothing else. NotFound or Conflict
// where the pod is gone, another, or bound.
func (c Pods) Nominate(ctx context.Context, pod model.PodRef, node string) error {
	if pod.UID == "" || node == "" {
		return fault.New(fault.Invalid, "", "pod %s: it is not nominated without the UID that was evaluated and a node",
			pod.Key())
	}
	body, err := json.Marshal([]operation{{"test", "/metadata/uid", pod.UID},
		{"add", "/status/nominatedNodeName", node}})
	if err != nil {
		return fault.Wrap(fault.Internal, "", err, "nominate pod %s", pod.Key())
	}
	err = c.core.CoreV1().RESTClient().Patch(types.JSONPatchType).Namespace(pod.Namespace).Resource("pods").
		Name(pod.Name).SubResource("status").Body(body).Do(ctx).Error()
	if apierrors.IsInvalid(err) {
		return fault.Wrap(fault.Conflict, "", err, "nominate pod %s of UID %s to node %s", pod.Key(), pod.UID, node)
	}
	return translateError(err, "nominate pod %s of UID %s to node %s", pod.Key(), pod.UID, node)
}
