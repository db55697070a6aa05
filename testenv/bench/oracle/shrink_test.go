package oracle

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/testenv/bench/oracle/problem"
)

// TestShrinkLeavesWhatIsNeeded shrinks a problem to two pods of one workload, one of which has a rule between pods.
func TestShrinkLeavesWhatIsNeeded(t *testing.T) {
	spread := func(pod *corev1.Pod) bool { return len(pod.Spec.TopologySpreadConstraints) > 0 }
	keep := func(p *problem.Problem) bool {
		n := 0
		for _, pod := range p.Pending() {
			if spread(pod) {
				n++
			}
		}
		return n >= 2
	}
	shrunk := 0
	for seed := range uint64(60) {
		p := problem.New(seed, problem.Small)
		if !keep(p) {
			continue
		}
		shrunk++
		small := Shrink(p, keep)
		if len(small.Pods) != 2 || len(small.Nodes)+len(small.Pools)+len(small.DaemonSets)+len(small.Catalog)+len(small.Claims) > 0 {
			t.Errorf("seed %d: %d pods, %d nodes, %d pools are left", seed, len(small.Pods), len(small.Nodes), len(small.Pools))
		}
		if slices.ContainsFunc(small.Pods, func(pod *corev1.Pod) bool { return pod.Spec.Affinity != nil || len(pod.Spec.Volumes) > 0 }) {
			t.Errorf("seed %d: pods have what they need not", seed)
		}
		if !keep(p) {
			t.Errorf("seed %d: the problem was written to", seed)
		}
	}
	if shrunk == 0 {
		t.Error("no problem has what is looked for")
	}
}
