package publish

import (
	"context"
	"fmt"
	"sync"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
	"github.com/joiner-sh/joiner/shared/work"
)

// Publisher is one replica of the watcher. Observe may be called from many goroutines, Lead from one at a time.
type Publisher struct {
	config     Config
	settings   Settings
	wake       chan struct{} // holds one token when Lead should look again
	compressor wire.Compressor

	mu sync.Mutex // guards gathered against Observe; never held during a call of a port
	gathered
	leadership // only Lead's goroutine touches it
}

// New returns a publisher that has seen nothing.
func New(config Config) *Publisher {
	f := &Publisher{config: config, settings: work.WithDefaults(config.Settings), wake: make(chan struct{}, 1)}
	f.gathered = gathered{
		config: &f.config, settings: &f.settings, state: state{shapes: &wire.Shapes{}},
		pods: map[string]*waiting{}, nodes: map[string]*waiting{},
	}
	return f
}

// Observe takes in a change of the cluster. It does not block on anything but the taking in of other changes.
func (f *Publisher) Observe(c wire.Change) {
	now := f.config.Now()
	f.mu.Lock()
	check := f.observe(c, now)
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

// PodsOn returns how many pods a node has that make it worth keeping: none of a DaemonSet, static or of the system.
func (f *Publisher) PodsOn(node string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state.homed[node]
}

// Rows are copies of what is known of some kinds, in no order. What rows point to is written to by nobody.
type Rows struct {
	Shapes []model.PodShape // that pods refer to
	Pods   []model.Pod
	Nodes  []model.Node
	Pools  []model.Pool
}

// Rows returns what the cluster looks like now. Taking in changes waits for no more than the copying.
func (f *Publisher) Rows() Rows {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Rows{Shapes: f.state.shapes.From(0), Pods: f.state.pods.copied(), Nodes: f.state.nodes.copied(), Pools: f.state.pools.copied()}
}

func (f *Publisher) log(note Note) {
	if f.config.Log != nil {
		note.Epoch = f.epoch
		f.config.Log(note)
	}
}

func (f *Publisher) problem(what string, err error) {
	f.log(Note{What: "problem", Seq: f.head, Waiting: f.PendingPods(), Err: fmt.Errorf("%s: %w", what, err)})
}

// call calls a port, which has only so long to answer.
func (f *Publisher) call(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.settings.CallTimeout)
	defer cancel()
	return do(ctx)
}

// lostLease reports whether err says that another replica leads.
func lostLease(err error) bool { return fault.Is(err, fault.Conflict) }
