package translate

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/joiner-sh/joiner/shared/model"
)

// perPod are the labels that differ on every pod of a workload.
var perPod = map[string]bool{
	"statefulset.kubernetes.io/pod-name":       true,
	"apps.kubernetes.io/pod-index":             true,
	"batch.kubernetes.io/job-completion-index": true,
}

// sharedLabels returns the labels without those that differ on every pod; the map itself where it has none of them.
func sharedLabels(labels map[string]string) map[string]string {
	own := 0
	for key := range labels {
		if perPod[key] {
			own++
		}
	}
	if own == 0 || own == len(labels) {
		if own > 0 {
			return nil
		}
		return nonEmpty(labels)
	}
	out := make(map[string]string, len(labels)-own)
	for key, value := range labels {
		if !perPod[key] {
			out[key] = value
		}
	}
	return out
}

// affinities fills in the affinity and spread of a shape and returns a sentence for each part that cannot be expressed.
func affinities(out *model.PodShape, spec *corev1.PodSpec) []string {
	t := &terms{}
	if a := spec.Affinity; a != nil {
		if a.NodeAffinity != nil {
			t.nodes(out, a.NodeAffinity)
		}
		if a.PodAffinity != nil {
			const field = "spec.affinity.podAffinity"
			out.PodAffinity = t.required(field, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			out.PreferredPodAffinity = t.preferred(field, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			const field = "spec.affinity.podAntiAffinity"
			out.PodAntiAffinity = t.required(field, a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			out.PreferredPodAntiAffinity = t.preferred(field, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for i := range spec.TopologySpreadConstraints {
		out.Spread = append(out.Spread, t.spread(fmt.Sprintf("spec.topologySpreadConstraints[%d]", i), &spec.TopologySpreadConstraints[i]))
	}
	return t.problems
}

// terms collects what is wrong while terms are translated.
type terms struct{ problems []string }

func (t *terms) complain(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

func (t *terms) nodes(out *model.PodShape, a *corev1.NodeAffinity) {
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		const field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		if len(required.NodeSelectorTerms) == 0 {
			t.complain("%s is empty and so matches no node; add a term", field)
		}
		for i := range required.NodeSelectorTerms {
			out.RequiredNodeAffinity = append(out.RequiredNodeAffinity, t.node(fmt.Sprintf("%s[%d]", field, i), &required.NodeSelectorTerms[i]))
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		field := fmt.Sprintf("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d].preference", i)
		out.PreferredNodeAffinity = append(out.PreferredNodeAffinity, model.WeightedTerm{Weight: p.Weight, Term: t.node(field, &p.Preference)})
	}
}

func (t *terms) node(field string, term *corev1.NodeSelectorTerm) model.NodeTerm {
	return model.NodeTerm{
		Requirements: t.expressions(field+".matchExpressions", term.MatchExpressions),
		Fields:       t.expressions(field+".matchFields", term.MatchFields),
	}
}

func (t *terms) expressions(field string, list []corev1.NodeSelectorRequirement) []model.Requirement {
	for i := range list {
		switch list[i].Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		default:
			t.complain("%s[%d].operator: %q: must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt", field, i, list[i].Operator)
		}
	}
	return nodeRequirements(list)
}

func nodeRequirements(list []corev1.NodeSelectorRequirement) []model.Requirement {
	var out []model.Requirement
	for i := range list {
		out = append(out, model.Requirement{Key: list[i].Key, Operator: model.Operator(list[i].Operator), Values: list[i].Values})
	}
	return out
}

func (t *terms) required(field string, list []corev1.PodAffinityTerm) []model.PodTerm {
	var out []model.PodTerm
	for i := range list {
		out = append(out, t.pod(fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", field, i), &list[i]))
	}
	return out
}

func (t *terms) preferred(field string, list []corev1.WeightedPodAffinityTerm) []model.WeightedPodTerm {
	var out []model.WeightedPodTerm
	for i := range list {
		at := fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d].podAffinityTerm", field, i)
		out = append(out, model.WeightedPodTerm{Weight: list[i].Weight, Term: t.pod(at, &list[i].PodAffinityTerm)})
	}
	return out
}

func (t *terms) pod(field string, term *corev1.PodAffinityTerm) model.PodTerm {
	t.keys(field+".matchLabelKeys", term.MatchLabelKeys)
	t.keys(field+".mismatchLabelKeys", term.MismatchLabelKeys)
	return model.PodTerm{
		TopologyKey:       term.TopologyKey,
		Selector:          t.selector(field+".labelSelector", term.LabelSelector),
		Namespaces:        term.Namespaces,
		NamespaceSelector: t.selector(field+".namespaceSelector", term.NamespaceSelector),
		MatchLabelKeys:    term.MatchLabelKeys,
		MismatchLabelKeys: term.MismatchLabelKeys,
	}
}

func (t *terms) spread(field string, c *corev1.TopologySpreadConstraint) model.Spread {
	t.keys(field+".matchLabelKeys", c.MatchLabelKeys)
	out := model.Spread{
		TopologyKey:        c.TopologyKey,
		MaxSkew:            c.MaxSkew,
		Selector:           t.selector(field+".labelSelector", c.LabelSelector),
		MatchLabelKeys:     c.MatchLabelKeys,
		IgnoreNodeAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
		HonorNodeTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	switch c.WhenUnsatisfiable {
	case corev1.ScheduleAnyway:
		out.Anyway = true
	case corev1.DoNotSchedule, "":
	default:
		t.complain("%s.whenUnsatisfiable: %q: must be DoNotSchedule or ScheduleAnyway", field, c.WhenUnsatisfiable)
	}
	if c.MinDomains != nil {
		out.MinDomains = *c.MinDomains
	}
	return out
}

// keys complains about label keys that shapes do not carry.
func (t *terms) keys(field string, keys []string) {
	for _, key := range keys {
		if perPod[key] {
			t.complain("%s: %q: the label differs on every pod and is not looked at; use another", field, key)
		}
	}
}

func (t *terms) selector(field string, s *metav1.LabelSelector) *model.Selector {
	if s == nil {
		return nil
	}
	t.keys(field+".matchLabels", slices.Sorted(maps.Keys(s.MatchLabels)))
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		t.keys(fmt.Sprintf("%s.matchExpressions[%d].key", field, i), []string{e.Key})
		switch e.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		default:
			t.complain("%s.matchExpressions[%d].operator: %q: must be one of In, NotIn, Exists, DoesNotExist", field, i, e.Operator)
		}
	}
	return selector(s)
}

// selector translates a label selector; nil stays nil.
func selector(s *metav1.LabelSelector) *model.Selector {
	if s == nil {
		return nil
	}
	out := &model.Selector{MatchLabels: nonEmpty(s.MatchLabels)}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		out.Expressions = append(out.Expressions, model.Requirement{Key: e.Key, Operator: model.Operator(e.Operator), Values: e.Values})
	}
	return out
}
