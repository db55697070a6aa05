package translate

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

// What passes as plain must pass the validation of Kubernetes.
func TestWhatIsPlainIsValid(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-c][a-cA0._-]{0,4}(/[a-cA0._/-]{0,4})?`), rapid.StringN(0, 70, 70),
		rapid.SampledFrom([]string{"app", "app.kubernetes.io/name", "a..b/c", "a.-b/c", "A/b", "a/", "/a", "", "a_b/c", "a-/b", "x.y/z/w"}))
	for _, s := range []*metav1.LabelSelector{
		{MatchLabels: map[string]string{"app": "web", "app.kubernetes.io/name": ""}},
		{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "In", Values: []string{"web", "a_b"}}}},
	} {
		if !plainSelector(s) {
			t.Errorf("%+v is not plain", s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := &metav1.LabelSelector{MatchLabels: rapid.MapOfN(text, text, 0, 2).Draw(t, "labels")}
		if rapid.Bool().Draw(t, "expression") {
			s.MatchExpressions = []metav1.LabelSelectorRequirement{{
				Key:      text.Draw(t, "key"),
				Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{"In", "NotIn", "Exists", "DoesNotExist"}).Draw(t, "operator"),
				Values:   rapid.SliceOfN(text, 0, 2).Draw(t, "values"),
			}}
		}
		if !plainSelector(s) {
			return
		}
		if _, err := metav1.LabelSelectorAsSelector(s); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
	})
}
