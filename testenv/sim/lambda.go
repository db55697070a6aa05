package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// function is one of the cloud's functions with what invokes it: the poller of its queue, and the tick of each minute.
type function struct {
	*engine
	name    string
	queue   *world.Queue
	onTick  func(ctx context.Context, p *process, tick string) error // nil where there is none
	onBatch func(ctx context.Context, p *process, batch []world.Message) error
	polls   int // on the agenda
	most    int // batches it is given at once; 0 = as many as there are
	given   int // batches it is at work on
	atOnce  int // invocations that get the same batch at once; 0 = one

	batches int         // it was given
	kept    []keptBatch // some of them
}

// attempts is how often an asynchronous invocation is tried. Source: Lambda developer guide, asynchronous invocation.
const attempts = 3

// pollers is how many batches are received side by side where functions are limited at all. Source: Lambda developer guide, SQS
// event source mappings: polling begins with five concurrent batches.
const pollers = 5

// batchSize is how many messages one batch has at most. Source: the event source mappings of infra/cdk.
const batchSize = 10

// due polls where messages can be received, unless as many batches are being worked on as may be.
func (f *function) due() {
	visible := -1
	for f.polls == 0 || f.most > 0 && f.polls < pollers && f.polls*batchSize < visible {
		if f.most > 0 && f.given+f.polls >= f.most {
			return
		}
		if visible < 0 {
			visible = f.queue.Visible(pollers * batchSize)
		}
		if visible == 0 {
			return
		}
		f.polls++
		f.eventQueue.Add(f.now().Add(f.steady.skewed(20*time.Millisecond, 600*time.Millisecond)), func() {
			f.polls--
			f.poll()
		})
	}
}

// tick invokes the function for the tick of a minute; where that fails it is tried again, after one minute and after two.
func (f *function) tick(tick string, attempt int) {
	again := func() {
		if attempt < attempts {
			f.eventQueue.Add(f.now().Add(time.Duration(attempt)*time.Minute), func() { f.tick(tick, attempt+1) })
		}
	}
	key := fmt.Sprintf("tick %s %d", tick, attempt)
	f.invoke(key, func(ctx context.Context, p *process) error { return f.onTick(ctx, p, tick) }, func(err error) {
		if err != nil {
			again()
		}
	}, again)
}

// poll takes messages from the queue and invokes the function with them. Those it is done with are deleted; the others
// are there again after their visibility timeout.
func (f *function) poll() {
	var batch []world.Message
	_ = f.world.Log.As("poller", func() (err error) {
		batch, err = f.queue.Receive(context.Background(), batchSize)
		return err // the next poll comes anyway
	})
	f.check()
	if len(batch) == 0 {
		return
	}
	f.keep(batch)
	times := max(1, f.atOnce)
	if f.hits(KindDouble, batch[0].Receipt, 0) {
		times *= 2 // another poller has the same batch: a receipt that came too late
	}
	for i := range times {
		key := fmt.Sprintf("%s %d", batch[0].Receipt, i)
		f.given++
		f.invoke(key, func(ctx context.Context, p *process) error { return f.onBatch(ctx, p, batch) }, func(err error) {
			f.given--
			var rest *unfinished
			switch {
			case err == nil:
				f.done(batch)
			case errors.As(err, &rest):
				f.done(slices.DeleteFunc(slices.Clone(batch), func(m world.Message) bool { return slices.Contains(rest.messages, m.ID) }))
			}
		}, func() { f.given-- })
	}
}

// done deletes messages.
func (f *function) done(batch []world.Message) {
	_ = f.world.Log.As("poller", func() error {
		for _, message := range batch {
			_ = f.queue.Delete(context.Background(), message.Receipt) // a receipt may have lapsed; the next receive has another
		}
		return nil
	})
	f.check()
}

// invoke runs a body in an invocation that is killed at its timeout. refused is called where there is none. key tells this
// invocation from others by what it is for.
func (f *function) invoke(key string, body func(context.Context, *process) error, ended func(error), refused func()) {
	key = f.name + " " + key
	if f.hits(KindThrottle, key, 0) {
		refused()
		return
	}
	start := f.now()
	if f.hits(KindCold, key, 0) {
		start = start.Add(f.steady.between(100*time.Millisecond, 10*time.Second))
	}
	f.eventQueue.Add(start, func() { f.spawn(f.name, key, world.InvocationTimeout, body, ended) })
}
