package world

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/interruption"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Interruption returns the flow that ends instances with the world behind its ports. now is the process's own clock.
func (p *Ports) Interruption(now func() time.Time, settings interruption.Settings) *interruption.Flow {
	ledger, passes := ledgerPort{p}, passPort{p}
	var shift port.Hint
	if p.world.Zones.Enabled() {
		shift = shiftPort{p}.Now
	}
	return &interruption.Flow{
		Registry: ledger, Leases: ledger, Collector: ledger, Claims: ledger, Removals: storePort{p}, Peeks: ledger, Connector: collectPort{p},
		Finder: ledger, Steps: ledger, Unavailable: ledger,
		RequestPlan: passes.Plan, RequestDrain: passes.Drain, RequestPass: passes.RequestPass,
		RequestDisruption: newsPort{p}.RequestDisruption, RequestShift: shift,
		Now: now, Settings: settings,
	}
}

// Collect runs the flow that ends instances once for the world's cluster.
func (p *Process) Collect(ctx context.Context) (interruption.Outcome, error) {
	flow := p.world.Ports(p, p.owner).Interruption(p.world.Clock.Now, interruption.Settings{})
	return flow.Run(ctx, interruption.Request{Cluster: Name, Owner: p.owner, Deadline: p.world.Clock.Now().Add(InvocationTimeout)})
}

func (p ledgerPort) AcquireLease(ctx context.Context, cluster, lease, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	return write(ctx, p.Ports, "ledger.hold", func() (model.Fence, error) {
		return p.world.Ledger.AcquireLease(ctx, cluster, lease, owner, nowUnix, untilUnix)
	})
}

func (p ledgerPort) Records(ctx context.Context, reg model.Registration) (model.ClusterRecords, error) {
	began := p.world.Clock.Now()
	return read(ctx, p.Ports, "ledger.survey", func() (model.ClusterRecords, error) { return p.world.Ledger.RecordsSince(ctx, reg, began) })
}

func (p ledgerPort) Ending(ctx context.Context, reg model.Registration) (model.DrainInput, error) {
	began := p.world.Clock.Now()
	return read(ctx, p.Ports, "ledger.ending", func() (model.DrainInput, error) { return p.world.Ledger.EndingSince(ctx, reg, began) })
}

func (p ledgerPort) PutCollectorState(ctx context.Context, fence model.Fence, collector model.CollectorState) (model.CollectorState, error) {
	return write(ctx, p.Ports, "ledger.note", func() (model.CollectorState, error) { return p.world.Ledger.PutCollectorState(ctx, fence, collector) })
}

func (p ledgerPort) CloseClaim(ctx context.Context, fence model.Fence, claim model.Claim, atUnix int64) error {
	return do(ctx, p.Ports, "ledger.close", func() error { return p.world.Ledger.CloseClaim(ctx, fence, claim, atUnix) })
}

func (p ledgerPort) Adopt(ctx context.Context, fence model.Fence, claim model.Claim) error {
	return do(ctx, p.Ports, "ledger.adopt", func() error { return p.world.Ledger.Adopt(ctx, fence, claim) })
}

type passPort struct{ *Ports }

func (p passPort) RequestPass(ctx context.Context, cluster, key string, after time.Duration) error {
	return do(ctx, p.Ports, "queue.look", func() error { return p.world.Passes.RequestPass(ctx, cluster, key, after) })
}

// Plan asks provisioning for a look.
func (p passPort) Plan(ctx context.Context, cluster, key string) error {
	return do(ctx, p.Ports, "queue.plan", func() error {
		return p.world.plan(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonLeaving, Tick: key})
	})
}

func (p passPort) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	return do(ctx, p.Ports, "queue.drain", func() error { return p.world.Passes.Drain(ctx, cluster, key, after) })
}

// found is what ByInstance answers.
type found struct {
	claims  []model.FoundClaim
	nowUnix int64
}

func (p ledgerPort) ByInstance(ctx context.Context, ids []string) ([]model.FoundClaim, int64, error) {
	out, err := read(ctx, p.Ports, "ledger.byinstance", func() (found, error) {
		claims, nowUnix, err := p.world.Ledger.ByInstance(ctx, ids)
		return found{claims, nowUnix}, err
	})
	return out.claims, out.nowUnix, err
}

type collectPort struct{ *Ports }

// Connect opens a cluster.
func (p collectPort) Connect(ctx context.Context, reg model.Registration) (interruption.Clients, error) {
	return read(ctx, p.Ports, "site.connect", func() (interruption.Clients, error) {
		p := collectPort{p.at(reg)}
		return interruption.Clients{Cluster: p, Objects: p, Pods: p, Reporter: p, Fleet: p, Health: p}, nil
	})
}

func (p collectPort) ReadLive(ctx context.Context) (model.LiveState, error) {
	var seen model.LiveState
	live, err := read(ctx, p.Ports, "cluster.look", func() (_ model.LiveState, err error) {
		seen, err = p.world.Cluster.ReadLive(ctx)
		if ago := p.world.stale; ago > 0 && err == nil {
			if then := p.world.Cluster.readLiveAt(ago); then.Version < p.world.Ledger.seenVersion(p.world.Cluster.name) {
				seen = then
			}
		}
		return seen, err
	})
	if fault.CodeOf(err) == model.CodeUndefined { // the one error beside which there is an answer
		return seen, err
	}
	return live, err
}

func (p collectPort) Definitions(ctx context.Context) (model.Definitions, error) {
	return read(ctx, p.Ports, "cluster.definitions", func() (model.Definitions, error) { return p.world.Cluster.Definitions(ctx) })
}

func (p collectPort) Runs(ctx context.Context, node string) (bool, error) {
	return read(ctx, p.Ports, "cluster.runs", func() (bool, error) { return p.world.Cluster.Runs(ctx, node) })
}

func (p collectPort) Remove(ctx context.Context, kind string, object model.Object) error {
	return do(ctx, p.Ports, "cluster.remove", func() error { return p.world.Cluster.Remove(ctx, kind, object) })
}

func (p collectPort) ReadNode(ctx context.Context, node model.Object) (model.Occupied, error) {
	return read(ctx, p.Ports, "cluster.occupied", func() (model.Occupied, error) { return p.world.Cluster.Occupied(ctx, node) })
}

func (p collectPort) ReadNodes(ctx context.Context, nodes []model.Object) (map[string]model.Occupied, error) {
	return read(ctx, p.Ports, "cluster.occupiedall", func() (map[string]model.Occupied, error) { return p.world.Cluster.OccupiedAll(ctx, nodes) })
}

func (p collectPort) PatchNode(ctx context.Context, patch model.NodePatch) error {
	return do(ctx, p.Ports, "cluster.node", func() error { return p.world.Cluster.PatchNode(ctx, patch) })
}

func (p collectPort) UpdateTermination(ctx context.Context, claim model.Claim) error {
	return do(ctx, p.Ports, "cluster.showend", func() error { return p.world.Cluster.ShowEnd(ctx, claim) })
}

func (p collectPort) Free(ctx context.Context, kind string, object model.Object) (bool, error) {
	return write(ctx, p.Ports, "cluster.free", func() (bool, error) { return p.world.Cluster.Free(ctx, kind, object) })
}

func (p collectPort) Evict(ctx context.Context, pod model.PodRef) error {
	return do(ctx, p.Ports, "cluster.evict", func() error { return Leaving{p.world.Cluster}.Evict(ctx, pod) })
}

func (p collectPort) Delete(ctx context.Context, pod model.PodRef, graceSeconds int64) error {
	return do(ctx, p.Ports, "cluster.delete", func() error { return Leaving{p.world.Cluster}.Delete(ctx, pod, graceSeconds) })
}

func (p collectPort) Report(ctx context.Context, report model.Report) error {
	return do(ctx, p.Ports, "cluster.tell", func() error { return p.world.Cluster.Report(ctx, report) })
}

func (p collectPort) Interrupted(ctx context.Context, cluster string) ([]model.SpotInterruption, error) {
	return read(ctx, p.Ports, "fleet.interrupted", func() ([]model.SpotInterruption, error) { return p.world.Fleet.Interrupted(ctx, cluster) })
}

func (p collectPort) Impaired(ctx context.Context) ([]model.Impairment, error) {
	return read(ctx, p.Ports, "fleet.impaired", func() ([]model.Impairment, error) { return p.world.Fleet.Impaired(ctx) })
}

func (p collectPort) Owned(ctx context.Context, cluster string) ([]model.Instance, error) {
	return read(ctx, p.Ports, "fleet.owned", func() ([]model.Instance, error) { return p.world.Fleet.Owned(ctx, cluster) })
}

func (p collectPort) DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error) {
	return read(ctx, p.Ports, "fleet.describe", func() ([]model.Instance, error) { return p.world.Fleet.DescribeInstances(ctx, ids) })
}

func (p collectPort) Terminate(ctx context.Context, cluster string, ids []string) ([]string, error) {
	return write(ctx, p.Ports, "fleet.terminate", func() ([]string, error) { return p.world.Fleet.Terminate(ctx, cluster, ids) })
}

// ReadLive returns nodes and NodeClaim objects.
func (c *Cluster) ReadLive(context.Context) (model.LiveState, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list"); err != nil {
		return model.LiveState{}, err
	}
	if c.defined.deleted && len(c.claims.keys) == 0 {
		return model.LiveState{Version: c.version, Nodes: c.nodes.all(), Undefined: true}, fault.New(fault.NotFound, model.CodeUndefined, "NodeClaims are not defined")
	}
	live := model.LiveState{Version: c.version, Nodes: c.nodes.all(), Objects: claimObjects(c.claims.all()), Pools: []string{},
		Waits: map[string]model.PoolWaits{}}
	for _, pool := range c.pools.all() {
		if pool.Annotations[model.AnnotationGentleExpiry] == "true" {
			live.Gentle = append(live.Gentle, pool.Name)
		}
		if waits := model.WaitsOf(pool.Annotations); waits != (model.PoolWaits{}) {
			live.Waits[pool.Name] = waits
		}
		if pool.DeletedUnix == 0 {
			live.Pools = append(live.Pools, pool.Name)
		}
	}
	return live, nil
}

// readLiveAt is Look at an API server that has fallen back to what was so long ago. A list is of now (Kubernetes API concepts, resource
// versions), but where an API server was restored; whoever remembers what it showed before knows of that.
func (c *Cluster) readLiveAt(ago time.Duration) model.LiveState {
	c.mu.Lock()
	defer c.mu.Unlock()
	then := c.now().Add(-ago)
	rows := c.rowsAt(then)
	live := model.LiveState{Version: c.versionAt(then), Nodes: sorted[model.Node](rows[KindNode]), Objects: claimObjects(sorted[NodeClaim](rows[KindNodeClaim])), Pools: []string{},
		Waits: map[string]model.PoolWaits{}}
	for _, pool := range sorted[model.Pool](rows[KindPool]) {
		if pool.Annotations[model.AnnotationGentleExpiry] == "true" {
			live.Gentle = append(live.Gentle, pool.Name)
		}
		if waits := model.WaitsOf(pool.Annotations); waits != (model.PoolWaits{}) {
			live.Waits[pool.Name] = waits
		}
		if pool.DeletedUnix == 0 {
			live.Pools = append(live.Pools, pool.Name)
		}
	}
	return live
}

func claimObjects(claims []NodeClaim) []model.ClaimObject {
	var out []model.ClaimObject
	for _, object := range claims {
		claim := object.Claim
		// What an object does not show.
		claim.ObjectUID, claim.Reserved, claim.Pods, claim.Intent, claim.Price, claim.InstanceID = object.UID, nil, nil, "", 0, ""
		claim.Drain = nil
		out = append(out, model.ClaimObject{
			Claim: claim, DeletedUnix: object.DeletedUnix, CreatedUnix: object.CreatedUnix, Finalizer: object.Finalizer, DeadlineUnix: object.DeadlineUnix,
		})
	}
	return out
}

// Runs reports whether a node carries pods that have not ended and are no daemons.
func (c *Cluster) Runs(_ context.Context, node string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list"); err != nil {
		return false, err
	}
	for _, key := range c.pods.keys {
		if pod := c.pods.get(key); pod.NodeName == node && !pod.Terminal() && c.shapes[pod.Shape].OwnerKind != KindDaemons {
			return true, nil
		}
	}
	return false, nil
}

// PassQueue is a standard queue of hints to look at clusters and to go on with their drains.
type PassQueue struct{ *Queue }

// RequestPass sends a hint that shows up after a while.
func (q PassQueue) RequestPass(ctx context.Context, cluster, key string, after time.Duration) error {
	return q.ask(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: key}, after)
}

// Drain sends a hint to go on with drains that shows up after a while.
func (q PassQueue) Drain(ctx context.Context, cluster, key string, after time.Duration) error {
	return q.ask(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonDrain, Tick: key}, after)
}

func (q PassQueue) ask(ctx context.Context, hint wire.Hint, after time.Duration) error {
	body, err := wire.EncodeHint(hint)
	if err != nil {
		return err
	}
	_, err = q.Send(ctx, Outgoing{Body: string(body), Delay: after})
	return err
}
