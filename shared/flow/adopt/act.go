package adopt

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

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

// renew takes the lease, or takes it again, unless most of it is left.
func (r *pass) renew(ctx context.Context) error {
	now := r.Now()
	if r.until.Sub(now) > r.settings.LeaseFor/2 {
		return nil
	}
	nowUnix := r.out.AtUnix + int64(now.Sub(r.read).Seconds())
	fence, err := r.Leases.AcquireLease(ctx, r.reg.Cluster, model.LeaseCollector, r.request.Owner, nowUnix, nowUnix+int64(r.settings.LeaseFor.Seconds()))
	if err != nil {
		return fmt.Errorf("acquire the collector's lease of cluster %s: %w", r.reg.Cluster, err)
	}
	r.fence, r.until = fence, now.Add(r.settings.LeaseFor)
	if err := r.still(ctx); err != nil {
		r.release(ctx)
		return err
	}
	return nil
}

// still reads the registration again once the lease is held: nobody bounds how long this run takes, and whoever detaches a cluster
// keeps its leases for a while only.
func (r *pass) still(ctx context.Context) error {
	reg, err := r.Registry.Cluster(ctx, r.request.Cluster)
	switch {
	case fault.Is(err, fault.NotFound):
		return fmt.Errorf("cluster %s was detached meanwhile, and what is not adopted yet is left as it is: %w", r.request.Cluster, err)
	case err != nil:
		return fmt.Errorf("read the registration of cluster %s again: %w", r.request.Cluster, err)
	case reg.ARN != r.reg.ARN:
		return fault.New(fault.NotFound, "OtherCluster", "cluster %s is %s now, and was %s at the start; run this again", r.request.Cluster, reg.ARN, r.reg.ARN)
	}
	return nil
}

// release releases the lease even when the run's own context is over.
func (r *pass) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := r.Leases.Release(ctx, r.fence); err != nil {
		r.out.Warnings = append(r.out.Warnings, fmt.Sprintf("release the lease, which expires by itself: %v", err))
	}
}
