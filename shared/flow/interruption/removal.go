package interruption

import (
	"context"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// Every instance's end is recorded: why, and who wanted it. The record is kept before the claim is closed, since nobody looks at one that is.
// Where it cannot be kept the claim is closed all the same, and says so; a later check makes up for it.

// recordEnd keeps the record of a claim's end that is about to be closed, and returns the claim as it is to be closed. reason is the code
// EC2 gives for the instance's state.
func (f *Flow) recordEnd(ctx context.Context, reg model.Registration, claim model.Claim, commands []model.Command, reason string, nowUnix int64, problem func(string, ...any)) model.Claim {
	if claim.InstanceID == "" {
		return claim // there was no instance
	}
	removal := lifecycle.Removal(reg.Cluster, claim, commands, reason, nowUnix)
	claim.EndedBy = removal.By
	if err := f.keep(ctx, removal); err != nil {
		problem("store the record of claim %s; a later run does: %v", claim.Name, err)
		claim.Unrecorded = true
	}
	return claim
}

func (f *Flow) keep(ctx context.Context, removal model.Removal) error {
	return f.effect(ctx, EffectRemoval, func() error { return f.Removals.PutRemoval(ctx, removal) })
}

// recordLate keeps the records of claims that were closed without.
func (r *pass) recordLate(ctx context.Context, collector *model.CollectorState) {
	for i := range r.records.Claims {
		claim := &r.records.Claims[i]
		if claim.Live() || !claim.Unrecorded {
			continue
		}
		if !slices.Contains(r.records.Collector.Recorded, claim.Name) {
			if err := r.keep(ctx, lifecycle.Removal(r.reg.Cluster, *claim, r.records.Commands, "", claim.GoneUnix)); err != nil {
				r.problem("store the record of claim %s; a later run does: %v", claim.Name, err)
				continue
			}
		}
		collector.Recorded = append(collector.Recorded, claim.Name)
	}
}

// recordOrphan keeps the record of the end of an instance that no claim had.
func (r *pass) recordOrphan(ctx context.Context, f *lifecycle.Finding) {
	if err := r.keep(ctx, lifecycle.OrphanRemoval(r.reg.Cluster, f, r.records.NowUnix)); err != nil {
		r.problem("store the record of instance %s, which has no claim: %v", f.Instance.ID, err)
	}
}

// recordUnknown keeps the records of instances that ended and that no claim has or had. Each is kept once while EC2 shows the instance, and
// not in place of the record of one that was ended because no claim had it.
func (r *pass) recordUnknown(ctx context.Context, view lifecycle.View, collector *model.CollectorState) {
	for _, i := range lifecycle.Unknown(view) {
		if !slices.Contains(r.records.Collector.Recorded, i.ID) {
			removal := lifecycle.UnknownRemoval(r.reg.Cluster, i, r.live, r.records.NowUnix)
			if err := r.effect(ctx, EffectRemoval, func() error { return r.Removals.AddRemoval(ctx, removal) }); err != nil {
				r.problem("store the record of instance %s, which ended without a claim; a later run does: %v", i.ID, err)
				continue
			}
		}
		collector.Recorded = append(collector.Recorded, i.ID)
	}
}
