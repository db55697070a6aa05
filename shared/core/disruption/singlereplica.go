package disruption

import "github.com/joiner-sh/joiner/shared/model"

// single reports whether the pod is the only one of its workload, those that wait included. Pods that nothing makes
// anew, and those of DaemonSets and Jobs, are no replicas.
func (e *evaluator) single(pod *model.Pod) bool {
	if e.replicas == nil {
		e.replicas = make(map[string]int)
		for i := range e.in.Snapshot.Pods {
			if other := &e.in.Snapshot.Pods[i]; e.replica(other) {
				e.replicas[workload(other, e.in.Snapshot.ShapeOf(other))]++
			}
		}
	}
	return e.replica(pod) && e.replicas[workload(pod, e.in.Snapshot.ShapeOf(pod))] == 1
}

func (e *evaluator) replica(pod *model.Pod) bool {
	switch e.in.Snapshot.ShapeOf(pod).OwnerKind {
	case "", "Node", "DaemonSet", "Job":
		return false
	}
	return pod.Buffer == "" && pod.DeletedUnix == 0 && !pod.Terminal()
}

// blockBySingles blocks the consolidation of nodes of pods that are alone in their workload, where the NodePool wants
// that: while such a pod moves there is none. One with a disruption window says itself when it may move. Whatever
// renews nodes is not blocked.
func (e *evaluator) blockBySingles(node *poolNode) {
	if node.Pool == nil || node.Pool.Annotations[model.AnnotationSingleReplicas] != "true" {
		return
	}
	var pods []string
	for _, i := range e.podsOf[node.name()] {
		pod := &e.in.Snapshot.Pods[i]
		if shape := e.in.Snapshot.ShapeOf(pod); shape.Window == nil && !shape.System && e.single(pod) {
			pods = append(pods, pod.Key())
		}
	}
	if len(pods) > 0 {
		const message = "%s would be away while it moves, as it is alone in its workload (%s)"
		node.forbid(consolidating, SingleReplica, message, some("pod", pods), model.AnnotationSingleReplicas)
	}
}
