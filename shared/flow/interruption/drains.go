package interruption

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// drains is one drain run of one cluster.
type drains struct {
	*session
	request Request

	fence     model.Fence
	ending    model.DrainInput
	read      time.Time                     // by this process's clock, when the ledger had said what time it is
	claims    []model.Claim                 // those that are to end, by name
	dueAt     []int64                       // of each, when its next step is due; 0 = at once, -1 = never: it is Gone
	urgent    bool                          // so many drains have just begun that nothing is done yet that only shows
	after     [][]func(ctx context.Context) // of each, what is done once every claim had its turn: pods go before what only shows
	instances map[string]*model.Instance
	occupied  map[string]model.Occupied // nodes that were read together in this round, by UID
	crowded   time.Time                 // by this process's clock, before that
	waited    int                       // claims that are not due before their pods' needs are asked for, in a rush
	acted     bool                      // a round of this run has done something
	tried     map[string]int64          // of the claims it did something for, by name, when their next step is due
	left      []deferred

	// Under the invocation's mutex.
	out     DrainOutcome
	doomed  []string // instances to terminate
	moved   int      // evictions and deletions so far
	stopped bool     // no more of them in this run
	freed   []string // claims of commands that it closed
}

// deferred is what a claim's steps left for later.
type deferred struct {
	claim string
	do    []func(ctx context.Context)
}

// Where more drains than that began within so many seconds, their pods go before everything that only shows.
const (
	manyDrains    = 20
	urgentSeconds = 10

	urgentLeaveSeconds = 6 // until a node whose pods were asked to leave is looked at again: others were not looked at once
)

// now is the ledger's time: what it said, and as long as passed since by this process's clock.
func (d *drains) now() int64 {
	return d.ending.NowUnix + max(0, int64(d.Clock().Sub(d.read).Seconds()))
}

// move reports whether another pod may be made to leave in this run, and counts it.
func (d *drains) move(read time.Time) bool {
	d.Mutex.Lock()
	defer d.Mutex.Unlock()
	if d.stopped || d.moved >= d.settings.MaxMoves || !d.HasTime() || d.Clock().Sub(read) >= d.settings.ActWithin {
		return false
	}
	d.moved++
	return true
}

// step is one claim at work.
type step struct {
	*drains
	claim   model.Claim // as it is stored
	number  int         // among the claims of the run
	nextDue int64       // see drains.dueAt
	unseen  bool        // its node was not looked at in this round yet

	node *model.Occupied // as it was last read; nil = it is gone
	read time.Time       // by this process's clock, before that
}

// object is the claim's object of a kind.
func (s *step) object(kind string) model.Object {
	if kind == KindNode {
		return model.Object{Name: s.claim.NodeName, UID: s.claim.NodeUID}
	}
	return model.Object{Name: s.claim.Name, UID: s.claim.ObjectUID}
}

// patience is after how many seconds what could not be read or written is tried again: the longer the drain goes on, the later.
func (s *step) patience() int64 {
	const soon = 5
	age := max(0, s.now()-s.claim.Drain.SinceUnix)
	every := max(soon, min(age/10, s.settings.RetrySeconds))
	// At times that are the claim's own: while nothing can be recorded each check asks for a run, and all they ask for is one.
	return every - age%every
}

// postpone has something done once every claim had its turn.
func (s *step) postpone(do func(ctx context.Context)) {
	s.after[s.number] = append(s.after[s.number], do)
}

// quiet reports whether a step of a drain is one of which nothing but the taint shows yet: it waits for what its pods need to be
// asked for, or very many drains have just begun. That is a matter of seconds.
func (s *step) quiet(next drain.Step) bool {
	if s.claim.State != model.Draining || s.claim.Drain.ReportedUnix != 0 {
		return false
	}
	return s.urgent || next.Kind == drain.Wait && slices.ContainsFunc(next.Obstacles, func(o drain.Obstacle) bool { return o.Code == drain.CodeNotReplaced })
}

func (s *step) advance(ctx context.Context, claim model.Claim) bool {
	if reflect.DeepEqual(claim, s.claim) {
		return true
	}
	var stored model.Claim
	err := s.Effect(ctx, EffectStep, func() (err error) {
		stored, err = s.flow.Steps.Advance(ctx, s.reg.Cluster, claim)
		return err
	})
	if err == nil {
		s.claim = stored
		return true
	}
	if fault.Is(err, fault.Conflict) {
		s.nextDue = 0 // it is read anew
	} else {
		s.Problem("claim %s: record the progress of its drain: %v", claim.Name, err)
	}
	return false
}

// event is one on the claim's object of a kind.
func (s *step) event(kind string, warning bool, reason, message string) model.Event {
	object := s.object(kind)
	return model.Event{Kind: kind, Name: object.Name, UID: object.UID, Warning: warning, Reason: reason, Message: message}
}

// stepped counts a step.
func (d *drains) stepped(kind drain.Kind) {
	d.Mutex.Lock()
	defer d.Mutex.Unlock()
	d.out.Steps[string(kind)]++
}

// cordon keeps new pods off the node.
func (s *step) cordon(ctx context.Context) bool {
	if err := s.taint(ctx, cordon(s.claim.NodeName, s.claim.NodeUID)); err != nil {
		s.nextDue = s.now() + 1
		s.Problem("claim %s: taint node %s: %v", s.claim.Name, s.claim.NodeName, err)
		return false
	}
	return true
}

// remove deletes the claim's object of a kind, and reports whether it is being deleted or gone.
func (s *step) remove(ctx context.Context, kind string) bool {
	return s.change(ctx, EffectRemove, "delete", kind, s.clients.Cluster.Remove)
}

// free takes our finalizer off the claim's object of a kind, and reports whether it is off, and whether finalizers of
// others keep the object.
func (s *step) free(ctx context.Context, kind string) (kept, off bool) {
	off = s.change(ctx, EffectFree, "remove the finalizer of", kind,
		func(ctx context.Context, kind string, object model.Object) (err error) {
			kept, err = s.clients.Objects.Free(ctx, kind, object)
			return err
		})
	return kept, off
}

// change does something to the claim's object of a kind. It reports whether that is done, or the object is gone.
func (s *step) change(ctx context.Context, effect, what, kind string, do func(context.Context, string, model.Object) error) bool {
	object := s.object(kind)
	if object.Name == "" || object.UID == "" {
		return true
	}
	err := s.Effect(ctx, effect, func() error { return do(ctx, kind, object) })
	if err != nil && !absent(err) {
		s.Problem("claim %s: %s %s %s: %v", s.claim.Name, what, kind, object.Name, err)
		return false
	}
	return true
}
