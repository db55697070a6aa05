package publish

import (
	"maps"
	"reflect"
	"slices"
)

// table holds the objects of one kind by key, namespace/name or name, and which of them changed since the last
// publication.
type table[T any] struct {
	rows  map[string]T
	dirty map[string]bool
}

// put stores a row and reports whether it differs from the one before.
func (t *table[T]) put(key string, row T) bool {
	if old, ok := t.rows[key]; ok && reflect.DeepEqual(old, row) {
		return false
	}
	if t.rows == nil {
		t.rows, t.dirty = make(map[string]T), make(map[string]bool)
	}
	t.rows[key], t.dirty[key] = row, true
	return true
}

// drop removes a row and reports whether it was there.
func (t *table[T]) drop(key string) bool {
	if _, ok := t.rows[key]; !ok {
		return false
	}
	delete(t.rows, key)
	t.dirty[key] = true
	return true
}

// take returns what changed, sorted by key, and begins anew.
func (t *table[T]) take() (put []T, gone []string) {
	for _, key := range slices.Sorted(maps.Keys(t.dirty)) {
		if row, ok := t.rows[key]; ok {
			put = append(put, row)
		} else {
			gone = append(gone, key)
		}
	}
	clear(t.dirty)
	return put, gone
}

// copied returns every row, in no order.
func (t *table[T]) copied() []T {
	out := make([]T, 0, len(t.rows))
	for _, row := range t.rows {
		out = append(out, row)
	}
	return out
}

// all returns every row, sorted by key, and forgets what changed.
func (t *table[T]) all() []T {
	clear(t.dirty)
	if len(t.rows) == 0 {
		return nil
	}
	out := make([]T, 0, len(t.rows))
	for _, key := range slices.Sorted(maps.Keys(t.rows)) {
		out = append(out, t.rows[key])
	}
	return out
}
