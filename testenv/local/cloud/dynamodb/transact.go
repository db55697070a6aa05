package dynamodb

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// The limits of transactions.
const (
	maxTransactItems = 100
	maxTransactBytes = 4 << 20
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
	if err := reasons.canceled(); err != nil {
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
	return reasons.canceled()
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
			m.meter.refused(err, olds[i], 2)
			reasons[i] = CancellationReason{Code: reasonCondition, Message: conditionMessage, Item: failed.item}
			continue
		}
		if err != nil && !reasons.invalid(i, err) {
			return nil, err
		}
		changes[i] = changed
		sizeBytes += max(olds[i].SizeBytes(), changed.SizeBytes())
	}
	if err := reasons.canceled(); err != nil {
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
		m.meter.write(taken.times(2))
		sum.plus(taken.times(2))
		used[w.table.name] = sum
	}
	return used, nil
}
