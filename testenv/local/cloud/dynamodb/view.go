package dynamodb

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// view is a sorted set of items under one key: a table, a late copy of it, or an index. Items are shared,
// never changed.
type view struct {
	key    keySchema
	base   keySchema // the key of the table, which tells rows of an index apart
	byHash map[string]*partition
	order  []*partition // in order of a scan
}

// partition holds the rows that share a partition key, in order of sort key and then of identity.
type partition struct {
	at   uint64 // hashed place in a scan
	hash string // encoded partition key
	rows []row
}

// row is one item with what orders it within its partition.
type row struct {
	sort attribute.Value // absent when the key has no sort attribute
	id   string          // identity under the key of the table
	item attribute.Item
}

func newView(key, base keySchema) *view {
	return &view{key: key, base: base, byHash: map[string]*partition{}}
}

func (v *view) row(item attribute.Item) row {
	r := row{id: v.base.identity(item), item: item}
	if v.key.sort.name != "" {
		r.sort = item[v.key.sort.name]
	}
	return r
}

func compareRows(a, b row) int {
	order, _ := attribute.Compare(a.sort, b.sort)
	return cmp.Or(order, strings.Compare(a.id, b.id))
}

func comparePartitions(a, b *partition) int {
	return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.hash, b.hash))
}

// partitionOf returns the partition an item belongs to, not yet part of the view if it is new.
func (v *view) partitionOf(item attribute.Item) *partition {
	hash := encode(item[v.key.hash.name])
	if p := v.byHash[hash]; p != nil {
		return p
	}
	sum := md5.Sum([]byte(hash))
	return &partition{hash: hash, at: binary.BigEndian.Uint64(sum[:8])}
}

// get returns the item with this key, nil if there is none. The view must be keyed like its table.
func (v *view) get(key attribute.Item) attribute.Item {
	p := v.partitionOf(key)
	at, found := slices.BinarySearchFunc(p.rows, v.row(key), compareRows)
	if !found {
		return nil
	}
	return p.rows[at].item
}

// put adds the item or replaces the one in its place.
func (v *view) put(item attribute.Item) {
	p, r := v.partitionOf(item), v.row(item)
	if len(p.rows) == 0 {
		v.byHash[p.hash] = p
		at, _ := slices.BinarySearchFunc(v.order, p, comparePartitions)
		v.order = slices.Insert(v.order, at, p)
	}
	at, found := slices.BinarySearchFunc(p.rows, r, compareRows)
	if found {
		p.rows[at] = r
		return
	}
	p.rows = slices.Insert(p.rows, at, r)
}

// remove takes the item's row out, if it is there.
func (v *view) remove(item attribute.Item) {
	p := v.partitionOf(item)
	at, found := slices.BinarySearchFunc(p.rows, v.row(item), compareRows)
	if !found {
		return
	}
	p.rows = slices.Delete(p.rows, at, at+1)
	if len(p.rows) > 0 {
		return
	}
	delete(v.byHash, p.hash)
	at, _ = slices.BinarySearchFunc(v.order, p, comparePartitions)
	v.order = slices.Delete(v.order, at, at+1)
}

// clone copies the view, sharing the items.
func (v *view) clone() *view {
	c := newView(v.key, v.base)
	for _, p := range v.order {
		q := &partition{at: p.at, hash: p.hash, rows: slices.Clone(p.rows)}
		c.order = append(c.order, q)
		c.byHash[q.hash] = q
	}
	return c
}

// count returns the number of items and their size.
func (v *view) count() (items, sizeBytes int) {
	for _, p := range v.order {
		items += len(p.rows)
		for _, r := range p.rows {
			sizeBytes += r.item.SizeBytes()
		}
	}
	return items, sizeBytes
}

// segment returns which of total equal parts of a parallel scan the partition falls into.
func (p *partition) segment(total int) int {
	part, _ := bits.Mul64(p.at, uint64(total))
	return int(part)
}
