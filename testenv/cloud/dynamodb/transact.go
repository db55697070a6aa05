package dynamodb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/testenv/cloud/dynamodb/attribute"
	"github.com/joiner-sh/joiner/testenv/cloud/dynamodb/expression"
	"github.com/joiner-sh/joiner/testenv/cloud/wire"
)

// The limits of transactions.
const (
	maxTransactItems = 100
	maxTransactBytes = 4 << 20
)

// The codes of cancellation reasons.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
	reasonInvalid   = "ValidationError"
)

// TransactWriteItems does all of its actions or none.
func (m *Model) TransactWriteItems(ctx context.Context, in TransactWriteItemsInput) (*TransactWriteItemsOutput, error) {
	if err := checkReturnCapacity(in.ReturnConsumedCapacity); err != nil {
		return nil, err
	}
	writes, err := parseTransaction(in)
	if err != nil {
		return nil, asWire(err)
	}
	used, direction, err := m.runTransaction(ctx, in, writes)
	if err != nil {
		return nil, asWire(err)
	}
	out := &TransactWriteItemsOutput{}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out.ConsumedCapacity = appendReport(out.ConsumedCapacity, used[name].report(name, in.ReturnConsumedCapacity, direction))
	}
	return out, nil
}

func parseTransaction(in TransactWriteItemsInput) ([]*write, error) {
	if err := checkTransactSize("transactItems", len(in.TransactItems)); err != nil {
		return nil, err
	}
	if len(in.ClientRequestToken) > 36 {
		return nil, outside("clientRequestToken", in.ClientRequestToken, "Member must have length less than or equal to 36")
	}
	var writes []*write
	for _, item := range in.TransactItems {
		w, err := item.parse()
		if err != nil {
			return nil, err
		}
		writes = append(writes, w)
	}
	return writes, nil
}

func checkTransactSize(member string, n int) error {
	switch {
	case n == 0:
		return outside(member, "[]", "Member must have length greater than or equal to 1")
	case n > maxTransactItems:
		return outside(member, n, "Member must have length less than or equal to 100")
	}
	return nil
}

func (item TransactWriteItem) parse() (*write, error) {
	var w *write
	var err error
	actions := 0
	for kind, a := range map[writeKind]*TransactAction{
		kindPut: item.Put, kindUpdate: item.Update, kindDelete: item.Delete, kindCheck: item.ConditionCheck,
	} {
		if a != nil {
			actions++
			w, err = parseAction(kind, *a)
		}
	}
	if actions != 1 {
		return nil, invalidf("TransactItems can only contain one of Check, Put, Update or Delete")
	}
	return w, err
}

func parseAction(kind writeKind, a TransactAction) (*write, error) {
	if kind == kindUpdate && a.UpdateExpression == nil {
		return nil, absent("transactItems.member.update.updateExpression")
	}
	if kind == kindCheck && a.ConditionExpression == nil {
		return nil, absent("transactItems.member.conditionCheck.conditionExpression")
	}
	return parseWrite(kind, a)
}

// runTransaction takes the transaction from its token to its effect and returns what it takes by table.
func (m *Model) runTransaction(ctx context.Context, in TransactWriteItemsInput, writes []*write) (map[string]units, direction, error) {
	now, end := m.begin()
	defer func() { end() }()
	repeated, err := m.useToken(in)
	if err != nil || repeated != nil {
		return repeated, reading, err
	}
	done := false
	defer func() { m.settleToken(in.ClientRequestToken, done) }()
	if err := m.admit(writes); err != nil {
		return nil, writing, err
	}
	if m.durations.Transaction > 0 {
		release := m.holdItems(writes, true)
		end()
		m.sleep(ctx, m.durations.Transaction)
		now, end = m.begin()
		release()
		for _, w := range writes {
			if err := w.find(m); err != nil {
				return nil, writing, err
			}
		}
	}
	used, err := m.commitAll(now, writes)
	if err != nil {
		return nil, writing, err
	}
	done = true
	m.rememberUse(in.ClientRequestToken, used, now)
	return used, writing, nil
}

// admit checks what must hold before a transaction may begin: tables, keys, distinct items, nobody else at them.
func (m *Model) admit(writes []*write) error {
	refs := make([]ItemRef, len(writes))
	reasons := newReasons(len(writes))
	seen := map[holdKey]bool{}
	for i, w := range writes {
		if err := w.find(m); err != nil {
			return err
		}
		if err := w.bind(); err != nil {
			if !reasons.invalid(i, err) {
				return err
			}
			continue
		}
		if seen[w.hold] {
			return invalidf("Transaction request cannot include multiple operations on one item")
		}
		seen[w.hold] = true
		refs[i] = w.ref
	}
	if err := reasons.cancelled(); err != nil {
		return err
	}
	m.asked.transactions++
	if ask := m.faults.Transaction; ask != nil {
		for _, i := range ask(m.asked.transactions, refs) {
			reasons.conflict(i)
		}
	}
	for i, w := range writes {
		if m.held(w.hold) {
			reasons.conflict(i)
		}
	}
	return reasons.cancelled()
}

// commitAll evaluates every action on the items as they are and, if all agree, makes every change.
func (m *Model) commitAll(now time.Time, writes []*write) (map[string]units, error) {
	reasons := newReasons(len(writes))
	olds, changes := make([]attribute.Item, len(writes)), make([]attribute.Item, len(writes))
	sizeBytes := 0
	for i, w := range writes {
		olds[i] = w.old()
		changed, err := w.result(olds[i])
		if failed, ok := errors.AsType[*conditionFailed](err); ok {
			reasons[i] = CancellationReason{Code: reasonCondition, Message: conditionMessage, Item: failed.item}
			continue
		}
		if err != nil && !reasons.invalid(i, err) {
			return nil, err
		}
		changes[i] = changed
		sizeBytes += max(olds[i].SizeBytes(), changed.SizeBytes())
	}
	if err := reasons.cancelled(); err != nil {
		return nil, err
	}
	if sizeBytes > maxTransactBytes {
		return nil, invalidf("Collection size in bytes exceeded the limit of 4 MB for a transaction")
	}
	used := map[string]units{}
	for i, w := range writes {
		taken := units{table: writeUnits(olds[i].SizeBytes())}
		if w.kind != kindCheck {
			taken = w.table.commit(now, m.lags, olds[i], changes[i])
		}
		sum := used[w.table.name]
		sum.plus(taken.times(2))
		used[w.table.name] = sum
	}
	return used, nil
}

// reasons are the cancellation reasons of a transaction, one for each action.
type reasons []CancellationReason

func newReasons(n int) reasons {
	return slices.Repeat(reasons{{Code: reasonNone}}, n)
}

func (r reasons) conflict(i int) {
	r[i] = CancellationReason{Code: reasonConflict, Message: conflictMessage}
}

// invalid notes a validation error of action i; it returns false for any other error.
func (r reasons) invalid(i int, err error) bool {
	message, ok := validationMessage(err)
	if ok {
		r[i] = CancellationReason{Code: reasonInvalid, Message: message}
	}
	return ok
}

// cancelled returns the error of a transaction that has a reason not to happen, nil if it has none.
func (r reasons) cancelled() error {
	codes, found := make([]string, len(r)), false
	for i, reason := range r {
		codes[i] = reason.Code
		found = found || reason.Code != reasonNone
	}
	if !found {
		return nil
	}
	message := fmt.Sprintf("Transaction cancelled, please refer cancellation reasons for specific reasons [%s]", strings.Join(codes, ", "))
	return &wire.Error{Code: "TransactionCanceledException", Members: map[string]any{
		"Message": message, "CancellationReasons": []CancellationReason(r),
	}}
}

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
	return tables, reasons.cancelled()
}
