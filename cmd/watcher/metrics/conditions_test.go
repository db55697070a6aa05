package metrics

import (
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// M43: conditions of NodePools and EC2NodeClasses are reported one by one, and changes of those of NodeClaims too are
// counted, with how long the status before lasted.
func TestM43ConditionsAreReportedAndTheirChangesCounted(t *testing.T) {
	w := watch()
	ready := func(status, reason string, since int64) []model.ConditionShown {
		return []model.ConditionShown{{Type: "Ready", Status: status, Reason: reason, SinceUnix: since}}
	}
	pool, class := &model.Pool{Name: "general"}, &model.Class{Name: "default"}
	claim := &model.Object{Name: "c"}
	shows := func(status, reason string, since int64) {
		w.Observe(wire.Change{Pool: pool, Conditions: ready(status, reason, since)})
		w.Observe(wire.Change{Class: class, Conditions: ready(status, reason, since)})
		w.Observe(wire.Change{Claim: claim, Shown: &model.ClaimShown{}, Conditions: ready(status, reason, since)})
	}
	shows("Unknown", "NotYet", began-100) // before the watcher has seen everything
	shows("False", "SubnetsNotFound", began-60)
	w.synced = true
	shows("False", "SubnetsNotFound", began-60)
	shows("True", "Ready", began-10)
	shows("True", "Ready", began-10)
	w.now = began
	want := map[string]float64{}
	for _, kind := range []string{"nodepool", "ec2nodeclass", "nodeclaim"} {
		of := "operator_" + kind + "_status_condition_"
		want[of+`transitions_total{reason="Ready",status="True",type="Ready"}`] = 1
		want[of+`transition_seconds_count{status="False",type="Ready"}`] = 1
		want[of+`transition_seconds_sum{status="False",type="Ready"}`] = 50
	}
	for kind, name := range map[string]string{"nodepool": "general", "ec2nodeclass": "default"} {
		labels := `{name="` + name + `",namespace="",reason="Ready",status="True",type="Ready"}`
		want["operator_"+kind+"_status_condition_count"+labels] = 1
		want["operator_"+kind+"_status_condition_current_status_seconds"+labels] = 10
	}
	expect(t, w.scrape(t), want)

	w.Observe(wire.Change{Deleted: true, Pool: pool})
	for sample := range w.scrape(t) {
		if strings.HasPrefix(sample, "operator_nodepool_status_condition_count") {
			t.Errorf("still reported: %s", sample)
		}
	}
}
