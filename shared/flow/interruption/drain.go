package interruption

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// DrainOutcome is what one drain run did, for one log line.
type DrainOutcome struct {
	Cluster    string           `json:"cluster"`
	Skipped    string           `json:"skipped,omitempty"`    // why nothing was done
	Draining   int              `json:"draining"`             // claims whose nodes are being emptied
	Ending     int              `json:"ending"`               // claims whose instances are ending
	Due        int              `json:"due"`                  // of both, those whose next step was due
	Steps      map[string]int   `json:"steps,omitempty"`      // that were done, by kind
	Evicted    int              `json:"evicted,omitempty"`    // pods that were asked to leave and will
	Deleted    int              `json:"deleted,omitempty"`    // pods that were made to
	Refused    int              `json:"refused,omitempty"`    // evictions that were not allowed, or failed
	Terminated []string         `json:"terminated,omitempty"` // instance ids told to end
	Closed     int              `json:"closed,omitempty"`     // claims made Gone
	Ended      []Ended          `json:"ended,omitempty"`      // of those, the ones that had an instance, by claim
	DueUnix    int64            `json:"again,omitempty"`      // when the next step is due
	Millis     map[string]int64 `json:"millis,omitempty"`     // since the start of the run, by what was reached
	Problems   []string         `json:"problems,omitempty"`
}

// Drain does what is due of every claim of a cluster that is to end: its node is emptied, its instance terminated, its
// objects let go, step by step. It waits for nothing: what is not done yet is done by a later run, for which it sends itself
// a hint. An error means that it could not read what it needs, and nothing was done.
func (f *Flow) Drain(ctx context.Context, request Request) (DrainOutcome, error) {
	d := &drains{Flow: f, settings: f.Settings.withDefaults(), request: request, started: f.Now(), tried: map[string]int64{}}
	d.out = DrainOutcome{Cluster: request.Cluster, Steps: map[string]int{}, Millis: map[string]int64{}}
	err := d.drainAll(ctx)
	slices.SortFunc(d.out.Ended, func(a, b Ended) int { return strings.Compare(a.Claim, b.Claim) }) // whichever was closed first
	d.reached("done")
	return d.out, err
}

// drains is one drain run of one cluster.
type drains struct {
	*Flow
	settings Settings
	request  Request
	started  time.Time

	reg       model.Registration
	fence     model.Fence
	clients   Clients
	ending    model.DrainInput
	read      time.Time                     // by this process's clock, when the ledger had said what time it is
	claims    []model.Claim                 // those that are to end, by name
	dueAt     []int64                       // of each, when its next step is due; 0 = at once, -1 = never: it is Gone
	released  bool                          // the lease is released
	urgent    bool                          // so many drains have just begun that nothing is done yet that only shows
	after     [][]func(ctx context.Context) // of each, what is done once every claim had its turn: pods go before what only shows
	instances map[string]*model.Instance
	occupied  map[string]model.Occupied // nodes that were read together in this round, by UID
	crowded   time.Time                 // by this process's clock, before that
	waited    int                       // claims that are not due before their pods' needs are asked for, in a rush
	acted     bool                      // a round of this run has done something
	tried     map[string]int64          // of the claims it did something for, by name, when their next step is due
	left      []deferred

	mutex   sync.Mutex // of what follows
	out     DrainOutcome
	doomed  []string // instances to terminate
	moved   int      // evictions and deletions so far
	stopped bool     // no more of them in this run
	freed   []string // claims of commands that it closed
}

func (d *drains) drainAll(ctx context.Context) error {
	// 1. Who is asked about, and may we.
	reg, err := d.Registry.Cluster(ctx, d.request.Cluster)
	if fault.Is(err, fault.NotFound) {
		d.out.Skipped = "the cluster is not attached"
		return nil
	}
	if err != nil {
		return fmt.Errorf("read registration of cluster %s: %w", d.request.Cluster, err)
	}
	d.reg = reg
	if reg.Paused {
		d.out.Skipped = "the cluster is paused"
		return nil
	}

	// 2. One drain run at a time. Whoever holds the lease may have looked before there was what we were sent for.
	until := d.request.Deadline.Add(d.settings.LeaseMargin)
	d.fence, err = d.Leases.AcquireLease(ctx, reg.Cluster, model.LeaseDrainer, d.request.Owner, d.Now().Unix(), until.Unix()+1)
	if fault.Is(err, fault.Conflict) {
		if d.request.handled(d.fence, d.Now().Unix()) {
			d.out.Skipped = "another drain run has the lease and the hint"
			return nil
		}
		d.out.Skipped = "another drain run has the lease"
		d.later(ctx)
		return nil
	}
	if err != nil {
		return fmt.Errorf("acquire the drainer's lease of cluster %s: %w", reg.Cluster, err)
	}
	defer d.release(ctx)

	// 3. What is due, and where drains waited for what their pods need, what became due of those meanwhile.
	for range rounds {
		again, err := d.round(ctx)
		if err != nil {
			return err
		}
		if !again || !d.hasTime() {
			break
		}
	}
	if d.out.Skipped != "" {
		return nil
	}
	d.follow(ctx)
	if err := d.requestDisruption(ctx, d.reg.Cluster, d.freed); err != nil {
		d.problem("%v", err)
	}

	// 4. What only shows, once others may go on with what is due next.
	d.release(ctx)
	d.parallel(len(d.left), func(n int) { d.afterwards(ctx, d.left[n]) })
	return nil
}

// rounds is how often one run looks for what is due.
const rounds = 4

// round does what is due once. It reports whether it did anything while other drains waited to be due.
func (d *drains) round(ctx context.Context) (again bool, err error) {
	// 1. What is to end, and of that what is due.
	if d.ending, err = d.Collector.Ending(ctx, d.reg); err != nil {
		return false, d.result(fmt.Errorf("read terminating claims in the ledger of cluster %s: %w", d.reg.Cluster, err))
	}
	d.read = d.Now()
	for _, text := range d.ending.Unread.Texts() {
		if !slices.Contains(d.out.Problems, text) {
			d.problem("%s", text)
		}
	}
	due := d.due()
	d.reached("surveyed")
	if len(due) == 0 {
		return false, nil
	}

	// 2. Their instances. While EC2 does not answer no pod leaves its node: there may be no other for it.
	if d.clients, err = d.Connector.Connect(ctx, d.reg); err != nil {
		return false, d.result(fmt.Errorf("connect to cluster %s: %w", d.reg.Cluster, err))
	}
	if err = d.describe(ctx, due); err != nil {
		if d.acted {
			return false, d.result(err)
		}
		d.problem("%v", err)
		d.out.Skipped = "EC2 does not return the state of the instances"
		if !d.later(ctx) {
			return false, err
		}
		return false, nil
	}

	// 3. Each by itself; what fails or panics delays no other, and what hangs takes half of the time.
	work, stop := context.WithTimeout(ctx, max(0, d.request.Deadline.Sub(d.Now())-d.settings.StopBefore)/2)
	defer stop()
	d.after = make([][]func(ctx context.Context), len(d.claims))
	d.readNodes(work, due)
	d.parallel(len(due), func(n int) { d.claim(work, due[n]) })
	d.reached("stepped")
	d.terminate(ctx)
	d.acted = true
	for _, i := range due {
		d.left = append(d.left, deferred{d.claims[i].Name, d.after[i]})
		d.tried[d.claims[i].Name] = d.dueAt[i]
	}
	return d.waited > 0, nil
}

// result is the error of a round; nil where a round before it has done something, which stands.
func (d *drains) result(err error) error {
	if !d.acted {
		return err
	}
	d.problem("%v", err)
	return nil
}

// deferred is what a claim's steps left for later.
type deferred struct {
	claim string
	do    []func(ctx context.Context)
}

// due notes the claims that are to end and returns the indices of those whose next step is due.
func (d *drains) due() []int {
	var due []int
	fresh := 0
	d.claims, d.dueAt, d.waited, d.out.Draining, d.out.Ending = nil, nil, 0, 0, 0
	for _, claim := range d.ending.Claims {
		switch claim.State {
		case model.Draining:
			d.out.Draining++
		case model.Terminating:
			d.out.Ending++
		default:
			continue
		}
		if claim.Drain == nil { // recorded before drains were
			claim.Drain = &model.Drain{SinceUnix: d.ending.NowUnix}
		}
		if claim.State == model.Draining && claim.Drain.ReportedUnix == 0 && d.ending.NowUnix-claim.Drain.SinceUnix < urgentSeconds {
			fresh++
		}
		again, tried := d.tried[claim.Name]
		if !tried {
			again = claim.Drain.DueUnix
		}
		if again >= 0 && again <= d.ending.NowUnix {
			due = append(due, len(d.claims))
		}
		d.claims, d.dueAt = append(d.claims, claim), append(d.dueAt, again)
	}
	if d.urgent = fresh > manyDrains; d.urgent {
		due = slices.DeleteFunc(due, d.waits)
		d.settings.Drain.LeaveSeconds = urgentLeaveSeconds
	}
	seen := func(i int) int64 { return min(1, d.claims[i].Drain.TaintedUnix) } // nodes nobody looked at yet come first
	slices.SortStableFunc(due, func(i, j int) int { return cmp.Compare(seen(i), seen(j)) })
	d.out.Due += len(due)
	return due
}

// waits reports whether all there is to do for a claim is to wait until what its pods need is asked for, and notes until when.
// Where there are many like it nobody looks at its node before.
func (d *drains) waits(i int) bool {
	claim := &d.claims[i]
	until := claim.Drain.SinceUnix + d.settings.Drain.WithDefaults().ReplaceSeconds
	if claim.State != model.Draining || claim.Drain.ReportedUnix != 0 || until <= d.ending.NowUnix || slices.Contains(d.ending.Notes.Replaced, claim.Name) {
		return false
	}
	if at := claim.Drain.DeadlineUnix; at != 0 && at-d.ending.NowUnix < urgentSeconds {
		return false
	}
	d.dueAt[i], d.waited = until, d.waited+1
	return true
}

// Where more drains than that began within so many seconds, their pods go before everything that only shows.
const (
	manyDrains    = 20
	urgentSeconds = 10

	urgentLeaveSeconds = 6 // until a node whose pods were asked to leave is looked at again: others were not looked at once
)

// describe reads the instances of the claims from EC2.
func (d *drains) describe(ctx context.Context, due []int) error {
	var ids []string
	for _, i := range due {
		if id := d.claims[i].InstanceID; id != "" {
			ids = append(ids, id)
		}
	}
	d.instances = map[string]*model.Instance{}
	if len(ids) == 0 {
		return nil
	}
	sort.Strings(ids)
	instances, err := d.clients.Fleet.DescribeInstances(ctx, slices.Compact(ids))
	if err != nil {
		return fmt.Errorf("describe %d instances of cluster %s: %w", len(ids), d.reg.Cluster, err)
	}
	for i := range instances {
		d.instances[instances[i].ID] = &instances[i]
	}
	return nil
}

// readNodes reads the nodes of many claims together, live, for the first step of each in this round. What cannot be read so, or
// not in a quarter of the time, each step reads for itself.
func (d *drains) readNodes(ctx context.Context, due []int) {
	d.occupied = nil
	if len(due) <= manyDrains {
		return
	}
	var nodes []model.Object
	for _, i := range due {
		if claim := &d.claims[i]; claim.NodeName != "" && claim.NodeUID != "" {
			nodes = append(nodes, model.Object{Name: claim.NodeName, UID: claim.NodeUID})
		}
	}
	if len(nodes) <= manyDrains {
		return
	}
	ctx, stop := context.WithTimeout(ctx, max(0, d.request.Deadline.Sub(d.Now())-d.settings.StopBefore)/4)
	defer stop()
	d.crowded = d.Now()
	var err error
	if d.occupied, err = d.clients.Objects.ReadNodes(ctx, nodes); err != nil {
		d.occupied = nil
		d.problem("read %d nodes of cluster %s together: %v", len(nodes), d.reg.Cluster, err)
	}
	d.reached("seen")
}

// claim does what is due of one claim: a step, and those that follow it at once.
func (d *drains) claim(ctx context.Context, i int) {
	const most = 5 // in a row
	s := &step{drains: d, claim: d.claims[i], number: i, unseen: true}
	defer func() {
		if reason := recover(); reason != nil {
			d.problem("the drain of claim %s panicked: %v\n%s", s.claim.Name, reason, debug.Stack())
			s.nextDue = d.now() + d.settings.RetrySeconds
		}
		d.dueAt[i] = s.nextDue
	}()
	for range most {
		if !d.hasTime() {
			s.nextDue = 0
			return
		}
		if !s.takeStep(ctx) {
			return
		}
	}
}

// afterwards does what a claim's steps left for later, as far as there is time: the next run does what is not done by then.
func (d *drains) afterwards(ctx context.Context, left deferred) {
	defer func() {
		if reason := recover(); reason != nil {
			d.problem("claim %s, after its step: panic: %v\n%s", left.claim, reason, debug.Stack())
		}
	}()
	for _, do := range left.do {
		if d.hasTime() {
			do(ctx)
		}
	}
}

// now is the ledger's time: what it said, and as long as passed since by this process's clock.
func (d *drains) now() int64 {
	return d.ending.NowUnix + max(0, int64(d.Now().Sub(d.read).Seconds()))
}

// hasTime reports whether there is time for another act.
func (d *drains) hasTime() bool { return d.request.Deadline.Sub(d.Now()) > d.settings.StopBefore }

// move reports whether another pod may be made to leave in this run, and counts it.
func (d *drains) move(read time.Time) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.stopped || d.moved >= d.settings.MaxMoves || !d.hasTime() || d.Now().Sub(read) >= d.settings.ActWithin {
		return false
	}
	d.moved++
	return true
}

// terminate ends the instances whose claims came to that. Those that are left are of claims that are Terminating, and come again.
func (d *drains) terminate(ctx context.Context) {
	sort.Strings(d.doomed)
	ended, _ := d.Flow.terminate(ctx, d.clients.Fleet, d.reg.Cluster, d.doomed, d.hasTime, d.problem)
	d.out.Terminated, d.doomed = append(d.out.Terminated, ended...), nil
}

// follow sends the hint for the next step of all. A hint is sent by whoever did something: of two runs that were asked for
// at the same time the one that finds nothing to do sends none, so that however many hints there are, one is left of them.
// A run that came a moment too early for the step it was sent for is one that must come again.
func (d *drains) follow(ctx context.Context) {
	var next int64 = -1
	for _, again := range d.dueAt {
		if again >= 0 && (next < 0 || again < next) {
			next = again
		}
	}
	if next < 0 {
		return
	}
	d.out.DueUnix = next
	if d.out.Due == 0 && d.waited == 0 && !slices.Contains(d.request.Dues, next) {
		return
	}
	after := min(max(1, next-d.now()), maxDelaySeconds)
	d.hint(ctx, stepKey(next, 0), time.Duration(after)*time.Second)
}

// maxDelaySeconds is how much later than now a queue can deliver a message.
const maxDelaySeconds = 900

// later sends the hint to try again what could not be done now, after 1, 2, 4, … seconds, which in sum outlast the lease of
// a process that was killed. It reports whether it did: after some tries the minute's look has to do.
func (d *drains) later(ctx context.Context) bool {
	const most = 6
	if d.request.Tries >= most {
		return false
	}
	var due int64
	for _, at := range d.request.Dues {
		due = max(due, at)
	}
	if !d.request.Undated {
		due = max(due, d.request.AsOfUnix)
	}
	return d.hint(ctx, stepKey(due, d.request.Tries+1), time.Second<<d.request.Tries)
}

func (d *drains) hint(ctx context.Context, key string, after time.Duration) bool {
	err := d.effect(ctx, EffectDrain, func() error { return d.Drains.Drain(ctx, d.request.Cluster, key, after) })
	if err != nil {
		d.problem("send a hint for the next drain run in %s; the next scheduled run does too: %v", after, err)
	}
	return err == nil
}

// release releases the lease even when the invocation's own context is over.
func (d *drains) release(ctx context.Context) {
	if d.released {
		return
	}
	d.released = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := d.Leases.Release(ctx, d.fence); err != nil {
		d.problem("release the drainer's lease: %v", err)
	}
}

func (d *drains) reached(what string) { d.out.Millis[what] = d.Now().Sub(d.started).Milliseconds() }

// problem notes something that went wrong and stops nothing else.
func (d *drains) problem(format string, args ...any) {
	const most = 20
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(d.out.Problems) < most {
		d.out.Problems = append(d.out.Problems, fmt.Sprintf(format, args...))
	}
}

// count adds to a number of the outcome.
func (d *drains) count(number *int) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	*number++
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

// takeStep reads how things are, and does the next step. It reports whether another may follow at once.
func (s *step) takeStep(ctx context.Context) bool {
	s.nextDue = s.now() + s.patience()
	instance := s.instances[s.claim.InstanceID]
	if instance != nil && !lifecycle.Owned(*instance, s.reg.Cluster) {
		s.problem("claim %s: instance %s does not have the tags of this installation; it is left alone", s.claim.Name, instance.ID)
		return false
	}
	if instance != nil && instance.State == "terminated" {
		return s.close(ctx)
	}
	if err := s.readNode(ctx); err != nil {
		s.problem("claim %s: list what is on node %s: %v", s.claim.Name, s.claim.NodeName, err)
		return false
	}
	before := *s.claim.Drain
	first := before.ReportedUnix == 0
	next := drain.Next(drain.View{
		Claim: s.claim, Node: s.node, Instance: instance, NowUnix: s.now(),
		Replaced: slices.Contains(s.ending.Notes.Replaced, s.claim.Name),
	}, s.settings.Drain)
	if !s.record(ctx, next) {
		return false
	}
	s.nextDue = next.DueUnix
	s.stepped(next.Kind)
	switch next.Kind {
	case drain.Cordon:
		if !s.cordon(ctx) {
			return false
		}
	case drain.Evict:
		s.evict(ctx, next.Evictions)
	case drain.Terminate:
		s.mutex.Lock()
		s.doomed = append(s.doomed, s.claim.InstanceID)
		s.mutex.Unlock()
	case drain.Done: // as where EC2 says so, above
		return s.close(ctx)
	}
	if !s.quiet(next) {
		now := *s // the steps that follow at once are others
		s.postpone(func(ctx context.Context) {
			now.reportDrain(ctx, before, next)
			now.delete(ctx, first)
		})
	}
	return next.DueUnix == 0
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

// ended reports a claim that was closed.
func (s *step) ended(claim model.Claim) {
	if ended, had := endedOf(&claim, s.now()); had {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.out.Ended = append(s.out.Ended, ended)
	}
}

// stepped counts a step.
func (d *drains) stepped(kind drain.Kind) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.out.Steps[string(kind)]++
}

// patience is after how many seconds what could not be read or written is tried again: the longer the drain goes on, the later.
func (s *step) patience() int64 {
	const soon = 5
	age := max(0, s.now()-s.claim.Drain.SinceUnix)
	every := max(soon, min(age/10, s.settings.RetrySeconds))
	// At times that are the claim's own: while nothing can be recorded each check asks for a run, and all they ask for is one.
	return every - age%every
}

// readNode reads the claim's node live.
func (s *step) readNode(ctx context.Context) error {
	s.node, s.read = nil, s.Now()
	if s.claim.NodeName == "" || s.claim.NodeUID == "" {
		return nil
	}
	unseen := s.unseen
	s.unseen = false
	if seen, ok := s.occupied[s.claim.NodeUID]; ok && unseen && s.read.Sub(s.crowded) < s.settings.ActWithin/2 {
		s.node, s.read = &seen, s.crowded
		return nil
	}
	occupied, err := s.clients.Objects.ReadNode(ctx, s.object(KindNode))
	if fault.Is(err, fault.NotFound) {
		return s.readReplacedNode(ctx)
	}
	if err != nil {
		return err
	}
	s.node = &occupied
	return nil
}

// readReplacedNode reads the node by its name alone: where somebody deleted it and its instance's kubelet has made it again, pods may run there that the
// claim's record knows nothing of. The claim is about that node from then on.
func (s *step) readReplacedNode(ctx context.Context) error {
	if s.claim.State != model.Draining {
		return nil // the instance is asked to end
	}
	occupied, err := s.clients.Objects.ReadNode(ctx, model.Object{Name: s.claim.NodeName})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if occupied.Node.ProviderID == "" || occupied.Node.ProviderID != s.claim.ProviderID {
		return nil // another machine's
	}
	claim := s.claim
	claim.NodeUID = occupied.Node.UID
	if !s.advance(ctx, claim) {
		return fault.New(fault.Conflict, "", "node %s was created again as %s, which could not be recorded", claim.NodeName, claim.NodeUID)
	}
	s.node = &occupied
	return nil
}

// object is the claim's object of a kind.
func (s *step) object(kind string) model.Object {
	if kind == KindNode {
		return model.Object{Name: s.claim.NodeName, UID: s.claim.NodeUID}
	}
	return model.Object{Name: s.claim.Name, UID: s.claim.ObjectUID}
}

// record writes down how far the drain has come before the step is done. False where that failed: somebody else moved the
// claim on, or the ledger does not answer.
func (s *step) record(ctx context.Context, next drain.Step) bool {
	claim, came := s.claim, next.Drain
	came.DueUnix, came.ReportedUnix = next.DueUnix, s.telling(next)
	if came.ReportedUnix != s.claim.Drain.ReportedUnix {
		came.Notice = "" // told after this, see tell
	}
	claim.Drain = &came
	if next.Kind == drain.Terminate {
		claim.State, _ = lifecycle.Next(claim.State, lifecycle.NodeEmpty)
	}
	return s.advance(ctx, claim)
}

func (s *step) advance(ctx context.Context, claim model.Claim) bool {
	if reflect.DeepEqual(claim, s.claim) {
		return true
	}
	var stored model.Claim
	err := s.effect(ctx, EffectStep, func() (err error) {
		stored, err = s.Steps.Advance(ctx, s.reg.Cluster, claim)
		return err
	})
	if err == nil {
		s.claim = stored
		return true
	}
	if fault.Is(err, fault.Conflict) {
		s.nextDue = 0 // it is read anew
	} else {
		s.problem("claim %s: record the progress of its drain: %v", claim.Name, err)
	}
	return false
}

// cordon keeps new pods off the node.
func (s *step) cordon(ctx context.Context) bool {
	err := s.effect(ctx, EffectTaint, func() error {
		return s.clients.Objects.PatchNode(ctx, cordon(s.claim.NodeName, s.claim.NodeUID))
	})
	if err != nil && !absent(err) {
		s.nextDue = s.now() + 1
		s.problem("claim %s: taint node %s: %v", s.claim.Name, s.claim.NodeName, err)
		return false
	}
	return true
}

// delete deletes the claim's NodeClaim and Node, which our finalizer holds until the instance has ended. What was deleted
// already stays as it is.
func (s *step) delete(ctx context.Context, first bool) {
	stands := s.node != nil && s.node.Node.DeletedUnix == 0
	if first || stands {
		s.remove(ctx, KindNodeClaim)
	}
	if !stands {
		return
	}
	if !s.node.Node.Finalizer && !s.cordon(ctx) { // which puts the finalizer on; without it the node would be gone at once
		return
	}
	s.remove(ctx, KindNode)
}

// remove deletes the claim's object of a kind, and reports whether it is being deleted or gone.
func (s *step) remove(ctx context.Context, kind string) bool {
	object := s.object(kind)
	if object.Name == "" || object.UID == "" {
		return true
	}
	err := s.effect(ctx, EffectRemove, func() error { return s.clients.Cluster.Remove(ctx, kind, object) })
	if err != nil && !absent(err) {
		s.problem("claim %s: delete %s %s: %v", s.claim.Name, kind, object.Name, err)
		return false
	}
	return true
}

// free takes our finalizer off the claim's object of a kind, and reports whether it is off.
func (s *step) free(ctx context.Context, kind string) bool {
	object := s.object(kind)
	if object.Name == "" || object.UID == "" {
		return true
	}
	err := s.effect(ctx, EffectFree, func() error { return s.clients.Objects.Free(ctx, kind, object) })
	if err != nil && !absent(err) {
		s.problem("claim %s: remove the finalizer of %s %s: %v", s.claim.Name, kind, object.Name, err)
		return false
	}
	return true
}

// close lets the objects of an instance that has ended go, and closes its claim. It reports that nothing may follow.
func (s *step) close(ctx context.Context) bool {
	s.stepped(drain.Done)
	s.report(ctx, s.noticed(*s.claim.Drain))
	for _, kind := range []string{KindNode, KindNodeClaim} {
		if !s.remove(ctx, kind) || !s.free(ctx, kind) {
			return false
		}
	}
	claim := s.claim
	if claim.FailureCode == "" {
		claim.FailureCode, claim.FailureMessage = model.EndedInstance, fmt.Sprintf("EC2 says that instance %s was terminated", claim.InstanceID)
	}
	reason := ""
	if instance := s.instances[claim.InstanceID]; instance != nil {
		reason = instance.StateReason
	}
	claim = s.recordEnd(ctx, s.reg, claim, s.ending.Commands, reason, s.now(), s.problem)
	err := s.effect(ctx, EffectClose, func() error { return s.Claims.CloseClaim(ctx, s.fence, claim, s.now()) })
	switch {
	case err == nil:
		s.nextDue = -1
		s.closed(claim)
		s.ended(claim)
	case fault.Is(err, fault.Conflict):
		s.nextDue = 0
	default:
		s.problem("close claim %s: %v", claim.Name, err)
	}
	return false
}

// closed notes that a claim is Gone.
func (d *drains) closed(claim model.Claim) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.out.Closed++
	if claim.Command != "" {
		d.freed = append(d.freed, claim.Name)
	}
}

// absent reports whether an error says that an object is gone, or another has its name: nothing is left to do to it.
func absent(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) }
