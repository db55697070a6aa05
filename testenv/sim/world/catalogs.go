package world

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Cache is where instance catalogs lie for every function, one for each account and region.
type Cache struct {
	now func() time.Time

	mu       sync.Mutex
	items    map[string]*shelved
	versions map[string][]byte // all there were
	writes   int
	outage   time.Time // until then nothing gets through
}

type shelved struct {
	data     []byte // as package wire writes it
	revision string
	kept     *model.InstanceCatalog // what data says, shared by all that only read; nil = nobody asked yet
}

// NewCache returns an empty shelf.
func NewCache(now func() time.Time) *Cache {
	return &Cache{now: now, items: map[string]*shelved{}, versions: map[string][]byte{}}
}

// RegionCatalog returns the catalog of the registration's account and region. It is shared.
func (s *Cache) RegionCatalog(_ context.Context, reg model.Registration) (model.InstanceCatalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, err := s.item(reg)
	if err != nil {
		return model.InstanceCatalog{}, err
	}
	if item.kept == nil {
		if item.kept, err = wire.DecodeCatalog(item.data); err != nil {
			return model.InstanceCatalog{}, err
		}
	}
	return *item.kept, nil
}

// item returns what is stored for the registration's account and region.
func (s *Cache) item(reg model.Registration) (*shelved, error) {
	if s.now().Before(s.outage) {
		return nil, unreachable()
	}
	item, found := s.items[scope(reg)]
	if !found {
		return nil, fault.New(fault.NotFound, "NoSuchKey", "there is no machine catalogue of %s", scope(reg))
	}
	return item, nil
}

// Read returns the catalog of the registration's account and region, and its revision.
func (s *Cache) Read(_ context.Context, reg model.Registration) (model.InstanceCatalog, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, err := s.item(reg)
	if err != nil {
		return model.InstanceCatalog{}, "", err
	}
	catalog, err := wire.DecodeCatalog(item.data)
	if err != nil {
		return model.InstanceCatalog{}, item.revision, err
	}
	return *catalog, item.revision, nil
}

// Write replaces the catalog on condition of its revision.
func (s *Cache) Write(_ context.Context, reg model.Registration, catalog model.InstanceCatalog, revision string) error {
	data, err := wire.EncodeCatalog(&catalog)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now().Before(s.outage) {
		return unreachable()
	}
	stored := ""
	if item := s.items[scope(reg)]; item != nil {
		stored = item.revision
	}
	if stored != revision {
		return fault.New(fault.Conflict, "PreconditionFailed", "the catalogue of %s is at revision %q, not %q", scope(reg), stored, revision)
	}
	s.writes++
	s.items[scope(reg)] = &shelved{data: data, revision: strconv.Itoa(s.writes)}
	s.versions[versionKey(reg.Account, reg.Region, catalog.Version)] = data
	return nil
}

// Spoil replaces what is stored by something nobody can read.
func (s *Cache) Spoil(reg model.Registration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	s.items[scope(reg)] = &shelved{data: []byte("spoilt"), revision: strconv.Itoa(s.writes)}
}

// Unreachable lets no call through until a time.
func (s *Cache) Unreachable(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = until
}
