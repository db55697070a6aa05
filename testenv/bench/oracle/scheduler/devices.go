package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Devices is what the plugin for dynamic resource allocation thinks of one pod, in the cluster as it was when it was
// asked.
type Devices struct {
	cluster *Cluster
	pod     *corev1.Pod
	state   fwk.CycleState
	refused string // whatever the node
}

// Devices asks the plugin for dynamic resource allocation about the pod.
func (c *Cluster) Devices(pod *corev1.Pod) (*Devices, error) {
	if err := c.refresh(); err != nil {
		return nil, err
	}
	all, err := c.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	d := &Devices{cluster: c, pod: pod, state: framework.NewCycleState()}
	_, status := c.plugins[names.DynamicResources].(fwk.PreFilterPlugin).PreFilter(c.ctx, d.state, pod, all)
	switch {
	case status.IsSkip():
		return nil, fmt.Errorf("pod %s/%s claims no devices", pod.Namespace, pod.Name)
	case !status.IsSuccess():
		d.refused = status.Message()
	}
	return d, nil
}

// On says why the node does not do; "" where it does. A selector that fails on the node's devices is a no: the
// scheduler gives up on the pod then.
func (d *Devices) On(node string) (string, error) {
	if d.refused != "" {
		return d.refused, nil
	}
	info, err := d.cluster.node(node)
	if err != nil {
		return "", err
	}
	plugin := d.cluster.plugins[names.DynamicResources].(fwk.FilterPlugin)
	if status := plugin.Filter(d.cluster.ctx, d.state, d.pod, info); !status.IsSuccess() {
		return "no: " + status.Message(), nil
	}
	return "", nil
}

// Take allocates the pod's devices on a node that does.
func (d *Devices) Take(node string) error {
	plugin := d.cluster.plugins[names.DynamicResources].(fwk.ReservePlugin)
	if status := plugin.Reserve(d.cluster.ctx, d.state, d.pod, node); !status.IsSuccess() {
		return fmt.Errorf("reserve devices of node %s for pod %s/%s: %w", node, d.pod.Namespace, d.pod.Name,
			status.AsError())
	}
	return nil
}
