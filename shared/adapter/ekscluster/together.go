package ekscluster

import (
	"context"
	"sync"
)

// together lets callers share one answer: whoever asks while a call is under way gets the next one's, together with all
// who came meanwhile. So nobody gets an answer to a question that was asked before his, and however many ask side by
// side there is never more than one call.
type together[T any] struct {
	mu      sync.Mutex
	running bool
	next    *answer[T] // nil = nobody waits for the next call
}

// answer is what a call came to, once done is closed.
type answer[T any] struct {
	done  chan struct{}
	value T
	err   error
}

// get returns what a call of ask that begins now or later comes to; ctx is how long the caller waits. What is returned
// is shared and must not be changed.
func (t *together[T]) get(ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	t.mu.Lock()
	if t.next == nil {
		t.next = &answer[T]{done: make(chan struct{})}
	}
	mine := t.next
	if !t.running {
		t.begin(ctx, ask)
	}
	t.mu.Unlock()
	select {
	case <-mine.done:
		return mine.value, mine.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// begin makes the next call; the lock is held. It is made for many and so does not end with the one who happened to
// begin it, but with the client's own time limits.
func (t *together[T]) begin(ctx context.Context, ask func(context.Context) (T, error)) {
	a := t.next
	t.next, t.running = nil, true
	ctx = context.WithoutCancel(ctx)
	go func() {
		a.value, a.err = ask(ctx)
		close(a.done)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.running = false
		if t.next != nil {
			t.begin(ctx, ask)
		}
	}()
}
