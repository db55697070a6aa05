package provision_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/core/offering"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// NC-14, NC-18: a kubelet configuration that cannot be used stops its own class, with the reason, and no other.
func TestNC14NC18KubeletConfigurationStopsItsClassOnly(t *testing.T) {
	tests := []struct {
		name     string
		change   func(*model.Class)
		enabled  bool
		launched []string
		says     string
	}{
		{"unknown field", func(c *model.Class) {
			c.Invalid = []model.ClassProblem{{Condition: "ValidationSucceeded", Reason: "InvalidKubeletConfiguration", Message: `unknown field "maxPodz"`}}
		}, false, []string{"m5.large"}, `unknown field "maxPodz"`},
		{"expression that is not enabled", func(c *model.Class) { c.Kubelet.MaxPodsExpr = "vcpus * 10" }, false, []string{"m5.large"}, "not enabled"},
		{"expression", func(c *model.Class) { c.Kubelet.MaxPodsExpr = "vcpus * 10" }, true, []string{"m5.large", "m6g.large"}, ""},
		{"expression that fails", func(c *model.Class) { c.Kubelet.MaxPodsExpr = "vcpus - 100" }, true, []string{"m5.large"}, "it gives -98"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := two(t)
			class := world.Class("other")
			test.change(&class)
			w.Cluster.AddClass(class)
			w.Tick(time.Second)
			process := w.Process(world.Fault{})
			flow := process.Flow()
			flow.Settings.Offerings = offering.Settings{NodeClassCEL: test.enabled}
			outcome, err := flow.Run(t.Context(), provision.Request{
				Trigger: provision.TriggerBatch, Cluster: world.Name, Owner: "p", Deadline: w.Clock.Now().Add(world.InvocationTimeout),
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := types(w); !slices.Equal(got, test.launched) {
				t.Errorf("launched %v, want %v: %+v", got, test.launched, outcome)
			}
			if test.says != "" && !strings.Contains(eventOf(w.Cluster.Events("Pod", "other-0"), "FailedScheduling").Message, test.says) {
				t.Errorf("events = %+v, want one that says %q", outcome, test.says)
			}
		})
	}
}
