package interruption

import (
	"context"

	"github.com/joiner-sh/joiner/shared/core/drain"
	"github.com/joiner-sh/joiner/shared/fault"
)

// evict asks pods to leave, or makes them, side by side, and writes down which were refused.
func (s *step) evict(ctx context.Context, evictions []drain.Eviction) {
	answers, asked := make([]error, len(evictions)), make([]bool, len(evictions))
	s.atOnce(len(evictions), s.settings.ParallelPods, func(i int) {
		if asked[i] = s.move(s.read); asked[i] {
			answers[i] = s.expel(ctx, evictions[i])
		}
	})
	came := *s.claim.Drain
	var left []drain.Eviction
	for i, e := range evictions {
		switch err := answers[i]; {
		case !asked[i]:
			s.nextDue = 0
		case err == nil:
			left = append(left, e)
		case !absent(err):
			s.Add(&s.out.Refused, 1)
			came = drain.Refuse(came, e, fault.CodeOf(err), err.Error(), s.now(), s.settings.Drain)
			if code := fault.CodeOf(err); code != drain.CodeDisruptionBudget && code != drain.CodeTooManyBudgets {
				s.Problem("claim %s: evict pod %s: %v", s.claim.Name, e.Pod.Key(), err)
			}
		}
	}
	s.postpone(func(ctx context.Context) { s.reportEvicted(ctx, left) })
	came.DueUnix = s.nextDue
	came.Evicted += len(left)
	claim := s.claim
	claim.Drain = &came
	again := s.nextDue
	if !s.advance(ctx, claim) {
		s.nextDue = again // the refusals are forgotten; the pods are asked again
	}
}

// expel makes one pod leave.
func (s *step) expel(ctx context.Context, e drain.Eviction) error {
	if e.Force {
		err := s.Effect(ctx, EffectDelete, func() error { return s.clients.Pods.Delete(ctx, e.Pod, max(1, e.GraceSeconds)) })
		if err == nil {
			s.Add(&s.out.Deleted, 1)
		}
		return err
	}
	err := s.Effect(ctx, EffectEvict, func() error { return s.clients.Pods.Evict(ctx, e.Pod) })
	if err == nil {
		s.Add(&s.out.Evicted, 1)
	}
	if fault.Is(err, fault.Throttled) && fault.CodeOf(err) != drain.CodeDisruptionBudget {
		s.Mutex.Lock()
		s.stopped = true // the server is busy, whoever asks
		s.Mutex.Unlock()
	}
	return err
}
