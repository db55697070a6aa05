package dynamodb

import (
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/dynamodb/attribute"
)

// DefaultExpiryLag is how late expired items go when nothing else is set: AWS says typically within two days.
const DefaultExpiryLag = 48 * time.Hour

// Options are what a Model is made with. The zero Options are usable.
type Options struct {
	// Clock defaults to the system clock.
	Clock clock.Clock
	// Account is the twelve digits in ARNs; default "123456789012".
	Account string
	// Region is the region in ARNs; default "us-west-2".
	Region string
	// Lags default to none for reads and indexes and DefaultExpiryLag for expiry.
	Lags *Lags
	// Durations default to none.
	Durations Durations
}

// Lags say how late the eventually consistent parts are. Each is ≥ 0.
type Lags struct {
	// Index is how long a global secondary index trails its table.
	Index time.Duration
	// Read is how old the state is that a read without ConsistentRead sees.
	Read time.Duration
	// Expiry is how long after its time to live an item is deleted. Until then reads return it.
	Expiry time.Duration
}

// Durations say how long operations stay in progress, so that they can meet. Each is ≥ 0.
type Durations struct {
	// Write is how long PutItem, UpdateItem and DeleteItem hold their item before they take effect. Two such
	// writes to one item do not disturb each other; a transaction that meets one is canceled.
	Write time.Duration
	// Transaction is how long TransactWriteItems holds its items before it takes effect. Every other write
	// to one of them is refused meanwhile.
	Transaction time.Duration
	// Table is how long a table stays CREATING or DELETING.
	Table time.Duration
}

// ItemRef names one item.
type ItemRef struct {
	Table string
	// Key is the primary key of the item.
	Key attribute.Item
}

// Faults are asked whether to disturb a request that nothing else would disturb. Nil members never do. They
// run under the lock of the model and must not call it.
type Faults struct {
	// Transaction is asked once for the n-th TransactWriteItems since SetFaults, n ≥ 1, with its items in order
	// of the request; it returns the indexes of those that conflict, nil for none.
	Transaction func(n int, items []ItemRef) []int
	// Write reports whether the n-th PutItem, UpdateItem or DeleteItem meets a transaction.
	Write func(n int, item ItemRef) bool
	// Batch reports whether the n-th item of all BatchGetItem and BatchWriteItem requests stays unprocessed.
	Batch func(n int, item ItemRef) bool
}

// ConflictOnTransaction makes the n-th transaction from now conflict on its action of this index, and no other.
func ConflictOnTransaction(n, index int) Faults {
	return Faults{Transaction: func(at int, _ []ItemRef) []int {
		if at == n {
			return []int{index}
		}
		return nil
	}}
}

// Model is DynamoDB in one account and region. It is safe for concurrent use; make one with NewModel.
type Model struct {
	clock   clock.Clock
	account string
	region  string

	mu        sync.Mutex // guards everything below
	tables    map[string]*table
	tokens    map[string]*tokenUse
	tokenEnds []tokenEnd // of the tokens that were used up, earliest first
	holds     map[holdKey]*hold
	lags      Lags
	durations Durations
	faults    Faults
	meter     meter
	asked     struct{ transactions, writes, batchItems int } // how often each fault was asked
}

// NewModel returns an empty Model.
func NewModel(o Options) *Model {
	m := &Model{
		clock: o.Clock, account: o.Account, region: o.Region,
		tables: map[string]*table{}, tokens: map[string]*tokenUse{}, holds: map[holdKey]*hold{},
		lags: Lags{Expiry: DefaultExpiryLag}, durations: o.Durations,
	}
	if m.clock == nil {
		m.clock = clock.System()
	}
	if m.account == "" {
		m.account = "123456789012"
	}
	if m.region == "" {
		m.region = "us-west-2"
	}
	if o.Lags != nil {
		m.lags = *o.Lags
	}
	return m
}

// SetLags changes how late the eventually consistent parts are, from the next write on.
func (m *Model) SetLags(l Lags) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lags = l
	for _, t := range m.tables {
		t.setReadLag(l.Read)
	}
}

// SetDurations changes how long operations that start from now on stay in progress.
func (m *Model) SetDurations(d Durations) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.durations = d
}

// SetFaults replaces the faults and starts counting anew.
func (m *Model) SetFaults(f Faults) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = f
	m.asked.transactions, m.asked.writes, m.asked.batchItems = 0, 0, 0
}

// begin locks the model and brings it up to its clock; the caller must call the returned function.
func (m *Model) begin() (now time.Time, end func()) {
	m.mu.Lock()
	now = m.clock.Now()
	m.advance(now)
	return now, m.mu.Unlock
}

// advance does what time alone does: tables come and go, items expire, tokens are forgotten.
func (m *Model) advance(now time.Time) {
	for name, t := range m.tables {
		if !t.goneAt.IsZero() && !now.Before(t.goneAt) {
			delete(m.tables, name)
			continue
		}
		m.expireItems(t, now)
	}
	m.forgetTokens(now)
}
