package dynamodb

import (
	"math"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// units are the capacity units one request takes from one table and its indexes.
type units struct {
	table         float64
	local, global map[string]float64 // by index name; nil when none
}

func (u *units) add(ix *index, n float64) {
	to := &u.global
	if ix.local {
		to = &u.local
	}
	if *to == nil {
		*to = map[string]float64{}
	}
	(*to)[ix.name] += n
}

func (u *units) plus(o units) {
	u.table += o.table
	for name, n := range o.local {
		u.add(&index{name: name, local: true}, n)
	}
	for name, n := range o.global {
		u.add(&index{name: name}, n)
	}
}

// times returns the units multiplied, as transactions count double.
func (u units) times(factor float64) units {
	product := units{table: u.table * factor}
	for name, n := range u.local {
		product.add(&index{name: name, local: true}, n*factor)
	}
	for name, n := range u.global {
		product.add(&index{name: name}, n*factor)
	}
	return product
}

func (u units) total() float64 {
	sum := u.table
	for _, n := range u.local {
		sum += n
	}
	for _, n := range u.global {
		sum += n
	}
	return sum
}

// writeUnits is one unit for every started KB, at least one.
func writeUnits(sizeBytes int) float64 {
	return math.Max(1, math.Ceil(float64(sizeBytes)/1024))
}

// readUnits is one unit for every started 4 KB, at least one; half of it for an eventually consistent read.
func readUnits(sizeBytes int, consistent bool) float64 {
	n := math.Max(1, math.Ceil(float64(sizeBytes)/4096))
	if !consistent {
		n /= 2
	}
	return n
}

// writeUnits is what a change costs in an index: one write when an entry appears, goes or changes in place,
// two when it moves to another key.
func (ix *index) writeUnits(before, after attribute.Item) float64 {
	switch {
	case before == nil:
		return writeUnits(after.SizeBytes())
	case after == nil:
		return writeUnits(before.SizeBytes())
	case ix.key.identity(before) != ix.key.identity(after):
		return writeUnits(before.SizeBytes()) + writeUnits(after.SizeBytes())
	}
	return writeUnits(max(before.SizeBytes(), after.SizeBytes()))
}

// What ReturnConsumedCapacity may ask for.
const (
	capacityNone    = "NONE"
	capacityTotal   = "TOTAL"
	capacityIndexes = "INDEXES"
)

func checkReturnCapacity(wanted string) error {
	return checkEnum("returnConsumedCapacity", wanted, capacityIndexes, capacityTotal, capacityNone)
}

// direction says which of the read and write counters a transaction reports beside the total.
type direction int

const (
	undirected direction = iota
	reading
	writing
)

// report renders units as asked for, nil when not asked.
func (u units) report(tableName, wanted string, d direction) *ConsumedCapacity {
	if wanted != capacityTotal && wanted != capacityIndexes {
		return nil
	}
	c := &ConsumedCapacity{TableName: tableName, Capacity: d.capacity(u.total())}
	if wanted == capacityTotal {
		return c
	}
	table := d.capacity(u.table)
	c.Table = &table
	c.LocalSecondaryIndexes = d.capacities(u.local)
	c.GlobalSecondaryIndexes = d.capacities(u.global)
	return c
}

func (d direction) capacity(n float64) Capacity {
	c := Capacity{CapacityUnits: n}
	switch d {
	case reading:
		c.ReadCapacityUnits = &n
	case writing:
		c.WriteCapacityUnits = &n
	}
	return c
}

func (d direction) capacities(byIndex map[string]float64) map[string]Capacity {
	if byIndex == nil {
		return nil
	}
	named := map[string]Capacity{}
	for name, n := range byIndex {
		named[name] = d.capacity(n)
	}
	return named
}
