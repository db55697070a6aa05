package dynamodb

import (
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// maxItemBytes is the largest item AWS stores: 400 KB.
const maxItemBytes = 400 * 1024

// maxDepth is how deeply lists and maps may nest.
const maxDepth = 32

// table is one table with its items, indexes and settings.
type table struct {
	meter     *meter // of the model
	name, id  string
	key       keySchema
	defined   []AttributeDefinition
	created   time.Time
	activeAt  time.Time
	goneAt    time.Time // zero while nobody has deleted it
	settings  tableSettings
	tags      map[string]string
	indexes   []*index
	expiry    expiry
	backups   bool
	items     *view
	readLag   time.Duration
	lateReads *replica // nil while eventually consistent reads are not late
}

// tableSettings are what CreateTable and UpdateTable set and DescribeTable reports.
type tableSettings struct {
	billing    string // PROVISIONED or PAY_PER_REQUEST
	throughput ProvisionedThroughput
	protected  bool
	class      string
	key        string // ARN of the KMS key that encrypts it; "" = AWS's own
}

// index is a secondary index: global ones trail the table, local ones do not.
type index struct {
	name       string
	key        keySchema
	projection Projection
	local      bool
	throughput ProvisionedThroughput
	replica    replica
}

// index returns the index of this name, nil if there is none.
func (t *table) index(name string) *index {
	for _, ix := range t.indexes {
		if ix.name == name {
			return ix
		}
	}
	return nil
}

// project returns what the index holds of an item, nil when it holds nothing of it: an item without the
// key attributes of the index is not in it.
func (ix *index) project(t *table, item attribute.Item) attribute.Item {
	for _, a := range ix.key.attributes() {
		if item[a.name].Kind != a.kind {
			return nil
		}
	}
	if ix.projection.ProjectionType == projectAll {
		return item
	}
	part := ix.key.of(item)
	for name := range t.key.of(item) {
		part[name] = item[name]
	}
	if ix.projection.ProjectionType == projectInclude {
		for _, name := range ix.projection.NonKeyAttributes {
			if v, ok := item[name]; ok {
				part[name] = v
			}
		}
	}
	return part
}

// holds reports whether the index holds this top-level attribute of its items.
func (ix *index) holds(t *table, name string) bool {
	for _, a := range append(t.key.attributes(), ix.key.attributes()...) {
		if a.name == name {
			return true
		}
	}
	if ix.projection.ProjectionType == projectInclude {
		for _, included := range ix.projection.NonKeyAttributes {
			if included == name {
				return true
			}
		}
	}
	return ix.projection.ProjectionType == projectAll
}

// setReadLag starts or stops keeping the late copy that eventually consistent reads see.
func (t *table) setReadLag(lag time.Duration) {
	t.readLag = lag
	switch {
	case lag == 0:
		t.lateReads = nil
	case t.lateReads == nil:
		t.lateReads = &replica{view: t.items.clone()}
	}
}

// reads returns the view a read of the table sees.
func (t *table) reads(now time.Time, consistent bool) *view {
	if consistent || t.lateReads == nil {
		return t.items
	}
	return t.lateReads.catchUp(now)
}

// checkNew refuses an item the table or one of its indexes cannot hold. ofUpdate chooses the wording.
func (t *table) checkNew(item attribute.Item, ofUpdate bool) error {
	for _, v := range item {
		if v.Depth() > maxDepth {
			return invalidf("Nesting Levels have exceeded supported limits")
		}
	}
	for _, ix := range t.indexes {
		if err := ix.checkNew(item, ofUpdate); err != nil {
			return err
		}
	}
	switch {
	case item.SizeBytes() <= maxItemBytes:
		return nil
	case ofUpdate:
		return invalidf("Item size to update has exceeded the maximum allowed size")
	}
	return invalidf("Item size has exceeded the maximum allowed size")
}

func (ix *index) checkNew(item attribute.Item, ofUpdate bool) error {
	for _, a := range ix.key.attributes() {
		v, present := item[a.name]
		if !present {
			continue
		}
		if v.Kind != a.kind {
			if ofUpdate {
				return invalidf("The update expression attempted to update the secondary index key to unsupported type")
			}
			return invalidf("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s",
				a.name, a.kind, v.Kind, ix.name)
		}
		kind, empty := emptyScalar(v)
		if empty {
			return invalidf("One or more parameter values are not valid. A value specified for a secondary index key is not "+
				"supported. The AttributeValue for a key attribute cannot contain an empty %s value. IndexName: %s, IndexKey: %s",
				kind, ix.name, a.name)
		}
		limit := maxRangeBytes
		if a == ix.key.hash {
			limit = maxHashBytes
		}
		if v.SizeBytes() > limit {
			return invalidf("One or more parameter values were invalid: Size of the index key %s has exceeded the maximum size limit of %d bytes", a.name, limit)
		}
	}
	return nil
}

// commit replaces old by new (nil for none) everywhere and returns the write units it takes.
func (t *table) commit(now time.Time, lags Lags, old, new attribute.Item) units {
	if old != nil && new == nil {
		t.items.remove(old)
	}
	if new != nil {
		t.items.put(new)
		t.expiry.watch(t, now, new)
	}
	if t.lateReads != nil {
		t.lateReads.follow(now, t.readLag, old, new)
	}
	used := units{table: writeUnits(max(old.SizeBytes(), new.SizeBytes()))}
	for _, ix := range t.indexes {
		before, after := ix.project(t, old), ix.project(t, new)
		if attribute.EqualItems(before, after) {
			continue
		}
		lag := lags.Index
		if ix.local {
			lag = 0
		}
		ix.replica.follow(now, lag, before, after)
		used.add(ix, ix.writeUnits(before, after))
	}
	return used
}
