package catalog

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// NC-18: expressions are validated against every instance type there is before anything is asked of EC2.
func TestNC18ExpressionsAreValidatedBeforeATrial(t *testing.T) {
	cel := func(f *Flow, _ *Request) { f.Settings.Offerings.NodeClassCEL = true }
	tests := []struct {
		name, text string
		settings   func(*Flow, *Request)
		fail       error
		want       string
		tried      bool
	}{
		{"not enabled", "vcpus * 10", nil, nil, "KubeletExpressionsDisabled", false},
		{"no expression", "lots", cel, nil, "KubeletExpressionInvalid", false},
		{"fails on a type", "vcpus - 1000", cel, nil, "KubeletExpressionEvaluationFailed", false},
		{"no catalogue", "vcpus * 10", cel, fault.New(fault.Internal, "", "down"), "Unknown ValidationFailed", false},
		{"a number on every type", "vcpus * 10", cel, nil, "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			w.class().Kubelet = model.Kubelet{MaxPodsExpr: test.text, JSON: `{"maxPods":"` + test.text + `"}`}
			if test.fail != nil {
				w.fail["Types"] = test.fail
			}
			w.pass(0, test.settings)
			if got := w.problem(model.Validated); got != test.want {
				t.Errorf("problem = %q, want %q: %+v", got, test.want, w.status())
			}
			if tried := w.asked("Dry") > 0; tried != test.tried {
				t.Errorf("tried = %v, want %v: %v", tried, test.tried, w.aws)
			}
		})
	}
}
