package bound

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/bench/check"
	"github.com/joiner-sh/joiner/testenv/bench/problem"
)

// zonesOf says of some pods which zone they may be taken to be in.
//
// Where n like pods, and no others, are spread over z zones so that the fullest has no more than maxSkew above the
// emptiest, every zone has at least (n − (z−1)·maxSkew) / z of them. Since nothing tells them apart, it may be any.
func zonesOf(p *problem.Problem, ways []check.Way) map[*corev1.Pod]string {
	out := map[*corev1.Pod]string{}
	seen := map[string]bool{}
	for _, pod := range p.Pods {
		for i := range pod.Spec.TopologySpreadConstraints {
			s := &pod.Spec.TopologySpreadConstraints[i]
			name := pod.Namespace + "|" + metav1.FormatLabelSelector(s.LabelSelector)
			if s.TopologyKey != model.LabelZone || s.WhenUnsatisfiable != corev1.DoNotSchedule || s.MinDomains != nil || seen[name] {
				continue
			}
			seen[name] = true
			group, alike := groupOf(p, pod, s)
			if !alike {
				continue
			}
			zones := zonesFor(pod, ways)
			each := ceilDiv(len(group)-(len(zones)-1)*int(s.MaxSkew), len(zones))
			for z, zone := range zones {
				for i := range max(0, each) {
					out[group[z*each+i]] = zone
				}
			}
		}
	}
	return out
}

// groupOf returns the pods a constraint of pod counts, and whether all of them are waiting and like pod.
func groupOf(p *problem.Problem, pod *corev1.Pod, s *corev1.TopologySpreadConstraint) (group []*corev1.Pod, alike bool) {
	selector, err := metav1.LabelSelectorAsSelector(s.LabelSelector)
	if err != nil || len(pod.Spec.NodeSelector) > 0 || pod.Spec.Affinity != nil {
		return nil, false
	}
	for _, other := range slices.Concat(p.Pods, p.Bound) {
		if other.Namespace != pod.Namespace || !selector.Matches(labels.Set(other.Labels)) {
			continue
		}
		if other.Spec.NodeName != "" || len(other.Spec.NodeSelector) > 0 || other.Spec.Affinity != nil || len(other.Spec.Tolerations) != len(pod.Spec.Tolerations) ||
			!maps.Equal(check.Requests(other), check.Requests(pod)) || !sameSpread(other, pod) {
			return nil, false
		}
		group = append(group, other)
	}
	return group, len(group) > 0
}

func sameSpread(a, b *corev1.Pod) bool {
	return slices.EqualFunc(a.Spec.TopologySpreadConstraints, b.Spec.TopologySpreadConstraints, func(x, y corev1.TopologySpreadConstraint) bool {
		return x.TopologyKey == y.TopologyKey && x.MaxSkew == y.MaxSkew && x.WhenUnsatisfiable == y.WhenUnsatisfiable &&
			metav1.FormatLabelSelector(x.LabelSelector) == metav1.FormatLabelSelector(y.LabelSelector)
	})
}

// zonesFor returns the zones a node for the pod can be bought in, sorted.
func zonesFor(pod *corev1.Pod, ways []check.Way) []string {
	zones := map[string]bool{}
	for i := range ways {
		fits := !zones[ways[i].Zone] && ways[i].Admits(pod)
		for name, amount := range check.Requests(pod) {
			fits = fits && ways[i].Room[name] >= amount
		}
		if fits {
			zones[ways[i].Zone] = true
		}
	}
	return slices.Sorted(maps.Keys(zones))
}

// ceilDiv returns a / b rounded up, b > 0.
func ceilDiv(a, b int) int {
	if b <= 0 || a <= 0 {
		return 0
	}
	return (a + b - 1) / b
}
