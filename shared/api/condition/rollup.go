package condition

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// rollUp computes the root from its dependents: True when all are True at the current generation, False when one is
// False at the current generation, Unknown otherwise. A False of an older generation counts as unknown, because the
// change of the spec may have been its cure. It returns whether the root changed.
func (s *Set) rollUp() bool {
	var unhealthy, reconciling []metav1.Condition
	for _, dependent := range slices.Sorted(slices.Values(s.types.Dependents)) {
		c := s.Get(dependent)
		current := c.ObservedGeneration == s.object.GetGeneration()
		switch {
		case current && c.Status == metav1.ConditionFalse:
			unhealthy = append(unhealthy, c)
		case !current || c.Status != metav1.ConditionTrue:
			reconciling = append(reconciling, c)
		}
	}
	root := metav1.Condition{
		Type: Ready, Status: metav1.ConditionTrue, Reason: Ready,
		LastTransitionTime: s.now, ObservedGeneration: s.object.GetGeneration(),
	}
	switch {
	case len(unhealthy) > 0:
		root.Status, root.Reason, root.Message = metav1.ConditionFalse, ReasonUnhealthy, offenders(unhealthy)
	case len(reconciling) > 0:
		root.Status, root.Reason, root.Message = metav1.ConditionUnknown, ReasonReconciling, offenders(reconciling)
	}
	return s.put(root)
}

// offenders lists conditions as type=status pairs, each with its message where it has one.
func offenders(conditions []metav1.Condition) string {
	parts := make([]string, 0, len(conditions))
	for _, c := range conditions {
		part := c.Type + "=" + string(c.Status)
		if c.Message != "" {
			part += " (" + c.Message + ")"
		}
		parts = append(parts, part)
	}
	return cut(strings.Join(parts, ", "), maxMessageBytes)
}

// maxMessageBytes is the longest message the API server takes.
const maxMessageBytes = 32768

// cut shortens text to at most limit bytes without splitting a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}
