package lambdaruntime

import (
	"fmt"
	"slices"
	"time"
)

// admission is an invocation's place in the function's concurrency.
type admission struct {
	deployment *deployment
	fn         Function // as it was at admission
	unreserved bool     // counted against the account, not the function
}

// admit counts a new invocation; leave undoes it.
func (r *Runner) admit(function string) (admission, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return admission{}, ErrStopped
	}
	d, ok := r.deployments[function]
	if !ok {
		return admission{}, ErrNotFound
	}
	admitted := admission{deployment: d, fn: d.fn, unreserved: d.fn.ReservedConcurrency == nil}
	if admitted.unreserved {
		limit := r.unreservedConcurrency(d.fn)
		if r.unreserved >= limit {
			return admission{}, fmt.Errorf("%w: unreserved account concurrency of %d is used up", ErrThrottled, limit)
		}
		r.unreserved++
	} else if reserved := *d.fn.ReservedConcurrency; d.inFlight >= reserved {
		return admission{}, fmt.Errorf("%w: reserved concurrency of %d is used up", ErrThrottled, reserved)
	}
	d.inFlight++
	r.inFlight.Add(1)
	return admitted, nil
}

func (r *Runner) leave(admitted admission) {
	r.mu.Lock()
	defer r.mu.Unlock()
	admitted.deployment.inFlight--
	if admitted.unreserved {
		r.unreserved--
	}
	r.inFlight.Done()
}

// takeIdle returns the most recently used idle sandbox; nil when a cold start is needed.
func (r *Runner) takeIdle(d *deployment, requestID string) *sandbox {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(d.idle) == 0 {
		return nil
	}
	s := d.idle[len(d.idle)-1]
	d.idle = d.idle[:len(d.idle)-1]
	s.idleTimer.Stop()
	d.serving[requestID] = s
	return s
}

// addSandbox starts a new sandbox for the invocation.
func (r *Runner) addSandbox(d *deployment, requestID string) (*sandbox, error) {
	r.mu.Lock()
	fn, generation := d.fn, d.generation
	r.mu.Unlock()
	s, err := r.startSandbox(fn, generation)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		s.kill(ExitStopped)
	}
	d.serving[requestID] = s
	d.all[s] = true
	s.run()
	return s, nil
}

// putIdle returns the sandbox to the pool after its invocation, or retires it when its deployment has been replaced.
func (r *Runner) putIdle(d *deployment, s *sandbox, requestID string) {
	if r.config.Freeze {
		s.freeze()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(d.serving, requestID)
	if !d.all[s] {
		return // gone meanwhile
	}
	if r.stopped {
		r.end(s, ExitStopped)
		return
	}
	if s.generation != d.generation {
		r.retire(s)
		return
	}
	d.idle = append(d.idle, s)
	s.idleTimer = time.AfterFunc(r.config.IdleTimeout, func() { r.reap(d, s) })
}

// discard forgets a sandbox whose process is gone or going.
func (r *Runner) discard(d *deployment, requestID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(d.serving, requestID)
}

func (r *Runner) reap(d *deployment, s *sandbox) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(d.idle, s)
	if i < 0 {
		return // taken meanwhile
	}
	d.idle = slices.Delete(d.idle, i, i+1)
	r.retire(s)
}

// retire ends an idle sandbox in the background; the caller holds the lock and has taken it off the idle list.
func (r *Runner) retire(s *sandbox) {
	r.end(s, ExitReaped)
}

func (r *Runner) end(s *sandbox, reason ExitReason) {
	if s.idleTimer != nil {
		s.idleTimer.Stop()
	}
	r.inFlight.Add(1)
	go func() {
		defer r.inFlight.Done()
		s.shutDown(reason)
	}()
}

// sandboxExited is called once for each process that ended.
func (r *Runner) sandboxExited(s *sandbox, exit Exit) {
	r.mu.Lock()
	if d, ok := r.deployments[exit.Function]; ok {
		delete(d.all, s)
		if i := slices.Index(d.idle, s); i >= 0 {
			d.idle = slices.Delete(d.idle, i, i+1)
			s.idleTimer.Stop()
		}
	}
	r.mu.Unlock()
	if r.config.OnExit != nil {
		r.config.OnExit(exit)
	}
}
