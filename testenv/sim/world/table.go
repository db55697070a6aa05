package world

import (
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/model"
)

// table keeps the objects of one kind by key, namespace/name or name. A stored value is never written to.
type table[T any] struct {
	keys []string // sorted
	rows map[string]*T
}

func (t *table[T]) get(key string) *T { return t.rows[key] }

func (t *table[T]) put(key string, row *T) {
	if _, known := t.rows[key]; !known {
		if t.rows == nil {
			t.rows = map[string]*T{}
		}
		at, _ := slices.BinarySearch(t.keys, key)
		t.keys = slices.Insert(t.keys, at, key)
	}
	t.rows[key] = row
}

func (t *table[T]) drop(key string) {
	if _, known := t.rows[key]; !known {
		return
	}
	delete(t.rows, key)
	at, _ := slices.BinarySearch(t.keys, key)
	t.keys = slices.Delete(t.keys, at, at+1)
}

// all returns the values by key; nil where there are none.
func (t *table[T]) all() []T {
	if len(t.keys) == 0 {
		return nil
	}
	out := make([]T, 0, len(t.keys))
	for _, key := range t.keys {
		out = append(out, *t.rows[key])
	}
	return out
}

// change is one step in the history of the API server.
type change struct {
	version       int64
	at            time.Time
	kind, key     string
	before, after any // *T of the kind; nil = not there
}

// put stores an object, whose value is not written to any more, as the next version of the cluster.
func put[T any](c *Cluster, t *table[T], kind, key, uid, verb string, row *T) {
	record(c, kind, key, uid, verb, t.get(key), row)
	t.put(key, row)
}

// drop takes an object away as the next version of the cluster.
func drop[T any](c *Cluster, t *table[T], kind, key, uid string) {
	record(c, kind, key, uid, "gone", t.get(key), (*T)(nil))
	t.drop(key)
}

func record[T any](c *Cluster, kind, key, uid, verb string, before, after *T) {
	c.version++
	step := change{version: c.version, at: c.now(), kind: kind, key: key}
	if before != nil {
		step.before = before
	}
	if after != nil {
		step.after = after
	}
	c.history = append(c.history, step)
	if len(c.history) > 2*historyKept {
		c.trimmed = c.history[historyKept-1].version
		c.history = append([]change{}, c.history[historyKept:]...)
	}
	fact := ObjectWritten{Cluster: c.name, Kind: kind, Name: key, UID: uid, Verb: verb, Version: c.version}
	value := after
	if value == nil {
		value = before
	}
	switch v := any(value).(type) {
	case *model.Pod:
		fact.Pod, fact.Shape = v, &c.shapes[v.Shape]
	case *model.Node:
		fact.Node, fact.Finalizer, fact.DeletedUnix = v, v.Finalizer, v.DeletedUnix
	case *NodeClaim:
		fact.Claim, fact.Finalizer, fact.DeletedUnix = &v.Claim, v.Finalizer, v.DeletedUnix
	case *model.Pool:
		fact.Pool = v
	case *model.PDB:
		fact.Budget = v
	case *VolumeAttachment:
		fact.Volume = v
	case *model.ResourceClaim:
		fact.ResourceClaim = v
	case *model.ResourceSlice:
		fact.ResourceSlice = v
	}
	c.log.Note(fact)
}
