package world

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/flow/catalog"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Catalog returns the flow that resolves classes with the world behind its ports. now is the process's own clock.
func (p *Ports) Catalog(now func() time.Time, settings catalog.Settings) *catalog.Flow {
	ledger := ledgerPort{p}
	return p.shifting(&catalog.Flow{
		Registry: ledger, Leases: ledger, Records: ledger, Allowances: ledger, Peeks: ledger, Connector: classPort{p},
		RequestPass: configPort{p}.RequestPass, ReportReady: configPort{p}.Ready, RequestDisruption: newsPort{p}.RequestDisruption,
		Now: now, Settings: settings,
	})
}

// Resolve makes one pass over the classes of the world's cluster.
func (p *Process) Resolve(ctx context.Context) (catalog.Outcome, error) {
	flow := p.world.Ports(p, p.owner).Catalog(p.world.Clock.Now, catalog.Settings{})
	return flow.Run(ctx, catalog.Request{Cluster: Name, Owner: p.owner, Deadline: p.world.Clock.Now().Add(InvocationTimeout)})
}

func (p ledgerPort) PutClass(ctx context.Context, cluster string, record model.ClassRecord) (model.ClassRecord, error) {
	next, err := write(ctx, p.Ports, "ledger.class", func() (model.ClassRecord, error) { return p.world.Ledger.PutClass(ctx, cluster, record) })
	if err != nil {
		return record, err
	}
	return next, nil
}

func (p ledgerPort) DeleteClass(ctx context.Context, cluster string, record model.ClassRecord) error {
	return do(ctx, p.Ports, "ledger.dropclass", func() error { return p.world.Ledger.DeleteClass(ctx, cluster, record) })
}

type configPort struct{ *Ports }

func (p configPort) RequestPass(ctx context.Context, cluster, key string) error {
	return do(ctx, p.Ports, "queue.resolve", func() error { return p.world.Configs.Resync(ctx, cluster, key) })
}

func (p configPort) Ready(ctx context.Context, cluster, key string) error {
	return do(ctx, p.Ports, "queue.ready", func() error {
		return p.world.plan(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonConfig, Tick: key})
	})
}

type classPort struct{ *Ports }

// Connect opens a cluster.
func (p classPort) Connect(ctx context.Context, reg model.Registration) (catalog.Clients, error) {
	return read(ctx, p.Ports, "site.connect", func() (catalog.Clients, error) {
		p := classPort{p.at(reg)}
		cluster := clusterPort(p)
		return catalog.Clients{Cluster: p, Claims: cluster, Reporter: cluster, Catalog: p, Profiles: p, Trials: p,
			InstanceTypes: p, Zones: p}, nil
	})
}

func (p classPort) Configuration(ctx context.Context) (model.Configuration, error) {
	return read(ctx, p.Ports, "cluster.configuration", func() (model.Configuration, error) { return p.world.Cluster.Configuration(ctx) })
}

func (p classPort) PatchClass(ctx context.Context, mark model.ClassPatch) error {
	return do(ctx, p.Ports, "cluster.mark", func() error { return p.world.Cluster.PatchClass(ctx, mark) })
}

func (p classPort) ReadLive(ctx context.Context) (model.LiveState, error) {
	return read(ctx, p.Ports, "cluster.look", func() (model.LiveState, error) { return p.world.Cluster.ReadLive(ctx) })
}

func (p classPort) Definitions(ctx context.Context) (model.Definitions, error) {
	return read(ctx, p.Ports, "cluster.definitions", func() (model.Definitions, error) { return p.world.Cluster.Definitions(ctx) })
}

func (p classPort) InstanceTypes(ctx context.Context) (model.InstanceCatalog, error) {
	return read(ctx, p.Ports, "catalog.types", func() (model.InstanceCatalog, error) { return p.world.Catalog.InstanceTypes(ctx) })
}

func (p classPort) ResolveParts(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error) {
	return read(ctx, p.Ports, "catalog.examine", func() (model.ClassStatus, error) { return p.world.Catalog.Examine(ctx, class, images) })
}

func (p classPort) EnsureProfile(ctx context.Context, profile model.InstanceProfile) error {
	return do(ctx, p.Ports, "profiles.make", func() error { return p.world.Profiles.Make(profile, p.world.Clock.Now()) })
}

func (p classPort) Profiles(ctx context.Context, prefix string) ([]model.InstanceProfile, error) {
	return read(ctx, p.Ports, "profiles.list", func() ([]model.InstanceProfile, error) { return p.world.Profiles.List(prefix), nil })
}

func (p classPort) DeleteProfile(ctx context.Context, profile model.InstanceProfile) error {
	return do(ctx, p.Ports, "profiles.delete", func() error { p.world.Profiles.Delete(profile.Name); return nil })
}

func (p classPort) PrepareRequest(ctx context.Context, launch model.Launch) ([]byte, error) {
	return fleetPort(p).PrepareRequest(ctx, launch)
}

func (p classPort) DryRunFleet(ctx context.Context, request []byte) error {
	op := Op{Process: p.process, Name: "fleet.dry", Least: p.templates.untilTried(p.world.Fleet, request)}
	_, err := pass(ctx, p.Ports, op, func() (struct{}, error) { return struct{}{}, p.world.Fleet.DryRun(request) })
	return err
}

func (p classPort) DryRun(ctx context.Context, _ model.Launch, request []byte, _ string) error {
	return p.DryRunFleet(ctx, request)
}

func (p classPort) DescribeInstances(ctx context.Context, ids []string) ([]model.Instance, error) {
	return read(ctx, p.Ports, "fleet.describe", func() ([]model.Instance, error) { return p.world.Fleet.DescribeInstances(ctx, ids) })
}

func (p classPort) DeleteTemplates(ctx context.Context, cluster, class string) error {
	return do(ctx, p.Ports, "fleet.templates", func() error { return p.world.Fleet.DeleteTemplates(ctx, cluster, class) })
}

// Examine answers as Resolve does. Where nothing can be asked every part is unknown.
func (c *Catalog) Examine(ctx context.Context, class model.Class, images []model.ImageQuery) (model.ClassStatus, error) {
	status, err := c.Resolve(ctx, class, images)
	if err != nil {
		for _, condition := range []string{"SubnetsReady", "SecurityGroupsReady", "AMIsReady", "CapacityReservationsReady", "PlacementGroupReady"} {
			status.Problems = append(status.Problems, model.ClassProblem{Condition: condition, Reason: "ResolutionFailed", Message: err.Error(), Unknown: true})
		}
	}
	return status, err
}

// Profiles are the instance profiles of the account. Every role exists.
type Profiles struct {
	mu   sync.Mutex
	made map[string]model.InstanceProfile
	at   map[string]time.Time // when each was made
}

// Make makes an instance profile where it is not there.
func (a *Profiles) Make(profile model.InstanceProfile, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, there := a.made[profile.Name]; there {
		if before.Role != profile.Role {
			return fault.New(fault.Conflict, "", "instance profile %s holds role %s", profile.Name, before.Role)
		}
		return nil
	}
	if a.made == nil {
		a.made, a.at = map[string]model.InstanceProfile{}, map[string]time.Time{}
	}
	profile.CreatedUnix = now.Unix()
	a.made[profile.Name], a.at[profile.Name] = profile, now
	return nil
}

// since returns when a profile was made; false where there is none of that name.
func (a *Profiles) since(name string) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, there := a.at[name]
	return at, there
}

// List returns those whose path begins with prefix, by name.
func (a *Profiles) List(prefix string) []model.InstanceProfile {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []model.InstanceProfile
	for _, name := range slices.Sorted(maps.Keys(a.made)) {
		if strings.HasPrefix(a.made[name].Path, prefix) {
			out = append(out, a.made[name])
		}
	}
	return out
}

// Delete takes one away.
func (a *Profiles) Delete(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.made, name)
	delete(a.at, name)
}

// Configuration returns pools and classes as they are now.
func (c *Cluster) Configuration(context.Context) (model.Configuration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("list configuration"); err != nil {
		return model.Configuration{}, err
	}
	out := model.Configuration{Pools: c.pools.all()}
	if c.defined.deleted {
		out.Undefined = append(out.Undefined, "nodepools")
		if len(c.classes.keys) == 0 {
			out.Undefined = append(out.Undefined, "ec2nodeclasses")
		}
	}
	for _, class := range c.classes.all() {
		mark := c.classPatches[class.UID]
		out.Classes = append(out.Classes, model.ClassObject{Class: class, Annotations: union(class.Annotations, mark.Annotations), Finalized: mark.Finalized})
	}
	return out, nil
}

// PatchClass puts the finalizer on a class or takes it off, and sets annotations. Without it one that is being deleted goes.
func (c *Cluster) PatchClass(_ context.Context, mark model.ClassPatch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.asked("patch class"); err != nil {
		return err
	}
	class := c.classes.get(mark.Name)
	if class == nil || class.UID != mark.UID {
		return fault.New(fault.NotFound, "", "class %s of UID %s is gone", mark.Name, mark.UID)
	}
	if c.classPatches == nil {
		c.classPatches = map[string]model.ClassPatch{}
	}
	before := c.classPatches[mark.UID]
	mark.Annotations = union(before.Annotations, mark.Annotations)
	if class.DeletedUnix != 0 {
		mark.Finalized = mark.Finalized && before.Finalized // none is put on what is being deleted
	}
	c.classPatches[mark.UID] = mark
	if class.DeletedUnix != 0 && !mark.Finalized {
		delete(c.classPatches, mark.UID)
		drop(c, &c.classes, KindClass, class.Name, class.UID)
	}
	return nil
}

// DeleteClass asks for a class's deletion: it goes at once, or once its finalizer is taken off.
func (c *Cluster) DeleteClass(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	class := c.classes.get(name)
	switch {
	case class == nil, class.DeletedUnix != 0:
	case c.classPatches[class.UID].Finalized:
		next := *class
		next.DeletedUnix = c.now().Unix()
		put(c, &c.classes, KindClass, next.Name, next.UID, "update", &next)
	default:
		drop(c, &c.classes, KindClass, name, class.UID)
	}
}

// DeleteTemplates deletes every launch template of a cluster's class.
func (f *Fleet) DeleteTemplates(_ context.Context, cluster, class string) error {
	defer f.enter()()
	if err := f.reach("DescribeLaunchTemplates"); err != nil {
		return err
	}
	for name, t := range f.templates {
		if t.cluster == cluster && t.class == class {
			delete(f.templates, name)
		}
	}
	return nil
}

// shifting has a catalog flow ask ARC, where zonal shifts are enabled.
func (p *Ports) shifting(flow *catalog.Flow) *catalog.Flow {
	if p.world.Zones.Enabled() {
		flow.Shifts = shiftPort{p}
		flow.RequestShift = shiftPort{p}.Request
	}
	return flow
}

type shiftPort struct{ *Ports }

func (p shiftPort) Request(ctx context.Context, cluster, key string, after time.Duration) error {
	return do(ctx, p.Ports, "queue.shift", func() error { return p.world.Zones.Request(ctx, cluster, key, after) })
}

func (p shiftPort) Now(ctx context.Context, cluster, key string) error {
	return p.Request(ctx, cluster, key, 0)
}

func (p classPort) ZonalShifts(ctx context.Context, reg model.Registration) (shifts []model.ZonalShift, managed bool,
	err error) {
	shifts, err = read(ctx, p.Ports, "zones.shifts", func() (shifts []model.ZonalShift, err error) {
		shifts, managed, err = p.world.Zones.ZonalShifts(ctx, reg)
		return shifts, err
	})
	return shifts, managed, err
}

func (p shiftPort) Shifts(ctx context.Context, cluster string) (model.ZonalShifts, error) {
	return read(ctx, p.Ports, "ledger.shifts", func() (model.ZonalShifts, error) {
		return ZonesLedger{p.world.Ledger}.Shifts(ctx, cluster)
	})
}

func (p shiftPort) PutShifts(ctx context.Context, cluster string, shifts model.ZonalShifts) error {
	return do(ctx, p.Ports, "ledger.putshifts", func() error { return ZonesLedger{p.world.Ledger}.PutShifts(ctx, cluster, shifts) })
}
