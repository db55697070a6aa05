package sim

import (
	"context"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/flow/publish"
	"github.com/joiner-sh/joiner/testenv/sim/eventqueue"
	"github.com/joiner-sh/joiner/testenv/sim/world"
)

// watchers are the replicas of the watcher and the lease they compete for.
type watchers struct {
	*engine
	world    *world.World // of their cluster
	name     string       // of it
	replicas []*replica
	leader   *replica  // that holds the lease; nil = nobody
	freeAt   time.Time // when the lease of a leader that is gone may be taken
	mute     time.Time // until when no replica runs
}

// replica is one life of a watcher: it follows the cluster, and leads when it may.
type replica struct {
	*process
	publisher *publish.Publisher
	watch     *world.Watch
	poll      *eventqueue.Event
	synced    bool
	leading   *strand // nil while it does not lead
}

const (
	replicaCount  = 2
	leaseDuration = 15 * time.Second
)

// start begins a replica's life.
func (w *watchers) start() {
	r := &replica{}
	w.replicas = append(w.replicas, r)
	w.spawn("watcher", "", 0, func(ctx context.Context, p *process) error {
		r.process = p
		ports := w.world.Ports(p, w.actor(p, w.name))
		r.publisher = ports.Forward(p.now, p.wait, publish.Settings{}, w.config.Scenario.Choices)
		r.watch = w.world.Cluster.Watch(p.draws.skewed(10*time.Millisecond, 2*time.Second))
		p.wait(ctx, nil, forever)
		return nil
	}, func(error) { w.gone(r) })
	w.follow(r, w.now())
}

// forever is longer than any run.
const forever = 1000 * 24 * time.Hour

// gone lets another replica take a dead one's place.
func (w *watchers) gone(r *replica) {
	w.eventQueue.Drop(r.poll)
	for i := range w.replicas {
		if w.replicas[i] == r {
			w.replicas = append(w.replicas[:i], w.replicas[i+1:]...)
			break
		}
	}
	if w.leader == r {
		w.leader, w.freeAt = nil, w.now().Add(leaseDuration)
		w.eventQueue.Add(w.freeAt, w.elect)
	}
	if w.over {
		return
	}
	w.eventQueue.Add(later(w.mute, w.now().Add(w.steady.between(2*time.Second, 40*time.Second))), w.start)
}

// due has every replica whose watch has something for it take it.
func (w *watchers) due() {
	for _, r := range w.replicas {
		if r.poll != nil || r.process == nil {
			continue
		}
		if at, due := r.watch.Next(); due {
			w.follow(r, later(at, w.now()))
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// follow puts the next poll of a replica's watch on the agenda.
func (w *watchers) follow(r *replica, at time.Time) {
	r.poll = w.eventQueue.Add(at, func() {
		r.poll = nil
		if r.dead {
			return
		}
		if w.down("cluster") {
			r.watch.Break()
			w.follow(r, w.now().Add(r.draws.between(time.Second, 5*time.Second)))
			return
		}
		if w.hitsNext(KindWatch, r.name) {
			r.watch.Break()
		}
		changes, err := r.watch.Poll()
		if err != nil {
			w.follow(r, w.now().Add(r.draws.between(time.Second, 5*time.Second)))
			return
		}
		for _, change := range changes {
			r.publisher.Observe(change)
		}
		w.followed(r)
		if !r.synced {
			r.synced = true
			w.elect()
		}
		if r.leading != nil {
			w.nudge(r.leading)
		}
		w.due()
	})
}

// followed notes how far a replica has followed the cluster.
func (w *watchers) followed(r *replica) {
	_ = w.world.Log.As(w.actor(r.process, w.name), func() error {
		w.world.Log.Note(world.WatchFollowed{Cluster: w.name, Version: r.watch.Version()})
		return nil
	})
}

// silence ends every replica, and lets none begin before a time.
func (w *watchers) silence(until time.Time) {
	w.mute = until
	for _, r := range slices.Clone(w.replicas) {
		if r.process != nil {
			w.kill(r.process, "kill")
		}
	}
}

// setLag has changes reach every replica so much later than they were made; 0 is the usual.
func (w *watchers) setLag(lag time.Duration) {
	for _, r := range w.replicas {
		if r.watch != nil {
			r.watch.SetLag(max(lag, 50*time.Millisecond))
		}
	}
}

// elect gives the lease to a replica where nobody has it. Now and then another believes that it has it, too.
func (w *watchers) elect() {
	if w.leader == nil && !w.now().Before(w.freeAt) {
		for _, r := range w.replicas {
			if r.synced && !r.dead && r.leading == nil {
				w.leader = r
				w.lead(r)
				break
			}
		}
	}
	for _, r := range w.replicas {
		if r.synced && !r.dead && r.leading == nil && w.hitsNext(KindLeaders, r.name) {
			w.lead(r)
		}
	}
}

// lead lets a replica lead until it is deposed or dead.
func (w *watchers) lead(r *replica) {
	r.leading = r.strand(func() { _ = r.publisher.Lead(r.ctx) }, func() {
		r.leading = nil
		if w.leader == r {
			w.leader = nil
		}
		if !r.dead {
			w.eventQueue.Add(w.now().Add(2*time.Second), w.elect)
		}
	})
	w.resume(r.leading, nil)
}
