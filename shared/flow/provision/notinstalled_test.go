package provision_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// denied connects to clusters that cannot be read, as before the chart is installed: that is what gives the functions their permissions.
type denied struct{ provision.Connector }

func (d denied) Connect(ctx context.Context, reg model.Registration) (provision.Clients, error) {
	site, err := d.Connector.Connect(ctx, reg)
	site.Cluster = deniedCluster{site.Cluster}
	return site, err
}

type deniedCluster struct{ provision.Cluster }

func (deniedCluster) List(context.Context) (*model.Snapshot, error) {
	return nil, fault.New(fault.Denied, "Forbidden", "list nodes")
}

// A10: what cannot be read before the chart is installed is no failure, which would end in the dead-letter queue. It is one where a watcher has
// published the cluster, or where instances run for it.
func TestA10AClusterBeforeTheChartIsSkipped(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, w *world.World)
		fails   bool
	}{
		"attached": {func(*testing.T, *world.World) {}, false},
		"published": {func(t *testing.T, w *world.World) {
			if err := w.Publish(t.Context(), 1, 1); err != nil {
				t.Fatal(err)
			}
		}, true},
		"launched for": {func(t *testing.T, w *world.World) {
			pending(w, "web", 1, world.Shape(1500, gib))
			pass(t, w, provision.TriggerBatch)
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, world.Options{Types: []string{"m5.large"}})
			c.prepare(t, w)
			w.Tick(time.Hour) // no heartbeat is believed any more
			flow := w.Process(world.Fault{}).Flow()
			flow.Connector = denied{flow.Connector}
			outcome, err := flow.Run(t.Context(), provision.Request{Cluster: world.Name, Owner: "a", Trigger: provision.TriggerResync, Deadline: w.Clock.Now().Add(30 * time.Second)})
			if c.fails != (err != nil) || c.fails != (outcome.Skipped == "") {
				t.Errorf("%q, %v", outcome.Skipped, err)
			}
			if !c.fails && (!strings.Contains(outcome.Skipped, "chart is not installed") || !strings.Contains(outcome.Skipped, "list nodes")) {
				t.Errorf("skipped because %q", outcome.Skipped)
			}
		})
	}
}
