package disrupt

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

// Run looks at one cluster: it moves open commands on, takes off taints nobody answers for, and decides what to disrupt. An
// error means that it could not look: nothing was changed then.
func (f *Flow) Run(ctx context.Context, request Request) (Outcome, error) {
	r := f.begin(request)
	err := r.reconcile(ctx)
	r.Reached("done")
	r.out.DueUnix, r.out.Millis, r.out.Problems = r.next, r.Millis(), r.Problems()
	return r.out, err
}

func (f *Flow) begin(request Request) *session {
	r := &session{flow: f, settings: work.WithDefaults(f.Settings), request: request, out: Outcome{Cluster: request.Cluster}}
	r.Invocation = (&work.Invocation{
		Clock: f.Now, Deadline: request.Deadline, Hook: f.Effects, SideBySide: f.Parallel,
		LeaseMargin: r.settings.LeaseMargin, StopBefore: r.settings.StopBefore,
	}).Begin()
	return r
}

func (r *session) reconcile(ctx context.Context) error {
	// 1. Who is asked about, and has anything changed. An idle cluster costs what this reads.
	var err error
	if r.reg, r.out.Skipped, err = work.Registration(ctx, r.flow.Registry, r.request.Cluster); err != nil || r.out.Skipped != "" {
		return err
	}
	manifest, notes, nowUnix, err := r.flow.Ledger.Peek(ctx, r.reg.Cluster)
	if err != nil {
		return fmt.Errorf("read the manifest and the notes of cluster %s: %w", r.reg.Cluster, err)
	}
	r.memo.notes = notes
	r.SetNow(nowUnix)
	settled := !r.request.Changed && r.memo.settled(manifest, &r.settings, r.NowUnix())
	if settled {
		r.out.Skipped = "nothing has changed since a run that found nothing to do"
		if r.later(notes.DueUnix); !r.memo.hintMissing(r.next, r.NowUnix()) {
			return nil
		}
	}

	// 2. One run at a time.
	lease, err := r.Acquire(ctx, r.flow.Leases, r.reg.Cluster, model.LeaseDisrupt, r.request.Owner, "the disruption lease")
	if fault.Is(err, fault.Conflict) {
		r.out.Skipped = "another disruption run has the lease"
		return r.requestAnother(ctx)
	}
	if err != nil {
		return err
	}
	defer r.Release(ctx, lease)
	if r.fence = lease.Fence; settled {
		r.remember(ctx)
		return nil
	}

	// 3. What is, as the ledger and the snapshot say.
	if err := r.load(ctx); err != nil {
		return err
	}
	if r.clients, err = r.flow.Connector.Connect(ctx, r.reg); err != nil {
		return fmt.Errorf("connect to cluster %s: %w", r.reg.Cluster, err)
	}
	r.Unread(r.state.Unread)
	seen := r.readSnapshot(ctx)
	r.readAlarms(ctx, seen.snapshot)
	r.Reached("seen")

	// 4. What is to be done. Nobody waits for the events, so that the next run need not either.
	done := r.carryOut(ctx, seen)
	r.Release(ctx, lease)
	r.reportCandidates(done.fresh)
	r.publishEvents(ctx, r.quiet(done.plan, seen.snapshot))
	return nil
}

// done is what a run has done.
type done struct {
	proposal
	fresh []*step // the commands it committed, as they are now
}

// carryOut moves open commands on, takes off taints nobody answers for, decides what to disrupt, and tells whoever has to do something about
// it.
func (r *session) carryOut(ctx context.Context, seen view) done {
	// What is on its way goes first: it has waited longest, and what it disrupts is not to be evaluated again.
	in := &inputs{session: r, view: seen}
	m := &mover{session: r, view: seen, inputs: in}
	open := slices.DeleteFunc(slices.Clone(r.state.Commands), func(c model.Command) bool { return !c.State.Open() })
	r.out.Open = len(open)
	m.advance(ctx, m.steps(open))
	r.Reached("advanced")
	r.strays(ctx, seen.snapshot)

	// What else could go, and its first steps.
	decided := r.propose(ctx, in)
	fresh := m.steps(decided.fresh)
	m.advance(ctx, fresh)
	r.Reached("proposed")

	// Whoever has to do something about it is notified, and what was found is remembered.
	r.announce(ctx, m.moved)
	r.keepDecision(ctx, &decided, &seen)
	r.reportKept(decided.plan, seen.snapshot)
	r.remember(ctx)
	return done{decided, fresh}
}

// requestAnother asks for another check, since another run is at work: soon where somebody has seen something change that the other
// may not have seen, else later: it may have died with the lease, and the next tick would be a minute away. Either comes back as often as it
// takes for that lease to be over, and no more often, so that hints that meet each other do not breed.
func (r *session) requestAnother(ctx context.Context) error {
	const often, seldom = 8, 2
	key, after, most := delayedKey, 5*time.Second, often
	if !r.request.Changed {
		key, after, most = busyKey, 17*time.Second, seldom
	}
	if r.request.Redeliveries >= most {
		return nil
	}
	key = fmt.Sprintf("%s%d/%d", key, r.request.Redeliveries+1, r.NowUnix())
	err := r.Effect(ctx, EffectHint, func() error { return r.flow.RequestDisruption(ctx, r.reg.Cluster, key, after) })
	if err != nil {
		return fmt.Errorf("send a hint to check cluster %s again: %w", r.reg.Cluster, err)
	}
	return nil
}

// announce asks provision for replacements and for places of pods that leave, and for the first step of drains. Each may be
// lost: the tick of the function that is asked does it too.
func (r *session) announce(ctx context.Context, m moved) {
	slices.Sort(m.replace)
	slices.Sort(m.drained)
	if len(m.drained) > 0 {
		text := fmt.Sprintf("send hints for the drains of %d commands; the next scheduled run does", len(m.drained))
		key := "done/" + digestOf(m.drained)
		r.Try(ctx, EffectDrain, text, func() error { return r.flow.RequestDrain(ctx, r.reg.Cluster, key, 0) })
	}
	if all := append(slices.Clone(m.replace), m.drained...); len(all) > 0 {
		text := fmt.Sprintf("send provision hints about %d commands; its next scheduled run finds them", len(all))
		key := "commands/" + digestOf(all)
		r.Try(ctx, EffectReplace, text, func() error { return r.flow.RequestReplacement(ctx, r.reg.Cluster, key) })
	}
}

// digestOf stands for a list of ids.
func digestOf(ids []string) string {
	sum := sha256.Sum256([]byte(strings.Join(ids, " ")))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:16]
}

// FanOut turns the tick of each minute into one hint per cluster that does not rest, as work.FanOut says. Paused clusters get
// theirs too: what was on its way when they were paused is undone.
func (f *Flow) FanOut(ctx context.Context, tick string) (int, error) {
	rests := func(reg model.Registration) bool { return f.rests(ctx, reg) }
	return work.FanOut(ctx, f.Registry, "disruption", rests, func(cluster string) error {
		return f.RequestDisruption(ctx, cluster, ownKey+tick, 0)
	})
}

// rests reports whether a run would find at its first read that there is nothing to do. Whatever cannot be read does not rest.
func (f *Flow) rests(ctx context.Context, reg model.Registration) bool {
	manifest, notes, nowUnix, err := f.Ledger.Peek(ctx, reg.Cluster)
	settings, m := work.WithDefaults(f.Settings), memo{notes: notes}
	return err == nil && m.settled(manifest, &settings, nowUnix) && !m.hintMissing(notes.DueUnix, nowUnix)
}
