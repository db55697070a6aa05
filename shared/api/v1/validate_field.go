package v1

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/joiner-sh/joiner/shared/api/wellknown"
)

// Remedies that several rules share.
const (
	remedyKey   = "Write it as name or domain/name: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit, a name of at most 63 characters."
	remedyValue = "Use at most 63 letters, digits, '-', '_' and '.', beginning and ending with a letter or digit."
)

// validateKey checks a label key as a pool or claim may use it.
func validateKey(path, key string) []FieldError {
	normalized := wellknown.Normalize(key)
	if messages := validation.IsQualifiedName(normalized); len(messages) > 0 {
		return []FieldError{{path, key, strings.Join(messages, "; "), remedyKey}}
	}
	if reason := wellknown.RestrictedReason(normalized); reason != "" {
		return []FieldError{{path, key, reason, "Use a label of a domain of your own."}}
	}
	return nil
}

func validateValue(path, value string) []FieldError {
	if messages := validation.IsValidLabelValue(value); len(messages) > 0 {
		return []FieldError{{path, value, strings.Join(messages, "; "), remedyValue}}
	}
	return nil
}

func validateTaint(path string, taint corev1.Taint) []FieldError {
	var problems []FieldError
	if messages := validation.IsQualifiedName(taint.Key); len(messages) > 0 {
		problems = append(problems, FieldError{path + ".key", taint.Key, strings.Join(messages, "; "), remedyKey})
	}
	if messages := validation.IsQualifiedName(taint.Value); taint.Value != "" && len(messages) > 0 {
		problems = append(problems, FieldError{path + ".value", taint.Value, strings.Join(messages, "; "), remedyValue})
	}
	switch taint.Effect {
	case "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
	default:
		problems = append(problems, FieldError{path + ".effect", string(taint.Effect), "unknown taint effect",
			"Use one of NoSchedule, PreferNoSchedule and NoExecute."})
	}
	return problems
}

// ValidateRequirement returns what is wrong with one requirement of a pool, a claim or an overlay, found at path.
func ValidateRequirement(path string, r Requirement) []FieldError {
	problems := validateKey(path+".key", r.Key)
	if !slices.Contains(Operators(), r.Operator) {
		problems = append(problems, FieldError{path + ".operator", string(r.Operator), "unknown operator",
			"Use one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte and Lte."})
	}
	for i, value := range r.Values {
		problems = append(problems, validateValue(fmt.Sprintf("%s.values[%d]", path, i), value)...)
	}
	switch r.Operator {
	case corev1.NodeSelectorOpIn:
		problems = append(problems, validateIn(path, r)...)
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, OperatorGte, OperatorLte:
		problems = append(problems, validateBound(path, r)...)
	}
	return problems
}

// validateIn checks the values of an In requirement, whose capacity types must exist.
func validateIn(path string, r Requirement) []FieldError {
	path += ".values"
	if len(r.Values) == 0 {
		return []FieldError{{path, "", "operator In needs at least one value", "Add the values that are acceptable, or use Exists."}}
	}
	usable, text := len(r.Values), strings.Join(r.Values, ", ")
	if listsCapacityTypes(r) {
		known, _ := splitCapacityTypes(r.Values)
		usable = len(known)
		if usable == 0 {
			return []FieldError{{path, text, "no known capacity type", "Use one or more of on-demand, reserved and spot."}}
		}
	}
	if r.MinValues != nil && usable < *r.MinValues {
		return []FieldError{{path, text, fmt.Sprintf("%d usable values are fewer than minValues %d", usable, *r.MinValues),
			"Add values or lower minValues."}}
	}
	return nil
}

// validateBound checks the one number of Gt, Lt, Gte and Lte.
func validateBound(path string, r Requirement) []FieldError {
	remedy := "Give exactly one whole number of at least 0."
	if len(r.Values) != 1 {
		return []FieldError{{path + ".values", strings.Join(r.Values, ", "),
			fmt.Sprintf("operator %s needs exactly one value and has %d", r.Operator, len(r.Values)), remedy}}
	}
	if bound, err := strconv.ParseInt(r.Values[0], 10, 64); err != nil || bound < 0 {
		return []FieldError{{path + ".values[0]", r.Values[0],
			fmt.Sprintf("operator %s needs a whole number of at least 0", r.Operator), remedy}}
	}
	return nil
}

func listsCapacityTypes(r Requirement) bool {
	return wellknown.Normalize(r.Key) == wellknown.LabelCapacityType && r.Operator == corev1.NodeSelectorOpIn
}

// splitCapacityTypes returns the values that are capacity types and those that are not, each in the order given.
func splitCapacityTypes(values []string) (known, unknown []string) {
	for _, value := range values {
		if slices.Contains(wellknown.CapacityTypes(), value) {
			known = append(known, value)
		} else {
			unknown = append(unknown, value)
		}
	}
	return known, unknown
}
