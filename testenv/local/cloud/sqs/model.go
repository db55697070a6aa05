package sqs

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/testenv/local/cloud/clock"
	"github.com/joiner-sh/joiner/testenv/local/cloud/reading"
)

const (
	// recreateAfter is how long the name of a deleted queue stays taken.
	recreateAfter = 60 * time.Second
	// purgeEvery is how often a queue may be purged.
	purgeEvery = 60 * time.Second
)

// Options of a model.
type Options struct {
	Clock   clock.Clock // nil: the system's
	Account string      // twelve digits
	Region  string
	// Readings are of what SQS leaves open; nil means what the environment says.
	Readings *reading.Set
	Searched int // messages that a receive from a FIFO queue looks at, the oldest first; 0 = as many as SQS does, 120,000
}

// Model holds the queues of an account and region. It is safe for concurrent
// use.
type Model struct {
	clock   clock.Clock
	account string
	region  string
	reads   *reading.Set
	search  int

	mu      sync.Mutex
	queues  map[string]*queue    // by name
	deleted map[string]time.Time // by name: when it was deleted
}

// NewModel returns a model without queues.
func NewModel(o Options) *Model {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	return &Model{
		clock: o.Clock, account: o.Account, region: o.Region, reads: o.Readings, search: cmp.Or(o.Searched, maxSearched),
		queues: map[string]*queue{}, deleted: map[string]time.Time{},
	}
}

// Depth is what a queue holds.
type Depth struct {
	Visible  int // could be received, blocked FIFO groups included
	InFlight int // received, not deleted, not visible again
	Delayed  int // sent, not yet visible for the first time
}

// Depth returns what the named queue holds now; ok is false when there is no
// such queue.
func (m *Model) Depth(name string) (d Depth, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.queues[name]
	if q == nil {
		return Depth{}, false
	}
	return q.depth(m.clock.Now()), true
}

// KeyOf returns the id or ARN of the KMS key of the named queue; "" where it has none, or there is no such queue.
func (m *Model) KeyOf(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.queues[name]; q != nil {
		return q.settings.values["KmsMasterKeyId"]
	}
	return ""
}

// QueueNames returns the names of all queues, sorted; never nil.
func (m *Model) QueueNames() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names("")
}

// names returns the names that begin with prefix, sorted. The lock is held.
func (m *Model) names(prefix string) []string {
	names := []string{}
	for name := range m.queues {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (m *Model) arn(name string) string {
	return fmt.Sprintf("arn:aws:sqs:%s:%s:%s", m.region, m.account, name)
}

// byARN returns the queue with this ARN, or nil. The lock is held.
func (m *Model) byARN(arn string) *queue {
	name, ok := strings.CutPrefix(arn, m.arn(""))
	if !ok {
		return nil
	}
	return m.queues[name]
}

// byURL returns the queue a URL names by its last two path segments; the host
// does not count. The lock is held.
func (m *Model) byURL(url string) (*queue, error) {
	if url == "" {
		return nil, missing("QueueUrl")
	}
	parts := strings.Split(strings.TrimRight(url, "/"), "/")
	n := len(parts)
	if n >= 2 && parts[n-2] == m.account {
		if q := m.queues[parts[n-1]]; q != nil {
			return q, nil
		}
	}
	return nil, errNoQueue()
}

// createQueue makes a queue, or finds the one that is there already with the
// same attributes.
func (m *Model) createQueue(name string, attributes, tags map[string]string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	settings, err := m.newSettings(name, attributes)
	if err != nil {
		return err
	}
	if q := m.queues[name]; q != nil {
		if differs := q.settings.differs(attributes, settings); differs != "" {
			return errQueueExists(differs)
		}
		return nil
	}
	now := m.clock.Now()
	if at, ok := m.deleted[name]; ok && now.Before(at.Add(recreateAfter)) {
		return errDeletedRecently()
	}
	delete(m.deleted, name)
	m.queues[name] = newQueue(name, m.arn(name), settings, tags, now)
	return nil
}

func (m *Model) deleteQueue(url string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, err := m.byURL(url)
	if err != nil {
		return err
	}
	delete(m.queues, q.name)
	m.deleted[q.name] = m.clock.Now()
	q.notify() // long polls end with an error
	return nil
}

func (m *Model) purgeQueue(url string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	q, err := m.byURL(url)
	if err != nil {
		return err
	}
	now := m.clock.Now()
	if !q.purged.IsZero() && now.Before(q.purged.Add(purgeEvery)) {
		return errPurgeInProgress(q.name)
	}
	q.purged = now
	for _, msg := range q.all() {
		q.remove(msg)
	}
	return nil
}
