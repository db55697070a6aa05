package consolecmd

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/history"
	"github.com/joiner-sh/joiner/shared/model"
)

const (
	recordsEvery = 5 * time.Second // between two listings of the records
	lateRecords  = 300             // seconds that records may come after what they tell of
	keptSeconds  = 26 * 3600       // that records are kept in memory
)

// memory is records read through to a store, which is asked for what is new alone, and for each whole record once. It
// is of one cluster and may be used from many goroutines.
type memory struct {
	history.Records

	decisions   kept[model.Decision]
	disruptions kept[model.Disrupted]
	removals    kept[model.Removal]

	mu   sync.Mutex
	last *model.Decision // read whole
}

// kept is the records of one kind that were read.
type kept[T any] struct {
	mu       sync.Mutex
	from, to int64 // span that was read, Unix seconds
	at       time.Time
	records  map[string]T // by key
}

// read returns the records of a span, by time, then by key. What was read lately is not asked for again; the last
// minutes before are, since a record may come later than what it reports.
func (k *kept[T]) read(
	fromUnix, toUnix int64, about func(*T) (key string, atUnix int64), ask func(fromUnix, toUnix int64) ([]T, error),
) ([]T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.records == nil || fromUnix < k.from {
		k.records, k.from, k.to, k.at = map[string]T{}, fromUnix, fromUnix, time.Time{}
	}
	if toUnix > k.to && time.Since(k.at) >= recordsEvery {
		found, err := ask(max(k.from, k.to-lateRecords), toUnix)
		if err != nil {
			return nil, err
		}
		for i := range found {
			key, _ := about(&found[i])
			k.records[key] = found[i]
		}
		k.to, k.at = toUnix, time.Now()
	}
	type dated struct {
		at  int64
		key string
	}
	var order []dated
	for key, record := range k.records {
		_, at := about(&record)
		if at < toUnix-keptSeconds {
			delete(k.records, key)
		} else if fromUnix <= at && at < toUnix {
			order = append(order, dated{at, key})
		}
	}
	slices.SortFunc(order, func(a, b dated) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return strings.Compare(a.key, b.key)
	})
	out := make([]T, len(order))
	for i, of := range order {
		out[i] = k.records[of.key]
	}
	return out, nil
}

// Decisions reads decisions to provision.
func (m *memory) Decisions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Decision, error) {
	return m.decisions.read(fromUnix, toUnix, func(d *model.Decision) (string, int64) { return d.ID, d.AtUnix },
		func(from, to int64) ([]model.Decision, error) {
			return m.Records.Decisions(ctx, cluster, from, to)
		})
}

// Disruptions reads decisions about disruption.
func (m *memory) Disruptions(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Disrupted, error) {
	return m.disruptions.read(fromUnix, toUnix, func(d *model.Disrupted) (string, int64) { return d.ID, d.AtUnix },
		func(from, to int64) ([]model.Disrupted, error) {
			return m.Records.Disruptions(ctx, cluster, from, to)
		})
}

// Removals reads instances' ends.
func (m *memory) Removals(ctx context.Context, cluster string, fromUnix, toUnix int64) ([]model.Removal, error) {
	return m.removals.read(fromUnix, toUnix, func(r *model.Removal) (string, int64) {
		return r.Claim.Name + " " +
			r.Claim.InstanceID, r.GoneUnix
	}, func(from, to int64) ([]model.Removal, error) {
		return m.Records.Removals(ctx, cluster, from, to)
	})
}

// FindDecision reads one whole; the last one that was read is kept.
func (m *memory) FindDecision(ctx context.Context, cluster, id string) (model.Decision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last != nil && m.last.ID == id {
		return *m.last, nil
	}
	decision, err := m.Records.FindDecision(ctx, cluster, id)
	if err == nil {
		m.last = &decision
	}
	return decision, err
}
