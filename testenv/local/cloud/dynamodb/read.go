package dynamodb

import (
	"context"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/expression"
)

// GetItem reads one item.
func (m *Model) GetItem(_ context.Context, in GetItemInput) (*GetItemOutput, error) {
	if err := in.refuse(); err != nil {
		return nil, err
	}
	if err := checkReturnCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	projection, err := parseReadProjection(in.ProjectionExpression, in.ExpressionAttributeNames)
	if err != nil {
		return nil, asWire(err)
	}
	now, end := m.begin()
	defer end()
	t, err := m.usable(in.TableName)
	if err != nil {
		return nil, err
	}
	if err := t.checkGet(in.Key, projection); err != nil {
		return nil, err
	}
	item := t.reads(now, in.ConsistentRead).get(in.Key)
	used := units{table: readUnits(item.SizeBytes(), in.ConsistentRead)}
	m.meter.read(used)
	return &GetItemOutput{
		Item:             projection.Of(item),
		ConsumedCapacity: used.report(t.name, in.ReturnConsumedCapacity, undirected),
	}, nil
}

// checkGet refuses a key that is not one of this table and a projection into it.
func (t *table) checkGet(key attribute.Item, projection *expression.Projection) error {
	if err := t.key.checkKey(key); err != nil {
		return err
	}
	if projection == nil {
		return nil
	}
	return t.checkKeyPaths(projection.Paths)
}
