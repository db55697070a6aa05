package dynamodb

import (
	"errors"
	"sync"

	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// Usage is what on-demand tables are billed by: request units, those of indexes included. Source: DynamoDB developer guide,
// "DynamoDB on-demand capacity mode" and "Amazon DynamoDB Transactions: How it works".
type Usage struct{ ReadUnits, WriteUnits float64 }

// meter counts what requests take, since the model was made.
type meter struct {
	mu   sync.Mutex
	used Usage
}

func (m *meter) read(u units)  { m.add(Usage{ReadUnits: u.total()}) }
func (m *meter) write(u units) { m.add(Usage{WriteUnits: u.total()}) }

// refused counts a write whose condition did not hold: it takes what the item there is, times factor, and so does one of an item
// that is not there. Any other error takes nothing.
func (m *meter) refused(err error, old attribute.Item, factor float64) {
	if _, condition := errors.AsType[*conditionFailed](err); condition {
		m.add(Usage{WriteUnits: factor * writeUnits(old.SizeBytes())})
	}
}

func (m *meter) add(u Usage) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.used.ReadUnits += u.ReadUnits
	m.used.WriteUnits += u.WriteUnits
}

// Usage returns what all requests took since the model was made.
func (m *Model) Usage() Usage {
	m.meter.mu.Lock()
	defer m.meter.mu.Unlock()
	return m.meter.used
}

// SizeBytes returns what the items of all tables are billed by: names and values, and 100 bytes for each item. Source: DynamoDB
// pricing, "Data storage".
func (m *Model) SizeBytes() int64 {
	_, end := m.begin()
	defer end()
	var sum int64
	for _, t := range m.tables {
		items, sizeBytes := t.items.count()
		sum += int64(sizeBytes) + 100*int64(items)
	}
	return sum
}
