package history

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

const (
	windowSeconds = 3 * 3600
	pastSeconds   = 60 // a time that is longer ago than this is past
)

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
