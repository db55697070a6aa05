package dynamodb

import (
	"context"
	"errors"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/expression"
)

// What ReturnValues may ask for.
const (
	returnNone       = "NONE"
	returnAllOld     = "ALL_OLD"
	returnAllNew     = "ALL_NEW"
	returnUpdatedOld = "UPDATED_OLD"
	returnUpdatedNew = "UPDATED_NEW"
)

// writeKind is what a write does to its item.
type writeKind int

const (
	kindPut writeKind = iota
	kindUpdate
	kindDelete
	kindCheck // ConditionCheck of a transaction: nothing
)

// write is one parsed write: a request of its own or an action of a transaction.
type write struct {
	kind      writeKind
	tableName string
	item      attribute.Item // what kindPut puts
	key       attribute.Item // the key parameter of the other kinds
	condition *expression.Condition
	update    *expression.Update // nil for an update that only makes sure the item exists
	showOld   bool               // on a failed condition

	table *table  // set by bind
	ref   ItemRef // set by bind
	hold  holdKey // set by bind
}

// parseWrite parses the expressions of a write. The errors concern the request alone.
func parseWrite(kind writeKind, a TransactAction) (*write, error) {
	w := &write{kind: kind, tableName: a.TableName, item: a.Item, key: a.Key}
	if _, err := tableName(a.TableName); err != nil {
		return nil, err
	}
	if kind == kindPut && a.Item == nil {
		return nil, absent("item")
	}
	if kind != kindPut && a.Key == nil {
		return nil, absent("key")
	}
	err := checkEnum("returnValuesOnConditionCheckFailure", a.ReturnValuesOnConditionCheckFailure, returnAllOld, returnNone)
	if err != nil {
		return nil, err
	}
	w.showOld = a.ReturnValuesOnConditionCheckFailure == returnAllOld
	return w, w.parseExpressions(a)
}

func (w *write) parseExpressions(a TransactAction) error {
	missing := ""
	switch {
	case a.ConditionExpression != nil || a.UpdateExpression != nil:
	case w.kind == kindUpdate:
		missing = "UpdateExpression and ConditionExpression are null"
	default:
		missing = "ConditionExpression is null"
	}
	env, err := newEnv(a.ExpressionAttributeNames, a.ExpressionAttributeValues, missing == "", missing)
	if err != nil {
		return err
	}
	if a.UpdateExpression != nil {
		if w.update, err = expression.ParseUpdate(*a.UpdateExpression, env); err != nil {
			return err
		}
	}
	if a.ConditionExpression != nil {
		if w.condition, err = expression.ParseCondition("ConditionExpression", *a.ConditionExpression, env); err != nil {
			return err
		}
	}
	return env.Unused()
}

// find looks up the table of the write.
func (w *write) find(m *Model) error {
	t, err := m.usable(w.tableName)
	w.table = t
	return err
}

// bind checks the write against the schema of its table, which find has found.
func (w *write) bind() error {
	t := w.table
	key := w.key
	if w.kind == kindPut {
		if err := t.key.checkItem(w.item); err != nil {
			return err
		}
		key = t.key.of(w.item)
	} else if err := t.key.checkKey(w.key); err != nil {
		return err
	}
	if w.update != nil {
		if name := w.update.Touches(t.key.names()...); name != "" {
			return invalidf("One or more parameter values were invalid: Cannot update attribute %s. This attribute is part of the key", name)
		}
	}
	if w.condition != nil {
		if err := t.checkKeyPaths(w.condition.Paths()); err != nil {
			return err
		}
	}
	w.ref = ItemRef{Table: t.name, Key: key}
	w.hold = holdKey{table: t.name, item: t.key.identity(key)}
	return nil
}

// old returns the item as it is, nil if there is none.
func (w *write) old() attribute.Item { return w.table.items.get(w.ref.Key) }

// result checks the condition and returns what the write makes of the item; nil for none. A condition that
// does not hold gives a *conditionFailed.
func (w *write) result(old attribute.Item) (attribute.Item, error) {
	if !w.condition.Matches(old) {
		failed := &conditionFailed{}
		if w.showOld {
			failed.item = old
		}
		return nil, failed
	}
	switch w.kind {
	case kindPut:
		return w.item, w.table.checkNew(w.item, false)
	case kindUpdate:
		return w.updated(old)
	case kindCheck:
		return old, nil
	}
	return nil, nil
}

func (w *write) updated(old attribute.Item) (attribute.Item, error) {
	if old == nil {
		old = w.ref.Key
	}
	if w.update == nil {
		return old, nil
	}
	updated, err := w.update.Apply(old)
	if err != nil {
		return nil, err
	}
	return updated, w.table.checkNew(updated, true)
}

// PutItem puts one item.
func (m *Model) PutItem(ctx context.Context, in PutItemInput) (*WriteOutput, error) {
	return m.writeOne(ctx, kindPut, in.Legacy, in.ReturnValues, in.ReturnConsumedCapacity, TransactAction{
		TableName: in.TableName, Item: in.Item, Expressions: in.Expressions,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
}

// UpdateItem changes one item or creates it.
func (m *Model) UpdateItem(ctx context.Context, in UpdateItemInput) (*WriteOutput, error) {
	return m.writeOne(ctx, kindUpdate, in.Legacy, in.ReturnValues, in.ReturnConsumedCapacity, TransactAction{
		TableName: in.TableName, Key: in.Key, UpdateExpression: in.UpdateExpression, Expressions: in.Expressions,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
}

// DeleteItem deletes one item, if it is there.
func (m *Model) DeleteItem(ctx context.Context, in DeleteItemInput) (*WriteOutput, error) {
	return m.writeOne(ctx, kindDelete, in.Legacy, in.ReturnValues, in.ReturnConsumedCapacity, TransactAction{
		TableName: in.TableName, Key: in.Key, Expressions: in.Expressions,
		ReturnValuesOnConditionCheckFailure: in.ReturnValuesOnConditionCheckFailure,
	})
}

func (m *Model) writeOne(ctx context.Context, kind writeKind, legacy Legacy, returnValues, capacity string, a TransactAction) (*WriteOutput, error) {
	if err := legacy.refuse(); err != nil {
		return nil, err
	}
	if err := checkReturnValues(kind, returnValues); err != nil {
		return nil, err
	}
	if err := checkReturnCapacity(capacity); err != nil {
		return nil, err
	}
	w, err := parseWrite(kind, a)
	if err != nil {
		return nil, asWire(err)
	}
	old, changed, used, err := m.runWrite(ctx, w)
	if failed, ok := errors.AsType[*conditionFailed](err); ok {
		return nil, failed.wire()
	}
	if err != nil {
		return nil, asWire(err)
	}
	return &WriteOutput{
		Attributes:       w.returned(returnValues, old, changed),
		ConsumedCapacity: used.report(w.table.name, capacity, undirected),
	}, nil
}

// runWrite holds the item for as long as writes take and then replaces old by changed.
func (m *Model) runWrite(ctx context.Context, w *write) (old, changed attribute.Item, used units, err error) {
	now, end := m.begin()
	defer func() { end() }()
	if err := w.find(m); err != nil {
		return nil, nil, used, err
	}
	if err := w.bind(); err != nil {
		return nil, nil, used, err
	}
	if m.writeConflicts(w) {
		return nil, nil, used, errConflict()
	}
	if m.durations.Write > 0 {
		release := m.holdItems([]*write{w}, false)
		end()
		m.sleep(ctx, m.durations.Write)
		now, end = m.begin()
		release()
		if err := w.find(m); err != nil {
			return nil, nil, used, err
		}
	}
	old = w.old()
	changed, err = w.result(old)
	if err != nil {
		m.meter.refused(err, old, 1)
		return nil, nil, used, err
	}
	used = w.table.commit(now, m.lags, old, changed)
	m.meter.write(used)
	return old, changed, used, nil
}

func checkReturnValues(kind writeKind, wanted string) error {
	all := []string{returnAllNew, returnUpdatedOld, returnAllOld, returnNone, returnUpdatedNew}
	if err := checkEnum("returnValues", wanted, all...); err != nil {
		return err
	}
	if kind != kindUpdate && wanted != "" && wanted != returnNone && wanted != returnAllOld {
		return invalidf("Return values set to invalid value")
	}
	return nil
}

// returned picks the attributes the caller asked to see, nil for none.
func (w *write) returned(wanted string, old, changed attribute.Item) attribute.Item {
	switch wanted {
	case returnAllOld:
		return old
	case returnAllNew:
		return changed
	case returnUpdatedOld, returnUpdatedNew:
		if w.update == nil {
			return nil
		}
		from := old
		if wanted == returnUpdatedNew {
			from = changed
		}
		return expression.NewProjection(w.update.Paths()).Of(from)
	}
	return nil
}
