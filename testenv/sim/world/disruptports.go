package world

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/disrupt"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Disrupt returns the disruption function with the world behind its ports. now is the process's own clock.
func (p *Ports) Disrupt(now func() time.Time, settings disrupt.Settings) *disrupt.Flow {
	ledger, store, port := ledgerPort{p}, storePort{p}, disruptPort{p}
	return &disrupt.Flow{
		Registry: ledger, Leases: ledger, Ledger: ledger, Commands: ledger, Snapshots: store, Losses: lossPort{p}, Catalogs: cachePort{p},
		Decisions: store, Connector: port,
		RequestReplacement: port.Replace, RequestDrain: passPort{p}.Drain, RequestDisruption: port.RequestDisruption,
		Now: now, NewID: p.world.newID, Settings: settings,
	}
}

// Disrupt looks once at what the world's cluster could give back, one call at a time.
func (p *Process) Disrupt(ctx context.Context) (disrupt.Outcome, error) {
	flow := p.world.Ports(p, p.owner).Disrupt(p.world.Clock.Now, disrupt.Settings{Build: "world", Parallel: 1})
	return flow.Run(ctx, disrupt.Request{Cluster: Name, Owner: p.owner, Deadline: p.world.Clock.Now().Add(InvocationTimeout), Changed: true})
}

// RequestDisruption sends a hint to look at what can be given back that shows up after a while.
func (q PassQueue) RequestDisruption(ctx context.Context, cluster, key string, after time.Duration) error {
	return q.ask(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDisrupt, Tick: key}, after)
}

// disruptPort is what the disruption function reads and writes besides ledger and store.
type disruptPort struct{ *Ports }

func (p disruptPort) RequestDisruption(ctx context.Context, cluster, key string, after time.Duration) error {
	return do(ctx, p.Ports, "queue.judge", func() error { return p.world.DisruptHints.RequestDisruption(ctx, cluster, key, after) })
}

// Replace asks provisioning to look at commands.
func (p disruptPort) Replace(ctx context.Context, cluster, key string) error {
	return do(ctx, p.Ports, "queue.replace", func() error {
		return p.world.plan(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonReplace, Tick: key})
	})
}

// Connect opens a cluster.
func (p disruptPort) Connect(ctx context.Context, reg model.Registration) (disrupt.Clients, error) {
	return read(ctx, p.Ports, "site.connect", func() (disrupt.Clients, error) {
		p := disruptPort{p.at(reg)}
		return disrupt.Clients{Objects: p, Reporter: clusterPort(p), Alarms: p}, nil
	})
}

func (p disruptPort) ReadNode(ctx context.Context, node model.Object) (model.Occupied, error) {
	return read(ctx, p.Ports, "cluster.occupied", func() (model.Occupied, error) { return p.world.Cluster.Occupied(ctx, node) })
}

// AlarmStates reads CloudWatch.
func (p disruptPort) AlarmStates(ctx context.Context, names []string) (map[string]model.AlarmState, error) {
	return read(ctx, p.Ports, "alarms.states", func() (map[string]model.AlarmState, error) {
		return p.world.Alarms.States(names)
	})
}

func (p disruptPort) PDBs(ctx context.Context) ([]model.PDB, error) {
	return read(ctx, p.Ports, "cluster.budgets", func() ([]model.PDB, error) { return p.world.Cluster.Budgets(ctx) })
}

func (p disruptPort) PatchNode(ctx context.Context, patch model.NodePatch) error {
	return do(ctx, p.Ports, "cluster.node", func() error { return p.world.Cluster.PatchNode(ctx, patch) })
}

// newsPort is through which others tell the disruption function that something has changed.
type newsPort struct{ *Ports }

func (p newsPort) RequestDisruption(ctx context.Context, cluster, key string) error {
	return do(ctx, p.Ports, "queue.judge", func() error { return p.world.DisruptHints.RequestDisruption(ctx, cluster, key, 0) })
}

// Budgets returns every PodDisruptionBudget with how many pods it lets go now.
func (c *Cluster) Budgets(context.Context) ([]model.PDB, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list"); err != nil {
		return nil, err
	}
	out := c.budgets.all()
	for i := range out {
		out[i].DisruptionsAllowed = c.letsNow(&out[i])
	}
	return out, nil
}

// letsNow is how many pods a budget lets go now, as its status says.
func (c *Cluster) letsNow(b *model.PDB) int32 { return int32(max(0, c.allowed(b))) }

// countBudgets writes into the status of each PodDisruptionBudget how many pods it lets go now, as the controller of budgets
// does; the caller holds the mutex.
func (c *Cluster) countBudgets() {
	for _, key := range c.budgets.keys {
		before := c.budgets.get(key)
		if allowed := c.letsNow(before); allowed != before.DisruptionsAllowed {
			next := *before
			next.DisruptionsAllowed = allowed
			put(c, &c.budgets, KindBudget, key, key, "status", &next)
		}
	}
}
