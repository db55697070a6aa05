package interruption

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// acts are what was done, for those who have something to do about it.
type acts struct {
	doomed      []string                    // instances to terminate
	begun       int                         // claims whose end began, or was brought forward
	unavailable []model.UnavailableOffering // offerings that EC2 takes instances back of
	events      []model.Event               // for people
	freed       []string                    // claims of commands that it closed
	stopped     bool                        // no more acts in this run
}

// actor does what findings ask for.
type actor struct {
	*pass
	acts
}

// hasTime reports whether there is time for the n-th act: the invocation's, and that the look is fresh enough to act upon.
func (r *actor) hasTime(n int) bool {
	return !r.stopped && n < r.settings.MaxActs && r.HasTime() && r.Clock().Sub(r.readAt) < r.settings.ActWithin
}

// act does what a finding asks for. What is terminated is only written down here: see terminate.
func (r *actor) act(ctx context.Context, f *lifecycle.Finding) {
	var err error
	switch f.Kind {
	case lifecycle.Ended, lifecycle.Missing, lifecycle.Stranded:
		err = r.close(ctx, f)
	case lifecycle.Retired:
		r.doomed = append(r.doomed, f.Instance.ID)
	case lifecycle.Interrupted, lifecycle.Stopping, lifecycle.ObjectDeleted, lifecycle.NodeDeleted, lifecycle.BlockEnds, lifecycle.Impaired,
		lifecycle.Unhealthy, lifecycle.NodeGone, lifecycle.NeverJoined, lifecycle.Expired:
		err = r.end(ctx, f)
	case lifecycle.Vanished:
		err = r.vanish(ctx, f)
	case lifecycle.Outlived:
		err = r.letObjectGo(ctx, f)
	case lifecycle.Deferred:
		r.reportDeferred(f)
	case lifecycle.Orphan:
		err = r.orphan(ctx, f)
	case lifecycle.OrphanedNodeClaim, lifecycle.OrphanedNode:
		err = r.letGo(ctx, f)
	}
	if err != nil && !fault.Is(err, fault.Conflict) { // somebody else moved it on, and the next check sees how far
		r.Problem("%s %s: %v", f.Kind, f.Subject, err)
	}
	r.stopped = r.stopped || fault.Is(err, fault.Throttled)
}

// end begins a claim's end: its node is drained by the drain run, and an instance no node joined of is one to terminate.
func (r *actor) end(ctx context.Context, f *lifecycle.Finding) error {
	why := Cause{Code: f.Code, Message: f.Why(), DeadlineUnix: f.DeadlineUnix, NowUnix: r.records.NowUnix}
	claim := *f.Claim
	if len(f.Nodes) > 0 && claim.NodeUID == "" || len(f.Nodes) == 1 { // it joined, or was deleted and joined again, and nobody has registered it
		claim.NodeName, claim.NodeUID = f.Nodes[0].Name, f.Nodes[0].UID
	}
	claim, tainted, err := r.begin(ctx, claim, why)
	if err != nil {
		return err
	}
	r.begun++
	switch {
	case f.Claim.State == model.Draining:
		r.out.Hastened++
	case claim.State == model.Draining:
		r.out.Drained++
		r.reportEnd(&claim, f)
	case claim.State == model.Terminating:
		r.out.Retired++
		r.reportEnd(&claim, f)
		r.doomed = append(r.doomed, claim.InstanceID)
	}
	if f.Kind == lifecycle.Interrupted {
		if unavailable, ok := taken(&claim, model.NoticeSpotInterrupted, r.records.NowUnix, r.records.NowUnix); ok {
			r.unavailable = append(r.unavailable, unavailable) // its warning was lost, or is on its way
		}
	}
	if !tainted {
		r.Problem("%s %s: node %s could not be tainted; the drain run tries again", f.Kind, f.Subject, claim.NodeName)
	}
	return nil
}

// close makes a claim Gone and lets its objects go. A claim that was to end keeps the reason why.
func (r *actor) close(ctx context.Context, f *lifecycle.Finding) error {
	claim := *f.Claim
	if claim.FailureCode == "" {
		claim.FailureCode, claim.FailureMessage = f.Code, f.Why()
	}
	reason := ""
	if f.Instance != nil {
		reason = f.Instance.StateReason
	}
	claim = r.recordEnd(ctx, claim, r.records.Commands, reason, r.records.NowUnix)
	if err := r.Effect(ctx, EffectClose, func() error { return r.flow.Claims.CloseClaim(ctx, r.fence, claim, r.records.NowUnix) }); err != nil {
		return fmt.Errorf("close it: %w", err)
	}
	r.out.Closed++
	if claim.Command != "" {
		r.freed = append(r.freed, claim.Name)
	}
	if ended, had := endedOf(&claim, r.records.NowUnix); had {
		r.out.Ended = append(r.out.Ended, ended)
	}
	if claim.Drain != nil && claim.Drain.Notice != "" { // no drain run came to tell
		r.events = append(r.events, endEvents(claim, claim.Drain.Notice)...)
	}
	return r.letGo(ctx, f)
}

// letGo deletes a finding's NodeClaim and Node objects and takes our finalizer off them, each on condition of the UID that
// was evaluated. Nobody drains them: their instance has ended. A NodeClaim stays held while a Node of it does, as with
// Karpenter: a later check frees it.
func (r *actor) letGo(ctx context.Context, f *lifecycle.Finding) error {
	var first error
	try := func(effect, what, kind string, object model.Object, do func(ctx context.Context, kind string, object model.Object) error) bool {
		err := r.Effect(ctx, effect, func() error { return do(ctx, kind, object) })
		if err != nil && !fault.Is(err, fault.NotFound) && first == nil {
			first = fmt.Errorf("%s %s %s: %w", what, kind, object.Name, err)
		}
		return err == nil
	}
	kept := false // a Node by finalizers of others
	remove := func(kind, name, uid string, deleted, held bool) {
		object := model.Object{Name: name, UID: uid}
		if uid == "" {
			return
		}
		if !deleted {
			if !try(EffectRemove, "delete", kind, object, r.clients.Cluster.Remove) {
				return
			}
			r.out.Removed++
		}
		free := func(ctx context.Context, kind string, object model.Object) error {
			stays, err := r.clients.Objects.Free(ctx, kind, object)
			kept = kept || stays
			return err
		}
		if held && try(EffectFree, "remove the finalizer of", kind, object, free) {
			r.out.Freed++
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		remove(KindNode, n.Name, n.UID, n.DeletedUnix != 0, n.Finalizer)
	}
	if o := f.Object; o != nil {
		kept = kept || slices.ContainsFunc(f.Nodes, lifecycle.HeldByOthers)
		remove(KindNodeClaim, o.Claim.Name, o.Claim.ObjectUID, o.DeletedUnix != 0, o.Finalizer && !kept)
	}
	return first
}

// orphan adopts an instance that takes part in the cluster, and has the others terminated.
func (r *actor) orphan(ctx context.Context, f *lifecycle.Finding) error {
	adopt := lifecycle.Adoptable(f)
	if !adopt && !lifecycle.Condemned(f) {
		adopt = r.carries(ctx, f)
	}
	if !adopt {
		r.doomed = append(r.doomed, f.Instance.ID)
		removal := lifecycle.OrphanRemoval(r.reg.Cluster, f, r.records.NowUnix)
		r.keep(ctx, removal, "store the record of instance "+f.Instance.ID+", which has no claim")
		return nil
	}
	claim := lifecycle.Adopt(f, func(name string) bool { return r.claims[name] }, r.records.NowUnix)
	if err := r.Effect(ctx, EffectAdopt, func() error { return r.flow.Claims.Adopt(ctx, r.fence, claim) }); err != nil {
		return fmt.Errorf("adopt it as claim %s: %w", claim.Name, err)
	}
	r.claims[claim.Name] = true
	r.out.Adopted++
	return nil
}

// carries reports whether any node of a finding carries pods, and says so where nobody can tell.
func (r *actor) carries(ctx context.Context, f *lifecycle.Finding) bool {
	for i := range f.Nodes {
		pods, err := r.clients.Cluster.Runs(ctx, f.Nodes[i].Name)
		if err != nil {
			r.Problem("list the pods on node %s: %v", f.Nodes[i].Name, err)
			return true
		}
		if pods {
			r.Problem("%s %s: %s; it is not ended while pods run on node %s", f.Kind, f.Subject, f.Why(), f.Nodes[i].Name)
			return true
		}
	}
	return false
}

// vanish lets a NodeClaim go that goes with a definition: the ledger keeps its claim, which provisioning shows anew once it can.
// Before the finalizer comes off its node is another's no longer, or the garbage collector would delete that next. Each step may
// be repeated.
func (r *actor) vanish(ctx context.Context, f *lifecycle.Finding) error {
	claim := *f.Claim
	if claim.ObjectUID != "" || !claim.Vanished {
		claim.ObjectUID, claim.Vanished = "", true
		if err := r.Effect(ctx, EffectVanish, func() error {
			_, err := r.flow.Steps.Advance(ctx, r.reg.Cluster, claim)
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
func (r *actor) letObjectGo(ctx context.Context, f *lifecycle.Finding) error {
	uid := f.Object.Claim.ObjectUID
	for i := range f.Nodes {
		n := &f.Nodes[i]
		patch := model.NodePatch{Name: n.Name, UID: n.UID, Disown: uid}
		if err := r.taint(ctx, patch); err != nil {
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
	err := r.Effect(ctx, EffectFree, func() error {
		_, err := r.clients.Objects.Free(ctx, KindNodeClaim, object)
		return err
	})
	if err != nil && !fault.Is(err, fault.NotFound) {
		return fmt.Errorf("remove the finalizer of NodeClaim %s: %w", object.Name, err)
	}
	r.out.Freed++
	return nil
}

// reportEnd says on a claim's NodeClaim and Node that its end has begun, and why.
func (r *actor) reportEnd(claim *model.Claim, f *lifecycle.Finding) {
	event := model.Event{Reason: reasonTerminating, Message: "The node is drained and its instance terminated: " + f.Why()}
	switch f.Kind {
	case lifecycle.Interrupted, lifecycle.Stopping, lifecycle.Impaired, lifecycle.BlockEnds:
		event.Reason, event.Warning = reasonInterrupted, true
	}
	if kind, ok := noticedAs[f.Kind]; ok { // as if EventBridge had reported it
		r.events = append(r.events, eventsOf(*claim, kind)...)
	}
	r.events = append(r.events, onBoth(*claim, []model.Event{event})...)
}

// reportDeferred says on a pool that ends of its claims are put off. Nodes without a pool have no object to say it on.
func (r *actor) reportDeferred(f *lifecycle.Finding) {
	if f.Subject == "" {
		return
	}
	event := model.Event{Kind: "NodePool", Name: f.Subject, Reason: reasonBlocked, Message: f.Why()}
	if f.Code == model.EndedUnhealthy {
		event.Reason, event.Warning = reasonRepairBlocked, true
	}
	for i := range r.records.Claims {
		if claim := &r.records.Claims[i]; claim.Live() && claim.Pool == f.Subject && claim.PoolUID != "" {
			event.UID = claim.PoolUID
		}
	}
	r.events = append(r.events, event)
}
