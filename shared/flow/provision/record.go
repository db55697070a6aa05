package provision

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
	"github.com/joiner-sh/joiner/shared/wire"
)

// recordedInput is what a round of planning was asked, and of what snapshot.
type recordedInput struct {
	input    *model.PlannerInput
	snapshot *model.Snapshot
	pending  []int
}

// sameFor is after how many seconds a decision is kept that left the same pods without a place as the last one that
// was.
const sameFor = 3600

// planWithin is how long at most launches wait until their plan is kept.
const planWithin = time.Second

// recorder keeps the record of this run's decision.
type recorder struct {
	*state
	decisions Decisions
	classes   *classes

	decision model.Decision
	inputs   []recordedInput // in all rounds
	planKept bool            // the record was stored before a launch of this run
	isNews   bool            // the last plan leaves other pods without a place, or for other reasons
}

// open starts the record of this run's decision.
func (r *recorder) open(pending int) {
	r.decision = model.Decision{
		ID: r.newID(), Cluster: r.reg.Cluster, AtUnix: r.now(), Trigger: r.request.Trigger,
		Epoch: r.snapshot.Epoch, Seq: r.snapshot.Seq, Build: r.settings.Build, Pending: pending,
		Catalog: r.classes.catalogUse,
	}
	r.out.Decision = r.decision.ID
}

// keepPlan stores the record before anything of a plan is launched, so that instances of a run that dies later have
// one. What comes of the plan is not in it; keepDecision replaces it. Where it cannot be kept the launches are made all
// the same.
func (r *recorder) keepPlan(ctx context.Context, plan model.Plan) {
	r.planKept = true
	decision := r.decision
	decision.Open = true
	decision.Rounds = append(slices.Clone(decision.Rounds), model.Round{Plan: plan})
	r.withInput(&decision)
	ctx, cancel := context.WithTimeout(ctx, planWithin)
	defer cancel()
	if err := r.effect(ctx, EffectPlan, func() error { return r.decisions.PutDecision(ctx, decision) }); err != nil {
		r.problem("store the plan of decision %s: %v", decision.ID, err)
	}
}

// keepDecision stores the record with what was asked, so that it can be made once more. A decision that launched
// nothing and leaves the same pods for the same reasons as before is not worth keeping each minute.
func (r *recorder) keepDecision(ctx context.Context) {
	if r.decision.ID == "" || !r.worthRecording() {
		r.out.Decision = ""
		return
	}
	r.withInput(&r.decision)
	err := r.effect(ctx, EffectDecision, func() error { return r.decisions.PutDecision(ctx, r.decision) })
	if err != nil {
		r.problem("store decision %s: %v", r.decision.ID, err)
	}
}

// withInput adds to a record what was asked.
func (r *recorder) withInput(decision *model.Decision) {
	input, err := r.input()
	if err != nil {
		r.problem("store the input of decision %s: %v", decision.ID, err)
		return
	}
	decision.Input = input
	for i := range decision.Rounds {
		a := &r.inputs[i]
		decision.Rounds[i].Input = replay.Trim(a.input, a.snapshot, a.pending)
	}
}

// input says where what was decided by is found again, and holds what is kept nowhere else.
func (r *recorder) input() (*model.DecisionInput, error) {
	input := &model.DecisionInput{Account: r.reg.Account, Region: r.reg.Region, Snapshot: r.manifest}
	var err error
	if r.manifest == nil {
		if input.Listed, err = wire.EncodeSnapshot(r.listed); err != nil {
			return nil, err
		}
	}
	if r.classes.catalogUse.Source != catalogShared {
		input.Catalog, err = wire.EncodeCatalog(r.classes.catalog)
	}
	return input, err
}

// worthRecording reports whether the decision is to be kept.
func (r *recorder) worthRecording() bool {
	routine := r.request.Trigger == TriggerResync || r.request.Trigger == TriggerHeadroom
	return !routine || len(r.decision.Launched) > 0 || r.isNews || r.planKept
}

// unplaced notes which pods the last plan leaves without a place, and whether that is news.
func (r *recorder) unplaced() {
	digest := ""
	if rounds := r.decision.Rounds; len(rounds) > 0 {
		digest = r.unplacedDigest(rounds[len(rounds)-1].Plan.Unschedulable)
	} else if len(r.pending()) > 0 {
		return // it was not looked at
	}
	note := r.ledger.Notes.Unplaced
	switch {
	case digest == "" && note == nil:
	case digest == "":
		r.ledger.Notes.Unplaced, r.noted = nil, true
	case note == nil || note.Digest != digest || r.now()-note.AtUnix >= sameFor:
		r.ledger.Notes.Unplaced, r.noted, r.isNews = &model.UnplacedNote{AtUnix: r.now(), Digest: digest}, true, true
	}
}

// unplacedDigest stands for pods and the codes of why they have no place; empty where there are none. Places of
// CapacityBuffers do not count: their status says it.
func (r *recorder) unplacedDigest(list []model.Unschedulable) string {
	var text []byte
	for i := range list {
		if r.bufferOf(list[i].Pod) != "" {
			continue
		}
		text = fmt.Appendln(text, list[i].Pod.UID)
		for _, reason := range list[i].Reasons {
			text = fmt.Appendln(text, reason.Pool, reason.Code)
		}
	}
	if len(text) == 0 {
		return ""
	}
	return digest(text, 12)
}
