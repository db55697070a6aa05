package world

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// PutDecision keeps a decision, as it is written down.
func (s *Store) PutDecision(_ context.Context, decision model.Decision) error {
	s.touch(decision.Cluster, "decision")
	return keepRecord(s, s.decisions, decision.ID, decision)
}

// Decision returns a kept decision; false where there is none.
func (s *Store) Decision(id string) (model.Decision, bool) {
	return keptRecord[model.Decision](s, s.decisions, id)
}

// Decisions returns every decision that was kept, by id.
func (s *Store) Decisions() []model.Decision { return allRecords[model.Decision](s, s.decisions) }

// PutDisruption keeps a decision about giving back, as it is written down.
func (s *Store) PutDisruption(_ context.Context, decision model.Disrupted) error {
	s.touch(decision.Cluster, "decision")
	return keepRecord(s, s.disrupted, decision.ID, decision)
}

// Disruption returns a kept decision about giving back; false where there is none.
func (s *Store) Disruption(id string) (model.Disrupted, bool) {
	return keptRecord[model.Disrupted](s, s.disrupted, id)
}

// Disruptions returns every decision about giving back that was kept, by id.
func (s *Store) Disruptions() []model.Disrupted { return allRecords[model.Disrupted](s, s.disrupted) }

// PutRemoval keeps the record of an instance's end, as it is written down.
func (s *Store) PutRemoval(_ context.Context, removal model.Removal) error {
	return keepRecord(s, s.removals, removal.Claim.Name, removal)
}

// AddRemoval is PutRemoval where there is none of that claim.
func (s *Store) AddRemoval(ctx context.Context, removal model.Removal) error {
	unlock, err := s.enter()
	_, there := s.removals[removal.Claim.Name]
	unlock()
	if err != nil || there {
		return err
	}
	return s.PutRemoval(ctx, removal)
}

// Removals returns the record of every instance's end that was kept, by claim.
func (s *Store) Removals() []model.Removal { return allRecords[model.Removal](s, s.removals) }

func keepRecord(s *Store, records map[string][]byte, id string, record any) error {
	text, err := json.Marshal(record)
	if err != nil {
		return fault.Wrap(fault.Invalid, "", err, "encode record %s", id)
	}
	unlock, err := s.enter()
	defer unlock()
	if err == nil {
		records[id] = text
	}
	return err
}

func keptRecord[T any](s *Store, records map[string][]byte, id string) (record T, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, known := records[id]
	if known {
		mustDecode(text, &record)
	}
	return record, known
}

func allRecords[T any](s *Store, records map[string][]byte) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]T, 0, len(records))
	for _, id := range slices.Sorted(maps.Keys(records)) {
		var record T
		mustDecode(records[id], &record)
		out = append(out, record)
	}
	return out
}

func mustDecode(text []byte, record any) {
	if err := json.Unmarshal(text, record); err != nil {
		panic(fmt.Sprintf("a record cannot be read again: %v", err))
	}
}

// Catalogs are where what recorded decisions went by is found, for as long as the world lasts.
func (w *World) Catalogs() replay.Sources {
	return replay.Sources{Snapshot: w.Store.archived, Catalog: w.RegionCatalogs.Version}
}

// archived returns the snapshot a manifest names, whatever was forgotten since. NotFound where there never was one.
func (s *Store) archived(manifest model.Manifest) (*model.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object := func(key string) ([]byte, error) {
		data, known := s.archive[key]
		if !known {
			return nil, fault.New(fault.NotFound, "NoSuchKey", "no object %s", key)
		}
		return data, nil
	}
	data, err := object(manifest.SnapshotKey)
	if err != nil {
		return nil, err
	}
	snapshot, err := wire.DecodeSnapshot(data)
	if err != nil {
		return nil, err
	}
	var deltas []*wire.Delta
	for seq := manifest.SnapshotSeq + 1; seq <= manifest.HeadSeq; seq++ {
		data, err := object(deltaKey(manifest.Cluster, manifest.Epoch, seq))
		if err != nil {
			return nil, err
		}
		delta, err := wire.DecodeDelta(data)
		if err != nil {
			return nil, err
		}
		deltas = append(deltas, delta)
	}
	return wire.Apply(snapshot, deltas...)
}

// Version returns a version of a catalog that once was on the shelf. NotFound where there was none.
func (s *Cache) Version(account, region, version string) (*model.InstanceCatalog, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, known := s.versions[versionKey(account, region, version)]
	if !known {
		return nil, fault.New(fault.NotFound, "NoSuchKey", "there is no version %s of the machine catalogue of %s/%s", version, account, region)
	}
	return wire.DecodeCatalog(data)
}

func versionKey(account, region, version string) string {
	return account + "/" + region + "/" + version
}
