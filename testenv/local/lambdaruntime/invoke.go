package lambdaruntime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Request is one synchronous invocation.
type Request struct {
	Function string
	// Payload is the event, a JSON value of at most MaxRequestBytes; empty means {}.
	Payload []byte
	// TraceHeader is the X-Ray header of the message that causes the invocation; empty starts a new trace.
	TraceHeader string
	// ClientContext is a JSON object for the function's Lambda context; empty leaves it out.
	ClientContext string
}

// invocation is one event on its way through a sandbox. The fields of the answer are guarded by the sandbox's lock.
type invocation struct {
	requestID     string
	functionARN   string
	traceHeader   string
	clientContext string
	payload       []byte
	started       time.Time
	deadline      time.Time // zero until delivery, unless init was retried within the invocation

	answered bool
	response []byte
	failure  []byte // error payload; nil for a success
}

// Invoke runs the function on the event and waits for its end. A function that fails is a Result with FunctionError
// set, not an error. The error wraps ErrNotFound, ErrThrottled, ErrPayloadTooLarge, ErrRecursion, ErrStopped or the
// context's error; in the last case the invocation goes on without its caller, as it does in the service.
func (r *Runner) Invoke(ctx context.Context, function string, payload []byte) (Result, error) {
	return r.Do(ctx, Request{Function: function, Payload: payload})
}

// Do is Invoke with all that a request can carry.
func (r *Runner) Do(ctx context.Context, request Request) (Result, error) {
	result, err := r.do(ctx, request)
	if err != nil {
		return Result{}, fmt.Errorf("invoke function %q: %w", request.Function, err)
	}
	return result, nil
}

func (r *Runner) do(ctx context.Context, request Request) (Result, error) {
	if len(request.Payload) == 0 {
		request.Payload = []byte("{}")
	}
	if len(request.Payload) > MaxRequestBytes {
		return Result{}, fmt.Errorf("%w: %d bytes, the limit is %d", ErrPayloadTooLarge, len(request.Payload), MaxRequestBytes)
	}
	if !json.Valid(request.Payload) {
		return Result{}, errors.New("request payload is not JSON")
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	admitted, err := r.admit(request.Function)
	if err != nil {
		return Result{}, err
	}
	inv := &invocation{
		requestID: uuid.NewString(), functionARN: r.FunctionARN(request.Function), payload: request.Payload,
		clientContext: request.ClientContext,
	}
	trace, hops := nextTrace(request.TraceHeader, inv.functionARN)
	if hops > maxRecursion && !admitted.fn.AllowRecursion {
		r.leave(admitted)
		return Result{}, fmt.Errorf("%w: invocation %d of its chain", ErrRecursion, hops)
	}
	inv.traceHeader = trace
	return r.background(ctx, admitted, inv)
}

// background serves the invocation on a goroutine of its own, which a caller who gives up does not end.
func (r *Runner) background(ctx context.Context, admitted admission, inv *invocation) (Result, error) {
	type outcome struct {
		result Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := r.serve(admitted.deployment, admitted.fn, inv)
		r.leave(admitted)
		done <- outcome{result, err}
	}()
	select {
	case <-ctx.Done():
		return Result{}, ctx.Err()
	case o := <-done:
		return o.result, o.err
	}
}

// serve finds or starts a sandbox, delivers the event and turns what happened into a result.
func (r *Runner) serve(d *deployment, fn Function, inv *invocation) (Result, error) {
	result := Result{RequestID: inv.requestID}
	for {
		s := r.takeIdle(d, inv.requestID)
		if s == nil {
			started, err := r.coldStart(d, fn, inv, &result)
			if err != nil || started == nil {
				return result, err
			}
			s = started
		}
		result.SandboxID = s.id
		if s.begin(inv) {
			return r.finish(d, s, inv, result)
		}
		// The process died while it was idle: nothing was delivered, another sandbox takes the event.
		<-s.exited
		r.discard(d, inv.requestID)
	}
}

// finish waits for the end of a delivered invocation, logs it and returns the sandbox to the pool or forgets it.
func (r *Runner) finish(d *deployment, s *sandbox, inv *invocation, result Result) (Result, error) {
	alive := s.await(inv, r.config.OnInvoke)
	result.Duration = time.Since(inv.started)
	if alive && s.overMemory() {
		s.kill(ExitOutOfMemory)
		<-s.exited
		alive = false
	}
	stopped := s.evaluate(inv, alive, &result)
	result.MaxMemoryMB = s.maxMemoryMB()
	result.BilledDuration = ceilMillis(result.Duration + result.InitDuration)
	s.logEnd(result)
	if alive {
		r.putIdle(d, s, inv.requestID)
	} else {
		r.discard(d, inv.requestID)
	}
	if stopped {
		return Result{}, ErrStopped
	}
	return result, nil
}

// begin marks the sandbox as serving the invocation; false when its process is gone.
func (s *sandbox) begin(inv *invocation) bool {
	select {
	case <-s.idle: // asked for twice
	default:
	}
	s.thaw()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return false
	}
	inv.started = time.Now()
	if inv.deadline.IsZero() {
		inv.deadline = inv.started.Add(s.fn.Timeout)
	}
	s.current = inv
	return true
}

// await delivers the event and returns true when the process asks for the next one, false when it is gone: by itself, or
// killed because the time was up or it had more memory than the function.
func (s *sandbox) await(inv *invocation, onInvoke func(Invocation)) bool {
	s.log(inv.requestID, "START RequestId: "+inv.requestID+" Version: $LATEST")
	timeUp := time.NewTimer(time.Until(inv.deadline))
	defer timeUp.Stop()
	select {
	case s.deliveries <- inv:
		if onInvoke != nil {
			onInvoke(s.describe(inv))
		}
	case <-s.exited:
		return false
	case <-timeUp.C:
		s.kill(ExitTimeout)
		<-s.exited
		return false
	}
	check := time.NewTicker(memoryEvery)
	defer check.Stop()
	for {
		select {
		case <-s.idle:
			return true
		case <-s.exited:
			return false
		case <-timeUp.C:
			s.kill(ExitTimeout)
			<-s.exited
			return false
		case <-check.C:
			if s.overMemory() {
				s.kill(ExitOutOfMemory)
				<-s.exited
				return false
			}
		}
	}
}

// evaluate fills the result's payload or error from how the invocation ended. It returns true when that was Stop.
func (s *sandbox) evaluate(inv *invocation, alive bool, result *Result) (stopped bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !alive && s.reason == ExitStopped:
		return true
	case !alive && s.reason == ExitTimeout:
		message := fmt.Sprintf("Task timed out after %.2f seconds", s.fn.Timeout.Seconds())
		result.fail(platformError(inv.requestID, ErrorTypeTimeout, message))
	case !alive && s.reason == ExitOutOfMemory:
		message := fmt.Sprintf("used %d MB of %d MB", (s.peakMemory+1<<20-1)>>20, s.fn.MemoryMB)
		result.fail(platformError(inv.requestID, ErrorTypeOutOfMemory, message))
	case inv.failure != nil:
		result.fail(inv.failure)
	case !alive:
		result.fail(platformError(inv.requestID, ErrorTypeExit, exitMessage(s.exitState)))
	case !inv.answered:
		result.fail(platformError(inv.requestID, "Runtime.NoResponse", "the runtime asked for the next event without an answer"))
	default:
		result.Payload = inv.response
	}
	return false
}

func exitMessage(state string) string {
	if state == "exit status 0" {
		return "Runtime exited without providing a reason"
	}
	return "Runtime exited with error: " + state
}

// logEnd writes what the service writes at the end of an invocation.
func (s *sandbox) logEnd(result Result) {
	if result.ErrorType == ErrorTypeTimeout {
		now := time.Now().UTC().Format("2006-01-02T15:04:05.000Z")
		s.log(result.RequestID, fmt.Sprintf("%s %s Task timed out after %.2f seconds", now, result.RequestID, s.fn.Timeout.Seconds()))
	}
	s.log(result.RequestID, "END RequestId: "+result.RequestID)
	report := fmt.Sprintf("REPORT RequestId: %s\tDuration: %.2f ms\tBilled Duration: %d ms\tMemory Size: %d MB\tMax Memory Used: %d MB",
		result.RequestID, millis(result.Duration), result.BilledDuration.Milliseconds(), s.fn.MemoryMB, result.MaxMemoryMB)
	if result.ColdStart {
		report += fmt.Sprintf("\tInit Duration: %.2f ms", millis(result.InitDuration))
	}
	switch result.ErrorType {
	case ErrorTypeTimeout:
		report += "\tStatus: timeout"
	case ErrorTypeExit, ErrorTypeOutOfMemory:
		report += "\tStatus: error\tError Type: " + result.ErrorType
	}
	s.log(result.RequestID, report)
}

func (s *sandbox) describe(inv *invocation) Invocation {
	return Invocation{
		Function: s.fn.Name, RequestID: inv.requestID, SandboxID: s.id, PID: s.cmd.Process.Pid, Started: inv.started,
	}
}

// serving returns the invocation the process has been given; false when there is none.
func (s *sandbox) serving() (Invocation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil || s.gone {
		return Invocation{}, false
	}
	return s.describe(s.current), true
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func ceilMillis(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}
