package lambdaruntime

import (
	"errors"
	"fmt"
	"time"
)

// errEntrypoint means the bootstrap could not be executed.
var errEntrypoint = errors.New("cannot execute bootstrap")

// coldStart starts a sandbox and waits for its init phase. A failed init is tried once more, the second time within the
// invocation and its timeout. It returns nil and no error when init failed for good: the result then says how.
func (r *Runner) coldStart(d *deployment, fn Function, inv *invocation, result *Result) (*sandbox, error) {
	if !r.sleep(fn.ColdStartDelay) {
		return nil, ErrStopped
	}
	result.ColdStart = true
	begun := time.Now()
	var failure []byte
	for attempt, limit := range []time.Duration{r.config.InitTimeout, fn.Timeout} {
		if attempt > 0 {
			inv.started = time.Now()
			inv.deadline = inv.started.Add(fn.Timeout)
		}
		s, err := r.addSandbox(d, inv.requestID)
		if errors.Is(err, errEntrypoint) {
			result.fail(platformError(inv.requestID, ErrorTypeInvalidEntrypoint, err.Error()))
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		result.SandboxID = s.id
		if s.awaitInit(limit) {
			if attempt == 0 {
				result.InitDuration = time.Since(begun)
			}
			return s, nil
		}
		r.discard(d, inv.requestID)
		if failure = s.initFailure(inv, attempt, time.Since(begun)); failure == nil {
			return nil, ErrStopped
		}
	}
	result.fail(failure)
	result.Duration = time.Since(inv.started)
	result.BilledDuration = ceilMillis(time.Since(begun))
	return nil, nil
}

// sleep returns false when the runner is stopped first.
func (r *Runner) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.stopping:
		return false
	}
}

// awaitInit returns true when the process asks for its first event within the limit; otherwise the process is gone.
func (s *sandbox) awaitInit(limit time.Duration) bool {
	timeUp := time.NewTimer(limit)
	defer timeUp.Stop()
	select {
	case <-s.idle:
		return true
	case <-s.exited:
	case <-timeUp.C:
		s.kill(ExitInitTimeout)
		<-s.exited
	}
	return false
}

// initFailure logs a failed init phase and returns its error payload; nil when it was Stop that ended the process.
func (s *sandbox) initFailure(inv *invocation, attempt int, took time.Duration) []byte {
	s.mu.Lock()
	reason, payload, state := s.reason, s.initError, s.exitState
	s.mu.Unlock()
	phase, status := "init", "error\tError Type: "+ErrorTypeExit
	if attempt > 0 {
		phase = "invoke"
	}
	switch {
	case reason == ExitStopped:
		return nil
	case reason == ExitInitTimeout:
		status = "timeout"
		message := fmt.Sprintf("Task timed out after %.2f seconds", s.fn.Timeout.Seconds())
		payload = platformError(inv.requestID, ErrorTypeTimeout, message)
	case payload == nil:
		payload = platformError(inv.requestID, ErrorTypeExit, exitMessage(state))
	}
	s.log("", fmt.Sprintf("INIT_REPORT Init Duration: %.2f ms\tPhase: %s\tStatus: %s", millis(took), phase, status))
	return payload
}
