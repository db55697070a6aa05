package problem

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// topologyKeys are what spread and pod affinity name, the usual ones more often.
var topologyKeys = []string{
	model.LabelHostname, model.LabelHostname, model.LabelHostname, model.LabelZone, model.LabelZone, model.LabelZone,
	model.LabelCapacityType, RackLabel,
}

// rules gives the workload what it asks of nodes and of other pods, by the features of the problem.
func (m *maker) rules(w *workload) {
	spec := &w.template
	affinity := &corev1.Affinity{}
	if m.Has(Selectors) {
		m.nodeRules(spec, affinity)
	}
	if m.Has(Taints) && m.chance(50) {
		spec.Tolerations = m.tolerations()
	}
	if m.Has(Affinity) && m.chance(45) {
		affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: m.podTerms(w)}
	}
	if m.Has(AntiAffinity) && m.chance(50) {
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: m.podTerms(w)}
	}
	if m.Has(Spread) && m.chance(60) {
		m.spread(w, corev1.DoNotSchedule)
	}
	if m.Has(Preferences) {
		m.preferences(w, affinity)
	}
	if affinity.NodeAffinity != nil || affinity.PodAffinity != nil || affinity.PodAntiAffinity != nil {
		spec.Affinity = affinity
	}
}

func (m *maker) nodeRules(spec *corev1.PodSpec, affinity *corev1.Affinity) {
	switch {
	case m.chance(35):
		key := pick(m.die, model.LabelZone, model.LabelCapacityType, model.LabelArch, RackLabel)
		spec.NodeSelector = map[string]string{key: m.value(key)}
	case m.chance(10):
		spec.NodeSelector = map[string]string{"beta.kubernetes.io/arch": pick(m.die, "amd64", "arm64")}
	}
	if m.chance(55) {
		affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: m.nodeSelector()}
	}
}

func (m *maker) value(key string) string {
	switch key {
	case model.LabelZone:
		return pick(m.die, zones...)
	case model.LabelCapacityType:
		return pick(m.die, capacityTypes...)
	case model.LabelArch:
		return pick(m.die, "amd64", "arm64")
	case RackLabel:
		return pick(m.die, racks...)
	case model.LabelNodePool:
		return pick(m.die, "pool-0", "pool-1", "pool-2")
	case labelKind:
		return pick(m.die, "c", "m", "r", "g")
	case labelSize:
		return pick(m.die, "medium", "large", "xlarge")
	default:
		return pick(m.die, "1", "2", "4", "8")
	}
}

// nodeSelector returns one to three terms, any of which may hold.
func (m *maker) nodeSelector() *corev1.NodeSelector {
	out := &corev1.NodeSelector{}
	for range pick(m.die, 1, 1, 2, 3) {
		out.NodeSelectorTerms = append(out.NodeSelectorTerms, m.nodeTerm())
	}
	return out
}

func (m *maker) nodeTerm() corev1.NodeSelectorTerm {
	var term corev1.NodeSelectorTerm
	if m.chance(3) {
		return term // matches nothing
	}
	if len(m.Nodes) > 0 && m.chance(5) {
		name := pick(m.die, m.Nodes...).Name
		term.MatchFields = []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: pick(m.die, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{name}}}
	}
	for range pick(m.die, 1, 1, 1, 2) {
		key := pick(m.die, model.LabelZone, model.LabelZone, model.LabelCapacityType, model.LabelArch, RackLabel, RackLabel, labelKind, labelSize, labelCPU, model.LabelNodePool)
		e := corev1.NodeSelectorRequirement{Key: key}
		switch kind := m.IntN(100); {
		case key == labelCPU && kind < 70:
			e.Operator, e.Values = pick(m.die, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt), []string{m.value(key)}
		case kind < 45:
			e.Operator, e.Values = corev1.NodeSelectorOpIn, []string{m.value(key)}
			if other := m.value(key); other != e.Values[0] {
				e.Values = append(e.Values, other)
			}
		case kind < 75:
			e.Operator, e.Values = corev1.NodeSelectorOpNotIn, []string{m.value(key)}
		case kind < 90:
			e.Operator = corev1.NodeSelectorOpExists
		default:
			e.Operator = corev1.NodeSelectorOpDoesNotExist
		}
		term.MatchExpressions = append(term.MatchExpressions, e)
	}
	return term
}

func (m *maker) taint() corev1.Taint {
	return corev1.Taint{
		Key: pick(m.die, "dedicated", "dedicated", "special"), Value: pick(m.die, "a", "b", ""),
		Effect: pick(m.die, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
	}
}

func (m *maker) tolerations() []corev1.Toleration {
	var out []corev1.Toleration
	for range pick(m.die, 1, 1, 2) {
		effect := pick(m.die, "", "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute)
		key := pick(m.die, "dedicated", "dedicated", "special")
		switch m.IntN(10) {
		case 0:
			out = append(out, corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: effect})
		case 1, 2, 3:
			out = append(out, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect})
		case 4:
			out = append(out, corev1.Toleration{Key: corev1.TaintNodeUnschedulable, Operator: corev1.TolerationOpExists, Effect: effect})
		default:
			out = append(out, corev1.Toleration{Key: key, Operator: corev1.TolerationOpEqual, Value: pick(m.die, "a", "b", ""), Effect: effect})
		}
	}
	return out
}

// selector selects pods: the workload's own half of the time, else any.
func (m *maker) selector(w *workload) *metav1.LabelSelector {
	switch kind := m.IntN(100); {
	case kind < 50:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.labels["app"]}}
	case kind < 70:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": pick(m.die, apps...)}}
	case kind < 78:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": pick(m.die, tiers...)}}
	case kind < 83:
		return &metav1.LabelSelector{}
	case kind < 86:
		return nil
	}
	e := metav1.LabelSelectorRequirement{Key: pick(m.die, "app", "tier", "track")}
	switch m.IntN(4) {
	case 0:
		e.Operator, e.Values = metav1.LabelSelectorOpIn, some(m.die, append(apps[:2:2], tiers...)...)
	case 1:
		e.Operator, e.Values = metav1.LabelSelectorOpNotIn, []string{pick(m.die, apps...)}
	case 2:
		e.Operator = metav1.LabelSelectorOpExists
	default:
		e.Operator = metav1.LabelSelectorOpDoesNotExist
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{e}}
}

func (m *maker) podTerms(w *workload) []corev1.PodAffinityTerm {
	var out []corev1.PodAffinityTerm
	for range pick(m.die, 1, 1, 1, 2) {
		out = append(out, m.podTerm(w))
	}
	return out
}

func (m *maker) podTerm(w *workload) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: pick(m.die, topologyKeys...), LabelSelector: m.selector(w)}
	if m.Has(Namespaces) {
		switch kind := m.IntN(10); {
		case kind < 2:
			term.Namespaces = some(m.die, namespaceNames...)
		case kind < 4:
			term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": pick(m.die, "prod", "test")}}
		case kind < 5:
			term.NamespaceSelector = &metav1.LabelSelector{}
		}
	}
	if !extensible(term.LabelSelector) {
		return term
	}
	if m.chance(12) {
		term.MatchLabelKeys = []string{"track"}
	} else if m.chance(8) {
		term.MismatchLabelKeys = []string{"track"}
	}
	return term
}

// spread adds one or two constraints, no two of the same key and consequence.
func (m *maker) spread(w *workload, otherwise corev1.UnsatisfiableConstraintAction) {
	seen := make(map[string]bool)
	for range pick(m.die, 1, 1, 2) {
		c := corev1.TopologySpreadConstraint{
			TopologyKey: pick(m.die, topologyKeys...), MaxSkew: int32(pick(m.die, 1, 1, 1, 2, 3)), WhenUnsatisfiable: otherwise, LabelSelector: m.selector(w),
		}
		if seen[c.TopologyKey] {
			continue
		}
		seen[c.TopologyKey] = true
		if otherwise == corev1.DoNotSchedule && m.chance(25) {
			least := int32(m.between(1, 4))
			c.MinDomains = &least
		}
		if m.chance(25) {
			c.NodeAffinityPolicy = m.policy()
		}
		if m.chance(25) {
			c.NodeTaintsPolicy = m.policy()
		}
		if extensible(c.LabelSelector) && m.chance(15) {
			c.MatchLabelKeys = []string{"track"}
		}
		w.template.TopologySpreadConstraints = append(w.template.TopologySpreadConstraints, c)
	}
}

// extensible reports whether label keys may be added: there is a selector, and it does not name the key itself.
func extensible(s *metav1.LabelSelector) bool {
	return s != nil && !slices.ContainsFunc(s.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool { return e.Key == "track" })
}

func (m *maker) policy() *corev1.NodeInclusionPolicy {
	policy := pick(m.die, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	return &policy
}

func (m *maker) preferences(w *workload, affinity *corev1.Affinity) {
	weight := func() int32 { return int32(m.between(1, 100)) }
	if m.chance(40) {
		if affinity.NodeAffinity == nil {
			affinity.NodeAffinity = &corev1.NodeAffinity{}
		}
		for range pick(m.die, 1, 2) {
			affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: weight(), Preference: m.nodeTerm()})
		}
	}
	if m.chance(25) {
		if affinity.PodAffinity == nil {
			affinity.PodAffinity = &corev1.PodAffinity{}
		}
		affinity.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: weight(), PodAffinityTerm: m.podTerm(w)}}
	}
	if m.chance(30) {
		if affinity.PodAntiAffinity == nil {
			affinity.PodAntiAffinity = &corev1.PodAntiAffinity{}
		}
		affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{Weight: weight(), PodAffinityTerm: m.podTerm(w)}}
	}
	if m.chance(40) {
		m.spread(w, corev1.ScheduleAnyway)
	}
}
