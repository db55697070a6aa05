package interruption

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Drain does what is due of every claim of a cluster that is to end: its node is emptied, its instance terminated, its
// objects let go, step by step. It waits for nothing: what is not done yet is done by a later run, for which it sends itself
// a hint. An error means that it could not read what it needs, and nothing was done.
func (f *Flow) Drain(ctx context.Context, request Request) (DrainOutcome, error) {
	d := &drains{session: f.session(request.Deadline), request: request, tried: map[string]int64{}}
	d.out = DrainOutcome{Cluster: request.Cluster, Steps: map[string]int{}}
	err := d.drainAll(ctx)
	slices.SortFunc(d.out.Ended, func(a, b Ended) int { return strings.Compare(a.Claim, b.Claim) }) // whichever was closed first
	d.Reached("done")
	d.out.Millis, d.out.Problems = d.Millis(), d.Problems()
	return d.out, err
}

func (d *drains) drainAll(ctx context.Context) error {
	// 1. Who is asked about, and may we.
	var err error
	d.reg, d.out.Skipped, err = work.ActiveRegistration(ctx, d.flow.Registry, d.request.Cluster)
	if err != nil || d.out.Skipped != "" {
		return err
	}

	// 2. One drain run at a time. Whoever holds the lease may have looked before there was what we were sent for.
	lease, err := d.Acquire(ctx, d.flow.Leases, d.reg.Cluster, model.LeaseDrainer, d.request.Owner, "the drainer's lease")
	if fault.Is(err, fault.Conflict) {
		if d.request.handled(lease.Fence, d.Clock().Unix()) {
			d.out.Skipped = "another drain run has the lease and the hint"
			return nil
		}
		d.out.Skipped = "another drain run has the lease"
		d.later(ctx)
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Release(ctx, lease)
	d.fence = lease.Fence

	// 3. What is due, and where drains waited for what their pods need, what became due of those meanwhile.
	for range rounds {
		again, err := d.round(ctx)
		if err != nil {
			return err
		}
		if !again || !d.HasTime() {
			break
		}
	}
	if d.out.Skipped != "" {
		return nil
	}
	d.follow(ctx)
	d.requestDisruption(ctx, d.freed)

	// 4. What only shows, once others may go on with what is due next.
	d.Release(ctx, lease)
	d.each(len(d.left), func(n int) { d.afterwards(ctx, d.left[n]) })
	return nil
}

// rounds is how often one run looks for what is due.
const rounds = 4

// round does what is due once. It reports whether it did anything while other drains waited to be due.
func (d *drains) round(ctx context.Context) (again bool, err error) {
	// 1. What is to end, and of that what is due.
	if d.ending, err = d.flow.Collector.Ending(ctx, d.reg); err != nil {
		return false, d.result(fmt.Errorf("read terminating claims in the ledger of cluster %s: %w", d.reg.Cluster, err))
	}
	d.read = d.Clock()
	d.Unread(d.ending.Unread)
	due := d.due()
	d.Reached("surveyed")
	if len(due) == 0 {
		return false, nil
	}

	// 2. Their instances. While EC2 does not answer no pod leaves its node: there may be no other for it.
	if d.clients, err = d.flow.Connector.Connect(ctx, d.reg); err != nil {
		return false, d.result(fmt.Errorf("connect to cluster %s: %w", d.reg.Cluster, err))
	}
	if err = d.describe(ctx, due); err != nil {
		if d.acted {
			return false, d.result(err)
		}
		d.Problem("%v", err)
		d.out.Skipped = "EC2 does not return the state of the instances"
		if !d.later(ctx) {
			return false, err
		}
		return false, nil
	}

	// 3. Each by itself; what fails or panics delays no other, and what hangs takes half of the time.
	work, stop := context.WithTimeout(ctx, max(0, d.request.Deadline.Sub(d.Clock())-d.settings.StopBefore)/2)
	defer stop()
	d.after = make([][]func(ctx context.Context), len(d.claims))
	d.readNodes(work, due)
	d.each(len(due), func(n int) { d.claim(work, due[n]) })
	d.Reached("stepped")
	sort.Strings(d.doomed) // those that are left are of claims that are Terminating, and come again
	ended := d.terminate(ctx, d.doomed, d.HasTime)
	d.out.Terminated, d.doomed = append(d.out.Terminated, ended...), nil
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
	d.Problem("%v", err)
	return nil
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
	ctx, stop := context.WithTimeout(ctx, max(0, d.request.Deadline.Sub(d.Clock())-d.settings.StopBefore)/4)
	defer stop()
	d.crowded = d.Clock()
	var err error
	if d.occupied, err = d.clients.Objects.ReadNodes(ctx, nodes); err != nil {
		d.occupied = nil
		d.Problem("read %d nodes of cluster %s together: %v", len(nodes), d.reg.Cluster, err)
	}
	d.Reached("seen")
}

// claim does what is due of one claim: a step, and those that follow it at once.
func (d *drains) claim(ctx context.Context, i int) {
	const most = 5 // in a row
	s := &step{drains: d, claim: d.claims[i], number: i, unseen: true}
	defer func() {
		if reason := recover(); reason != nil {
			d.Problem("the drain of claim %s panicked: %v\n%s", s.claim.Name, reason, debug.Stack())
			s.nextDue = d.now() + d.settings.RetrySeconds
		}
		d.dueAt[i] = s.nextDue
	}()
	for range most {
		if !d.HasTime() {
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
	defer d.Contain("claim " + left.claim + ", after its step: ")
	for _, do := range left.do {
		if d.HasTime() {
			do(ctx)
		}
	}
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
	text := fmt.Sprintf("send a hint for the next drain run in %s; the next scheduled run does too", after)
	return d.Try(ctx, EffectDrain, text, func() error { return d.flow.RequestDrain(ctx, d.request.Cluster, key, after) })
}
