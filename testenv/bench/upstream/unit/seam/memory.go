package seam

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	v1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
)

// reserve writes the room of CapacityBuffers that Karpenter's memory has on nodes as buffers for these nodes.
func (g *gathered) reserve(cluster *state.Cluster) {
	for i, name := range slices.Sorted(maps.Keys(g.nodes)) {
		count := cluster.BufferPodCount(g.nodes[name].Spec.ProviderID)
		if count <= 0 {
			continue
		}
		room := metav1.ObjectMeta{Name: fmt.Sprintf("room-%d", i), Namespace: metav1.NamespaceDefault}
		template := corev1.PodTemplate{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodTemplate"}, ObjectMeta: room}
		template.Template.Spec.Containers = []corev1.Container{{Name: "room", Image: "room"}}
		template.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{name}}}}},
		}}}
		buffer := map[string]any{
			"apiVersion": "autoscaling.x-k8s.io/v1beta1", "kind": "CapacityBuffer", "metadata": room,
			"spec": map[string]any{"podTemplateRef": map[string]string{"name": room.Name}, "replicas": count},
		}
		for _, o := range []any{template, buffer} {
			text, err := json.Marshal(o)
			must(err)
			g.objects = append(g.objects, text)
		}
	}
}

// settle has a NodeClaim that a spec says is Consolidatable be initialized for as long as its NodePool asks for: Joiner does not go by the condition
// but works it out.
func (g *gathered) settle(claim *v1.NodeClaim, at clock.Clock) {
	pool := g.pools[claim.Labels[v1.NodePoolLabelKey]]
	if pool == nil || pool.Spec.Disruption.ConsolidateAfter.Duration == nil || !claim.StatusConditions().Get(v1.ConditionTypeConsolidatable).IsTrue() {
		return
	}
	since := at.Now().Add(-*pool.Spec.Disruption.ConsolidateAfter.Duration - time.Second)
	for i := range claim.Status.Conditions {
		if c := &claim.Status.Conditions[i]; c.Type == v1.ConditionTypeInitialized && c.LastTransitionTime.After(since) {
			c.LastTransitionTime = metav1.NewTime(since)
		}
	}
}
