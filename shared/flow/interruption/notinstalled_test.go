package interruption_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// denied connects to clusters that cannot be read, as before the chart is installed: that is what gives the functions their permissions.
type denied struct {
	port.Connector[interruption.Clients]
}

func (d denied) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	site, err := d.Connector.Connect(ctx, reg)
	site.Cluster = deniedCluster{site.Cluster}
	return site, err
}

type deniedCluster struct{ interruption.Cluster }

func (deniedCluster) ReadLive(context.Context) (model.LiveState, error) {
	return model.LiveState{}, fault.New(fault.Denied, "Forbidden", "list nodes")
}

// A10: what cannot be read before the chart is installed is no failure, which would end in the dead-letter queue. It is one where a watcher has
// published the cluster, or where instances run for it.
func TestA10AClusterBeforeTheChartIsSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		start func(t *testing.T) *world.World
		fails bool
	}{
		"attached": {func(t *testing.T) *world.World { return start(t, world.Options{}) }, false},
		"published": {func(t *testing.T) *world.World {
			w := start(t, world.Options{})
			if err := w.Publish(t.Context(), 1, 1); err != nil {
				t.Fatal(err)
			}
			return w
		}, true},
		"launched for": {func(t *testing.T) *world.World { return settled(t, 1, world.Options{}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.start(t)
			flow := w.Ports(w.Process(world.Fault{}), "collector").Interruption(w.Clock.Now, interruption.Settings{})
			flow.Connector = denied{flow.Connector}
			outcome, err := flow.Run(t.Context(), interruption.Request{Cluster: world.Name, Owner: "a", Deadline: w.Clock.Now().Add(30 * time.Second)})
			if c.fails != (err != nil) || c.fails != (outcome.Skipped == "") {
				t.Errorf("%q, %v", outcome.Skipped, err)
			}
			if !c.fails && (!strings.Contains(outcome.Skipped, "chart is not installed") || !strings.Contains(outcome.Skipped, "list nodes")) {
				t.Errorf("skipped because %q", outcome.Skipped)
			}
		})
	}
}
