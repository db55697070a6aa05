package interruption

import (
	"context"
	"fmt"

	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// act does what a finding asks for. What is terminated is only written down here: see terminate.
func (r *pass) act(ctx context.Context, f *lifecycle.Finding) {
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
		r.problem("%s %s: %v", f.Kind, f.Subject, err)
	}
	r.stopped = r.stopped || fault.Is(err, fault.Throttled)
}

// end begins a claim's end: its node is drained by the drain run, and an instance no node joined of is one to terminate.
func (r *pass) end(ctx context.Context, f *lifecycle.Finding) error {
	why := Cause{Code: f.Code, Message: f.Why(), DeadlineUnix: f.DeadlineUnix, NowUnix: r.records.NowUnix}
	claim := *f.Claim
	if len(f.Nodes) > 0 && claim.NodeUID == "" || len(f.Nodes) == 1 { // it joined, or was deleted and joined again, and nobody has registered it
		claim.NodeName, claim.NodeUID = f.Nodes[0].Name, f.Nodes[0].UID
	}
	claim, tainted, err := r.begin(ctx, r.clients, r.reg, claim, why)
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
		r.markUnavailable(&claim)
	}
	if !tainted {
		r.problem("%s %s: node %s could not be tainted; the drain run tries again", f.Kind, f.Subject, claim.NodeName)
	}
	return nil
}

// close makes a claim Gone and lets its objects go. A claim that was to end keeps the reason why.
func (r *pass) close(ctx context.Context, f *lifecycle.Finding) error {
	claim := *f.Claim
	if claim.FailureCode == "" {
		claim.FailureCode, claim.FailureMessage = f.Code, f.Why()
	}
	reason := ""
	if f.Instance != nil {
		reason = f.Instance.StateReason
	}
	claim = r.recordEnd(ctx, r.reg, claim, r.records.Commands, reason, r.records.NowUnix, r.problem)
	if err := r.effect(ctx, EffectClose, func() error { return r.Claims.CloseClaim(ctx, r.fence, claim, r.records.NowUnix) }); err != nil {
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
// was evaluated. Nobody drains them: their instance has ended.
func (r *pass) letGo(ctx context.Context, f *lifecycle.Finding) error {
	var first error
	try := func(effect, what, kind string, object model.Object, do func(ctx context.Context, kind string, object model.Object) error) bool {
		err := r.effect(ctx, effect, func() error { return do(ctx, kind, object) })
		if err != nil && !fault.Is(err, fault.NotFound) && first == nil {
			first = fmt.Errorf("%s %s %s: %w", what, kind, object.Name, err)
		}
		return err == nil
	}
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
		if held && try(EffectFree, "remove the finalizer of", kind, object, r.clients.Objects.Free) {
			r.out.Freed++
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		remove(KindNode, n.Name, n.UID, n.DeletedUnix != 0, n.Finalizer)
	}
	if o := f.Object; o != nil {
		remove(KindNodeClaim, o.Claim.Name, o.Claim.ObjectUID, o.DeletedUnix != 0, o.Finalizer)
	}
	return first
}

// orphan adopts an instance that takes part in the cluster, and has the others terminated.
func (r *pass) orphan(ctx context.Context, f *lifecycle.Finding) error {
	adopt := lifecycle.Adoptable(f)
	if !adopt && !lifecycle.Condemned(f) {
		adopt = r.carries(ctx, f)
	}
	if !adopt {
		r.doomed = append(r.doomed, f.Instance.ID)
		r.recordOrphan(ctx, f)
		return nil
	}
	claim := lifecycle.Adopt(f, func(name string) bool { return r.claims[name] }, r.records.NowUnix)
	if err := r.effect(ctx, EffectAdopt, func() error { return r.Claims.Adopt(ctx, r.fence, claim) }); err != nil {
		return fmt.Errorf("adopt it as claim %s: %w", claim.Name, err)
	}
	r.claims[claim.Name] = true
	r.out.Adopted++
	return nil
}

// terminate ends the instances of this run's acts. Claims that are Terminating are found again; so are orphans.
func (r *pass) terminate(ctx context.Context) {
	may := func() bool { return !r.stopped && r.request.Deadline.Sub(r.Now()) > r.settings.StopBefore }
	var throttled bool
	r.out.Terminated, throttled = r.Flow.terminate(ctx, r.clients.Fleet, r.reg.Cluster, r.doomed, may, r.problem)
	r.stopped = r.stopped || throttled
}

// terminate ends instances in few calls, as long as there may be another and EC2 does not ask for less. Each is named by its
// id, and the fleet reads its tags once more. It returns those that were asked to end, and whether EC2 asked for less.
func (f *Flow) terminate(ctx context.Context, fleet Fleet, cluster string, ids []string, may func() bool, problem func(string, ...any)) (ended []string, throttled bool) {
	const most = 50 // in one call
	for len(ids) > 0 && !throttled && may() {
		some := ids[:min(most, len(ids))]
		ids = ids[len(some):]
		err := f.effect(ctx, EffectTerminate, func() error {
			reported, err := fleet.Terminate(ctx, cluster, some)
			ended = append(ended, reported...)
			return err
		})
		if err != nil {
			problem("terminate %d instances: %v", len(some), err)
			throttled = fault.Is(err, fault.Throttled)
		}
	}
	return ended, throttled
}
