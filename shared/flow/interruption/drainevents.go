package interruption

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/model"
)

// Reasons of events about drains.
const (
	reasonExpiring = "TerminationGracePeriodExpiring"
	reasonFailed   = "FailedDraining"
	reasonEvicted  = "Evicted"
	reasonDeleted  = "Disrupted"
	reasonVolumes  = "AwaitingVolumeDetachment"
	reasonUntil    = "DoNotDisruptUntil"
	reasonElapsed  = "DoNotDisruptGracePeriodElapsed"
	reasonInvalid  = "InvalidDoNotDisruptAnnotation"
)

// reportDrain shows people how far a drain has come: the conditions of its NodeClaim where they change, its deadline when it
// begins, and every so often what it waits for. before is the drain as it was recorded until now.
func (s *step) reportDrain(ctx context.Context, before model.Drain, next drain.Step) {
	first := before.ReportedUnix == 0
	if first || shown(before) != shown(*s.claim.Drain) {
		err := s.Effect(ctx, EffectPatchClaim, func() error { return s.clients.Objects.UpdateTermination(ctx, s.claim) })
		if err != nil && !absent(err) {
			s.Problem("claim %s: show the progress of its termination: %v", s.claim.Name, err)
		}
	}
	if s.claim.Drain.ReportedUnix == before.ReportedUnix {
		return
	}
	events := s.noticed(before)
	if at := s.claim.Drain.DeadlineUnix; at != 0 && before.ReportedUnix == 0 {
		message := "All pods will be deleted by " + time.Unix(at, 0).UTC().Format(time.RFC3339)
		events = append(events, s.event(KindNodeClaim, true, reasonExpiring, message), s.event(KindNode, true, reasonExpiring, message))
	}
	s.publish(ctx, append(events, s.obstacles(next)...))
}

// noticed is what AWS said for which the claim ends, where people have not learned of it.
func (s *step) noticed(before model.Drain) []model.Event {
	if before.Notice == "" {
		return nil
	}
	return endEvents(s.claim, before.Notice)
}

// shown is what of a drain shows in the conditions of a NodeClaim.
func shown(d model.Drain) string {
	return fmt.Sprint(d.DeadlineUnix, d.TaintedUnix != 0, d.EmptyUnix != 0, d.DetachedUnix != 0, d.EndUnix != 0, d.Waits)
}

// telling returns when people learn of the drain: now, where they did not for a while and there is something to report.
func (s *step) telling(next drain.Step) int64 {
	reported := s.claim.Drain.ReportedUnix
	if s.quiet(next) {
		return reported
	}
	if now := s.now(); reported == 0 || len(next.Obstacles) > 0 && now-reported >= s.settings.ReportSeconds {
		return now
	}
	return reported
}

// obstacles says on the node what keeps it from becoming empty, and on pods what their annotations mean for it.
func (s *step) obstacles(next drain.Step) []model.Event {
	var events []model.Event
	var pods, volumes []string
	for _, o := range next.Obstacles {
		switch {
		case o.Volume != "":
			volumes = append(volumes, o.Message)
		case o.Pod.Name != "":
			pods = append(pods, o.Message)
		}
	}
	if len(pods) > 0 {
		events = append(events, s.event(KindNode, true, reasonFailed, fmt.Sprintf("Failed to drain node, %d pods are waiting to be evicted: %s", len(pods), several(pods))))
	}
	if len(volumes) > 0 {
		events = append(events, s.event(KindNode, false, reasonVolumes, fmt.Sprintf("Awaiting the detachment of %d volumes: %s", len(volumes), several(volumes))))
	}
	if s.node == nil {
		return events
	}
	readUnix := s.node.ReadUnix
	if readUnix == 0 {
		readUnix = s.now()
	}
	for i := range s.node.Pods {
		pod := &s.node.Pods[i]
		if reason, message := annotated(pod, readUnix); reason != "" {
			events = append(events, podEvent(pod.PodRef, reason == reasonInvalid, reason, message))
		}
	}
	return events
}

// annotated says what a pod's annotation do-not-disrupt means where that needs saying: when it ends or has ended, or that it
// cannot be read. readUnix is by the API server's clock.
func annotated(pod *model.Occupant, readUnix int64) (reason, message string) {
	shield := model.ReadDoNotDisrupt(pod.DoNotDisrupt, pod.StartedUnix)
	until := time.Unix(shield.UntilUnix, 0).UTC().Format(time.RFC3339)
	switch {
	case pod.DeletedUnix != 0:
		return "", ""
	case shield.Invalid:
		return reasonInvalid, fmt.Sprintf("annotation %s is %.40q, which is neither true nor a positive duration such as 30m; it is ignored", model.AnnotationNotDisrupt, pod.DoNotDisrupt)
	case shield.UntilUnix == 0:
		return "", ""
	case shield.Active(readUnix):
		return reasonUntil, "Pod must not be disrupted until " + until
	}
	return reasonElapsed, "Pod may be disrupted since " + until
}

// reportEvicted says on pods that they were evicted or deleted, and why.
func (s *step) reportEvicted(ctx context.Context, left []drain.Eviction) {
	why := s.claim.FailureMessage
	if why == "" {
		why = "its node terminates"
	}
	var events []model.Event
	for _, e := range left {
		if e.Force {
			events = append(events, podEvent(e.Pod, false, reasonDeleted, fmt.Sprintf("Deleted the pod with a grace period of %d s, so that it ends by the deadline of node %s: %s", max(1, e.GraceSeconds), s.claim.NodeName, why)))
			continue
		}
		events = append(events, podEvent(e.Pod, false, reasonEvicted, fmt.Sprintf("Evicted pod from node %s: %s", s.claim.NodeName, why)))
	}
	s.publish(ctx, events)
}

func podEvent(pod model.PodRef, warning bool, reason, message string) model.Event {
	return model.Event{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Warning: warning, Reason: reason, Message: message}
}

// several is the first few of some sentences.
func several(sentences []string) string {
	const most = 5
	text := strings.Join(sentences[:min(most, len(sentences))], "; ")
	if more := len(sentences) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// publish publishes events about the claim's drain.
func (s *step) publish(ctx context.Context, events []model.Event) {
	s.report(ctx, "claim "+s.claim.Name+": report its drain", events)
}
