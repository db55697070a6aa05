package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// Difference is a case in which we mean to judge otherwise than the scheduler. Its reasons are in DIFFERENCES.md, under
// the same ID.
type Difference struct {
	ID       string
	Explains func(at pair, group string, weRefuse bool) bool
}

// Differences are all there are. A disagreement that none explains is a finding.
var Differences = []Difference{
	{"starting-nodes", startingNode},
}

// startingNode explains that we accept a node for which only taints of its start speak against it.
func startingNode(at pair, group string, weRefuse bool) bool {
	if weRefuse || group != "taints" {
		return false
	}
	after := started(at.problem, at.node)
	return len(after.Spec.Taints) < len(at.node.Spec.Taints) && tolerated(at.pod, after)
}

// tolerated reports whether the pod tolerates every taint that keeps pods away.
func tolerated(pod *corev1.Pod, node *corev1.Node) bool {
	for i := range node.Spec.Taints {
		taint := &node.Spec.Taints[i]
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool { return t.ToleratesTaint(klog.Background(), taint, false) }) {
			return false
		}
	}
	return true
}
