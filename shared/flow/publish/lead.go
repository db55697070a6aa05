package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// Lead publishes and hints until ctx is done, which is no error, or until another replica has taken over, which is
// Conflict. Everything known must have been observed before: what is published first is taken to be the whole cluster.
func (f *Publisher) Lead(ctx context.Context) error {
	f.assume()
	for {
		wait, err := f.step(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		f.config.Wait(ctx, f.wake, wait)
		if ctx.Err() != nil {
			return nil
		}
	}
}

// assume begins a leadership: nothing is published, and everything that waits is new.
func (f *Publisher) assume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leadership = leadership{
		manifest: model.Manifest{Cluster: f.config.Cluster, WatcherOwner: f.config.Owner},
		whole:    f.whole, snapshotAt: f.snapshotAt, keptAt: f.keptAt, renewedAt: f.renewedAt,
	}
	f.anew(f.config.Now())
}

// step does whatever is due and returns how long nothing more will be, unless something is observed. The error is that
// another replica leads.
func (f *Publisher) step(ctx context.Context) (time.Duration, error) {
	// 1. A leadership has an epoch of its own.
	if f.epoch == 0 && f.publishPause.over(f.config.Now()) {
		if err := f.newEpoch(ctx); err != nil {
			f.failedToPublish("increment the epoch", err)
		}
	}
	if f.epoch == 0 {
		return f.publishPause.until.Sub(f.config.Now()), nil
	}
	// 2. Publish while there is something to publish: the batch that closes now needs its state out first.
	for f.publishPause.over(f.config.Now()) && f.prepare() {
		err := f.publish(ctx)
		if lostLease(err) {
			return 0, f.stepDown(err)
		}
		if err != nil {
			f.failedToPublish("publish", err)
			break
		}
		f.publishPause = pause{}
	}
	// 3. Then the hint.
	f.sendHint(ctx)
	f.sendEnd(ctx)
	f.sendEmpty(ctx)
	// 4. And a heartbeat, and that what was published is there.
	f.keep(ctx)
	if err := f.keepAlive(ctx); err != nil {
		return 0, f.stepDown(err)
	}
	return f.idle(), nil
}

func (f *Publisher) newEpoch(ctx context.Context) error {
	err := f.call(ctx, func(ctx context.Context) (err error) {
		f.epoch, err = f.config.Manifests.NextEpoch(ctx, f.config.Cluster, f.config.Owner)
		return err
	})
	if err != nil {
		f.epoch = 0
		return err
	}
	f.manifest.Epoch, f.publishPause = f.epoch, pause{}
	f.inherit(ctx)
	f.log(Note{What: "leading", Waiting: f.PendingPods()})
	return nil
}

// prepare closes the batch if it is time, and reports whether there is a publication to carry on with.
func (f *Publisher) prepare() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.config.Now()
	f.retryHints(now)
	f.recheckHeadroom(now)
	if f.closable(f.head) && !now.Before(f.batch.closesAt(&f.settings)) {
		f.closeBatch(now, f.seqOfNow(&f.gathered))
	}
	if f.publishing == nil && f.publishDue(&f.gathered, now) {
		f.begin(&f.gathered, f.config.Cluster, now)
	}
	return f.publishing != nil
}

// keepAlive sends a heartbeat where it is time. The error is that another replica leads.
func (f *Publisher) keepAlive(ctx context.Context) error {
	now := f.config.Now()
	if f.publishing != nil || f.manifest.SnapshotKey == "" || now.Before(f.heartbeatAt.Add(f.every((*gathered).heartbeatEvery))) ||
		!f.publishPause.over(now) {
		return nil
	}
	err := f.heartbeat(ctx)
	if fault.Is(err, fault.NotFound) { // somebody took the manifest away
		err = f.point(ctx, f.manifest, now)
	}
	if err == nil || lostLease(err) {
		return err
	}
	f.failedToPublish("send a heartbeat", err)
	return nil
}

// idle returns how long there is nothing to do.
func (f *Publisher) idle() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.config.Now()
	next := earlier(f.heartbeatAt.Add(f.heartbeatEvery()), f.keptAt.Add(f.keepEvery()))
	next = earlier(next, f.retryAt())
	next = earlier(next, f.headroom.due(&f.settings))
	if f.closable(f.head) {
		next = earlier(next, f.batch.closesAt(&f.settings))
	}
	if !f.dirtySince.IsZero() {
		next = earlier(next, f.dirtySince.Add(f.settings.IdleWindow))
	}
	if f.pending != nil {
		next = earlier(next, f.hintPause.until)
	}
	if next.Before(f.publishPause.until) && f.publishPause.until.After(now) {
		next = f.publishPause.until
	}
	next = earlier(next, f.endDue()) // which waits for nothing that is published
	next = earlier(next, f.disruptionDue())
	return max(next.Sub(now), time.Millisecond)
}

func (f *Publisher) failedToPublish(what string, err error) {
	f.publishPause.failed(f.config.Now(), &f.settings)
	f.problem(what, err)
}

func (f *Publisher) stepDown(err error) error {
	f.log(Note{What: "lost lease", Seq: f.head, Err: err})
	return fmt.Errorf("epoch %d of cluster %s is over: %w", f.epoch, f.config.Cluster, err)
}
