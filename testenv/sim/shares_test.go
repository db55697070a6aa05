package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// M2, M22, M28: a namespace asks for 1,500 instances, and a minute later another one for three, which kube-scheduler
// would have wait behind the first one's older pods: with instances that join within 30 s they are bound 60 s later,
// also where a limit leaves room for 300.
func TestScenario20ThreePodsBeside1500OfAnotherNamespaceAreBoundWithinAMinute(t *testing.T) {
	for name, limit := range map[string]int64{"without limits": 0, "300 nodes": 300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := small(0, 4*time.Minute)
			c.Scenario.Workloads = nil
			c.Scenario.Boot = world.Span{Min: 20 * time.Second, Max: 30 * time.Second}
			if limit > 0 {
				c.Scenario.Pools[0].Limits = model.Resources{model.Nodes: limit}
			}
			waiting := map[string]int{}
			count := func(w *world.World) {
				clear(waiting)
				for _, key := range w.Cluster.Waiting() {
					namespace, _, _ := strings.Cut(key, "/")
					waiting[namespace]++
				}
			}
			checks := 0
			c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
				add := func(name string, pods int) {
					shape := world.Shape(1500, 1<<30)
					shape.Namespace = name
					w.Cluster.AddPods(name, pods, shape)
				}
				add("hostile", 1500)
				at(time.Minute, func() {
					if instances := int64(len(w.Fleet.Instances())); limit > 0 && instances >= limit {
						t.Errorf("hostile has %d machines after a minute: the limit leaves nothing to deal", instances)
					}
					add("normal", 3)
				})
				at(2*time.Minute, func() {
					checks++
					if count(w); waiting["normal"] != 0 {
						t.Errorf("%d of normal's three pods wait after a minute, beside %d of hostile's", waiting["normal"], waiting["hostile"])
					}
					if waiting["hostile"] < 500 {
						t.Errorf("%d of hostile's pods wait: nothing was scarce", waiting["hostile"])
					}
				})
			}
			play(t, c)
			if checks != 1 {
				t.Errorf("looked %d times", checks)
			}
		})
	}
}
