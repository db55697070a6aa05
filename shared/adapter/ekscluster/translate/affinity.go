package translate

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

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

// Where the fields are that are looked at. What lies below them is spelled out only for a complaint.
var (
	specPath            = field.NewPath("spec")
	spreadPath          = specPath.Child("topologySpreadConstraints")
	nodeAffinityPath    = specPath.Child("affinity", "nodeAffinity")
	nodeTermsPath       = nodeAffinityPath.Child(requiredField, "nodeSelectorTerms")
	nodePreferencePath  = nodeAffinityPath.Child(preferredField)
	podAffinityPath     = specPath.Child("affinity", "podAffinity")
	podAntiAffinityPath = specPath.Child("affinity", "podAntiAffinity")
)

const (
	requiredField  = "requiredDuringSchedulingIgnoredDuringExecution"
	preferredField = "preferredDuringSchedulingIgnoredDuringExecution"
)

// affinities fills in the affinity and spread of a shape and returns a sentence for each part that cannot be expressed.
func affinities(out *model.PodShape, spec *corev1.PodSpec) []string {
	t := &terms{}
	if a := spec.Affinity; a != nil {
		if a.NodeAffinity != nil {
			t.nodes(out, a.NodeAffinity)
		}
		if a.PodAffinity != nil {
			out.PodAffinity = t.required(podAffinityPath, a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			out.PreferredPodAffinity = t.preferred(podAffinityPath,
				a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAntiAffinity != nil {
			out.PodAntiAffinity = t.required(podAntiAffinityPath,
				a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
			out.PreferredPodAntiAffinity = t.preferred(podAntiAffinityPath,
				a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for i := range spec.TopologySpreadConstraints {
		out.Spread = append(out.Spread, t.spread(spreadPath.Index(i), &spec.TopologySpreadConstraints[i]))
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
		if len(required.NodeSelectorTerms) == 0 {
			t.complain("%s is empty and so matches no node; add a term", nodeTermsPath)
		}
		var problems []string
		readable := 0
		for i := range required.NodeSelectorTerms {
			term := &required.NodeSelectorTerms[i]
			if problem := unreadableTerm(nodeTermsPath.Index(i), term); problem != "" {
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
		if p.Weight == 0 || len(p.Preference.MatchExpressions)+len(p.Preference.MatchFields) == 0 {
			continue // counts for nothing
		}
		at := nodePreferencePath.Index(i)
		t.weight(at, p.Weight)
		if problem := unreadableTerm(at.Child("preference"), &p.Preference); problem != "" {
			t.problems = append(t.problems, problem)
			continue
		}
		out.PreferredNodeAffinity = append(out.PreferredNodeAffinity,
			model.WeightedTerm{Weight: p.Weight, Term: nodeTerm(&p.Preference)})
	}
}

// weight complains about a weight that no API server lets through.
func (t *terms) weight(at *field.Path, weight int32) {
	if weight < 1 || weight > 100 {
		t.complain("%s.weight: %d: must be from 1 to 100", at, weight)
	}
}

func (t *terms) required(at *field.Path, list []corev1.PodAffinityTerm) []model.PodTerm {
	var out []model.PodTerm
	for i := range list {
		out = append(out, t.pod(at.Child(requiredField).Index(i), &list[i]))
	}
	return out
}

func (t *terms) preferred(at *field.Path, list []corev1.WeightedPodAffinityTerm) []model.WeightedPodTerm {
	var out []model.WeightedPodTerm
	for i := range list {
		at := at.Child(preferredField).Index(i)
		t.weight(at, list[i].Weight)
		out = append(out, model.WeightedPodTerm{Weight: list[i].Weight,
			Term: t.pod(at.Child("podAffinityTerm"), &list[i].PodAffinityTerm)})
	}
	return out
}

func (t *terms) pod(at *field.Path, term *corev1.PodAffinityTerm) model.PodTerm {
	t.topologyKey(at, term.TopologyKey)
	t.keys(at, "matchLabelKeys", term.MatchLabelKeys)
	t.keys(at, "mismatchLabelKeys", term.MismatchLabelKeys)
	return model.PodTerm{
		TopologyKey:       term.TopologyKey,
		Selector:          t.selector(at, "labelSelector", term.LabelSelector),
		Namespaces:        term.Namespaces,
		NamespaceSelector: t.selector(at, "namespaceSelector", term.NamespaceSelector),
		MatchLabelKeys:    term.MatchLabelKeys,
		MismatchLabelKeys: term.MismatchLabelKeys,
	}
}

func (t *terms) spread(at *field.Path, c *corev1.TopologySpreadConstraint) model.Spread {
	t.topologyKey(at, c.TopologyKey)
	if c.MaxSkew < 1 {
		t.complain("%s.maxSkew: %d: must be at least 1", at, c.MaxSkew)
	}
	if c.MinDomains != nil && *c.MinDomains < 1 {
		t.complain("%s.minDomains: %d: must be at least 1", at, *c.MinDomains)
	}
	t.keys(at, "matchLabelKeys", c.MatchLabelKeys)
	out := model.Spread{
		TopologyKey:        c.TopologyKey,
		MaxSkew:            c.MaxSkew,
		Selector:           t.selector(at, "labelSelector", c.LabelSelector),
		MatchLabelKeys:     c.MatchLabelKeys,
		IgnoreNodeAffinity: c.NodeAffinityPolicy != nil && *c.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore,
		HonorNodeTaints:    c.NodeTaintsPolicy != nil && *c.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor,
	}
	switch c.WhenUnsatisfiable {
	case corev1.ScheduleAnyway:
		out.Anyway = true
	case corev1.DoNotSchedule, "":
	default:
		t.complain("%s.whenUnsatisfiable: %q: must be DoNotSchedule or ScheduleAnyway", at, c.WhenUnsatisfiable)
	}
	if c.MinDomains != nil {
		out.MinDomains = *c.MinDomains
	}
	return out
}

func (t *terms) topologyKey(at *field.Path, key string) {
	if key == "" {
		t.complain("%s.topologyKey is empty; name a node label", at)
	}
}

// keys complains about label keys that shapes do not carry.
func (t *terms) keys(at *field.Path, name string, keys []string) {
	for _, key := range keys {
		if perPod(key) {
			t.complain("%s.%s: %q: the label differs on every pod and is ignored; use another", at, name, key)
		}
	}
}

func (t *terms) selector(at *field.Path, name string, s *metav1.LabelSelector) *model.Selector {
	if s == nil {
		return nil
	}
	for _, key := range perPodKeys {
		if _, ok := s.MatchLabels[key]; ok {
			t.keys(at, name+".matchLabels", []string{key})
		}
	}
	known := true
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		if perPod(e.Key) {
			t.keys(at, fmt.Sprintf("%s.matchExpressions[%d].key", name, i), []string{e.Key})
		}
		switch e.Operator {
		case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists,
			metav1.LabelSelectorOpDoesNotExist:
		default:
			known = false
			t.complain("%s.%s.matchExpressions[%d].operator: %q: must be one of In, NotIn, Exists, DoesNotExist", at,
				name, i, e.Operator)
		}
	}
	if known && !plainSelector(s) {
		if err := unreadable(s); err != nil {
			t.complain("%s.%s: %v", at, name, err)
		}
	}
	return selector(s)
}

// unreadable returns what is wrong with a selector, always the same of several things.
func unreadable(s *metav1.LabelSelector) error {
	if _, err := metav1.LabelSelectorAsSelector(s); err == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		one := &metav1.LabelSelector{MatchLabels: map[string]string{key: s.MatchLabels[key]}}
		if _, err := metav1.LabelSelectorAsSelector(one); err != nil {
			return fmt.Errorf("matchLabels: %w", err)
		}
	}
	_, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchExpressions: s.MatchExpressions})
	return err
}

// selector translates a label selector; nil stays nil.
func selector(s *metav1.LabelSelector) *model.Selector {
	if s == nil {
		return nil
	}
	out := &model.Selector{MatchLabels: nonEmpty(s.MatchLabels)}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		out.Expressions = append(out.Expressions,
			model.Requirement{Key: e.Key, Operator: model.Operator(e.Operator), Values: e.Values})
	}
	return out
}
