package oracle

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Difference is a case in which we mean to evaluate otherwise than the scheduler. Its reasons are in DIFFERENCES.md, under
// the same ID.
type Difference struct {
	ID       string
	Explains func(at pair, group string, weRefuse bool) bool
}

// Differences are all there are. A disagreement that none explains is a finding.
var Differences = []Difference{
	{"claims-for-one-pod", sharedByWaitingPods},
}

// whatever is the group of what is said of a pod for every node at once.
const whatever = "whatever the node"

// sharedByWaitingPods explains that we refuse a pod for a claim that only one pod can use and another waiting pod names.
func sharedByWaitingPods(at pair, group string, weRefuse bool) bool {
	if !weRefuse || group != whatever && group != "volumes" {
		return false
	}
	for _, c := range at.problem.Claims {
		if c.Spec.AccessModes[0] != corev1.ReadWriteOncePod || c.Namespace != at.pod.Namespace || !uses(at.pod, c.Name) {
			continue
		}
		for _, other := range at.problem.Pending() {
			if other != at.pod && other.Namespace == c.Namespace && uses(other, c.Name) {
				return true
			}
		}
	}
	return false
}

// uses reports whether the pod names the claim.
func uses(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	})
}
