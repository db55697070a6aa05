package interruption

import (
	"context"
	"fmt"
	"slices"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/core/lifecycle"
	"github.com/joiner-sh/joiner/shared/fault"
	"github.com/joiner-sh/joiner/shared/model"
)

// takeStep reads how things are, and does the next step. It reports whether another may follow at once.
func (s *step) takeStep(ctx context.Context) bool {
	s.nextDue = s.now() + s.patience()
	instance := s.instances[s.claim.InstanceID]
	if instance != nil && !lifecycle.Owned(*instance, s.reg.Cluster) {
		s.Problem("claim %s: instance %s does not have the tags of this installation; it is left alone", s.claim.Name, instance.ID)
		return false
	}
	if instance != nil && instance.State == "terminated" {
		return s.close(ctx)
	}
	if err := s.readNode(ctx); err != nil {
		s.Problem("claim %s: list what is on node %s: %v", s.claim.Name, s.claim.NodeName, err)
		return false
	}
	before := *s.claim.Drain
	first := before.ReportedUnix == 0
	next := drain.Next(drain.View{
		Claim: s.claim, Node: s.node, Instance: instance, NowUnix: s.now(),
		Replaced: slices.Contains(s.ending.Notes.Replaced, s.claim.Name),
	}, s.settings.Drain)
	if !s.record(ctx, next) {
		return false
	}
	s.nextDue = next.DueUnix
	s.stepped(next.Kind)
	switch next.Kind {
	case drain.Cordon:
		if !s.cordon(ctx) {
			return false
		}
	case drain.Evict:
		s.evict(ctx, next.Evictions)
	case drain.Terminate:
		s.Mutex.Lock()
		s.doomed = append(s.doomed, s.claim.InstanceID)
		s.Mutex.Unlock()
	case drain.Done: // as where EC2 says so, above
		return s.close(ctx)
	}
	if !s.quiet(next) {
		now := *s // the steps that follow at once are others
		s.postpone(func(ctx context.Context) {
			now.reportDrain(ctx, before, next)
			now.delete(ctx, first)
		})
	}
	return next.DueUnix == 0
}

// readNode reads the claim's node live.
func (s *step) readNode(ctx context.Context) error {
	s.node, s.read = nil, s.Clock()
	if s.claim.NodeName == "" || s.claim.NodeUID == "" {
		return nil
	}
	unseen := s.unseen
	s.unseen = false
	if seen, ok := s.occupied[s.claim.NodeUID]; ok && unseen && s.read.Sub(s.crowded) < s.settings.ActWithin/2 {
		s.node, s.read = &seen, s.crowded
		return nil
	}
	occupied, err := s.clients.Objects.ReadNode(ctx, s.object(KindNode))
	if fault.Is(err, fault.NotFound) {
		return s.readReplacedNode(ctx)
	}
	if err != nil {
		return err
	}
	s.node = &occupied
	return nil
}

// readReplacedNode reads the node by its name alone: where somebody deleted it and its instance's kubelet has made it again, pods may run there that the
// claim's record knows nothing of. The claim is about that node from then on.
func (s *step) readReplacedNode(ctx context.Context) error {
	if s.claim.State != model.Draining {
		return nil // the instance is asked to end
	}
	occupied, err := s.clients.Objects.ReadNode(ctx, model.Object{Name: s.claim.NodeName})
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if occupied.Node.ProviderID == "" || occupied.Node.ProviderID != s.claim.ProviderID {
		return nil // another machine's
	}
	claim := s.claim
	claim.NodeUID = occupied.Node.UID
	if !s.advance(ctx, claim) {
		return fault.New(fault.Conflict, "", "node %s was created again as %s, which could not be recorded", claim.NodeName, claim.NodeUID)
	}
	s.node = &occupied
	return nil
}

// record writes down how far the drain has come before the step is done. False where that failed: somebody else moved the
// claim on, or the ledger does not answer.
func (s *step) record(ctx context.Context, next drain.Step) bool {
	claim, came := s.claim, next.Drain
	came.DueUnix, came.ReportedUnix = next.DueUnix, s.telling(next)
	if came.ReportedUnix != s.claim.Drain.ReportedUnix {
		came.Notice = "" // told after this, see reportDrain
	}
	claim.Drain = &came
	if next.Kind == drain.Terminate {
		claim.State, _ = lifecycle.Next(claim.State, lifecycle.NodeEmpty)
	}
	return s.advance(ctx, claim)
}

// delete deletes the claim's NodeClaim and Node, which our finalizer holds until the instance has ended. What was deleted
// already stays as it is.
func (s *step) delete(ctx context.Context, first bool) {
	stands := s.node != nil && s.node.Node.DeletedUnix == 0
	if first || stands {
		s.remove(ctx, KindNodeClaim)
	}
	if !stands {
		return
	}
	if !s.node.Node.Finalizer && !s.cordon(ctx) { // which puts the finalizer on; without it the node would be gone at once
		return
	}
	s.remove(ctx, KindNode)
}

// close lets the objects of an instance that has ended go, and closes its claim. It reports that nothing may follow.
func (s *step) close(ctx context.Context) bool {
	s.stepped(drain.Done)
	s.publish(ctx, s.noticed(*s.claim.Drain))
	if !s.remove(ctx, KindNode) {
		return false
	}
	kept, freed := s.free(ctx, KindNode)
	if !freed || !s.remove(ctx, KindNodeClaim) {
		return false
	}
	if !kept { // or a look lets the NodeClaim go once the Node is gone
		if _, freed := s.free(ctx, KindNodeClaim); !freed {
			return false
		}
	}
	claim := s.claim
	if claim.FailureCode == "" {
		claim.FailureCode, claim.FailureMessage = model.EndedInstance, fmt.Sprintf("EC2 says that instance %s was terminated", claim.InstanceID)
	}
	reason := ""
	if instance := s.instances[claim.InstanceID]; instance != nil {
		reason = instance.StateReason
	}
	claim = s.recordEnd(ctx, claim, s.ending.Commands, reason, s.now())
	err := s.Effect(ctx, EffectClose, func() error { return s.flow.Claims.CloseClaim(ctx, s.fence, claim, s.now()) })
	switch {
	case err == nil:
		s.nextDue = -1
		s.closed(claim)
	case fault.Is(err, fault.Conflict):
		s.nextDue = 0
	default:
		s.Problem("close claim %s: %v", claim.Name, err)
	}
	return false
}

// closed notes that a claim is Gone.
func (s *step) closed(claim model.Claim) {
	s.Mutex.Lock()
	defer s.Mutex.Unlock()
	s.out.Closed++
	if claim.Command != "" {
		s.freed = append(s.freed, claim.Name)
	}
	if ended, had := endedOf(&claim, s.now()); had {
		s.out.Ended = append(s.out.Ended, ended)
	}
}
