package world

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/testenv/cloud/catalog"
	"github.com/joiner-sh/joiner/testenv/cloud/clock"
)

// Name of the one cluster, and the discovery tag of its network.
const Name = "world"

// Options say how a world differs from the default one.
type Options struct {
	Types      []string      // names of the instance types that can be bought; nil = every one of the sandbox catalogue
	Visibility time.Duration // how far Find lags behind Launch
	Boot       time.Duration // from launch until the node joins; 0 = 20 s
	Ready      time.Duration // from then until it is ready; 0 = 5 s
}

// World holds everything. Its parts are safe for concurrent use.
type World struct {
	Clock   *clock.Fake
	Ledger  *Ledger
	Cluster *Cluster
	Fleet   *Fleet
	Catalog *Catalog
	Store   *Store

	options Options
	ids     atomic.Int64
}

// Start is when every world begins.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// New returns a world with an attached cluster that has nothing in it.
func New(options Options) *World {
	if options.Boot == 0 {
		options.Boot = 20 * time.Second
	}
	if options.Ready == 0 {
		options.Ready = 5 * time.Second
	}
	w := &World{Clock: clock.NewFake(Start), options: options}
	w.Ledger = NewLedger(w.Clock.Now)
	w.Cluster = newCluster(w.Clock.Now)
	w.Catalog = newCatalog(w.Clock.Now, options.Types)
	w.Fleet = newFleet(w.Clock.Now, options.Visibility)
	w.Store = newStore()
	if err := w.Ledger.Register(context.Background(), Registration()); err != nil {
		panic(fmt.Sprintf("register the cluster: %v", err)) // an in-memory write of plain data
	}
	return w
}

// Registration is how the cluster is attached.
func Registration() model.Registration {
	return model.Registration{
		Cluster: Name, Account: "123456789012", Region: catalog.Region, Endpoint: "https://world.example", CA: []byte("-----BEGIN CERTIFICATE-----"),
		ServiceCIDR: "172.20.0.0/16", ClusterDNS: "172.20.0.10", Version: "1.36",
	}
}

// Tick lets d pass, a second at a time: machines join and become ready, and kube-scheduler binds what it can.
func (w *World) Tick(d time.Duration) {
	for end := w.Clock.Now().Add(d); w.Clock.Now().Before(end); {
		w.Clock.Advance(min(time.Second, end.Sub(w.Clock.Now())))
		w.boot()
		w.Cluster.schedule()
	}
}

// newID returns ids that sort by the order they were asked for in.
func (w *World) newID() string {
	return fmt.Sprintf("01WORLD%019d", w.ids.Add(1))
}

// clone copies plain data, as a store would.
func clone[T any](value T) T {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("encode %T: %v", value, err)) // plain data always can
	}
	var out T
	if err := json.Unmarshal(text, &out); err != nil {
		panic(fmt.Sprintf("decode %T: %v", value, err))
	}
	return out
}
