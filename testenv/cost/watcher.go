package cost

import (
	"context"
	"time"

	"github.com/joiner-sh/joiner/shared/adapter/dynamoledger"
	"github.com/joiner-sh/joiner/shared/adapter/s3snapshot"
	"github.com/joiner-sh/joiner/shared/adapter/sqsqueue"
	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// watcher is the leading replica: it runs on a goroutine of its own, and only while the account waits for it.
type watcher struct {
	publisher *publish.Publisher
	watch     *world.Watch
	at        time.Time // when it goes on by itself
	wake      <-chan struct{}

	cancel context.CancelFunc
	parked chan time.Duration // it rests for so long
	resume chan struct{}
	ended  chan error
}

func newWatcher(ctx context.Context, a *Account) *watcher {
	w := &watcher{watch: a.world.Cluster.Watch(50 * time.Millisecond), parked: make(chan time.Duration), resume: make(chan struct{}), ended: make(chan error, 1)}
	ctx, w.cancel = context.WithCancel(ctx)
	ledger, store := dynamoledger.New(a.clients.dynamodb, table, dynamoledger.Clock(a.now)), s3snapshot.New(a.clients.s3, bucket)
	w.publisher = publish.New(publish.Config{
		Cluster: world.Name, Owner: "watcher-0", Publisher: store, Manifests: ledger,
		Queue: &sqsqueue.Router{Plan: a.plan()},
		Ends:  sqsqueue.Forwarder{Queue: a.plan()}, EmptyNodes: sqsqueue.Forwarder{Queue: a.plan()}, Previous: publish.NewestSnapshot{Ledger: ledger, Snapshots: store},
		Now: a.now, Settings: publish.Settings{CallTimeout: time.Minute}, // on a machine that does other things too
		Wait: func(ctx context.Context, wake <-chan struct{}, d time.Duration) {
			w.wake = wake
			select {
			case w.parked <- d:
				<-w.resume
			case <-ctx.Done():
			}
		},
	})
	if changes, err := w.watch.Poll(); err == nil {
		for _, change := range changes {
			w.publisher.Observe(change)
		}
	}
	go func() { w.ended <- w.publisher.Lead(ctx) }()
	w.rest(a)
	return w
}

// rest waits until the watcher has nothing to do.
func (w *watcher) rest(a *Account) {
	select {
	case d := <-w.parked:
		w.at = a.now().Add(d)
	case err := <-w.ended:
		panic("cost: the watcher has ended: " + err.Error()) // nobody else leads
	}
}

// act does what is due, and reports whether anything was.
func (w *watcher) act(a *Account) bool {
	acted := false
	if at, due := w.watch.Next(); due && !at.After(a.now()) {
		if changes, err := w.watch.Poll(); err == nil {
			for _, change := range changes {
				w.publisher.Observe(change)
			}
		}
		acted = true
	}
	if len(w.wake) > 0 {
		<-w.wake
		w.at = a.now()
	}
	if !w.at.After(a.now()) {
		w.resume <- struct{}{}
		w.rest(a)
		acted = true
	}
	return acted
}

func (w *watcher) close() {
	w.cancel()
	w.resume <- struct{}{}
	<-w.ended
}
