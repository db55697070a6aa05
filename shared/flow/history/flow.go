package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Registry knows the attached clusters.
type Registry interface {
	// Clusters lists every one, in any order.
	Clusters(ctx context.Context) ([]model.Registration, error)
}

// Ledger is read as it is now.
type Ledger interface {
	Load(ctx context.Context, reg model.Registration) (model.Ledger, error)
}

// Snapshots are what watchers wrote. What is returned is shared and must not be written to.
type Snapshots interface {
	// SnapshotAt returns the snapshot of a manifest, or a later one of the same full snapshot. NotFound where an object it names is missing.
	SnapshotAt(ctx context.Context, manifest model.Manifest) (*model.Snapshot, error)
	// ManifestAsOf returns where the newest snapshot of a past time is. NotFound where none of then is kept.
	ManifestAsOf(ctx context.Context, cluster string, atUnix int64) (model.Manifest, error)
}

// Records are of decisions and of instances' ends. Spans are from fromUnix up to and without toUnix; lists are by time.
type Records interface {
	Decisions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Decision, error)
	Disruptions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Disrupted, error)
	Removals(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Removal, error)
	// FindDecision reads one with what it was asked. NotFound where there is none.
	FindDecision(ctx context.Context, cluster, id string) (model.Decision, error)
}

// Disruptions are the disruption function's records, one by one.
type Disruptions interface {
	// FindDisruption reads one with what it was asked. NotFound where there is none.
	FindDisruption(ctx context.Context, cluster, id string) (model.Disrupted, error)
}

// Catalogs is what regions sell.
type Catalogs interface {
	// RegionCatalog returns the catalog of the registration's account and region. NotFound where nobody has stored one.
	RegionCatalog(ctx context.Context, reg model.Registration) (model.InstanceCatalog, error)
}

// Flow is the reading of history with its ports and its clock. It keeps nothing between calls.
type Flow struct {
	Registry    Registry
	Ledger      Ledger
	Snapshots   Snapshots
	Records     Records
	Disruptions Disruptions
	Catalogs    Catalogs

	// Switch returns what the installation's stop switch says: "" or go, disruption, everything. nil = it says nothing.
	Switch func(ctx context.Context) (string, error)
	Now    func() time.Time
}

// Query is what is asked about.
type Query struct {
	AtUnix int64 // 0 = now
	// Window is how far back decisions are read, in seconds: 3 h; removals as far: see Removals.
	Window int64
	// Removals is how far back removals are read, in seconds; 0 = none are.
	Removals int64
}

const (
	windowSeconds = 3 * 3600
	pastSeconds   = 60 // a time that is longer ago than this is past
)

// Registration returns the registration of a cluster; of the only one there is where the name is empty. NotFound, with the names there are,
// where it is not attached; Invalid where a name is needed.
func (f *Flow) Registration(ctx context.Context, name string) (model.Registration, error) {
	all, err := f.Registry.Clusters(ctx)
	var names []string
	for _, reg := range all {
		if reg.Cluster == name || err == nil && name == "" && len(all) == 1 {
			return reg, nil
		}
		names = append(names, reg.Cluster)
	}
	if err != nil {
		return model.Registration{}, fmt.Errorf("list attached clusters: %w", err)
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		return model.Registration{}, fault.New(fault.NotFound, "NoCluster", "no cluster is attached")
	case name == "":
		return model.Registration{}, fault.New(fault.Invalid, "WhichCluster", "several clusters are attached: name one of %s", strings.Join(names, ", "))
	}
	return model.Registration{}, fault.New(fault.NotFound, "NoCluster", "cluster %q is not attached; there is %s", name, strings.Join(names, ", "))
}

// ReadCluster reads the cluster as it is, or as it was.
func (f *Flow) ReadCluster(ctx context.Context, reg model.Registration, query Query) (*explain.Cluster, error) {
	ledger, err := f.Ledger.Load(ctx, reg)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of cluster %s: %w", reg.Cluster, err)
	}
	now := ledger.NowUnix
	if now == 0 {
		now = f.Now().Unix()
	}
	installation := &explain.Installation{Registration: reg, Ledger: ledger}
	at := now
	if query.AtUnix != 0 && query.AtUnix < now-pastSeconds {
		at, installation.Past = query.AtUnix, true
	}
	if err := f.records(ctx, reg, query, at, now, installation); err != nil {
		return nil, err
	}
	if f.Switch != nil && !installation.Past {
		if installation.Switch, err = f.Switch(ctx); err != nil && !fault.Is(err, fault.NotFound) {
			return nil, fmt.Errorf("read the stop switch: %w", err)
		}
	}
	manifest := ledger.Manifest
	if installation.Past {
		was, err := f.Snapshots.ManifestAsOf(ctx, reg.Cluster, at)
		if err != nil {
			return nil, err
		}
		manifest = &was
	}
	if manifest == nil && ledger.ManifestFault != "" {
		return nil, fault.New(fault.Invalid, "PointerRefused", "the snapshot of cluster %s is not read: %s", reg.Cluster, ledger.ManifestFault)
	}
	if manifest == nil || manifest.SnapshotKey == "" {
		return nil, fault.New(fault.NotFound, "NoSnapshot", "no watcher has published cluster %s yet, and answers need its snapshot; see joiner doctor %s", reg.Cluster, reg.Cluster)
	}
	snapshot, err := f.Snapshots.SnapshotAt(ctx, *manifest)
	if err != nil {
		return nil, err
	}
	last, err := f.lastInput(ctx, reg, installation)
	if err != nil {
		return nil, err
	}
	instanceTypes, err := f.instanceTypes(ctx, reg, last)
	if err != nil {
		return nil, err
	}
	input, plan := ask(plannerInput(reg, installation, last, snapshot, at), headroom.WithPlaceholders(snapshot), instanceTypes)
	return &explain.Cluster{Ask: input, Plan: &plan, Installation: installation}, nil
}

// instanceTypes returns what the region sells: what the catalog function stored, or else what the last decision's planner read by itself;
// nil where neither is known.
func (f *Flow) instanceTypes(ctx context.Context, reg model.Registration, last *lastInput) ([]model.InstanceTypeInfo, error) {
	catalog, err := f.Catalogs.RegionCatalog(ctx, reg)
	switch {
	case err == nil:
		return catalog.Types, nil
	case !fault.Is(err, fault.NotFound):
		return nil, err
	case last == nil || last.input == nil || len(last.input.Catalog) == 0:
		return nil, nil
	}
	read, err := wire.DecodeCatalog(last.input.Catalog)
	if err != nil {
		return nil, err
	}
	return read.Types, nil
}

// records reads what is recorded of the time before.
func (f *Flow) records(ctx context.Context, reg model.Registration, query Query, at, now int64, installation *explain.Installation) error {
	back := query.Window
	if back == 0 {
		back = windowSeconds
	}
	var err error
	if installation.Decisions, err = f.Records.Decisions(ctx, reg.Cluster, at-back, at+1); err != nil {
		return fmt.Errorf("read decisions of cluster %s: %w", reg.Cluster, err)
	}
	if query.Removals > 0 {
		if installation.Removals, err = f.Records.Removals(ctx, reg.Cluster, at-query.Removals, now+1); err != nil {
			return fmt.Errorf("read removals of cluster %s: %w", reg.Cluster, err)
		}
	}
	return nil
}
