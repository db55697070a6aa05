package interruption

import (
	"context"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/model"
)

// Every instance's end is recorded: why, and who wanted it. The record is kept before the claim is closed, since nobody looks at one that is.
// Where it cannot be kept the claim is closed all the same, and says so; a later check makes up for it.

// recordEnd keeps the record of a claim's end that is about to be closed, and returns the claim as it is to be closed. reason is the code
// EC2 gives for the instance's state.
func (r *session) recordEnd(ctx context.Context, claim model.Claim, commands []model.Command, reason string, nowUnix int64) model.Claim {
	if claim.InstanceID == "" {
		return claim // there was no instance
	}
	removal := lifecycle.Removal(r.reg.Cluster, claim, commands, reason, nowUnix)
	claim.EndedBy = removal.By
	if !r.keep(ctx, removal, "store the record of claim "+claim.Name+"; a later run does") {
		claim.Unrecorded = true
	}
	return claim
}

// keep keeps the record of an end. Where that fails the problem begins with text.
func (r *session) keep(ctx context.Context, removal model.Removal, text string) bool {
	return r.Try(ctx, EffectRemoval, text, func() error { return r.flow.Removals.PutRemoval(ctx, removal) })
}
