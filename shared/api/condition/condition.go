package condition

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Ready is the root condition of every kind.
const Ready = "Ready"

// Reasons this package gives by itself.
const (
	// ReasonAwaiting is the reason of a dependent nobody has said anything about yet.
	ReasonAwaiting = "AwaitingReconciliation"
	// ReasonUnhealthy is the reason of a root that is False because a dependent is.
	ReasonUnhealthy = "UnhealthyDependents"
	// ReasonReconciling is the reason of a root that is Unknown because a dependent is, or is out of date.
	ReasonReconciling = "ReconcilingDependents"
)

// Types declares the conditions of a kind that add up to its root. Others may be set too and do not count.
type Types struct {
	// Dependents are the condition types that must all be True for Ready to be; at least one, in no particular order.
	Dependents []string
}

// Object is an API object with conditions in its status.
type Object interface {
	metav1.Object
	GetConditions() []metav1.Condition
	SetConditions([]metav1.Condition)
}

// Set is the conditions of one object while somebody reads and changes them. Every change is in the object at once.
type Set struct {
	types  Types
	object Object
	now    metav1.Time
}

// For returns the conditions of object. Dependents that are missing are added as Unknown since the object's creation, and
// the root is brought up to date. Times are cut to whole seconds, which is what the API server stores.
func (t Types) For(object Object, now time.Time) *Set {
	s := &Set{types: t, object: object, now: metav1.NewTime(now.Truncate(time.Second))}
	for _, dependent := range t.Dependents {
		if s.find(dependent) == nil {
			s.put(metav1.Condition{
				Type: dependent, Status: metav1.ConditionUnknown, Reason: ReasonAwaiting,
				Message:            "object is awaiting reconciliation",
				LastTransitionTime: object.GetCreationTimestamp(), ObservedGeneration: object.GetGeneration(),
			})
		}
	}
	s.rollUp()
	return s
}

// Get returns the condition of that type; one that was never said is Unknown with ReasonAwaiting and no transition time.
func (s *Set) Get(conditionType string) metav1.Condition {
	if c := s.find(conditionType); c != nil {
		return *c
	}
	return metav1.Condition{Type: conditionType, Status: metav1.ConditionUnknown, Reason: ReasonAwaiting}
}

// IsTrue says whether every named condition is True at the object's current generation.
func (s *Set) IsTrue(conditionTypes ...string) bool {
	for _, conditionType := range conditionTypes {
		c := s.Get(conditionType)
		if c.Status != metav1.ConditionTrue || c.ObservedGeneration != s.object.GetGeneration() {
			return false
		}
	}
	return true
}

// SetTrue says that a condition holds; its reason is the type itself. It returns whether anything changed.
func (s *Set) SetTrue(conditionType string) bool {
	return s.set(conditionType, metav1.ConditionTrue, conditionType, "")
}

// SetTrueWithReason says that a condition holds, and why. It returns whether anything changed.
func (s *Set) SetTrueWithReason(conditionType, reason, message string) bool {
	return s.set(conditionType, metav1.ConditionTrue, reason, message)
}

// SetFalse says that a condition does not hold, and why. It returns whether anything changed.
func (s *Set) SetFalse(conditionType, reason, message string) bool {
	return s.set(conditionType, metav1.ConditionFalse, reason, message)
}

// SetUnknown says that it is unknown whether a condition holds, and why. It returns whether anything changed.
func (s *Set) SetUnknown(conditionType, reason, message string) bool {
	return s.set(conditionType, metav1.ConditionUnknown, reason, message)
}

// Remove takes a condition away and returns whether it was there. A dependent is never removed but becomes Unknown.
func (s *Set) Remove(conditionType string) bool {
	if s.counts(conditionType) {
		return s.SetUnknown(conditionType, ReasonAwaiting, "object is awaiting reconciliation")
	}
	before := s.object.GetConditions()
	after := slices.DeleteFunc(slices.Clone(before), func(c metav1.Condition) bool { return c.Type == conditionType })
	s.object.SetConditions(after)
	return len(after) != len(before)
}

// set writes one condition and then the root. The transition time moves only with the status; an empty reason becomes
// the type, since the API server refuses a condition without one.
func (s *Set) set(conditionType string, status metav1.ConditionStatus, reason, message string) bool {
	if reason == "" {
		reason = conditionType
	}
	changed := s.put(metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: cut(message, maxMessageBytes),
		LastTransitionTime: s.now, ObservedGeneration: s.object.GetGeneration(),
	})
	return s.rollUp() || changed
}

// put stores a condition, keeping the stored transition time where the status is the same, and the list sorted by type.
func (s *Set) put(c metav1.Condition) bool {
	conditions := slices.Clone(s.object.GetConditions())
	i := slices.IndexFunc(conditions, func(o metav1.Condition) bool { return o.Type == c.Type })
	if i < 0 {
		conditions = append(conditions, c)
		slices.SortFunc(conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
		s.object.SetConditions(conditions)
		return true
	}
	if conditions[i].Status == c.Status {
		c.LastTransitionTime = conditions[i].LastTransitionTime
	}
	if conditions[i] == c {
		return false
	}
	conditions[i] = c
	s.object.SetConditions(conditions)
	return true
}

func (s *Set) find(conditionType string) *metav1.Condition {
	for _, c := range s.object.GetConditions() {
		if c.Type == conditionType {
			return &c
		}
	}
	return nil
}

func (s *Set) counts(conditionType string) bool {
	return conditionType == Ready || slices.Contains(s.types.Dependents, conditionType)
}

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
