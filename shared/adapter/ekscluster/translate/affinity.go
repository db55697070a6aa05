package translate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/joiner-sh/joiner/shared/model"
)

// perPodKeys are the labels that differ on every pod of a workload.
var perPodKeys = [...]string{
	"statefulset.kubernetes.io/pod-name",
	"apps.kubernetes.io/pod-index",
	"batch.kubernetes.io/job-completion-index",
}

func perPod(key string) bool { return slices.Contains(perPodKeys[:], key) }

// sharedLabels returns the labels without those that differ on every pod; the map itself where it has none of them.
func sharedLabels(labels map[string]string) map[string]string {
	own := 0
	for key := range labels {
		if perPod(key) {
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
		if !perPod(key) {
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

// nodes reads terms the way kube-scheduler does: a required term that cannot be read matches nothing, and the others
// still count; a preferred term that cannot be read keeps the pod from being scheduled at all.
func (t *terms) nodes(out *model.PodShape, a *corev1.NodeAffinity) {
	if required := a.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
		const field = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
		if len(required.NodeSelectorTerms) == 0 {
			t.complain("%s is empty and so matches no node; add a term", field)
		}
		var problems []string
		readable := 0
		for i := range required.NodeSelectorTerms {
			term := &required.NodeSelectorTerms[i]
			if problem := unreadableTerm(fmt.Sprintf("%s[%d]", field, i), term); problem != "" {
				problems = append(problems, problem)
				out.RequiredNodeAffinity = append(out.RequiredNodeAffinity, model.NodeTerm{})
				continue
			}
			readable++
			out.RequiredNodeAffinity = append(out.RequiredNodeAffinity, nodeTerm(term))
		}
		if readable == 0 {
			t.problems = append(t.problems, problems...)
		}
	}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		field := fmt.Sprintf("spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[%d]", i)
		if p.Weight == 0 || len(p.Preference.MatchExpressions)+len(p.Preference.MatchFields) == 0 {
			continue // counts for nothing
		}
		t.weight(field, p.Weight)
		if problem := unreadableTerm(field+".preference", &p.Preference); problem != "" {
			t.problems = append(t.problems, problem)
			continue
		}
		out.PreferredNodeAffinity = append(out.PreferredNodeAffinity, model.WeightedTerm{Weight: p.Weight, Term: nodeTerm(&p.Preference)})
	}
}

// weight complains about a weight that no API server lets through.
func (t *terms) weight(field string, weight int32) {
	if weight < 1 || weight > 100 {
		t.complain("%s.weight: %d: must be from 1 to 100", field, weight)
	}
}

func nodeTerm(term *corev1.NodeSelectorTerm) model.NodeTerm {
	return model.NodeTerm{Requirements: nodeRequirements(term.MatchExpressions), Fields: nodeRequirements(term.MatchFields)}
}

// unreadableTerm returns what is wrong with a term, empty for one that can be read.
func unreadableTerm(path string, term *corev1.NodeSelectorTerm) string {
	for i := range term.MatchExpressions {
		switch e := &term.MatchExpressions[i]; e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		default:
			return fmt.Sprintf("%s.matchExpressions[%d].operator: %q: must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt", path, i, e.Operator)
		}
	}
	for i := range term.MatchFields {
		switch e := &term.MatchFields[i]; {
		case e.Key != metav1.ObjectNameField:
			return fmt.Sprintf("%s.matchFields[%d].key: %q: must be %s", path, i, e.Key, metav1.ObjectNameField)
		case e.Operator != corev1.NodeSelectorOpIn && e.Operator != corev1.NodeSelectorOpNotIn:
			return fmt.Sprintf("%s.matchFields[%d].operator: %q: must be In or NotIn", path, i, e.Operator)
		case len(e.Values) != 1:
			return fmt.Sprintf("%s.matchFields[%d].values has %d values, must have one", path, i, len(e.Values))
		}
	}
	one := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: term.MatchExpressions}}}
	if _, err := nodeaffinity.NewNodeSelector(one); err != nil {
		return path + strings.TrimPrefix(err.Error(), "nodeSelectorTerms[0]")
	}
	return ""
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
		t.weight(fmt.Sprintf("%s.preferredDuringSchedulingIgnoredDuringExecution[%d]", field, i), list[i].Weight)
		out = append(out, model.WeightedPodTerm{Weight: list[i].Weight, Term: t.pod(at, &list[i].PodAffinityTerm)})
	}
	return out
}

func (t *terms) pod(field string, term *corev1.PodAffinityTerm) model.PodTerm {
	t.topologyKey(field, term.TopologyKey)
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
	t.topologyKey(field, c.TopologyKey)
	if c.MaxSkew < 1 {
		t.complain("%s.maxSkew: %d: must be at least 1", field, c.MaxSkew)
	}
	if c.MinDomains != nil && *c.MinDomains < 1 {
		t.complain("%s.minDomains: %d: must be at least 1", field, *c.MinDomains)
	}
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

func (t *terms) topologyKey(field, key string) {
	if key == "" {
		t.complain("%s.topologyKey is empty; name a node label", field)
	}
}

// keys complains about label keys that shapes do not carry.
func (t *terms) keys(field string, keys []string) {
	for _, key := range keys {
		if perPod(key) {
			t.complain("%s: %q: the label differs on every pod and is not looked at; use another", field, key)
		}
	}
}

func (t *terms) selector(field string, s *metav1.LabelSelector) *model.Selector {
	if s == nil {
		return nil
	}
	t.keys(field+".matchLabels", slices.Sorted(maps.Keys(s.MatchLabels)))
	known := true
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		t.keys(fmt.Sprintf("%s.matchExpressions[%d].key", field, i), []string{e.Key})
		switch e.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		default:
			known = false
			t.complain("%s.matchExpressions[%d].operator: %q: must be one of In, NotIn, Exists, DoesNotExist", field, i, e.Operator)
		}
	}
	if _, err := metav1.LabelSelectorAsSelector(s); err != nil && known {
		t.complain("%s: %v", field, err)
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
