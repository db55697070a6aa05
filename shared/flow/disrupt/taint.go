package disrupt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/core/replay"
	"github.com/joiner-sh/joiner/shared/model"
)

// tainted is a node whose taint is to be taken off.
type tainted struct {
	node, uid string
	claim     *model.Claim
}

// strays takes off taints nobody answers for: of nodes whose claim is live, is not to end, and is in no open command. A process
// died after its command had been undone, or tainted late. The ledger is read again first: whoever had the node tainted wrote
// that down before, and the snapshot that shows the taint is older than this read.
func (r *session) strays(ctx context.Context, snapshot *model.Snapshot) {
	if snapshot == nil || len(r.strayNodes(snapshot)) == 0 {
		return
	}
	if err := r.load(ctx); err != nil {
		r.Problem("read the ledger again before taints are taken off: %v", err)
		r.soon(retryAfter)
		return
	}
	strays := r.strayNodes(snapshot)
	r.each(len(strays), func(i int) {
		if !r.HasTime() {
			r.soon(1)
			return
		}
		if err := r.free(ctx, strays[i]); err != nil {
			r.Problem("remove an orphaned taint from node %s: %v", strays[i].node, err)
			r.soon(retryAfter)
			return
		}
		r.Add(&r.out.Strays, 1)
	})
}

// strayNodes returns nodes with a taint nobody answers for, by name.
func (r *session) strayNodes(snapshot *model.Snapshot) []tainted {
	byProvider, open := r.state.byProvider(), r.state.openIDs()
	leaves := map[string]bool{} // NodeClaims that are being deleted, by name
	for i := range snapshot.Claims {
		leaves[snapshot.Claims[i].Name] = snapshot.Claims[i].DeletedUnix != 0
	}
	var out []tainted
	for i := range snapshot.Nodes {
		node := &snapshot.Nodes[i]
		claim := byProvider[node.ProviderID]
		if node.ProviderID == "" || claim == nil || claim.Ending() || open[claim.Command] || leaves[claim.Name] || r.freed[node.UID] ||
			node.DeletedUnix != 0 || !replay.IsDisrupted(node) {
			continue
		}
		out = append(out, tainted{node.Name, node.UID, claim})
	}
	return out
}

// free takes off a node what says that it is disrupted: why, then the taint. A node that is gone, or another of its name, has
// nothing to be freed of.
func (r *session) free(ctx context.Context, t tainted) error {
	if err := r.show(ctx, t.claim, "", ""); err != nil {
		return err
	}
	err := r.Effect(ctx, EffectUntaint, func() error {
		return r.clients.Objects.PatchNode(ctx, model.NodePatch{Name: t.node, UID: t.uid, RemoveTaints: []model.Taint{{Key: model.TaintDisrupted}}})
	})
	if err != nil && !absent(err) {
		return err
	}
	r.Mutex.Lock()
	defer r.Mutex.Unlock()
	if r.freed == nil {
		r.freed = map[string]bool{}
	}
	r.freed[t.uid] = true
	return nil
}

// show says on a claim's NodeClaim why its node is disrupted; "" = it is not.
func (r *session) show(ctx context.Context, claim *model.Claim, reason, message string) error {
	if claim.ObjectUID == "" {
		return nil
	}
	condition := model.Condition{Object: claim.Name, UID: claim.ObjectUID, Type: model.ConditionDisruptionReason, Reason: reason, Message: message}
	if reason != "" {
		condition.Status = "True"
	}
	return r.Effect(ctx, EffectPatchClaim, func() error {
		return r.clients.Reporter.Report(ctx, model.Report{Claims: []model.Condition{condition}})
	})
}

// cordon is the patch that keeps new pods off a node while it is looked at again.
func cordon(t *model.Target) model.NodePatch {
	return model.NodePatch{Name: t.Node, UID: t.NodeUID, AddTaints: []model.Taint{{Key: model.TaintDisrupted, Effect: model.NoSchedule}}}
}
