package explain_test

import (
	"reflect"
	"testing"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

func TestDecisionsAreListedTheNewestFirst(t *testing.T) {
	unfit := model.Plan{Unschedulable: []model.Unschedulable{{}}}
	got := explain.Decisions([]model.Decision{
		{ID: "a", AtUnix: 10, Trigger: "batch", Pending: 3, Launched: []string{"x", "y"}, Rounds: []model.Round{{Plan: unfit, Failed: []model.Claim{{}}}, {}}},
		{ID: "c", AtUnix: 30, Rounds: []model.Round{{Plan: unfit}}, Open: true},
	}, []model.Disrupted{{ID: "b", AtUnix: 20, Build: "v1", Plan: model.DisruptPlan{Commands: []model.PlannedCommand{
		{Reason: "Underutilized", Nodes: []string{"n"}, PodsMoved: 2, Savings: 5}, {Reason: "Empty", Nodes: []string{"m", "o"}, Savings: 7}, {Reason: "Empty", Nodes: []string{"p"}},
	}}}, {ID: "d", AtUnix: 30}})
	want := []explain.Decided{
		{ID: "d", AtUnix: 30, By: "disrupt"}, {ID: "c", AtUnix: 30, By: "provision", Unschedulable: 1, Open: true},
		{ID: "b", AtUnix: 20, By: "disrupt", Build: "v1", Reasons: []string{"Empty", "Underutilized"}, Nodes: 4, PodsMoved: 2, Savings: 12},
		{ID: "a", AtUnix: 10, By: "provision", Trigger: "batch", Pending: 3, Launched: 2, Failed: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
}
