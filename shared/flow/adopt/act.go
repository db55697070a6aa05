package adopt

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// adopt does what is to be done, some NodeClaims at a time: each is recorded, then their instances are tagged, then objects and
// nodes are written to. An error means that the lease was lost: what was not come to is left for another run.
func (r *pass) adopt(ctx context.Context) error {
	var due []*Item
	for i := range r.out.Items {
		if v := r.out.Items[i].Verdict; v == lifecycle.Take || v == lifecycle.Resume {
			due = append(due, &r.out.Items[i])
		}
	}
	for some := range slices.Chunk(due, r.settings.AtOnce) {
		if err := r.renew(ctx); err != nil {
			return err
		}
		for _, item := range some {
			if item.Verdict == lifecycle.Take {
				r.applyEffect(ctx, item, EffectRecord, func() error { return r.Ledger.Adopt(ctx, r.fence, item.Claim) })
			}
		}
		r.tag(ctx, some)
		for _, item := range some {
			r.finish(ctx, item)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// applyEffect carries out an effect for one item, unless something went wrong with it before.
func (r *pass) applyEffect(ctx context.Context, item *Item, effect string, act func() error) {
	if item.Problem != "" {
		return
	}
	if err := r.effect(ctx, effect, act); err != nil {
		item.Problem = fmt.Sprintf("%s: %v", effect, err)
		return
	}
	item.Done = append(item.Done, effect)
}

// tag gives the instances of items their claims' intents, those of one intent in one call.
func (r *pass) tag(ctx context.Context, items []*Item) {
	byIntent := map[string][]*Item{}
	for _, item := range items {
		if item.Tag && item.Problem == "" {
			byIntent[item.Claim.Intent] = append(byIntent[item.Claim.Intent], item)
		}
	}
	for _, intent := range slices.Sorted(maps.Keys(byIntent)) {
		var ids []string
		for _, item := range byIntent[intent] {
			ids = append(ids, item.Claim.InstanceID)
		}
		var taken []string
		err := r.effect(ctx, EffectTag, func() (err error) {
			taken, err = r.clients.Fleet.AdoptInstances(ctx, r.reg.Cluster, intent, ids)
			return err
		})
		for _, item := range byIntent[intent] {
			switch {
			case slices.Contains(taken, item.Claim.InstanceID):
				item.Done = append(item.Done, EffectTag)
			case err != nil:
				item.Problem = fmt.Sprintf("%s: %v", EffectTag, err)
			default:
				item.Problem = fmt.Sprintf("%s: instance %s was terminated, or its tags have changed since they were read; run this again", EffectTag, item.Claim.InstanceID)
			}
		}
	}
}

// finish writes the claim's hashes to its object, and takes off its node what Karpenter left there.
func (r *pass) finish(ctx context.Context, item *Item) {
	claim := item.Claim
	if item.Stamp {
		r.applyEffect(ctx, item, EffectStamp, func() error {
			_, err := r.clients.Objects.PutClaim(ctx, claim)
			if fault.Is(err, fault.NotFound) { // somebody deleted it; the claim is in the ledger, and ends
				return nil
			}
			return err
		})
	}
	if item.Untaint {
		patch := model.NodePatch{Name: claim.NodeName, UID: claim.NodeUID}
		for _, effect := range []string{model.NoSchedule, model.NoExecute, model.PreferNoSchedule} {
			patch.RemoveTaints = append(patch.RemoveTaints, model.Taint{Key: model.TaintDisrupted, Effect: effect})
		}
		r.applyEffect(ctx, item, EffectUntaint, func() error { return r.clients.Objects.PatchNode(ctx, patch) })
	}
}
