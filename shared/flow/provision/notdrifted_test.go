package provision_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// F133: what was just launched for a NodePool meets its requirements, whatever they ask for: else it would be replaced for ever.
func TestF133WhatWasJustLaunchedHasNotDrifted(t *testing.T) {
	requirement := func(key string, operator model.Operator, values ...string) model.Requirement {
		return model.Requirement{Key: key, Operator: operator, Values: values}
	}
	const instance = "karpenter.k8s.aws/instance-"
	for name, requirements := range map[string][]model.Requirement{
		"nothing":          nil,
		"type and zone":    {requirement(instance+"category", model.In, "m", "c", "r"), requirement(model.LabelZone, model.NotIn, "nowhere")},
		"bounds":           {requirement(instance+"cpu", model.Gt, "1"), requirement(instance+"memory", model.Lt, "1000000"), requirement(instance+"generation", model.Gte, "5")},
		"old names":        {requirement("beta.kubernetes.io/arch", model.In, "amd64", "arm64"), requirement("failure-domain.beta.kubernetes.io/zone", model.Exists)},
		"absent":           {requirement(instance+"gpu-count", model.DoesNotExist), requirement(model.LabelReservationID, model.DoesNotExist)},
		"way of buying":    {requirement(model.LabelCapacityType, model.In, model.Spot, model.OnDemand)},
		"one way":          {requirement(model.LabelCapacityType, model.NotIn, model.Spot, model.Reserved)},
		"tenancy and such": {requirement(instance+"tenancy", model.In, "default"), requirement(model.LabelOS, model.In, "linux"), requirement(instance+"hypervisor", model.Exists)},
		"labels of people": {requirement("team", model.In, "a", "b"), requirement("tier", model.Exists), requirement("old", model.NotIn, "yes"), requirement("gone", model.DoesNotExist)},
		"minValues":        {{Key: model.LabelInstanceType, Operator: model.Exists, MinValues: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			w := world.New(world.Options{})
			w.Cluster.AddClass(world.Class("default"))
			pool := world.Pool("default", "default")
			pool.Template.Requirements = requirements
			w.Cluster.AddPool(pool)
			pending(w, "web", 4, world.Shape(900, 2*gib))
			if outcome := pass(t, w, provision.TriggerBatch); outcome.Claims == 0 {
				t.Fatalf("%+v", outcome)
			}
			settle(t, w)
			for _, claim := range load(t, w).Claims {
				if drift := lifecycle.DriftedByPool(lifecycle.DriftView{Claim: claim, Pool: &pool}); drift.Reason != "" {
					t.Errorf("%s: %+v; labels %v", claim.Name, drift, claim.Labels)
				}
				for _, r := range requirements { // and it is by its labels that it has not, not by what is unknown
					narrowed := pool
					narrowed.Template.Requirements = []model.Requirement{{Key: r.Key, Operator: model.In, Values: []string{"something-else"}}}
					if drift := lifecycle.DriftedByPool(lifecycle.DriftView{Claim: claim, Pool: &narrowed, Type: &model.InstanceType{}}); drift.Reason != lifecycle.RequirementsDrifted {
						t.Errorf("%s: asked for another %s: %+v", claim.Name, r.Key, drift)
					}
				}
			}
		})
	}
}
