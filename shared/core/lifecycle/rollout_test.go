package lifecycle_test

import (
	"testing"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// M84: each node of a pool is counted once, by the NodePool and the EC2NodeClass as they are now.
func TestM84NodesAreCountedByWhetherTheyDiffer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*lifecycle.DriftView)
		want   model.PoolRollout
	}{
		"nothing differs":          {nil, model.PoolRollout{Current: 1}},
		"the template was changed": {func(v *view) { v.Pool.Hash = "12" }, model.PoolRollout{Drifted: 1}},
		"requirements were narrowed": {func(v *view) { labeled(v); asks(in(model.LabelArch, "arm64"))(v) },
			model.PoolRollout{Drifted: 1}},
		"the class was changed": {func(v *view) { v.Class.Hash = "78" }, model.PoolRollout{Drifted: 1}},
		"another image was found": {func(v *view) { v.Claim.Drift = lifecycle.ImageDrifted },
			model.PoolRollout{Drifted: 1}},
		"the template was changed back": {func(v *view) { v.Claim.Drift = lifecycle.PoolDrifted },
			model.PoolRollout{Current: 1}},
		"the class was changed back": {func(v *view) { v.Claim.Drift = lifecycle.ClassDrifted },
			model.PoolRollout{Current: 1}},
		"there is no class": {func(v *view) { v.Class, v.Pool.Hash = nil, "12" },
			model.PoolRollout{Current: 1}},
		"a command replaces it": {func(v *view) {
			v.Claim.Drift, v.Claim.Command = lifecycle.ImageDrifted, "cmd"
		}, model.PoolRollout{Replacing: 1}},
		"it is being drained": {func(v *view) { v.Pool.Hash, v.Claim.State = "12", model.Draining },
			model.PoolRollout{Replacing: 1}},
		"a command consolidates a fresh": {func(v *view) { v.Claim.Command = "cmd" }, model.PoolRollout{Current: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			v := like(c.change)
			v.Pool.Generation = 7
			rollout := lifecycle.NewRollout(v.Pool, v.Class, v.CA)
			rollout.Add(&v.Claim)
			c.want.Generation = 7
			if got := rollout.Counts(); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// M84: the condition is True only while every node is current, and else says how many are not.
func TestM84ConditionSaysWhetherAllNodesAreCurrent(t *testing.T) {
	for _, c := range []struct {
		counts          model.PoolRollout
		status, message string
	}{
		{model.PoolRollout{}, "True", ""},
		{model.PoolRollout{Current: 3}, "True", ""},
		{model.PoolRollout{Current: 3, Drifted: 1}, "False",
			"1 of 4 nodes differ from what would be launched now; 0 of them are being replaced"},
		{model.PoolRollout{Drifted: 1, Replacing: 2}, "False",
			"3 of 3 nodes differ from what would be launched now; 2 of them are being replaced"},
	} {
		if status, reason, message := c.counts.Condition(); status != c.status || message != c.message || reason == "" {
			t.Errorf("%+v: %s, %s, %q", c.counts, status, reason, message)
		}
	}
}
