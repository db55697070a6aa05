package terms

import (
	"slices"
	"strconv"

	"github.com/joiner-sh/joiner/shared/model"
)

// Operators of tolerations that compare numbers; "" and Equal compare text.
const (
	TolerationExists = "Exists"
	tolerationEqual  = "Equal"
	tolerationGt     = "Gt"
	tolerationLt     = "Lt"
)

// Tolerates reports whether any toleration covers the taint.
func Tolerates(tolerations []model.Toleration, taint model.Taint) bool {
	for _, t := range tolerations {
		if (t.Effect == "" || t.Effect == taint.Effect) && (t.Key == "" || t.Key == taint.Key) && toleratesValue(t, taint.Value) {
			return true
		}
	}
	return false
}

func toleratesValue(t model.Toleration, value string) bool {
	switch t.Operator {
	case TolerationExists:
		return true
	case "", tolerationEqual:
		return t.Key != "" && t.Value == value
	case tolerationGt, tolerationLt:
		bound, okBound := decimal(t.Value)
		n, ok := decimal(value)
		return ok && okBound && (t.Operator == tolerationGt && n > bound || t.Operator == tolerationLt && n < bound)
	}
	return false
}

// decimal reads an integer written the one canonical way, as the API asks of numbers in taints.
func decimal(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == text
}

// Untolerated returns the first taint that keeps the pod away, and whether one would merely rather not have it.
func Untolerated(tolerations []model.Toleration, taints []model.Taint) (hard *model.Taint, soft bool) {
	for i := range taints {
		switch {
		case Tolerates(tolerations, taints[i]):
		case taints[i].Effect == model.PreferNoSchedule:
			soft = true
		case hard == nil:
			hard = &taints[i]
		}
	}
	return hard, soft
}

// WithoutDisruptionTaint returns a node's taints without the one of nodes that are being disrupted.
func WithoutDisruptionTaint(taints []model.Taint) []model.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t model.Taint) bool { return t.Key == model.TaintDisrupted })
}
