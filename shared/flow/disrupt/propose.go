package disrupt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/core/disruption"
	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// proposal is what a run decided anew.
type proposal struct {
	plan   *model.DisruptPlan     // nil = nothing was planned
	asked  *model.DisruptionInput // what plan answers
	named  map[string]string      // names that replacements have got, by those they were planned with
	record string                 // id under which it is kept; empty = it is not
	fresh  []model.Command        // that were committed
}

// proposer decides what else to disrupt, and commits it.
type proposer struct {
	*inputs
	proposal
}

// propose decides what else to disrupt, and commits it.
func (r *session) propose(ctx context.Context, in *inputs) proposal {
	switch {
	case r.reg.Paused:
		r.out.Undecided = "the cluster is paused"
	case in.snapshot == nil:
		r.out.Undecided = in.unseen
	case r.state.Unread.Any(model.UnreadCommand):
		r.out.Undecided = "a command of the ledger cannot be read, and it is unknown which nodes it disrupts"
	case !r.HasTime():
		r.out.Undecided = "no time was left"
		r.soon(1)
	}
	p := &proposer{inputs: in}
	if r.out.Undecided == "" {
		if err := p.decide(ctx); err != nil {
			r.out.Undecided = err.Error()
			if !fault.Is(err, fault.NotFound) { // then the catalog function has to come first, and the tick is soon enough
				r.soon(retryAfter)
			}
		}
	}
	return p.proposal
}

// decide plans, unless nothing has changed since it was planned last, and commits what is planned.
func (r *proposer) decide(ctx context.Context) error {
	if err := r.readCatalog(ctx); err != nil {
		return err
	}
	notes, idle := &r.memo.notes, len(r.state.openIDs()) == 0
	if idle && r.unchanged(r.snapshot, r.catalog.Version) {
		r.out.Undecided = "nothing has changed since a run that found nothing to do"
		r.found(r.snapshot, r.catalog.Version, notes.DueUnix, notes.Constrained)
		r.later(notes.DueUnix)
		return nil
	}
	input, asked, err := r.now(ctx)
	if err != nil {
		return err
	}
	// Nothing begins while an alarm's state is not known; what is open goes on.
	input.Stops = model.WithAlarms(r.state.Stops, r.state.alarms)
	asked.Stops = input.Stops
	id := r.flow.NewID()
	input.Salt, asked.Salt = id, id
	r.asked, r.named = &asked, map[string]string{}
	plan, ok := r.planned(input)
	if !ok {
		return nil
	}
	r.plan = &plan
	r.Reached("planned")
	r.out.measure(&plan)
	// Sooner than it may come a look is neither asked for nor due.
	again := plan.ReplanUnix
	if again != 0 {
		again = max(again, r.NowUnix()+seconds(r.settings.PassEvery))
		r.later(again)
	}
	if len(plan.Commands) > 0 {
		r.out.Decision, r.record = id, id
		r.commit(ctx, id)
		return nil
	}
	if len(plan.Kept) > 0 && r.NowUnix()-notes.KeptUnix >= quietEvery {
		r.record, notes.KeptUnix, r.memo.changed = id, r.NowUnix(), true
	}
	if idle && (!plan.Constrained || again != 0) {
		r.found(r.snapshot, r.catalog.Version, again, plan.Constrained)
	}
	return nil
}

// quietEvery is after how many seconds a look that disrupts nothing is kept, though it leads to nothing: a version that would give
// more back can be asked the same.
const quietEvery = 3600

// planned is disruption.Plan, or whatever takes its place in a test; false where it panics.
func (r *proposer) planned(input disruption.Input) (plan model.DisruptPlan, ok bool) {
	defer r.Contain("planning: ")
	if r.flow.Plan != nil {
		return r.flow.Plan(input), true
	}
	return disruption.Plan(input), true
}

// measure notes what a plan says.
func (o *Outcome) measure(plan *model.DisruptPlan) {
	o.Planned, o.Constrained = len(plan.Commands), plan.Constrained
	o.PriceBefore, o.PriceAfter = plan.PriceBefore.USD(), plan.PriceAfter.USD()
	o.Waiting, o.Delayed = plan.Waiting, plan.Delayed.USD()
	o.Nodes, o.Kept = len(plan.Kept), map[string]int{}
	for i := range plan.Kept {
		if reasons := plan.Kept[i].Reasons; len(reasons) > 0 {
			o.Kept[reasons[0].Code]++
		}
	}
	for i := range plan.Commands {
		o.Nodes += len(plan.Commands[i].Nodes)
	}
}

// keepDecision keeps the record of a decision that led to anything, and each hour of one that did not.
func (r *session) keepDecision(ctx context.Context, p *proposal, v *view) {
	if p.record == "" {
		return
	}
	committed := r.out.Committed
	if committed == nil {
		committed = []string{}
	}
	decision := model.Disrupted{
		ID: p.record, Cluster: r.reg.Cluster, AtUnix: r.NowUnix(), Epoch: v.snapshot.Epoch, Seq: v.snapshot.Seq, Build: r.settings.Build,
		Plan: *p.plan, Committed: committed, Catalog: *r.out.Catalog, Named: p.named,
		Recorded: &model.DecisionInput{Account: r.reg.Account, Region: r.reg.Region, Snapshot: &v.manifest},
		Input:    replay.TrimDisruption(p.asked, v.snapshot),
	}
	r.Try(ctx, EffectDecision, "store the record of decision "+decision.ID, func() error {
		return r.flow.Decisions.PutDisruption(ctx, decision)
	})
}
