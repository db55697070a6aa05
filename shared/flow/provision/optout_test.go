package provision_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// F044: a pod that requires a node of no NodePool makes none, and its owner is not warned of what they asked for. A pod
// of which one alternative takes a NodePool's node is warned like every other.
func TestF044PodsThatOptOutGetNoEvent(t *testing.T) {
	without := model.NodeTerm{Requirements: []model.Requirement{
		{Key: model.LabelArch, Operator: model.In, Values: []string{"amd64"}},
		{Key: model.LabelNodePool, Operator: model.DoesNotExist},
	}}
	other := model.NodeTerm{Requirements: []model.Requirement{
		{Key: model.LabelNodePool, Operator: model.In, Values: []string{"gone"}},
	}}
	for name, c := range map[string]struct {
		terms  []model.NodeTerm
		events int
	}{
		"a term":                 {[]model.NodeTerm{without}, 0},
		"every term":             {[]model.NodeTerm{without, without}, 0},
		"one of two terms":       {[]model.NodeTerm{without, other}, 1},
		"a NodePool that is not": {[]model.NodeTerm{other}, 1},
	} {
		w := start(t, world.Options{Types: []string{"m5.large"}})
		shape := world.Shape(900, gib)
		shape.RequiredNodeAffinity = c.terms
		pending(w, "own", 1, shape)
		outcome := pass(t, w, provision.TriggerBatch)
		if outcome.Claims != 0 || outcome.Unschedulable != 1 || len(w.Cluster.Waiting()) != 1 {
			t.Errorf("%s: %+v", name, outcome)
		}
		if events := w.Cluster.Events("Pod", "own-0"); len(events) != c.events {
			t.Errorf("%s: the pod is told %+v", name, events)
		}
	}
}
