package provision

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// restore makes the NodeClaim objects anew of claims whose objects went with a definition, once their NodePool is there again: the
// NodePool as it is now owns the object, and the object the node, as before. Of a claim whose NodePool has not come back there is
// no object, and its instance runs on.
func (r *pass) restore(ctx context.Context) {
	there := map[string]bool{"": true} // pools, as the snapshot shows them: none of the others is asked for
	for i := range r.snapshot.Pools {
		there[r.snapshot.Pools[i].Name] = r.snapshot.Pools[i].DeletedUnix == 0
	}
	var due []model.Claim
	waits := 0
	for _, claim := range r.ledger.Claims {
		switch {
		case !claim.Vanished || !claim.Live() || claim.Ending() || claim.State == model.Intended:
		case !there[claim.Pool]:
			waits++
		default:
			due = append(due, claim)
		}
	}
	if waits > 0 {
		r.problem("%d NodeClaims that were deleted with their CustomResourceDefinition wait for their NodePools to be applied again; their instances keep running", waits)
	}
	uids := map[string]string{"": ""}
	for i := range due {
		uid, asked := uids[due[i].Pool]
		if !asked {
			var err error
			if uid, err = r.clients.Cluster.PoolUID(ctx, due[i].Pool); err != nil {
				r.problem("create the NodeClaims of NodePool %s again: %v", due[i].Pool, err)
			}
			uids[due[i].Pool] = uid
		}
		due[i].PoolUID = uid
	}
	restored := make([]bool, len(due))
	once := func(i int) error {
		if due[i].Pool != "" && due[i].PoolUID == "" {
			return nil
		}
		claim, err := r.restoreClaim(ctx, due[i])
		if err == nil {
			due[i], restored[i] = claim, true
		} else if !passing(err) {
			r.problem("create NodeClaim %s again: %v", due[i].Name, err)
		}
		return err
	}
	if len(due) == 0 || fault.Is(once(0), fault.NotFound) { // NodeClaims are not defined: none of the others can be made either
		return
	}
	r.parallel(len(due)-1, func(i int) { _ = once(i + 1) })
	for i := range due {
		if restored[i] {
			r.replaceClaim(due[i])
			r.out.Restored++
		}
	}
}

// restoreClaim makes one object, has it own the claim's node, and notes it. Each step may be repeated.
func (r *pass) restoreClaim(ctx context.Context, claim model.Claim) (model.Claim, error) {
	uid, err := r.putClaim(ctx, claim)
	if err != nil {
		return claim, err
	}
	if claim.NodeName != "" && claim.NodeUID != "" {
		patch := model.NodePatch{Name: claim.NodeName, UID: claim.NodeUID, Owner: &model.Object{Name: claim.Name, UID: uid}, Finalizer: nodeFinalizers}
		err := r.effect(ctx, EffectNode, func() error { return r.clients.Cluster.PatchNode(ctx, patch) })
		if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Conflict) {
			return claim, fmt.Errorf("make it the owner of node %s: %w", claim.NodeName, err)
		}
	}
	claim.ObjectUID, claim.Vanished = uid, false
	return r.noteObject(ctx, claim)
}
