package disrupt

import (
	"context"

	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// strays takes off taints nobody answers for: of nodes whose claim is live, is not to end, and is in no open command. A process
// died after its command had been undone, or tainted late. The ledger is read again first: whoever had the node tainted wrote
// that down before, and the snapshot that shows the taint is older than this read.
func (r *pass) strays(ctx context.Context) {
	if r.snapshot == nil || len(r.strayNodes()) == 0 {
		return
	}
	if err := r.load(ctx); err != nil {
		r.problem("read the ledger again before taints are taken off: %v", err)
		r.soon(retryAfter)
		return
	}
	strays := r.strayNodes()
	r.parallel(len(strays), func(i int) {
		if !r.hasTime() {
			r.soon(1)
			return
		}
		if err := r.free(ctx, strays[i]); err != nil {
			r.problem("remove an orphaned taint from node %s: %v", strays[i].node, err)
			r.soon(retryAfter)
			return
		}
		r.count(&r.out.Strays)
	})
}

// tainted is a node whose taint is to be taken off.
type tainted struct {
	node, uid string
	claim     *model.Claim
}

// strayNodes returns nodes with a taint nobody answers for, by name.
func (r *pass) strayNodes() []tainted {
	byProvider := map[string]*model.Claim{}
	for i := range r.ledger.Claims {
		if claim := &r.ledger.Claims[i]; claim.Live() && claim.ProviderID != "" {
			byProvider[claim.ProviderID] = claim
		}
	}
	open := r.openIDs()
	leaves := map[string]bool{} // NodeClaims that are being deleted, by name
	for i := range r.snapshot.Claims {
		leaves[r.snapshot.Claims[i].Name] = r.snapshot.Claims[i].DeletedUnix != 0
	}
	var out []tainted
	for i := range r.snapshot.Nodes {
		node := &r.snapshot.Nodes[i]
		claim := byProvider[node.ProviderID]
		if node.ProviderID == "" || claim == nil || claim.Ending() || open[claim.Command] || leaves[claim.Name] || r.freed[node.UID] || node.DeletedUnix != 0 || !disrupted(node) {
			continue
		}
		out = append(out, tainted{node.Name, node.UID, claim})
	}
	return out
}

// openIDs are the ids of open commands, and of those that cannot be read.
func (r *pass) openIDs() map[string]bool {
	open := map[string]bool{}
	for _, u := range r.ledger.Unread.Of(model.UnreadCommand) {
		open[u.Name] = true
	}
	for i := range r.ledger.Commands {
		if r.ledger.Commands[i].State.Open() {
			open[r.ledger.Commands[i].ID] = true
		}
	}
	return open
}

// disrupted reports whether a node carries the taint of a node that is disrupted.
func disrupted(node *model.Node) bool {
	for _, taint := range node.Taints {
		if taint.Key == model.TaintDisrupted && taint.Effect == model.NoSchedule {
			return true
		}
	}
	return false
}

// free takes off a node what says that it is disrupted: why, then the taint. A node that is gone, or another of its name, has
// nothing to be freed of.
func (r *pass) free(ctx context.Context, t tainted) error {
	if err := r.show(ctx, t.claim, "", ""); err != nil {
		return err
	}
	err := r.effect(ctx, EffectUntaint, func() error {
		return r.clients.Objects.PatchNode(ctx, model.NodePatch{Name: t.node, UID: t.uid, RemoveTaints: []model.Taint{{Key: model.TaintDisrupted}}})
	})
	if err != nil && !absent(err) {
		return err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.freed == nil {
		r.freed = map[string]bool{}
	}
	r.freed[t.uid] = true
	return nil
}

// show says on a claim's NodeClaim why its node is disrupted; "" = it is not.
func (r *pass) show(ctx context.Context, claim *model.Claim, reason, message string) error {
	if claim.ObjectUID == "" {
		return nil
	}
	condition := model.Condition{Object: claim.Name, UID: claim.ObjectUID, Type: model.ConditionDisruptionReason, Reason: reason, Message: message}
	if reason != "" {
		condition.Status = "True"
	}
	return r.effect(ctx, EffectPatchClaim, func() error {
		return r.clients.Reporter.Report(ctx, model.Report{Claims: []model.Condition{condition}})
	})
}

// absent reports whether what was to be written to is gone, or another has its name.
func absent(err error) bool { return fault.Is(err, fault.NotFound) }
