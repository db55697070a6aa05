package translate

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/joiner-sh/joiner/shared/model"
)

func nodeTerm(term *corev1.NodeSelectorTerm) model.NodeTerm {
	return model.NodeTerm{Requirements: nodeRequirements(term.MatchExpressions),
		Fields: nodeRequirements(term.MatchFields)}
}

func nodeRequirements(list []corev1.NodeSelectorRequirement) []model.Requirement {
	var out []model.Requirement
	for i := range list {
		out = append(out,
			model.Requirement{Key: list[i].Key, Operator: model.Operator(list[i].Operator), Values: list[i].Values})
	}
	return out
}

// unreadableTerm returns what is wrong with a term, empty for one that kube-scheduler can read.
func unreadableTerm(at *field.Path, term *corev1.NodeSelectorTerm) string {
	plain := true
	for i := range term.MatchExpressions {
		e := &term.MatchExpressions[i]
		switch e.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			plain = plain && plainKey(e.Key) && len(e.Values) > 0 && plainValues(e.Values)
		case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
			plain = plain && plainKey(e.Key) && len(e.Values) == 0
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			plain = false
		default:
			return fmt.Sprintf(
				"%s.matchExpressions[%d].operator: %q: must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt",
				at, i, e.Operator)
		}
	}
	for i := range term.MatchFields {
		switch e := &term.MatchFields[i]; {
		case e.Key != metav1.ObjectNameField:
			return fmt.Sprintf("%s.matchFields[%d].key: %q: must be %s", at, i, e.Key, metav1.ObjectNameField)
		case e.Operator != corev1.NodeSelectorOpIn && e.Operator != corev1.NodeSelectorOpNotIn:
			return fmt.Sprintf("%s.matchFields[%d].operator: %q: must be In or NotIn", at, i, e.Operator)
		case len(e.Values) != 1:
			return fmt.Sprintf("%s.matchFields[%d].values has %d values, must have one", at, i, len(e.Values))
		}
	}
	if plain {
		return ""
	}
	one := &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: term.MatchExpressions}}}
	if _, err := nodeaffinity.NewNodeSelector(one); err != nil {
		return at.String() + strings.TrimPrefix(err.Error(), "nodeSelectorTerms[0]")
	}
	return ""
}
