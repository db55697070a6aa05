package disrupt

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/headroom"
	"github.com/joiner-sh/joiner/shared/core/offer"
	"github.com/joiner-sh/joiner/shared/core/reclaim"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/work"
)

const (
	aheadAtMost  = 5 // seconds by which the watcher's clock may be ahead of the ledger's for its heartbeat to be believed
	missedBeat   = 3 // seconds until another look, where the watcher's heartbeat is only a little late
	tryAgain     = 5 // seconds until another look, after something did not answer
	cameTooLate  = 2 // seconds until another look, after somebody else has written first
	sharedSource = "s3"
)

// see takes the watcher's snapshot, if it is one that may be decided by: published or confirmed a moment ago, and none that is
// older than one already decided by.
func (r *run) see(ctx context.Context) {
	pointer := r.ledger.Pointer
	if pointer == nil {
		if r.unseen = r.ledger.PointerFault; r.unseen != "" {
			r.problem("%s", r.unseen)
			return
		}
		r.unseen = "no watcher was ever here"
		return
	}
	ahead := r.watcherAhead(*pointer)
	switch age := r.now() - pointer.HeartbeatAt; {
	case age < -aheadAtMost:
		r.unseen = fmt.Sprintf("the watcher's clock is %d s ahead of the ledger's", -age)
		return
	case age+ahead > r.freshFor():
		r.unseen = fmt.Sprintf("the watcher's last sign of life is %d s old", age+ahead)
		if age <= seconds(r.settings.SilentAfter) {
			r.soon(missedBeat)
		}
		return
	case r.older(pointer.Epoch, pointer.HeadSeq):
		r.unseen = fmt.Sprintf("snapshot %d/%d is older than one already decided by", pointer.Epoch, pointer.HeadSeq)
		return
	}
	snapshot, err := r.Snapshots.At(ctx, *pointer)
	if err != nil {
		r.unseen = fmt.Sprintf("snapshot %d/%d cannot be read", pointer.Epoch, pointer.HeadSeq)
		r.problem("%s: %v", r.unseen, err)
		if err := work.SayLost(ctx, r.Losses, r.Effects, *pointer, err); err != nil {
			r.problem("%v", err)
		}
		r.soon(tryAgain)
		return
	}
	r.snapshot, r.beatUnix = headroom.Join(snapshot), pointer.HeartbeatAt-ahead
	r.pointer = *pointer
	r.pointer.HeadSeq = snapshot.Seq // it may be newer
}

// watcherAhead returns by how many seconds the watcher's clock may be ahead of the ledger's; 0 where that is little. It is remembered: where
// such a watcher then stops, its last sign of life would look fresh once the ledger's clock has come to its time.
func (r *run) watcherAhead(pointer model.Pointer) int64 {
	before, now := r.notes.Ahead, r.now()
	ahead := before.Of(pointer, now)
	if ahead <= aheadAtMost {
		ahead, r.notes.Ahead = 0, model.BeatAhead{}
	} else {
		r.notes.Ahead = model.BeatAhead{Epoch: pointer.Epoch, Beat: pointer.HeartbeatAt, SeenAt: now, Seconds: ahead}
	}
	r.renoted = r.renoted || r.notes.Ahead != before
	return ahead
}

// freshFor is how old the watcher's heartbeat may be, in seconds. Where the ledger has no claim there is nothing to give back, and the watcher
// says less often that it lives.
func (r *run) freshFor() int64 {
	if len(r.ledger.Claims) == 0 && len(r.openIDs()) == 0 {
		return seconds(r.settings.SilentAfter)
	}
	return seconds(r.settings.FreshFor)
}

// older reports whether a snapshot is older than one that was decided by.
func (r *run) older(epoch, seq int64) bool {
	before := func(e, s int64) bool { return epoch < e || epoch == e && seq < s }
	if before(r.notes.Epoch, r.notes.Seq) {
		return true
	}
	return slices.ContainsFunc(r.ledger.Commands, func(c model.Command) bool { return before(c.Epoch, c.Seq) })
}

// isFresh reports whether the snapshot may still be decided by.
func (r *run) isFresh() bool {
	return r.now()-r.beatUnix <= seconds(r.settings.FreshFor)
}

// readMachines reads the region's machine catalogue once.
func (r *run) readMachines(ctx context.Context) error {
	if r.machines != nil {
		return nil
	}
	machines, err := r.Machines.Machines(ctx, r.reg)
	if err != nil {
		return fmt.Errorf("read the machine catalogue of %s: %w", r.reg.Region, err)
	}
	if age := r.now() - machines.ReadUnix; age > seconds(r.settings.CatalogAfter) {
		return fault.New(fault.NotFound, "Stale", "the machine catalogue of %s is %d s old", r.reg.Region, age)
	}
	use := offer.Use(sharedSource, machines, r.now())
	r.machines, r.out.Machines = &machines, &use
	return nil
}

// inputNow joins the snapshot with what the ledger knows beyond it, as this run has written it, and returns the question beside what it
// comes to. What classes can buy is worked out once.
func (r *run) inputNow(ctx context.Context) (reclaim.Input, model.JudgeQuestion, error) {
	if r.input == nil {
		if err := r.readMachines(ctx); err != nil {
			return reclaim.Input{}, model.JudgeQuestion{}, err
		}
		r.question = model.JudgeQuestion{
			Offers: r.settings.Offers, Usage: r.ledger.Usage, Marks: r.marks(), Held: r.held(), Stops: r.ledger.Stops, Settings: r.settings.Reclaim,
			Unclaimed: r.ledger.Unread.Claims() > 0,
		}
		r.question.Offers.Region, r.question.Offers.NowUnix = r.reg.Region, r.now()
		for i := range r.snapshot.Classes {
			r.question.Classes = append(r.question.Classes, r.classAsked(r.snapshot.Classes[i]))
		}
		input := replay.Judge(&r.question, r.snapshot, r.machines.Types)
		r.input = &input
	}
	q := r.question
	q.NowUnix = r.now()
	q.Commands = slices.Clone(r.ledger.Commands)
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() {
			q.Claims = append(q.Claims, *claim)
		}
	}
	input := *r.input
	input.NowUnix, input.Commands, input.Claims = q.NowUnix, q.Commands, q.Claims
	return input, q, nil
}

// classAsked says how a class stands. What EC2 refuses to launch, or whose machines do not join, buys nothing: its offers have
// prices and are not available.
func (r *run) classAsked(class model.Class) model.ClassAsked {
	class.Status = offer.Latest(class, r.ledger.Classes)
	asked := model.ClassAsked{Name: class.Name, Suspended: r.suspended(class.Name)}
	age := r.now() - class.Status.ResolvedUnix
	switch {
	case class.Status.ObservedGeneration != class.Generation || class.Status.ResolvedUnix == 0:
		asked.Barred = "what its selectors mean is not known yet"
	case age > seconds(r.settings.ClassAfter):
		asked.Barred = fmt.Sprintf("what its selectors mean was found out %d s ago, and not since", age)
	}
	asked.Status = offer.Less(class.Status, offer.Taken(&class.Status, r.ledger.Claims), r.ledger.Marks, r.now())
	return asked
}

// held are the pools that nothing may be bought for: what takes their nodes' place would not take their pods.
func (r *run) held() []model.HeldPool {
	var out []model.HeldPool
	for i := range r.ledger.Notes.PoolHolds {
		if hold := &r.ledger.Notes.PoolHolds[i]; hold.Machines > 0 {
			out = append(out, model.HeldPool{Pool: hold.Pool, Why: hold.Text()})
		}
	}
	for _, u := range r.ledger.Unread.Of(model.UnreadUsage) {
		if !slices.ContainsFunc(out, func(p model.HeldPool) bool { return p.Pool == u.Name }) {
			out = append(out, model.HeldPool{Pool: u.Name, Why: u.Text()})
		}
	}
	return out
}

// marks are the ledger's, and what is half open is closed: whether there is capacity again is not for us to try out.
func (r *run) marks() []model.Mark {
	marks := slices.Clone(r.ledger.Marks)
	for i := range marks {
		marks[i].UntilUnix = max(marks[i].UntilUnix, marks[i].ForgetUnix)
	}
	return marks
}

// suspended reports whether launches from a class have failed lately for reasons that another offer would not get round.
func (r *run) suspended(class string) bool {
	for i := range r.ledger.Notes.Holds {
		if hold := &r.ledger.Notes.Holds[i]; hold.Class == class && r.now() < hold.UntilUnix {
			return true
		}
	}
	for i := range r.ledger.Notes.Refusals {
		if refusal := &r.ledger.Notes.Refusals[i]; refusal.Class == class && r.now() < refusal.UntilUnix {
			return true
		}
	}
	return false
}
