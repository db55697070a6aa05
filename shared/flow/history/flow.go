package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/port"
)

// Registry knows the attached clusters.
type Registry interface {
	// Clusters lists every one, in any order.
	Clusters(ctx context.Context) ([]model.Registration, error)
}

// Snapshots are what watchers wrote. What is returned is shared and must not be written to.
type Snapshots interface {
	port.Snapshots
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
	// FindDisruption does the same of a decision about disruption.
	FindDisruption(ctx context.Context, cluster, id string) (model.Disrupted, error)
}

// Flow is the reading of history with its ports and its clock. It keeps nothing between calls.
type Flow struct {
	Registry  Registry
	Ledger    port.Ledger
	Snapshots Snapshots
	Records   Records
	Catalogs  port.RegionCatalogs

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
