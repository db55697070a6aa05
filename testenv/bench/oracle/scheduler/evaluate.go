package scheduler

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// Filters are the plugins of the default profile that may refuse a node, in their order.
var Filters = []string{
	names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit,
	names.VolumeRestrictions, names.NodeVolumeLimits, names.VolumeBinding, names.VolumeZone, names.PodTopologySpread,
	names.InterPodAffinity, names.DynamicResources, names.NodeDeclaredFeatures,
}

// Judgment is what each plugin thinks of one pod, in the cluster as it was when it was asked.
type Judgment struct {
	cluster *Cluster
	pod     *corev1.Pod
	state   fwk.CycleState
	views   []view
}

// view is of one plugin.
type view struct {
	plugin  string
	filter  fwk.FilterPlugin // nil where the plugin has nothing to say about the pod
	among   sets.Set[string] // nil = all nodes
	refused *Refusal         // whatever the node
}

// Evaluate asks each filter plugin for itself what it thinks of the pod. The answer is good until the cluster changes.
func (c *Cluster) Evaluate(pod *corev1.Pod) (*Judgment, error) {
	if err := c.refresh(); err != nil {
		return nil, err
	}
	all, err := c.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	j := &Judgment{cluster: c, pod: pod, state: framework.NewCycleState()}
	for _, name := range Filters {
		plugin, known := c.plugins[name]
		if !known {
			return nil, fmt.Errorf("plugin %s is not in the default profile", name)
		}
		v := view{plugin: name}
		v.filter, _ = plugin.(fwk.FilterPlugin)
		if first, ok := plugin.(fwk.PreFilterPlugin); ok {
			among, status := first.PreFilter(c.ctx, j.state, pod, all)
			switch {
			case status.IsSkip():
				v.filter = nil
			case status.IsRejected():
				r := Refusal{Plugin: name, Message: status.Message()}
				v.refused = &r
			case !status.IsSuccess():
				return nil, fmt.Errorf("%s: judge pod %s/%s: %w", name, pod.Namespace, pod.Name, status.AsError())
			case !among.AllNodes():
				v.among = among.NodeNames
			}
		}
		j.views = append(j.views, v)
	}
	return j, nil
}

// On returns the refusal of each plugin that keeps the pod off the node, in the order of Filters.
func (j *Judgment) On(node string) ([]Refusal, error) {
	info, err := j.cluster.node(node)
	if err != nil {
		return nil, err
	}
	var out []Refusal
	for _, v := range j.views {
		switch {
		case v.refused != nil:
			out = append(out, *v.refused)
			continue
		case v.among != nil && !v.among.Has(node):
			out = append(out, elsewhere(v.plugin))
			continue
		case v.filter == nil:
			continue
		}
		status := v.filter.Filter(j.cluster.ctx, j.state, j.pod, info)
		switch {
		case status.IsSuccess():
		case status.IsRejected():
			out = append(out, Refusal{Plugin: v.plugin, Message: status.Message()})
		default:
			return nil, fmt.Errorf("%s: judge pod %s/%s on %s: %w", v.plugin, j.pod.Namespace, j.pod.Name, node, status.AsError())
		}
	}
	return out, nil
}
