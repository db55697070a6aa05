package cloud

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"
)

// keptRequests is how many requests the log remembers one by one.
const keptRequests = 10_000

// Request is one request that was answered, refused or dropped.
type Request struct {
	Time          time.Time // arrival
	Duration      time.Duration
	Service       string // as in the credential scope; "" when unknown
	Action        string // e.g. "SendMessage"; method and path when it has no name
	CallerARN     string // "" when the signature did not hold
	RequestID     string
	Status        int
	ErrorCode     string // "" when it succeeded
	Dropped       bool   // a fault closed the connection instead of answering
	RequestBytes  int64  // of the body
	ResponseBytes int64  // of the body
}

// Count sums the requests of one action since the start.
type Count struct {
	Service       string
	Action        string
	Requests      int64 // answered, refused or dropped
	Errors        int64 // those among them with an error code
	RequestBytes  int64
	ResponseBytes int64
}

type requestLog struct {
	mu     sync.Mutex
	recent []Request // oldest first
	counts map[[2]string]Count
	watch  map[int]func(Request)
	nextID int
}

func (l *requestLog) add(r Request) {
	l.mu.Lock()
	if l.counts == nil {
		l.counts = map[[2]string]Count{}
	}
	key := [2]string{r.Service, r.Action}
	count := l.counts[key]
	count.Service, count.Action = r.Service, r.Action
	count.Requests++
	if r.ErrorCode != "" {
		count.Errors++
	}
	count.RequestBytes += r.RequestBytes
	count.ResponseBytes += r.ResponseBytes
	l.counts[key] = count
	if len(l.recent) >= 2*keptRequests {
		l.recent = slices.Clone(l.recent[keptRequests:])
	}
	l.recent = append(l.recent, r)
	watchers := slices.Collect(maps.Values(l.watch))
	l.mu.Unlock()
	for _, w := range watchers {
		w(r)
	}
}

// Counts returns how often each action was called, sorted by service and
// action.
func (c *Cloud) Counts() []Count {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.log.counts), func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Action, b.Action))
	})
}

// CountOf returns the count of one action; zero when it was never called.
func (c *Cloud) CountOf(service, action string) Count {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	count := c.log.counts[[2]string{service, action}]
	count.Service, count.Action = service, action
	return count
}

// Requests returns the most recent requests, oldest first: at least the last
// ten thousand.
func (c *Cloud) Requests() []Request {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return slices.Clone(c.log.recent)
}

// Watch calls f after every request, on the goroutine that answered it, until
// stop is called. f must not block.
func (c *Cloud) Watch(f func(Request)) (stop func()) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	if c.log.watch == nil {
		c.log.watch = map[int]func(Request){}
	}
	id := c.log.nextID
	c.log.nextID++
	c.log.watch[id] = f
	return func() {
		c.log.mu.Lock()
		defer c.log.mu.Unlock()
		delete(c.log.watch, id)
	}
}
