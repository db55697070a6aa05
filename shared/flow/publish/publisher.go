package publish

import (
	"context"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Publisher is one replica of the watcher. Observe may be called from many goroutines, Lead from one at a time.
type Publisher struct {
	config   Config
	settings Settings
	wake     chan struct{} // holds one token when Lead should look again

	mu         sync.Mutex // guards all below against Observe; never held during a call of a port
	state      state
	pods       map[string]*waiting // that need capacity, by key
	nodes      map[string]*waiting // of ours that are starting, by name
	batch      batch
	dirtySince time.Time    // of the oldest change that is not published; zero = none
	pending    *pendingHint // nil = none
	ends       ends
	emptied    emptiedNodes
	freed      freedCapacity
	headroom   headroom
	seen       bool // what was there before anybody looked has all been observed

	// Of one leadership; only Lead's goroutine touches them.
	epoch        int64
	head         int64 // sequence number published last
	number       int64 // of the last hint
	manifest     model.Manifest
	snapshotAt   time.Time // when the full snapshot was published
	deltas       int       // since then
	deltaBytes   int
	publishing   *publication
	whole        bool      // the next publication must be a full snapshot: what was taken for the last one is known to nobody, or the full snapshot is gone
	keptAt       time.Time // when the full snapshot was last seen to be there
	renewedAt    time.Time // when a full snapshot was last called for because others found an object gone; zero = never
	heartbeatAt  time.Time
	publishPause pause
	hintPause    pause
	compressor   wire.Compressor
}

// New returns a forwarder that has seen nothing.
func New(config Config) *Publisher {
	return &Publisher{
		config: config, settings: config.Settings.withDefaults(), wake: make(chan struct{}, 1),
		state: state{shapes: &wire.Shapes{}}, pods: make(map[string]*waiting), nodes: make(map[string]*waiting),
	}
}

// Observe takes in a change of the cluster. It does not block on anything but the taking in of other changes.
func (f *Publisher) Observe(c wire.Change) {
	now := f.config.Now()
	f.mu.Lock()
	before, pod, buffer := f.state.versionOf(&c), f.state.podBefore(&c), f.state.bufferBefore(&c)
	quiet := f.batch.open() || !f.dirtySince.IsZero()
	if !f.state.apply(c) {
		f.mu.Unlock()
		return
	}
	if f.dirtySince.IsZero() {
		f.dirtySince = now
	}
	wasOpen, endsWereOpen, disruptionDue, roomDue := f.batch.open(), f.ends.batch.open(), f.disruptionDue(), f.headroom.due(&f.settings)
	f.updateWaiting(&c, before, now)
	f.noteEnds(&c, now)
	f.notePods(&c, pod, now)
	f.noteHeadroom(&c, pod, buffer, now)
	check := !quiet || !wasOpen && f.batch.open() || !endsWereOpen && f.ends.batch.open() || disruptionDue.IsZero() && !f.disruptionDue().IsZero() || roomDue.IsZero() && !f.headroom.due(&f.settings).IsZero()
	f.mu.Unlock()
	if check {
		f.nudge()
	}
}

// nudge makes Lead look again soon.
func (f *Publisher) nudge() {
	select {
	case f.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// PendingPods returns how many pods need capacity that nothing has.
func (f *Publisher) PendingPods() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pods)
}

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
	now := f.config.Now()
	f.epoch, f.head, f.number = 0, 0, 0
	f.manifest = model.Manifest{Cluster: f.config.Cluster, WatcherOwner: f.config.Owner}
	f.deltas, f.deltaBytes, f.publishing, f.pending = 0, 0, nil, nil
	f.heartbeatAt, f.publishPause, f.hintPause = time.Time{}, pause{}, pause{}
	f.batch = batch{}
	f.seen, f.emptied, f.freed, f.headroom = true, emptiedNodes{}, freedCapacity{}, headroom{}
	f.assumeEnds(now)
	f.batch.add(now, wire.ReasonConfig, "", "")
	for key, w := range f.pods {
		*w = waiting{ref: w.ref}
		f.batch.add(now, wire.ReasonBatch, key, "")
	}
	for name, w := range f.nodes {
		*w = waiting{}
		f.batch.add(now, wire.ReasonNode, "", name)
	}
}

// pause grows with each failure in a row.
type pause struct {
	length time.Duration
	until  time.Time
}

func (p *pause) failed(now time.Time, s *Settings) {
	p.length = min(max(s.RetryFirst, 2*p.length), s.RetryMax)
	p.until = now.Add(p.length)
}

func (p *pause) over(now time.Time) bool { return !now.Before(p.until) }

func (f *Publisher) log(note Note) {
	if f.config.Log != nil {
		f.config.Log(note)
	}
}

// lostLease reports whether err says that another replica leads.
func lostLease(err error) bool { return fault.Is(err, fault.Conflict) }
