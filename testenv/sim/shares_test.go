package sim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/world"
)

// A namespace asks for four hundred machines, and a minute later another one for three, which kube-scheduler would have wait behind the
// first one's older pods: they are bound two minutes later, of which machines take up to a hundred seconds to join, also where a limit
// leaves room for fewer than the first asks for.
func TestScenario20AHostileNamespaceDelaysANormalOneByLessThanAMinute(t *testing.T) {
	for name, limit := range map[string]int64{"without limits": 0, "300 nodes": 300} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := small(0, 8*time.Minute)
			c.Scenario.Workloads = nil
			if limit > 0 {
				c.Scenario.Pools[0].Limits = model.Resources{model.Nodes: limit}
			}
			asked, hostile := 0, 0
			c.Scenario.Arrange = func(w *world.World, at func(time.Duration, func())) {
				add := func(name string, pods int) {
					shape := world.Shape(1500, 1<<30)
					shape.Namespace = name
					w.Cluster.AddPods(name, pods, shape)
				}
				add("hostile", 400)
				at(time.Minute, func() { add("normal", 3) })
				at(3*time.Minute, func() {
					asked++
					for _, key := range w.Cluster.Waiting() {
						if strings.HasPrefix(key, "normal/") {
							t.Errorf("%s waits after two minutes", key)
						} else {
							hostile++
						}
					}
				})
			}
			play(t, c)
			if asked != 1 || hostile == 0 {
				t.Errorf("asked %d times; %d of hostile's pods wait: nothing was scarce", asked, hostile)
			}
		})
	}
}
