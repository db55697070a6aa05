package forward

import (
	"context"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// Forwarder is one replica of the watcher. Observe may be called from many goroutines, Lead from one at a time.
type Forwarder struct {
	config   Config
	settings Settings
	wake     chan struct{} // holds one token when Lead should look again

	mu         sync.Mutex // guards all below against Observe; never held during a call of a port
	state      state
	pods       map[string]*waiting // that need capacity, by key
	nodes      map[string]*waiting // of ours that are starting, by name
	batch      batch
	dirtySince time.Time // of the oldest change that is not published; zero = none
	owed       *owed     // nil = none
	ends       ends
	empties    empties
	room       room
	seen       bool // what was there before anybody looked has all been observed

	// Of one leadership; only Lead's goroutine touches them.
	epoch        int64
	head         int64 // sequence number published last
	number       int64 // of the last hint
	pointer      model.Pointer
	baseAt       time.Time // when the base was published
	segments     int       // since then
	segmentBytes int
	publishing   *publication
	whole        bool      // the next publication must be a base: what was taken for the last one is known to nobody, or the base is gone
	keptAt       time.Time // when the base was last seen to be there
	renewedAt    time.Time // when a base was last called for because others found an object gone; zero = never
	beatAt       time.Time
	publishPause pause
	hintPause    pause
}

// New returns a forwarder that has seen nothing.
func New(config Config) *Forwarder {
	return &Forwarder{
		config: config, settings: config.Settings.withDefaults(), wake: make(chan struct{}, 1),
		state: state{shapes: &wire.Shapes{}}, pods: make(map[string]*waiting), nodes: make(map[string]*waiting),
	}
}

// Observe takes in a change of the cluster. It does not block on anything but the taking in of other changes.
func (f *Forwarder) Observe(c wire.Change) {
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
	wasOpen, endsWereOpen, emptyDue, roomDue := f.batch.open(), f.ends.batch.open(), f.emptyDue(), f.room.due(&f.settings)
	f.look(&c, before, now)
	f.lookForEnds(&c, now)
	f.lookForPods(&c, pod, now)
	f.lookForRoom(&c, pod, buffer, now)
	look := !quiet || !wasOpen && f.batch.open() || !endsWereOpen && f.ends.batch.open() || emptyDue.IsZero() && !f.emptyDue().IsZero() || roomDue.IsZero() && !f.room.due(&f.settings).IsZero()
	f.mu.Unlock()
	if look {
		f.nudge()
	}
}

// nudge makes Lead look again soon.
func (f *Forwarder) nudge() {
	select {
	case f.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Waiting returns how many pods need capacity that nothing has.
func (f *Forwarder) Waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pods)
}

// Lead publishes and hints until ctx is done, which is no error, or until another replica has taken over, which is
// Conflict. Everything known must have been observed before: what is published first is taken to be the whole cluster.
func (f *Forwarder) Lead(ctx context.Context) error {
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
func (f *Forwarder) assume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.config.Now()
	f.epoch, f.head, f.number = 0, 0, 0
	f.pointer = model.Pointer{Cluster: f.config.Cluster, WatcherOwner: f.config.Owner}
	f.segments, f.segmentBytes, f.publishing, f.owed = 0, 0, nil, nil
	f.beatAt, f.publishPause, f.hintPause = time.Time{}, pause{}, pause{}
	f.batch = batch{}
	f.seen, f.empties, f.room = true, empties{}, room{}
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

func (f *Forwarder) tell(note Note) {
	if f.config.Tell != nil {
		f.config.Tell(note)
	}
}

// deposed reports whether err says that another replica leads.
func deposed(err error) bool { return fault.Is(err, fault.Conflict) }
