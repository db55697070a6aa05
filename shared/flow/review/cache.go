package review

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/joiner-sh/joiner/shared/core/admit"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Cache keeps of a cluster what reviews look at, as changes tell it. It may be used from many goroutines.
type Cache struct {
	ready func() bool // whether all there is was reported

	mu      sync.Mutex
	pools   map[string]model.Pool
	classes map[string]model.Class
	budgets map[string]model.PDB // by namespace/name
	nodes   map[string]string    // pool by node, of nodes of pools
}

// NewCache returns an empty cache; ready says whether everything there is was reported to it.
func NewCache(ready func() bool) *Cache {
	return &Cache{
		ready: ready, pools: map[string]model.Pool{}, classes: map[string]model.Class{}, budgets: map[string]model.PDB{}, nodes: map[string]string{},
	}
}

// Observe takes a change. It keeps what it points to and never writes to it.
func (s *Cache) Observe(c wire.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case c.Pool != nil:
		keep(s.pools, c.Deleted, c.Pool.Name, *c.Pool)
	case c.Class != nil:
		keep(s.classes, c.Deleted, c.Class.Name, *c.Class)
	case c.Budget != nil:
		keep(s.budgets, c.Deleted, c.Budget.Namespace+"/"+c.Budget.Name, *c.Budget)
	case c.Node != nil:
		pool := c.Node.Pool()
		keep(s.nodes, c.Deleted || pool == "", c.Node.Name, pool)
	}
}

func keep[T any](rows map[string]T, deleted bool, key string, row T) {
	if deleted {
		delete(rows, key)
	} else {
		rows[key] = row
	}
}

// CopyTo fills in pools, classes and budgets by name, and how many nodes each pool has; false while not everything was reported.
func (s *Cache) CopyTo(into *admit.Facts) bool {
	if !s.ready() {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	into.Pools = slices.SortedFunc(maps.Values(s.pools), func(a, b model.Pool) int { return strings.Compare(a.Name, b.Name) })
	into.Classes = slices.SortedFunc(maps.Values(s.classes), func(a, b model.Class) int { return strings.Compare(a.Name, b.Name) })
	for _, key := range slices.Sorted(maps.Keys(s.budgets)) {
		into.Budgets = append(into.Budgets, s.budgets[key])
	}
	into.Nodes = make(map[string]int)
	for _, pool := range s.nodes { // counted, whatever the order
		into.Nodes[pool]++
	}
	return true
}
