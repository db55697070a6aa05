package world

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
)

// Queue is one queue of SQS, standard or FIFO. A message that was received is hidden for its visibility timeout and then
// there again, unless it was deleted; one that was received too often goes to the dead-letter queue instead. In a FIFO
// queue a message that is hidden holds back what is behind it in its group, the same deduplication id within five
// minutes is the same message, whatever became of it, and a receive looks at the first 120,000 messages: what is behind them, of
// whatever group, has to wait.
type Queue struct {
	now     func() time.Time
	log     *Log
	options QueueOptions

	mu         sync.Mutex
	eventQueue eventqueue.Queue
	messages   []*message            // in order of arrival
	groups     map[string]int        // how many messages each has; FIFO only
	sent       map[string]remembered // by deduplication id; FIFO only
	count      int
	receipts   int
	outage     time.Time // until then nothing gets through
	chances    QueueChances
	refuse     int
}

// QueueOptions say how a queue behaves. Source of the defaults and limits: SQS developer guide, quotas.
type QueueOptions struct {
	Name        string
	FIFO        bool
	Visibility  time.Duration // 0 = 30 s
	Retention   time.Duration // 0 = 4 days
	MaxBytes    int           // of a body: 0 = 1 MiB
	MaxReceives int           // after which a message goes to Dead; 0 = never
	Dead        *Queue
	Searched    int        // messages a receive looks at, FIFO only: 0 = 120,000
	Rand        *rand.Rand // nil: nothing happens by chance
}

// QueueChances say how often something goes wrong by chance, each between 0 and 1.
type QueueChances struct {
	Duplicate float64 // a message is handed out a second time while it is hidden; at-least-once delivery. Standard only
	Delay     float64 // a message is shown up to MaxDelay late
	Reorder   float64 // a receive begins somewhere else than at the front. Standard only
	Few       float64 // a receive gives fewer than there are
	Lose      float64 // a message vanishes on its way in: not SQS, but what sends to it
}

// MaxDelay is the longest a message can be delayed. Source: SQS API reference, SendMessage.
const MaxDelay = 15 * time.Minute

// dedupWindow is how long a FIFO queue knows a deduplication id. Source: SQS developer guide.
const dedupWindow = 5 * time.Minute

// Outgoing is a message to be sent.
type Outgoing struct {
	Body  string
	Group string        // FIFO only, and needed there
	Dedup string        // FIFO only, and needed there
	Delay time.Duration // 0 ≤ Delay ≤ MaxDelay; standard only
}

// Message is one that was received.
type Message struct {
	ID       string
	Body     string
	Group    string
	Receipt  string // what deletes it; of this receive
	Receives int    // how often it was received, this time included
	Sent     time.Time
}

// message is one in the queue.
type message struct {
	Message
	visibleAt time.Time // it is hidden before
}

type remembered struct {
	id string
	at time.Time
}

// NewQueue returns an empty queue. log may be nil.
func NewQueue(now func() time.Time, log *Log, options QueueOptions) *Queue {
	if options.Visibility == 0 {
		options.Visibility = 30 * time.Second
	}
	if options.Retention == 0 {
		options.Retention = 4 * 24 * time.Hour
	}
	if options.MaxBytes == 0 {
		options.MaxBytes = 1 << 20
	}
	if options.Searched == 0 {
		options.Searched = 120_000
	}
	if log == nil {
		log = NewLog(now)
	}
	return &Queue{now: now, log: log, options: options, groups: map[string]int{}, sent: map[string]remembered{}}
}

// enter is how every call begins: what became due happens first.
func (q *Queue) enter() func() {
	q.mu.Lock()
	q.happen(q.now())
	return q.mu.Unlock
}

func (q *Queue) happen(now time.Time) {
	if next, due := q.eventQueue.Next(); due && !next.After(now) {
		_ = q.log.As("", func() error { q.eventQueue.Run(now); return nil })
	}
}

// Next returns when something happens by itself: a message is shown, shown again, or lost to age.
func (q *Queue) Next() (time.Time, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.eventQueue.Next()
}

// Run lets happen what is due.
func (q *Queue) Run(now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.happen(now)
}

func (q *Queue) note(m *message, verb string) {
	q.log.Note(MessageMoved{Queue: q.options.Name, ID: m.ID, Group: m.Group, Verb: verb, Receives: m.Receives})
}

// Send puts a message in and returns its id: that of the first of its deduplication id, where that is known. Invalid for
// one that is too large or not for this kind of queue.
func (q *Queue) Send(_ context.Context, out Outgoing) (string, error) {
	defer q.enter()()
	if err := q.trouble(); err != nil {
		return "", err
	}
	switch fifo := q.options.FIFO; {
	case out.Body == "" || len(out.Body) > q.options.MaxBytes:
		return "", fault.New(fault.Invalid, "InvalidParameterValue", "a message of %d bytes; 1 to %d are taken", len(out.Body), q.options.MaxBytes)
	case fifo && (out.Group == "" || out.Dedup == ""):
		return "", fault.New(fault.Invalid, "MissingParameter", "a FIFO queue needs MessageGroupId and MessageDeduplicationId")
	case fifo && out.Delay != 0, !fifo && out.Dedup != "", out.Delay < 0 || out.Delay > MaxDelay:
		return "", fault.New(fault.Invalid, "InvalidParameterValue", "delay %v or deduplication id %q is not for this queue", out.Delay, out.Dedup)
	}
	now := q.now()
	if before, known := q.sent[out.Dedup]; q.options.FIFO && known && now.Sub(before.at) < dedupWindow {
		q.log.Note(MessageMoved{Queue: q.options.Name, ID: before.id, Group: out.Group, Verb: "duplicate"})
		return before.id, nil
	}
	q.count++
	m := &message{Message: Message{ID: fmt.Sprintf("%s-%d", q.options.Name, q.count), Body: out.Body, Group: out.Group, Sent: now}, visibleAt: now.Add(out.Delay)}
	if q.options.FIFO {
		q.sent[out.Dedup] = remembered{m.ID, now}
		q.eventQueue.Add(now.Add(dedupWindow), func() { delete(q.sent, out.Dedup) })
	}
	q.note(m, "send")
	if q.by(q.chances.Lose) {
		q.note(m, "lost")
		return m.ID, nil
	}
	if q.by(q.chances.Delay) {
		m.visibleAt = now.Add(out.Delay + time.Duration(q.options.Rand.Int64N(int64(MaxDelay/time.Millisecond)))*time.Millisecond)
	}
	q.add(m)
	return m.ID, nil
}

// add puts a message at the end.
func (q *Queue) add(m *message) {
	q.messages = append(q.messages, m)
	q.groups[m.Group]++
	if m.visibleAt.After(q.now()) {
		q.eventQueue.Add(m.visibleAt, func() {}) // somebody may want to look then
	}
	q.eventQueue.Add(m.Sent.Add(q.options.Retention), func() {
		if q.remove(m) {
			q.note(m, "lost")
		}
	})
}

func (q *Queue) remove(m *message) bool {
	i := slices.Index(q.messages, m)
	if i < 0 {
		return false
	}
	q.messages = slices.Delete(q.messages, i, i+1)
	if q.groups[m.Group]--; q.groups[m.Group] == 0 {
		delete(q.groups, m.Group)
	}
	return true
}

// Receive hands out up to max messages, 1 ≤ max ≤ 10, and hides them. A FIFO queue gives messages of a group in order,
// and none behind one that is hidden.
func (q *Queue) Receive(_ context.Context, max int) ([]Message, error) {
	defer q.enter()()
	if err := q.trouble(); err != nil {
		return nil, err
	}
	if max < 1 || max > 10 {
		return nil, fault.New(fault.Invalid, "InvalidParameterValue", "receive %d messages; 1 to 10 may be asked for", max)
	}
	if max > 1 && q.by(q.chances.Few) {
		max = 1 + q.options.Rand.IntN(max-1)
	}
	var out []Message
	for _, m := range q.pick(max) {
		q.receipts++
		m.Receives++
		m.Receipt = fmt.Sprintf("%s#%d", m.ID, q.receipts)
		q.note(m, "receive")
		if !q.options.FIFO && q.by(q.chances.Duplicate) {
			out = append(out, m.Message)
			continue // it is not hidden: the next receive gives it again
		}
		q.hide(m, q.options.Visibility)
		out = append(out, m.Message)
	}
	return out, nil
}

// pick chooses messages to hand out, having moved those received too often to the dead-letter queue.
func (q *Queue) pick(max int) []*message {
	now, blocked := q.now(), map[string]bool{}
	var picked, dead []*message
	from := 0
	if n := len(q.messages); n > 1 && !q.options.FIFO && q.by(q.chances.Reorder) {
		from = q.options.Rand.IntN(n)
	}
	for i := range q.messages {
		m := q.messages[(from+i)%len(q.messages)]
		if len(picked) == max || q.options.FIFO && (len(blocked) == len(q.groups) || i == q.options.Searched) {
			break
		}
		switch {
		case blocked[m.Group]:
		case m.visibleAt.After(now):
			if q.options.FIFO {
				blocked[m.Group] = true
			}
		case q.options.Dead != nil && q.options.MaxReceives > 0 && m.Receives >= q.options.MaxReceives:
			dead = append(dead, m)
		default:
			picked = append(picked, m)
		}
	}
	for _, m := range dead {
		q.remove(m)
		q.note(m, "dead")
		q.options.Dead.take(m)
	}
	return picked
}

// take puts a message in that another queue gave up.
func (q *Queue) take(m *message) {
	defer q.enter()()
	moved := *m
	moved.Receipt, moved.visibleAt = "", q.now()
	if q.options.FIFO {
		moved.Sent = q.now() // its retention begins anew
	}
	q.add(&moved)
}

// hide hides a message that was received for d.
func (q *Queue) hide(m *message, d time.Duration) {
	m.visibleAt = q.now().Add(d)
	receipt, until := m.Receipt, m.visibleAt
	q.eventQueue.Add(until, func() {
		if m.Receipt == receipt && m.visibleAt.Equal(until) && slices.Contains(q.messages, m) {
			q.note(m, "return")
		}
	})
}

// find returns the message a receipt was given out for; nil where it is gone. current says that it was not received
// again since.
func (q *Queue) find(receipt string) (m *message, current bool) {
	id, _, _ := strings.Cut(receipt, "#")
	for _, m := range q.messages {
		if m.ID == id {
			return m, m.Receipt == receipt
		}
	}
	return nil, false
}

// Delete deletes a message by its receipt. One that is gone is no error. With the receipt of an earlier receive a standard
// queue deletes nothing and says nothing; a FIFO queue refuses it, and one whose message is there again.
func (q *Queue) Delete(_ context.Context, receipt string) error {
	defer q.enter()()
	if err := q.trouble(); err != nil {
		return err
	}
	m, current := q.find(receipt)
	switch {
	case m == nil:
		return nil
	case q.options.FIFO && (!current || !m.visibleAt.After(q.now())):
		return fault.New(fault.Invalid, "InvalidParameterValue", "the receipt handle has expired")
	case current:
		q.remove(m)
		q.note(m, "delete")
	}
	return nil
}

// Hide changes for how long a message in flight stays hidden from now on; 0 shows it at once.
func (q *Queue) Hide(_ context.Context, receipt string, d time.Duration) error {
	defer q.enter()()
	if err := q.trouble(); err != nil {
		return err
	}
	m, current := q.find(receipt)
	if m == nil || !current || !m.visibleAt.After(q.now()) {
		return fault.New(fault.Invalid, "MessageNotInflight", "the message is not in flight")
	}
	if d == 0 {
		m.visibleAt = q.now()
		q.note(m, "return")
		return nil
	}
	q.hide(m, d)
	return nil
}

// Visible returns how many messages could be received now, were there no groups, counted up to most.
func (q *Queue) Visible(most int) int {
	defer q.enter()()
	n, now := 0, q.now()
	for _, m := range q.messages {
		if n == most {
			break
		}
		if !m.visibleAt.After(now) {
			n++
		}
	}
	return n
}

// Len returns how many messages are in the queue, hidden ones included.
func (q *Queue) Len() int {
	defer q.enter()()
	return len(q.messages)
}

// Peek returns every message in order of arrival, without receiving it.
func (q *Queue) Peek() []Message {
	defer q.enter()()
	out := make([]Message, len(q.messages))
	for i, m := range q.messages {
		out[i] = m.Message
	}
	return out
}

// Redrive puts every message of a dead-letter queue into another queue, as an operator would.
func (q *Queue) Redrive(to *Queue) {
	q.mu.Lock()
	messages := q.messages
	q.messages, q.groups = nil, map[string]int{}
	q.mu.Unlock()
	for _, m := range messages {
		m.Receives = 0
		to.take(m)
	}
}

// SetChances replaces the chances.
func (q *Queue) SetChances(c QueueChances) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.chances = c
}

// Unreachable lets no call through until a time.
func (q *Queue) Unreachable(until time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.outage = until
}

// ThrottleNext refuses the next n calls for being too many.
func (q *Queue) ThrottleNext(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.refuse = n
}

// Heal ends all trouble. What was held back on its way is shown.
func (q *Queue) Heal() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.chances, q.outage, q.refuse = QueueChances{}, time.Time{}, 0
	for _, m := range q.messages {
		if m.Receives == 0 && m.visibleAt.After(q.now()) {
			m.visibleAt = q.now()
		}
	}
}

func (q *Queue) trouble() error {
	if q.now().Before(q.outage) {
		return unreachable()
	}
	if q.refuse > 0 {
		q.refuse--
		return fault.New(fault.Throttled, "RequestThrottled", "the request was denied due to request throttling")
	}
	return nil
}

func (q *Queue) by(chance float64) bool {
	return chance > 0 && q.options.Rand != nil && q.options.Rand.Float64() < chance
}

// HintQueue is a FIFO queue of hints, one group for each cluster.
type HintQueue struct{ *Queue }

// Send puts a hint in. The same hint again within five minutes adds nothing.
func (q HintQueue) Send(ctx context.Context, hint wire.Hint) error {
	body, err := wire.EncodeHint(hint)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(hint.Cluster + "\n" + hint.DedupID()))
	_, err = q.Queue.Send(ctx, Outgoing{Body: string(body), Group: hint.Cluster, Dedup: hex.EncodeToString(sum[:])})
	return err
}

// Resync asks for a full pass over a cluster.
func (q HintQueue) Resync(ctx context.Context, cluster, tick string) error {
	return q.Send(ctx, wire.Hint{Cluster: cluster, Reason: wire.ReasonResync, Tick: tick})
}
