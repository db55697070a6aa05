package v1

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/joiner-sh/joiner/shared/api/wellknown"
)

// FieldError is one thing wrong with an object: where, what was found there, what is wrong with it, what to do.
type FieldError struct {
	// Path is the field as kubectl explain writes it, list items by number and map entries by key.
	Path string `json:"path"`
	// Value is the text of what was found there; empty where something is missing.
	Value string `json:"value,omitempty"`
	// Message is what is wrong, lower case and without a full stop.
	Message string `json:"message"`
	// Remedy is what to do about it, as a sentence.
	Remedy string `json:"remedy"`
}

// Error returns path, value, message and remedy in one line.
func (e FieldError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s: %s. Remedy: %s", e.Path, e.Message, e.Remedy)
	}
	return fmt.Sprintf("%s: %q: %s. Remedy: %s", e.Path, e.Value, e.Message, e.Remedy)
}

// ValidateNodePool returns what makes the pool unusable although its schema admits it: labels, taints and requirements
// that no node could carry. It returns none for a usable pool, in the order of the fields otherwise, and always the same.
func ValidateNodePool(pool *NodePool) []FieldError {
	const template = "spec.template"
	problems := validateLabels(template+".metadata.labels", pool.Spec.Template.Metadata.Labels)
	annotations := pool.Spec.Template.Metadata.Annotations
	problems = append(problems, validateAnnotations(template+".metadata.annotations", annotations)...)
	problems = append(problems, validateTaints(template+".spec", pool.Spec.Template.Spec)...)
	for i, r := range pool.Spec.Template.Spec.Requirements {
		path := fmt.Sprintf("%s.spec.requirements[%d]", template, i)
		if wellknown.Normalize(r.Key) == wellknown.LabelNodePool {
			problems = append(problems, FieldError{path + ".key", r.Key, "a NodePool cannot require a NodePool",
				"Remove the requirement: nodes of this NodePool have the label anyway."})
			continue
		}
		problems = append(problems, ValidateRequirement(path, r)...)
	}
	return problems
}

func validateLabels(path string, labels map[string]string) []FieldError {
	var problems []FieldError
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		at := fmt.Sprintf("%s[%s]", path, key)
		if key == wellknown.LabelNodePool {
			problems = append(problems, FieldError{at, key, "label " + key + " is restricted", "Remove it: it is set from the NodePool's name."})
			continue
		}
		problems = append(problems, validateKey(at, key)...)
		problems = append(problems, validateValue(at, labels[key])...)
	}
	return problems
}

// ReservedAnnotations are those of NodeClaims and Nodes that controllers write alone. A template with one of them would
// have each of its nodes tell of another's launch, or of an end that nobody decided.
var ReservedAnnotations = []string{
	"joiner.sh/usd-per-hour",
	"compatibility.karpenter.k8s.aws/cluster-name-tagged", "karpenter.k8s.aws/ec2nodeclass-hash",
	"karpenter.k8s.aws/ec2nodeclass-hash-version", "karpenter.k8s.aws/instance-profile-name",
	"karpenter.k8s.aws/tagged", "karpenter.sh/capacity-overlay-applied",
	"karpenter.sh/nodeclaim-min-values-relaxed", "karpenter.sh/nodeclaim-termination-timestamp",
	"karpenter.sh/nodepool-hash", "karpenter.sh/nodepool-hash-version", "karpenter.sh/price-overlay-applied",
	"karpenter.sh/requested-dra-drivers",
}

func validateAnnotations(path string, annotations map[string]string) []FieldError {
	var problems []FieldError
	for _, key := range ReservedAnnotations {
		if value, has := annotations[key]; has {
			problems = append(problems, FieldError{fmt.Sprintf("%s[%s]", path, key), value,
				"only Joiner writes this annotation", "Remove it."})
		}
	}
	return problems
}

// validateTaints checks taints and startup taints, which share one space of key and effect on the node.
func validateTaints(path string, spec NodeClaimTemplateSpec) []FieldError {
	type identity struct {
		key    string
		effect corev1.TaintEffect
	}
	seen := map[identity]string{}
	var problems []FieldError
	for _, list := range []struct {
		field  string
		taints []corev1.Taint
	}{{"taints", spec.Taints}, {"startupTaints", spec.StartupTaints}} {
		for i, taint := range list.taints {
			at := fmt.Sprintf("%s.%s[%d]", path, list.field, i)
			problems = append(problems, validateTaint(at, taint)...)
			id := identity{taint.Key, taint.Effect}
			if first, duplicate := seen[id]; duplicate {
				problems = append(problems, FieldError{at, taint.Key + ":" + string(taint.Effect),
					"the same key and effect as " + first, "Keep one of the two: a node holds one taint per key and effect."})
			}
			seen[id] = cmp.Or(seen[id], at)
		}
	}
	return problems
}
