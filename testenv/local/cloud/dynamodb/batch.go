package dynamodb

import (
	"context"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/expression"
)

// The limits of batches.
const (
	maxBatchGets   = 100
	maxBatchWrites = 25
	maxBatchBytes  = 16 << 20
)

// batchGet is the part of a BatchGetItem that concerns one table.
type batchGet struct {
	table      *table
	asked      KeysAndAttributes
	projection *expression.Projection
}

// BatchGetItem reads items of several tables. What does not fit comes back as unprocessed.
func (m *Model) BatchGetItem(_ context.Context, in BatchGetItemInput) (*BatchGetItemOutput, error) {
	if err := checkReturnCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	gets, err := parseBatchGet(in)
	if err != nil {
		return nil, asWire(err)
	}
	now, end := m.begin()
	defer end()
	for _, name := range slices.Sorted(maps.Keys(gets)) {
		if err := gets[name].bind(m, name); err != nil {
			return nil, err
		}
	}
	out := &BatchGetItemOutput{Responses: map[string][]attribute.Item{}, UnprocessedKeys: map[string]KeysAndAttributes{}}
	sizeBytes := 0
	for _, name := range slices.Sorted(maps.Keys(gets)) {
		g := gets[name]
		items, rest := []attribute.Item{}, []attribute.Item(nil)
		used := units{}
		for _, key := range g.asked.Keys {
			item := g.table.reads(now, g.asked.ConsistentRead).get(key)
			if m.leftOut(g.table, key) || sizeBytes+item.SizeBytes() > maxBatchBytes {
				rest = append(rest, key)
				continue
			}
			sizeBytes += item.SizeBytes()
			used.table += readUnits(item.SizeBytes(), g.asked.ConsistentRead)
			if item != nil {
				items = append(items, g.projection.Of(item))
			}
		}
		out.Responses[name] = items
		if rest != nil {
			unprocessed := g.asked
			unprocessed.Keys = rest
			out.UnprocessedKeys[name] = unprocessed
		}
		m.meter.read(used)
		out.ConsumedCapacity = appendReport(out.ConsumedCapacity, used.report(g.table.name, in.ReturnConsumedCapacity, undirected))
	}
	return out, nil
}

// leftOut asks the fault whether an item of a batch stays unprocessed.
func (m *Model) leftOut(t *table, key attribute.Item) bool {
	m.asked.batchItems++
	return m.faults.Batch != nil && m.faults.Batch(m.asked.batchItems, ItemRef{Table: t.name, Key: key})
}

func appendReport(to []*ConsumedCapacity, c *ConsumedCapacity) []*ConsumedCapacity {
	if c == nil {
		return to
	}
	return append(to, c)
}

func parseBatchGet(in BatchGetItemInput) (map[string]*batchGet, error) {
	if len(in.RequestItems) == 0 {
		return nil, absent("requestItems")
	}
	gets, count := map[string]*batchGet{}, 0
	for name, asked := range in.RequestItems {
		if err := (Legacy{AttributesToGet: asked.AttributesToGet}).refuse(); err != nil {
			return nil, err
		}
		if len(asked.Keys) == 0 {
			return nil, outside("requestItems."+name+".member.keys", "[]", "Member must have length greater than or equal to 1")
		}
		projection, err := parseReadProjection(asked.ProjectionExpression, asked.ExpressionAttributeNames)
		if err != nil {
			return nil, err
		}
		gets[name] = &batchGet{asked: asked, projection: projection}
		count += len(asked.Keys)
	}
	if count > maxBatchGets {
		return nil, invalidf("Too many items requested for the BatchGetItem call")
	}
	return gets, nil
}

func (g *batchGet) bind(m *Model, name string) error {
	t, err := m.usable(name)
	if err != nil {
		return err
	}
	g.table = t
	seen := map[string]bool{}
	for _, key := range g.asked.Keys {
		if err := t.checkGet(key, g.projection); err != nil {
			return err
		}
		id := t.key.identity(key)
		if seen[id] {
			return invalidf("Provided list of item keys contains duplicates")
		}
		seen[id] = true
	}
	return nil
}

// BatchWriteItem puts and deletes items, each for itself. One that meets a transaction comes back as unprocessed.
func (m *Model) BatchWriteItem(_ context.Context, in BatchWriteItemInput) (*BatchWriteItemOutput, error) {
	if err := checkReturnCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(in.RequestItems))
	writes, err := parseBatchWrite(in, names)
	if err != nil {
		return nil, asWire(err)
	}
	now, end := m.begin()
	defer end()
	for _, name := range names {
		if err := m.bindBatch(writes[name]); err != nil {
			return nil, asWire(err)
		}
	}
	out := &BatchWriteItemOutput{UnprocessedItems: map[string][]WriteRequest{}}
	for _, name := range names {
		used := units{}
		for i, w := range writes[name] {
			if m.leftOut(w.table, w.ref.Key) || m.heldByTransaction(w.hold) {
				out.UnprocessedItems[name] = append(out.UnprocessedItems[name], in.RequestItems[name][i])
				continue
			}
			used.plus(w.table.commit(now, m.lags, w.old(), w.item))
		}
		m.meter.write(used)
		out.ConsumedCapacity = appendReport(out.ConsumedCapacity, used.report(writes[name][0].table.name, in.ReturnConsumedCapacity, undirected))
	}
	return out, nil
}

func parseBatchWrite(in BatchWriteItemInput, names []string) (map[string][]*write, error) {
	if len(names) == 0 {
		return nil, absent("requestItems")
	}
	writes, count := map[string][]*write{}, 0
	for _, name := range names {
		requests := in.RequestItems[name]
		if len(requests) == 0 || len(requests) > maxBatchWrites {
			return nil, outside("requestItems."+name+".member", len(requests), "Member must have length between 1 and 25")
		}
		for _, r := range requests {
			w, err := r.parse(name)
			if err != nil {
				return nil, err
			}
			writes[name] = append(writes[name], w)
		}
		count += len(requests)
	}
	if count > maxBatchWrites {
		return nil, invalidf("Too many items requested for the BatchWriteItem call")
	}
	return writes, nil
}

func (r WriteRequest) parse(tableName string) (*write, error) {
	switch {
	case r.PutRequest != nil && r.DeleteRequest != nil:
		return nil, invalidf("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	case r.PutRequest != nil:
		return parseWrite(kindPut, TransactAction{TableName: tableName, Item: r.PutRequest.Item})
	case r.DeleteRequest != nil:
		return parseWrite(kindDelete, TransactAction{TableName: tableName, Key: r.DeleteRequest.Key})
	}
	return nil, invalidf("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
}

// bindBatch checks all writes of one table before any takes effect.
func (m *Model) bindBatch(writes []*write) error {
	seen := map[holdKey]bool{}
	for _, w := range writes {
		if err := w.find(m); err != nil {
			return err
		}
		if err := w.bind(); err != nil {
			return err
		}
		if seen[w.hold] {
			return invalidf("Provided list of item keys contains duplicates")
		}
		seen[w.hold] = true
		if w.kind == kindPut {
			if err := w.table.checkNew(w.item, false); err != nil {
				return err
			}
		}
	}
	return nil
}
