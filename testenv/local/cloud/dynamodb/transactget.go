package dynamodb

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/expression"
)

// TransactGetItems reads several items as they are at one moment.
func (m *Model) TransactGetItems(_ context.Context, in TransactGetItemsInput) (*TransactGetItemsOutput, error) {
	if err := checkReturnCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	if err := checkTransactSize("transactItems", len(in.TransactItems)); err != nil {
		return nil, err
	}
	projections, err := parseTransactGets(in.TransactItems)
	if err != nil {
		return nil, asWire(err)
	}
	_, end := m.begin()
	defer end()
	tables, err := m.admitGets(in.TransactItems, projections)
	if err != nil {
		return nil, err
	}
	out, used := &TransactGetItemsOutput{}, map[string]units{}
	for i, item := range in.TransactItems {
		found := tables[i].items.get(item.Get.Key)
		out.Responses = append(out.Responses, GetItemOutput{Item: projections[i].Of(found)})
		sum := used[tables[i].name]
		sum.table += 2 * readUnits(found.SizeBytes(), true)
		used[tables[i].name] = sum
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		m.meter.read(used[name])
		out.ConsumedCapacity = appendReport(out.ConsumedCapacity, used[name].report(name, in.ReturnConsumedCapacity, reading))
	}
	return out, nil
}

func parseTransactGets(items []TransactGetItem) ([]*expression.Projection, error) {
	projections := make([]*expression.Projection, len(items))
	for i, item := range items {
		if item.Get == nil {
			return nil, absent(fmt.Sprintf("transactItems.%d.member.get", i+1))
		}
		p, err := parseReadProjection(item.Get.ProjectionExpression, item.Get.ExpressionAttributeNames)
		if err != nil {
			return nil, err
		}
		projections[i] = p
	}
	return projections, nil
}

// admitGets finds the tables and refuses wrong keys, repeated items and items that a write holds.
func (m *Model) admitGets(items []TransactGetItem, projections []*expression.Projection) ([]*table, error) {
	tables, reasons, seen := make([]*table, len(items)), newReasons(len(items)), map[holdKey]bool{}
	for i, item := range items {
		t, err := m.usable(item.Get.TableName)
		if err != nil {
			return nil, err
		}
		tables[i] = t
		if err := t.checkGet(item.Get.Key, projections[i]); err != nil {
			reasons.invalid(i, err)
			continue
		}
		k := holdKey{table: t.name, item: t.key.identity(item.Get.Key)}
		if seen[k] {
			return nil, invalidf("Transaction request cannot include multiple operations on one item")
		}
		seen[k] = true
		if m.held(k) {
			reasons.conflict(i)
		}
	}
	return tables, reasons.canceled()
}
