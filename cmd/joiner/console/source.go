package console

import (
	"context"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/explain"
	"github.com/joiner-sh/joiner/shared/model"
)

// Cluster is what is known of a cluster at one time. Whoever holds it never writes to it.
type Cluster struct {
	Name     string
	From     string           // where it is read, for people: "account 123456789012, eu-west-1"
	Live     bool             // it is read from where it changes; else from files
	State    *explain.Cluster // what a planner would be asked now; its Installation is nil where the cluster is files
	Warnings []string         // what was left out or is not known, a sentence each

	Prices      map[model.OfferingKey]model.MicroUSD // per hour, of every offering of any class
	Allocatable map[string]model.Resources           // what an instance has for pods, by instance type
}

func (c *Cluster) snapshot() *model.Snapshot { return c.State.Ask.Snapshot }

// now is the time the cluster is evaluated by, Unix seconds.
func (c *Cluster) now() int64 { return c.State.Ask.NowUnix }

// ledger returns what the ledger says; of files there is none, and claims are what they show.
func (c *Cluster) ledger() *model.Ledger {
	if c.State.Installation == nil {
		return &model.Ledger{Claims: c.State.Ask.Claims}
	}
	return &c.State.Installation.Ledger
}

// NewCluster returns the cluster of what explain knows of it.
func NewCluster(name, from string, clusterState *explain.Cluster) *Cluster {
	c := &Cluster{Name: name, From: from, Live: clusterState.Installation != nil, State: clusterState, Prices: map[model.OfferingKey]model.MicroUSD{}, Allocatable: map[string]model.Resources{}}
	catalogs := clusterState.Types
	if catalogs == nil {
		catalogs = clusterState.Ask.Catalogs
	}
	for _, class := range slices.Sorted(maps.Keys(catalogs)) {
		types := catalogs[class]
		for i := range types {
			if c.Allocatable[types[i].Name] == nil {
				c.Allocatable[types[i].Name] = types[i].Allocatable()
			}
			for _, o := range types[i].Offerings {
				key := model.OfferingKey{InstanceType: types[i].Name, Zone: o.Zone, CapacityType: o.CapacityType}
				if price, known := c.Prices[key]; !known || o.Price < price {
					c.Prices[key] = o.Price
				}
			}
		}
	}
	return c
}

// Records are what was decided, and which instances ended, in a span of time, oldest first.
type Records struct {
	Decisions   []model.Decision
	Disruptions []model.Disrupted
	Removals    []model.Removal
}

// Replayed is what came out when a decision was made once more.
type Replayed struct {
	Identical   bool     `json:"identical"`
	Recorded    string   `json:"recorded"` // the build that decided
	Build       string   `json:"build"`    // this one
	Differences []string `json:"differences"`
}

// Source is where a cluster is read from. Its methods may be called side by side.
type Source interface {
	// Read returns the cluster as it is now; the very same pointer as before where nothing has changed.
	Read(ctx context.Context) (*Cluster, error)
	// Records returns what was decided from fromUnix up to and without toUnix. Empty where nothing is kept.
	Records(ctx context.Context, fromUnix, toUnix int64) (Records, error)
}

// Replayer is a source that keeps what decisions were asked.
type Replayer interface {
	// Replay makes a decision once more from what it was asked.
	Replay(ctx context.Context, id string) (Replayed, error)
}
