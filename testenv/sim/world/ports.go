package world

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/provision"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Ports is the world as one process sees it: every operation, reads too, passes the process's gate. No port embeds its
// model, so that a method that was added to a flow's port does not compile before it passes the gate too.
type Ports struct {
	world     *World
	gate      Gate
	process   string
	templates *templatesMade
}

// Ports returns the world behind a gate, for the process of that name.
func (w *World) Ports(gate Gate, process string) *Ports {
	return &Ports{world: w, gate: gate, process: process, templates: &templatesMade{}}
}

// Provision returns the flow of provisioning with the world behind its ports. now is the process's own clock.
func (p *Ports) Provision(now func() time.Time, settings provision.Settings) *provision.Flow {
	ledger, store := ledgerPort{p}, storePort{p}
	return &provision.Flow{
		Registry: ledger, Leases: ledger, Claims: ledger, ClaimStates: ledger, Unavailable: ledger, Allowances: ledger, Memory: ledger,
		Catalogs: cachePort{p}, Memories: ledger, UsageRecounts: recountPort{p}, Losses: lossPort{p},
		Decisions: store, Snapshots: store, Peeks: ledger, Connector: p,
		RequestResync: hintsPort{p}.Resync, RequestDisruption: newsPort{p}.RequestDisruption,
		Now: now, NewID: p.world.newID, Settings: settings,
	}
}

// at is the same process's view of one cluster of the account. Whoever is registered and not attached shows the first's objects.
func (p *Ports) at(reg model.Registration) *Ports {
	w := p.world.account.worlds[reg.Cluster]
	if w == nil || w == p.world {
		return p
	}
	return &Ports{world: w, gate: p.gate, process: p.process, templates: p.templates}
}

// Connect opens a cluster.
func (p *Ports) Connect(ctx context.Context, reg model.Registration) (provision.Clients, error) {
	return read(ctx, p, "site.connect", func() (provision.Clients, error) {
		p := p.at(reg)
		cluster := clusterPort{p}
		return provision.Clients{Cluster: cluster, Configurations: classPort{p}, Nominator: cluster, Standalone: cluster, Reporter: cluster, Fleet: fleetPort{p}, Templates: fleetPort{p}, Tagger: fleetPort{p}, Catalog: catalogPort{p}}, nil
	})
}

// read passes an operation that changes nothing; its answer is lost with an error.
func read[T any](ctx context.Context, p *Ports, name string, act func() (T, error)) (T, error) {
	return pass(ctx, p, Op{Process: p.process, Name: name}, act)
}

// write passes an operation that may change something; its answer is lost with an error.
func write[T any](ctx context.Context, p *Ports, name string, act func() (T, error)) (T, error) {
	return pass(ctx, p, Op{Process: p.process, Name: name, Write: true}, act)
}

// do passes a write that has no answer.
func do(ctx context.Context, p *Ports, name string, act func() error) error {
	_, err := write(ctx, p, name, func() (struct{}, error) { return struct{}{}, act() })
	return err
}

func pass[T any](ctx context.Context, p *Ports, op Op, act func() (T, error)) (T, error) {
	var answer, none T
	err := p.gate.Pass(ctx, op, func() error {
		return p.world.Log.As(op.Process, func() (err error) {
			answer, err = act()
			return err
		})
	})
	if err != nil {
		return none, err
	}
	return answer, nil
}

type ledgerPort struct{ *Ports }

func (p ledgerPort) Clusters(ctx context.Context) ([]model.Registration, error) {
	return read(ctx, p.Ports, "ledger.clusters", func() ([]model.Registration, error) { return p.world.Ledger.Clusters(ctx) })
}

func (p ledgerPort) Cluster(ctx context.Context, name string) (model.Registration, error) {
	return read(ctx, p.Ports, "ledger.cluster", func() (model.Registration, error) { return p.world.Ledger.Cluster(ctx, name) })
}

func (p ledgerPort) Load(ctx context.Context, reg model.Registration) (model.Ledger, error) {
	began := p.world.Clock.Now()
	return read(ctx, p.Ports, "ledger.load", func() (model.Ledger, error) { return p.world.Ledger.LoadSince(ctx, reg, began) })
}

func (p ledgerPort) Acquire(ctx context.Context, cluster, owner string, nowUnix, untilUnix int64) (model.Fence, error) {
	return write(ctx, p.Ports, "ledger.acquire", func() (model.Fence, error) {
		return p.world.Ledger.Acquire(ctx, cluster, owner, nowUnix, untilUnix)
	})
}

func (p ledgerPort) Release(ctx context.Context, fence model.Fence) error {
	return do(ctx, p.Ports, "ledger.release", func() error { return p.world.Ledger.Release(ctx, fence) })
}

func (p ledgerPort) Record(ctx context.Context, fence model.Fence, intent model.Intent, claims []model.Claim, limits model.Resources) error {
	return do(ctx, p.Ports, "ledger.record", func() error { return p.world.Ledger.Record(ctx, fence, intent, claims, limits) })
}

func (p ledgerPort) Calling(ctx context.Context, fence model.Fence, intent model.Intent) error {
	return do(ctx, p.Ports, "ledger.calling", func() error { return p.world.Ledger.Calling(ctx, fence, intent) })
}

func (p ledgerPort) Settle(ctx context.Context, fence model.Fence, outcome model.Settlement) error {
	return do(ctx, p.Ports, "ledger.settle", func() error { return p.world.Ledger.Settle(ctx, fence, outcome) })
}

func (p ledgerPort) Advance(ctx context.Context, cluster string, claim model.Claim) (model.Claim, error) {
	next, err := write(ctx, p.Ports, "ledger.advance", func() (model.Claim, error) { return p.world.Ledger.Advance(ctx, cluster, claim) })
	if err != nil {
		return claim, err
	}
	return next, nil
}

func (p ledgerPort) MarkUnavailable(ctx context.Context, reg model.Registration, unavailableOfferings []model.UnavailableOffering) error {
	return do(ctx, p.Ports, "ledger.mark", func() error { return p.world.Ledger.MarkUnavailable(ctx, reg, unavailableOfferings) })
}

func (p ledgerPort) TakeProbe(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering, untilUnix int64) (model.UnavailableOffering, error) {
	return write(ctx, p.Ports, "ledger.probe", func() (model.UnavailableOffering, error) {
		return p.world.Ledger.TakeProbe(ctx, reg, unavailable, untilUnix)
	})
}

func (p ledgerPort) Clear(ctx context.Context, reg model.Registration, unavailable model.UnavailableOffering) error {
	return do(ctx, p.Ports, "ledger.clear", func() error { return p.world.Ledger.Clear(ctx, reg, unavailable) })
}

func (p ledgerPort) Allowance(ctx context.Context, reg model.Registration) (model.Allowance, error) {
	return read(ctx, p.Ports, "ledger.allowance", func() (model.Allowance, error) { return p.world.Ledger.Allowance(ctx, reg) })
}

func (p ledgerPort) Spend(ctx context.Context, reg model.Registration, allowance model.Allowance) error {
	return do(ctx, p.Ports, "ledger.spend", func() error { return p.world.Ledger.Spend(ctx, reg, allowance) })
}

func (p ledgerPort) Remember(ctx context.Context, fence model.Fence, notes model.Notes) error {
	return do(ctx, p.Ports, "ledger.remember", func() error { return p.world.Ledger.Remember(ctx, fence, notes) })
}

type storePort struct{ *Ports }

func (p storePort) PutDecision(ctx context.Context, decision model.Decision) error {
	return do(ctx, p.Ports, "store.decision", func() error { return p.world.Store.PutDecision(ctx, decision) })
}

func (p storePort) SnapshotAt(ctx context.Context, manifest model.Manifest) (*model.Snapshot, error) {
	return read(ctx, p.Ports, "store.at", func() (*model.Snapshot, error) { return p.world.noteRead(p.world.Store.SnapshotAt(ctx, manifest)) })
}

type hintsPort struct{ *Ports }

func (p hintsPort) Resync(ctx context.Context, cluster, tick string) error {
	return do(ctx, p.Ports, "queue.sweep", func() error {
		return p.world.plan(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: tick})
	})
}

type clusterPort struct{ *Ports }

func (p clusterPort) List(ctx context.Context) (*model.Snapshot, error) {
	return read(ctx, p.Ports, "cluster.list", func() (*model.Snapshot, error) {
		if ago := p.world.stale; ago > 0 {
			return p.world.Cluster.ListAt(ago)
		}
		return p.world.Cluster.List(ctx)
	})
}

func (p clusterPort) Present(ctx context.Context, node string) (map[string]bool, error) {
	return read(ctx, p.Ports, "cluster.present", func() (map[string]bool, error) { return p.world.Cluster.Present(ctx, node) })
}

func (p clusterPort) StandaloneClaim(ctx context.Context, object model.Object) (model.StandaloneClaim, error) {
	return read(ctx, p.Ports, "cluster.wish", func() (model.StandaloneClaim, error) { return p.world.Cluster.StandaloneClaim(ctx, object) })
}

func (p clusterPort) PutClaim(ctx context.Context, claim model.Claim) (string, error) {
	return write(ctx, p.Ports, "cluster.show", func() (string, error) { return p.world.Cluster.PutClaim(ctx, claim) })
}

func (p clusterPort) PoolUID(ctx context.Context, name string) (string, error) {
	return read(ctx, p.Ports, "cluster.pool", func() (string, error) { return p.world.Cluster.PoolUID(ctx, name) })
}

func (p clusterPort) PatchNode(ctx context.Context, patch model.NodePatch) error {
	return do(ctx, p.Ports, "cluster.node", func() error { return p.world.Cluster.PatchNode(ctx, patch) })
}

func (p clusterPort) Report(ctx context.Context, report model.Report) error {
	return do(ctx, p.Ports, "cluster.tell", func() error { return p.world.Cluster.Report(ctx, report) })
}

type fleetPort struct{ *Ports }

func (p fleetPort) PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error) {
	return write(ctx, p.Ports, "fleet.template", func() ([]byte, error) {
		text, made, err := p.world.Fleet.request(launch)
		p.templates.note(p.world.Clock.Now(), made)
		return text, err
	})
}

// Launch tells of a request that came to EC2 twice what the SDK's caller hears: it was repeated because its first answer was lost, so that
// no refusal of the second says that nothing was launched.
func (p fleetPort) Launch(ctx context.Context, request []byte) (model.LaunchResult, error) {
	sent := 0
	op := Op{Process: p.process, Name: "fleet.launch", Write: true, Least: p.templates.untilLaunched(p.world.Fleet, request)}
	result, err := pass(ctx, p.Ports, op, func() (model.LaunchResult, error) {
		sent++
		return p.world.Fleet.Launch(ctx, request)
	})
	if fault.CodeOf(err) == codeTemplateGone {
		p.templates.missed(p.world.Fleet, request)
	}
	if err != nil && sent > 1 {
		return model.LaunchResult{}, fault.Wrap(fault.Internal, "OutcomeUnknown", err, "launch after an answer was lost")
	}
	return result, err
}

func (p fleetPort) FindInstances(ctx context.Context, intent string) ([]model.Instance, error) {
	return read(ctx, p.Ports, "fleet.find", func() ([]model.Instance, error) { return p.world.Fleet.FindInstances(ctx, intent) })
}

func (p fleetPort) Named(request []byte) ([]string, error) { return p.world.Fleet.Named(request) }

func (p fleetPort) Collect(ctx context.Context, cluster string, keep []string, beforeUnix int64, most int) (int, error) {
	return write(ctx, p.Ports, "fleet.collect", func() (int, error) { return p.world.Fleet.Collect(ctx, cluster, keep, beforeUnix, most) })
}

func (p fleetPort) Tag(ctx context.Context, id string, tags map[string]string) (bool, error) {
	return write(ctx, p.Ports, "fleet.tag", func() (bool, error) { return p.world.Fleet.Tag(ctx, id, tags) })
}

type cachePort struct{ *Ports }

func (p cachePort) RegionCatalog(ctx context.Context, reg model.Registration) (model.InstanceCatalog, error) {
	return read(ctx, p.Ports, "shelf.machines", func() (model.InstanceCatalog, error) { return p.world.RegionCatalogs.RegionCatalog(ctx, reg) })
}

func (p ledgerPort) Learn(ctx context.Context, reg model.Registration, learned model.LearnedOf) error {
	return do(ctx, p.Ports, "ledger.learn", func() error { return p.world.Ledger.Learn(ctx, reg, learned) })
}

type catalogPort struct{ *Ports }

func (p catalogPort) InstanceTypes(ctx context.Context) (model.InstanceCatalog, error) {
	return read(ctx, p.Ports, "catalog.types", func() (model.InstanceCatalog, error) { return p.world.Catalog.InstanceTypes(ctx) })
}

func (p catalogPort) CallsDue() int { return p.world.Catalog.Due() }

func (p catalogPort) Resolve(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error) {
	return read(ctx, p.Ports, "catalog.resolve", func() (model.ClassStatus, error) { return p.world.Catalog.Resolve(ctx, class, images) })
}
