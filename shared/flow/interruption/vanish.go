package interruption

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// findings are what looks wrong. Where any of it is that an object was deleted the definitions are read first: the deletion of a
// definition deletes its objects, and nobody asked for the end of their instances. Where they cannot be read such findings wait.
func (r *pass) findings(ctx context.Context, view lifecycle.View) []lifecycle.Finding {
	settings := lifecycle.Settings{
		Confirm: int64(r.settings.Confirm.Seconds()), JoinWithin: int64(r.settings.JoinWithin.Seconds()),
		RepairAfter: int64(r.settings.RepairAfter.Seconds()),
	}
	findings := lifecycle.Diagnose(view, settings)
	if !lifecycle.Obeys(view, findings) {
		return findings
	}
	definitions, err := r.clients.Cluster.Definitions(ctx)
	if err != nil {
		r.problem("read the CustomResourceDefinitions of NodePools, NodeClaims and EC2NodeClasses, without which no deletion of a NodeClaim or Node is carried out "+
			"(it needs the permission to get customresourcedefinitions, which the chart of this version grants): %v", err)
		return lifecycle.Unheard(findings)
	}
	view.Definitions = &definitions
	return lifecycle.Diagnose(view, settings)
}

// vanish lets a NodeClaim go that goes with a definition: the ledger keeps its claim, which provisioning shows anew once it can.
// Before the finalizer comes off its node is another's no longer, or the garbage collector would delete that next. Each step may
// be repeated.
func (r *pass) vanish(ctx context.Context, f *lifecycle.Finding) error {
	claim := *f.Claim
	if claim.ObjectUID != "" || !claim.Vanished {
		claim.ObjectUID, claim.Vanished = "", true
		if err := r.effect(ctx, EffectVanish, func() error {
			_, err := r.Steps.Advance(ctx, r.reg.Cluster, claim)
			return err
		}); err != nil {
			return fmt.Errorf("record that its NodeClaim is to be created again: %w", err)
		}
		r.out.Vanished++
	}
	if f.Object == nil {
		return nil
	}
	return r.letObjectGo(ctx, f)
}

// letObjectGo takes a finding's NodeClaim off the owners of its nodes and then our finalizer off it.
func (r *pass) letObjectGo(ctx context.Context, f *lifecycle.Finding) error {
	uid := f.Object.Claim.ObjectUID
	for i := range f.Nodes {
		n := &f.Nodes[i]
		patch := model.NodePatch{Name: n.Name, UID: n.UID, Disown: uid}
		if err := r.effect(ctx, EffectTaint, func() error { return r.clients.Objects.PatchNode(ctx, patch) }); err != nil && !absent(err) {
			return fmt.Errorf("remove its NodeClaim from the owners of node %s: %w", n.Name, err)
		}
		r.events = append(r.events, model.Event{
			Kind: KindNode, Name: n.Name, UID: n.UID, Warning: true, Reason: "NodeClaimVanished", Message: f.Why(),
		})
	}
	if !f.Object.Finalizer {
		return nil
	}
	object := model.Object{Name: f.Object.Claim.Name, UID: uid}
	err := r.effect(ctx, EffectFree, func() error { return r.clients.Objects.Free(ctx, KindNodeClaim, object) })
	if err != nil && !fault.Is(err, fault.NotFound) {
		return fmt.Errorf("remove the finalizer of NodeClaim %s: %w", object.Name, err)
	}
	r.out.Freed++
	return nil
}
