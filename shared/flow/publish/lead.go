package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
)

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
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	epoch, err := f.config.Manifests.NextEpoch(ctx, f.config.Cluster, f.config.Owner)
	if err != nil {
		return err
	}
	f.epoch, f.manifest.Epoch, f.publishPause = epoch, epoch, pause{}
	f.inherit(ctx)
	f.log(Note{What: "leading", Epoch: epoch, Waiting: f.PendingPods()})
	return nil
}

// prepare closes the batch if it is time, and reports whether there is a publication to carry on with.
func (f *Publisher) prepare() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.config.Now()
	f.retryHints(now)
	f.recheckHeadroom(now)
	if f.closable() && !now.Before(f.batch.closesAt(&f.settings)) {
		f.closeBatch(now, f.seqOfNow())
	}
	if f.publishing == nil && f.publishDue(now) {
		f.begin(now)
	}
	return f.publishing != nil
}

// seqOfNow returns the sequence number that the state of this moment has or will have.
func (f *Publisher) seqOfNow() int64 {
	seq := f.head
	if f.publishing != nil {
		seq = f.publishing.seq
	}
	if !f.dirtySince.IsZero() || seq == 0 {
		seq++
	}
	return seq
}

// sendHint sends the pending hint once the state it names is published. A failure is tried again after a pause; meanwhile
// the state goes on being published.
func (f *Publisher) sendHint(ctx context.Context) {
	f.mu.Lock()
	o := f.pending
	if o == nil || o.seq > f.head || !f.hintPause.over(f.config.Now()) {
		f.mu.Unlock()
		return
	}
	hint, ok := f.makeHint(o)
	if !ok {
		f.pending = nil
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	err := f.config.Queue.Send(ctx, hint)

	now := f.config.Now()
	f.mu.Lock()
	if err == nil {
		f.hinted(o, now)
		f.pending, f.hintPause = nil, pause{}
	} else {
		f.hintPause.failed(now, &f.settings)
	}
	waiting := len(f.pods)
	f.mu.Unlock()
	if err != nil {
		f.problem("send a hint", err)
		return
	}
	f.log(Note{What: "hint", Epoch: f.epoch, Seq: hint.Seq, Reason: string(hint.Reason), Pods: len(hint.Pods), Waiting: waiting})
}

// keepAlive sends a heartbeat where it is time. The error is that another replica leads.
func (f *Publisher) keepAlive(ctx context.Context) error {
	now := f.config.Now()
	if f.publishing != nil || f.manifest.SnapshotKey == "" || now.Before(f.nextHeartbeat()) || !f.publishPause.over(now) {
		return nil
	}
	err := f.heartbeat(ctx)
	if fault.Is(err, fault.NotFound) { // somebody took the manifest away
		err = f.point(ctx, f.manifest, now)
	}
	if err == nil || lostLease(err) {
		return err
	}
	f.publishPause.failed(f.config.Now(), &f.settings)
	f.problem("send a heartbeat", err)
	return nil
}

// nextHeartbeat is when the next heartbeat is due.
func (f *Publisher) nextHeartbeat() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.heartbeatAt.Add(f.heartbeatEvery())
}

// heartbeatEvery is how often the watcher says that it lives. Nodes are disrupted by a state that was confirmed ten seconds ago; where there is
// nothing to disrupt, and nobody waits, functions need to know no more than that a change would be published. It is called with the lock held.
func (f *Publisher) heartbeatEvery() time.Duration {
	if len(f.pods)+len(f.nodes) > 0 || f.state.ours() {
		return f.settings.Heartbeat
	}
	return max(f.settings.Heartbeat, f.settings.QuietHeartbeat)
}

// idle returns how long there is nothing to do.
func (f *Publisher) idle() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.config.Now()
	next := earlier(f.heartbeatAt.Add(f.heartbeatEvery()), f.keptAt.Add(f.keepEvery()))
	next = earlier(next, f.retryAt())
	next = earlier(next, f.headroom.due(&f.settings))
	if f.closable() {
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

func (f *Publisher) problem(what string, err error) {
	f.log(Note{What: "problem", Epoch: f.epoch, Seq: f.head, Waiting: f.PendingPods(), Err: fmt.Errorf("%s: %w", what, err)})
}

func (f *Publisher) stepDown(err error) error {
	f.log(Note{What: "lost lease", Epoch: f.epoch, Seq: f.head, Err: err})
	return fmt.Errorf("epoch %d of cluster %s is over: %w", f.epoch, f.config.Cluster, err)
}
