package interruption

import (
	"context"
	"fmt"
	"time"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Run looks at one cluster and does what is to be done there. An error means that it could not look, or not write down
// what it saw; nothing was removed then.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := &pass{session: f.session(request.Deadline), request: request}
	r.out = Outcome{Cluster: request.Cluster, Findings: map[string]int{}}
	err := r.reconcile(ctx)
	r.Reached("done")
	r.out.Millis, r.out.Problems = r.Millis(), r.Problems()
	return r.out, err
}

func (r *pass) reconcile(ctx context.Context) error {
	// 1. Who is asked about, and may we.
	var err error
	r.reg, r.out.Skipped, err = work.ActiveRegistration(ctx, r.flow.Registry, r.request.Cluster)
	if err != nil || r.out.Skipped != "" {
		return err
	}

	// 2. One collector at a time. Whoever holds the lease looks at everything, so there is nothing left for us.
	lease, err := r.Acquire(ctx, r.flow.Leases, r.reg.Cluster, model.LeaseCollector, r.request.Owner, "the collector's lease")
	if fault.Is(err, fault.Conflict) {
		r.out.Skipped = "another collector run has the lease"
		return nil
	}
	if err != nil {
		return err
	}
	defer r.Release(ctx, lease)
	r.fence = lease.Fence

	// 3. What is, as EC2, the ledger and the API server say, in this order.
	view, err := r.readState(ctx)
	if err != nil || r.out.Skipped != "" {
		return err
	}
	r.Reached("looked")
	if !r.believable() {
		return nil
	}

	// 4. What is wrong, and for how long it has been.
	findings := r.findings(ctx, view)
	for i := range findings {
		r.out.Findings[string(findings[i].Kind)]++
	}
	due, collector, again := r.confirm(findings)
	again = r.notePoll(&collector, again)
	due = r.limitRemovals(due, &collector)
	r.recordLate(ctx, &collector)
	r.recordUnknown(ctx, view, &collector)

	// 5. Written down before anything is done, and before it is forgotten.
	if !r.idle(findings, collector) {
		err = r.Effect(ctx, EffectNote, func() (err error) {
			_, err = r.flow.Collector.PutCollectorState(ctx, r.fence, collector)
			return err
		})
		if err != nil {
			return fmt.Errorf("write the collector state of cluster %s: %w", r.reg.Cluster, err)
		}
	}
	r.Reached("noted")

	// 6. Done, one thing after another; what fails stops nothing else.
	done, again := r.carryOut(ctx, due, again)
	r.announceEnds(ctx, done.begun)
	r.requestDisruption(ctx, done.freed)
	r.publish(ctx, done)
	r.requestAnother(ctx, again)
	return nil
}

// carryOut does what findings ask for, and ends the instances of that. Claims that are Terminating are found again; so are orphans. It returns
// what was done, and after how long to look again.
func (r *pass) carryOut(ctx context.Context, due []lifecycle.Finding, again time.Duration) (acts, time.Duration) {
	a := &actor{pass: r}
	for i := range due {
		if !a.hasTime(i) {
			again = time.Second
			break
		}
		a.act(ctx, &due[i])
	}
	r.out.Terminated = r.terminate(ctx, a.doomed, func() bool { return !a.stopped && r.HasTime() })
	return a.acts, again
}

// announceEnds asks for what follows where the ends of so many claims began, and for a drain run where one is overdue: the message
// that asked for it was lost.
func (r *pass) announceEnds(ctx context.Context, begun int) {
	const late = 5 // seconds after which a step is overdue
	key := fmt.Sprintf("look/%d", r.fence.Token)
	if begun > 0 {
		if err := r.announce(ctx, r.reg.Cluster, key, begun); err != nil {
			r.Problem("send hints about %d terminations; the next scheduled run does: %v", begun, err)
		}
		return
	}
	for i := range r.records.Claims {
		claim := &r.records.Claims[i]
		if claim.State != model.Draining && claim.State != model.Terminating {
			continue
		}
		var due int64
		if claim.Drain != nil {
			due = max(claim.Drain.SinceUnix, claim.Drain.DueUnix)
		}
		if due+late > r.records.NowUnix {
			continue
		}
		text := "send a hint for the drain run that claim " + claim.Name + " waits for; the next scheduled run does"
		r.Try(ctx, EffectDrain, text, func() error { return r.flow.RequestDrain(ctx, r.reg.Cluster, key, 0) })
		return
	}
}

// publish publishes what this look has to say, and has offerings left alone.
func (r *pass) publish(ctx context.Context, done acts) {
	if n := len(done.unavailable); n > 0 {
		text := fmt.Sprintf("record %d unavailable offerings of interrupted instances", n)
		r.Try(ctx, EffectUnavailable, text, func() error { return r.flow.Unavailable.MarkUnavailable(ctx, r.reg, done.unavailable) })
	}
	r.report(ctx, fmt.Sprintf("publish %d events", len(done.events)), done.events)
}

// requestAnother asks for another check where one sooner than the next tick is worth it.
func (r *pass) requestAnother(ctx context.Context, after time.Duration) {
	if after <= 0 || after >= time.Minute {
		return
	}
	key := fmt.Sprintf("after/%d", r.fence.Token)
	text := fmt.Sprintf("send a hint to check again in %s; the next scheduled run does anyway", after)
	r.Try(ctx, EffectHint, text, func() error { return r.flow.RequestPass(ctx, r.reg.Cluster, key, after) })
}

// FanOut turns the tick of each minute into one hint per cluster that is awake, as work.FanOut says. One that sleeps has no claim, no
// node of ours and no launch that is open, so that all there could be to find is an unknown instance.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	return work.FanOut(ctx, f.Registry, "interruption", work.SkipResync(ctx, f.Peeks, tick), func(cluster string) error {
		return f.RequestPass(ctx, cluster, tick, 0)
	})
}
