package scheduler

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Refusal says which plugin keeps a pod off a node. The zero value means that none does.
type Refusal struct {
	Plugin  string
	Message string
}

// Refused reports whether there is a refusal.
func (r Refusal) Refused() bool { return r.Plugin != "" }

// String returns plugin and message.
func (r Refusal) String() string { return r.Plugin + ": " + r.Message }

func refusal(status *fwk.Status) Refusal {
	plugin := status.Plugin()
	if plugin == "" {
		plugin = "scheduler"
	}
	return Refusal{Plugin: plugin, Message: status.Message()}
}

// elsewhere is the refusal of a node that a PreFilter plugin has left out.
func elsewhere(plugin string) Refusal {
	return Refusal{Plugin: plugin, Message: "the pod is for other nodes"}
}

// Offer lets the scheduler consider one node for the pod, as it does with a nominated node, and binds the pod to it where
// no plugin refuses. Errors are of plugins that could not decide.
func (c *Cluster) Offer(pod *corev1.Pod, node string) (Refusal, error) {
	state := framework.NewCycleState()
	refused, fits, err := c.filter(state, pod, []string{node})
	if err != nil || len(fits) == 0 {
		return refused, err
	}
	return Refusal{}, c.Bind(pod, node)
}

// Fits reports whether no plugin refuses the pod on the node, and if one does, which.
func (c *Cluster) Fits(pod *corev1.Pod, node string) (Refusal, error) {
	refused, _, err := c.filter(framework.NewCycleState(), pod, []string{node})
	return refused, err
}

// Choose lets the scheduler place the pod on any of the nodes, the one of the highest score and, of equals, the first.
// It binds the pod and returns the node's name; "" where every node is refused.
func (c *Cluster) Choose(pod *corev1.Pod, nodes []string) (string, error) {
	state := framework.NewCycleState()
	_, fits, err := c.filter(state, pod, nodes)
	if err != nil || len(fits) == 0 {
		return "", err
	}
	best := fits[0].Node().Name
	if len(fits) > 1 {
		if best, err = c.best(state, pod, fits); err != nil {
			return "", err
		}
	}
	return best, c.Bind(pod, best)
}

// Bind puts the pod on the node, asking nobody, with the volumes it needs.
func (c *Cluster) Bind(pod *corev1.Pod, node string) error {
	info, err := c.node(node)
	if err != nil {
		return err
	}
	if err := c.provision(pod, info.Node()); err != nil {
		return err
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	return c.add(bound)
}

// Unbind takes a pod that is bound off its node. What its volumes are stays.
func (c *Cluster) Unbind(pod *corev1.Pod) error {
	info, err := c.node(pod.Spec.NodeName)
	if err != nil {
		return err
	}
	for _, bound := range info.GetPods() {
		if p := bound.GetPod(); p.Namespace == pod.Namespace && p.Name == pod.Name {
			c.stale = true
			if err := c.cache.RemovePod(c.logger, p); err != nil {
				return fmt.Errorf("remove pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			return nil
		}
	}
	return fmt.Errorf("pod %s/%s is not on node %s", pod.Namespace, pod.Name, pod.Spec.NodeName)
}

// RemoveNode takes a node out of the cluster, and the pods bound to it.
func (c *Cluster) RemoveNode(name string) error {
	info, err := c.node(name)
	if err != nil {
		return err
	}
	c.stale = true
	for _, pod := range slices.Clone(info.GetPods()) {
		if err := c.cache.RemovePod(c.logger, pod.GetPod()); err != nil {
			return fmt.Errorf("remove pod %s/%s: %w", pod.GetPod().Namespace, pod.GetPod().Name, err)
		}
	}
	return c.cache.RemoveNode(c.logger, info.Node())
}

// filter runs the PreFilter and Filter plugins and returns the nodes none refuses, and the last refusal.
func (c *Cluster) filter(state fwk.CycleState, pod *corev1.Pod, nodes []string) (Refusal, []fwk.NodeInfo, error) {
	if err := c.refresh(); err != nil {
		return Refusal{}, nil, err
	}
	among, status, by := c.all.RunPreFilterPlugins(c.ctx, state, pod)
	if !status.IsSuccess() {
		return asRefusal(pod, status)
	}
	var fits []fwk.NodeInfo
	var last Refusal
	for _, name := range nodes {
		if !among.AllNodes() && !among.NodeNames.Has(name) {
			last = elsewhere(fmt.Sprint(by.UnsortedList()))
			continue
		}
		info, err := c.node(name)
		if err != nil {
			return Refusal{}, nil, err
		}
		status := c.all.RunFilterPlugins(c.ctx, state, pod, info)
		if status.IsSuccess() {
			fits = append(fits, info)
			continue
		}
		if last, _, err = asRefusal(pod, status); err != nil {
			return Refusal{}, nil, err
		}
	}
	if len(fits) > 0 {
		last = Refusal{}
	}
	return last, fits, nil
}

// asRefusal tells a plugin that says no from one that could not say.
func asRefusal(pod *corev1.Pod, status *fwk.Status) (Refusal, []fwk.NodeInfo, error) {
	if status.IsRejected() {
		return refusal(status), nil, nil
	}
	return Refusal{}, nil, fmt.Errorf("judge pod %s/%s: %w", pod.Namespace, pod.Name, status.AsError())
}

func (c *Cluster) best(state fwk.CycleState, pod *corev1.Pod, nodes []fwk.NodeInfo) (string, error) {
	if status := c.all.RunPreScorePlugins(c.ctx, state, pod, nodes); !status.IsSuccess() {
		return "", fmt.Errorf("score pod %s/%s: %w", pod.Namespace, pod.Name, status.AsError())
	}
	scores, status := c.all.RunScorePlugins(c.ctx, state, pod, nodes)
	if !status.IsSuccess() {
		return "", fmt.Errorf("score pod %s/%s: %w", pod.Namespace, pod.Name, status.AsError())
	}
	best := scores[0]
	for _, s := range scores[1:] {
		if s.TotalScore > best.TotalScore {
			best = s
		}
	}
	return best.Name, nil
}
