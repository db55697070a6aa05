package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/wire"
)

// How often answers are looked for: soon for what was asked just now, less often for what takes its time.
const (
	pollSoon    = 25 * time.Millisecond
	pollLater   = 100 * time.Millisecond
	soonFor     = 500 * time.Millisecond
	pollBatch   = 100 // keys of a batch, as DynamoDB takes them
	pollTimeout = 2 * time.Second
)

// poller looks for the answers to all requests of one cluster that wait, together: one call for up to a hundred of
// them. While none waits nothing runs.
type poller struct {
	cluster string
	answers *Answers

	mu      sync.Mutex
	waiting map[string]*pendingRequest // by id
	looking bool
}

// pendingRequest is one request that waits.
type pendingRequest struct {
	since time.Time
	known state
	ready chan struct{} // closed when there is an answer or an error
}

// wait returns what is known of a request once it is answered, or when ctx ends.
func (d *poller) wait(ctx context.Context, r wire.RelayRequest) state {
	entry := &pendingRequest{since: time.Now(), ready: make(chan struct{})}
	d.mu.Lock()
	if d.waiting == nil {
		d.waiting = map[string]*pendingRequest{}
	}
	d.waiting[r.ID] = entry
	if !d.looking {
		d.looking = true
		go d.poll(context.WithoutCancel(ctx))
	}
	d.mu.Unlock()
	select {
	case <-entry.ready:
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, r.ID)
	return entry.known
}

// poll asks for answers again and again until nobody waits. ctx has the values of a request and not its end.
func (d *poller) poll(ctx context.Context) {
	for {
		time.Sleep(d.pause())
		ids, ok := d.ids()
		if !ok {
			return
		}
		for batch := range slices.Chunk(ids, pollBatch) {
			asking, cancel := context.WithTimeout(ctx, pollTimeout)
			found, err := d.answers.read(asking, d.cluster, batch)
			cancel()
			d.deliver(batch, found, err)
		}
	}
}

// pause is how long to wait before the next check.
func (d *poller) pause() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, entry := range d.waiting {
		if time.Since(entry.since) < soonFor {
			return pollSoon
		}
	}
	return pollLater
}

// ids are those that wait. Where none does the looking has ended.
func (d *poller) ids() ([]string, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var ids []string
	for id, entry := range d.waiting {
		select {
		case <-entry.ready:
		default:
			ids = append(ids, id)
		}
	}
	d.looking = len(d.waiting) > 0
	return ids, d.looking
}

// deliver wakes those whose answers are there. An error of looking is nobody's answer: it is tried again while somebody
// waits, and is what they learn if it never gets better.
func (d *poller) deliver(ids []string, found map[string]state, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		entry := d.waiting[id]
		if entry == nil {
			continue
		}
		if err != nil {
			entry.known.err = err
			continue
		}
		known, ok := found[id]
		if !ok {
			known.taken = entry.known.taken
		}
		entry.known = known
		if known.sealed != nil || known.object != "" {
			close(entry.ready)
		}
	}
}
