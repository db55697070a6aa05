package requirement

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"pgregory.net/rapid"

	"github.com/joiner-sh/joiner/shared/model"
)

// Kube-scheduler matches node affinity with the selectors of Kubernetes; both must say the same of every node.
func TestRequirementsMatchNodesAsKubernetesSelectorsDo(t *testing.T) {
	operators := map[model.Operator]selection.Operator{
		model.In: selection.In, model.NotIn: selection.NotIn, model.Exists: selection.Exists, model.DoesNotExist: selection.DoesNotExist,
		model.Gt: selection.GreaterThan, model.Lt: selection.LessThan,
	}
	values := []string{"", "a", "b", "0", "1", "5", "05", "5.0", "1e3", "0x5", "9223372036854775807", "9223372036854775808", "007"}
	agreed := 0
	rapid.Check(t, func(t *rapid.T) {
		var list []model.Requirement
		selector := labels.NewSelector()
		for range rapid.IntRange(1, 3).Draw(t, "requirements") {
			r := model.Requirement{
				Key:      rapid.SampledFrom([]string{"x", "example.com/y"}).Draw(t, "key"),
				Operator: rapid.SampledFrom([]model.Operator{model.In, model.NotIn, model.Exists, model.DoesNotExist, model.Gt, model.Lt}).Draw(t, "operator"),
				Values:   rapid.SliceOfN(rapid.SampledFrom(values), 0, 2).Draw(t, "values"),
			}
			theirs, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
			ours, ourErr := From([]model.Requirement{r})
			if (err == nil) != (ourErr == nil) {
				t.Fatalf("%v: we say %v (%v), Kubernetes says %v", r, ours, ourErr, err)
			}
			if err != nil {
				continue
			}
			list, selector = append(list, r), selector.Add(*theirs)
		}
		all, err := From(list)
		if err != nil {
			t.Fatal(err)
		}
		node := map[string]string{}
		for _, key := range []string{"x", "example.com/y"} {
			if rapid.Bool().Draw(t, "labelled") {
				node[key] = rapid.SampledFrom(values).Draw(t, "label")
			}
		}
		if got, want := all.Matches(node), selector.Matches(labels.Set(node)); got != want {
			t.Fatalf("%v on %v: we say %v, Kubernetes says %v", list, node, got, want)
		}
		agreed++
	})
	if agreed < 50 && !testing.Short() {
		t.Errorf("only %d nodes were compared", agreed)
	}
}
