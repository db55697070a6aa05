package disruption

import (
	"slices"
	"strings"
	"testing"

	"github.com/joiner-sh/joiner/shared/model"
)

// M90, M106: where a NodePool says so, a node is not consolidated while a pod runs there that is alone in its workload.
// It still goes when it has drifted, or when the pod has a window that is open.
func TestM90SingleReplicasAreNotMovedToSave(t *testing.T) {
	const saving = model.ReasonUnderutilized
	careful := func(p *model.Pool) { p.Annotations = map[string]string{model.AnnotationSingleReplicas: "true"} }
	always := func(s *model.PodShape) {
		s.Window = &model.PodWindow{Schedule: "* * * * *", Duration: "2m"}
	}
	job := func(s *model.PodShape) { s.OwnerKind = "Job" }
	for name, c := range map[string]struct {
		build func(w *world) *world
		pool  func(*model.Pool)
		goes  string // the reason for which node n goes; "" = it stays
	}{
		"alone":            {func(w *world) *world { return w.running("db", "n", 1) }, careful, ""},
		"not asked for":    {func(w *world) *world { return w.running("db", "n", 1) }, func(*model.Pool) {}, saving},
		"two, on one node": {func(w *world) *world { return w.running("db", "n", 2) }, careful, saving},
		"two, on two nodes": {func(w *world) *world {
			return w.running("db", "n", 1).running("db", "m", 1)
		}, careful, saving},
		"a window": {func(w *world) *world { return w.running("db", "n", 1, always) }, careful, saving},
		"a Job":    {func(w *world) *world { return w.running("db", "n", 1, job) }, careful, saving},
		"drifted": {func(w *world) *world {
			w.in.Claims[0].Drift, w.in.Claims[0].DriftUnix = "NodePoolDrifted", testNow-60
			return w.running("db", "n", 1)
		}, careful, model.ReasonDrifted},
	} {
		w := c.build(newWorld().pool("general", c.pool).node("n", "general").node("m", "general"))
		w.running("full", "m", 5)
		plan := Plan(w.in)
		for _, reason := range []string{saving, model.ReasonDrifted} {
			if got := slices.Contains(given(plan, reason), "n"); got != (c.goes == reason) {
				t.Errorf("%s: it goes as %s: %v; kept %+v", name, reason, got, plan.Kept)
			}
		}
		if c.goes == "" {
			i := slices.IndexFunc(plan.Kept, func(k model.KeptNode) bool { return k.Node == "n" })
			if i < 0 || !slices.ContainsFunc(plan.Kept[i].Reasons, func(r model.KeptReason) bool {
				return r.Code == SingleReplica && strings.Contains(r.Message, "pod default/db-n-0 would be away")
			}) {
				t.Errorf("%s: kept %+v", name, plan.Kept)
			}
		}
	}
}
